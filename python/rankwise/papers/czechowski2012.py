"""Czechowski et al. (ICS 2012), section 6: Predictions 1 to 3, Figures 5 and 6, redone under both memory readings.

Sections 5.2 and 5.3, what was measured, are in czechowski2012_measured.py.

Published figures are the paper's text; ours follow from its Table 1 (printed ten-year factors, unrounded products) and
from its equations. The three designs that are matched on peak, on time without overlap and on time with overlap are
solved for. The effective constants of the memory term are fitted to these very figures: that they fit shows which
memory term the figures need, not that it is the one that was used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.blocks import Column, Picture, Table, records_table
from rankwise.models import fft3d
from rankwise.papers import czechowski2012_balance as balance
from rankwise.papers import czechowski2012_measured as measured
from rankwise.papers import czechowski2012_table1 as table1
from rankwise.papers import fft_since_2012 as since
from rankwise.report.chart import Chart
from rankwise.report.reproduction import Reproduction, Section
from rankwise.units import format_percent

N = 21_000  # section 6, Prediction 2
FIGURE6_N = 4096  # caption of Figure 6
CLOSE = 0.05
READINGS = fft3d.READINGS
TOPOLOGIES = {"3-D torus": 2 / 3, "4-D torus": 3 / 4, "5-D torus": 4 / 5, "3-D torus, ideal": 5 / 6}


@dataclass(frozen=True)
class Published:
    """A figure of the paper's text: what it is, its value in SI units, and how it is printed."""

    key: str
    prediction: int
    what: str
    value: float
    unit: str
    printed: str
    rough: bool = False  # given in words or with one digit only


PUBLISHED = (
    Published("gpu_performance", 1, "GPU design: performance", 2.8e15, "flop/s", "2.8 PF/s"),
    Published("gpu_share", 1, "GPU design: share of 4 EF/s", 0.0008, "1", "0.08 %"),
    Published("gpu_net_over_mem", 2, "GPU design: T_net / T_mem", 2.8, "1", "2.8x"),
    Published("cpu1_over_gpu", 2, "CPU-1 over GPU: performance", 3.2, "1", "3.2x"),
    Published("cpu1_net_over_gpu", 2, "CPU-1 over GPU: T_net", 0.2, "1", "nearly 1/5", rough=True),
    Published("cpu1_processors_over_gpu", 2, "CPU-1 over GPU: processors", 10, "1", "over 10x", rough=True),
    Published("cpu1_processors", 2, "CPU-1: processors", 1e6, "1", "1M", rough=True),
    Published("cpu2_processors", 2, "CPU-2: processors", 350e3, "1", "350k"),
    Published("cpu2_peak", 2, "CPU-2: peak", 1e18, "flop/s", "1 EF/s"),
    Published("overlapped_time", 2, "GPU and CPU-3: time with full overlap", 0.528, "s", "0.528 s"),
    Published("cpu3_processors", 2, "CPU-3: processors", 295e3, "1", "295k"),
    Published("cpu3_processors_over_gpu", 2, "CPU-3 over GPU: processors", 2.25, "1", "2.25x"),
    Published("ideal_over_bisection", 3, "CPU design: ideal mapping over bisection", 10, "1", "10x", rough=True),
)


@dataclass(frozen=True)
class Bar:
    """One bar of Figure 5: a design of so many processors and its two times."""

    name: str
    processors: float
    peak_flop_per_s: float
    memory_s: float
    network_s: float

    @property
    def sequential_s(self) -> float:
        return self.memory_s + self.network_s

    @property
    def overlapped_s(self) -> float:
        return max(self.memory_s, self.network_s)

    def to_dict(self) -> dict[str, Any]:
        name, *figures = vars(self).items()
        return {"design": name[1], **dict(figures), "sequential_s": self.sequential_s, "overlapped_s": self.overlapped_s}


def memory_of(reading: str, design: str) -> fft3d.Memory:
    """The memory term of a reading for the ``cpu`` or ``gpu`` design."""
    return fft3d.literal() if reading == fft3d.LITERAL else fft3d.effective(design)


