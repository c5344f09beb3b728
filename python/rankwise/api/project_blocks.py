"""Projections as blocks: a 3-D FFT, exchanges and steps of a halo code on described machines; and the trends of a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rankwise.api.results import Result
from rankwise.api.rows import line, notes_of, row_table
from rankwise.blocks import YES, Block, Column, Listing, Sentence, Table, labelled
from rankwise.engines.project import FftAnswer, Matched, Varied, sensitivity_labels
from rankwise.machine.description import QUANTITIES, format_quantity
from rankwise.models import fft3d
from rankwise.models.uncertain import Range
from rankwise.papers import czechowski2012_model as model
from rankwise.records import computed, key, record
from rankwise.units import format_ends, format_interval, format_number, format_time
from rankwise.workloads.exchange import WORKLOAD

if TYPE_CHECKING:
    from rankwise.engines.project_halo import ProjectedStencil

    _Trend = tuple[model.Trend, str]  # and a design


def number(value: Range) -> str:
    """Write a number, or both ends of a range."""
    return f"{value.value:,.0f}" if not value.wide else f"{value.low:,.0f} to {value.high:,.0f}"


def value_words(key: str, value: float) -> str:
    """Write a value of a parameter with its unit."""
    return (
        f"{value:,.0f}" if key in ("n", "nodes") else format_quantity(value, QUANTITIES[key].unit if key in QUANTITIES else "1")
    )


def fft_blocks(answer: FftAnswer) -> Iterator[Block]:
    """Yield a 3-D FFT's time, what bounds it, what matters most, and its phases."""
    question, results, parameters = answer.question, answer.results, answer.parameters
    word = f"{question.word_bytes:g} B a point, {'real' if question.real else 'complex'}"
    exchanges = "pencils, two exchanges" if question.exchanges == 2 else "slabs, one exchange"
    total, nodes = _time_range(answer.total_s), number(parameters["nodes"])
    yield Sentence(
        f"{answer.machine.name}: a 3-D FFT of {number(parameters['n'])}³ points on {nodes} node{'s' * (nodes != '1')} takes "
        f"{format_time(answer.total_s.value)}{f' ({total})' if total else ''}.",
        mark=YES,
    )
    performance, share_of_peak = results["performance_flop_per_s"], results["fraction_of_peak"]
    ends = (performance.low, performance.high)
    rate = f" ({format_ends(ends, lambda end: format_quantity(end, 'flop/s'))})" if performance.wide else ""
    helps = [
        f"{name} {low} to {high}: {format_time(item.time_at_low_s)} to {format_time(item.time_at_high_s)}"
        for item, (name, low, high) in zip(
            answer.sensitivities, sensitivity_labels(answer.sensitivities, answer.parameters), strict=True
        )
        if item.parameter not in ("n", "nodes")
    ]
    hidden = min(("flops_s", "memory_s"), key=lambda name: results[name].value)
    network = re.search(r"Eq\. [345]", answer.network)

    def share(key: str, value: Range) -> str:
        if key == "total":
            return ""
        if key in ("shuffle", "io-bus") and not question.artifacts:
            return "not counted"
        if f"{key}_s" == hidden:
            return "behind flops" if hidden == "memory_s" else "behind memory"
        return f"{100 * value.value / answer.total_s.value:.1f} %"

    phases = [
        ("flops", "Eq. 1", results.get("flops_s")), ("memory", "Eq. 2", results.get("memory_s")),
        ("shuffle", "Eq. 8", results.get("shuffle_s")), ("io-bus", "Eq. 9", results.get("io_bus_s")),
        ("network", network[0] if network else "", results.get("network_s")),
        ("total", "overlapped" if question.overlap else "sum", answer.total_s),
    ]  # fmt: skip
    columns: Sequence[Column[tuple[str, str, Range]]] = (
        Column("phase", lambda of: of[0]),
        Column("equation", lambda of: of[1]),
        Column("time", lambda of: format_time(of[2].value)),
        Column("range", lambda of: _time_range(of[2])),
        Column("of the total", lambda of: share(of[0], of[2])),
    )
    yield Table(columns, [(name, equation, value) for name, equation, value in phases if value is not None])
    peak = format_quantity(results["peak_flop_per_s"].value, "flop/s")
    yield Listing([
        ("Why", f"Bounded by {answer.bounded_by}: {answer.reason}."),
        ("Rate", f"{format_quantity(performance.value, 'flop/s')}{rate}, {_percent(share_of_peak)} of a peak of {peak}"),
        ("Changes", "; ".join(helps[:3]) or "nothing but n and nodes matters"),
        ("Data", f"{word}; {exchanges}"),
        ("Memory", f"{answer.memory.label()}{_implied(answer)}"),
        ("Network", answer.network),
    ])  # fmt: skip


