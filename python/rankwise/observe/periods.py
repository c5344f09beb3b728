"""The step that a rank repeats: the period in its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.observe.record import COMPLETION, TIME_ONLY

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
