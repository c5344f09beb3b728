"""Pictures of latency and bandwidth by placement: means over runs with their standard deviation, and the fitted lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise.report.chart import (
    LINES,
    RATE,
    TIME,
    Chart,
    SizeAxis,
    Spec,
    cursor,
    emphasised,
    field_of,
    log_axis,
    nearest,
    rows,
    series_scale,
    zoom,
)
from rankwise.units import format_bandwidth, format_size, format_time

if TYPE_CHECKING:
    from rankwise.papers.wagner2024 import Fitted


def latency_picture(prefix: str, fitted: Sequence[Fitted]) -> Chart:
    """Draw latency against size, one series a placement, with the piecewise model behind it."""
    sizes = SizeAxis.of(int(size) for one in fitted for size in one.series.sizes)
    data: list[Spec] = []
    lines: list[Spec] = []
    for one in fitted:
        series = one.series
        low = np.maximum(series.latency_s - series.latency_sigma_s, series.latency_s / 10)
        for size, time_s, least, sigma in zip(series.sizes, series.latency_s, low, series.latency_sigma_s, strict=True):
            data.append({
                "series": one.words, "size": int(size), "value": float(time_s), "low": float(least),
                "high": float(time_s + sigma),
                "said": f"{format_time(float(time_s))} ± {format_time(float(sigma))}",
            })  # fmt: skip
        grid = np.unique(np.geomspace(sizes.first, sizes.last, 120).astype(np.int64))
        lines += [
            {"series": one.words, "place": sizes.place(int(size)), "value": one.pieces.time_s(int(size))} for size in grid
        ]
    words = "Both axes are logarithmic. " + " ".join(
        f"Between {one.words}: {format_time(float(one.series.latency_s[0]))} for the smallest message, "
        f"{format_time(float(one.series.latency_s[-1]))} for the largest."
        for one in fitted
    )
    names = [one.words for one in fitted]
    return _chart(
        f"{prefix}latency", "Latency by placement", words, (names, sizes, data, lines), (TIME, "latency of one message")
    )


def bandwidth_picture(prefix: str, fitted: Sequence[Fitted]) -> Chart:
    """Draw bandwidth against size, one series a placement."""
    known = [(one, one.series.has_bandwidth) for one in fitted]
    sizes = SizeAxis.of(int(size) for one, here in known for size in one.series.sizes[here])
    data: list[Spec] = []
    for one, here in known:
        series = one.series
        for size, rate, sigma in zip(series.sizes[here], series.bandwidth[here], series.bandwidth_sigma[here], strict=True):
            data.append({
                "series": one.words, "size": int(size), "value": float(rate), "low": float(max(rate - sigma, rate / 10)),
                "high": float(rate + sigma), "said": f"{format_bandwidth(float(rate))} ± {format_bandwidth(float(sigma))}",
            })  # fmt: skip
    lines = [{"series": row["series"], "place": sizes.place(row["size"]), "value": row["value"]} for row in data]
    words = "Both axes are logarithmic. " + " ".join(
        f"Between {one.words}: at most {format_bandwidth(float(np.max(one.series.bandwidth[here])))}." for one, here in known
    )
    names = [one.words for one in fitted]
    axis = (RATE, "bandwidth, 64 messages in flight")
    return _chart(f"{prefix}bandwidth", "Bandwidth by placement", words, (names, sizes, data, lines), axis)


def _chart(
    name: str, title: str, words: str, drawn: tuple[Sequence[str], SizeAxis, list[Spec], list[Spec]], axis: tuple[str, str]
) -> Chart:
    names, sizes, data, lines = drawn
    order = sorted({row["size"] for row in data})
    stops = [
        f"At {format_size(size)}: " + " | ".join(f"{row['series']} {row['said']}" for row in data if row["size"] == size)
        for size in order
    ]
    for row in data:
        row |= {"place": sizes.place(row["size"]), "stop": order.index(row["size"])}
        row["tip"] = f"{row['series']}, {format_size(row['size'])}: {row['said']}"
    label, quantity = axis
    y = field_of("value", **log_axis([end for row in data for end in (row["low"], row["high"])], label, quantity))
    x, colour = sizes.encoding(), field_of("series", "nominal", scale=series_scale(names), legend=LINES)
    panel: Spec = {
        "height": 260, "data": rows(data),
        "layer": [
            {
                "params": [zoom()], "data": rows(lines), "mark": {"type": "line", "strokeWidth": 1.3, "clip": True},
                "encoding": {"x": x, "y": y, "color": colour, "strokeDash": field_of("series", "nominal",
                    scale=series_scale(names, "dash"))},
            },
            {"mark": {"type": "rule", "clip": True}, "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"},
                "color": colour}},
            {"mark": {"type": "point", "filled": True, "opacity": 1, "clip": True},
                "encoding": {"x": x, "y": y, "color": colour, "size": emphasised(90, 26)}},
            cursor(),
            nearest("place", "value"),
            *sizes.break_marks(),
        ],
    }  # fmt: skip
    return Chart(name, title, words, [panel], stops, legend_px=240)
