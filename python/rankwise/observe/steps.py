"""The step that a program repeats, found from its calls, and cut out of all ranks at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from rankwise.observe.periods import Calls, Levels
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, RECEIVE, SEND
from rankwise.units import format_time

Array = NDArray[Any]

_BEGINNINGS = (SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COLLECTIVE)
_MOST_STEPS = 21  # cut out, of which the median is the representative


class StepRecord(TypedDict):
    """The step that repeats in a program."""

    events: Annotated[int, "events of the step"]
    inner_events: Annotated[int, "events of the inner step"]
    super_step_events: Annotated[int, "events of a super step; 0: none"]
    cover: Annotated[float, "share of the calls in repeated steps"]
    time_s: Annotated[float, "time of a step, the median"]
    time_lo_s: Annotated[float, "the shortest step"]
    time_hi_s: Annotated[float, "the longest step"]
    steps: Annotated[int, "how many steps were seen"]


@dataclass(frozen=True)
class Steps:
    """Steps that are cut out of all ranks.

    ``begins``, ``ends`` (steps x ranks): in each rank's events, how many lie before a step's beginning and its end; between two
    such cuts every message that is sent is also received. A step begins where the last ended, but where the program does more
    in between.
    ``durations_s``: of each step, from the last rank's beginning to the next one's. ``levels``: of each rank.
    ``representative``: the step whose duration is the median.
    """

    begins: Array
    ends: Array
    durations_s: Array
    levels: Mapping[int, Levels]
    representative: int

    def window(self, events: Mapping[int, Array], rank: int) -> Array:
        """Return a rank's events of all steps."""
        column = sorted(events).index(rank)
        borders = zip(self.begins[:, column].tolist(), self.ends[:, column].tolist(), strict=True)
        return np.concatenate([events[rank][begin:end] for begin, end in borders])

    def spans_s(self, events: Mapping[int, Array]) -> Array:
        """Return how long all steps took together on each rank."""
        return np.array(
            [
                (_begun_ns(of_rank, self.ends[:, column]) - _begun_ns(of_rank, self.begins[:, column])).sum() * 1e-9
                for column, (_, of_rank) in enumerate(sorted(events.items()))
            ]
        )

    def around(self, before: int, behind: int) -> tuple[Array, Array]:
        """Return the cuts before and after the representative step and at most so many steps before and behind it."""
        first, last = max(0, self.representative - before), min(self.representative + behind, len(self.ends) - 1)
        return self.begins[first], self.ends[last]

    def events(self, events: Mapping[int, Array], rank: int) -> Array:
        """Return a rank's events of the representative step."""
        return events[rank][self.begins[self.representative, rank] : self.ends[self.representative, rank]]

    @property
    def words(self) -> str:
        """The step in a line: ``36 calls, 12.3 ms (11.9 ms to 14 ms, 99 steps); a longer one every 742 calls``."""
        level = next(iter(self.levels.values()))
        low, middle, high = (format_time(float(f(self.durations_s))) for f in (np.min, np.median, np.max))
        more = f"; a longer one every {level.super_step} calls" if level.super_step else ""
        return f"{level.step} calls, {middle} ({low} to {high}, {len(self.durations_s)} steps){more}"

    def to_dict(self) -> StepRecord:
        """Return the step as JSON has it (see docs/json.md)."""
        first = next(iter(self.levels.values()))
        return {
            "events": first.step,
            "inner_events": first.inner,
            "super_step_events": first.super_step,
            "cover": first.cover,
            "time_s": float(np.median(self.durations_s)),
            "time_lo_s": float(self.durations_s.min()),
            "time_hi_s": float(self.durations_s.max()),
            "steps": len(self.durations_s),
        }


