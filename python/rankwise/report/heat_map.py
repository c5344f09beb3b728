"""Heat maps, as one self-contained picture each: how slow pairs of nodes are, how much pairs of ranks send."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankwise.report.page import environment, themed
from rankwise.report.style import INK, WIDTH_PT, drawing, new_figure, to_svg
from rankwise.units import format_size

if TYPE_CHECKING:
    from rankwise.measure.slow_nodes import Effects

_MOST_NAMES = 40
_MOST_RATIO = 2.0  # of the colours; what is slower has the darkest


def heat_map(effects: Mapping[int, Effects], hosts: Sequence[str], words: Sequence[str]) -> str:
    """Draw a matrix for each size: rows send, columns receive, colours say how many times the usual time a pair takes."""
    from matplotlib.colors import LogNorm

    side_pt = WIDTH_PT - 90
    with drawing():
        figure = new_figure(WIDTH_PT, (side_pt + 20) * len(effects))
        panels = figure.subplots(len(effects), 1, squeeze=False)[:, 0]
        for panel, (size, of_size) in zip(panels, effects.items(), strict=True):
            ratio = np.exp(of_size.sends[:, None] + of_size.receives[None, :] + of_size.residual)
            image = panel.imshow(
                np.clip(ratio, 1 / _MOST_RATIO, _MOST_RATIO),
                cmap="PuOr_r",
                norm=LogNorm(1 / _MOST_RATIO, _MOST_RATIO),
                interpolation="nearest",
            )
            # Every node's name where there is room, else every so many.
            step = -(-len(hosts) // _MOST_NAMES)
            places = range(0, len(hosts), step)
            panel.set_xticks(places, [hosts[i] for i in places], rotation=90)
            panel.set_yticks(places, [hosts[i] for i in places])
            panel.set_title(f"streams of {format_size(size)}: rows send, columns receive", loc="left")
            panel.spines[["left", "bottom"]].set_visible(False)
            bar = figure.colorbar(image, ax=panel, shrink=0.6, ticks=[0.5, 0.7, 1, 1.4, 2])
            bar.ax.set_yticklabels(["0.5 and less", "0.7", "1", "1.4", "2 and more"], color=INK)
            bar.set_label("times as slow as usual")
            bar.ax.minorticks_off()
        return to_svg(figure, "slow-nodes", "How slow each pair of nodes is", " ".join(words))


def traffic_map(matrix: NDArray[np.float64], words: Sequence[str]) -> str:
    """Draw who sends how many bytes to whom: rows send, columns receive, both in the order of ranks."""
    from matplotlib.colors import LogNorm

    heaviest = max(float(matrix.max()), 1.0)
    least = float(matrix[matrix > 0].min()) if (matrix > 0).any() else 1.0
    with drawing():
        figure = new_figure(WIDTH_PT, WIDTH_PT - 70)
        panel = figure.subplots()
        shown = np.ma.masked_equal(matrix, 0)
        image = panel.imshow(
            shown, cmap="viridis_r", norm=LogNorm(min(least, heaviest / 10), heaviest), interpolation="nearest"
        )
        panel.set_xlabel("rank that receives")
        panel.set_ylabel("rank that sends")
        panel.spines[["left", "bottom"]].set_visible(False)
        figure.colorbar(image, ax=panel, shrink=0.6).set_label("bytes")
        return to_svg(figure, "traffic", "Who sends how many bytes to whom", " ".join(words))


def heat_map_page(svg: str, words: Sequence[str], title: str = "Slow nodes") -> str:
    """Return the picture on a page of its own, below what was found."""
    template = environment().from_string(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        '<title>{{ title }}</title>\n<style>\n{% include "style.css" %}\n</style>\n</head>\n<body>\n<main>\n<h1>{{ title }}</h1>\n'
    )
    first, *rest = [html.escape(line) for line in words]
    listed = "".join(f"<li>{line}</li>\n" for line in rest)
    body = f'<p class="answer">{first}</p>\n<ul>\n{listed}</ul>\n<figure><div class="scroll">{themed(svg)}</div></figure>\n'
    return template.render(title=title) + body + "</main>\n</body>\n</html>\n"
