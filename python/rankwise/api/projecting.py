"""Machines that do not exist yet, or that cannot be used: exchanges, a halo code and the 3-D FFT on what describes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from rankwise.api.results import Plot, Result
from rankwise.blocks import YES, Block, Next, Sentence, Table, labelled
from rankwise.errors import InputError
from rankwise.machine.description import Description, parse_range, set_figures
from rankwise.machine.library import load_machine
from rankwise.models import fft3d
from rankwise.models.uncertain import Range
from rankwise.questions import Options, option
from rankwise.records import Record, computed, key, record
from rankwise.units import format_size, format_time, parse_ints, parse_shape
from rankwise.workloads.exchange import WORKLOAD, ExchangeCase

if TYPE_CHECKING:
    from rankwise.engines.machines import MachineTime
    from rankwise.engines.project import FftAnswer, FftQuestion, Matched, Sensitivity, Varied
    from rankwise.engines.project_halo import ProjectedStencil


def parse_vary(text: str, machine: Description, known: list[str]) -> tuple[str, tuple[float, float]]:
    """Read ``KEY=LOW:HIGH`` for a parameter that has a part in the answer. Raises InputError."""
    key, equals, ends = text.partition("=")
    key = key.strip().replace("-", "_")
    if not equals or key not in known:
        raise InputError(
            f"--vary '{text}' varies nothing here: write KEY=LOW:HIGH with KEY one of {', '.join(known)}, "
            "or add a figure with --set first"
        )
    low, high = parse_range(ends, key, f"--vary {key}", machine.get(key))
    if key == "taper" and high > 1:
        raise InputError(f"--vary taper reaches {high:g}: it is a share of the injection bandwidth, at most 1")
    return key, (low, high)


def fft_vary(text: str, machine: Description, answer: FftAnswer) -> tuple[str, tuple[float, float]]:
    """Likewise of an FFT, of which n, nodes and the memory constant can be varied, too."""
    key, _, ends = text.partition("=")
    key = key.strip().replace("-", "_")
    if key == "memory_constant":
        constant = _constant_range(ends, "--vary memory_constant")
        return key, (constant.low, constant.high)
    if key not in ("n", "nodes"):
        return parse_vary(text, machine, list(answer.parameters))
    low, high = parse_range(ends, "nodes", f"--vary {key}", answer.parameters[key].value)
    return key, (max(low, 2.0 if key == "n" else 1.0), high)


def constant_of(machine: Description, reading: str | None, given: str | None) -> Range | None:
    """The A of Eq. 2: the given one; of a machine that was built since 2020 the
    range that published runs imply; None: the paper's."""
    if given is not None:
        return _constant_range(given)
    peak = machine.figures.get("node_peak")
    built = peak is not None and peak.kind != "projected" and machine.year is not None and machine.year >= fft3d.IMPLIED_SINCE
    if reading is not None or not built:
        return None
    low, high = fft3d.IMPLIED_A
    return Range(math.sqrt(low * high), low, high)


def _constant_range(text: str, what: str = "--memory-constant") -> Range:
    try:
        ends = [float(part) for part in text.split(":")]
    except ValueError:
        ends = []
    if not 1 <= len(ends) <= 2 or not all(math.isfinite(end) and end > 0 for end in ends) or ends[-1] < ends[0]:
        raise InputError(f"{what} '{text}' is not a constant: give a number above 0, or a range such as 6.3:24")
    return Range(math.sqrt(ends[0] * ends[-1]) if len(ends) == 2 else ends[0], ends[0], ends[-1])


def count_range(text: str, what: str, least: int) -> Range:
    """Read a number or a range of numbers. Raises InputError."""
    match = re.fullmatch(r"\s*(\d{1,12})\s*(?::\s*(\d{1,12})\s*)?", text)
    if match is None:
        raise InputError(f"{what} '{text}' is not a number or a range: write it as 4096 or 1024:4096")
    low, high = int(match[1]), int(match[2] or match[1])
    if low < least:
        raise InputError(f"{what} {low} is too small: it must be at least {least}")
    if high < low:
        raise InputError(f"{what} '{text}' is an empty range: write the smaller end first")
    if what == "--nodes" and low < 2 <= high and low < high:
        raise InputError(f"{what} '{text}' starts at one node, which exchanges nothing: start the range at 2")
    return Range(float(low) if low == high else math.sqrt(low * high), float(low), float(high))


