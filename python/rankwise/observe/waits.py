"""What time in MPI is waiting for others, and for whom; the rest moves bytes.

The k-th send of a sender, receiver, tag and communicator belongs to the k-th receive. A receiver waits for a late sender until
the send begins; a sender whose call outlasts the posting of the receive waited for a late receiver. Who is to blame is
found as in Boehme et al., Identifying the root causes of wait states in large-scale parallel applications (ICPP 2010): a wait
is shared out by what the late rank did longer than the waiting one since they last heard of each other, computing or
waiting itself; for the latter those are blamed for whom it waited.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.observe.needs import actual_receives
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, SEND

Array = NDArray[Any]
_MOST_UNMATCHED = 0.01  # share of messages whose pairing does not come out even, above which no split is shown
_MOST_UNCLEAR = 0.5  # share of the waiting that the clocks cannot vouch for, above which it is not told


@dataclass(frozen=True)
class Waits:
    """Time in calls that can wait, in seconds, of all ranks together and by rank (arrays).

    ``late_sender_s + late_receiver_s + collective_s + transfer_s + own_s`` is ``in_calls_s``: waiting of three kinds; moving
    bytes; and a sender's own work (sends that did not wait). ``blamed_s``: the waiting that each rank caused.
    ``unclear_s``: waiting shorter than the uncertainty of the two clocks. ``unmatched``: the share of messages of which the
    numbers of sends and receives differ; they count as transfer.
    """

    in_calls_s: Array
    late_sender_s: Array
    late_receiver_s: Array
    collective_s: Array
    transfer_s: Array
    own_s: Array
    blamed_s: Array
    unclear_s: float
    unmatched: float

    @property
    def waiting_s(self) -> float:
        return float(self.late_sender_s.sum() + self.late_receiver_s.sum() + self.collective_s.sum())

    @property
    def why_not(self) -> str | None:
        """Why waiting cannot be told from transfer; None where it can."""
        if self.unmatched > _MOST_UNMATCHED:
            return f"cannot tell: {self.unmatched:.1%} of the messages have a send or a receive too many"
        if self.unclear_s > _MOST_UNCLEAR * self.waiting_s > 0:
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
    shares: dict[int, float]


def analyse(events: Mapping[int, Array], ranks: int, node_of_rank: Array | None = None, uncertainty_s: float = 0.0) -> Waits:
    """Split the time in calls of some ranks' events (of EVENT, recorded from a common beginning or between common cuts).

    ``uncertainty_s``: of the difference between the clocks of two nodes.
    """
    sums = {name: np.zeros(ranks) for name in ("in_calls", "late_sender", "late_receiver", "collective", "transfer", "own")}
    found_waits = waits_of_calls(events)
    calls, latest, sends, receives = found_waits.calls, found_waits.latest, found_waits.sends, found_waits.receives
    waits: list[_Wait] = []
    unclear = 0.0
    limit = uncertainty_s * 1e9
    for rank, call in calls.items():
        found = latest[rank]
        duration = (call.end - call.start).astype(float)
        sums["in_calls"][rank] = duration.sum()
        for number, kind in enumerate(("late_sender", "late_receiver", "collective")):
            sums[kind][rank] = found.late[found.kind == number].sum()
        rest = duration - found.late
        sums["own"][rank] = rest[call.sends_only & (found.late == 0)].sum()
        sums["transfer"][rank] = rest.sum() - sums["own"][rank]
        for at in np.nonzero(found.late > 0)[0]:
            other = int(found.other[at])
            apart = node_of_rank is not None and node_of_rank[rank] != node_of_rank[other]
            if apart and found.late[at] < limit:
                unclear += found.late[at] * 1e-9
            waits.append(_Wait(rank, int(call.start[at]), int(found.late[at]), other, int(found.came[at]), {}))
    blamed = _blame(waits, calls, sends, receives, ranks)
    arrays = {f"{name}_s": total * 1e-9 for name, total in sums.items()}
    return Waits(**arrays, blamed_s=blamed * 1e-9, unclear_s=unclear, unmatched=found_waits.unmatched)


@dataclass(frozen=True)
class CallWaits:
    """The calls of each rank that can wait, for whom each waited longest, and the messages that were matched."""

    calls: Mapping[int, _Calls]
    latest: Mapping[int, _Latest]
    sends: _Ends
    receives: _Ends
    unmatched: float


def waits_of_calls(events: Mapping[int, Array]) -> CallWaits:
    """Find of each call of some ranks' events for whom it waited, and how long."""
    calls = {rank: _Calls(of_rank) for rank, of_rank in events.items()}
    sends, receives, unmatched = _matched(events)
    latest = {rank: _Latest(call.count) for rank, call in calls.items()}
    # A receive is waited for in its own call or in the one that completes it; so is a send.
    for mine, theirs, kind in ((receives, sends, "late_sender"), (sends, receives, "late_receiver")):
        for rank, call in calls.items():
            of_rank = np.nonzero(mine.rank == rank)[0]
            where = call.waits_in(mine.position[of_rank])
            inside = where >= 0
            of_rank, where = of_rank[inside], where[inside]
            start, end = call.start[where], call.end[where]
            came = theirs.posted[of_rank]
            late = np.clip(came - start, 0, end - start)
            if kind == "late_receiver":
                late[came > end] = 0  # the message was buffered: nobody waited
            latest[rank].add(where, late, theirs.rank[of_rank], came, kind)
    _collectives(events, calls, latest)
    return CallWaits(calls, latest, sends, receives, unmatched)


