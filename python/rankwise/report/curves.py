"""Pictures of how long a message takes, and how fast its bytes move, against its size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rankwise.machine.link import Curve, Interval, LinkModel, Point, Segment
from rankwise.machine.profile import Link
from rankwise.report.style import (
    FONT_PT,
    INK,
    MUTED,
    SURFACE,
    WIDTH_PT,
    Look,
    SizeAxis,
    data_rate,
    drawing,
    look,
    new_figure,
    set_log_axis,
    set_time_axis,
    to_svg,
)
from rankwise.units import format_bandwidth, format_size, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE_PAD_PT = 16  # above the sizes of the breaks
_MODEL_LOOKS = {"piecewise": look(0), "hockney": look(1), "loggp": look(2), "max-rate": look(3)}
_MOST_CAPS = 40


def latency_picture(link_class: str, link: Link) -> str:
    """Draw time against size for one link class: measured with 95 % intervals, the models, other ways of sending."""
    with drawing():
        figure = new_figure(WIDTH_PT, 270)
        panels = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2)) if link.variants else [figure.subplots()]
        curves = {"send": link.send, **link.variants}
        drawn = [value for curve in curves.values() for value in _values(curve.table)]
        draw_latency(panels[0], link.send, room_pt=250 if link.variants else 440)
        panels[0].set_title(f"plain send, {link_class}", loc="left", pad=_TITLE_PAD_PT)
        if link.variants:
            sizes = SizeAxis.of(point.size_bytes for curve in curves.values() for point in curve.table)
            for i, (name, curve) in enumerate(curves.items()):
                _draw_series(panels[1], sizes, name, curve, look(i))
            sizes.apply(panels[1], room_pt=160)
            panels[1].set_title("ways of sending", loc="left", pad=_TITLE_PAD_PT)
            panels[1].legend(loc="upper left", handlelength=3)
        set_time_axis(panels[0], drawn)
        for panel in panels[1:]:
            panel.tick_params(axis="y", left=False)
        first, last = link.send.table[0], link.send.table[-1]
        return to_svg(
            figure,
            f"latency-{link_class}",
            f"Time of one message against its size, {link_class}",
            f"Both axes are logarithmic. Measured times with 95 % intervals go from {format_time(first.time_s)} at "
            f"{format_size(first.size_bytes)} to {format_time(last.time_s)} at {format_size(last.size_bytes)}; drawn "
            f"with them are the models {', '.join(link.send.models)}"
            + (f" and the ways of sending {', '.join(curves)}." if link.variants else "."),
        )


def draw_latency(axes: Axes, curve: Curve, room_pt: float) -> None:
    """Draw the measured times of a curve with their intervals, its models, and where the chosen one breaks."""
    sizes = SizeAxis.of(point.size_bytes for point in curve.table)
    for i, (name, model) in enumerate(sorted(curve.models.items())):
        _draw_model(axes, sizes, model, _MODEL_LOOKS.get(name, look(i)))
    places = [sizes.place(point.size_bytes) for point in curve.table]
    _draw_intervals(axes, places, [point.interval_s for point in curve.table], INK)
    axes.plot(
        places,
        [point.time_s for point in curve.table],
        "o",
        color=INK,
        markersize=3,
        zorder=3,
        label="measured, 95 % interval",
    )
    if not interpolates(curve.chosen(), curve):
        _draw_breaks(axes, sizes, curve.chosen(), room_pt)
    sizes.apply(axes, room_pt)
    set_time_axis(axes, _values(curve.table))
    axes.set_ylabel("time of one message")
    # The legend covers what runs behind it: the marks of the breaks go up to the top.
    axes.legend(loc="upper left", handlelength=3, frameon=True, facecolor=SURFACE, edgecolor="none", framealpha=1)


def bandwidth_picture(links: Mapping[str, Link]) -> str:
    """Draw bytes per second against size, measured, with 95 % intervals: one series for each link class."""
    tables = {name: [point for point in link.send.table if point.size_bytes] for name, link in links.items()}
    with drawing():
        figure = new_figure(WIDTH_PT, 235)
        axes = figure.subplots()
        sizes = SizeAxis.of(point.size_bytes for table in tables.values() for point in table)
        for i, (name, table) in enumerate(tables.items()):
            shape, places = look(i), [sizes.place(point.size_bytes) for point in table]
            ends = [
                None if point.interval_s is None else (point.size_bytes / point.interval_s[1], point.size_bytes / _low(point))
                for point in table
            ]
            _draw_intervals(axes, places, ends, shape.colour)
            axes.plot(
                places,
                [point.size_bytes / point.time_s for point in table],
                marker=shape.marker,
                markersize=3.5,
                linestyle=shape.line,
                linewidth=0.8,
                color=shape.colour,
                label=f"{name}, 95 % interval",
            )
        sizes.apply(axes, room_pt=460)
        rates = [point.size_bytes / point.time_s for table in tables.values() for point in table]
        set_log_axis(axes, rates, data_rate)
        axes.set_ylabel("size / time of one message")
        axes.legend(loc="upper left", handlelength=3)
        peaks = (
            f"{name} reaches {format_bandwidth(max(point.size_bytes / point.time_s for point in table))}"
            for name, table in tables.items()
        )
        return to_svg(
            figure,
            "bandwidth",
            "Bandwidth of one message against its size",
            f"Both axes are logarithmic; intervals are 95 %. {'; '.join(peaks)}.",
        )


def interpolates(model: LinkModel, curve: Curve) -> bool:
    """Tell whether a model only joins the rows of its table, so that its segments say nothing of their own."""
    return model.looks_up or 1 < len(curve.table) - 1 <= len(model.segments)


def _draw_series(axes: Axes, sizes: SizeAxis, name: str, curve: Curve, shape: Look) -> None:
    places = [sizes.place(point.size_bytes) for point in curve.table]
    _draw_intervals(axes, places, [point.interval_s for point in curve.table], shape.colour)
    axes.plot(
        places,
        [point.time_s for point in curve.table],
        marker=shape.marker,
        markersize=2.8,
        linestyle=shape.line,
        linewidth=0.8,
        color=shape.colour,
        label=name,
    )


def _draw_intervals(axes: Axes, places: Sequence[float], ends: Iterable[Interval | None], colour: str) -> None:
    """Draw 95 % intervals, where they are known, as bars with caps; these need not enclose the figure itself."""
    known = [(place, *pair) for place, pair in zip(places, ends, strict=True) if pair is not None]
    if not known:
        return
    places, lows, highs = zip(*known, strict=True)
    axes.vlines(places, lows, highs, color=colour, linewidth=1)
    caps = {"marker": "_", "markersize": 4, "linestyle": "none", "color": colour, "markeredgewidth": 0.9}
    if len(places) <= _MOST_CAPS:
        axes.plot(places, lows, **caps)  # type: ignore[arg-type]
        axes.plot(places, highs, **caps)  # type: ignore[arg-type]


def _draw_model(axes: Axes, sizes: SizeAxis, model: LinkModel, shape: Look) -> None:
    """Draw each segment on its own: the model may jump where it breaks."""
    label: str | None = model.name
    style = {"color": shape.colour, "linestyle": shape.line, "linewidth": 1.3}
    for segment in model.segments:
        low, high = max(segment.from_bytes, sizes.first), min(segment.to_bytes or sizes.last, sizes.last)
        points = [(low * (high / low) ** (i / 40), segment) for i in range(41)] if low < high else []
        shown = [(sizes.place(size), _line(segment, size)) for size, segment in points if _line(segment, size) > 0]
        if shown:
            axes.plot(*zip(*shown, strict=True), label=label, **style)  # type: ignore[arg-type]
            label = None
    at_zero = model.time_s(0)
    if sizes.zero is not None and at_zero > 0:
        half = 0.3 * (sizes.place(sizes.first) - sizes.zero)
        axes.plot([sizes.zero - half, sizes.zero + half], [at_zero, at_zero], **style)  # type: ignore[arg-type]


def _draw_breaks(axes: Axes, sizes: SizeAxis, model: LinkModel, room_pt: float) -> None:
    """Mark where a model changes its line; a mark too near the one before goes without its size."""
    breaks = [segment.from_bytes for segment in model.segments[1:] if sizes.first < segment.from_bytes < sizes.last]
    free_from = -math.inf
    for i, size in enumerate(breaks):
        place = sizes.place(size)
        label = f"break ({model.name})" if i == 0 else None
        axes.axvline(place, color=MUTED, linestyle=":", linewidth=0.9, zorder=1, label=label)
        if place >= free_from:
            axes.text(
                place,
                1.01,
                format_size(size),
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=FONT_PT - 0.5,
                color=MUTED,
            )
            free_from = place + 44 / sizes.octave_pt(room_pt)


def _line(segment: Segment, size_bytes: float) -> float:
    return segment.alpha_s + segment.beta_s_per_byte * size_bytes


def _low(point: Point) -> float:
    """Return the low end of a point's interval; a noisy table may have it at or below 0, which has no logarithm."""
    return max(point.time_s if point.time_lo_s is None else point.time_lo_s, point.time_s / 100)


def _values(table: Iterable[Point]) -> list[float]:
    return [value for point in table for value in (_low(point), point.time_s, max(point.time_hi_s or 0.0, point.time_s))]