def bar(name: str, design: str, reading: str, processors: float, torus_constant: str = "printed") -> Bar:
    """Both times of a design of 2020 with so many processors, by Eq. 2 and Eq. 5."""
    trend, year = table1.TREND, table1.LAST_YEAR
    peak = trend["node_peak"].at(design, year)
    system = fft3d.System(
        nodes=processors,
        node_flop_per_s=peak,
        memory_bytes_per_s=trend["memory_bandwidth"].at(design, year),
        cache_bytes=trend["cache"].at(design, year),
        network=fft3d.Network(
            "torus", link_bytes_per_s=trend["link_bandwidth"].at("both", year), torus_constant=torus_constant
        ),
    )
    terms = fft3d.predict(fft3d.Transform(N), system, memory_of(reading, design))
    return Bar(name, processors, processors * peak, terms.memory_s, terms.network_s)


def figure5(reading: str) -> list[Bar]:
    """The four bars: GPU, and the CPU designs matched on peak, on time without and on time with overlap."""
    peak = table1.TREND["machine_peak"].at("both", table1.LAST_YEAR)
    count = {design: peak / table1.TREND["node_peak"].at(design, table1.LAST_YEAR) for design in ("cpu", "gpu")}
    gpu = bar("GPU", "gpu", reading, count["gpu"])

    def cpu(processors: float) -> Bar:
        return bar("", "cpu", reading, processors)

    return [
        gpu,
        bar("CPU-1", "cpu", reading, count["cpu"]),
        bar("CPU-2", "cpu", reading, fft3d.solve_nodes(lambda p: cpu(p).sequential_s, gpu.sequential_s)),
        bar("CPU-3", "cpu", reading, fft3d.solve_nodes(lambda p: cpu(p).overlapped_s, gpu.overlapped_s)),
    ]


def reproduced(reading: str) -> dict[str, float]:
    """Ours of every published figure, by its key."""
    gpu, cpu1, cpu2, cpu3 = figure5(reading)
    performance = fft3d.Transform(N).flops / gpu.sequential_s
    return {
        "gpu_performance": performance,
        "gpu_share": performance / gpu.peak_flop_per_s,
        "gpu_net_over_mem": gpu.network_s / gpu.memory_s,
        "cpu1_over_gpu": gpu.sequential_s / cpu1.sequential_s,
        "cpu1_net_over_gpu": cpu1.network_s / gpu.network_s,
        "cpu1_processors_over_gpu": cpu1.processors / gpu.processors,
        "cpu1_processors": cpu1.processors,
        "cpu2_processors": cpu2.processors,
        "cpu2_peak": cpu2.peak_flop_per_s,
        "overlapped_time": gpu.overlapped_s,
        "cpu3_processors": cpu3.processors,
        "cpu3_processors_over_gpu": cpu3.processors / gpu.processors,
        "ideal_over_bisection": cpu1.processors ** (5 / 6 - 2 / 3),
    }


def figure6(reading: str) -> dict[str, list[tuple[int, float]]]:
    """T_mem / T_net of the CPU design from 2010 to 2020 for each topology (Eq. 10 with its constants).

    The problem starts at 4096^3 and grows with the processors, so that it cancels but for the logarithm, which stays
    below 1 throughout (a pencil fits in the fast memory).
    """
    trend = table1.TREND
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in TOPOLOGIES}
    first = trend["machine_peak"].at("both", table1.FIRST_YEAR) / trend["node_peak"].at("cpu", table1.FIRST_YEAR)
    for year in range(table1.FIRST_YEAR, table1.LAST_YEAR + 1):
        processors = trend["machine_peak"].at("both", year) / trend["node_peak"].at("cpu", year)
        transform = fft3d.Transform(FIGURE6_N * (processors / first) ** (1 / 3))
        link = trend["link_bandwidth"].at("both", year)
        memory_s = fft3d.memory_time(
            transform, processors, trend["memory_bandwidth"].at("cpu", year), trend["cache"].at("cpu", year),
            memory_of(reading, "cpu"),
        )  # fmt: skip
        for name in TOPOLOGIES:
            if name.endswith("ideal"):
                network_s = fft3d.torus_ideal_time(transform, processors, link)
            else:
                network_s = fft3d.torus_bisection_time(transform, processors, link, int(name[0]))
            curves[name].append((year, memory_s / network_s))
    return curves


