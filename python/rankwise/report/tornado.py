"""Pictures of what a projected time depends on: each parameter at both ends, or some over a range that was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankwise.report.chart import (
    INK,
    LINES,
    SERIES,
    TIME,
    Chart,
    Spec,
    cursor,
    emphasised,
    field_of,
    log_axis,
    looked_up,
    nearest,
    rows,
    series_scale,
)
from rankwise.units import format_time

if TYPE_CHECKING:
    from rankwise.engines.project import Sensitivity

_ENDS = ("at its low end", "at its high end")


def tornado_picture(items: Sequence[Sensitivity], total_s: float, labels: Sequence[tuple[str, str, str]], title: str) -> Chart:
    """Draw the total time with each parameter at its low and at its high end, the largest effect on top.

    ``labels`` holds for each item the parameter's name and both its ends in words.
    """
    data: list[Spec] = []
    stops: list[str] = []
    for i, (item, (name, low, high)) in enumerate(zip(items, labels, strict=True)):
        words = f"{name}: {format_time(item.time_at_low_s)} at {low}, {format_time(item.time_at_high_s)} at {high}"
        for end, label, time_s in zip(_ENDS, (low, high), (item.time_at_low_s, item.time_at_high_s), strict=True):
            data.append({
                "parameter": name, "end": end, "from": total_s, "to": time_s, "label": label, "slower": time_s > total_s,
                "stop": i, "tip": words,
            })  # fmt: skip
        stops.append(words)
    times = [total_s, *(row["to"] for row in data)]
    low_s, high_s = min(times), max(times)
    room = max(1.6, (high_s / low_s) ** 0.3)
    axis = log_axis(
        [low_s / room, high_s * room], TIME, f"time, logarithmic; the line is the answer, {format_time(total_s)}", 1.0
    )
    y = field_of(
        "parameter",
        "nominal",
        sort=[name for name, _, _ in labels],
        title=None,
        axis={"labelLimit": 130, "labelOverlap": False},
    )
    text = {"y": y, "x": field_of("to", **axis), "text": {"field": "label"}}
    panel = {
        "title": title, "height": 28 * max(1, len(items)), "data": rows(data),
        "layer": [
            {
                "mark": {"type": "bar", "height": 17, "stroke": INK, "strokeWidth": 0.6},
                "encoding": {
                    "y": y, "x": field_of("from", **axis), "x2": {"field": "to"}, "opacity": emphasised(1, 0.85),
                    "color": field_of("end", "nominal", scale={"domain": list(_ENDS), "range": [SERIES[1], SERIES[0]]}),
                },
            },
            {"transform": [{"filter": "datum.slower"}], "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 11},
                "encoding": text},
            {"transform": [{"filter": "!datum.slower"}], "mark": {"type": "text", "align": "right", "dx": -5, "fontSize": 11},
                "encoding": text},
            {"data": {"values": [{"to": total_s}]}, "mark": {"type": "rule", "color": INK},
                "encoding": {"x": field_of("to", **axis)}},
        ],
    }  # fmt: skip
    return Chart("tornado", title, ". ".join(stops) or "No parameter changes the time.", [panel], stops)


def varied_picture(varied: Mapping[str, Sequence[tuple[float, str, Mapping[str, float]]]], title: str) -> Chart:
    """Draw times against each parameter that was varied, over the whole range that was asked for, a panel each.

    ``varied``: for each parameter its values, each with its words, and the times (s) by what takes them.
    """
    panels: list[Spec] = []
    stops: list[str] = []
    for number, (name, found) in enumerate(varied.items()):
        terms = list(dict.fromkeys(term for _, _, times in found for term in times))
        first = len(stops)
        stops += [
            f"{name} {words}: " + ", ".join(f"{term} {format_time(times[term])}" for term in times) for _, words, times in found
        ]
        data: list[Spec] = [
            {
                "value": value,
                "term": term,
                "time": time_s,
                "stop": first + i,
                "tip": f"{name} {words}, {term}: {format_time(time_s)}",
            }
            for i, (value, words, times) in enumerate(found)
            for term, time_s in times.items()
            if time_s > 0
        ]
        words_of = {f"{math.log(value):.6f}": words for value, words, _ in found}
        x = field_of(
            "value", scale={"type": "log", "nice": False, "domain": [found[0][0], found[-1][0]]},
            axis={"values": [value for value, _, _ in found], "labelExpr": looked_up(words_of, "log(datum.value)", 6),
                "title": f"{name}, logarithmic", "grid": False},
        )  # fmt: skip
        y = field_of("time", **log_axis([row["time"] for row in data], TIME, "time"))
        colour = field_of("term", "nominal", scale=series_scale(terms), legend=LINES)
        panels.append({
            "title": title if number == 0 else "", "height": 230, "data": rows(data),
            "layer": [
                {"mark": {"type": "line", "strokeWidth": 1.8}, "encoding": {"x": x, "y": y, "color": colour,
                    "strokeDash": field_of("term", "nominal", scale=series_scale(terms, "dash"))}},
                {"mark": {"type": "point", "filled": True, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": colour, "size": emphasised(90, 36)}},
                cursor("value"),
                nearest("value", "time", f"near_{number}"),
            ],
        })  # fmt: skip
    return Chart(
        "varied",
        title,
        ". ".join(stops),
        panels,
        stops,
        {"resolve": {"scale": {"x": "independent"}}},
        least_px=400,
        most_columns=2,
    )
