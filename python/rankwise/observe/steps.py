"""The step that a program repeats, found from its calls, and cut out of all ranks at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.units import format_time

Array = NDArray[Any]

SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION, COLLECTIVE, TIME_ONLY = range(7)
_BEGINNINGS = (SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COLLECTIVE)
_MOST_EVENTS = 8192  # the last so many are searched for a step
_LEAST_COVER = 0.3  # below it nothing repeats
_MOST_STEPS = 21  # cut out, of which the median is the representative


@dataclass(frozen=True)
class Levels:
    """The periods in a rank's events: ``inner`` (of the kinds of calls alone), ``step``, ``super_step``; 0 where there is none.

    ``cover``: the share of events that lie in repeated steps.
    """

    inner: int
    step: int
    super_step: int
    cover: float


@dataclass(frozen=True)
class Steps:
    """Steps that are cut out of all ranks.

    ``cuts`` (steps + 1 x ranks): in each rank's events, how many lie before; between two cuts every message that is sent is
    also received. ``durations_s``: of each step, from the last rank's beginning to the next one's. ``levels``: of each rank.
    ``representative``: the step whose duration is the median.
    """

    cuts: Array
    durations_s: Array
    levels: Mapping[int, Levels]
    representative: int

    def events(self, events: Mapping[int, Array], rank: int) -> Array:
        """Return a rank's events of the representative step."""
        return events[rank][self.cuts[self.representative, rank] : self.cuts[self.representative + 1, rank]]

    @property
    def words(self) -> str:
        """The step in a line: ``36 calls, 12.3 ms (11.9 ms to 14 ms, 99 steps); a longer one every 742 calls``."""
        level = next(iter(self.levels.values()))
        low, middle, high = (format_time(float(f(self.durations_s))) for f in (np.min, np.median, np.max))
        more = f"; a longer one every {level.super_step} calls" if level.super_step else ""
        return f"{level.step} calls, {middle} ({low} to {high}, {len(self.durations_s)} steps){more}"

    def to_dict(self) -> dict[str, Any]:
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


def levels_of(events: Array) -> Levels:
    """Return the periods in a rank's events (of EVENT), those that only take time left out.

    Two calls are alike that have kind, function, peer, tag and communicator in common; sizes may differ from step to step. Of
    completions peer and tag do not count: in which order messages arrive is the network's doing (MPI_Waitany). The
    step is the shortest period of three quarters of the greatest cover, cover(p) being the share of positions in runs of
    p or more that are like the one p before; a super-step explains half of what the step leaves. Calls that follow their like (a
    neighbour gets several messages) are one symbol with their number, lest a repeated call be taken for the step.
    """
    timed = events[events["kind"] != TIME_ONLY][-_MOST_EVENTS:]
    if len(timed) < 6:
        return Levels(0, 0, 0, 0.0)
    kinds = timed["kind"].astype(np.int64) * 256 + timed["call"]
    named = timed["kind"] != COMPLETION
    columns = np.stack([kinds, timed["peer"] * named, timed["tag"] * named, timed["comm"]], axis=1)
    symbols = np.unique(columns, axis=0, return_inverse=True)[1].astype(np.int32).reshape(-1)
    runs, lengths = _in_runs(symbols)
    shares = _shares(runs)
    in_runs, cover = _period(runs, shares)
    if in_runs == 0 and len(runs) < len(symbols):
        runs, lengths = symbols, np.ones(len(symbols), int)
        shares = _shares(runs)
        in_runs, cover = _period(runs, shares)
    if in_runs == 0:
        return Levels(0, 0, 0, 0.0)
    step = _calls_of(lengths, in_runs)
    kind_symbols = np.unique(kinds, return_inverse=True)[1].astype(np.int32).reshape(-1)
    inner, _ = _period(kind_symbols[: 8 * step], _shares(kind_symbols[: 8 * step]))
    left = 1 - shares[in_runs]
    longer = np.nonzero(shares[2 * in_runs :] > shares[in_runs] + left / 2)[0] if left > 0.01 else np.array([], int)
    super_step = 0
    if len(longer):
        near = longer[0] + 2 * in_runs
        super_step = _calls_of(lengths, int(near + np.argmax(shares[near : near + in_runs])))
    return Levels(inner if inner < step else 0, step, super_step, cover)


def _in_runs(symbols: Array) -> tuple[Array, Array]:
    """Return the runs of equal symbols, those alike in symbol and length as equal numbers, and their lengths."""
    begins = np.flatnonzero(np.append(True, symbols[1:] != symbols[:-1]))
    lengths = np.diff(np.append(begins, len(symbols)))
    numbers = np.unique(symbols[begins].astype(np.int64) * (len(symbols) + 1) + lengths, return_inverse=True)[1]
    return numbers.astype(np.int32).reshape(-1), lengths