def comparison() -> list[dict[str, Any]]:
    """Every published figure beside ours under both readings, with the differences and whether they are close."""
    ours = {reading: reproduced(reading) for reading in READINGS}
    rows = []
    for item in PUBLISHED:
        row: dict[str, Any] = {key: getattr(item, key) for key in ("key", "prediction", "what", "unit", "printed")}
        row |= {"published": item.value, "rough": item.rough}
        for reading in READINGS:
            value = ours[reading][item.key]
            name = reading.replace("-", "_")
            row[name] = value
            row[f"{name}_difference"] = value / item.value - 1
            row[f"{name}_within_5_percent"] = abs(value / item.value - 1) <= CLOSE
        rows.append(row)
    return rows


def figure6_statements() -> list[dict[str, Any]]:
    """What the text says of Figure 6, and whether each reading agrees."""
    rows = []
    for reading in READINGS:
        curves = figure6(reading)
        for name, curve in curves.items():
            first, last = curve[0][1], curve[-1][1]
            says = {"trend": "falls" if name == "3-D torus" else "rises"}
            rows.append(
                {
                    "reading": reading,
                    "topology": name,
                    "ratio_2010": first,
                    "ratio_2020": last,
                    "growth": last / first,
                    "text_says": says["trend"] + (", below 1" if name == "3-D torus" else ""),
                    "trend_agrees": (last > first) == (says["trend"] == "rises"),
                    "level_agrees": max(first, last) < 1 if name == "3-D torus" else None,
                    "memory_dominates_2020": last > 1,
                }
            )
    return rows


def exact_performance() -> dict[str, float]:
    """The GPU design's performance with the exact bisection of the torus in place of the printed constant."""
    count = figure5(fft3d.LITERAL)[0].processors
    return {reading: fft3d.Transform(N).flops / bar("GPU", "gpu", reading, count, "exact").sequential_s for reading in READINGS}


def record() -> dict[str, Any]:
    """Everything as JSON."""
    rows = comparison()
    return {
        "paper": "czechowski2012",
        "readings": {
            fft3d.LITERAL: memory_of(fft3d.LITERAL, "gpu").label(),
            fft3d.EFFECTIVE: "T_mem with X = {gpu} (GPU) and {cpu} (CPU) words a point, fitted to the paper's figures".format(
                **fft3d.EFFECTIVE_X
            ),
        },
        "predictions": [
            {"prediction": number, "figures": [row for row in rows if row["prediction"] == number]} for number in (1, 2, 3)
        ],
        "figure5": {reading: [item.to_dict() for item in figure5(reading)] for reading in READINGS},
        "figure6": {
            reading: {
                name: [{"year": year, "ratio": ratio} for year, ratio in curve] for name, curve in figure6(reading).items()
            }
            for reading in READINGS
        },
        "figure6_statements": figure6_statements(),
        "exact_bisection_performance_flop_per_s": exact_performance(),
        "table1": {"cells": [cell.to_dict() for cell in table1.cells()], "slips": table1.slips()},
        "balance": balance.record(),
        "measured": measured.record(),
        "since": since.record(),
    }


