"""Pictures of mappings: which node holds each cell of the process grid, and what each mapping costs.

A map is drawn as rectangles of neighbouring cells on one node, each of which says its node, its ranks and its messages.
"""

from __future__ import annotations

import colorsys
import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwise.errors import InputError
from rankwise.mapping.problem import offsets_of
from rankwise.report.chart import MUTED, WIDE, Chart, Spec, field_of, rows
from rankwise.report.inputs import MappingInstance, MappingResult
from rankwise.report.layers import by_name, emphasised, kinds, labels, layer, ranged
from rankwise.units import format_count, format_volume, spans

Cells: TypeAlias = NDArray[np.int64]

# For readers who do not tell all colours apart, and for grey print: each differs from each other in lightness.
NODE_COLOURS = ("#f4e58c", "#2f6ea6", "#e5a03c", "#84305c", "#a9d6ef", "#2b8a6c", "#c07ba4", "#3a3170")
_BORDER = "#16161a"

# A map shows at most this many cells along an axis, and this many slices of a grid of three axes.
_MOST_CELLS = 96
_MOST_SLICES = 6
_MOST_AXES = 3
_HEIGHT_PX = 300


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


def node_map_picture(instance: MappingInstance, name: str, results: Sequence[MappingResult] | None = None) -> Chart:
    """Draw the node of every cell for mappings of one instance (None: all that are kept), a panel each.

    A grid of three axes is drawn as slices along its first. Raises ValueError where ``can_draw`` says no.
    """
    if not can_draw(instance):
        raise ValueError("these mappings hold no map that can be drawn")
    kept = [result for result in results or instance.results if result.node_of_cell is not None]
    grid = "x".join(map(str, instance.grid))
    maps = [NodeMap.of(instance, result) for result in kept]
    across, down = maps[0].extent
    wide = across > 2.2 * down
    stops: list[str] = []
    part = shown_part(instance)
    panels = [drawn.panel(f"; shown: {part}" if part else "", wide, stops) for drawn in maps]
    return Chart(
        name,
        f"Nodes {f'of the {grid} ranks of' if instance.of_program else f'on the {grid} grid,'} {instance.stencil}",
        "One map for each mapping; a number is a node's, cells of one colour that touch lie on one node. "
        + " ".join(f"{result.algorithm}: J_sum {result.j_sum}, J_max {result.j_max}." for result in kept),
        panels, stops, {"resolve": {"scale": {"x": "independent", "y": "independent", "color": "independent"}}},
        least_px=560 if wide else 300, most_columns=1 if across > 4 * down else 2 if wide else 3, label_px=4,
    )  # fmt: skip


