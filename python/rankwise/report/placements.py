"""Pictures of latency and bandwidth by placement: means over runs with their standard deviation, and the fitted lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise.report.style import WIDTH_PT, SizeAxis, data_rate, drawing, look, new_figure, set_log_axis, set_time_axis, to_svg
from rankwise.units import format_bandwidth, format_time

if TYPE_CHECKING:
    from rankwise.papers.wagner2024 import Fitted

_ROOM_PT = 460


def latency_picture(prefix: str, fitted: Sequence[Fitted]) -> str:
    """Draw latency against size, one series a placement, with the piecewise model behind it."""
    with drawing():
        figure = new_figure(WIDTH_PT, 250)
        axes = figure.subplots()
        sizes = SizeAxis.of(int(size) for one in fitted for size in one.series.sizes)
        values: list[float] = []
        for i, one in enumerate(fitted):
            series, shape = one.series, look(i)
            places = [sizes.place(int(size)) for size in series.sizes]
            low = np.maximum(series.latency_s - series.latency_sigma_s, series.latency_s / 10)
            high = series.latency_s + series.latency_sigma_s
            axes.vlines(places, low, high, color=shape.colour, linewidth=1.2)
            axes.plot(places, series.latency_s, shape.marker, color=shape.colour, markersize=3.5, label=one.words)
            grid = np.unique(np.geomspace(sizes.first, sizes.last, 120).astype(np.int64))
            axes.plot(
                [sizes.place(int(size)) for size in grid], [one.pieces.time_s(int(size)) for size in grid],
                shape.line, color=shape.colour, linewidth=0.9,
            )  # fmt: skip
            values += [*low.tolist(), *high.tolist()]
        sizes.apply(axes, _ROOM_PT)
        set_time_axis(axes, values)
        axes.set_ylabel("latency of one message")
        axes.legend(loc="upper left", title="between (lines: piecewise fit)", alignment="left")
        return to_svg(
            figure,
            f"{prefix}latency",
            "Latency by placement",
            "Both axes are logarithmic. "
            + " ".join(
                f"Between {one.words}: {format_time(float(one.series.latency_s[0]))} for the smallest message, "
                f"{format_time(float(one.series.latency_s[-1]))} for the largest."
                for one in fitted
            ),
        )


def bandwidth_picture(prefix: str, fitted: Sequence[Fitted]) -> str:
    """Draw bandwidth against size, one series a placement."""
    with drawing():
        figure = new_figure(WIDTH_PT, 250)
        axes = figure.subplots()
        known = [(one, one.series.has_bandwidth) for one in fitted]
        sizes = SizeAxis.of(int(size) for one, here in known for size in one.series.sizes[here])
        values: list[float] = []
        for i, (one, here) in enumerate(known):
            series, shape = one.series, look(i)
            places = [sizes.place(int(size)) for size in series.sizes[here]]
            rates, sigma = series.bandwidth[here], series.bandwidth_sigma[here]
            low = np.maximum(rates - sigma, rates / 10)
            axes.vlines(places, low, rates + sigma, color=shape.colour, linewidth=1.2)
            axes.plot(
                places,
                rates,
                shape.line,
                marker=shape.marker,
                color=shape.colour,
                markersize=3.5,
                linewidth=0.9,
                label=one.words,
            )
            values += [*low.tolist(), *(rates + sigma).tolist()]
        sizes.apply(axes, _ROOM_PT)
        set_log_axis(axes, values, data_rate)
        axes.set_ylabel("bandwidth, 64 messages in flight")
        axes.legend(loc="lower right", title="between", alignment="left")
        return to_svg(
            figure,
            f"{prefix}bandwidth",
            "Bandwidth by placement",
            "Both axes are logarithmic. "
            + " ".join(
                f"Between {one.words}: at most {format_bandwidth(float(np.max(one.series.bandwidth[here])))}."
                for one, here in known
            ),
        )
