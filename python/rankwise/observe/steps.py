"""The step that a program repeats: the period in each rank's calls, cut out of all ranks at once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.marks import marked
from rankwise.observe.needs import MOST_SECONDS, Needs, begun_ns, idle_before
from rankwise.observe.record import COLLECTIVE, COMPLETION, TIME_ONLY
from rankwise.records import Record, computed, key, record
from rankwise.units import format_count, format_share, format_time

Span = tuple[float, float]  # seconds since the program's beginning

_MOST_PERIODS = 6  # are tried, and of each
_MOST_SHIFTS = 16  # places where the step may begin
_FIRST_CUTS = 24  # tell whether a place can be the beginning
_LEAST_COVER = 0.3  # below it nothing repeats
_MOST_DISTANCES = 6  # of each number of calls in a row
_LEAST_SHARE = 0.2  # of calls that are like those before, for a period to be looked at
_LITTLE_COMPUTING = 0.1  # of the steps' time
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
    step lies where most repeats, by calls, bytes and time: there it is the shortest period of three quarters of the greatest
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
    return [period for period, cover in covers.items() if cover >= 0.75 * most] if most >= _LEAST_COVER else []


def _parts(repeats: Mapping[int, _Repeat], weight: Array, periods: Sequence[int]) -> list[int]:
    """Return the periods with those of which they are multiples that cover nearly as much, the shortest first."""
    covers = _covers(repeats, weight)
    least = 0.6 * max((covers[period] for period in periods), default=0.0)
    found = [part for part, cover in covers.items() if cover >= least and any(period % part == 0 for period in periods)]
    return sorted({*periods, *found})


_MOST_LOOKED_AT = 200_000  # events: of so many steps, from the whole of the run, waiting and traffic are looked at
_LEAST_PROGRESS = 0.9  # share of the places between which every rank goes on
_FEW_MERGED = 2  # places at which a rank does not go on
_TOLD, _MOST_KINDS = 0.01, 2  # of the run's time; and kinds of steps besides the first
_APART, _LEAST_PART, _FEW = math.log(2), 0.1, 10  # of times of steps of two kinds; share and number of each among so many calls
_MOST_APART = 2 / 3  # of the steps' time is of the kind told, where steps of many kinds may be of one that data makes differ
_ENOUGH = 0.5  # of the time between the first and the last step: no longer period is looked at


@record
class StepKind(Record):
    """Steps of as many calls, and of about as much time."""

    calls: int = key("calls of the first rank")
    steps: int = key("how many steps")
    time_s: float = key("time of a step, the median")
    share: float = key("share of the run's time, or of the time that was asked for")


@record
class Steps(Record):
    """The step that repeats in a program, cut out of all ranks.

    ``begins``, ``ends`` (steps x ranks): in each rank's events, how many lie before a step's beginning and its end; between two
    such cuts every message that is sent is also received. A step begins where the last ended, but where the program does more
    in between.
    ``durations_s``: of each step, from the last rank's beginning to the next one's. ``levels``: of the first rank.
    ``representative``: the step whose duration is the median; ``sample``: those that are looked at for waiting and traffic.
    """

    begins: Array
    ends: Array
    durations_s: Array
    levels: Levels = key("the periods", inline=True, after="after_s")
    representative: int
    sample: Array
    kinds: tuple[StepKind, ...] = key("kinds of steps; the first is the one told")
    before_s: float = key("time before the first step")
    after_s: float = key("time after the last step")
    of: str

    time_s = computed("time of a step, the median", float, lambda of: float(np.median(of.durations_s)))
    time_lo_s = computed("the shortest step", float, lambda of: float(of.durations_s.min()))
    time_hi_s = computed("the longest step", float, lambda of: float(of.durations_s.max()))
    steps = computed("how many steps were seen", int, lambda of: len(of.durations_s))

    def in_run(self, run_s: float) -> int | None:
        """Return how many of them a run that took so long had; None where that is not known."""
        return round(run_s * self.kinds[0].share / self.time_s) if self.time_s > 0 and run_s > 0 else None

    def window(self, events: Mapping[int, Array], rank: int) -> Array:
        """Return a rank's events of the steps that are looked at."""
        return np.asarray(events[rank][self.positions(sorted(events).index(rank))])

    def positions(self, column: int) -> Array:
        """Return where these lie among the events of a rank (by its place among the ranks)."""
        borders = zip(self.begins[self.sample, column].tolist(), self.ends[self.sample, column].tolist(), strict=True)
        return np.concatenate([np.arange(begin, end) for begin, end in borders])

    def spans_s(self, events: Mapping[int, Array]) -> Array:
        """Return how long the steps that are looked at took together on each rank."""
        begins, ends = self.begins[self.sample], self.ends[self.sample]
        return np.array(
            [
                (begun_ns(of_rank, ends[:, column]) - begun_ns(of_rank, begins[:, column])).sum() * 1e-9
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
        """The step: ``36 MPI calls a rank, median 12.3 ms, range 11.9 ms to 14 ms (99 steps), 92 % of the run; ...``."""
        low, middle, high = (format_time(float(f(self.durations_s))) for f in (np.min, np.median, np.max))
        first, *others = self.kinds
        count = format_count(first.steps, "step")
        mean_s, median_s = float(np.mean(self.durations_s)), float(np.median(self.durations_s))
        mean = f", mean {format_time(mean_s)}" if mean_s >= 2 * median_s else ""
        span = f", range {low} to {high}" if low != high else ""
        about = "" if self.levels.part else "about "
        words = [
            f"{about}{format_count(first.calls, 'MPI call')} a rank, median {middle}{mean}{span} ({count}), "
            f"{format_share(first.share)} of {self.of}"
        ]
        told = [one for one in others[:_MOST_KINDS] if one.share >= _TOLD]
        words += [
            f"{format_count(one.calls, 'call')}, {format_time(one.time_s)} ({format_count(one.steps, 'step')}), "
            f"{format_share(one.share)}"
            for one in told
        ]
        if rest := [one for one in others if one not in told]:
            words.append(f"{format_count(len(rest), 'other kind')}, {format_share(sum(one.share for one in rest))}")
        whole_s = self.durations_s.sum() / first.share
        ends = (("before the first", self.before_s), ("after the last", self.after_s))
        words += [f"{where} {format_time(s)} ({format_share(s / whole_s)})" for where, s in ends if s >= _TOLD * whole_s]
        words += [f"a longer one every {self.levels.super_step} calls"] if self.levels.super_step else []
        return "; ".join(words)


def common_steps(events: Mapping[int, Array], span_s: Span | None = None, run_s: float = 0.0) -> Steps | None:
    """Cut the steps out of all ranks' events, whose recording began with the program; None where there is no common step.

    A cut is consistent when, of each sender, receiver, tag and communicator, as many messages are sent before it as receives
    are posted, and its ranks have made as many collective calls. Of each place on one rank the least such cut is taken. A
    period between whose cuts not every rank goes on (a plane of a sweep), or that takes little of the time, is left for a
    longer one. ``span_s``: from when to when steps are looked for, else in the whole run, which took ``run_s``, or until its
    last call. Raises TooLongError.
    """
    best, found_s, apart = None, 0.0, False
    last_s = max((int(of_rank["end_ns"].max(initial=0)) * 1e-9 for of_rank in events.values()), default=0.0)
    span_s = span_s or (0.0, max(run_s, last_s))
    first = "the first " if span_s[0] <= 0 else ""
    of = "the run" if first and span_s[1] >= (run_s or last_s) else f"{first}{format_time(span_s[1] - span_s[0])}"
    for levels, at, cuts in _divided(events, span_s) if events else ():
        if best is not None and not apart and not levels.part:
            break
        of_ranks = [_began_ns(events[rank], cuts[:, i], min(run_s, span_s[1])) for i, rank in enumerate(sorted(events))]
        began_ns, whole = np.stack([began for began, _ in of_ranks], axis=1).max(axis=1), all(whole for _, whole in of_ranks)
        # From the last rank's beginning: ranks take turns at being late, the longest of their steps are together longer than
        # the run.
        begun_s, durations, calls = began_ns * 1e-9, np.diff(began_ns) * 1e-9, np.diff(at)
        own_s = float(durations[calls == levels.step].sum())  # else the program does more between two cuts
        if own_s > found_s:
            kinds = sorted(_kinds(calls, durations), key=lambda of: (calls[of[0]] != levels.step, -durations[of].sum()))
            whole_s = max(span_s[1] - span_s[0], begun_s[-1] - begun_s[0])
            begins, ends, own = cuts[:-1][kinds[0]], cuts[1:][kinds[0]], durations[kinds[0]]
            most = max(1, _MOST_LOOKED_AT * len(own) // max(1, int((ends - begins).sum())))
            last = len(own) - 1 - (2 < most < len(own) or (not whole and len(own) > 1))
            sample = np.unique(np.linspace(0, last, min(most, len(own))).round().astype(int))
            made = np.diff(_calls_before(events, cuts))
            told = [
                StepKind(
                    int(np.median(made[of])), len(of), float(np.median(durations[of])), float(durations[of].sum() / whole_s)
                )
                for of in kinds
            ]
            rest_s = span_s[1] - float(begun_s[-1])  # below 0: the first step's computing lies before its first call
            before_s = round(float(begun_s[0]) - span_s[0] + min(rest_s, 0.0), 9)
            middle = _middle(own)
            # What is computed before a rank's very first call is not in the record.
            inside = np.flatnonzero(begins.all(axis=1))
            if len(inside) and not begins[middle].all():
                middle = int(inside[_middle(own[inside])])
            best, found_s = (
                Steps(begins, ends, own, levels, middle, sample, tuple(told), max(0.0, before_s), max(0.0, rest_s), of),
                own_s,
            )
            apart = len(kinds) > _MOST_KINDS + 1 and own_s < _MOST_APART * durations.sum()
            if own_s >= _ENOUGH * durations.sum() and not apart:
                break
    return best


def _calls_before(events: Mapping[int, Array], cuts: Array) -> Array:
    """Return how many calls of MPI the first rank has made before each cut: of what MPI_Waitall completes, and of both halves
    of MPI_Sendrecv, one."""
    rank = min(events)
    own = events[rank][["call", "start_ns"]]
    return np.asarray(np.append(0, np.cumsum(np.append(True, own[1:] != own[:-1])))[cuts[:, sorted(events).index(rank)]])


def _began_ns(events: Array, cuts: Array, run_s: float) -> tuple[Array, bool]:
    """Return when what follows cuts began, and whether the last step is known to its end.

    Behind it a program may do anything before its next call, or end; what it computes in a step may lie before its first call.
    Where that is far from what is usual before a cut, what is usual counts.
    """
    began = begun_ns(events, cuts).astype(np.int64)
    if len(cuts) < 3 or not cuts[-1]:
        return began, True
    ended = np.maximum.accumulate(events["end_ns"].astype(np.int64))[cuts[1:] - 1]
    like = np.diff(cuts[:-1]) == cuts[-1] - cuts[-2]
    usual = max(0, round(float(np.median((began[1:-1] - ended[:-1])[like | ~like.any()]))))
    spent = int(began[-1] if cuts[-1] < len(events) else round(run_s * 1e9)) - int(ended[-1])
    whole = 0.75 * usual <= spent <= 1.5 * usual
    began[-1] = min(max(int(ended[-1]) + (spent if whole else usual), int(began[-2])), (1 << 63) - 1)
    return began, whole or usual < _LITTLE_COMPUTING * float(np.median(np.diff(began[:-1])))


def _middle(durations: Array) -> int:
    """Return the step of the median duration; the last one, behind which cuts have nothing to be held against, only where there
    are no three."""
    order = np.argsort(durations)
    near: list[int] = order[np.argsort(np.abs(np.arange(len(order)) - len(order) // 2), kind="stable")].tolist()
    return next((step for step in near if len(near) < 3 or step < len(near) - 1), near[0])


def _kinds(calls: Array, durations: Array) -> list[Array]:
    """Return the steps of each kind: of as many calls, and where their times lie in two parts far from each other, of each."""
    found = []
    for number in np.unique(calls):
        of_number = np.flatnonzero(calls == number)
        order = of_number[np.argsort(durations[of_number], kind="stable")]
        least = max(_FEW, math.ceil(_LEAST_PART * len(order)))
        apart = np.diff(np.log(np.maximum(durations[order], 1e-9)))[least - 1 : len(order) - least]
        two = len(apart) and apart.max() > _APART
        found += [np.sort(of_kind) for of_kind in np.split(order, [least + int(np.argmax(apart))] if two else [])]
    return found


def _divided(events: Mapping[int, Array], span_s: Span) -> Iterator[tuple[Levels, Array, Array]]:
    """Yield ways to cut all ranks' events into steps, the shortest first: where among the first rank's calls steps begin, and
    all ranks' cuts there."""
    until_s = time.process_time() + MOST_SECONDS
    needs = Needs(events)
    first, *others = needs.leads
    # Ranks that never hear of the first one, not even by others, are cut as many of their own steps before the end.
    further = [needs.cuts(lead, _usual_places(Calls.of(events[lead]), idle_before(events[lead])), until_s) for lead in others]
    calls, idle = Calls.of(events[first], span_s), idle_before(events[first])
    # No step begins before a rank's first call that tells of others: what creates communicators is none of its calls.
    speaks = [int(np.argmax(np.append(of_rank["kind"] != TIME_ONLY, True))) for _, of_rank in sorted(events.items())]

    def cut(places: Array) -> tuple[Array, Array, bool]:
        """Return the places among the first rank's events between whose cuts all ranks go on, these cuts, and whether there are
        more than a few others."""
        found = [needs.cuts(first, places, until_s), *further]
        count = min(map(len, found))
        cuts = np.maximum(np.sum([of_set[len(of_set) - count :] for of_set in found], axis=0), speaks)
        going_on = _going_on(cuts)
        kept = going_on if len(going_on) >= max(3, _LEAST_PROGRESS * count - 1) else going_on[:0]
        return places[len(found[0]) - count : len(found[0])][kept], cuts[kept], count - len(kept) > _FEW_MERGED

    uneven = []  # as planes of a sweep: longer periods come first
    ends = np.append(calls.index, calls.index[-1:] + 1)
    repeated = ((levels, calls.stretches(levels)) for levels in calls.levels())
    for levels, stretches in islice((both for both in repeated if both[1]), _MOST_PERIODS):
        for shift in calls.shifts(levels, stretches, idle)[:_MOST_SHIFTS]:
            places = ends[calls.places(levels, stretches, shift)]
            if len(cut(places[:_FIRST_CUTS])[0]):  # the first ones tell soon that it cannot be
                at, cuts, merged = cut(places)
                if len(at):
                    uneven.append((levels, np.searchsorted(calls.index, at), cuts))
                    if not merged:
                        yield uneven.pop()
                    break
    yield from uneven
    cover, ends = marked(events, calls.index[calls.kinds // 256 == COLLECTIVE], first, cut)
    if len(ends):
        number = int(np.median(np.diff(ends[:, sorted(events).index(first)])))
        yield Levels(0, number, 0, cover, 0), number * np.arange(len(ends)), ends


def _usual_places(calls: Calls, idle: Array) -> Array:
    """Return where a rank's steps most likely begin in its events."""
    for levels in calls.levels():
        if stretches := calls.stretches(levels):
            ends = np.append(calls.index, calls.index[-1:] + 1)
            return ends[calls.places(levels, stretches, calls.shifts(levels, stretches, idle)[0])]
    return np.array([], int)


def _going_on(cuts: Array) -> Array:
    """Return the cuts before each of which all ranks have done something since the last one."""
    if not len(cuts) or np.all(np.diff(cuts, axis=0) > 0):
        return np.arange(len(cuts))
    kept = [0]
    for number, cut in enumerate(cuts):
        if (cut > cuts[kept[-1]]).all():
            kept.append(number)
    return np.array(kept)