Answer = TypeVar("Answer")
_TIMES = ("memory_s", "network_s", "total_s")


@dataclass(frozen=True)
class Described(Options):
    """The machine that is asked about, what is changed of it, and the machines to compare with."""

    machine: str = option(MISSING, "A name from 'rankwise machines list', a TOML description, or a profile (machine.json).")
    settings: list[str] | None = option(
        None, "Change a figure: link_bandwidth=50GB/s, a range =25GB/s:50GB/s, or =0.5x:2x.", "--set"
    )
    vary: list[str] | None = option(None, "Go through values of a figure, of n or of nodes: link_bandwidth=0.5x:4x.")
    against: str | None = option(
        None, "Machines to compare with it (--plot then draws them together), or with --match to match; separated by commas."
    )
    latency: str | None = option(
        None, "Time of an empty message, or its range: 2us, 1us:3us. Default: the machine's own.", verbs=("exchange", "stencil")
    )
    ranks_per_node: int = option(1, "Ranks on each node, which share its memory and its NIC.", verbs=("exchange",))

    def described(self) -> Description:
        """Return the machine with what is changed of it. Raises InputError."""
        machine = set_figures(load_machine(self.machine), self.settings or [])
        if self.latency is None:
            return machine
        parse_range(self.latency, "latency", "--latency", machine.get("latency"))  # names the option in what it raises
        return set_figures(machine, [f"latency={self.latency}"])


@dataclass(frozen=True)
class FftProjection(Options):
    """A 3-D FFT on all nodes, and the terms of the model of czechowski2012."""

    n: str = option(MISSING, "Points an axis: 32768, or a range 16384:32768.", "--n")
    nodes: str | None = option(None, "Nodes: 4096, or a range. Default: all of the machine.")
    reading: Literal["literal", "paper-effective"] | None = option(
        None,
        "Memory term: literal (Eq. 2, A = 6.3) or paper-effective (fitted to the paper's figures). "
        "Default: Eq. 2, for machines built since 2020 with the A of 19 to 23 that runs on Frontier imply.",
    )
    memory_constant: str | None = option(None, "A of the literal memory term, or its range: 20, 6.3:24.")
    bound: Literal["bisection", "ideal"] = option(
        "bisection", "Network: bisection (a global exchange), or ideal (placed so that nothing is in the way)."
    )
    torus_constant: Literal["printed", "exact"] = option("printed", "Eq. 5 as printed, or exact (an eighth of it).")
    topology: str | None = option(None, "Instead of the machine's own: fully-connected, torus:K, fat-tree, dragonfly.")
    overlap: bool = option(False, "Memory and network fully overlap: the greater counts.", "--overlap")
    artifacts: bool = option(False, "Count the local transposes (Eq. 8) and the I/O bus (Eq. 9), too.", "--artifacts")
    precision: Literal["double", "single"] = option("double", "double or single.")
    real: bool = option(False, "Real data: half the bytes and half the flops.", "--real")
    decomposition: Literal["pencil", "slab"] = option("pencil", "pencil (two exchanges) or slab (one).")
    match: Literal["time", "overlapped-time", "peak"] | None = option(
        None, "Solve for the nodes of --against that match on time, overlapped-time or peak."
    )

    def question(self, machine: Description) -> FftQuestion:
        """Return what the model is asked. Raises InputError."""
        from rankwise.engines.project import FftQuestion

        return FftQuestion(
            n=count_range(self.n, "--n", 2),
            nodes=None if self.nodes is None else count_range(self.nodes, "--nodes", 1),
            reading=self.reading or fft3d.LITERAL,
            constant=constant_of(machine, self.reading, self.memory_constant),
            bound=self.bound,
            torus_constant=self.torus_constant,
            topology=self.topology,
            overlap=self.overlap,
            artifacts=self.artifacts,
            word_bytes=(16.0 if self.precision == "double" else 8.0) / (2 if self.real else 1),
            exchanges=2 if self.decomposition == "pencil" else 1,
            real=self.real,
        )

    def check(self, against: str | None) -> None:
        """Raise InputError for what belongs together and was not given together."""
        if (self.match is None) != (against is None):
            raise InputError("--match and --against belong together: give both, as in --match time --against fugaku")


