"""Notched box plots of reductions over blocked, a panel for each stencil and objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.report.style import INK, MUTED, SURFACE, WIDTH_PT, drawing, look, new_figure, to_svg


def reduction_picture(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Draw one panel a title: for each mapper the distribution of its reductions; two panels a row."""
    mappers = list(next(iter(panels.values())))
    lines = -(-len(panels) // 2)
    with drawing():
        figure = new_figure(WIDTH_PT, 24 + lines * (46 + 17 * len(mappers)))
        grid = figure.subplots(lines, 2, squeeze=False, sharey=True)
        for axes, (title, values) in zip([axes for line in grid for axes in line], panels.items(), strict=False):
            colour = look(0).colour if "J_sum" in title else look(1).colour
            drawn = axes.boxplot(
                [list(values[mapper]) for mapper in mappers],
                notch=True,
                orientation="horizontal",
                widths=0.62,
                patch_artist=True,
                flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": MUTED, "markerfacecolor": MUTED},
                whiskerprops={"color": MUTED, "linewidth": 0.8},
                capprops={"color": MUTED, "linewidth": 0.8},
                medianprops={"color": INK, "linewidth": 1.4},
            )
            for box in drawn["boxes"]:
                box.set(facecolor=SURFACE, edgecolor=colour, linewidth=1.1)
            axes.axvline(1, color=MUTED, linestyle=":", linewidth=0.9)
            axes.set_title(title, loc="left")
            axes.set_xlim(0, min(2.2, 1.05 * max(1.0, *(max(values[mapper]) for mapper in mappers))))
            axes.set_yticks(range(1, len(mappers) + 1), mappers)
            axes.set_ylim(len(mappers) + 0.6, 0.4)
            axes.grid(visible=True, axis="x")
        for axes in grid[-1]:
            axes.set_xlabel("relative to blocked")
        return to_svg(
            figure,
            "reduction",
            "Messages between nodes of each mapper, relative to blocked",
            "Notched box plots; the notch is the 95 % interval of the median.",
        )
