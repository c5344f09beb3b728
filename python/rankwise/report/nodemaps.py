"""Pictures of mappings: which node holds each cell of the process grid, and what each mapping costs.

The maps are drawn as SVG rectangles, merged where neighbouring cells lie on one node, with lines between nodes.
"""

from __future__ import annotations

import colorsys
import heapq
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankwise.report.inputs import MappingInstance, MappingResult
from rankwise.report.style import (
    FONT_FAMILY,
    FONT_PT,
    INK,
    MUTED,
    SURFACE,
    WIDTH_PT,
    drawing,
    look,
    new_figure,
    svg_element,
    to_svg,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Cells = NDArray[np.int64]

# For readers who do not tell all colours apart, and for grey print: each differs from each other in lightness.
NODE_COLOURS = ("#f4e58c", "#2f6ea6", "#e5a03c", "#84305c", "#a9d6ef", "#2b8a6c", "#c07ba4", "#3a3170")
_BORDER = "#16161a"

# A map shows at most this many cells along an axis, and this many slices of a grid of three axes.
_MOST_CELLS = 96
_MOST_SLICES = 6
_MOST_AXES = 3
_TITLE_PT, _AXIS_PT, _GAP_PT = 30.0, 16.0, 14.0


def colour_nodes(cells: Cells) -> dict[int, int]:
    """Give every node in ``cells`` a colour number such that nodes that touch never have the same.

    ``cells`` holds node numbers and has one to three axes. Cells touch along every axis, and also over the corners
    in the plane of the last two axes, which is the plane that is drawn. Nodes are coloured in smallest-last order
    (Matula & Beck 1983), which needs few colours for compact mappings; a random one needs as many as nodes touch.
    """
    touching = _touching_nodes(cells)
    colours: dict[int, int] = {}
    used: list[int] = []
    for node in _smallest_last(touching):
        taken = {colours[other] for other in touching[node] if other in colours}
        free = [colour for colour in range(len(used)) if colour not in taken]
        if free:
            colour = min(free, key=lambda colour: used[colour])
        else:
            colour = len(used)
            used.append(0)
        used[colour] += 1
        colours[node] = colour
    return colours


def node_palette(count: int) -> list[str]:
    """Return ``count`` different colours as ``#rrggbb``; the first ones are the easiest to tell apart."""
    colours = list(NODE_COLOURS[:count])
    turn = 0
    while len(colours) < count:
        red, green, blue = colorsys.hls_to_rgb(turn * 0.618034 % 1, (0.35, 0.75, 0.55)[turn % 3], 0.6)
        colour = f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        if colour not in colours:
            colours.append(colour)
        turn += 1
    return colours


def can_draw(instance: MappingInstance) -> bool:
    """Tell whether ``node_map_picture`` has something to draw: kept maps of a grid of at most three axes."""
    return len(instance.grid) <= _MOST_AXES and any(result.node_of_cell is not None for result in instance.results)


def shown_part(instance: MappingInstance) -> str | None:
    """Say which part of the grid the picture shows, where it cannot show the whole; None: all of it."""
    shown = tuple(min(size, most) for size, most in zip(instance.grid, _most(len(instance.grid)), strict=True))
    if shown == instance.grid:
        return None
    return f"the first {'x'.join(map(str, shown))} cells of {'x'.join(map(str, instance.grid))}"


def node_map_picture(instance: MappingInstance, name: str) -> str:
    """Draw the node of every cell for all mappings of one instance, side by side; ``name`` keeps ids apart.

    A grid of three axes is drawn as slices along its first. Raises ValueError where ``can_draw`` says no.
    """
    if not can_draw(instance):
        raise ValueError("these mappings hold no map that can be drawn")
    results = [result for result in instance.results if result.node_of_cell is not None]
    group, height_pt = node_map_group(instance, results, WIDTH_PT)
    grid = "x".join(map(str, instance.grid))
    return svg_element(
        name,
        f"Nodes on the {grid} grid, {instance.stencil}",
        "One map for each mapping; cells of one colour that touch lie on one node. "
        + " ".join(f"{result.algorithm}: J_sum {result.j_sum}, J_max {result.j_max}." for result in results),
        WIDTH_PT,
        height_pt,
        group,
    )


def node_map_group(
    instance: MappingInstance, results: Sequence[MappingResult], width_pt: float, title: str = ""
) -> tuple[str, float]:
    """Draw the maps of some results of an instance as a ``<g>`` of a width; return it with its height in points."""
    maps = [NodeMap.of(instance.grid, result) for result in results]
    across, down = maps[0].extent
    axes = len(instance.grid)
    columns = 1 if axes == _MOST_AXES or across > 3 * down else min(3, len(maps))
    room_pt = (width_pt - 1 - _AXIS_PT - (columns - 1) * _GAP_PT) / columns
    cell_pt = min(room_pt / across, 260 / down, 24)
    head_pt = 17 if title else 0
    row_pt = _TITLE_PT + down * cell_pt + _GAP_PT
    body = [_text(_AXIS_PT, 10, title, weight="bold")] if title else []
    for i, (result, drawn) in enumerate(zip(results, maps, strict=True)):
        left, top = _AXIS_PT + i % columns * (room_pt + _GAP_PT), head_pt + i // columns * row_pt
        body.append(_text(left, top + 11, result.algorithm, weight="" if title else "bold"))
        body.append(_text(left, top + 23, f"J_sum {result.j_sum}   J_max {result.j_max}"))
        body.append(drawn.svg(left, top + _TITLE_PT, cell_pt))
    if axes > 1:
        middle = head_pt + _TITLE_PT + down * cell_pt / 2
        body.append(_text(10, middle, f"axis {axes - 2}", colour=MUTED, anchor="middle", turned=True))
    bottom = head_pt + math.ceil(len(maps) / columns) * row_pt + 2
    words = f"axis {axes - 1} runs to the right" + (", the slices follow axis 0" if axes == _MOST_AXES else "")
    shown = maps[0].cells.shape[_MOST_AXES - axes :]
    if shown != tuple(instance.grid):
        words += f"; only the first {'x'.join(map(str, shown))} cells are drawn"
    body.append(_text(_AXIS_PT, bottom, words, colour=MUTED))
    style = f'font-family="{FONT_FAMILY}" font-size="{FONT_PT}px" fill="{INK}"'
    return f"<g {style}>{''.join(body)}</g>", bottom + 6


@dataclass(frozen=True)
class NodeMap:
    """A map ready to draw: node numbers of the shown cells (slices x rows x columns) and the colour of each node."""

    cells: Cells
    colours: dict[int, int]

    @staticmethod
    def of(grid: Sequence[int], result: MappingResult) -> NodeMap:
        """Cut out what is shown of one mapping of a grid of at most three axes, and colour it."""
        import numpy as np

        cells = np.array(result.node_of_cell, dtype=np.int64).reshape(grid)
        cells = cells[tuple(slice(most) for most in _most(cells.ndim))]
        cells = cells.reshape((1,) * (_MOST_AXES - cells.ndim) + cells.shape)
        return NodeMap(cells, colour_nodes(cells))

    @property
    def extent(self) -> tuple[float, int]:
        """Width and height of the drawn map in cells, with the gaps between slices."""
        slices, rows, columns = map(int, self.cells.shape)
        return slices * columns + (slices - 1) * self._gap, rows

    @property
    def _gap(self) -> float:
        return max(1.0, 0.12 * int(self.cells.shape[2]))

    def svg(self, left: float, top: float, cell_pt: float) -> str:
        """Draw the map with its corner at a place; lengths in points."""
        _, rows, columns = self.cells.shape
        palette = node_palette(max(self.colours.values()) + 1)
        parts = []
        for i, cells in enumerate(self.cells.tolist()):
            colours = [[self.colours[node] for node in row] for row in cells]
            shift = f"{left + i * (columns + self._gap) * cell_pt:.2f} {top:.2f}"
            parts.append(f'<g transform="translate({shift}) scale({cell_pt:.4f})">')
            parts += [
                f'<path fill="{palette[colour]}" shape-rendering="crispEdges" d="{path}"/>'
                for colour, path in sorted(_rectangles(colours).items())
            ]
            parts.append(
                f'<path fill="none" stroke="{_BORDER}" stroke-width="0.9" vector-effect="non-scaling-stroke" '
                f'd="{_borders(cells)}M0 0h{columns}v{rows}h-{columns}z"/></g>'
            )
        return "".join(parts)


def cost_picture(instances: Sequence[MappingInstance]) -> str | None:
    """Draw J_sum and J_max of every mapping relative to blocked, a panel a stencil; None where nothing compares."""
    compared = [(item, item.blocked) for item in instances if item.blocked and item.blocked.j_sum and item.blocked.j_max]
    if not compared:
        return None
    algorithms = list(dict.fromkeys(result.algorithm for item, _ in compared for result in item.results))
    columns = min(3, len(compared))
    lines = -(-len(compared) // columns)
    total, busiest = look(0), look(1)
    with drawing():
        figure = new_figure(WIDTH_PT, 30 + lines * (62 + 19 * len(algorithms)))
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        panels = [panel for line in grid for panel in line]
        for (item, blocked), panel in zip(compared, panels, strict=False):
            assert blocked is not None
            rows = [algorithms.index(result.algorithm) for result in item.results]
            for shape, shift, name, values, fill in (
                (total, -0.17, "J_sum", [100 * r.j_sum / blocked.j_sum for r in item.results], total.colour),
                (busiest, 0.17, "J_max", [100 * r.j_max / blocked.j_max for r in item.results], SURFACE),
            ):
                places = [row + shift for row in rows]
                panel.hlines(places, 0, values, color=shape.colour, linewidth=1.2)
                panel.plot(values, places, shape.marker, color=shape.colour, markerfacecolor=fill, markersize=4.5, label=name)
            for row, result in zip(rows, item.results, strict=True):
                share = max(result.j_sum / blocked.j_sum, result.j_max / blocked.j_max)
                panel.annotate(
                    f"{100 * result.j_sum / blocked.j_sum:.0f} %",
                    (100 * share, row),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=FONT_PT - 0.5,
                    bbox={"facecolor": SURFACE, "edgecolor": "none", "pad": 0.8},
                )
            panel.axvline(100, color=MUTED, linestyle=":", linewidth=0.9)
            ceiling = max(max(r.j_sum / blocked.j_sum, r.j_max / blocked.j_max) for r in item.results)
            panel.set_xlim(0, 128 * ceiling)
            grid_line = f"{'x'.join(map(str, item.grid))}\n" if len({other.grid for other, _ in compared}) > 1 else ""
            panel.set_title(grid_line + _short(item.stencil), loc="left")
            panel.set_xlabel("percent of blocked")
        for panel in panels[len(compared) :]:
            panel.set_axis_off()
        panels[0].set_yticks(range(len(algorithms)), algorithms)
        panels[0].set_ylim(len(algorithms) - 0.4, -0.6)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2)
        return to_svg(
            figure,
            "mapping-cost",
            "Messages between nodes of each mapping, relative to blocked",
            " ".join(
                f"{item.stencil}: best {item.best.algorithm} with J_sum {item.best.j_sum}, blocked has {blocked.j_sum}."
                for item, blocked in compared
                if blocked is not None
            ),
        )


def _short(stencil: str) -> str:
    """Cut a stencil's name where a list of offsets would be too long for a title."""
    return stencil if len(stencil) <= 28 else stencil[:27] + "..."


def _most(axes: int) -> tuple[int, ...]:
    return (_MOST_SLICES, _MOST_CELLS, _MOST_CELLS)[_MOST_AXES - axes :]


def _touching_nodes(cells: Cells) -> dict[int, set[int]]:
    import numpy as np

    ahead = [tuple(int(i == axis) for i in range(cells.ndim)) for axis in range(cells.ndim)]
    if cells.ndim >= 2:
        ahead += [(0,) * (cells.ndim - 2) + (1, 1), (0,) * (cells.ndim - 2) + (1, -1)]
    touching: dict[int, set[int]] = {int(node): set() for node in np.unique(cells)}
    for offset in ahead:
        here = cells[tuple(slice(max(0, -step), min(0, -step) or None) for step in offset)]
        there = cells[tuple(slice(max(0, step), min(0, step) or None) for step in offset)]
        pairs = np.stack([here.ravel(), there.ravel()], axis=1)
        for one, other in np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).tolist():
            touching[one].add(other)
            touching[other].add(one)
    return touching


