"""What the report concludes: a sentence with its figures, the cause, three figures, what to change, and what to do next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rankwise.machine.compare import ratio_interval
from rankwise.machine.profile import LinkFigures, Profile, figures_of
from rankwise.records import Interval, Record, key, record
from rankwise.report.document import Change, Figure, Next
from rankwise.report.inputs import MAPPING_COMMAND, VALIDATION_COMMAND, MappingInstance
from rankwise.report.machine_boxes import between
from rankwise.report.words import figure_with_unit, headline, is_poor, nodes_in_words, timing
from rankwise.units import format_bandwidth, format_size, format_span, format_time, format_volume
from rankwise.workloads.base import Row
from rankwise.workloads.comparison import Comparison, Validation

_USUAL = "machine.json"
_UNKNOWN = "– spread unknown: no launches tell it"
_CURE = f"rankwise measure -o {_USUAL}"
_BLOCKING = ("ssend", "send")
_CAUSES = {
    "ssend": "ssend returns only when its partner has begun to receive, so that a rank's messages wait for one another",
    "send": "send returns only when its buffer is free again, so that a rank's messages follow one another",
    "isend": "isend has all of a step's messages in flight at once",
    "isend-self": "isend-self passes messages on as they arrive",
    "persistent": "persistent requests are set up once and started again each time",
}
_CODE = {
    "ssend": "MPI_Ssend(…)", "send": "MPI_Send(…)", "isend": "MPI_Isend(…)",
    "persistent": "MPI_Startall(…)  // made once by MPI_Send_init",
    "isend-self": "MPI_Isend(…)  // as each message arrives",
}  # fmt: skip


@dataclass(frozen=True)
class Gain:
    """How many times as fast one way is as another, both measured, with the 95
    % interval (None: of one the spread is unknown)."""

    ratio: float
    interval: Interval | None

    @staticmethod
    def of(now: Row, then: Row) -> Gain:
        """Take both as independent."""
        return Gain(now.time_s / then.time_s, ratio_interval(then.time_s, then.interval_s, now.time_s, now.interval_s))

    @property
    def is_told(self) -> bool:
        """Whether the interval leaves out that nothing is gained."""
        return self.interval is not None and self.interval[0] > 1

    @property
    def words(self) -> str:
        return f"{self.ratio:.2f} times as fast" + (
            f" ({self.interval[0]:.2f}–{self.interval[1]:.2f})" if self.interval is not None else ""
        )


@record
class Conclusion(Record):
    """The first screen of a report."""

    headline: str = key("the conclusion")
    why: str = key("cause of the conclusion, in words")
    figures: tuple[Figure, ...]
    changes: tuple[Change, ...] = key("what to change, with its gain")
    next: tuple[Next, ...] = key("what to do next")


def conclude(
    profile: Profile | None,
    validation: Validation | None,
    mappings: Sequence[MappingInstance] | None,
    profile_name: str = _USUAL,
) -> Conclusion:
    """Return what was found, the most useful first; figures that are poor give no advice. Commands name the profile's file."""
    found = _conclude(profile, validation, mappings)
    named = tuple(replace(step, command=step.command.replace(_USUAL, shlex.quote(profile_name))) for step in found.next)
    return replace(found, next=named)


def _conclude(profile: Profile | None, validation: Validation | None, mappings: Sequence[MappingInstance] | None) -> Conclusion:
    links = {} if profile is None else figures_of(profile.nearer_first)
    case = None if validation is None else _Case.of(validation)
    figures = _figures(links, case)
    poor = is_poor(profile, validation)
    if poor is not None:
        return Conclusion(
            "No advice: the measurement has poor quality.",
            f"Why: {poor}. The intervals are too wide to compare modes.",
            figures, (), (Next("See what disturbs", "rankwise doctor"),
                Next("Measure again, undisturbed", _cure(validation, profile))),
        )  # fmt: skip
    following = _next(profile, validation, mappings, case)
    if case is not None:
        sentence, why, changes = _of_exchange(case)
        return Conclusion(sentence, why, figures, changes, following)
    if links:
        sentence, why = _of_links(links)
        return Conclusion(sentence, why, figures, (), following)
    first = (mappings or ())[0]
    counted = f"Counted on {grid_words(first)}, exactly; nothing was timed."
    return Conclusion(mapping_words(first), counted, figures, (), following)


