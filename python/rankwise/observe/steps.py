"""The step that a program repeats, found from its calls, and cut out of all ranks at once.

The step that a rank repeats: the period in its calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, RECEIVE, SEND, TIME_ONLY
from rankwise.records import Record, computed, record
from rankwise.units import format_time

Array = NDArray[Any]

_MOST_EVENTS = 8192  # the last so many are searched for a step
_LEAST_COVER = 0.3  # below it nothing repeats
_LEAST_SHARE = 0.2  # of calls that are like those before, for a period to be looked at
_MOST_STAGES = 12  # of a step that call alike


@dataclass(frozen=True)
class Levels:
    """The periods in a rank's events: ``inner`` (of the kinds of calls alone), ``step``, ``super_step``; 0 where there is none.

    ``cover``: the share of calls that lie in repeated steps. ``part``: the period of the step's stages, where these call alike;
    else the step.
    """

    inner: int
    step: int
    super_step: int
    cover: float
    part: int


def levels_of(events: Array) -> Levels:
    """Return the periods in a rank's events (of EVENT), those that only take time left out.

    Two calls are alike that have kind, function, peer, tag and communicator in common. Of
    completions peer and tag do not count: in which order messages arrive is the network's doing (MPI_Waitany). The
    step lies where most repeats, by calls, bytes and time: there it is the shortest period of three quarters of the greatest
    cover, cover(p) being the share of calls in stretches of p or more that are like the one p before; it is several periods
    long where only then sizes or computing times are alike (see ``_multiple``). A super-step explains half of what the step
    leaves. Calls that follow their like (a neighbour gets several messages) are one symbol with their number, lest a repeated
    call be taken for the step. Tags that only grow count the steps, and tell no calls apart.
    """
    return Calls.of(events).levels


@dataclass(frozen=True, eq=False)
class Calls:
    """A rank's last calls as symbols, those that only take time left out.

    ``index``: where they lie in its events; ``volume``: the bytes that each begins to move; ``before_s``: what is computed
    before each; ``weight``: its share of calls, bytes and time.
    """

    index: Array
    symbols: Array
    kinds: Array
    volume: Array
    before_s: Array
    weight: Array

    @classmethod
    def of(cls, events: Array) -> Calls:
        index = np.nonzero(events["kind"] != TIME_ONLY)[0][-_MOST_EVENTS:]
        timed = events[index]
        kinds = timed["kind"].astype(np.int64) * 256 + timed["call"]
        named = timed["kind"] != COMPLETION
        columns = np.stack([kinds, timed["peer"] * named, timed["comm"], timed["tag"] * named], axis=1)
        columns[:, 3] *= _fall(np.unique(columns[:, :3], axis=0, return_inverse=True)[1].reshape(-1), columns[:, 3])
        symbols = np.unique(columns, axis=0, return_inverse=True)[1].astype(np.int32).reshape(-1)
        begun, ended = timed["start_ns"].astype(np.float64), timed["end_ns"].astype(np.float64)
        ended = np.append(begun[:1], np.maximum.accumulate(ended))
        volume = timed["bytes"] * named
        weight = sum(part / max(float(part.sum()), 1e-300) for part in (np.ones(len(index)), volume, np.diff(ended)))
        return cls(index, symbols, kinds, volume, np.maximum(0, begun - ended[:-1]) * 1e-9, np.asarray(weight))

    @cached_property
    def levels(self) -> Levels:
        """The periods (see levels_of)."""
        nothing = Levels(0, 0, 0, 0.0, 0)
        if len(self.symbols) < 6:
            return nothing
        runs, lengths = _in_runs(self.symbols)
        period = self._period(runs, lengths)
        if period is None and len(runs) < len(self.symbols):
            runs, lengths = self.symbols, np.ones(len(self.symbols), int)
            period = self._period(runs, lengths)
        if period is None:
            return nothing
        in_runs, times, shares = period
        part, in_runs = _calls_of(lengths, in_runs), times * in_runs
        step = times * part
        left = 1 - shares[in_runs]
        longer = np.nonzero(shares[2 * in_runs :] > shares[in_runs] + left / 2)[0] if left > 0.01 else np.array([], int)
        super_step = 0
        if len(longer):
            near = longer[0] + 2 * in_runs
            super_step = _calls_of(lengths, int(near + np.argmax(shares[near : near + in_runs])))
        return Levels(self._inner(step), step, super_step, _cover(runs, in_runs, lengths), part)

    def _period(self, runs: Array, lengths: Array) -> tuple[int, int, Array] | None:
        """Return a part of the step in runs of calls, how often it follows
        itself in a step, and the shares of each distance."""
        shares = _shares(runs)
        repeats = _repeats(runs, shares)
        begins = np.cumsum(lengths) - lengths
        weight = np.add.reduceat(self.weight, begins)
        # Where most repeats, by calls, bytes and time: a program's beginning and end may have more calls than its steps.
        cover, where = max(((cover, period) for period, cover in _covers(repeats, weight).items()), default=(0.0, 0))
        if cover < _LEAST_COVER:
            return None
        there = np.zeros(len(runs))
        for begin, end in zip(*repeats[where], strict=True):
            there[begin:end] = 1
        part = _shortest(repeats, there)
        volume, before_s = (np.add.reduceat(values, begins) for values in (self.volume, self.before_s))
        return part, _multiple(runs, part, volume, before_s), shares

    def _inner(self, step: int) -> int:
        """Return the shortest period in the kinds of the last calls; 0 if it is none of a loop inside the step."""
        kinds = np.unique(self.kinds[-8 * step :], return_inverse=True)[1].astype(np.int32).reshape(-1)
        inner = _shortest(_repeats(kinds, _shares(kinds)), np.ones(len(kinds)))
        return inner if inner < step else 0

    def places(self, shift: int, most: int) -> Array:
        """Return the last places, at most so many, at which a step may begin: in all stretches that repeat the same step.

        They are positions among the calls, which are alike there and send about as much. The step is the one of the stretch of
        the greatest weight; its cuts lie so many calls before the stretch's last.
        """
        step = self.levels.step
        cut = self._heaviest[1] - 1 - shift
        symbols, volume = self.symbols[cut - step : cut], self.volume[cut - step : cut]
        found: list[int] = []
        for begin, end in self._stretches:
            likely = [at for at in range(max(begin, end - step), end) if (self.symbols[at - step : at] == symbols).all()]
            if not likely:
                continue
            apart, last = min((int(np.abs(self.volume[at - step : at] - volume).sum()), at) for at in likely)
            if 2 * apart <= max(volume.sum(), self.volume[last - step : last].sum()):
                found += range(last, begin - step - 1, -step)
        return np.array(sorted(found, reverse=True)[:most], int)

    @cached_property
    def _stretches(self) -> list[tuple[int, int]]:
        """Where calls are like those a step before, at least a step long, and
        like none nearer; they repeat up to a step before."""
        part, found = self.levels.part, []
        shorter = [period for period in range(1, part) if part % period == 0]
        for begin, end in zip(*(borders.tolist() for borders in _stretches(self.symbols, self.levels.step)), strict=True):
            if not any((self.symbols[begin:end] == self.symbols[begin - period : end - period]).all() for period in shorter):
                found.append((begin, end))
        return found

    @property
    def repeats(self) -> bool:
        """Whether there is a step, and a stretch of calls that repeats it."""
        return self.levels.step > 0 and bool(self._stretches)

    @property
    def _heaviest(self) -> tuple[int, int]:
        """The stretch with the most calls, bytes and time."""
        step = self.levels.step
        return max(self._stretches, key=lambda both: float(self.weight[both[0] - step : both[1]].sum()))

    def shifts(self, idle: Array) -> Sequence[int]:
        """Return by how many calls cuts may lie before the end: first where
        nothing is under way, after the longest computing."""
        step, (begin, end) = self.levels.step, self._heaviest
        usual = {
            shift: float(np.median(self.before_s[end - 1 - shift : begin - 1 : -step]))
            for shift in range(min(step, end - begin))
        }
        return sorted(usual, key=lambda shift: (not idle[self.index[end - 1 - shift]], -usual[shift]))


def _multiple(runs: Array, period: int, volume: Array, before_s: Array) -> int:
    """Return how many periods the step is long: the least number after which sizes are the same or alike, or else times of
    computing.

    Stages of a step may call alike with other sizes (a layer of neighbours behind the other), or be followed by the step's
    computing. A share of what is alike is of the bytes, or of the time.
    """
    calls = np.ones(len(runs))
    most = min(_MOST_STAGES, len(runs) // (3 * period))
    together_s = np.convolve(before_s, np.ones(period), "valid")
    together_s = np.minimum(together_s, np.quantile(together_s, 0.92))  # what takes long once is no stage's computing
    for values, near, one_period in ((volume, 0.0, 0.5), (volume, 0.1, 0.5), (together_s, 0.5, 0.2)):
        alike = np.zeros(most + 1)
        for times in range(1, most + 1):
            distance = times * period
            held = (runs[distance:] == runs[:-distance])[: len(values) - distance]
            one, other = values[distance:][held].astype(float), values[:-distance][held].astype(float)
            larger = np.maximum(one, other)
            alike[times] = larger[np.abs(one - other) <= near * larger].sum() / max(float(larger.sum()), 1e-300)
        if most and alike[1] < one_period and alike.max() >= 0.8:
            times = int(np.argmax(alike >= 0.9 * alike.max()))
            if _cover(runs, times * period, calls) >= 0.6 * _cover(runs, period, calls):
                return times
    return 1


def _fall(group: Array, tags: Array) -> Array:
    """Return of each call whether the tags of its group fall anywhere: tags that
    never do count the steps, as mpi4py's of objects."""
    order = np.argsort(group, kind="stable")
    fallen = (np.diff(tags[order]) < 0) & (np.diff(group[order]) == 0)
    return np.isin(group, group[order][1:][fallen])


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