def _smallest_last(touching: dict[int, set[int]]) -> list[int]:
    """Order nodes such that each has as few neighbours before it as possible: take away the smallest, from the end."""
    degrees = {node: len(others) for node, others in touching.items()}
    queue = [(degree, node) for node, degree in degrees.items()]
    heapq.heapify(queue)
    order: list[int] = []
    while queue:
        degree, node = heapq.heappop(queue)
        if degrees.get(node) != degree:
            continue
        del degrees[node]
        order.append(node)
        for other in touching[node]:
            if other in degrees:
                degrees[other] -= 1
                heapq.heappush(queue, (degrees[other], other))
    return order[::-1]


def _rectangles(colours: Sequence[Sequence[int]]) -> dict[int, str]:
    """Return a path for each colour: runs along a row, merged with equal runs in the rows below."""
    paths: dict[int, list[str]] = {}
    open_runs: dict[tuple[int, int, int], int] = {}  # (colour, first column, length) -> first row
    for y, row in enumerate([*colours, []]):
        runs: dict[tuple[int, int, int], int] = {}
        start = 0
        for x in range(1, len(row) + 1):
            if x == len(row) or row[x] != row[start]:
                run = (row[start], start, x - start)
                runs[run] = open_runs.pop(run, y)
                start = x
        for (colour, left, length), top in open_runs.items():
            paths.setdefault(colour, []).append(f"M{left} {top}h{length}v{y - top}h-{length}z")
        open_runs = runs
    return {colour: "".join(parts) for colour, parts in paths.items()}


