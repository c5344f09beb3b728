"""``rankwise project table`` and ``project fft3d``: trends, and the 3-D FFT on machines that need not exist."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.base import Json, group, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.errors import InputError
from rankwise.units import format_ends, format_interval, format_number, format_time

if TYPE_CHECKING:
    from rankwise.engines.project import FftAnswer, Sensitivity
    from rankwise.machine.description import Description
    from rankwise.models.uncertain import Range

project_verbs = group("project", "Machines that do not exist yet, or that you cannot use: what they would do.")

Machine = Annotated[
    str, typer.Option(help="A name from 'rankwise machines list', a TOML description, or a profile (machine.json).")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a figure: link_bandwidth=50GB/s, a range =25GB/s:50GB/s, or =0.5x:2x."),
]
Plot = Annotated[Path | None,
    typer.Option(help="Draw FILE.svg: with --vary the time over those values, otherwise a tornado of the sensitivities.")]
_TIMES = ("memory_s", "network_s", "total_s")
Vary = Annotated[
    list[str] | None, typer.Option(help="Go through values of a figure, of n or of nodes: link_bandwidth=0.5x:4x.")
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
    heads = ("figure", "design", "2010", "doubles in", "x in ten years", "2020 printed", "2020 follows", "verdict", f"in {year:g}")
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
def project_fft3d(
    machine: Machine,
    n: Annotated[str, typer.Option("--n", help="Points an axis: 32768, or a range 16384:32768.")],
    nodes: Annotated[str | None, typer.Option(help="Nodes: 4096, or a range. Default: all of the machine.")] = None,
    reading: Annotated[
        str | None,
        typer.Option(
            help="Memory term: literal (Eq. 2, A = 6.3) or paper-effective (fitted to the paper's figures). "
            "Default: Eq. 2, for machines built since 2020 with the A of 19 to 23 that runs on Frontier imply."
        ),
    ] = None,
    memory_constant: Annotated[
        str | None, typer.Option(help="A of the literal memory term, or its range: 20, 6.3:24.")
    ] = None,
    bound: Annotated[
        str, typer.Option(help="Network: bisection (a global exchange), or ideal (placed so that nothing is in the way).")
    ] = "bisection",
    torus_constant: Annotated[str, typer.Option(help="Eq. 5 as printed, or exact (an eighth of it).")] = "printed",
    topology: Annotated[
        str | None, typer.Option(help="Instead of the machine's own: fully-connected, torus:K, fat-tree, dragonfly.")
    ] = None,
    overlap: Annotated[bool, typer.Option("--overlap", help="Memory and network fully overlap: the greater counts.")] = False,
    artifacts: Annotated[
        bool, typer.Option("--artifacts", help="Count the local transposes (Eq. 8) and the I/O bus (Eq. 9), too.")
    ] = False,
    precision: Annotated[str, typer.Option(help="double or single.")] = "double",
    real: Annotated[bool, typer.Option("--real", help="Real data: half the bytes and half the flops.")] = False,
    decomposition: Annotated[str, typer.Option(help="pencil (two exchanges) or slab (one).")] = "pencil",
    settings: Set = None,
    vary: Vary = None,
    match: Annotated[
        str | None, typer.Option(help="Solve for the nodes of --against that match on time, overlapped-time or peak.")
    ] = None,
    against: Annotated[str | None, typer.Option(help="Machines to match, separated by commas.")] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Project a 3-D FFT: time of each phase, fraction of peak, what bounds it, and what would help.

    n³ points on all nodes, by the model of czechowski2012. Where a parameter is a range, so is the answer.
    """
    from rankwise.engines.project import CRITERIA, match_fft, project_fft, vary_fft
    from rankwise.machine.description import set_figures
    from rankwise.machine.library import load_machine
    from rankwise.models import fft3d

    if reading is not None:
        _choose("--reading", reading, fft3d.READINGS)
    _choose("--bound", bound, fft3d.BOUNDS)
    _choose("--torus-constant", torus_constant, tuple(fft3d.TORUS_CONSTANTS))
    _choose("--precision", precision, ("double", "single"))
    _choose("--decomposition", decomposition, ("pencil", "slab"))
    if match is not None:
        _choose("--match", match, CRITERIA)
    if (match is None) != (against is None):
        raise InputError("--match and --against belong together: give both, as in --match time --against fugaku")
    check_plot(plot)
    from rankwise.engines.project import FftQuestion

    described = set_figures(load_machine(machine), settings or [])
    question = FftQuestion(
        n=_count_range(n, "--n", 2),
        nodes=None if nodes is None else _count_range(nodes, "--nodes", 1),
        reading=reading or fft3d.LITERAL,
        constant=_constant(described, reading, memory_constant),
        bound=bound,
        torus_constant=torus_constant,
        topology=topology,
        overlap=overlap,
        artifacts=artifacts,
        word_bytes=(16.0 if precision == "double" else 8.0) / (2 if real else 1),
        exchanges=2 if decomposition == "pencil" else 1,
        real=real,
    )
    answer = project_fft(described, question)
    varied: list[dict[str, Any]] = []
    for text in vary or []:
        key, ends = _vary(text, described, answer)
        varied += vary_fft(described, question, key, ends)
    matched = [match_fft(answer, load_machine(name), match) for name in (against or "").split(",") if match and name]
    if plot is not None and varied:
        write_varied(
            [(row["parameter"], row["value"], {name[:-2]: row["results"][name]["value"] for name in _TIMES}) for row in varied],
            _tornado_title(answer), plot,
        )  # fmt: skip
    elif plot is not None:
        write_tornado(answer.sensitivities, answer.parameters, answer.total_s.value, _tornado_title(answer), plot)
    if as_json:
        record = answer.to_dict()
        record |= {"varied": varied} if vary else {}
        record |= {"matched": matched} if match else {}
        record |= {"plot": str(plot)} if plot else {}
        print_json(record)
        return
    _show(answer)
    if varied:
        _show_varied(varied)
    if matched:
        _show_matched(matched)
    for note in dict.fromkeys([*answer.notes, *(note for row in matched for note in row["notes"])]):
        tell(f"note: {note}")