def reproduce() -> Reproduction:
    """The whole reproduction, with its tables, pictures and words."""
    rows, statements, cells = comparison(), figure6_statements(), table1.cells()
    designs = [{"reading": reading, **item.to_dict()} for reading in READINGS for item in figure5(reading)]
    return Reproduction(
        paper="czechowski2012",
        title="The 3-D FFT at exascale, as predicted in 2012, redone",
        answer=_answer(rows),
        sections=[
            Section(
                "predictions",
                "Predictions 1 to 3: published figures and ours",
                [
                    "Two readings of the memory term stand beside each other. The literal one is Eq. 2 with A = 6.3. "
                    "The effective one takes the constants that the paper's own figures need, "
                    f"{fft3d.EFFECTIVE_X['gpu']} words a point for the GPU design and {fft3d.EFFECTIVE_X['cpu']} for the CPU "
                    "designs; they are fitted to these figures, so their agreement is no "
                    "confirmation, and several formulas would fit as well.",
                    _exact_words(),
                ],
                [_comparison_table(rows)],
            ),
            Section(
                "figure5",
                "Figure 5: four designs",
                [
                    "CPU-1 has the peak of the GPU design. The processors of CPU-2 and CPU-3 are solved for: CPU-2 takes "
                    "as long as the GPU design when memory and network take turns, CPU-3 when they overlap fully."
                ],
                [
                    Picture("figure5", _FIGURE5_CAPTION, _draw_figure5),
                    Table(_FIGURE5, designs, name="figure5", caption="The designs in figures."),
                ],
            ),
            Section(
                "figure6",
                "Figure 6: which grows faster, T_mem or T_net",
                _figure6_words(statements),
                [
                    Picture("figure6", _FIGURE6_CAPTION, _draw_figure6),
                    records_table(statements, _FIGURE6, name="figure6", caption="T_mem / T_net at both ends of the decade."),
                ],
            ),
            balance.section(),
            Section(
                "table1",
                "Table 1: where the paper contradicts itself",
                [
                    "Each cell that follows from other cells is recomputed from their printed digits. A cell agrees when "
                    "what follows rounds to what is printed, is a matter of rounding when the digits of its inputs leave "
                    "room for it, and contradicts otherwise."
                ],
                [
                    records_table(
                        [cell.to_dict() for cell in cells],
                        _CELLS,
                        cells,
                        name="table1",
                        caption="Cells of Table 1 and what follows for them.",
                    ),
                    records_table(table1.slips(), _SLIPS, name="slips", caption="Figures that do not follow from each other."),
                ],
            ),
            measured.section(),
            *since.sections(),
        ],
        record=record(),
        sources=[
            "K. Czechowski, C. Battaglino, C. McClanahan, K. Iyer, P.-K. Yeung, R. Vuduc: On the Communication Complexity "
            "of 3D FFTs and its Implications for Exascale, ICS 2012 (equations, Table 1, section 6).",
            *since.SOURCES,
        ],
        next_command="rankwise project fft3d --machine frontier --n 32768 --nodes 4096",
    )


