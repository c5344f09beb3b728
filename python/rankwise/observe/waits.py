"""What time in MPI is waiting for others, and for whom; the rest moves bytes.

Kinds are Scalasca's. The k-th send of a sender, receiver, tag and communicator belongs to the k-th receive. A receiver waits
for a late sender until the send begins; a sender whose call outlasts the posting of the receive waited for a late receiver. In
the k-th collective of a communicator all wait for the last that comes (barrier, n to n); where data goes out from a root, the
others wait for it (late broadcast); where it goes to a root, that waits for the last of the others (early reduce; Scalasca: for
the first). Who is to blame is found as in Boehme et al., Identifying the root causes of wait states in large-scale parallel
applications (ICPP 2010): a wait is shared out by what the late rank did longer than the waiting one since they last heard of
each other, computing or waiting itself; for the latter those are blamed for whom it waited.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.needs import actual_receives, completed, met
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, SEND, begins_call

_MOST_UNMATCHED = 0.01  # share of messages whose pairing does not come out even, above which no split is shown
_MOST_UNCLEAR = 0.5  # share of the waiting that the clocks cannot vouch for, above which it is not told
KINDS = LATE_SENDER, LATE_RECEIVER, BARRIER, N_TO_N, LATE_BROADCAST, EARLY_REDUCE = (
    "late sender", "late receiver", "barrier", "n to n", "late broadcast", "early reduce",
)  # fmt: skip
_FROM_ROOT, _TO_ROOT = ("bcast", "scatter"), ("reduce", "gather")  # in names of calls with a root
_MEETINGS = (BARRIER, N_TO_N)  # none leaves them before all have come
Cause = tuple[str, int, int, int]  # kind, label of the call that waits, rank that makes it wait, label of its call


@dataclass(frozen=True)
class Waits:
    """Time in calls that can wait, in seconds, by rank (arrays).

    ``waiting_s`` (kinds x ranks, of ``KINDS``), ``transfer_s`` and ``own_s`` add up to ``in_calls_s``: waiting; moving bytes;
    and a sender's own work (sends that did not wait). ``blamed_s``: the waiting that each rank caused; ``causes_s``: all of it,
    by what waits for what (labels: of the call that waits, and of the first call behind the longest computing of the rank that
    comes late).
    ``of_calls``: in each rank's events where each call that waits begins, and how long it waits.
    ``unclear_s``: waiting shorter than the uncertainty of the two clocks. ``unmatched``: the share of messages of which the
    numbers of sends and receives differ; they count as transfer.
    """

    in_calls_s: Array
    waiting_s: Array
    transfer_s: Array
    own_s: Array
    blamed_s: Array
    causes_s: Mapping[Cause, float]
    of_calls: Mapping[int, tuple[Array, Array]]
    unclear_s: float
    unmatched: float

    @property
    def why_not(self) -> str | None:
        """Why waiting cannot be told from transfer; None where it can."""
        if self.unmatched > _MOST_UNMATCHED:
            return f"cannot tell: {self.unmatched:.1%} of the messages have a send or a receive too many"
        if self.unclear_s > _MOST_UNCLEAR * self.waiting_s.sum() > 0:
            return "cannot tell: most of the waiting is shorter than the hosts' clocks are certain"
        return None

    def late_ranks(self, share: float = 0.1) -> list[tuple[int, float]]:
        """Return the ranks that caused at least that share of the waiting and its seconds, the worst first."""
        if self.why_not is not None:
            return []
        order = np.argsort(-self.blamed_s, kind="stable")
        total = self.blamed_s.sum()
        return [(int(rank), float(self.blamed_s[rank])) for rank in order if self.blamed_s[rank] > share * total]


@dataclass
class _Wait:
    """A call that waited: of a rank, from its beginning, for somebody who came late by so much."""

    rank: int
    start: int
    late: int
    for_whom: int
    came: int  # when, on the late rank's time
    kind: int
    label: int
    shares: dict[tuple[int, int], float]  # by rank, and label of its call


def analyse(
    events: Mapping[int, Array], ranks: int, apart: tuple[Array, float] | None = None, names: Sequence[str] = (),
    labels: Mapping[int, Array] | None = None,
) -> Waits:  # fmt: skip
    """Split the time in calls of some ranks' events (of EVENT, recorded from a common beginning or between common cuts).

    ``apart``: the node of each rank, and how far the clocks of two nodes may differ, in seconds. ``names``: the calls that
    events number; ``labels``: of each event where it was called, otherwise its call.
    """
    sums = {name: np.zeros(ranks) for name in ("in_calls", "transfer", "own")}
    waiting = np.zeros((len(KINDS), ranks))
    found_waits = waits_of_calls(events, names)
    calls, latest, sends, receives = found_waits.calls, found_waits.latest, found_waits.sends, found_waits.receives
    waits: list[_Wait] = []
    unclear = 0.0
    labels = {rank: of_rank["call"] for rank, of_rank in events.items()} if labels is None else labels
    node_of_rank, limit = (None, 0.0) if apart is None else (apart[0], apart[1] * 1e9)
    for rank, call in calls.items():
        found = latest[rank]
        duration = (call.end - call.start).astype(float)
        sums["in_calls"][rank] = duration.sum()
        waiting[:, rank] = np.bincount(found.kind[found.kind >= 0], found.late[found.kind >= 0], len(KINDS))
        rest = duration - found.late
        sums["own"][rank] = rest[call.sends_only & (found.late == 0)].sum()
        sums["transfer"][rank] = rest.sum() - sums["own"][rank]
        for at in np.nonzero(found.late > 0)[0]:
            other = int(found.other[at])
            if node_of_rank is not None and node_of_rank[rank] != node_of_rank[other] and found.late[at] < limit:
                unclear += found.late[at] * 1e-9
            label = int(labels[rank][call.first[at]])
            late, came = int(found.late[at]), int(found.came[at])
            waits.append(_Wait(rank, int(call.start[at]), late, other, came, int(found.kind[at]), label, {}))
    heard = _Heard(sends, receives, calls, found_waits.meetings)
    waited = {rank: np.maximum(latest[rank].late, 0) for rank in calls}
    causes = _blame(waits, calls, waited, heard, {rank: _Computing(of_rank, labels[rank]) for rank, of_rank in events.items()})
    blamed = np.zeros(ranks)
    for (_, _, rank, _), seconds in causes.items():
        blamed[rank] += seconds
    arrays = {f"{name}_s": total * 1e-9 for name, total in sums.items()}
    of_calls = {rank: (call.first, latest[rank].late * 1e-9) for rank, call in calls.items()}
    return Waits(
        **arrays, waiting_s=waiting * 1e-9, blamed_s=blamed, causes_s=causes, of_calls=of_calls, unclear_s=unclear,
        unmatched=found_waits.unmatched,
    )  # fmt: skip


@dataclass(frozen=True)
class CallWaits:
    """The calls of each rank that can wait, for whom each waited longest, and the messages that were matched."""

    calls: Mapping[int, _Calls]
    latest: Mapping[int, _Latest]
    sends: _Ends
    receives: _Ends
    unmatched: float
    meetings: _Meetings


def waits_of_calls(events: Mapping[int, Array], names: Sequence[str] = ()) -> CallWaits:
    """Find of each call of some ranks' events for whom it waited, and how long; ``names``: the calls that events number."""
    calls = {rank: _Calls(of_rank) for rank, of_rank in events.items()}
    sends, receives, unmatched = _matched(events)
    latest = {rank: _Latest(call.count) for rank, call in calls.items()}
    # A receive is waited for in its own call or in the one that completes it; so is a send.
    for mine, theirs, kind in ((receives, sends, LATE_SENDER), (sends, receives, LATE_RECEIVER)):
        for rank, of_rank in mine.by_rank(calls):
            call = calls[rank]
            where = call.waits_in[mine.position[of_rank]]
            inside = where >= 0
            of_rank, where = of_rank[inside], where[inside]
            start, end = call.start[where], call.end[where]
            came = theirs.posted[of_rank]
            late = np.clip(came - start, 0, end - start)
            if kind == LATE_RECEIVER:
                late[came > end] = 0  # the message was buffered: nobody waited
            latest[rank].add(where, late, theirs.rank[of_rank], came, kind)
    return CallWaits(calls, latest, sends, receives, unmatched, _collectives(events, calls, latest, names))