@dataclass(frozen=True)
class _Case:
    """One exchange in all the ways in which it was measured: what is named first counts as what is done now."""

    now: Comparison
    best: Comparison
    alike: tuple[Comparison, ...]
    example: bool

    @staticmethod
    def of(validation: Validation) -> _Case:
        asked = question(headline(validation))
        alike = tuple(row for row in validation.comparisons if question(row) == asked)
        return _Case(alike[0], min(alike, key=lambda row: row.measured.time_s), alike, validation.example)

    @property
    def whose(self) -> str:
        return "The example exchange" if self.example else "Your exchange"

    @property
    def words(self) -> str:
        """Name the grid and what is exchanged on it."""
        case = self.now.exchange
        shape = "x".join(map(str, case.grid))
        grid = (
            f"{case.ranks} rank{'s' * (case.ranks > 1)} in a row" if len(case.grid) == 1 else f"{case.ranks} ranks as {shape}"
        )
        return f"{grid}{', an example' * self.example}, cutoff {case.cutoff}, {format_size(case.message_bytes)} a rank"


def question(row: Comparison) -> tuple[object, ...]:
    """Return what several ways to carry out an exchange have in common."""
    case = row.exchange
    return (case.grid, case.cutoff, case.message_bytes, case.shell)


def way(row: Comparison, other: Comparison | None = None) -> str:
    """Name a way to carry out an exchange: by how it sends, and by its algorithm where the other one's differs."""
    case = row.exchange
    if other is not None and other.exchange.algorithm == case.algorithm and other.exchange.mode != case.mode:
        return case.mode
    return f"{case.algorithm} with {case.mode}"


def _of_exchange(case: _Case) -> tuple[str, str, tuple[Change, ...]]:
    now, best = case.now, case.best
    gain = Gain.of(now.measured, best.measured)
    measured = format_time(now.measured.time_s)
    others = len(case.alike) - 1
    if best is not now and gain.is_told:
        named = way(best, now)
        sentence = f"{case.whose} takes {measured}. With {named} it takes {format_time(best.measured.time_s)}."
        assert gain.interval is not None
        change = Change(
            f"{named} instead of {way(now, best)}: {gain.ratio:.2f} times as fast", "", f"{gain.ratio:.2f}×",
            f"{gain.interval[0]:.2f}–{gain.interval[1]:.2f}, measured",
            "Were it your exchange: change this in your code" if case.example else "Change this in your code", _code(now, best),
        )  # fmt: skip
        return sentence, f"Why: {_cause(now, best)}. Grid: {case.words}.", (change,)
    if others == 0:
        sentence = f"{case.whose} takes {measured}; it was predicted at {format_time(now.predicted.time_s)}."
        return sentence, f"One mode was measured, so nothing is compared. Grid: {case.words}.", ()
    ways = ", ".join(way(row) for row in case.alike)
    if gain.interval is None:
        sentence = f"{case.whose} takes {measured}; the fastest mode is unclear."
        return sentence, f"The spread of some measured times is unknown. Grid: {case.words}: {ways}.", ()
    could = max((Gain.of(now.measured, row.measured).interval or (1.0, 1.0))[1] for row in case.alike)
    sentence = f"Nothing to gain from another mode: {case.whose[0].lower()}{case.whose[1:]} takes {measured}."
    why = (
        f"{others + 1} ways were measured ({ways}); none is told to be faster than {way(now)}, at most {could:.2f} times as "
        f"fast would not have been seen. Grid: {case.words}."
    )
    return sentence, why, ()


def _cause(now: Comparison, best: Comparison) -> str:
    slow, fast = now.exchange, best.exchange
    if slow.algorithm == fast.algorithm:
        first = _CAUSES.get(slow.mode, f"{slow.mode} is slower here")
        return f"{first}; {_CAUSES[fast.mode]}" if fast.mode in _CAUSES and slow.mode in _BLOCKING else first
    fewer = (now.measured.messages_per_rank or 0) - (best.measured.messages_per_rank or 0)
    if fewer > 0:
        return (
            f"{fast.algorithm} sends {best.measured.messages_per_rank} messages a rank, {slow.algorithm} "
            f"{now.measured.messages_per_rank}"
        )
    return f"{fast.algorithm} has more of its messages in flight at once than {slow.algorithm}"


def _code(now: Comparison, best: Comparison) -> tuple[tuple[str, str], ...]:
    slow, fast = now.exchange, best.exchange
    if slow.algorithm != fast.algorithm or slow.mode not in _CODE or fast.mode not in _CODE:
        return ()
    waits = (("add", "MPI_Waitall(…)"),) if slow.mode in _BLOCKING and fast.mode not in _BLOCKING else ()
    return (("del", f"for each neighbour: {_CODE[slow.mode]}"), ("add", f"for each neighbour: {_CODE[fast.mode]}"), *waits)


def _of_links(links: Mapping[str, LinkFigures]) -> tuple[str, str]:
    name = list(links)[-1]
    figures = links[name]
    latency = format_time(figures.latency_s)
    rate = format_bandwidth(figures.bandwidth_bytes_per_s)
    sentence = f"Between {between(name)} a message starts in {latency} and its bytes move at {rate}."
    why = (
        f"Below {volume(figures.balanced_bytes)} latency decides, above it bandwidth: fewer messages help small ones, fewer "
        "bytes large ones."
    )
    return sentence, why