def _implied(answer: FftAnswer) -> str:
    """Say where A comes from when it is what runs since 2020 imply."""
    constant = answer.question.constant
    if constant is None or (constant.low, constant.high) != fft3d.IMPLIED_A:
        return ""
    return f", {constant.low:g} to {constant.high:g} as runs on Frontier imply (--reading literal: {fft3d.PAPER_A:g})"


def _result(name: str) -> Callable[[Varied], float]:
    return lambda row: row.results[name].value


_FLOPS = partial(format_quantity, unit="flop/s")
VARIED: Sequence[Column[Varied]] = (
    Column("varied", "parameter"),
    Column("value", lambda row: value_words(row.parameter, row.value)),
    Column("memory", _result("memory_s"), format_time),
    Column("network", _result("network_s"), format_time),
    Column("total", _result("total_s"), format_time),
    Column("performance", _result("performance_flop_per_s"), _FLOPS),
    Column("of peak", lambda row: f"{format_number(100 * row.results['fraction_of_peak'].value)} %"),
    Column("bounded by", "bounded_by"),
)
MATCHED: Sequence[Column[Matched]] = (
    Column("machine", "machine"),
    Column("matched on", "criterion"),
    Column("nodes", "nodes", "{:,.0f}".format),
    Column("as many", "nodes_ratio", lambda ratio: f"x {format_number(ratio)}"),
    Column("it has", "nodes_available", "{:,.0f}".format),
    Column("peak", "peak_flop_per_s", _FLOPS),
    Column("memory", "memory_s", format_time),
    Column("network", "network_s", format_time),
    Column("total", "total_s", format_time),
    Column("performance", "performance_flop_per_s", _FLOPS),
)


def exchange_blocks(rows: Sequence[tuple[str, Mapping[str, Any], Any]]) -> Iterator[Block]:
    """Yield exchanges on machines, each with what was varied for it."""
    energies = _energy_cells([row.figures["energy_j"] for _, _, row in rows])
    yield row_table([
        {"machine": name} | _varied_cell(varied) | line(WORKLOAD, row) | energy
        for (name, varied, row), energy in zip(rows, energies, strict=True)
    ])  # fmt: skip
    yield from notes_of([row for _, _, row in rows])


def step_blocks(rows: Sequence[tuple[Mapping[str, Any], ProjectedStencil]]) -> Iterator[Block]:
    """Yield steps of a halo code, each with what was varied for it."""
    lines = []
    energies = _energy_cells([row.results.get("energy_j") for _, row in rows])
    for (varied, row), energy in zip(rows, energies, strict=True):
        results = row.results
        total = results["total_s"]
        lines.append(
            {
                "machine": row.machine,
                **_varied_cell(varied),
                "nodes": f"{row.nodes:,}",
                "grid": "x".join(map(str, row.grid)),
                "block": "x".join(f"{edge:.4g}" for edge in row.block),
                "k": ",".join(map(str, row.cutoff)),
                **{
                    term: format_time(results[f"{term}_s"].value) if results[f"{term}_s"].value > 0 else "–"
                    for term in ("flops", "memory", "exchange", "total")
                },
                "range": _time_range(total),
                "efficiency": f"{format_number(100 * row.efficiency)} %",
                "bounded by": row.bounded_by,
                **energy,
            }
        )
    yield row_table(lines, leave=("efficiency", "block", "flops", "memory", "k", "range"))
    yield from labelled("note", (note for _, row in rows for note in row.notes))


