"""One picture of machines beside each other: a time and its interval for each, the conclusion as its title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankwise.report.chart import MUTED, SERIES, TIME, Chart, Spec, emphasised, field_of, log_axis, rows
from rankwise.units import format_time

if TYPE_CHECKING:
    from rankwise.engines.beside import MachineTime


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
    y = field_of(
        "machine", "nominal", sort=[t.machine for t in ordered], title=None, axis={"labelLimit": 150, "labelOverlap": False}
    )
    panel = {
        "title": title, "height": 30 * len(ordered), "data": rows(data),
        "layer": [
            {"mark": {"type": "bar", "height": 9, "color": MUTED},
             "encoding": {"y": y, "x": field_of("low", **axis), "x2": {"field": "high"}, "opacity": emphasised(0.9, 0.5)}},
            {"mark": {"type": "point", "filled": True, "opacity": 1, "color": SERIES[0], "size": 80},
                "encoding": {"y": y, "x": field_of("time", **axis)}},
            {"mark": {"type": "text", "align": "left", "dx": 6}, "encoding": {"y": y, "x": field_of("high", **axis),
                "text": {"field": "label"}}},
        ],
    }  # fmt: skip
    return Chart("beside", title, ". ".join(stops), [panel], stops)