def volume(size_bytes: float) -> str:
    """Write a size that is known to two digits at best."""
    digits = 10 ** max(0, math.floor(math.log10(max(1.0, size_bytes))) - 1)
    return format_volume(int(round(size_bytes / digits) * digits))


def mapping_words(instance: MappingInstance) -> str:
    """Say what the best mapping of an instance saves."""
    blocked, best = instance.blocked, instance.best
    if blocked is None or not blocked.j_sum or best.j_sum >= blocked.j_sum:
        return f"No mapping of the {instance.stencil} stencil sends fewer messages between nodes than one node after another."
    fewer = 1 - best.j_sum / blocked.j_sum
    return f"{best.algorithm} sends {100 * fewer:.0f} % fewer messages between nodes than one node after another."


def grid_words(instance: MappingInstance) -> str:
    """Name the grid of an instance, and whether it is only an example."""
    shape = "x".join(map(str, instance.grid))
    article = "an example grid, " if instance.example else "the grid "
    return f"{article}{shape} on {nodes_in_words(instance.nodes)}, {instance.stencil} stencil"


def _figures(links: Mapping[str, LinkFigures], case: _Case | None) -> tuple[Figure, ...]:
    found = []
    if case is not None:
        row = case.now
        name = f"{case.whose}, {'now' if len(case.alike) > 1 else 'measured'}"
        found.append(figure_with_unit(
            name, row.measured.time_s, row.measured.interval_s, format_time,
            f"{way(row)} on {case.words}. Predicted: {timing(row.predicted)}", _UNKNOWN,
        ))  # fmt: skip
    if links:
        name = list(links)[-1]
        farthest = links[name]
        inside = [figures for other, figures in links.items() if other != name]
        nearer = f". Nearer: {format_span([f.latency_s for f in inside], format_time)}" if inside else ""
        found.append(figure_with_unit(
            f"Latency between {between(name)}", farthest.latency_s, farthest.latency_ci_s, format_time,
            f"{format_size(farthest.latency_bytes)}, one way{nearer}", _UNKNOWN,
        ))  # fmt: skip
        faster = f". Nearer: {format_span([f.bandwidth_bytes_per_s for f in inside], format_bandwidth)}" if inside else ""
        found.append(figure_with_unit(
            f"Bandwidth between {between(name)}", farthest.bandwidth_bytes_per_s, farthest.bandwidth_ci_bytes_per_s,
                format_bandwidth,
            f"one message of {format_size(farthest.bandwidth_bytes)} at a time{faster}", _UNKNOWN,
        ))  # fmt: skip
    return tuple(found)


def _cure(validation: Validation | None, profile: Profile | None) -> str:
    return _CURE if profile is not None and profile.trust.is_poor or validation is None else VALIDATION_COMMAND


def _next(
    profile: Profile | None, validation: Validation | None, mappings: Sequence[MappingInstance] | None, case: _Case | None
) -> tuple[Next, ...]:
    """Return the commands that follow from what was found, and those that make what is missing."""
    found = []
    if profile is None:
        found.append(Next("Measure this machine", _CURE))
    elif profile.trust.level in ("limited", "unknown"):
        found.append(Next("Know the figures better", f"{_CURE} --launches 20"))
    if case is not None and case.example and profile is not None:
        grid = case.now.exchange.grid
        shape = "x".join(map(str, grid)) if len(grid) > 1 else f"1 --ranks {grid[0]}"
        found.append(Next("Try an exchange of your own shape",
            f"rankwise validate exchange --dims {shape} --bytes 16kB --profile machine.json -o validate.json"))  # fmt: skip
    if validation is None and profile is not None:
        found.append(Next("Put an exchange to the test", VALIDATION_COMMAND))
    if profile is not None:
        ranks = case.now.exchange.ranks if case is not None else 2
        found.append(Next("See what your program does", f"rankwise observe -o app.comm -- mpiexec -n {ranks} ./app"))
        found.append(Next("and what to change in it", "rankwise advise app.comm --profile machine.json"))
    saving = next(
        (item for item in mappings or () if not item.example and item.blocked and item.best.j_sum < item.blocked.j_sum), None
    )
    if saving is not None and len(set(saving.nodes)) == 1:
        shape = "x".join(map(str, saving.grid))
        found.append(Next(
            "Place the ranks so",
            f"rankwise map --grid {shape} --nodes {len(saving.nodes)} --ppn {saving.nodes[0]} --stencil '{saving.stencil}' "
            "--format openmpi-rankfile > ranks.txt",
        ))  # fmt: skip
    if not mappings:
        found.append(Next("Compare placements of a grid", MAPPING_COMMAND))
    return tuple(found)