class _Calls:
    """The calls of a rank that can wait: events that share a beginning and an end are one call."""

    def __init__(self, events: Array) -> None:
        kind = events["kind"]
        waiting = np.isin(kind, (BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION, COLLECTIVE))
        at = np.nonzero(waiting)[0]
        start, end = events["start_ns"][at], events["end_ns"][at]
        new = np.ones(len(at), bool)
        new[1:] = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        number = np.cumsum(new) - 1
        self.count = int(new.sum())
        self.start = start[new]
        self.end = end[new]
        self.of_event = np.full(len(events), -1)
        self.of_event[at] = number
        self.sends_only = np.ones(self.count, bool)
        np.logical_and.at(self.sends_only, number, kind[at] == BLOCKING_SEND)
        # The call that completes the request posted by an event.
        done = np.nonzero((kind == COMPLETION) & (events["request"] != 0))[0]
        order = np.argsort(events["request"][done], kind="stable")
        self._requests = events["request"][done][order]
        self._done = done[order]
        self._request_of_event = events["request"]
        self._kind = kind

    def waits_in(self, positions: Array) -> Array:
        """Return the call in which each posted send or receive is waited for; -1 where in none."""
        result = self.of_event[positions]
        if len(self._requests):
            requests = self._request_of_event[positions]
            found = np.minimum(np.searchsorted(self._requests, requests), len(self._requests) - 1)
            known = (self._requests[found] == requests) & (requests != 0) & (self._kind[positions] != COMPLETION) & (result < 0)
            result[known] = self.of_event[self._done[found[known]]]
        return result

    def busy_and_waiting(self, since: int, until: int, waited: Array) -> tuple[float, float]:
        """Return how long the rank was not waiting, and how long it was, in an interval; ``waited``: of each call."""
        first = int(np.searchsorted(self.end, since, side="right"))
        last = int(np.searchsorted(self.start, until))
        waiting = float(waited[first:last].sum())
        return max(0.0, until - since - waiting), waiting


class _Latest:
    """Of each call of a rank, for whom it waited longest."""

    kinds = ("late_sender", "late_receiver", "collective")

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
        self.kind[at] = self.kinds.index(kind)


