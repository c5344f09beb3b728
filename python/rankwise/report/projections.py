"""Pictures of projections: designs matched in time, ratios over the years, trends against what was built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.report.chart import (
    INK,
    LINES,
    MUTED,
    NUMBER,
    SERIES,
    Chart,
    Spec,
    cursor,
    emphasised,
    field_of,
    log_axis,
    nearest,
    rows,
    series_scale,
)

if TYPE_CHECKING:
    from rankwise.papers.czechowski2012 import Bar

_PARTS = ("T_net", "T_mem")


def figure5_picture(bars: Mapping[str, Sequence[Bar]]) -> Chart:
    """Draw the designs of Figure 5 as stacked bars of memory and network time, a panel for each reading."""
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
            for part, start, end in (
                ("T_net", 0.0, design.network_s),
                ("T_mem", design.network_s, design.network_s + design.memory_s),
            ):
                data.append({"design": name, "part": part, "start": start, "end": end, "stop": len(stops), "tip": words})
            totals.append({"design": name, "end": design.sequential_s, "words": f"{design.sequential_s:.2f} s"})
            stops.append(words)
        gpu = designs[0]
        x = field_of("design", "nominal", sort=names, axis={"labelAngle": -25, "title": None, "labelOverlap": False})
        scale: Spec = {
            "scale": {"domain": [0, top], "nice": False},
            "axis": {"title": "time of one transform, s", "tickCount": 5},
        }
        y = field_of("end", **scale)
        panels.append({
            "title": reading, "height": 230,
            "layer": [
                {"data": rows({"end": level} for level in (gpu.sequential_s, gpu.overlapped_s)),
                    "mark": {"type": "rule", "strokeDash": [5, 4]}, "encoding": {"y": y}},
                {
                    "data": rows(data), "mark": {"type": "bar", "stroke": INK, "strokeWidth": 0.5},
                    "encoding": {
                        "x": x, "y": field_of("start", **scale), "y2": {"field": "end"}, "opacity": emphasised(1, 0.85),
                        "color": field_of("part", "nominal", scale={"domain": list(_PARTS), "range": [SERIES[1], SERIES[0]]}),
                    },
                },
                {"data": rows(totals), "mark": {"type": "text", "dy": -7, "fontSize": 11},
                    "encoding": {"x": x, "y": y, "text": {"field": "words"}}},
            ],
        })  # fmt: skip
    words = " ".join(
        f"{reading}: " + ", ".join(f"{d.name} {d.memory_s:.3f} s memory and {d.network_s:.3f} s network" for d in designs) + "."
        for reading, designs in bars.items()
    )
    return Chart("figure5", "Memory and network time of four exascale designs", words, panels, stops, least_px=330)


def figure6_picture(curves: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]) -> Chart:
    """Draw T_mem / T_net over the years, a line for each topology, a panel for each reading."""
    everything = [value for reading in curves.values() for curve in reading.values() for _, value in curve]
    panels: list[Spec] = []
    stops: list[str] = []
    for number, (reading, lines) in enumerate(curves.items()):
        names = list(lines)
        years = sorted({year for curve in lines.values() for year, _ in curve})
        first = len(stops)
        stops += [
            f"{reading}, {year}: "
            + ", ".join(f"{name} {dict(curve)[year]:.2f}" for name, curve in lines.items() if year in dict(curve))
            for year in years
        ]
        data = [
            {
                "year": year,
                "name": name,
                "ratio": value,
                "stop": first + years.index(year),
                "tip": f"{name}, {year}: {value:.2f}",
            }
            for name, curve in lines.items()
            for year, value in curve
        ]
        x = field_of(
            "year",
            scale={"domain": [years[0], years[-1]], "nice": False, "zero": False},
            axis={"format": "d", "title": None, "tickMinStep": 2, "grid": False},
        )
        y = field_of("ratio", **log_axis(everything, NUMBER, "T_mem / T_net"))
        colour = field_of("name", "nominal", scale=series_scale(names), legend=LINES)
        panels.append({
            "title": reading, "height": 230, "data": rows(data),
            "layer": [
                {"data": {"values": [{"ratio": 1}]}, "mark": {"type": "rule", "color": INK}, "encoding": {"y": y}},
                {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": {"x": x, "y": y, "color": colour,
                    "strokeDash": field_of("name", "nominal", scale=series_scale(names, "dash"))}},
                {"mark": {"type": "point", "filled": True, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": colour, "size": emphasised(80, 22)}},
                cursor("year"),
                nearest("year", "ratio", f"near_{number}"),
            ],
        })  # fmt: skip
    words = " ".join(
        f"{reading}, {name}: {curve[0][1]:.2f} in {curve[0][0]} to {curve[-1][1]:.2f} in {curve[-1][0]}."
        for reading, lines in curves.items()
        for name, curve in lines.items()
    )
    return Chart("figure6", "Ratio of memory time to network time over the years", words, panels, stops, least_px=330)


def since_picture(figures: Mapping[str, Any]) -> Chart:
    """Draw what was assumed in 2012 beside what came: doubling times, T_mem / T_net, fraction of peak."""
    stops: list[str] = []
    doubling = []
    for name, entry in figures["doubling"].items():
        words = (
            f"{name}: doubles in {entry['shortest']:.1f} to {entry['longest']:.1f} years, assumed or predicted "
            f"{entry['assumed']:g}"
        )
        came = f"{entry['shortest']:.1f} – {entry['longest']:.1f}"
        doubling.append(
            {
                "name": name,
                "low": entry["shortest"],
                "high": entry["longest"],
                "assumed": entry["assumed"],
                "words": came,
                "stop": len(stops),
                "tip": words,
            }
        )
        stops.append(words)
    panels = [
        _ranges("years to double", doubling, None),
        _ranges("T_mem / T_net", _measured(figures["ratio"], lambda value: f"{value:.2f}", stops), NUMBER),
        _ranges("fraction of peak", _measured(figures["fraction"], lambda value: f"{100 * value:.2g} %", stops),
            "format(100*datum.value,'.3~g')+' %'"),
    ]  # fmt: skip
    words = " ".join(
        f"{name}: {entry['assumed']:g} years assumed, {entry['shortest']:.1f} to {entry['longest']:.1f} real."
        for name, entry in figures["doubling"].items()
    )
    return Chart(
        "since",
        "What was predicted in 2012 and what came of it",
        words,
        panels,
        stops,
        least_px=330,
        label_px=120,
        most_columns=3,
    )


def _measured(ranges: Mapping[str, tuple[float, float]], write: Callable[[float], str], stops: list[str]) -> list[Spec]:
    """Return the rows of ranges; those that were predicted stand as ``assumed``."""
    found = []
    for name, (low, high) in ranges.items():
        text = write(low) if low == high or write(low) == write(high) else f"{write(low)} – {write(high)}"
        predicted = "predicted" in name or "ours" in name
        row: Spec = {"name": name, "words": text, "stop": len(stops), "tip": f"{name}: {text}"}
        found.append(
            row | ({"assumed": low, "low": low, "high": low} if predicted else {"low": low, "high": high, "assumed": None})
        )
        stops.append(f"{name}: {text}")
    return found


def _ranges(title: str, data: list[Spec], label: str | None) -> Spec:
    """Draw ranges as bars, with the words at their ends; ``label``: of a logarithmic axis (None: from 0 on)."""
    ends = [value for row in data for value in (row["low"], row["high"], row["assumed"]) if value]
    most = max(ends)
    axis: Spec = {"scale": {"domain": [0, 1.5 * most], "nice": False}, "axis": {"title": None, "tickCount": 4}}
    if label is not None:
        axis = log_axis([*ends, most * (most / min(ends)) ** 0.8], label, "")
    data = [{**row, "edge": max(row["high"], row["assumed"] or 0)} for row in data]
    y = field_of(
        "name", "nominal", sort=[row["name"] for row in data], title=None, axis={"labelLimit": 116, "labelOverlap": False}
    )
    return {
        "title": {"text": title, "fontSize": 12}, "height": {"step": 30}, "data": rows(data),
        "layer": [
            {"mark": {"type": "bar", "height": 7, "color": SERIES[0]},
                "encoding": {"y": y, "x": field_of("low", **axis), "x2": {"field": "high"}, "opacity": emphasised(1, 0.85)}},
            {"mark": {"type": "point", "filled": True, "size": 26, "color": SERIES[0], "opacity": 1},
                "encoding": {"y": y, "x": field_of("low", **axis)}},
            {
                "transform": [{"filter": "datum.assumed!=null"}],
                "mark": {"type": "point", "shape": "square", "filled": True, "size": 75, "color": SERIES[1], "stroke": INK,
                    "strokeWidth": 0.6, "opacity": 1},
                "encoding": {"y": y, "x": field_of("assumed", **axis)},
            },
            {"mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 11, "color": MUTED},
                "encoding": {"y": y, "x": field_of("edge", **axis), "text": {"field": "words"}}},
        ],
    }  # fmt: skip


def _count(number: float) -> str:
    return f"{number / 1e6:.2f}M" if number >= 1e6 else f"{number / 1e3:.0f}k"