@dataclass(frozen=True)
class StencilCode(Options):
    """One step of a halo code, its cells divided among nodes."""

    cells: str = option(MISSING, "Cells of the whole grid, or of each node with --weak: 8192x8192x8192.")
    nodes: str = option(MISSING, "Numbers of nodes: 64,512,4096 or 1:8.")
    weak: bool = option(False, "Weak scaling: --cells are those of each node.", "--weak")
    width: int = option(1, "Interaction range in cells; blocks narrower than it make the cutoff grow.")
    cell_bytes: float = option(8.0, "Bytes that travel for a halo cell.")
    flops_per_cell: float = option(8.0, "Flops of a cell and step.")
    memory_bytes_per_cell: float = option(16.0, "Bytes moved to and from memory for a cell and step.")
    mode: str = option("isend", "How messages are sent: direct ways, as 'rankwise predict exchange' lists them.")
    overlap: bool = option(False, "Compute and exchange fully overlap.", "--overlap")


@dataclass(frozen=True)
class WhatIf(Options):
    """A recorded program on another network or machine."""

    records: list[Path] = option(MISSING, "What 'rankwise observe' recorded of the program.", "RECORD...")
    machine: str | None = option(None, "The machine: a name from 'rankwise machines list', or a TOML description.")
    profile: Path | None = option(None, "The machine: a measured profile. Default: machine.json.")
    latency: str | None = option(None, "Latency between nodes: a factor, 1/2 or 2x, or a time, 5us.")
    bandwidth: str | None = option(
        None, "Bandwidth between nodes, of NICs and switches, too: a factor, 2x or 1/2, or a link's rate, 50GB/s."
    )
    ranks_per_node: int | None = option(None, "Ranks on each node. Default: as recorded.", least=1)
    ranks: str | None = option(
        None, "Other numbers of ranks: 64, 12,18,24, or 16:1024, each twice the one before. Further records narrow the answer."
    )
    scaling: Literal["strong", "weak"] = option("strong", "strong: the problem stays; weak: the share of a rank stays.")
    grid: str | None = option(None, "The process grid on one of these numbers of ranks: 8x4x4. Default: all usual ones.")
    compute: bool = option(True, "With the computing between messages, or the messages alone.", "--compute/--no-compute")


@record
class ProjectedFft(Result):
    """A 3-D FFT on a machine: ``answer`` has all of it; ``varied`` and
    ``matched``: rows of other values, and of other machines."""

    drawn_to = computed("path of the picture", "str | None", lambda of: None, omit=True, name="plot")
    answer: FftAnswer = key("the answer", inline=True)
    varied: Sequence[Varied] | None = key("other values of parameters", default=None, omit="null")
    matched: Sequence[Matched] | None = key("what other machines need for the same", default=None, omit="null")

    def records(self) -> list[dict[str, Any]]:
        if self.matched:
            return [row.to_dict() for row in self.matched]
        as_it_is = {"parameter": "machine", "value": self.answer.machine.name, **self.answer.to_dict()}
        return [
            {
                "parameter": row["parameter"], "value": row["value"], "bounded_by": row["bounded_by"],
                **{name: value["value"] for name, value in row["results"].items()},
            }
            for row in [one.to_dict() for one in self.varied or ()] or [as_it_is]
        ]  # fmt: skip

    def blocks(self) -> Iterator[Block]:
        from rankwise.api.project_blocks import MATCHED, VARIED, fft_blocks

        yield from fft_blocks(self.answer)
        for columns, rows in ((VARIED, self.varied), (MATCHED, self.matched)):
            if rows:
                yield Table(columns, rows)
        yield from labelled("note", [*self.answer.notes, *(note for row in self.matched or () for note in row.notes)])
        yield _after_projection(self.answer.machine.name)

    def plot(self) -> Plot:
        """Draw the time over the values that were varied, or how much each figure matters."""
        from rankwise.api.project_blocks import number

        answer, parameters = self.answer, self.answer.parameters
        title = (
            f"{answer.machine.name}, {number(parameters['n'])}³ on {number(parameters['nodes'])} nodes, memory term "
            f"{answer.memory.reading}"
        )
        if self.varied:
            found = [(row.parameter, row.value, {name[:-2]: row.results[name].value for name in _TIMES}) for row in self.varied]
            return _varied_plot(found, title)
        return _tornado(answer.sensitivities, parameters, answer.total_s.value, title)