class _Calls:
    """The calls of a rank that can wait: events that share a beginning and an end are one call."""

    def __init__(self, events: Array) -> None:
        kind = events["kind"]
        waiting = np.isin(kind, (BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION))
        waiting |= (kind == COLLECTIVE) & (events["request"] == 0)
        at = np.nonzero(waiting)[0]
        new = begins_call(events[at])
        number = np.cumsum(new) - 1
        self.count = int(new.sum())
        self.first = at[new]
        self.start, self.end = events["start_ns"][self.first], events["end_ns"][self.first]
        self.sends_only = np.ones(self.count, bool)
        np.logical_and.at(self.sends_only, number, kind[at] == BLOCKING_SEND)
        # The call in which each event is waited for, or what it posts; -1: in none.
        self.waits_in = np.full(len(events), -1)
        self.waits_in[at] = number
        ends = completed(events, np.arange(len(events)))
        posts = (self.waits_in < 0) & (ends >= 0)
        self.waits_in[posts] = self.waits_in[ends[posts]]

    def busy_and_waiting(self, since: int, until: int, waited: Array) -> tuple[float, float]:
        """Return how long the rank was not waiting, and how long it was, in an interval; ``waited``: of each call."""
        first = int(np.searchsorted(self.end, since, side="right"))
        last = int(np.searchsorted(self.start, until))
        waiting = float(waited[first:last].sum())
        return max(0.0, until - since - waiting), waiting


