"""Pictures of projected times: machines next to each other, each parameter at both ends, or some over a range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankwise.report.chart import INK, MUTED, SERIES, TIME, Chart, Spec, field_of, log_axis, looked_up, rows
from rankwise.report.layers import Curves, by_name, cursor, emphasised, kinds, labels, layer, nearest, ranged
from rankwise.units import format_time

if TYPE_CHECKING:
    from rankwise.engines.machines import MachineTime
    from rankwise.engines.project import Sensitivity

_ENDS = ("at its low end", "at its high end")


def beside_picture(times: Sequence[MachineTime], title: str) -> Chart:
    """Draw each machine's time as a point on its interval, the fastest on top."""
    ordered = sorted(times, key=lambda time: time.time_s)
    stops = [f"{t.machine}: {format_time(t.time_s)} ({format_time(t.low_s)} to {format_time(t.high_s)})" for t in ordered]
    data: list[Spec] = [
        {"machine": t.machine, "time": t.time_s, "low": t.low_s, "high": t.high_s, "label": format_time(t.time_s), "stop": i,
        "tip": words}
        for i, (t, words) in enumerate(zip(ordered, stops, strict=True))
    ]  # fmt: skip
    ends = [end for t in ordered for end in (t.low_s, t.high_s)]
    axis = log_axis([min(ends), 1.6 * max(ends)], TIME, "time, logarithmic; the bar is its interval", 1.1)
    y = by_name("machine", [t.machine for t in ordered], labelLimit=150, labelOverlap=False)
    bars = {"y": y, **ranged("x", field_of("", **axis), "low", "high"), "opacity": emphasised(0.9, 0.5)}
    layers = [
        layer("bar", bars, height=9, color=MUTED),
        layer("point", {"y": y, "x": field_of("time", **axis)}, filled=True, opacity=1, color=SERIES[0], size=80),
        labels({"y": y, "x": field_of("high", **axis)}, "label", align="left", dx=6),
    ]
    panel = {"title": title, "height": 30 * len(ordered), "data": rows(data), "layer": layers}
    return Chart("beside", title, ". ".join(stops), [panel], stops)


def tornado_picture(items: Sequence[Sensitivity], total_s: float, ends: Sequence[tuple[str, str, str]], title: str) -> Chart:
    """Draw the total time with each parameter at its low and at its high end, the largest effect on top.

    ``ends`` holds for each item the parameter's name and both its ends in words.
    """
    data: list[Spec] = []
    stops: list[str] = []
    for i, (item, (name, low, high)) in enumerate(zip(items, ends, strict=True)):
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
    y = by_name("parameter", [name for name, _, _ in ends], labelLimit=130, labelOverlap=False)
    to = field_of("to", **axis)
    bars = {
        "y": y,
        **ranged("x", to, "from", "to"),
        "opacity": emphasised(1, 0.85),
        "color": kinds("end", _ENDS, SERIES[1::-1]),
    }
    layers = [
        layer("bar", bars, height=17, stroke=INK, strokeWidth=0.6),
        labels({"y": y, "x": to}, "label", where="datum.slower", align="left", dx=5, fontSize=11),
        labels({"y": y, "x": to}, "label", where="!datum.slower", align="right", dx=-5, fontSize=11),
        layer("rule", {"x": to}, [{"to": total_s}], color=INK),
    ]
    panel = {"title": title, "height": 28 * max(1, len(items)), "data": rows(data), "layer": layers}
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
            {"value": value, "term": term, "time": time_s, "stop": first + i,
            "tip": f"{name} {words}, {term}: {format_time(time_s)}"}
            for i, (value, words, times) in enumerate(found)
            for term, time_s in times.items() if time_s > 0
        ]  # fmt: skip
        words_of = {f"{math.log(value):.6f}": words for value, words, _ in found}
        x = field_of(
            "value", scale={"type": "log", "nice": False, "domain": [found[0][0], found[-1][0]]},
            axis={"values": [value for value, _, _ in found], "labelExpr": looked_up(words_of, "log(datum.value)", 6),
                "title": f"{name}, logarithmic", "grid": False},
        )  # fmt: skip
        y = field_of("time", **log_axis([row["time"] for row in data], TIME, "time"))
        drawn = Curves(x, y, terms, "term", clip=False)
        panels.append({
            "title": title if number == 0 else "", "height": 230, "data": rows(data),
            "layer": [
                drawn.line(1.8), drawn.points(90, 36, opacity=1), cursor("value"), nearest("value", "time", f"near_{number}"),
            ],
        })  # fmt: skip
    apart = {"resolve": {"scale": {"x": "independent"}}}
    return Chart("varied", title, ". ".join(stops), panels, stops, apart, least_px=400, most_columns=2)
