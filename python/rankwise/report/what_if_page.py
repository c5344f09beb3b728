"""The page of a recorded program on another network: its step with sliders, the curve, what limits it, the time line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rankwise.blocks import Picture, Table
from rankwise.engines.what_if import SliderTable, WhatIfRow
from rankwise.observe.timeline import Timeline
from rankwise.report.chart import TIME, Chart, Spec, field_of, log_axis, looked_up, rows
from rankwise.report.document import Document, Figure, Markup, Section, environment
from rankwise.report.layers import Curves, cursor, nearest
from rankwise.report.program import timeline_picture
from rankwise.units import format_number, format_share, format_time


@dataclass(frozen=True)
class Point:
    """A point of a curve: where on its axis, in words, and the time with its interval."""

    at: float
    words: str
    time_s: float
    low_s: float
    high_s: float


def curve_picture(points: Sequence[Point], axis: str, title: str) -> Chart:
    """Draw the time of a step with its interval along an axis, both logarithmic."""
    stops = [f"{p.words}: {format_time(p.time_s)} ({format_time(p.low_s)} to {format_time(p.high_s)})" for p in points]
    data: list[Spec] = [
        {"value": p.at, "time": p.time_s, "low": p.low_s, "high": p.high_s, "series": "step", "stop": i, "tip": words}
        for i, (p, words) in enumerate(zip(points, stops, strict=True))
    ]
    names = {f"{math.log(p.at):.6f}": p.words for p in points}
    x = field_of(
        "value", scale={"type": "log", "nice": False, "domain": [points[0].at, points[-1].at]},
        axis={"values": [p.at for p in points], "labelExpr": looked_up(names, "log(datum.value)", 6), "title": axis,
            "grid": False},
    )  # fmt: skip
    y = field_of("time", **log_axis([end for p in points for end in (p.low_s, p.high_s)], TIME, "time of a step"))
    drawn = Curves(x, y, ["step"], clip=False)
    layers = [
        drawn.band(), drawn.line(1.8), drawn.points(90, 36, opacity=1), cursor("value"), nearest("value", "time", "near"),
    ]  # fmt: skip
    return Chart(
        "curve", title, ". ".join(stops), [{"title": title, "height": 230, "data": rows(data), "layer": layers}], stops
    )


def render(
    page: Document, curve: Chart, asked: WhatIfRow, table: Table[WhatIfRow], sliders: SliderTable | None = None,
    line: Timeline | None = None,
) -> str:  # fmt: skip
    """Return the page, of which ``page`` has the words; ``asked``: the row that the conclusion is about, ``table``: all,
    ``line``: the step of that row."""
    sections = []
    if sliders is not None:
        sections.append(Section(
            "sliders", "At other networks",
            ["Predicted at 324 points, linear between them; the band is the interval of the answer above."], [_markup(sliders)],
        ))  # fmt: skip
    sections.append(Section("curve", curve.title, [], [Picture("curve", "The band is the 95 % interval.", lambda: curve)]))
    sections.append(Section("rows", "All figures", [], [table]))
    if line is not None and line.path:
        drawn = timeline_picture(line, "step")
        sections.append(Section("time-line", drawn.title, [drawn.description], [Picture("step-line", "", lambda: drawn)]))
    scripts = [environment().get_template("sliders.js").render()] if sliders is not None else []
    return replace(page, sections=[*sections, *page.sections], figures=_figures(asked), scripts=scripts).html()


def _figures(row: WhatIfRow) -> list[Figure]:
    if row.time_s is None or row.span is None:
        return []
    low_s, high_s = row.span.ends_s
    value, unit = format_time(row.time_s).split(" ")
    interval = f"{format_time(low_s)} to {format_time(high_s)}"
    found = [Figure("A step", value, unit, interval, (low_s / row.time_s - 1, high_s / row.time_s - 1), "predicted")]
    if row.efficiencies is not None:
        one = row.efficiencies
        parts = f"load balance {100 * one.load_balance:.0f} %, transfer {100 * one.transfer:.0f} %"
        value, unit = format_share(one.parallel).split(" ")
        found.append(Figure("Parallel efficiency", value, unit, parts, None, "share of the time spent computing"))
    if row.node_hours is not None:
        hours = format_number(row.node_hours)
        found.append(Figure("Steps of the recorded run", hours, "node-hours", "", None, f"on {row.nodes} nodes"))
    return found


def _markup(table: SliderTable) -> Markup:
    """Return three sliders, the time, and a curve that a script draws."""
    inputs = (
        ("latency", "latency", -4, 4, 0.0625, math.log2(table.latency)),
        ("bandwidth", "bandwidth", -4, 4, 0.0625, math.log2(table.bandwidth)),
        ("each", "ranks a node", 0, len(table.ranks_per_node) - 1, 1, table.asked),
    )
    data = json.dumps(table.to_dict(), separators=(",", ":"))
    return Markup(environment().get_template("sliders.html.j2").render(inputs=inputs, data=data))
