"""Fewer ranks than slots: which nodes, and how many slots of the others, to leave out.

How many ranks each node has, from the options that say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.errors import InputError
from rankwise.mapping.mapper import DEFAULT_BYTES, How, best_of, map_grid, steps_of
from rankwise.records import Record, key, record
from rankwise.units import parse_ints

if TYPE_CHECKING:
    from rankwise.mapping.mapper import StepPricer

_MORE_NODES = 3
_EFFORT_S = 0.01


@record
class Left(Record):
    """A node with free places."""

    node: int = key("place of the node in the list")
    ranks: int = key("ranks on the node")
    free: int = key("free places")


@dataclass(frozen=True)
class Slots:
    """Ranks given to each node, 0 where a node is left out; ``free`` holds what stays free on each."""

    ranks: tuple[int, ...]
    free: tuple[int, ...]

    @property
    def kept(self) -> list[int]:
        """The nodes that hold ranks, from 0."""
        return [node for node, ranks in enumerate(self.ranks) if ranks]

    @property
    def left_out(self) -> list[Left]:
        return [Left(node, self.ranks[node], free) for node, free in enumerate(self.free) if free]


def ways_to_fill(slots: Sequence[int], ranks: int) -> list[tuple[int, ...]]:
    """Return candidates for the ranks of each node, none twice: the fewest nodes, filled one after the other or evenly, a few
    nodes more, and all nodes evenly. Larger nodes come first, of equals the first. Raises InputError.
    """
    if any(size < 1 for size in slots):
        raise InputError("--slots must be at least 1 on each node: leave empty nodes out")
    if ranks > sum(slots):
        raise InputError(f"the grid has {ranks} cells but --slots sum to {sum(slots)}: give more slots or a smaller grid")
    order = sorted(range(len(slots)), key=lambda node: -slots[node])
    fewest = 1
    while sum(slots[node] for node in order[:fewest]) < ranks:
        fewest += 1
    found = [_in_turn(slots, order[:fewest], ranks)]
    for count in [*range(fewest, min(fewest + _MORE_NODES, len(slots)) + 1), len(slots)]:
        if count <= ranks:
            found.append(_evenly(slots, order[:count], ranks))
    return list(dict.fromkeys(found))


def choose_slots(
    grid: Sequence[int],
    slots: Sequence[int],
    stencil: str,
    periodic: Sequence[bool],
    weights: Sequence[int] | None = None,
    message_bytes: int = DEFAULT_BYTES,
    price: StepPricer | None = None,
) -> Slots:
    """Choose how many ranks each node gets: those whose mapping sends least between nodes, or takes least time by ``price``."""
    ways = ways_to_fill(slots, math.prod(grid))
    results = [
        map_grid(
            grid, [size for size in way if size], stencil, periodic, ["auto"], how=How(keep_maps=False, weights=weights,
            steps=steps_of(_EFFORT_S), message_bytes=message_bytes, price=price),
        ).results[0]
        for way in ways
    ]  # fmt: skip
    best = ways[results.index(best_of(results))]
    return Slots(best, tuple(size - given for size, given in zip(slots, best, strict=True)))


def _in_turn(slots: Sequence[int], nodes: Sequence[int], ranks: int) -> tuple[int, ...]:
    given = [0] * len(slots)
    for node in nodes:
        given[node] = min(slots[node], ranks)
        ranks -= given[node]
    return tuple(given)


def _evenly(slots: Sequence[int], nodes: Sequence[int], ranks: int) -> tuple[int, ...]:
    """As even as the slots allow: the smallest nodes are filled first where they hold less than their share."""
    given = [0] * len(slots)
    for left, node in zip(range(len(nodes), 0, -1), sorted(nodes, key=lambda node: (slots[node], node)), strict=True):
        given[node] = min(slots[node], -(-ranks // left))
        ranks -= given[node]
    return tuple(given)


def _equal(cells: int, nodes: int, ppn: int) -> str:
    """Say what would make nodes of equal size fit, where something does."""
    fits = [f"--ppn {cells // nodes}"] * (cells % nodes == 0) + [f"--nodes {cells // ppn}"] * (cells % ppn == 0)
    return f"give {', '.join(fits)}, or " if fits else ""


def parse_node_sizes(grid: Sequence[int], nodes: int | None, ppn: int | None, node_sizes: str | None) -> list[int]:
    """Return the ranks of each node, as many in all as the grid has cells. Raises InputError."""
    return node_sizes_of(f"--grid {'x'.join(map(str, grid))} has", math.prod(grid), nodes, ppn, node_sizes)


def node_sizes_of(where: str, cells: int, nodes: int | None, ppn: int | None, node_sizes: str | None) -> list[int]:
    """Return the same for so many cells; ``where`` begins a complaint."""
    cells_text = f"{where} {cells} {'cells' if where.startswith('--grid') else 'ranks'}"
    if node_sizes is not None:
        if nodes is not None or ppn is not None:
            raise InputError("--node-sizes excludes --nodes and --ppn: give either the one or the others")
        sizes = parse_ints(node_sizes, "--node-sizes")
        if sum(sizes) != cells:
            raise InputError(f"{cells_text} but --node-sizes sum to {sum(sizes)}: change one of them so that both are equal")
        return sizes
    if nodes is None and ppn is None:
        raise InputError("the nodes are missing: give --nodes or --ppn, or --node-sizes")
    for option, value in (("--nodes", nodes), ("--ppn", ppn)):
        if value is not None and value < 1:
            raise InputError(f"{option} {value} is too small: it must be at least 1")
    if nodes is None or ppn is None:
        option, given = ("--ppn", ppn or 1) if nodes is None else ("--nodes", nodes)
        if given <= cells and cells % given:
            raise InputError(f"{cells_text}, which {option} {given} does not divide: list unequal nodes with --node-sizes")
        other = max(1, cells // given)
        nodes, ppn = (other, given) if nodes is None else (given, other)
    if nodes > cells:
        raise InputError(f"{cells_text}, fewer than --nodes {nodes}: give at most one node a cell")
    if nodes * ppn != cells:
        raise InputError(
            f"{cells_text} but --nodes {nodes} x --ppn {ppn} are {nodes * ppn} ranks: {_equal(cells, nodes, ppn)}list unequal "
            "nodes with --node-sizes"
        )
    if nodes >= 2**31:
        raise InputError(f"--nodes {nodes} is too large: it must be below 2^31")
    return [ppn] * nodes