def _show(answer: FftAnswer) -> None:
    from rankwise.engines.project import sensitivity_labels
    from rankwise.machine.description import format_quantity

    question, results, parameters = answer.question, answer.results, answer.parameters
    word = f"{question.word_bytes:g} B a point, {'real' if question.real else 'complex'}"
    exchanges = "pencils, two exchanges" if question.exchanges == 2 else "slabs, one exchange"
    total = _time_range(answer.total_s)
    print(
        f"{answer.machine.name}: {_number(parameters['n'])}³ points ({word}) on {_number(parameters['nodes'])} nodes, "
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


def _show_varied(rows: list[dict[str, Any]]) -> None:
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


def _show_matched(rows: list[dict[str, Any]]) -> None:
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


def _tornado_title(answer: FftAnswer) -> str:
    """Say what the tornado is of."""
    n, nodes = answer.parameters["n"], answer.parameters["nodes"]
    return f"{answer.machine.name}, {_number(n)}³ on {_number(nodes)} nodes, memory term {answer.memory.reading}"


def check_plot(plot: Path | None) -> None:
    """Refuse a plot's file that is no SVG before any work is done. Raises InputError."""
    if plot is not None and (plot.suffix != ".svg" or plot.is_dir()):
        raise InputError(f"--plot {plot} is not an SVG file: name it FILE.svg")


def write_tornado(items: Sequence[Sensitivity], parameters: Mapping[str, Range], time_s: float, title: str, path: Path) -> None:
    """Write the tornado plot of a time's sensitivities."""
    from rankwise.engines.project import sensitivity_labels
    from rankwise.files import write_whole
    from rankwise.report.tornado import tornado_picture

    write_whole(path, tornado_picture(items, time_s, sensitivity_labels(items, parameters), title).file())
    tell(f"written: {path}")


def write_varied(varied: Sequence[tuple[str, float, Mapping[str, float]]], title: str, path: Path) -> None:
    """Write the plot of times (s, by what takes them) over the values of each parameter that was varied."""
    from rankwise.files import write_whole
    from rankwise.report.tornado import varied_picture

    found: dict[str, list[tuple[float, str, Mapping[str, float]]]] = {}
    for key, value, times in varied:
        found.setdefault(key, []).append((value, value_words(key, value), times))
    write_whole(path, varied_picture(found, title).file())
    tell(f"written: {path}")


def value_words(key: str, value: float) -> str:
    """Write a value of a parameter with its unit."""
    from rankwise.machine.description import QUANTITIES, format_quantity

    return f"{value:,.0f}" if key in ("n", "nodes") else format_quantity(value,
        QUANTITIES[key].unit if key in QUANTITIES else "1")


def parse_vary(text: str, machine: Description, known: list[str]) -> tuple[str, tuple[float, float]]:
    """Read ``KEY=LOW:HIGH`` for a parameter that has a part in the answer. Raises InputError."""
    from rankwise.machine.description import parse_range

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


def _vary(text: str, machine: Description, answer: FftAnswer) -> tuple[str, tuple[float, float]]:
    from rankwise.machine.description import parse_range

    key, _, ends = text.partition("=")
    key = key.strip().replace("-", "_")
    if key == "memory_constant":
        constant = _constant_range(ends, "--vary memory_constant")
        return key, (constant.low, constant.high)
    if key not in ("n", "nodes"):
        return parse_vary(text, machine, list(answer.parameters))
    low, high = parse_range(ends, "nodes", f"--vary {key}", answer.parameters[key].value)
    return key, (max(low, 2.0 if key == "n" else 1.0), high)


def _constant(machine: Description, reading: str | None, given: str | None) -> Range | None:
    """The A of Eq. 2: the given one; of a machine that was built since 2020 the range that published runs imply; None: the paper's."""
    from rankwise.models import fft3d
    from rankwise.models.uncertain import Range

    if given is not None:
        return _constant_range(given)
    peak = machine.figures.get("node_peak")
    built = peak is not None and peak.kind != "projected" and machine.year is not None and machine.year >= fft3d.IMPLIED_SINCE
    if reading is not None or not built:
        return None
    low, high = fft3d.IMPLIED_A
    return Range(math.sqrt(low * high), low, high)


def _constant_range(text: str, what: str = "--memory-constant") -> Range:
    from rankwise.models.uncertain import Range

    try:
        ends = [float(part) for part in text.split(":")]
    except ValueError:
        ends = []
    if not 1 <= len(ends) <= 2 or not all(math.isfinite(end) and end > 0 for end in ends) or ends[-1] < ends[0]:
        raise InputError(f"{what} '{text}' is not a constant: give a number above 0, or a range such as 6.3:24")
    return Range(math.sqrt(ends[0] * ends[-1]) if len(ends) == 2 else ends[0], ends[0], ends[-1])


def _count_range(text: str, what: str, least: int) -> Range:
    from rankwise.models.uncertain import Range

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


def _choose(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{option} '{value}' is unknown: choose one of {', '.join(choices)}")


def _number(value: Range) -> str:
    return f"{value.value:,.0f}" if not value.wide else f"{value.low:,.0f} to {value.high:,.0f}"


def _time_range(value: Range) -> str:
    return format_interval((value.low, value.high)) if value.wide else ""


def _percent(value: Range) -> str:
    point = f"{format_number(100 * value.value)} %"
    return point + (f" ({format_number(100 * value.low)}–{format_number(100 * value.high)} %)" if value.wide else "")