def _after_projection(machine: str) -> Next:
    return Next([(f"rankwise machines show {machine}", "values and sources"), ("rankwise machines list", "for --against")])


class ProjectedRow(Record):
    """A row of a projection; which keys it has follows from the workload."""


@record
class Projected(Result):
    """Exchanges or a halo code on machines: ``rows``, each with what was varied for it, by machine; ``plain``: what the machine
    as it is comes to, ``told``: machines side by side; ``left_out``: machines whose descriptions lack a figure, and
    which."""

    drawn_to = computed("path of the picture", "str | None", lambda of: None, omit=True, name="plot")
    workload: str = key("which workload it is of")
    rows: Sequence[tuple[str, Mapping[str, Any], Any]] = key(
        "one entry a case", kind="list[ProjectedRow]", get=lambda of: of.records(), after="left_out"
    )
    title: str
    draw: Callable[[], Plot]
    plain: str
    told: str | None = key("the answer in a sentence", default=None, omit=True, name="conclusion")
    left_out: Sequence[str] = key(
        "machines whose descriptions lack a figure, and which",
        default=(),
        omit="null",
        kind="list[str] | None",
        get=lambda of: None if of.told is None else of.left_out,
    )

    def records(self) -> list[dict[str, Any]]:
        return [{**varied, **row.to_dict()} for _, varied, row in self.rows]

    @property
    def conclusion(self) -> str:
        return f"{self.plain if self.told is None else self.told}."

    def blocks(self) -> Iterator[Block]:
        from rankwise.api.project_blocks import exchange_blocks, step_blocks

        yield Sentence(self.conclusion, mark=YES)
        if self.workload == "exchange":
            yield from exchange_blocks(self.rows)
        else:
            yield from step_blocks([(varied, row) for _, varied, row in self.rows])
        yield _after_projection(self.rows[0][0])

    def plot(self) -> Plot:
        return self.draw()


def project(question: Options, on: Described) -> Result:
    """Say what a machine that is only described would take: for an Exchange, a StencilCode or an FftProjection.

    Raises InputError where its description lacks a figure.
    """
    if isinstance(question, FftProjection):
        return project_fft3d(question, on)
    return project_stencil(question, on) if isinstance(question, StencilCode) else project_exchange(question, on)


def project_fft3d(question: FftProjection, on: Described) -> ProjectedFft:
    """Project a 3-D FFT. Raises InputError."""
    from rankwise.engines.project import match_fft, project_fft, vary_fft

    question.check(on.against)
    machine = on.described()
    asked = question.question(machine)
    answer = project_fft(machine, asked)
    varied: list[Varied] = []
    for text in on.vary or []:
        key, ends = fft_vary(text, machine, answer)
        varied += vary_fft(machine, asked, key, ends)
    matched = [
        match_fft(answer, load_machine(name), question.match)
        for name in (on.against or "").split(",")
        if question.match and name
    ]
    return ProjectedFft(answer, varied if on.vary else None, matched if question.match else None)


