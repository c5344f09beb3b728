"""How many ranks each node has, from the options that say so."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankwise.errors import InputError
from rankwise.units import parse_ints


def parse_node_sizes(grid: Sequence[int], nodes: int | None, ppn: int | None, node_sizes: str | None) -> list[int]:
    """Return the ranks of each node, as many in all as the grid has cells. Raises InputError."""
    return node_sizes_of(f"--grid {'x'.join(map(str, grid))} has", math.prod(grid), nodes, ppn, node_sizes)


def node_sizes_of(where: str, cells: int, nodes: int | None, ppn: int | None, node_sizes: str | None) -> list[int]:
    """Return the same for so many cells; ``where`` begins a complaint."""
    cells_text = f"{where} {cells} {'cells' if where.startswith('--grid') else 'ranks'}"
    if node_sizes is not None:
        if nodes is not None or ppn is not None:
            raise InputError("--node-sizes stands beside --nodes or --ppn: give either the one or the others")
        sizes = parse_ints(node_sizes, "--node-sizes")
        if sum(sizes) != cells:
            raise InputError(f"{cells_text} but --node-sizes sum to {sum(sizes)}: change one of them so that both are equal")
        return sizes
    if nodes is None or ppn is None:
        raise InputError("the nodes are missing: give --nodes and --ppn, or --node-sizes")
    for option, value in (("--nodes", nodes), ("--ppn", ppn)):
        if value < 1:
            raise InputError(f"{option} {value} is too small: it must be at least 1")
    if nodes > cells:
        raise InputError(f"{cells_text}, fewer than --nodes {nodes}: give at most one node a cell")
    if nodes * ppn != cells:
        raise InputError(
            f"{cells_text} but --nodes {nodes} x --ppn {ppn} are {nodes * ppn} ranks: change one of them so that both "
            "are equal, or list unequal nodes with --node-sizes"
        )
    if nodes >= 2**31:
        raise InputError(f"--nodes {nodes} is too large: it must be below 2^31")
    return [ppn] * nodes