def _calls_of(lengths: Array, period: int) -> int:
    """Return how many calls so many runs have, in the median."""
    ends = np.append(0, np.cumsum(lengths))
    return int(np.median(ends[period:] - ends[:-period]))


def common_steps(events: Mapping[int, Array], most: int = _MOST_STEPS) -> Steps | None:
    """Cut the last steps out of all ranks' events, whose recording began with the program; None where there is no common step.

    A cut is consistent when, of each sender, receiver, tag and communicator, as many messages are sent before it as receives are
    posted, and its ranks have made as many collective calls. Of each place on one rank the least such cut is taken.
    """
    levels = {rank: levels_of(of_rank) for rank, of_rank in events.items()}
    first = min(events, default=None)
    if first is None or any(level.step == 0 for level in levels.values()):
        return None
    cutter = _Cutter(events)

    def places_of(rank: int, shift: int) -> Array:
        index = np.nonzero(events[rank]["kind"] != TIME_ONLY)[0]
        return np.asarray(index[len(index) - 1 - shift :: -levels[rank].step][: most + 1])

    def shifts_of(rank: int) -> Sequence[int]:
        index = np.nonzero(events[rank]["kind"] != TIME_ONLY)[0]
        return _shifts(events[rank], cutter.idle[rank], index, levels[rank].step)

    # Ranks that never hear of the first one, not even by others, are cut as many of their own steps before the end.
    others = {rank: places_of(rank, shifts_of(rank)[0]) for rank in cutter.leads[1:]}
    for shift in shifts_of(first):
        own = {first: places_of(first, shift), **others}
        count = min(map(len, own.values()))
        starts = [{rank: int(places[i]) for rank, places in own.items()} for i in range(count - 1, -1, -1)]
        if count < 3 or cutter.cut(starts[-2]) is None:
            continue
        cuts = [cut for start in starts if (cut := cutter.cut(start)) is not None]
        if len(cuts) < max(2, count - 1):
            continue
        together = np.array([[cut[rank] for rank in sorted(events)] for cut in cuts])
        if np.all(np.diff(together, axis=0) > 0):
            durations = _durations_s(events, together)
            return Steps(together, durations, levels, int(np.argsort(durations)[len(durations) // 2]))
    return None


def _shares(symbols: Array) -> Array:
    """Return of each distance up to a third of the length the share of symbols that are like the one so far before."""
    longest = len(symbols) // 3
    shares = np.zeros(longest + 1)
    for distance in range(1, longest + 1):
        shares[distance] = np.count_nonzero(symbols[distance:] == symbols[:-distance]) / (len(symbols) - distance)
    return shares


def _cover(symbols: Array, period: int) -> float:
    same = np.concatenate([[False], symbols[period:] == symbols[:-period], [False]])
    borders = np.flatnonzero(same[1:] != same[:-1])
    runs = borders[1::2] - borders[::2]
    return float(runs[runs >= period].sum() / (len(symbols) - period))


def _period(symbols: Array, shares: Array) -> tuple[int, float]:
    """Return the shortest period of not much less than the greatest cover, and that; 0 where nothing repeats."""
    likely = np.nonzero(shares >= _LEAST_COVER)[0]
    covers = np.array([_cover(symbols, int(period)) for period in likely])
    if len(covers) == 0 or covers.max() < _LEAST_COVER:
        return 0, 0.0
    at = int(np.argmax(covers >= 0.75 * covers.max()))
    return int(likely[at]), float(covers[at])


def _shifts(events: Array, idle: Array, index: Array, step: int) -> Sequence[int]:
    """Return by how many events cuts may lie before the end: first where nothing is under way, after the longest computing."""
    gaps = events["start_ns"][index[1:]] - events["end_ns"][index[:-1]]
    shifts = range(min(step, len(index) - 1))
    usual = {shift: float(np.median(gaps[len(gaps) - 1 - shift :: -step])) for shift in shifts}
    return sorted(shifts, key=lambda shift: (not idle[index[len(index) - 1 - shift]], -usual[shift]))


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
    begun_ns = np.zeros(cuts.shape)
    for column, rank in enumerate(sorted(events)):
        starts = np.append(events[rank]["start_ns"], events[rank]["end_ns"][-1:])
        begun_ns[:, column] = starts[np.minimum(cuts[:, column], len(starts) - 1)]
    durations: Array = np.diff(begun_ns.max(axis=1)) * 1e-9
    return durations