def _energy_cells(energies: Sequence[Range | None]) -> list[dict[str, str]]:
    """The energy of each row; no column where nobody knows the power of any of the machines."""
    if not any(energies):
        return [{} for _ in energies]
    return [{"energy": "–" if energy is None else format_quantity(energy.value, "J")} for energy in energies]


def _varied_cell(varied: Mapping[str, Any]) -> dict[str, str]:
    if not varied:
        return {}
    key = varied["varied"]
    return {"varied": f"{key} {format_quantity(varied['value'], QUANTITIES[key].unit)}"}


def _time_range(value: Range) -> str:
    return format_interval((value.low, value.high)) if value.wide else ""


def _percent(value: Range) -> str:
    point = f"{format_number(100 * value.value)} %"
    return point + (f" ({format_number(100 * value.low)}–{format_number(100 * value.high)} %)" if value.wide else "")


@record
class Trends(Result):
    """Table 1 of czechowski2012 recomputed, and extrapolated to a year."""

    paper = computed("the paper's id", str, lambda _: "czechowski2012")
    year: float = key("year that the table is extrapolated to")
    trends = computed("by quantity, how it grows", Sequence[model.Trend], lambda _: model.TRENDS)
    cells = computed("cells that follow from others, recomputed", Sequence[model.Cell], lambda _: model.cells())
    contradictions = computed(
        "those of the cells that contradict others",
        Sequence[model.Cell],
        lambda _: [cell for cell in model.cells() if cell.verdict == model.CONTRADICTS],
    )
    slips = computed("figures that do not follow from each other", Sequence[model.Slip], lambda _: model.slips())
    values = computed("all quantities in the year", Sequence[model.Value], lambda of: model.table_at(of.year))

    def blocks(self) -> Iterator[Block]:
        cells = {(cell.name, cell.design, cell.column): cell for cell in model.cells()}
        factors = {cell.name: cell for cell in reversed(model.cells()) if cell.column == "factor"}
        values = {(row.name, row.design): row.value for row in model.table_at(self.year)}

        def follows(of: _Trend) -> model.Cell:
            return cells[of[0].name, of[1], "2020"]

        columns: Sequence[Column[_Trend]] = (
            Column("figure", lambda of: f"{of[0].symbol}, {of[0].meaning}"),
            Column("design", lambda of: "" if of[1] == "both" else of[1]),
            Column("2010", lambda of: format_quantity(of[0].values[of[1]][0].value, of[0].unit)),
            Column("doubles in", lambda of: f"{of[0].doubling.text} years"),
            Column("x in ten years", lambda of: f"{of[0].factor.text} ({factors[of[0].name].recomputed:.4g})"),
            Column("2020 printed", lambda of: format_quantity(of[0].values[of[1]][1].value, of[0].unit)),
            Column("2020 follows", lambda of: follows(of).follows),
            Column("verdict", lambda of: follows(of).verdict, lambda it: it.upper() if it == model.CONTRADICTS else it),
            Column(f"in {self.year:g}", lambda of: format_quantity(values[of[0].name, of[1]], of[0].unit)),
        )
        rows = [(trend, design) for trend in model.TRENDS for design in trend.values]
        yield Table(columns, rows, leave=("doubles in", "x in ten years"))
        yield Sentence(
            "in brackets: the factor that the doubling time gives; the processors of the last column are R_peak / C of the year"
        )
        yield Sentence("figures of the paper that do not follow from each other:")
        for slip in model.slips():
            yield Sentence(f"  {slip.what}: printed {slip.printed}, follows {slip.shown} ({slip.rule})")