def _shares(symbols: Array) -> Array:
    """Return of each distance up to a third of the length the share of symbols that are like the one so far before."""
    longest = len(symbols) // 3
    shares = np.zeros(longest + 1)
    for distance in range(1, longest + 1):
        shares[distance] = np.count_nonzero(symbols[distance:] == symbols[:-distance]) / (len(symbols) - distance)
    return shares


def _stretches(symbols: Array, period: int) -> tuple[Array, Array]:
    """Return where stretches of a period or more begin and end in which symbols are like those a period before."""
    same = np.concatenate([np.zeros(period, bool), symbols[period:] == symbols[:-period], [False]])
    borders = np.flatnonzero(same[1:] != same[:-1]) + 1
    begins, ends = borders[::2], borders[1::2]
    long = ends - begins >= period
    return begins[long], ends[long]


def _covers(repeats: Mapping[int, tuple[Array, Array]], weight: Array) -> dict[int, float]:
    """Return of each period the share of the weight that lies in its stretches."""
    upto = np.append(0.0, np.cumsum(weight))
    return {
        period: float((upto[ends] - upto[begins]).sum() / max(float(upto[-1] - upto[period]), 1e-300))
        for period, (begins, ends) in repeats.items()
    }


def _cover(symbols: Array, period: int, weight: Array) -> float:
    """Return the share of the weight that lies in stretches of a period."""
    return _covers({period: _stretches(symbols, period)}, weight)[period]