def common_steps(events: Mapping[int, Array], most: int = _MOST_STEPS) -> Steps | None:
    """Cut the last steps out of all ranks' events, whose recording began with the program; None where there is no common step.

    A cut is consistent when, of each sender, receiver, tag and communicator, as many messages are sent before it as receives
    are posted, and its ranks have made as many collective calls. Of each place on one rank the least such cut is taken.
    """
    calls = {rank: Calls.of(of_rank) for rank, of_rank in events.items()}
    levels = {rank: of_rank.levels for rank, of_rank in calls.items()}
    first = min(events, default=None)
    if first is None or any(level.step == 0 for level in levels.values()):
        return None
    cutter = _Cutter(events)
    if not all(calls[rank].repeats for rank in cutter.leads):
        return None
    # Ranks that never hear of the first one, not even by others, are cut as many of their own steps before the end.
    others = {rank: calls[rank].places(calls[rank].shifts(cutter.idle[rank])[0], most + 1) for rank in cutter.leads[1:]}
    for shift in calls[first].shifts(cutter.idle[first]):
        own = {first: calls[first].places(shift, most + 1), **others}
        count = min(map(len, own.values()))
        starts = [{rank: int(calls[rank].index[places[i]]) for rank, places in own.items()} for i in range(count - 1, -1, -1)]
        if count < 3 or cutter.cut(starts[-2]) is None:
            continue
        found = [cutter.cut(start) for start in starts]
        cuts = [cut for cut in found if cut is not None]
        if len(cuts) < max(2, count - 1):
            continue
        together = np.array([[cut[rank] for rank in sorted(events)] for cut in cuts])
        if np.all(np.diff(together, axis=0) > 0):
            places = own[first][:count][::-1][[cut is not None for cut in found]]
            alone = np.diff(places) == levels[first].step  # else the program does more between two cuts
            durations = _durations_s(events, together)[alone]
            if len(durations):
                middle = int(np.argsort(durations)[len(durations) // 2])
                return Steps(together[:-1][alone], together[1:][alone], durations, levels, middle)
    return None


def actual_receives(events: Array) -> tuple[Array, Array, Array]:
    """Return the positions of a rank's receives, in the order of posting, and the peers and tags that they really had."""
    at = np.nonzero((events["kind"] == RECEIVE) | (events["kind"] == BLOCKING_RECEIVE))[0]
    peers, tags = events["peer"][at].copy(), events["tag"][at].copy()
    done = events[(events["kind"] == COMPLETION) & (events["request"] != 0)]
    order = np.argsort(done["request"], kind="stable")
    requests = done["request"][order]
    posted = events["request"][at]
    found = np.minimum(np.searchsorted(requests, posted), max(len(requests) - 1, 0))
    if len(requests):
        known = (requests[found] == posted) & (events["kind"][at] == RECEIVE)
        peers[known] = done["peer"][order][found[known]]
        tags[known] = done["tag"][order][found[known]]
    return at, peers, tags


class _Cutter:
    """Where cuts of all ranks can lie that fit one rank's cut."""

    def __init__(self, events: Mapping[int, Array]) -> None:
        self._length = {rank: len(of_rank) for rank, of_rank in events.items()}
        self.idle = {rank: _idle(of_rank) for rank, of_rank in events.items()}
        self._begins = {rank: np.isin(of_rank["kind"], _BEGINNINGS) for rank, of_rank in events.items()}
        # What must have happened equally often on all its ranks, and where in their events it did: messages of a sender,
        # receiver, tag and communicator (sent here, received there), and collectives of a communicator.
        self._ends: dict[tuple[int, ...], dict[int, Array]] = {}
        empty = np.array([], np.int64)
        for rank, of_rank in events.items():
            at = np.nonzero(of_rank["kind"] == COLLECTIVE)[0]
            for comm in np.unique(of_rank["comm"][at]).tolist():
                self._ends.setdefault((comm,), {})[rank] = at[of_rank["comm"][at] == comm]
            sends = np.nonzero((of_rank["kind"] == SEND) | (of_rank["kind"] == BLOCKING_SEND))[0]
            receives, peers, tags = actual_receives(of_rank)
            ways = ((0, sends, of_rank["peer"][sends], of_rank["tag"][sends]), (1, receives, peers, tags))
            for side, at, others, labels in ways:
                columns = np.stack([others, labels, of_rank["comm"][at]], axis=1).astype(np.int64)
                kinds, which = np.unique(columns, axis=0, return_inverse=True)
                for number, (peer, tag, comm) in enumerate(kinds.tolist()):
                    if peer not in events or peer == rank:
                        continue
                    key: tuple[int, ...] = (rank, peer, tag, comm) if side == 0 else (peer, rank, tag, comm)
                    self._ends.setdefault(key, {rank: empty, peer: empty})[rank] = at[which.reshape(-1) == number]
        self._keys: dict[int, list[tuple[int, ...]]] = {rank: [] for rank in events}
        for key, ends in self._ends.items():
            # Communicators of one number with different numbers of collectives are several.
            if len(key) > 1 or len({len(at) for at in ends.values()}) == 1:
                for one in ends:
                    self._keys[one].append(key)
        self.leads = self._find_leads()

    def _find_leads(self) -> list[int]:
        """Return the first rank of each set of ranks that hear of each other."""
        seen: set[int] = set()
        leads = []
        for lead in sorted(self._length):
            if lead in seen:
                continue
            leads.append(lead)
            front = [lead]
            seen.add(lead)
            while front:
                near = {other for key in self._keys[front.pop()] for other in self._ends[key]} - seen
                seen |= near
                front += near
        return leads

    def cut(self, places: Mapping[int, int]) -> dict[int, int] | None:
        """Return the least cut of all ranks that fits and has all that lies before places of some; None where there is none."""
        cuts = dict.fromkeys(self._length, 0) | dict(places)
        front = list(places)
        while front:
            rank = front.pop()
            for key in self._keys[rank]:
                ends = self._ends[key]
                count = int(np.searchsorted(ends[rank], cuts[rank]))
                if count == 0:
                    continue
                for other, there in ends.items():
                    if count > len(there):
                        return None
                    if there[count - 1] >= cuts[other]:
                        cuts[other] = int(there[count - 1]) + 1
                        front.append(other)
        if min(cuts.values()) == 0:
            return None
        return {rank: self._after_completions(rank, cut) for rank, cut in cuts.items()}

    def _after_completions(self, rank: int, cut: int) -> int:
        """Return the first place from a cut on at which nothing is under way, if no message begins before it."""
        idle, begins = self.idle[rank], self._begins[rank]
        for place in range(cut, self._length[rank] + 1):
            if idle[place]:
                return place
            if place == self._length[rank] or begins[place]:
                break
        return cut


def _idle(events: Array) -> Array:
    """Return whether nothing is under way before each event, and after the last."""
    opened = ((events["kind"] == SEND) | (events["kind"] == RECEIVE)) & (events["request"] != 0)
    closed = (events["kind"] == COMPLETION) & (events["request"] != 0)
    under_way = np.cumsum(opened.astype(np.int64) - closed)
    return np.concatenate([[True], under_way <= 0])


def _durations_s(events: Mapping[int, Array], cuts: Array) -> Array:
    """Return how long each step took, from when the last rank began it until the last one began the next.

    Ranks take turns at being late: the longest of their steps are together longer than the run.
    """
    begun_ns = np.stack([_begun_ns(events[rank], cuts[:, column]) for column, rank in enumerate(sorted(events))], axis=1)
    durations: Array = np.diff(begun_ns.max(axis=1)) * 1e-9
    return durations


def _begun_ns(events: Array, cuts: Array) -> Array:
    """Return when what follows cuts began; of the last one, when the last call ended."""
    starts = np.append(events["start_ns"], events["end_ns"][-1:])
    return np.asarray(starts[np.minimum(cuts, len(starts) - 1)])
