"""Which algorithm a library is to be set to: only where it gains more than 5 %, and more than is not known of the gain."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rankwise import _core
from rankwise.collectives.selection import Call, Selection, publishes_rules, select
from rankwise.collectives.settable import Setting, settable
from rankwise.collectives.written import Library, Rule
from rankwise.engines.model import Model
from rankwise.engines.placement import Seats
from rankwise.errors import InputError
from rankwise.tune.calls import Called
from rankwise.units import format_share
from rankwise.workloads.base import Program, Span
from rankwise.workloads.collective_schedule import Schedule

LEAST_GAIN = 0.05
_AS_GOOD = 0.02  # a setting so near to the best may be taken instead
_SAME_KIND = 1.15  # what an algorithm of the same kind may differ by from the library's own


@dataclass(frozen=True)
class Gain:
    """Seconds that are gained, with their 95 % interval."""

    s: float
    lo_s: float
    hi_s: float

    def times(self, count: float) -> Gain:
        return Gain(self.s * count, self.lo_s * count, self.hi_s * count)


def together(gains: Iterable[Gain]) -> Gain:
    """Return what several gains come to; what is not known of them is taken as not independent."""
    every = list(gains)
    return Gain(sum(one.s for one in every), sum(one.lo_s for one in every), sum(one.hi_s for one in every))


@dataclass(frozen=True)
class Choice:
    """What is chosen for a collective of some bytes and ranks: a setting, or none, and ``why``; times are of a call."""

    kind: str
    ranks: int
    size_bytes: int
    selected: Selection
    now_s: float
    setting: Setting | None
    new_s: float
    gain: Gain
    why: str
    in_run: float
    in_step: float | None
    by_nodes: bool

    @property
    def occurs(self) -> bool:
        return self.in_run > 0


class Chooser:
    """Chooses settings of one library on one machine."""

    def __init__(self, library: Library, model: Model) -> None:
        self.library = library
        self._model = model
        self._seats = Seats.of_profile(model.profile)
        self._kept: dict[tuple[int, ...], _core.Placement] = {}

    def choose(self, called: Sequence[Called]) -> list[Choice]:
        """Return what is chosen for each kind, number of ranks and size, ascending. Raises InputError for a lacking link."""
        alike: dict[tuple[str, int], dict[int, list[Called]]] = defaultdict(lambda: defaultdict(list))
        for one in called:
            alike[one.call.kind, one.call.ranks][one.call.size_bytes].append(one)
        found = []
        for key in sorted(alike):
            before: Setting | None = None
            for _, of_size in sorted(alike[key].items()):
                found.append(self._choice(of_size, before))
                before = found[-1].setting
        return found if publishes_rules(self.library.name) else list(_whole_kinds(found))

    def _choice(self, called: Sequence[Called], before: Setting | None) -> Choice:
        calls = [one.call for one in called]
        weights = [one.in_run or 1.0 for one in called]
        weights = [weight / sum(weights) for weight in weights]
        selected, now = self._by_default(called, weights)
        in_steps = [one.in_step for one in called if one.in_step is not None]
        times = sum(one.in_run for one in called), sum(in_steps) if in_steps else None
        by_nodes = any(call.holds("several nodes of several ranks") for call in calls)
        if now is None:
            return Choice(
                calls[0].kind, calls[0].ranks, calls[0].size_bytes, selected, 0.0, None, 0.0, Gain(0.0, 0.0, 0.0),
                "what the library selects is not published, and no call was timed", *times, by_nodes,
            )  # fmt: skip
        priced = dict(self._priced(calls, weights))
        best = min(priced, key=lambda setting: priced[setting].time_s, default=None)
        if best is not None:  # of those that are as good the one of the fewest messages: its overheads matter least
            as_good = [one for one in priced if priced[one].time_s <= (1 + _AS_GOOD) * priced[best].time_s]
            best = max(as_good, key=lambda one: (one.segment_bytes or math.inf, -priced[one].time_s))
        if best is not None and before in priced and priced[before].time_s <= (1 + _AS_GOOD) * priced[best].time_s:
            best = before
        new = now if best is None else priced[best]
        gain = _gained(now, new)
        why = ""
        if self.library.name.startswith("mpich") and any(call.holds("one node") for call in calls):
            why = "all ranks are on one node, where MPICH uses shared memory that is not predicted"
        elif best is None:
            why = "there is no other algorithm to set"
        elif new.time_s >= now.time_s:
            why = "the default is the fastest"
        elif gain.s < LEAST_GAIN * now.time_s:
            why = f"gains less than {format_share(LEAST_GAIN)}"
        elif gain.lo_s <= 0:
            why = "gains no more than the prediction's error"
        return Choice(
            calls[0].kind, calls[0].ranks, calls[0].size_bytes, selected, now.time_s, None if why else best, new.time_s, gain,
            why, *times, by_nodes,
        )  # fmt: skip

    def _by_default(self, called: Sequence[Called], weights: Sequence[float]) -> tuple[Selection, Span | None]:
        """Return what the library selects, and what calls take: by its rules, or else as they were timed (None: not known)."""
        calls = [one.call for one in called]
        if not publishes_rules(self.library.name):
            timed = [one.took for one in called if one.took is not None]
            selected = Selection(self.library.name, "default", "", "its rules are not published", exact=False)
            return selected, _mean(timed, weights) if len(timed) == len(called) else None
        selections = [select(self.library.name, call) for call in calls]
        now = self._times(calls, [Schedule.of(*pair) for pair in zip(selections, calls, strict=True)], weights)
        if now is None:
            raise InputError(f"what {self.library.name} selects for {calls[0].kind} cannot be predicted")
        if not all(one.exact for one in selections):
            low_s, high_s = now.ends_s
            now = Span(now.time_s, low_s / _SAME_KIND, high_s * _SAME_KIND)
        return selections[0], now

    def _priced(self, calls: Sequence[Call], weights: Sequence[float]) -> Iterator[tuple[Setting, Span]]:
        for setting in dict.fromkeys(settable(self.library.name, calls[0])):
            if not self.library.knows(calls[0].kind, setting):
                continue
            schedules = [
                Schedule(call.kind, call.ranks, call.size_bytes, setting.algorithm, setting.radix, setting.segment_bytes)
                for call in calls
            ]
            if (times := self._times(calls, schedules, weights)) is not None:
                yield setting, times

    def _times(self, calls: Sequence[Call], schedules: Sequence[Schedule], weights: Sequence[float]) -> Span | None:
        """Return the mean time of calls that are carried out so; None where an algorithm cannot be for one of them."""
        spans: list[Span] = []
        for call, schedule in zip(calls, schedules, strict=True):
            if call.node_of_rank not in self._kept:
                self._kept[call.node_of_rank] = self._seats.on_nodes(call.node_of_rank)
            placement = self._kept[call.node_of_rank]
            if schedule.core.why_not(placement):
                return None
            spans.append(self._model.price(Program(schedule), 1, placement).span)
        return _mean(spans, weights)


def _whole_kinds(choices: Sequence[Choice]) -> Iterator[Choice]:
    """Keep what is set of a collective only where all calls of it are set, all of one number of ranks.

    Intel MPI 2021.19 takes an entry of a variable for calls that lie below its range or above all, too, and 0 in an entry is
    its basic logic, not its default: nothing can be left as it is.
    """
    occur: dict[str, list[Choice]] = defaultdict(list)
    for one in choices:
        if one.occurs:
            occur[one.kind].append(one)
    for one in choices:
        others = occur[one.kind]
        whole = all(other.setting is not None and other.ranks == one.ranks for other in others)
        yield (
            one
            if one.setting is None or whole
            else replace(
                one, setting=None, why="other calls of it would be faster by default, and its variable holds for all of them"
            )
        )


def _mean(spans: Sequence[Span], weights: Sequence[float]) -> Span:
    ends = zip(*((span.time_s, *span.ends_s) for span in spans), strict=True)
    return Span(*(sum(weight * end for weight, end in zip(weights, of, strict=True)) for of in ends))


def _gained(before: Span, after: Span) -> Gain:
    """Return what is gained from one time to the other; their errors are taken as independent."""
    gain = before.time_s - after.time_s
    (low, high), (after_low, after_high) = before.ends_s, after.ends_s
    down = math.hypot(before.time_s - low, after_high - after.time_s)
    up = math.hypot(high - before.time_s, after.time_s - after_low)
    return Gain(gain, gain - down, gain + up)


def rules_of_choices(choices: Sequence[Choice]) -> list[tuple[Rule, list[Choice]]]:
    """Return a rule for each run of sizes that are set alike, with the choices that it rests on.

    Between two sizes that were looked at nothing is set but where both are set alike.
    """
    found: list[tuple[Rule, list[Choice]]] = []
    last: Choice | None = None
    for one in choices:
        follows = last is not None and (last.kind, last.ranks, last.setting) == (one.kind, one.ranks, one.setting)
        if one.setting is not None and follows:
            rule, behind = found[-1]
            wider = Rule(rule.kind, rule.ranks, rule.first, one.size_bytes, rule.setting, rule.by_nodes or one.by_nodes)
            found[-1] = (wider, [*behind, one])
        elif one.setting is not None:
            found.append((Rule(one.kind, one.ranks, one.size_bytes, one.size_bytes, one.setting, one.by_nodes), [one]))
        last = one
    return found


def by_reason(choices: Sequence[Choice]) -> Mapping[tuple[str, int, str, str], list[int]]:
    """Return the sizes that are left at the default, by collective, ranks, what is selected and why."""
    left: dict[tuple[str, int, str, str], list[int]] = defaultdict(list)
    for one in choices:
        if one.setting is None:
            left[one.kind, one.ranks, one.selected.name, one.why].append(one.size_bytes)
    return left
