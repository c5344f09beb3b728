"""``rankwise project table`` and ``project fft3d``: trends, and the 3-D FFT on machines that need not exist."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.api.project_values import number, value_words
from rankwise.api.projecting import Described, FftProjection
from rankwise.cli.base import Json, group, print_json, tell, verb, writable
from rankwise.cli.table import Table
from rankwise.errors import InputError
from rankwise.units import format_ends, format_interval, format_number, format_time

if TYPE_CHECKING:
    from rankwise.api.results import Result
    from rankwise.engines.project import FftAnswer
    from rankwise.models.uncertain import Range

project_verbs = group("project", "Machines that do not exist yet, or that you cannot use: what they would do.")

Plot = Annotated[
    Path | None,
    typer.Option(
        callback=writable,
        help="Draw FILE.svg: with --vary the time over those values, otherwise a tornado of the sensitivities.",
    ),
]


@verb("table", "rankwise project table --year 2026", under=project_verbs)
def table(
    year: Annotated[float, typer.Option(help="The year to extrapolate to.")] = 2020,
    as_json: Json = False,
) -> None:
    """Recompute Table 1 of czechowski2012: doubling times, ten-year factors, values; and extrapolate them to a year.

    A cell that does not follow from its neighbours is flagged.
    """
    from rankwise.machine.description import format_quantity
    from rankwise.papers import czechowski2012_table1 as table1

    if not 1950 <= year <= 2100:
        raise InputError(f"--year {year:g} is out of range: give a year between 1950 and 2100")
    cells, rows = table1.cells(), table1.table_at(year)
    if as_json:
        print_json(
            {
                "paper": "czechowski2012",
                "year": year,
                "trends": [
                    {
                        "key": trend.key,
                        "symbol": trend.symbol,
                        "meaning": trend.meaning,
                        "unit": trend.unit,
                        "doubling_years": trend.doubling.value,
                        "ten_year_factor": trend.factor.value,
                        "base": {design: first.value for design, (first, _) in trend.values.items()},
                    }
                    for trend in table1.TRENDS
                ],
                "cells": [cell.to_dict() for cell in cells],
                "contradictions": [cell.to_dict() for cell in cells if cell.verdict == table1.CONTRADICTS],
                "slips": table1.slips(),
                "values": rows,
            }
        )
        return
    from rankwise.papers.czechowski2012 import show_cell, show_slip

    values = {(row["key"], row["design"]): row for row in rows}
    heads = (
        "figure",
        "design",
        "2010",
        "doubles in",
        "x in ten years",
        "2020 printed",
        "2020 follows",
        "verdict",
        f"in {year:g}",
    )
    shown = Table(*heads, leave=("doubles in", "x in ten years"))
    for trend in table1.TRENDS:
        factor = next(cell for cell in cells if cell.key == trend.key and cell.column == "factor")
        for design, (first, last) in trend.values.items():
            cell = next(c for c in cells if (c.key, c.design, c.column) == (trend.key, design, "2020"))
            verdict = cell.verdict.upper() if cell.verdict == table1.CONTRADICTS else cell.verdict
            shown.add_row(
                f"{trend.symbol}, {trend.meaning}",
                "" if design == "both" else design,
                format_quantity(first.value, trend.unit),
                f"{trend.doubling.text} years",
                f"{trend.factor.text} ({factor.recomputed:.4g})",
                format_quantity(last.value, trend.unit),
                show_cell(cell),
                verdict,
                format_quantity(values[(trend.key, design)]["value"], trend.unit),
            )
    shown.show()
    print("in brackets: the factor that the doubling time gives; the processors of the last column are R_peak / C of the year")
    print("figures of the paper that do not follow from each other:")
    for slip in table1.slips():
        print(f"  {slip['what']}: printed {slip['printed']}, follows {show_slip(slip)} ({slip['rule']})")


@verb(
    "fft3d",
    """
    rankwise project fft3d --machine frontier --n 32768 --nodes 4096
    rankwise project fft3d --machine frontier --n 32768 --nodes 4096 --vary link_bandwidth=0.5x:4x --plot tornado.svg
    rankwise project fft3d --machine paper-gpu-2020 --n 21000 --reading paper-effective --match time --against paper-cpu-2020
    """,
    under=project_verbs,
)
def project_fft3d(question: FftProjection, on: Described, plot: Plot = None, as_json: Json = False) -> None:
    """Project a 3-D FFT: time of each phase, fraction of peak, what bounds it, and what would help.

    n³ points on all nodes, by the model of czechowski2012. Where a parameter is a range, so is the answer.
    """
    from rankwise.api.projecting import project_fft3d

    check_plot(plot)
    found = project_fft3d(question, on)
    write_plot(found, plot)
    if as_json:
        print_json(found.to_dict() | ({"plot": str(plot)} if plot else {}))
        return
    answer = found.answer
    _show(answer)
    if found.varied:
        _show_varied(found.varied)
    if found.matched:
        _show_matched(found.matched)
    for note in dict.fromkeys([*answer.notes, *(note for row in found.matched or () for note in row["notes"])]):
        tell(f"note: {note}")


def _show(answer: FftAnswer) -> None:
    from rankwise.engines.project import sensitivity_labels
    from rankwise.machine.description import format_quantity

    question, results, parameters = answer.question, answer.results, answer.parameters
    word = f"{question.word_bytes:g} B a point, {'real' if question.real else 'complex'}"
    exchanges = "pencils, two exchanges" if question.exchanges == 2 else "slabs, one exchange"
    total, nodes = _time_range(answer.total_s), number(parameters["nodes"])
    print(
        f"{answer.machine.name}: {number(parameters['n'])}³ points ({word}) on {nodes} node{'s' * (nodes != '1')}, "
        f"{exchanges}: "
        f"{format_time(answer.total_s.value)}{f' ({total})' if total else ''}"
    )
    performance, share_of_peak = results["performance_flop_per_s"], results["fraction_of_peak"]
    print(
        f"performance {format_quantity(performance.value, 'flop/s')}"
        + (
            f" ({format_ends((performance.low, performance.high), lambda end: format_quantity(end, 'flop/s'))})"
            if performance.wide
            else ""
        )
        + f", {_percent(share_of_peak)} of a peak of {format_quantity(results['peak_flop_per_s'].value, 'flop/s')}"
    )
    print(f"bounded by {answer.bounded_by}: {answer.reason}")
    helps = [
        f"{name} {low} to {high}: {format_time(item.time_at_low_s)} to {format_time(item.time_at_high_s)}"
        for item, (name, low, high) in zip(
            answer.sensitivities, sensitivity_labels(answer.sensitivities, answer.parameters), strict=True
        )
        if item.parameter not in ("n", "nodes")
    ]
    print(f"what matters most: {'; '.join(helps[:3]) or 'nothing but n and nodes'}")
    table = Table("phase", "equation", "time", "range", "of the total")
    network = re.search(r"Eq\. [345]", answer.network)
    terms = [
        ("flops", "Eq. 1", "flops_s"), ("memory", "Eq. 2", "memory_s"), ("shuffle", "Eq. 8", "shuffle_s"),
        ("io-bus", "Eq. 9", "io_bus_s"), ("network", network[0] if network else "", "network_s"),
    ]  # fmt: skip
    hidden = min(("flops_s", "memory_s"), key=lambda name: results[name].value)
    for name, equation, key in terms:
        if key not in results:
            continue
        counted = "" if key != hidden else "behind flops" if hidden == "memory_s" else "behind memory"
        if key in ("shuffle_s", "io_bus_s") and not question.artifacts:
            counted = "not counted"
        share = counted or f"{100 * results[key].value / answer.total_s.value:.1f} %"
        table.add_row(name, equation, format_time(results[key].value), _time_range(results[key]), share)
    table.add_row(
        "total", "overlapped" if question.overlap else "sum", format_time(answer.total_s.value), _time_range(answer.total_s)
    )
    table.show()
    print(f"memory term: {answer.memory.label()}{_implied(answer)}; network: {answer.network}")


def _implied(answer: FftAnswer) -> str:
    """Say where A comes from when it is what runs since 2020 imply."""
    from rankwise.models import fft3d

    constant = answer.question.constant
    if constant is None or (constant.low, constant.high) != fft3d.IMPLIED_A:
        return ""
    return f", {constant.low:g} to {constant.high:g} as runs on Frontier imply (--reading literal: {fft3d.PAPER_A:g})"


def _show_varied(rows: Sequence[dict[str, Any]]) -> None:
    from rankwise.machine.description import format_quantity

    table = Table("varied", "value", "memory", "network", "total", "performance", "of peak", "bounded by")
    for row in rows:
        results, key = row["results"], row["parameter"]
        table.add_row(
            key,
            value_words(key, row["value"]),
            *(format_time(results[name]["value"]) for name in ("memory_s", "network_s", "total_s")),
            format_quantity(results["performance_flop_per_s"]["value"], "flop/s"),
            f"{format_number(100 * results['fraction_of_peak']['value'])} %",
            row["bounded_by"],
        )
    table.show()


def _show_matched(rows: Sequence[dict[str, Any]]) -> None:
    from rankwise.machine.description import format_quantity

    table = Table("machine", "matched on", "nodes", "as many", "it has", "peak", "memory", "network", "total", "performance")
    for row in rows:
        available = row["nodes_available"]
        table.add_row(
            row["machine"],
            row["criterion"],
            f"{row['nodes']:,.0f}",
            f"x {format_number(row['nodes_ratio'])}",
            "–" if available is None else f"{available:,.0f}",
            format_quantity(row["peak_flop_per_s"], "flop/s"),
            *(format_time(row[name]) for name in ("memory_s", "network_s", "total_s")),
            format_quantity(row["performance_flop_per_s"], "flop/s"),
        )
    table.show()


def check_plot(plot: Path | None) -> None:
    """Refuse a plot's file that is no SVG before any work is done. Raises InputError."""
    if plot is not None and (plot.suffix != ".svg" or plot.is_dir()):
        raise InputError(f"--plot {plot} is not an SVG file: name it FILE.svg")
    writable(plot)


def write_plot(found: Result, plot: Path | None) -> None:
    """Write the picture of an answer where one is wanted."""
    if plot is not None:
        found.plot().save(plot)
        tell(f"written: {plot}")


def _time_range(value: Range) -> str:
    return format_interval((value.low, value.high)) if value.wide else ""


def _percent(value: Range) -> str:
    point = f"{format_number(100 * value.value)} %"
    return point + (f" ({format_number(100 * value.low)}–{format_number(100 * value.high)} %)" if value.wide else "")