def project_exchange(question: Any, on: Described) -> Projected:
    """Project neighbour exchanges. Raises InputError."""
    from rankwise.decide.ranking import conclusion
    from rankwise.engines import project_halo
    from rankwise.engines.machines import MachineTime
    from rankwise.workloads.base import Site

    if on.ranks_per_node < 1:
        raise InputError(f"--ranks-per-node {on.ranks_per_node} is too small: it must be at least 1")
    cases: list[ExchangeCase] = WORKLOAD.cases(
        question.left(mode="isend", dims="3"), Site("project", shares_nodes=on.ranks_per_node > 1)
    )
    last = f"{cases[-1].way}, k = {cases[-1].cutoff}, {format_size(cases[-1].message_bytes)}"
    asked = _Asked[Any](
        "exchange", on.described(), on, last,
        lambda machine: project_halo.project_exchange(machine, cases, on.ranks_per_node),
        lambda name, row: MachineTime(name, row.time_s, *(row.interval_s or (row.time_s, row.time_s))),
        lambda row: row.figures["parameters"], lambda row: {"time": row.time_s}, lambda row: row.case == cases[-1],
        lambda rows: f"{rows[0].figures['machine']}: {conclusion(rows)}",
    )  # fmt: skip
    return asked.answer()


def project_stencil(question: StencilCode, on: Described) -> Projected:
    """Project one step of a halo code, strong or weak scaling. Raises InputError."""
    from rankwise.engines import project_halo
    from rankwise.engines.machines import MachineTime

    shape = parse_shape(question.cells, "--cells")
    if len(shape) > 3:
        raise InputError(f"--cells {question.cells} has {len(shape)} axes: give 1, 2 or 3")
    if question.width < 1:
        raise InputError(f"--width {question.width} is too small: it must be at least 1")
    for name, value in (("--cell-bytes", question.cell_bytes), ("--memory-bytes-per-cell", question.memory_bytes_per_cell)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name} {value:g} is out of range: it must be above 0")
    if not (math.isfinite(question.flops_per_cell) and question.flops_per_cell >= 0):
        raise InputError(f"--flops-per-cell {question.flops_per_cell:g} is out of range: it must be 0 or above")
    counts = parse_ints(question.nodes, "--nodes")
    work = question.flops_per_cell, question.memory_bytes_per_cell
    code = project_halo.HaloCode(question.width, question.cell_bytes, *work, question.mode)
    terms = ("flops", "memory", "exchange", "total")
    asked = _Asked["ProjectedStencil"](
        "stencil", on.described(), on, f"{counts[-1]:,} nodes",
        lambda machine: project_halo.project_stencil(machine, code, shape, counts, question.weak, question.overlap),
        lambda name, row: MachineTime(name, *attrgetter("value", "low", "high")(row.results["total_s"])),
        lambda row: row.parameters, lambda row: {term: row.results[f"{term}_s"].value for term in terms},
        lambda row: row.nodes == counts[-1], _steps_in_words,
    )  # fmt: skip
    return asked.answer()


def _steps_in_words(rows: Sequence[ProjectedStencil]) -> str:
    """Say how long a step takes on the fewest and the most nodes, and what bounds it there."""

    def told(row: ProjectedStencil) -> str:
        return f"{format_time(row.results['total_s'].value)} on {row.nodes:,} nodes, bounded by {row.bounded_by}"

    first, last = rows[0], rows[-1]
    return f"{first.machine}: a step takes {told(first)}" + (f"; {told(last)}" if len(rows) > 1 else "")