def _repeats(symbols: Array, shares: Array) -> dict[int, tuple[Array, Array]]:
    """Return the stretches of each period after which not too few calls are like those before."""
    return {period: _stretches(symbols, period) for period in np.nonzero(shares >= _LEAST_SHARE)[0].tolist()}


def _shortest(repeats: Mapping[int, tuple[Array, Array]], weight: Array) -> int:
    """Return the shortest period of not much less than the greatest cover; 0 where nothing repeats."""
    covers = _covers(repeats, weight)
    most = max(covers.values(), default=0.0)
    return next(period for period, cover in covers.items() if cover >= 0.75 * most) if most >= _LEAST_COVER else 0


_BEGINNINGS = (SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COLLECTIVE)
_MOST_STEPS = 21  # cut out, of which the median is the representative


@record
class Steps(Record):
    """The step that repeats in a program.

    Steps are cut out of all ranks.

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

    events_of_step = computed("events of the step", int, lambda of: of.of_first.step, name="events")
    inner_events = computed("events of the inner step", int, lambda of: of.of_first.inner)
    super_step_events = computed("events of a super step; 0: none", int, lambda of: of.of_first.super_step)
    cover = computed("share of the calls in repeated steps", float, lambda of: of.of_first.cover)
    time_s = computed("time of a step, the median", float, lambda of: float(np.median(of.durations_s)))
    time_lo_s = computed("the shortest step", float, lambda of: float(of.durations_s.min()))
    time_hi_s = computed("the longest step", float, lambda of: float(of.durations_s.max()))
    steps = computed("how many steps were seen", int, lambda of: len(of.durations_s))

    @property
    def of_first(self) -> Levels:
        """The levels of the first rank."""
        return next(iter(self.levels.values()))

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
        level = self.of_first
        low, middle, high = (format_time(float(f(self.durations_s))) for f in (np.min, np.median, np.max))
        more = f"; a longer one every {level.super_step} calls" if level.super_step else ""
        return f"{level.step} calls, {middle} ({low} to {high}, {len(self.durations_s)} steps){more}"


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