@dataclass(frozen=True)
class NodeMap:
    """A map ready to draw: node numbers of the shown cells (slices x rows x columns) and the colour of each node.

    ``outgoing``: the messages that leave each node (None: not known, the stencil is not one that can be counted).
    """

    result: MappingResult
    cells: Cells
    colours: dict[int, int]
    whole: Cells
    outgoing: Mapping[int, int] | None
    of_program: bool = False

    @staticmethod
    def of(instance: MappingInstance, result: MappingResult) -> NodeMap:
        """Cut out what is shown of one mapping of a grid of at most three axes, and colour it."""
        whole = np.array(result.node_of_cell, dtype=np.int64).reshape(instance.grid)
        cells = whole[tuple(slice(most) for most in _most(whole.ndim))]
        cells = cells.reshape((1,) * (_MOST_AXES - cells.ndim) + cells.shape)
        return NodeMap(result, cells, colour_nodes(cells), whole, _outgoing(instance, whole, result), instance.of_program)

    @property
    def extent(self) -> tuple[float, int]:
        """Width and height of the drawn map in cells, with the gaps between slices."""
        slices, rows, columns = map(int, self.cells.shape)
        return slices * columns + (slices - 1) * self._gap, rows

    @property
    def _gap(self) -> float:
        return max(1.0, 0.12 * int(self.cells.shape[2]))

    @cached_property
    def words(self) -> dict[int, str]:
        """What is said of each node: its number, its cells (ranks in row-major order), the messages that leave it."""
        ranks: dict[int, list[int]] = {}
        for rank, node in enumerate(self.whole.ravel().tolist()):
            ranks.setdefault(node, []).append(rank)
        said = {}
        for node, cells in ranks.items():
            leaving = "" if self.outgoing is None else f"; {format_count(self.outgoing.get(node, 0), 'message')} to other nodes"
            said[node] = f"{self.result.algorithm}, node {node}: {len(cells)} ranks, of cells {_ranges(cells)}{leaving}"
        return said

    def panel(self, note: str, wide: bool, stops: list[str]) -> Spec:
        """Return the map as a panel with a note, and add what its nodes say to the stops."""
        slices, down, columns = map(int, self.cells.shape)
        across, _ = self.extent
        nodes = sorted(self.colours)
        first = len(stops)
        stops += [self.words[node] for node in nodes]
        stop_of = {node: first + i for i, node in enumerate(nodes)}
        palette = node_palette(max(self.colours.values()) + 1)
        found: list[dict[str, Any]] = []
        borders: list[dict[str, float]] = []
        for i, cells in enumerate(self.cells.tolist()):
            left = i * (columns + self._gap)
            for node, x, y, width, height in rectangles_of(cells):
                found.append({
                    "x": left + x, "x2": left + x + width, "y": y, "y2": y + height, "node": node,
                    "colour": palette[self.colours[node]],
                    "area": width * height, "stop": stop_of[node],
                })  # fmt: skip
            borders += [{"x": left + x, "x2": left + x2, "y": y, "y2": y2} for x, y, x2, y2 in borders_of(cells, down, columns)]
        # A node's number stands in its largest rectangle, where it fits.
        largest: dict[tuple[int, int], dict[str, Any]] = {}
        for rectangle in found:
            key = (rectangle["node"], int(rectangle["x"] // (columns + self._gap)))
            if key not in largest or rectangle["area"] > largest[key]["area"]:
                largest[key] = rectangle
        height_px = min(_HEIGHT_PX, 40 * down) if not wide else min(_HEIGHT_PX, max(60, round(900 * down / across)))
        numbers = [
            {
                "x": (r["x"] + r["x2"]) / 2, "y": (r["y"] + r["y2"]) / 2, "node": str(r["node"]), "wide": r["x2"] - r["x"],
                "high": r["y2"] - r["y"], "ink": _ink_on(r["colour"]), "stop": r["stop"],
            }
            for r in largest.values()
        ]  # fmt: skip
        x_of = field_of("x", axis=None, scale={"domain": [0, across], "nice": False})
        y_of = field_of("y", axis=None, scale={"domain": [0, down], "nice": False, "reverse": True})
        places = {**ranged("x", x_of, "x", "x2"), **ranged("y", y_of, "y", "y2")}
        shown = {"condition": {"test": f"stop<{first}||stop>={len(stops)}||datum.stop===stop", "value": 1}, "value": 0.35}
        fits = f"datum.wide*{WIDE}/{across!r}>=7.2*length(datum.node)+1&&datum.high*{height_px}/{down}>=11"
        sent, busiest = format_count(self.result.j_sum, "message"), str(self.result.j_max)
        if self.of_program:
            sent, busiest = format_volume(self.result.j_sum), format_volume(self.result.j_max)
        told = f"{sent} between nodes, {busiest} of the busiest{note}"
        kept = ({key: value for key, value in r.items() if key != "area"} for r in found)
        inks = {"x": x_of, "y": y_of, "color": field_of("ink", "nominal", scale=None)}
        filled = {**places, "color": field_of("colour", "nominal", scale=None), "opacity": shown}
        return {
            "title": {"text": self.result.algorithm, "subtitle": told, "subtitleColor": MUTED, "subtitleFontSize": 11.5},
            "height": height_px,
            "layer": [
                layer("rect", filled, kept, strokeWidth=2.5),
                layer("rule", places, borders, color=_BORDER, strokeWidth=0.9),
                labels(inks, "node", numbers, fits, fontSize=11, baseline="middle"),
            ],
        }


def cost_picture(instances: Sequence[MappingInstance]) -> Chart | None:
    """Draw J_sum and J_max of every mapping relative to blocked, a panel a stencil; None where nothing compares."""
    compared = [(item, item.blocked) for item in instances if item.blocked and item.blocked.j_sum and item.blocked.j_max]
    if not compared:
        return None
    objectives = ("J_sum, messages between nodes", "J_max, of the busiest node")
    panels: list[Spec] = []
    stops: list[str] = []
    for item, blocked in compared:
        assert blocked is not None
        data: list[Spec] = []
        for result in item.results:
            words = (
                f"{item.stencil}, {result.algorithm}: J_sum {result.j_sum} ({100 * result.j_sum / blocked.j_sum:.1f} % of "
                f"blocked), J_max {result.j_max} ({100 * result.j_max / blocked.j_max:.1f} %)"
            )
            data += [
                {"mapping": result.algorithm, "kind": kind, "share": ours / theirs, "stop": len(stops), "tip": words}
                for kind, ours, theirs in zip(
                    objectives, (result.j_sum, result.j_max), (blocked.j_sum, blocked.j_max), strict=True
                )
            ]
            stops.append(words)
        names = [result.algorithm for result in item.results]
        ceiling = max(row["share"] for row in data)
        grid = f"{'x'.join(map(str, item.grid))}, " if len({other.grid for other, _ in compared}) > 1 else ""
        most = {"domain": [0, max(1.0, ceiling) * 1.15]}
        axes = {
            "y": by_name("mapping", names, labelLimit=100),
            "x": field_of("share", title="of blocked", scale=most, axis={"format": ".0%", "tickCount": 4}),
        }
        shift = field_of("kind", "nominal", sort=list(objectives))
        bars = {**axes, "color": kinds("kind", objectives), "yOffset": shift, "opacity": emphasised(1, 0.82)}
        whole = {**axes, "y": {"value": 0}, "y2": {"value": "height"}}
        panels.append({
            "title": grid + _short(item.stencil), "height": {"step": 26, "for": "position"}, "data": rows(data),
            "layer": [layer("rule", whole, [{"share": 1}], strokeDash=[2, 3]), layer("bar", bars, height=8)],
        })  # fmt: skip
    return Chart(
        "mapping-cost",
        "Messages between nodes of each mapping, relative to blocked",
        " ".join(
            f"{item.stencil}: best {item.best.algorithm} with J_sum {item.best.j_sum}, blocked has {blocked.j_sum}."
            for item, blocked in compared
            if blocked is not None
        ),
        panels, stops, least_px=290, most_columns=3, label_px=104, legend_px=240,
    )  # fmt: skip


def _short(stencil: str) -> str:
    """Cut a stencil's name where a list of offsets would be too long for a title."""
    return stencil if len(stencil) <= 28 else stencil[:27] + "..."


def _outgoing(instance: MappingInstance, whole: Cells, result: MappingResult) -> Mapping[int, int] | None:
    """Count the messages that leave each node, where the record says what the total is and it comes out."""
    try:
        offsets, _ = offsets_of(instance.stencil, whole.ndim)
    except (InputError, ValueError):
        return None
    counts: Counter[int] = Counter()
    for offset in offsets:
        here, there = _apart(whole, offset)
        nodes, times = np.unique(here[here != there], return_counts=True)
        counts.update(dict(zip(nodes.tolist(), times.tolist(), strict=True)))
    return counts if sum(counts.values()) == result.j_sum else None


def _apart(cells: Cells, offset: Sequence[int]) -> tuple[Cells, Cells]:
    """Return the cells that have one at an offset, and those that are there."""
    sizes = list(zip(offset, cells.shape, strict=True))
    here = cells[tuple(slice(max(0, -step), max(0, size - max(0, step))) for step, size in sizes)]
    there = cells[tuple(slice(max(0, step), max(0, size - max(0, -step))) for step, size in sizes)]
    return here, there


def _ranges(numbers: Sequence[int]) -> str:
    """Write sorted numbers as ranges, the first few of them: ``0–7, 50–57 and 4 more``."""
    ranges = list(spans(numbers))
    words = [str(low) if low == high else f"{low}–{high}" for low, high in ranges[:4]]
    return ", ".join(words) + (f" and {len(ranges) - 4} more runs" if len(ranges) > 4 else "")


def _ink_on(colour: str) -> str:
    """Return black or white, whichever is read on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _most(axes: int) -> tuple[int, ...]:
    return (_MOST_SLICES, _MOST_CELLS, _MOST_CELLS)[_MOST_AXES - axes :]


def _touching_nodes(cells: Cells) -> dict[int, set[int]]:
    ahead = [tuple(int(i == axis) for i in range(cells.ndim)) for axis in range(cells.ndim)]
    if cells.ndim >= 2:
        ahead += [(0,) * (cells.ndim - 2) + (1, 1), (0,) * (cells.ndim - 2) + (1, -1)]
    touching: dict[int, set[int]] = {int(node): set() for node in np.unique(cells)}
    for offset in ahead:
        here, there = _apart(cells, offset)
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


def rectangles_of(cells: Sequence[Sequence[int]]) -> list[tuple[int, int, int, int, int]]:
    """Return (node, x, y, width, height): runs along a row, merged with equal runs in the rows below."""
    found: list[tuple[int, int, int, int, int]] = []
    open_runs: dict[tuple[int, int, int], int] = {}  # (node, first column, length) -> first row
    for y, row in enumerate([*cells, []]):
        runs: dict[tuple[int, int, int], int] = {}
        start = 0
        for x in range(1, len(row) + 1):
            if x == len(row) or row[x] != row[start]:
                run = (row[start], start, x - start)
                runs[run] = open_runs.pop(run, y)
                start = x
        found += [(node, left, top, length, y - top) for (node, left, length), top in open_runs.items()]
        open_runs = runs
    return found


def borders_of(cells: Sequence[Sequence[int]], down: int, columns: int) -> list[tuple[int, int, int, int]]:
    """Return the lines (x, y, x2, y2) between cells of different nodes, each run of edges as one, and the frame."""
    across = [(first, y, last + 1, y) for y, first, last in _edges(cells)]
    upright = [(x, first, x, last + 1) for x, first, last in _edges(list(zip(*cells, strict=True)))]
    frame = [(0, 0, columns, 0), (0, down, columns, down), (0, 0, 0, down), (columns, 0, columns, down)]
    return [*across, *upright, *frame]


def _edges(cells: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Yield a row, and the first and last of a run of its cells, each of another node than the cell in the row before."""
    for y, (before, row) in enumerate(pairwise(cells), 1):
        for first, last in spans(x for x, (one, other) in enumerate(zip(before, row, strict=True)) if one != other):
            yield y, first, last
