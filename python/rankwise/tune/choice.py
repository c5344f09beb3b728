"""Which algorithm a library is to be set to: only where it gains more than 5 %, and more than is not known of the gain."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rankwise import _core
from rankwise.collectives.selection import Call, Selection, Setting, publishes_rules, select, settable
from rankwise.collectives.settings import Library, Rule
from rankwise.engines.model import Model
from rankwise.engines.placement import Seats
from rankwise.errors import InputError
from rankwise.progress import SILENT, Meter
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
    """What is chosen for a collective of some bytes and ranks: a setting, or none, and ``why``; times are of a call.

    ``limited``: whether its messages gain by a higher eager limit, with which ``new_s`` is.
    """

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
    limited: bool = False

    @property
    def is_left(self) -> bool:
        return self.setting is None and not self.limited

    @property
    def occurs(self) -> bool:
        return self.in_run > 0


@dataclass(frozen=True)
class _Default:
    """What a library selects, and what calls take ``now`` and with its eager limit ``raised`` (None: not known, or as now)."""

    selected: Selection
    now: Span | None
    raised: Span | None

    @property
    def by_limit(self) -> Gain | None:
        """What calls gain where the eager limit is raised; None for less than 5 %.

        How much depends on how handshakes fall: that may be nothing.
        """
        now, new = self.now, self.raised
        if now is None or new is None or now.time_s - new.time_s < LEAST_GAIN * now.time_s:
            return None
        return Gain(now.time_s - new.time_s, max(0.0, now.ends_s[0] - new.ends_s[1]), now.ends_s[1] - new.ends_s[0])


class Chooser:
    """Chooses settings of one library on one machine; ``raised``: the machine where the library's eager limit is raised.

    That is done where a call gains by it, and then for all: without handshakes none takes longer.
    """

    def __init__(self, library: Library, model: Model, raised: Model | None = None) -> None:
        self.library = library
        self._model, self._raised = model, raised
        self._seats = Seats.of_profile(model.profile)
        self._kept: dict[tuple[int, ...], _core.Placement] = {}

    def choose(self, called: Sequence[Called], bar: Meter = SILENT) -> list[Choice]:
        """Return what is chosen for each kind, number of ranks and size, ascending. Raises InputError for a lacking link."""
        alike: dict[tuple[str, int, int], list[Called]] = defaultdict(list)
        for one in called:
            alike[one.call.kind, one.call.ranks, one.call.size_bytes].append(one)
        asked = [(key[:2], alike[key]) for key in sorted(alike)]
        defaults = [self._default(of_size) for _, of_size in asked]
        counted = any(one.in_run > 0 for one in called)  # else the calls are those of a machine, and all count
        if not any(
            default.by_limit is not None and (not counted or any(one.in_run > 0 for one in of_size))
            for (_, of_size), default in zip(asked, defaults, strict=True)
        ):
            defaults = [replace(default, raised=None) for default in defaults]
        found: list[Choice] = []
        for (of, of_size), default in zip(asked, defaults, strict=True):
            alike_before = bool(found) and (found[-1].kind, found[-1].ranks) == of
            found.append(self._choice(of_size, default, found[-1].setting if alike_before else None))
            bar.advance(len(of_size))
        return found if publishes_rules(self.library.name) else list(_whole_kinds(found))

    def _choice(self, called: Sequence[Called], default: _Default, before: Setting | None) -> Choice:
        calls = [one.call for one in called]
        selected, now = default.selected, default.now
        in_steps = [one.in_step for one in called if one.in_step is not None]
        times = sum(one.in_run for one in called), sum(in_steps) if in_steps else None
        by_nodes = any(call.holds("several nodes of several ranks") for call in calls)
        if now is None:
            return Choice(
                calls[0].kind, calls[0].ranks, calls[0].size_bytes, selected, 0.0, None, 0.0, Gain(0.0, 0.0, 0.0),
                "what the library selects is not published, and no call was timed", *times, by_nodes,
            )  # fmt: skip
        by_limit, reference = default.by_limit, default.raised or now
        priced = dict(self._priced(called, self._raised if self._raised and default.raised else self._model))
        best = min(priced, key=lambda setting: priced[setting].time_s, default=None)
        if best is not None:  # of those that are as good the one of the fewest messages: its overheads matter least
            as_good = [one for one in priced if priced[one].time_s <= (1 + _AS_GOOD) * priced[best].time_s]
            best = max(as_good, key=lambda one: (one.segment_bytes or math.inf, -priced[one].time_s))
        if best is not None and before in priced and priced[before].time_s <= (1 + _AS_GOOD) * priced[best].time_s:
            best = before
        new = reference if best is None else priced[best]
        gain = _gained(reference, new)
        why = ""
        if self.library.name.startswith("mpich") and any(call.holds("one node") for call in calls):
            why = "all ranks are on one node, where MPICH uses shared memory that is not predicted"
        elif best is None:
            why = "there is no other algorithm to set"
        elif new.time_s >= reference.time_s:
            why = "the default is the fastest"
        elif gain.s < LEAST_GAIN * reference.time_s:
            why = f"gains less than {format_share(LEAST_GAIN)}"
        elif gain.lo_s <= 0:
            why = "gains no more than the prediction's error"
        setting = None if why else best
        if by_limit is not None:
            new, gain = (new, together([by_limit, gain])) if setting is not None else (reference, by_limit)
        return Choice(
            calls[0].kind, calls[0].ranks, calls[0].size_bytes, selected, now.time_s, setting, new.time_s, gain,
            why if by_limit is None else "", *times, by_nodes, by_limit is not None,
        )  # fmt: skip

    def _default(self, called: Sequence[Called]) -> _Default:
        selected, now = self._by_default(called, self._model)
        return _Default(selected, now, None if self._raised is None else self._by_default(called, self._raised)[1])

    def _by_default(self, called: Sequence[Called], model: Model) -> tuple[Selection, Span | None]:
        """Return what the library selects, and what calls take: by its rules, or else as they were timed (None: not known)."""
        calls, weights = [one.call for one in called], _weights(called)
        if not publishes_rules(self.library.name):
            timed = [one.took for one in called if one.took is not None]
            selected = Selection(self.library.name, "default", "", "its rules are not published", exact=False)
            return selected, _mean(timed, weights) if len(timed) == len(called) else None
        selections = [select(self.library.name, call) for call in calls]
        schedules = [Schedule.of(*pair) for pair in zip(selections, calls, strict=True)]
        now = self._times(calls, schedules, weights, model)
        if now is None:
            raise InputError(f"what {self.library.name} selects for {calls[0].kind} cannot be predicted")
        if not all(one.exact for one in selections):
            low_s, high_s = now.ends_s
            now = Span(now.time_s, low_s / _SAME_KIND, high_s * _SAME_KIND)
        return selections[0], now

    def _priced(self, called: Sequence[Called], model: Model) -> Iterator[tuple[Setting, Span]]:
        calls, weights = [one.call for one in called], _weights(called)
        for setting in dict.fromkeys(settable(self.library.name, calls[0])):
            if not self.library.knows(calls[0].kind, setting):
                continue
            schedules = [
                Schedule(call.kind, call.ranks, call.size_bytes, setting.algorithm, setting.radix, setting.segment_bytes)
                for call in calls
            ]
            if (times := self._times(calls, schedules, weights, model)) is not None:
                yield setting, times

    def _times(
        self, calls: Sequence[Call], schedules: Sequence[Schedule], weights: Sequence[float], model: Model
    ) -> Span | None:
        """Return the mean time of calls that are carried out so; None where an algorithm cannot be for one of them."""
        spans: list[Span] = []
        for call, schedule in zip(calls, schedules, strict=True):
            if call.node_of_rank not in self._kept:
                self._kept[call.node_of_rank] = self._seats.on_nodes(call.node_of_rank)
            placement = self._kept[call.node_of_rank]
            if schedule.core.why_not(placement):
                return None
            spans.append(model.price(Program(schedule), 1, placement).span)
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


def _weights(called: Sequence[Called]) -> list[float]:
    weights = [one.in_run or 1.0 for one in called]
    return [weight / sum(weights) for weight in weights]


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


def runs_of_choices(choices: Sequence[Choice]) -> list[list[Choice]]:
    """Return the runs of sizes that are set alike.

    Between two sizes that were looked at nothing is set but where both are set alike.
    """
    found: list[list[Choice]] = []
    last: Choice | None = None
    for one in choices:
        if not one.is_left and last is not None and _set_alike(last, one):
            found[-1].append(one)
        elif not one.is_left:
            found.append([one])
        last = one
    return found


def _set_alike(one: Choice, other: Choice) -> bool:
    return (one.kind, one.ranks, one.setting, one.limited) == (other.kind, other.ranks, other.setting, other.limited)


def rule_of(run: Sequence[Choice]) -> Rule | None:
    """Return the rule for a run of sizes; None where no algorithm is set."""
    first, last = run[0], run[-1]
    if first.setting is None:
        return None
    return Rule(first.kind, first.ranks, first.size_bytes, last.size_bytes, first.setting, any(one.by_nodes for one in run))


def by_reason(choices: Sequence[Choice]) -> Mapping[tuple[str, int, str, str], list[int]]:
    """Return the sizes that are left at the default, by collective, ranks, what is selected and why."""
    left: dict[tuple[str, int, str, str], list[int]] = defaultdict(list)
    for one in choices:
        if one.is_left:
            left[one.kind, one.ranks, one.selected.name, one.why].append(one.size_bytes)
    return left
