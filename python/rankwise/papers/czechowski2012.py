"""Czechowski et al. (ICS 2012), section 6: Predictions 1 to 3, Figures 5 and 6, redone under both memory readings.

Sections 5.2 and 5.3, what was measured, are in czechowski2012_measured.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from rankwise.blocks import Column, Picture, Table, records_table
from rankwise.models import fft3d
from rankwise.papers import cited
from rankwise.papers import czechowski2012_balance as balance
from rankwise.papers import czechowski2012_measured as measured
from rankwise.papers import czechowski2012_model as model
from rankwise.papers import fft_since_2012 as since
from rankwise.papers.claims import Tally, claims_section, judge
from rankwise.papers.czechowski2012_claims import CLAIMS, Numbers
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, NUMBER, SERIES, Chart, Spec, field_of, log_axis, rows, stop_of
from rankwise.report.layers import Curves, by_name, cursor, emphasised, kinds, labels, layer, level, nearest, ranged, shapes
from rankwise.report.reproduction import Reproduction, Section
from rankwise.units import format_percent

_PARTS = ("T_net", "T_mem")


@record
class Prediction(Record):
    """One of the predictions with its figures."""

    prediction: int = key("number of the prediction")
    figures = computed(
        "its published figures beside ours", Sequence[model.Published],
        lambda of: [row for row in model.PUBLISHED if row.prediction == of.prediction],
    )  # fmt: skip


@record
class Ratio(Record):
    """A point of Figure 6."""

    year: int = key("year of the point")
    ratio: float = key("T_mem / T_net in that year")


def _readings() -> dict[str, str]:
    words = "T_mem with X = {gpu} (GPU) and {cpu} (CPU) words a point, fitted to the paper's figures"
    return {fft3d.LITERAL: fft3d.memory_of(fft3d.LITERAL, "gpu").label(), fft3d.EFFECTIVE: words.format(**fft3d.EFFECTIVE_X)}


@record
class Table1(Record):
    """Table 1, recomputed."""

    cells = computed("cells that follow from others", Sequence[model.Cell], lambda _: model.cells())
    slips = computed("figures that do not follow from each other", Sequence[model.Slip], lambda _: model.slips())


@record
class Figures(Record):
    """The 3-D FFT at exascale, as predicted in 2012, redone."""

    paper = computed("the paper's id", str, lambda _: "czechowski2012")
    readings = computed("by reading of the memory term, what it is", Mapping[str, str], lambda _: _readings())
    predictions = computed("Predictions 1 to 3", Sequence[Prediction], lambda _: [Prediction(number) for number in (1, 2, 3)])
    figure5 = computed(
        "Figure 5 by reading",
        Mapping[str, Sequence[model.Bar]],
        lambda _: {reading: list(model.figure5(reading)) for reading in model.READINGS},
    )
    figure6 = computed(
        "Figure 6 by reading and network",
        Mapping[str, Mapping[str, Sequence[Ratio]]],
        lambda _: {
            reading: {name: [Ratio(*point) for point in curve] for name, curve in model.figure6(reading).items()}
            for reading in model.READINGS
        },
    )
    figure6_statements = computed("what the text says of Figure 6", Sequence[model.Curve], lambda _: model.figure6_statements())
    exact_bisection_performance_flop_per_s = computed(
        "performance of the GPU design by reading, with the exact bisection of its torus",
        Mapping[str, float],
        lambda _: model.exact_performance(),
    )
    table1 = computed("Table 1, recomputed", Table1, lambda _: Table1())
    balance = computed("how balanced nodes are", balance.Balances, lambda _: balance.Balances())
    measured = computed("what was measured in 2012", measured.Measured, lambda _: measured.Measured())
    since = computed("what was built and run since", since.Since, lambda _: since.Since())  # fmt: skip


def reproduce() -> Reproduction:
    """The whole reproduction, with its tables, pictures and words."""
    statements = model.figure6_statements()
    verdicts = judge(CLAIMS, Numbers(), "rankwise reproduce czechowski2012")
    designs = [{"reading": reading, **item.to_dict()} for reading in model.READINGS for item in model.figure5(reading)]
    return Reproduction(
        paper="czechowski2012",
        title="The 3-D FFT at exascale, as predicted in 2012, redone",
        answer=_answer(),
        claims=verdicts,
        sections=[
            claims_section(verdicts),
            Section.of(
                "predictions",
                "Predictions 1 to 3: published figures and ours",
                "Two readings of the memory term stand beside each other. The literal one is Eq. 2 with A = 6.3. "
                "The effective one takes the constants that the paper's own figures need, "
                f"{fft3d.EFFECTIVE_X['gpu']} words a point for the GPU design and {fft3d.EFFECTIVE_X['cpu']} for the CPU "
                "designs; they are fitted to these figures, so their agreement is no "
                "confirmation, and several formulas would fit as well.",
                _exact_words(),
                Picture("printed", _PRINTED_CAPTION, printed_picture),
                _comparison_table(),
            ),
            Section.of(
                "figure5",
                "Figure 5: four designs",
                "CPU-1 has the peak of the GPU design. The processors of CPU-2 and CPU-3 are solved for: CPU-2 takes "
                "as long as the GPU design when memory and network take turns, CPU-3 when they overlap fully.",
                Picture("figure5", _FIGURE5_CAPTION, figure5_picture),
                Table(_FIGURE5, designs, name="figure5", caption="The designs in figures."),
            ),
            Section.of(
                "figure6",
                "Figure 6: which grows faster, T_mem or T_net",
                *_figure6_words(statements),
                Picture("figure6", _FIGURE6_CAPTION, figure6_picture),
                records_table(statements, _FIGURE6, name="figure6", caption="T_mem / T_net at both ends of the decade."),
            ),
            balance.section(),
            Section.of(
                "table1",
                "Table 1: where the paper contradicts itself",
                "Each cell that follows from other cells is recomputed from their printed digits. A cell agrees when "
                "what follows rounds to what is printed, is a matter of rounding when the digits of its inputs leave "
                "room for it, and contradicts otherwise.",
                records_table(model.cells(), _CELLS, name="table1", caption="Cells of Table 1 and what follows for them."),
                records_table(model.slips(), _SLIPS, name="slips", caption="Figures that do not follow from each other."),
            ),
            measured.section(),
            since.section(),
        ],
        figures=Figures(),
        sources=[f"{cited('czechowski2012')} (equations, Table 1, section 6).", *since.SOURCES],
        next_command="rankwise project fft3d --machine frontier --n 32768 --nodes 4096",
    )


def _answer() -> list[str]:
    literal, effective = (Tally(model.PUBLISHED, f"{reading}_within_5_percent") for reading in ("literal", "paper_effective"))
    neither = [row for row in literal.wrong if row in effective.wrong]
    firm = "; ".join(row.what for row in neither if not row.rough)
    rough = "; ".join(f"{row.what} ({row.printed})" for row in neither if row.rough)
    return [
        f"Of {len(model.PUBLISHED)} published figures the literal text gives {literal.held} within 5 %, the memory term that "
        f"the figures imply {effective.held}.",
        f"Neither gives: {firm or 'none'}. Nor, of what the text gives only roughly: {rough or 'none'}.",
        measured.verdict(),
        since.verdict_sentence(),
    ]


def _exact_words() -> str:
    exact = model.exact_performance()
    return (
        "Eq. 5 as printed takes eight times as long as the links across the middle of a torus of equal axes need. Counted "
        f"exactly, the GPU design would reach {exact[fft3d.LITERAL] / 1e15:.1f} PF/s under the literal text and "
        f"{exact[fft3d.EFFECTIVE] / 1e15:.1f} PF/s under the effective reading."
    )


def _figure6_words(curves: Sequence[model.Curve]) -> list[str]:
    agree = all(curve.trend_agrees for curve in curves)
    torus = next(one for one in curves if (one.reading, one.topology) == (fft3d.EFFECTIVE, "3-D torus"))
    most = max(max(one.ratio_2010, one.ratio_2020) for one in curves if one.reading == fft3d.LITERAL)
    return [
        f"The trends {'are all' if agree else 'are not all'} as the text says under both readings.",
        f"Literally the ratio is at most {most:.2f} on the networks drawn here, so that "
        + ("memory does not dominate and Prediction 3 does not follow" if most < 1 else "memory dominates somewhere")
        + f". Under the effective reading the 3-D torus goes from {torus.ratio_2010:.2f} to {torus.ratio_2020:.2f}, "
        "where the text says below one.",
    ]


_PRINTED_CAPTION = "Our figure over the printed one of Predictions 1 to 3 and of Figure 4's shares, by both readings."
_FIGURE5_CAPTION = (
    "Memory and network time of one transform of 21,000³ points on the four designs. Dashed lines: the GPU design's time "
    "without overlap (upper) and with overlap (lower), which CPU-2 and CPU-3 meet."
)
_FIGURE6_CAPTION = (
    "T_mem / T_net of the CPU design, 4096³ points in 2010, growing with the processors. Above 1 the memory takes longer than "
    "the network. The ideal mapping on a 3-D torus is as fast as the bisection of a 6-D one."
)


def _comparison_table() -> Table[Any]:
    def reading(name: str, head: str) -> list[Column[model.Published]]:
        ours, off, close = (attrgetter(f"{name}{what}") for what in ("", "_difference", "_within_5_percent"))
        return [
            Column(head, lambda row: row.written(ours(row))),
            Column("difference", lambda row: f"{100 * off(row):+.1f} % {'✓' if close(row) else '✗'}"),
        ]

    seen = [
        Column("prediction", "prediction"), Column("what", "what"), Column("published", "printed"),
        *reading("literal", "literal"), *reading("paper_effective", "effective"),
    ]  # fmt: skip
    caption = "✓: within 5 % of the published figure. ✗: not."
    return records_table(model.PUBLISHED, seen, name="predictions", caption=caption)


def _agreement(curve: model.Curve) -> str:
    trend = f"trend {'✓' if curve.trend_agrees else '✗'}"
    return trend if curve.level_agrees is None else f"{trend}, level {'✓' if curve.level_agrees else '✗'}"


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
_FIGURE6: Sequence[Column[model.Curve]] = (
    Column("reading", "reading"),
    Column("topology", "topology"),
    Column("2010", "ratio_2010", "{:.2f}".format),
    Column("2020", "ratio_2020", "{:.2f}".format),
    Column("growth", "growth", "x {:.3f}".format),
    Column("the text says", "text_says"),
    Column("agrees", _agreement),
)
_CELLS: Sequence[Column[model.Cell]] = (
    Column("symbol", "symbol"),
    Column("design", "design"),
    Column("column", "column"),
    Column("printed", "printed"),
    Column("follows", "follows"),
    Column("difference", "difference", format_percent),
    Column("verdict", "verdict"),
    Column("from", "rule"),
)
_SLIPS: Sequence[Column[model.Slip]] = (
    Column("what", "what"),
    Column("printed", "printed"),
    Column("follows", "shown"),
    Column("difference", "difference", format_percent),
    Column("from", "rule"),
)


def printed_picture() -> Chart:
    """Draw our figures over those printed, a row for each, both readings side by side; 1: as printed."""
    found = {f"{row.what} ({row.printed})": {reading: row.of(reading) / row.published for reading in model.READINGS}
             for row in model.PUBLISHED}  # fmt: skip
    of = {reading: measured.shares(reading) for reading in model.READINGS}
    for one in (one for one in measured.statements() if one.name.startswith("share_")):
        part = one.name.removeprefix("share_")
        found[f"Figure 4, {one.measured.partition(' (')[0]}"] = {
            name: of[name][part] / measured.SHARES[part] for name in model.READINGS
        }
    stops: list[str] = []
    data = []
    for name, ratios in found.items():
        said = ", ".join(f"{reading} {ratio:.2f} times" for reading, ratio in ratios.items())
        stop = stop_of(stops, f"{name}: {said}")
        data += [{"what": name, "reading": reading, "ratio": ratio, **stop} for reading, ratio in ratios.items()]
    x = field_of("ratio", **log_axis([row["ratio"] for row in data], NUMBER, "ours / printed"))
    y = by_name("what", list(found))
    marks = {"x": x, "y": y, "color": kinds("reading", model.READINGS), "shape": shapes("reading", model.READINGS)}
    layers = [level("x", x, 1, color=INK), layer("point", {**marks, "size": emphasised(120, 60)}, data, filled=True, opacity=1)]
    panel: Spec = {"height": 21 * len(found), "data": rows(data), "layer": layers}
    words = f"{len(found)} printed figures; on the line ours is the printed one."
    return Chart("printed", "Our figures over those printed", words, [panel], stops, least_px=330, label_px=180)


def figure5_picture() -> Chart:
    """Draw the designs of Figure 5 as stacked bars of memory and network time, a panel for each reading."""
    bars = {reading: model.figure5(reading) for reading in model.READINGS}
    panels: list[Spec] = []
    stops: list[str] = []
    top = 1.12 * max(design.sequential_s for designs in bars.values() for design in designs)
    for reading, designs in bars.items():
        data, totals = [], []
        names = [f"{design.name}, {_count(design.processors)}" for design in designs]
        for name, design in zip(names, designs, strict=True):
            words = (
                f"{reading}, {name} processors: {design.network_s:.3f} s network, {design.memory_s:.3f} s memory, "
                f"{design.sequential_s:.3f} s in all"
            )
            stop = stop_of(stops, words)
            data.append({"design": name, "part": "T_net", "start": 0.0, "end": design.network_s, **stop})
            end = design.network_s + design.memory_s
            data.append({"design": name, "part": "T_mem", "start": design.network_s, "end": end, **stop})
            totals.append({"design": name, "end": design.sequential_s, "words": f"{design.sequential_s:.2f} s"})
        gpu = designs[0]
        x = field_of("design", "nominal", sort=names, axis={"labelAngle": -25, "title": None, "labelOverlap": False})
        axis = {"title": "time of one transform, s", "tickCount": 5}
        y = field_of("end", scale={"domain": [0, top], "nice": False}, axis=axis)
        colour = kinds("part", _PARTS, SERIES[1::-1])
        stacked = {"x": x, **ranged("y", y, "start", "end"), "opacity": emphasised(1, 0.85), "color": colour}
        levels = ({"end": level} for level in (gpu.sequential_s, gpu.overlapped_s))
        layers = [
            layer("rule", {"y": y}, levels, strokeDash=[5, 4]),
            layer("bar", stacked, data, stroke=INK, strokeWidth=0.5),
            labels({"x": x, "y": y}, "words", totals, dy=-7, fontSize=11),
        ]
        panels.append({"title": reading, "height": 230, "layer": layers})
    words = " ".join(
        f"{reading}: " + ", ".join(f"{d.name} {d.memory_s:.3f} s memory and {d.network_s:.3f} s network" for d in designs) + "."
        for reading, designs in bars.items()
    )
    return Chart("figure5", "Memory and network time of four exascale designs", words, panels, stops, least_px=330)


def figure6_picture() -> Chart:
    """Draw T_mem / T_net over the years, a line for each topology, a panel for each reading."""
    curves = {reading: model.figure6(reading) for reading in model.READINGS}
    everything = [ratio for lines in curves.values() for curve in lines.values() for _, ratio in curve]
    panels: list[Spec] = []
    stops: list[str] = []
    for number, (reading, lines) in enumerate(curves.items()):
        names, first = list(lines), len(stops)
        years = [year for year, _ in next(iter(lines.values()))]
        stops += [
            f"{reading}, {year}: " + ", ".join(f"{name} {curve[i][1]:.2f}" for name, curve in lines.items())
            for i, year in enumerate(years)
        ]
        data = [
            {"year": year, "name": name, "ratio": ratio, "stop": first + i, "tip": f"{name}, {year}: {ratio:.2f}"}
            for name, curve in lines.items()
            for i, (year, ratio) in enumerate(curve)
        ]
        span = {"domain": [years[0], years[-1]], "nice": False, "zero": False}
        x = field_of("year", scale=span, axis={"format": "d", "title": None, "tickMinStep": 2, "grid": False})
        drawn = Curves(x, field_of("ratio", **log_axis(everything, NUMBER, "T_mem / T_net")), names, "name", clip=False)
        layers = [
            level("y", drawn.y, 1, color=INK),
            drawn.line(1.6),
            drawn.points(80, 22, opacity=1),
            cursor("year"),
            nearest("year", "ratio", f"near_{number}"),
        ]
        panels.append({"title": reading, "height": 230, "data": rows(data), "layer": layers})
    words = " ".join(
        f"{reading}, {name}: {curve[0][1]:.2f} in {curve[0][0]} to {curve[-1][1]:.2f} in {curve[-1][0]}."
        for reading, lines in curves.items()
        for name, curve in lines.items()
    )
    return Chart("figure6", "Ratio of memory time to network time over the years", words, panels, stops, least_px=330)


def _count(number: float) -> str:
    return f"{number / 1e6:.2f}M" if number >= 1e6 else f"{number / 1e3:.0f}k"