class _Latest:
    """Of each call of a rank, for whom it waited longest."""

    def __init__(self, count: int) -> None:
        self.late = np.zeros(count)
        self.other = np.full(count, -1)
        self.came = np.zeros(count, np.int64)
        self.kind = np.full(count, -1)

    def add(self, where: Array, late: Array, other: Array, came: Array, kind: str) -> None:
        order = np.argsort(late, kind="stable")  # the longest is written last
        where, late, other, came = where[order], late[order], other[order], came[order]
        better = late > self.late[where]
        at = where[better]
        self.late[at] = late[better]
        self.other[at] = other[better]
        self.came[at] = came[better]
        self.kind[at] = KINDS.index(kind)


@dataclass
class _Ends:
    """Sends or receives of messages that belong to each other, in the same order on both sides."""

    rank: Array
    position: Array
    posted: Array
    done: Array

    def by_rank(self, ranks: Iterable[int]) -> Iterator[tuple[int, Array]]:
        """Yield of each rank which of these are its own."""
        order = np.argsort(self.rank, kind="stable")
        ranks = list(ranks)
        first, behind = (np.searchsorted(self.rank[order], ranks, side) for side in ("left", "right"))
        for rank, begin, end in zip(ranks, first.tolist(), behind.tolist(), strict=True):
            yield rank, order[begin:end]


def _matched(events: Mapping[int, Array]) -> tuple[_Ends, _Ends, float]:
    """Return the sends and receives of each message, and the share of messages left over."""
    sides: tuple[list[Array], list[Array]] = ([], [])
    for rank, of_rank in events.items():
        sends = np.nonzero((of_rank["kind"] == SEND) | (of_rank["kind"] == BLOCKING_SEND))[0]
        receives, peers, tags = actual_receives(of_rank)
        for side, at, source, dest, tag in (
            (0, sends, rank, of_rank["peer"][sends], of_rank["tag"][sends]),
            (1, receives, peers, rank, tags),
        ):
            rows = np.zeros((8, len(at)), np.int64)
            for row, values in enumerate((source, dest, tag, of_rank["comm"][at], at, rank)):
                rows[row] = values
            rows[6:] = of_rank["start_ns"][at], of_rank["end_ns"][at]
            sides[side].append(rows)
    sent, received = (np.concatenate(side, axis=1) if side else np.zeros((8, 0), np.int64) for side in sides)
    ranks = np.array(list(events), np.int64)
    sent, received = (rows[:, np.isin(rows[to], ranks)] for rows, to in ((sent, 1), (received, 0)))
    one, other, even = met(sent, received)
    ends_of_sends, ends_of_receives = (_Ends(*rows[:, of[even]][[5, 4, 6, 7]]) for rows, of in ((sent, one), (received, other)))
    both = sent.shape[1] + received.shape[1]
    return ends_of_sends, ends_of_receives, (both - 2 * int(even.sum())) / max(1, both)