def _borders(cells: Sequence[Sequence[int]]) -> str:
    """Return a path of the lines between cells of different nodes, each run of edges as one line."""
    across = [
        f"M{start} {y + 1}h{length}"
        for y, (row, below) in enumerate(zip(cells, cells[1:], strict=False))
        for start, length in _runs([one != other for one, other in zip(row, below, strict=True)])
    ]
    columns: list[tuple[Any, ...]] = list(zip(*cells, strict=True))
    down = [
        f"M{x + 1} {start}v{length}"
        for x, (column, beside) in enumerate(zip(columns, columns[1:], strict=False))
        for start, length in _runs([one != other for one, other in zip(column, beside, strict=True)])
    ]
    return "".join(across + down)


def _runs(marked: Sequence[bool]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for i, mark in enumerate(marked):
        if mark and runs and sum(runs[-1]) == i:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        elif mark:
            runs.append((i, 1))
    return runs


def _text(x: float, y: float, words: str, weight: str = "", colour: str = "", anchor: str = "", turned: bool = False) -> str:
    attributes = "".join(
        f' {key}="{value}"'
        for key, value in (
            ("font-weight", weight),
            ("fill", colour),
            ("text-anchor", anchor),
            ("transform", f"rotate(-90 {x:g} {y:.1f})" if turned else ""),
        )
        if value
    )
    return f'<text x="{x:g}" y="{y:.1f}" xml:space="preserve"{attributes}>{html.escape(words)}</text>'