@dataclass(frozen=True)
class _Asked(Generic[Answer]):
    """What is asked of one machine or of several, and how an answer is read: the time of one, what it knows of the machine, its
    terms, and whether it is that which pictures are of (the last case)."""

    workload: str
    machine: Description
    on: Described
    last: str
    rows_of: Callable[[Description], list[Answer]]
    time_of: Callable[[str, Answer], MachineTime]
    parameters: Callable[[Answer], Mapping[str, Range]]
    terms: Callable[[Answer], Mapping[str, float]]
    is_last: Callable[[Answer], bool]
    words: Callable[[list[Answer]], str]

    def answer(self) -> Projected:
        if self.on.against is not None:
            return self._beside(self.on.against)
        plain = self.rows_of(self.machine)
        known, title = self.parameters(plain[-1]), f"{self.machine.name}, {self.last}"
        if not self.on.vary:
            rows: list[tuple[str, Mapping[str, Any], Any]] = [(self.machine.name, {}, row) for row in plain]
            return Projected(self.workload, rows, title, lambda: self._tornado(known, title), self.words(plain))
        from rankwise.engines.project import logarithmic, with_value

        rows = [
            (self.machine.name, {"varied": key, "value": value}, row)
            for key, ends in [parse_vary(text, self.machine, list(known)) for text in self.on.vary]
            for value in logarithmic(*ends)
            for row in self.rows_of(with_value(self.machine, key, value))
        ]
        drawn = [(varied["varied"], varied["value"], self.terms(row)) for _, varied, row in rows if self.is_last(row)]
        return Projected(self.workload, rows, title, lambda: _varied_plot(drawn, title), self.words(plain))

    def _beside(self, against: str) -> Projected:
        """The rows of each machine; one whose description lacks a figure is left out, with what it lacks."""
        from rankwise.engines.machines import conclusion, load_all
        from rankwise.report.projected import beside_picture

        if self.on.vary:
            raise InputError("--vary and --against are too much for one table: leave one of the two out")
        found: dict[str, list[Answer]] = {}
        lacking: list[InputError] = []
        for one in load_all(self.machine, against):
            try:
                found[one.name] = self.rows_of(one)
            except InputError as error:
                lacking.append(error)
        if not found:
            raise lacking[0]
        times = [self.time_of(name, rows[-1]) for name, rows in found.items()]
        told = conclusion(times, self.last if self.workload == "exchange" else f"a step on {self.last}")
        rows: list[tuple[str, Mapping[str, Any], Any]] = [
            (name, {}, row) for name, of_machine in found.items() for row in of_machine
        ]
        left_out = [str(error) for error in lacking]
        return Projected(
            self.workload, rows, self.last, lambda: Plot(beside_picture(times, told), [told]), told, told, left_out
        )

    def _tornado(self, ranges: Mapping[str, Range], title: str) -> Plot:
        """Draw how much each figure matters to the last time."""
        from rankwise.engines.project import sensitivities, with_value

        def time_of(machine: Description) -> float:
            return self.time_of("", self.rows_of(machine)[-1]).time_s

        def time_with(values: Mapping[str, float]) -> float:
            changed = self.machine
            for name, value in values.items():
                changed = with_value(changed, name, value)
            return time_of(changed)

        return _tornado(sensitivities(time_with, ranges), ranges, time_of(self.machine), title)


def _tornado(items: Sequence[Sensitivity], parameters: Mapping[str, Range], time_s: float, subject: str) -> Plot:
    """Draw how much each figure matters; which does most is the title."""
    from rankwise.engines.project import matters_most, sensitivity_labels
    from rankwise.report.projected import tornado_picture

    title = f"{subject}: {matters_most(items, parameters)}"
    return Plot(tornado_picture(items, time_s, sensitivity_labels(items, parameters), title), [title])


def _varied_plot(varied: Sequence[tuple[str, float, Mapping[str, float]]], subject: str) -> Plot:
    """Draw times (s, by what takes them) over the values of each parameter that was varied; what came of it is the title."""
    from rankwise.api.project_blocks import value_words
    from rankwise.engines.project import changed_most
    from rankwise.report.projected import varied_picture

    found: dict[str, list[tuple[float, str, Mapping[str, float]]]] = {}
    for name, value, times in varied:
        found.setdefault(name, []).append((value, value_words(name, value), times))
    title = f"{subject}: {changed_most(found)}"
    return Plot(varied_picture(found, title), [title])