def _answer(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    literal = sum(bool(row["literal_within_5_percent"]) for row in rows)
    effective = sum(bool(row["paper_effective_within_5_percent"]) for row in rows)
    neither = [row for row in rows if not row["literal_within_5_percent"] and not row["paper_effective_within_5_percent"]]
    firm = "; ".join(row["what"] for row in neither if not row["rough"])
    rough = "; ".join(f"{row['what']} ({row['printed']})" for row in neither if row["rough"])
    return [
        f"Of {len(rows)} published figures the literal text gives {literal} within 5 %, the memory term that the figures "
        f"imply {effective}.",
        f"Neither gives: {firm or 'none'}. Nor, of what the text gives only roughly: {rough or 'none'}.",
        measured.verdict(),
        since.verdict_sentence(),
    ]


def _exact_words() -> str:
    exact = exact_performance()
    return (
        "Eq. 5 as printed takes eight times as long as the links across the middle of a torus of equal axes need. Counted "
        f"exactly, the GPU design would reach {exact[fft3d.LITERAL] / 1e15:.1f} PF/s under the literal text and "
        f"{exact[fft3d.EFFECTIVE] / 1e15:.1f} PF/s under the effective reading."
    )


def _figure6_words(statements: Sequence[Mapping[str, Any]]) -> list[str]:
    agree = all(row["trend_agrees"] for row in statements)
    ratio = {(row["reading"], row["topology"]): row for row in statements}
    torus = ratio[(fft3d.EFFECTIVE, "3-D torus")]
    most = max(row[f"ratio_{year}"] for row in statements for year in (2010, 2020) if row["reading"] == fft3d.LITERAL)
    return [
        f"The trends {'are all' if agree else 'are not all'} as the text says under both readings.",
        f"Literally the ratio is at most {most:.2f} on the networks drawn here, so that "
        + ("memory does not dominate and Prediction 3 does not follow" if most < 1 else "memory dominates somewhere")
        + f". Under the effective reading the 3-D torus goes from {torus['ratio_2010']:.2f} to {torus['ratio_2020']:.2f}, "
        "where the text says below one.",
    ]


_FIGURE5_CAPTION = (
    "Memory and network time of one transform of 21,000³ points on the four designs. Dashed lines: the GPU design's time "
    "without overlap (upper) and with overlap (lower), which CPU-2 and CPU-3 meet."
)
_FIGURE6_CAPTION = (
    "T_mem / T_net of the CPU design, 4096³ points in 2010, growing with the processors. Above 1 the memory takes longer than "
    "the network. The ideal mapping on a 3-D torus is as fast as the bisection of a 6-D one."
)


def _draw_figure5() -> Chart:
    from rankwise.report.projections import figure5_picture

    return figure5_picture({reading: figure5(reading) for reading in READINGS})


def _draw_figure6() -> Chart:
    from rankwise.report.projections import figure6_picture

    return figure6_picture({reading: figure6(reading) for reading in READINGS})


def _comparison_table(rows: Sequence[Mapping[str, Any]]) -> Table[Any]:
    def reading(name: str, head: str) -> list[Column[Any]]:
        def told(row: Mapping[str, Any]) -> str:
            return f"{100 * row[f'{name}_difference']:+.1f} % {'✓' if row[f'{name}_within_5_percent'] else '✗'}"

        return [Column(head, lambda row: show_value(row[name], row["unit"], row["printed"])), Column("difference", told)]

    seen = [
        Column("prediction", "prediction"), Column("what", "what"), Column("published", "printed"),
        *reading("literal", "literal"), *reading("paper_effective", "effective"),
    ]  # fmt: skip
    caption = "✓: within 5 % of the published figure. ✗: not."
    return records_table(rows, seen, name="predictions", caption=caption)


def show_value(value: float, unit: str, printed: str) -> str:
    """Write our value in the manner of the printed one."""
    if printed.endswith("%"):
        return f"{100 * value:.3f} %"
    if unit == "flop/s":
        return f"{value / 1e18:.2f} EF/s" if value >= 1e17 else f"{value / 1e15:.2f} PF/s"
    if unit == "s":
        return f"{value:.3f} s"
    if value >= 1e6:
        return f"{value / 1e6:.2f}M"
    return f"{value / 1e3:.1f}k" if value >= 1e3 else f"{value:.3g}"


def _agreement(row: Mapping[str, Any]) -> str:
    trend = "trend ✓" if row["trend_agrees"] else "trend ✗"
    if row["level_agrees"] is None:
        return trend
    return f"{trend}, level {'✓' if row['level_agrees'] else '✗'}"


def show_cell(cell: table1.Cell) -> str:
    """Write what follows for a cell in the unit in which it is read."""
    from rankwise.machine.description import format_quantity

    if cell.unit != "1":
        return format_quantity(cell.recomputed, cell.unit)
    return f"{cell.recomputed:,.0f}" if cell.recomputed >= 1000 else f"{cell.recomputed:.4g}"


def show_slip(slip: Mapping[str, Any]) -> str:
    """Write what follows for a slip."""
    value = float(slip["follows"])
    if str(slip["printed"]).endswith("%"):
        return f"{100 * value:.3f} %"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


_FIGURE5: Sequence[Column[Any]] = (
    Column("reading", "reading"),
    Column("design", "design"),
    Column("processors", "processors", lambda count: f"{count / 1e3:,.1f}k"),
    Column("peak", "peak_flop_per_s", lambda peak: f"{peak / 1e18:.2f} EF/s"),
    Column("T_mem", "memory_s", "{:.3f} s".format),
    Column("T_net", "network_s", "{:.3f} s".format),
    Column("sum", "sequential_s", "{:.3f} s".format),
    Column("overlapped", "overlapped_s", "{:.3f} s".format),
)
_FIGURE6: Sequence[Column[Any]] = (
    Column("reading", "reading"),
    Column("topology", "topology"),
    Column("2010", "ratio_2010", "{:.2f}".format),
    Column("2020", "ratio_2020", "{:.2f}".format),
    Column("growth", "growth", "x {:.3f}".format),
    Column("the text says", "text_says"),
    Column("agrees", _agreement),
)
_CELLS: Sequence[Column[table1.Cell]] = (
    Column("symbol", "symbol"),
    Column("design", "design"),
    Column("column", "column"),
    Column("printed", "printed"),
    Column("follows", show_cell),
    Column("difference", "difference", format_percent),
    Column("verdict", "verdict"),
    Column("from", "rule"),
)
_SLIPS: Sequence[Column[Any]] = (
    Column("what", "what"),
    Column("printed", "printed"),
    Column("follows", show_slip),
    Column("difference", "difference", format_percent),
    Column("from", "rule"),
)
