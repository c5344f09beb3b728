"""Pictures of exchanges: measured time beside predicted time, with both intervals and the error of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankwise.report.style import FONT_PT, INK, SURFACE, WIDTH_PT, drawing, look, new_figure, set_time_axis, to_svg
from rankwise.units import format_size, format_time
from rankwise.workloads.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURED, PREDICTED = look(0), look(1)

# Room that a pair needs for its error and for the label below it.
_CUTOFF_PT, _SIZE_PT = 32.0, 52.0
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def exchange_groups(rows: Iterable[Comparison]) -> list[list[Comparison]]:
    """Sort comparisons into pictures: each holds one exchange in all its send modes, against k (or against size).

    Where an exchange was run with one cutoff and several sizes, the size is what the picture shows.
    """
    rows = list(rows)
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for row in rows:
        groups.setdefault((*_setting(row), None if _by_size(row, rows) else row.exchange.message_bytes), []).append(row)
    return list(groups.values())


def group_label(group: Sequence[Comparison]) -> str:
    """Say in words which exchange a group shows: ``shift, 1-D, 2 ranks, 1000 B``."""
    row = group[0]
    shape = f" as {'x'.join(map(str, row.exchange.grid))}" if len(row.exchange.grid) > 1 else ""
    parts = [
        row.exchange.algorithm,
        f"{len(row.exchange.grid)}-D",
        f"{row.exchange.ranks} rank{'s' * (row.exchange.ranks > 1)}{shape}",
    ]
    parts += [f"c = {row.exchange.replication}"] if row.exchange.replication > 1 else []
    sizes = {row.exchange.message_bytes for row in group}
    return ", ".join(parts + [format_size(row.exchange.message_bytes) if len(sizes) == 1 else f"k = {row.exchange.cutoff}"])


def exchange_picture(group: Sequence[Comparison], name: str) -> str:
    """Draw one group of ``exchange_groups``: a panel for each send mode; ``name`` keeps its ids apart from others."""
    modes = list(dict.fromkeys(row.exchange.mode for row in group))
    pairs = max(sum(row.exchange.mode == mode for row in group) for mode in modes)
    wanted_pt = pairs * (_SIZE_PT if _shows_sizes(group) else _CUTOFF_PT)
    columns = next((count for count in (3, 2) if count <= len(modes) and _panel_pt(count) >= wanted_pt), 1)
    lines = -(-len(modes) // columns)
    with drawing():
        figure = new_figure(WIDTH_PT, 36 + 185 * lines)
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        panels = [panel for line in grid for panel in line]
        for mode, panel in zip(modes, panels, strict=False):
            draw_pairs(panel, [row for row in group if row.exchange.mode == mode], room_pt=_panel_pt(columns))
            panel.set_title(mode, loc="left")
        for panel in panels[len(modes) :]:
            panel.set_axis_off()
        for line in grid:
            line[0].set_ylabel("time of one exchange")
        _set_exchange_axis(panels[0], group)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2)
        worst = max(group, key=lambda row: abs(row.error))
        return to_svg(
            figure,
            name,
            f"Measured and predicted time: {group_label(group)}",
            f"One panel for each of {', '.join(modes)}. "
            + " ".join(
                f"{row.exchange.mode}, k = {row.exchange.cutoff}, {format_size(row.exchange.message_bytes)}: measured "
                f"{format_time(row.measured.time_s)}, predicted {format_time(row.predicted.time_s)}."
                for row in (group[0], worst)
            )
            + f" The second is the largest error, {100 * worst.error:+.0f} %.",
        )


def draw_pairs(axes: Axes, rows: Sequence[Comparison], room_pt: float) -> None:
    """Draw measured and predicted times side by side over k, or over size, with the error written above each pair."""
    by_size = _shows_sizes(rows)
    rows = sorted(rows, key=lambda row: (row.exchange.message_bytes, row.exchange.cutoff))
    places = list(range(len(rows)))
    for shape, shift, name, timings, fill in (
        (MEASURED, -0.13, "measured, 95 % interval", [row.measured for row in rows], MEASURED.colour),
        (PREDICTED, 0.13, "predicted, 95 % interval", [row.predicted for row in rows], SURFACE),
    ):
        for place, timing in zip(places, timings, strict=True):
            if timing.interval_s is None:
                continue
            axes.vlines(place + shift, *timing.interval_s, color=shape.colour, linewidth=1.3)
            axes.plot([place + shift] * 2, timing.interval_s, "_", color=shape.colour, markersize=6, markeredgewidth=1.3)
        axes.plot(
            [place + shift for place in places],
            [timing.time_s for timing in timings],
            shape.marker,
            label=name,
            markersize=4.5,
            color=shape.colour,
            markerfacecolor=fill,
            zorder=3,
        )
    upright = room_pt / len(rows) < _CUTOFF_PT
    for place, row in zip(places, rows, strict=True):
        axes.annotate(
            f"{100 * row.error:+.0f} %",
            (place, _top(row)),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=FONT_PT - 0.5,
            color=INK,
            rotation=90 if upright else 0,
        )
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_xticks(places, [format_size(row.exchange.message_bytes) if by_size else str(row.exchange.cutoff) for row in rows])
    axes.set_xlabel("bytes of each rank's block" if by_size else "cutoff k (layers of neighbours)")
    _set_exchange_axis(axes, rows)


def _set_exchange_axis(axes: Axes, rows: Sequence[Comparison]) -> None:
    """Give a plot an axis of time with room for the errors: from 0 over k, logarithmic over sizes."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if _shows_sizes(rows):
        set_time_axis(axes, [min(min(_times(row)) for row in rows), 1.8 * max(_top(row) for row in rows)])
        return
    ceiling_s = max(_top(row) for row in rows)
    unit, scale = next((unit, scale) for unit, scale in _UNITS if ceiling_s >= scale or unit == "ns")
    axes.set_ylim(0, 1.22 * ceiling_s)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, position: f"{value / scale:g} {unit}"))
    axes.grid(visible=True, axis="y")


def _panel_pt(columns: int) -> float:
    """Width of a panel's plot when so many stand side by side."""
    return WIDTH_PT / columns - 60 / columns - 10


def _shows_sizes(rows: Iterable[Comparison]) -> bool:
    return len({row.exchange.message_bytes for row in rows}) > 1


def _times(row: Comparison) -> list[float]:
    """All times of a pair, their intervals' ends included where those are above 0."""
    timings = (row.measured, row.predicted)
    return [
        *(timing.time_s for timing in timings),
        *(end for timing in timings for end in timing.interval_s or () if end > 0),
    ]


def _top(row: Comparison) -> float:
    return max(_times(row))


def _setting(row: Comparison) -> tuple[object, ...]:
    return (row.exchange.algorithm, len(row.exchange.grid), row.exchange.grid, row.exchange.replication, row.exchange.ranks)


def _by_size(row: Comparison, rows: Sequence[Comparison]) -> bool:
    alike = [other for other in rows if _setting(other) == _setting(row)]
    return len({other.exchange.cutoff for other in alike}) == 1 and len({other.exchange.message_bytes for other in alike}) > 1
