"""The step that a program repeats: the period in the first rank's calls, cut out of all ranks at once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.marks import marked
from rankwise.observe.needs import MOST_SECONDS, Needs, begun_ns, idle_before
from rankwise.observe.periods import Calls, Levels, Span
from rankwise.observe.record import COLLECTIVE, TIME_ONLY
from rankwise.records import Record, computed, key, record
from rankwise.units import format_count, format_share, format_time

_MOST_PERIODS = 6  # are tried, and of each
_MOST_SHIFTS = 16  # places where the step may begin
_FIRST_CUTS = 24  # tell whether a place can be the beginning
_LITTLE_COMPUTING = 0.1  # of the steps' time
_MOST_LOOKED_AT = 200_000  # events: of so many steps, from the whole of the run, waiting and traffic are looked at
_LEAST_PROGRESS = 0.9  # share of the places between which every rank goes on
_FEW_MERGED = 2  # places at which a rank does not go on
_TOLD, _MOST_KINDS = 0.01, 2  # of the run's time; and kinds of steps besides the first
_APART, _LEAST_PART, _FEW = math.log(2), 0.1, 10  # of times of steps of two kinds; share and number of each among so many calls
_MOST_APART = 2 / 3  # of the steps' time is of the kind told, where steps of many kinds may be of one that data makes differ
_LEAST_OF_TIME, _LEAST_OF_CALLS = 0.05, 0.02  # with less of all (calls: and bytes), what repeats is no step
_LEAST_BETWEEN, _MOST_OF_TIME = 0.1, 0.5  # of the calls between the first and the last step, but where steps have so much time
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

    def moved_bytes(self, events: Mapping[int, Array]) -> Array:
        """Return the bytes of each rank's calls in each step (steps x ranks)."""
        moved = []
        for column, (_, of_rank) in enumerate(sorted(events.items())):
            so_far = np.append(0.0, np.cumsum(of_rank["bytes"], dtype=float))
            moved.append(so_far[self.ends[:, column]] - so_far[self.begins[:, column]])
        return np.stack(moved, axis=1)

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
    return best if best is not None and _stands_for_the_run(best, events) else None


def _stands_for_the_run(steps: Steps, events: Mapping[int, Array]) -> bool:
    """Return whether steps have more of the time, the calls or the bytes than some loop of a program that has no step, and most
    of what lies between the first and the last is not other calls."""
    share, calls = steps.kinds[0].share, (steps.ends - steps.begins).sum()
    if share < _MOST_OF_TIME and calls < _LEAST_BETWEEN * (steps.ends[-1] - steps.begins[0]).sum():
        return False
    if share >= _LEAST_OF_TIME or calls > _LEAST_OF_CALLS * sum(map(len, events.values())):
        return True
    moved = sum(float(of_rank["bytes"].sum(dtype=float)) for of_rank in events.values())
    return float(steps.moved_bytes(events).sum()) > _LEAST_OF_CALLS * moved


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
