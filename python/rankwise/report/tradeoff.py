"""The trade-off map: which exchange is fastest for every size of a block and every cutoff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwise.decide.choice import MOST_CUTOFF, Question, WinnerMap
from rankwise.report.style import (
    FONT_PT,
    INK,
    WIDTH_PT,
    SizeAxis,
    drawing,
    new_figure,
    svg_element,
    svg_group,
)
from rankwise.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

# Okabe and Ito's colours that carry dark text, told apart by all kinds of colour vision.
_COLOURS = ("#56b4e9", "#e69f00", "#f0e442", "#cc79a7", "#cfd3d8", "#59c9a5", "#e0895a", "#8fa6d8")
_LEAST_BYTES, _MOST_BYTES = 8, 2**20
_ROW_PT = 30.0
_LABEL_OCTAVES = 1.9  # what the label of a border is wide
_NAME_OCTAVES = 0.24  # likewise, a letter of a name
_PALER = 0.45


def map_places(question: Question) -> tuple[int, int, list[int]]:
    """Return the least and the largest size, and the cutoffs, of the map around a question."""
    least, most = min(_LEAST_BYTES, max(1, question.block_bytes)), max(_MOST_BYTES, question.block_bytes)
    if question.shell == "all-pairs":
        return least, most, [question.cutoff]
    return least, most, list(range(1, max(MOST_CUTOFF, question.cutoff) + 1))


def tradeoff_picture(winners: WinnerMap, question: Question) -> str:
    """Draw the map as an SVG of its own: a row a cutoff, a colour a winner, its borders labelled with their sizes."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    names = list(dict.fromkeys(name for row in winners.rows for _, name in row.winners))
    cutoffs = [row.cutoff for row in winners.rows]
    colour_of = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}
    axis = SizeAxis.of((winners.least_bytes, winners.most_bytes))
    height_pt = 120 + _ROW_PT * len(cutoffs)
    with drawing():
        figure = new_figure(WIDTH_PT, height_pt)
        axes = figure.subplots()
        for i, row in enumerate(winners.rows):
            ends = [*(at for at, _ in row.winners[1:]), winners.most_bytes]
            for (from_bytes, name), end in zip(row.winners, ends, strict=True):
                left, right = axis.place(from_bytes), axis.place(end)
                axes.add_patch(_bar(left, right, i, facecolor=colour_of[name], edgecolor="#ffffff", linewidth=1.2))
                _write_in(axes, name, from_bytes if from_bytes > winners.least_bytes else None, left, right, i)
            if row.measured_to_bytes < winners.most_bytes:
                left, right = axis.place(row.measured_to_bytes), axis.place(winners.most_bytes)
                axes.add_patch(_bar(left, right, i, facecolor="#ffffff", alpha=_PALER, linewidth=0))
        if question.block_bytes > 0:
            place = axis.place(question.block_bytes), cutoffs.index(question.cutoff) - 0.3
            axes.plot(*place, marker="v", markersize=7, color=INK, markeredgecolor="#ffffff", zorder=5, clip_on=False)
        axis.apply(axes, room_pt=460)
        axes.set_xlabel("size of a block")
        axes.set_ylabel("cutoff in layers of neighbours")
        axes.set_ylim(-0.5, len(cutoffs) - 0.5)
        axes.set_yticks(range(len(cutoffs)), [str(k) for k in cutoffs])
        axes.tick_params(axis="y", length=0)
        grid = "x".join(map(str, question.grid))
        axes.set_title(f"fastest exchange, {grid} ranks, {question.shell} shell", loc="left", pad=10)
        handles: list[Rectangle | Line2D] = [Rectangle((0, 0), 1, 1, facecolor=colour_of[name], label=name) for name in names]
        if question.block_bytes > 0:
            handles.append(Line2D([], [], linestyle="none", marker="v", color=INK, label="what was asked for"))
        if any(row.measured_to_bytes < winners.most_bytes for row in winners.rows):
            handles.append(Rectangle((0, 0), 1, 1, facecolor=_pale(colour_of[names[0]]), label="paler: not measured so large"))
        figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=1.4)
        body = svg_group(figure, "tradeoff")
    background = f'<rect width="{WIDTH_PT:g}" height="{height_pt:g}" fill="#ffffff"/>'
    return svg_element(
        "tradeoff",
        f"Fastest exchange by size of a block and cutoff, {grid} ranks",
        f"A row for each cutoff from {cutoffs[0]} to {cutoffs[-1]}; along it blocks grow from "
        f"{format_size(winners.least_bytes)} to {format_size(winners.most_bytes)}. Winners: {'; '.join(names)}.",
        WIDTH_PT, height_pt, background + body,
    )  # fmt: skip


def _bar(left: float, right: float, row: int, **look: Any) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((left, row - 0.5), right - left, 1, **look)


def _pale(colour: str) -> str:
    """Return a colour as it looks under the paler part of a row."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * _PALER):02x}" for part in parts)


def _write_in(axes: Axes, name: str, from_bytes: int | None, left: float, right: float, row: int) -> None:
    """Write a winner's name, and the size from which on it wins, where they fit."""
    width = right - left
    border = "" if from_bytes is None else format_size(from_bytes)
    if width < (_LABEL_OCTAVES if border else 0) * 0.9:
        return
    if border:
        axes.text(left + 0.1, row - 0.27, f"{border} →", fontsize=FONT_PT - 2, color=INK, va="center", ha="left")
    if width > _NAME_OCTAVES * len(name):
        axes.text((left + right) / 2, row + 0.14, name, fontsize=FONT_PT - 0.5, color=INK, va="center", ha="center")