_Meetings = dict[int, dict[int, list[int]]]  # by communicator and rank: when each collective that all wait in was over


@cache
def kind_of_collective(name: str, root: int) -> str:
    """Return who waits for whom in a collective."""
    name = name.lower()
    if "barrier" in name or "fence" in name:
        return BARRIER
    if root >= 0 and any(part in name for part in _FROM_ROOT):
        return LATE_BROADCAST
    return EARLY_REDUCE if root >= 0 and any(part in name for part in _TO_ROOT) else N_TO_N


def _collectives(
    events: Mapping[int, Array], calls: Mapping[int, _Calls], latest: Mapping[int, _Latest], names: Sequence[str]
) -> _Meetings:
    """Add the waiting in the k-th collective of each communicator; return when those that all wait in were over."""
    members: dict[tuple[int, int], list[tuple[int, int, int]]] = {}  # when it came, its rank, the call in which it waits
    kinds: dict[tuple[int, int], tuple[str, int]] = {}
    for rank, of_rank in events.items():
        seen: dict[int, int] = {}
        at = np.nonzero(of_rank["kind"] == COLLECTIVE)[0]
        for event, where in zip(of_rank[at], calls[rank].waits_in[at].tolist(), strict=True):
            comm, root = int(event["comm"]), int(event["peer"])
            seen[comm] = seen.get(comm, -1) + 1
            members.setdefault((comm, seen[comm]), []).append((int(event["start_ns"]), rank, where))
            kinds[comm, seen[comm]] = (kind_of_collective(names[event["call"]] if names else "", root), root)
    found: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
    meetings: _Meetings = {}
    for group, came in sorted(members.items()):
        kind, root = kinds[group]
        first, *others = sorted(came, reverse=True)
        if kind == LATE_BROADCAST:
            first, others = next((one for one in came if one[1] == root), first), [one for one in came if one[1] != root]
        elif kind == EARLY_REDUCE:
            first, others = max((one for one in came if one[1] != root), default=first), [one for one in came if one[1] == root]
        for _, rank, where in others:
            if where >= 0:
                found.setdefault((rank, kind), []).append((where, *first[:2]))
        for _, rank, where in came if kind in _MEETINGS else ():
            meetings.setdefault(group[0], {}).setdefault(rank, []).append(int(calls[rank].end[where]) if where >= 0 else 0)
    for (rank, kind), rows in found.items():
        where, came_ns, other = np.array(rows).T
        start, end = calls[rank].start[where], calls[rank].end[where]
        latest[rank].add(where, np.clip(came_ns - start, 0, end - start), other, came_ns, kind)
    return meetings


class _Computing:
    """What a rank computes before each of its events, and where it calls."""

    def __init__(self, events: Array, labels: Array) -> None:
        self._start, self._labels = events["start_ns"], labels
        ended = np.maximum.accumulate(events["end_ns"]) if len(events) else events["end_ns"]
        self._before = np.maximum(np.append(self._start[:1], self._start[1:] - ended[:-1]), 0)

    def before(self, since: int, came: int) -> int:
        """Return the label of the first call behind the longest computing in an interval."""
        first, last = np.searchsorted(self._start, (since, came), side="right").tolist()
        return int(self._labels[first + int(self._before[first:last].argmax()) if last > first else max(last - 1, 0)])


