"""The period in one rank's calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.record import COLLECTIVE, COMPLETION, TIME_ONLY
from rankwise.records import Record, key, record

Span = tuple[float, float]  # seconds since the program's beginning

_LEAST_COVER = 0.3  # below it nothing repeats
_NEARLY_MOST = 2 / 3  # of the greatest cover: every fifth step may do more, and the next is then unlike the one before
_MOST_DISTANCES = 6  # of each number of calls in a row
_LEAST_SHARE = 0.2  # of calls that are like those before, for a period to be looked at
_MOST_LENGTHS = 12  # of steps, with which the last is compared
_MOST_STAGES = 12  # of a step that call alike


@record
class Levels(Record):
    """The periods in a rank's events: ``inner`` (of the kinds of calls alone), ``step``, ``super_step``; 0 where there is none.

    ``cover``: the share of calls that lie in repeated steps. ``part``: the period of the step's stages, where these call alike;
    else the step; 0 where steps do not call alike, but each ends with the same collective.
    """

    inner: int = key("events of the inner step", name="inner_events", after="step")
    step: int = key("events of the step", name="events")
    super_step: int = key("events of a super step; 0: none", name="super_step_events")
    cover: float = key("share of the calls in repeated steps")
    part: int


def levels_of(events: Array) -> Levels:
    """Return the periods in a rank's events (of EVENT), those that only take time left out.

    Two calls are alike that have kind, function, peer, tag and communicator in common. Of
    completions peer and tag do not count: in which order messages arrive is the network's doing (MPI_Waitany). The
    step lies where most repeats, by calls, bytes and time: there it is the shortest period of two thirds of the greatest
    cover, cover(p) being the share of calls in stretches of p or more that are like the one p before; it is several periods
    long where only then sizes or computing times are alike (see ``_multiple``). A super-step explains half of what the step
    leaves. Calls that follow their like (a neighbour gets several messages) are one symbol with their number, lest a repeated
    call be taken for the step. Tags that only grow count the steps, and tell no calls apart.
    """
    return next(Calls.of(events).levels(), _NOTHING)


_NOTHING = Levels(0, 0, 0, 0.0, 0)


@dataclass(frozen=True, eq=False)
class Calls:
    """A rank's calls as symbols, those that only take time left out.

    ``index``: where they lie in its events; ``volume``: the bytes that each begins to move; ``before_s``: what is computed
    before each; ``ended_s``: when all so far had ended; ``weight``: its share of calls, bytes and time.
    """

    index: Array
    symbols: Array
    kinds: Array
    volume: Array
    before_s: Array
    ended_s: Array
    weight: Array

    @classmethod
    def of(cls, events: Array, span_s: Span = (0.0, math.inf)) -> Calls:
        begun_s = events["start_ns"] * 1e-9
        index = np.nonzero((events["kind"] != TIME_ONLY) & (begun_s >= span_s[0]) & (begun_s <= span_s[1]))[0]
        timed = events[index]
        kinds = timed["kind"].astype(np.int64) * 256 + timed["call"]
        named = timed["kind"] != COMPLETION
        tags = timed["tag"] * (named & (timed["kind"] != COLLECTIVE))
        columns = np.stack([kinds, timed["peer"] * named, timed["comm"], tags], axis=1)
        columns[:, 3] *= _fall(np.unique(columns[:, :3], axis=0, return_inverse=True)[1].reshape(-1), columns[:, 3])
        symbols = np.unique(columns, axis=0, return_inverse=True)[1].astype(np.int32).reshape(-1)
        begun, ended = timed["start_ns"].astype(np.float64), timed["end_ns"].astype(np.float64)
        ended = np.append(begun[:1], np.maximum.accumulate(ended))
        volume = timed["bytes"] * named
        weight = sum(part / max(float(part.sum()), 1e-300) for part in (np.ones(len(index)), volume, np.diff(ended)))
        return cls(
            index, symbols, kinds, volume, np.maximum(0, begun - ended[:-1]) * 1e-9, ended[1:] * 1e-9, np.asarray(weight)
        )

    def levels(self) -> Iterator[Levels]:
        """Yield the periods (see levels_of), and longer ones of which nearly as much repeats."""
        if len(self.symbols) < 6:
            return
        runs, lengths = _in_runs(self.symbols)
        repeats, parts = self._periods(runs, lengths)
        if not parts and len(runs) < len(self.symbols):
            runs, lengths = self.symbols, np.ones(len(self.symbols), int)
            repeats, parts = self._periods(runs, lengths)
        begins = np.cumsum(lengths) - lengths
        volume, before_s = (np.add.reduceat(values, begins) for values in (self.volume, self.before_s))
        for part in parts:
            yield self._level(runs, lengths, repeats, part, _multiple(runs, part, volume, before_s))

    def _level(self, runs: Array, lengths: Array, repeats: Mapping[int, _Repeat], part: int, times: int) -> Levels:
        in_runs, super_step = times * part, 0
        part = _calls_of(lengths, part)
        step = times * part
        share = _repeat(runs, in_runs).share
        longer = [one for one in repeats if one >= 2 * in_runs and repeats[one].share > share + (1 - share) / 2]
        if share < 0.99 and longer:
            near = [one for one in longer if one < longer[0] + in_runs]
            super_step = _calls_of(lengths, max(near, key=lambda one: repeats[one].share))
        return Levels(self._inner(step), step, super_step, _cover(runs, in_runs, lengths), part)

    def _periods(self, runs: Array, lengths: Array) -> tuple[dict[int, _Repeat], list[int]]:
        """Return what repeats of runs of calls, and the periods of nearly as much as most, the shortest first."""
        weight = np.add.reduceat(self.weight, np.cumsum(lengths) - lengths)
        repeats = {distance: _repeat(runs, distance) for distance in _distances(runs, weight)}
        # Where most repeats, by calls, bytes and time: a program's beginning and end may have more calls than its steps.
        cover, where = max(((cover, period) for period, cover in _covers(repeats, weight).items()), default=(0.0, 0))
        if cover < _LEAST_COVER:
            return repeats, []
        there = np.zeros(len(runs))
        for begin, end in zip(repeats[where].begins, repeats[where].ends, strict=True):
            there[begin:end] = 1
        return repeats, _parts(repeats, there, _shortest(repeats, there))

    def _inner(self, step: int) -> int:
        """Return the shortest period in the kinds of the last calls; 0 if it is none of a loop inside the step."""
        kinds = np.unique(self.kinds[-8 * step :], return_inverse=True)[1].astype(np.int32).reshape(-1)
        weight = np.ones(len(kinds))
        inner = _shortest({distance: _repeat(kinds, distance) for distance in _distances(kinds, weight)}, weight)
        return inner[0] if inner and inner[0] < step else 0

    def places(self, levels: Levels, stretches: Sequence[tuple[int, int]], shift: int) -> Array:
        """Return the places at which a step may begin, ascending.

        They are positions among the calls. The step is the one of the stretch of the greatest weight; its cuts lie so many
        calls before the stretch's last. A step begins wherever the calls are made with which it alone begins. Stages that call
        alike are told apart by how much they send: there, steps are those of the stretches that repeat them.
        """
        step = levels.step
        of_most = self._heaviest(levels, stretches)
        cut = of_most[1] - 1 - shift
        if levels.part == step:
            found: Array = np.arange(len(self.symbols))
            for length in range(step):
                found = found[: np.searchsorted(found, len(self.symbols) - length)]
                found = found[self.symbols[found + length] == self.symbols[cut - step + length]]
                if np.searchsorted(found, cut) - np.searchsorted(found, cut - step) <= 1:
                    return np.append(found, found[-1] + np.array(self._last(found, step, cut - step), int))
        symbols, volume = self.symbols[cut - step : cut], self.volume[cut - step : cut]
        aligned: list[int] = []
        for begin, end in stretches:
            likely = [at for at in range(max(begin, end - step), end) if (self.symbols[at - step : at] == symbols).all()]
            if not likely:
                continue
            apart, behind = min((int(np.abs(self.volume[at - step : at] - volume).sum()), at) for at in likely)
            if 2 * apart <= max(volume.sum(), self.volume[behind - step : behind].sum()):
                whole = np.array_equal(self.symbols[behind : behind + step], symbols) and behind + step <= end
                aligned += range(behind + step * whole, begin - step - 1, -step)
        return np.array(sorted(aligned), int)

    def _last(self, found: Array, step: int, at: int) -> list[int]:
        """Return how many calls the last step has: as the longest of the others, or the step at a place, that calls alike; none
        where the calls end within it."""
        lengths, first = np.unique(np.diff(found), return_index=True)
        likely = sorted([(step, at), *zip(lengths[:_MOST_LENGTHS].tolist(), found[first].tolist(), strict=False)])
        own = self.symbols[found[-1] :]
        return [count for count, other in likely if np.array_equal(own[:count], self.symbols[other : other + count])][-1:]

    def stretches(self, levels: Levels) -> list[tuple[int, int]]:
        """Return where calls are like those a step before, at least a step long, and like none nearer; they repeat up to a step
        before."""
        part, found, every = levels.part, [], _repeat(self.symbols, levels.step)
        shorter = [period for period in range(1, part) if part % period == 0]
        for begin, end in zip(every.begins.tolist(), every.ends.tolist(), strict=True):
            if not any((self.symbols[begin:end] == self.symbols[begin - period : end - period]).all() for period in shorter):
                found.append((begin, end))
        return found

    def _heaviest(self, levels: Levels, stretches: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return the stretch with the most calls, bytes and time."""
        return max(stretches, key=lambda both: float(self.weight[both[0] - levels.step : both[1]].sum()))

    def _usual_s(self, shift: int, step: int, begin: int, end: int) -> float:
        """Return what is computed before the call that lies so far before the end of each of a stretch's steps, the median."""
        return float(np.median(self.before_s[end - 1 - shift : begin - 1 : -step]))

    def shifts(self, levels: Levels, stretches: Sequence[tuple[int, int]], idle: Array) -> Sequence[int]:
        """Return by how many calls cuts may lie before the end: first where nothing is under way, the most steps begin, and the
        most is computed before."""
        step, (begin, end) = levels.step, self._heaviest(levels, stretches)
        usual = {shift: self._usual_s(shift, step, begin, end) for shift in range(min(step, end - begin))}
        idle_at = {shift: idle[self.index[end - 1 - shift]] for shift in usual}
        whole = {shift: (end - begin + step - (shift + 1) % step) // step for shift in usual}
        return sorted(usual, key=lambda shift: (not idle_at[shift], -whole[shift], -usual[shift]))


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


def _distances(symbols: Array, weight: Array) -> list[int]:
    """Return after what distances, up to a third of the length, calls may repeat.

    Those at which one, two, four ... in a row come again most often.
    """
    found: set[int] = set()
    grams, length = symbols.astype(np.int64), 1
    while 3 * length <= len(symbols):
        order = np.argsort(grams, kind="stable")
        again = np.diff(grams[order]) == 0
        apart = np.diff(order)[again]
        near = apart <= len(symbols) // 3
        heavy = np.bincount(apart[near], weight[order[1:][again][near]])
        best = np.argsort(-heavy, kind="stable")[:_MOST_DISTANCES]
        found.update(best[heavy[best] > 0].tolist())
        grams = np.unique(grams[:-length] * len(symbols) + grams[length:], return_inverse=True)[1].reshape(-1)
        length *= 2
    return sorted(found)


class _Repeat(NamedTuple):
    """Where stretches of a distance or more begin and end in which symbols are like those so far before, and the share of all
    that are."""

    begins: Array
    ends: Array
    share: float


def _repeat(symbols: Array, distance: int) -> _Repeat:
    same = np.concatenate([np.zeros(distance, bool), symbols[distance:] == symbols[:-distance], [False]])
    borders = np.flatnonzero(same[1:] != same[:-1]) + 1
    begins, ends = borders[::2], borders[1::2]
    long = ends - begins >= distance
    return _Repeat(begins[long], ends[long], float(np.count_nonzero(same)) / max(len(symbols) - distance, 1))


def _covers(repeats: Mapping[int, _Repeat], weight: Array) -> dict[int, float]:
    """Return of each period the share of the weight that lies in its stretches."""
    upto = np.append(0.0, np.cumsum(weight))
    return {
        period: float((upto[one.ends] - upto[one.begins]).sum() / max(float(upto[-1] - upto[period]), 1e-300))
        for period, one in repeats.items()
        if one.share >= _LEAST_SHARE
    }


def _cover(symbols: Array, period: int, weight: Array) -> float:
    """Return the share of the weight that lies in stretches of a period."""
    return _covers({period: _repeat(symbols, period)._replace(share=1.0)}, weight)[period]


def _shortest(repeats: Mapping[int, _Repeat], weight: Array) -> list[int]:
    """Return the periods of not much less than the greatest cover, the shortest first; none where nothing repeats."""
    covers = _covers(repeats, weight)
    most = max(covers.values(), default=0.0)
    return [period for period, cover in covers.items() if cover >= _NEARLY_MOST * most] if most >= _LEAST_COVER else []


def _parts(repeats: Mapping[int, _Repeat], weight: Array, periods: Sequence[int]) -> list[int]:
    """Return the periods with those of which they are multiples that cover nearly as much, the shortest first."""
    covers = _covers(repeats, weight)
    least = 0.6 * max((covers[period] for period in periods), default=0.0)
    found = [part for part, cover in covers.items() if cover >= least and any(period % part == 0 for period in periods)]
    return sorted({*periods, *found})