@dataclass
class _Ends:
    """Sends or receives of messages that belong to each other, in the same order on both sides."""

    rank: Array
    position: Array
    posted: Array
    done: Array


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
            rows = np.zeros((len(at), 8), np.int64)
            for column, values in enumerate((source, dest, tag, of_rank["comm"][at], at, rank)):
                rows[:, column] = values
            rows[:, 6] = of_rank["start_ns"][at]
            rows[:, 7] = of_rank["end_ns"][at]
            other = rows[:, 1 - side]
            sides[side].append(rows[np.isin(other, list(events))])
    sent, received = (np.concatenate(side) if side else np.zeros((0, 8), np.int64) for side in sides)
    sent, received = (rows[np.lexsort(rows[:, [4, 3, 2, 1, 0]].T)] for rows in (sent, received))
    keys, which, counts = np.unique(np.concatenate([sent, received])[:, :4], axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    of_sent = np.bincount(which[: len(sent)], minlength=len(keys))
    even = 2 * of_sent == counts
    left = int(counts[~even].sum())
    share = left / max(1, len(sent) + len(received))
    sent, received = sent[even[which[: len(sent)]]], received[even[which[len(sent) :]]]
    ends_of_sends, ends_of_receives = (_Ends(rows[:, 5], rows[:, 4], rows[:, 6], rows[:, 7]) for rows in (sent, received))
    return ends_of_sends, ends_of_receives, share


def _collectives(events: Mapping[int, Array], calls: Mapping[int, _Calls], latest: Mapping[int, _Latest]) -> None:
    """Add the waiting of the k-th collective of each communicator for the last of its ranks."""
    rows: list[tuple[int, int, int, int, int]] = []  # communicator, k, rank, start, call
    for rank, of_rank in events.items():
        seen: dict[int, int] = {}
        for at in np.nonzero(of_rank["kind"] == COLLECTIVE)[0]:
            comm = int(of_rank["comm"][at])
            seen[comm] = seen.get(comm, -1) + 1
            rows.append((comm, seen[comm], rank, int(of_rank["start_ns"][at]), int(calls[rank].of_event[at])))
    last: dict[tuple[int, int], tuple[int, int]] = {}
    for comm, k, rank, start, _ in rows:
        last[comm, k] = max(last.get((comm, k), (start, rank)), (start, rank))
    for comm, k, rank, start, call in rows:
        came, other = last[comm, k]
        late = min(came - start, int(calls[rank].end[call]) - start)
        if late > 0:
            latest[rank].add(np.array([call]), np.array([late]), np.array([other]), np.array([came]), "collective")


def _blame(waits: Sequence[_Wait], calls: Mapping[int, _Calls], sends: _Ends, receives: _Ends, ranks: int) -> Array:
    """Return the waiting that each rank caused, in ns."""
    waited = {rank: np.zeros(call.count) for rank, call in calls.items()}
    by_rank: dict[int, list[_Wait]] = {rank: [] for rank in calls}
    for wait in sorted(waits, key=lambda wait: wait.start):
        waited[wait.rank][np.searchsorted(calls[wait.rank].start, wait.start)] = wait.late
        by_rank[wait.rank].append(wait)
    starts = {rank: [wait.start for wait in of_rank] for rank, of_rank in by_rank.items()}
    heard = _Heard(sends, receives, calls)
    blamed = np.zeros(ranks)
    # What was waited for came before the wait ended: in the order of its coming all earlier causes are known.
    for wait in sorted(waits, key=lambda wait: wait.start + wait.late):
        came, since = heard.before(wait.rank, wait.for_whom, wait.start)
        busy, waiting = calls[wait.for_whom].busy_and_waiting(since, wait.came, waited[wait.for_whom])
        own_busy, own_waiting = calls[wait.rank].busy_and_waiting(came, wait.start, waited[wait.rank])
        more_busy, more_waiting = max(0.0, busy - own_busy), max(0.0, waiting - own_waiting)
        total = more_busy + more_waiting
        passed_on = more_waiting / total if total > 0 else 0.0
        causes: dict[int, float] = {}
        if passed_on > 0:
            first, last = (bisect_left(starts[wait.for_whom], end) for end in (since, wait.came))
            for earlier in by_rank[wait.for_whom][first:last]:
                for rank, share in earlier.shares.items():
                    causes[rank] = causes.get(rank, 0.0) + share * earlier.late
        sum_of_causes = sum(causes.values())
        if sum_of_causes <= 0:
            passed_on = 0.0
        wait.shares = {rank: passed_on * value / sum_of_causes for rank, value in causes.items()}
        wait.shares[wait.for_whom] = wait.shares.get(wait.for_whom, 0.0) + 1 - passed_on
        for rank, share in wait.shares.items():
            blamed[rank] += share * wait.late
    return blamed


class _Heard:
    """When a rank last heard of another: when the last message had come, and when it had been sent."""

    def __init__(self, sends: _Ends, receives: _Ends, calls: Mapping[int, _Calls]) -> None:
        done = receives.done.copy()
        for rank, call in calls.items():
            mine = np.nonzero(receives.rank == rank)[0]
            where = call.waits_in(receives.position[mine])
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
        return (int(done[at - 1]), int(sent[at - 1])) if at else (0, 0)