def _blame(
    waits: Sequence[_Wait], calls: Mapping[int, _Calls], waited: Mapping[int, Array], heard: _Heard,
    computing: Mapping[int, _Computing],
) -> dict[Cause, float]:  # fmt: skip
    """Return the waiting by what caused it, in seconds; ``waited``: of each rank's calls, in nanoseconds."""
    by_rank: dict[int, list[_Wait]] = {rank: [] for rank in calls}
    for wait in sorted(waits, key=lambda wait: wait.start):
        by_rank[wait.rank].append(wait)
    starts = {rank: [wait.start for wait in of_rank] for rank, of_rank in by_rank.items()}
    found: dict[Cause, float] = {}
    # What was waited for came before the wait ended: in the order of its coming all earlier causes are known.
    for wait in sorted(waits, key=lambda wait: wait.start + wait.late):
        came, since = heard.before(wait.rank, wait.for_whom, wait.start)
        busy, waiting = calls[wait.for_whom].busy_and_waiting(since, wait.came, waited[wait.for_whom])
        own_busy, own_waiting = calls[wait.rank].busy_and_waiting(came, wait.start, waited[wait.rank])
        more_busy, more_waiting = max(0.0, busy - own_busy), max(0.0, waiting - own_waiting)
        total = more_busy + more_waiting
        passed_on = more_waiting / total if total > 0 else 0.0
        causes: dict[tuple[int, int], float] = {}
        if passed_on > 0:
            first, last = (bisect_left(starts[wait.for_whom], end) for end in (since, wait.came))
            for earlier in by_rank[wait.for_whom][first:last]:
                for cause, share in earlier.shares.items():
                    causes[cause] = causes.get(cause, 0.0) + share * earlier.late
        sum_of_causes = sum(causes.values())
        if sum_of_causes <= 0:
            passed_on = 0.0
        wait.shares = {cause: passed_on * value / sum_of_causes for cause, value in causes.items()}
        own = (wait.for_whom, computing[wait.for_whom].before(since, wait.came))
        wait.shares[own] = wait.shares.get(own, 0.0) + 1 - passed_on
        for cause, share in wait.shares.items():
            if share > 0:
                key = (KINDS[wait.kind], wait.label, *cause)
                found[key] = found.get(key, 0.0) + share * wait.late * 1e-9
    return found


class _Heard:
    """When a rank last heard of another: when the last message had come, and was sent; or when both left a collective."""

    def __init__(self, sends: _Ends, receives: _Ends, calls: Mapping[int, _Calls], meetings: _Meetings) -> None:
        self._meetings = [of_comm for of_comm in meetings.values() if len({*map(len, of_comm.values())}) == 1]
        done = receives.done.copy()
        for rank, call in calls.items():
            mine = np.nonzero(receives.rank == rank)[0]
            where = call.waits_in[receives.position[mine]]
            done[mine[where >= 0]] = call.end[where[where >= 0]]
        self._times: dict[tuple[int, int], tuple[Array, Array]] = {}
        if len(done) == 0:
            return
        order = np.lexsort((done, sends.rank, receives.rank))
        pairs = np.stack([receives.rank, sends.rank], axis=1)[order]
        keys, first = np.unique(pairs, axis=0, return_index=True)
        ends = np.append(first[1:], len(order))
        done, sent = done[order], sends.posted[order]
        for (rank, other), i, j in zip(keys.tolist(), first, ends, strict=True):
            self._times[rank, other] = done[i:j], sent[i:j]

    def before(self, rank: int, other: int, time: int) -> tuple[int, int]:
        """Return both times, of the last message that had come before a time; 0 where there was none."""
        done, sent = self._times.get((rank, other), (np.array([]), np.array([])))
        at = int(np.searchsorted(done, time, side="right"))
        last = (int(done[at - 1]), int(sent[at - 1])) if at else (0, 0)
        for of_comm in self._meetings:
            if rank in of_comm and other in of_comm and (at := bisect_right(of_comm[rank], time)):
                last = max(last, (of_comm[rank][at - 1], of_comm[other][at - 1]))
        return last
