"""The proven optimum of tiny mapping problems, as an integer program."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise import _core

if TYPE_CHECKING:
    from rankwise.arrays import Array

MOST_CELLS = 36
MOST_EDGE_VARIABLES = 2000
MOST_SECONDS = 60.0  # of a proof


def is_tiny(cells: int, nodes: int, offsets: int) -> bool:
    """Whether the optimum of a problem of that size can be had in seconds."""
    return cells <= MOST_CELLS and cells * nodes * offsets <= MOST_EDGE_VARIABLES


def proven_optimum(
    dims: Sequence[int],
    node_sizes: Sequence[int],
    offsets: Sequence[Sequence[int]],
    weights: Sequence[int],
    periodic: Sequence[bool],
    most_seconds: float = MOST_SECONDS,
) -> int | None:
    """Return the least J_sum that any mapping has, or None where it cannot be proved within the time."""
    edges = (values.tolist() for values in edges_of(dims, offsets, weights, periodic))
    between = {(u, v): weight for u, v, weight in zip(*edges, strict=True)}
    _, optimum = least_cut(math.prod(dims), between, node_sizes, most_seconds)
    return None if optimum is None else round(optimum)


def edges_of(
    dims: Sequence[int], offsets: Sequence[Sequence[int]], weights: Sequence[int], periodic: Sequence[bool]
) -> tuple[Array, Array, Array]:
    """Return the edges of a stencil on a grid: both cells, the lesser first, and what they send each other."""
    first, others, both = _core.Problem(dims, [math.prod(dims)], offsets, weights, periodic).stencil_graph()
    cell = np.repeat(np.arange(len(first) - 1), np.diff(first))
    once = cell < others
    return cell[once], others[once], both[once]


def least_cut(
    cells: int,
    between: Mapping[tuple[int, int], float],
    node_sizes: Sequence[int],
    most_seconds: float = MOST_SECONDS,
    most_tries: int | None = None,
) -> tuple[float, float | None]:
    """Return what no division of cells among nodes cuts less than, and the least cut, to 0.01 %; None where it was not found.

    ``between``: the weight of each edge (two cells, the lesser first). One binary variable for each cell and node says who
    holds whom; one for each edge and node is at least 1 where the node holds the one end and not the other. ``most_tries``:
    branches (None: as many as the time allows).
    """
    from highspy import HighsModelStatus, HighsVarType, _Highs  # type: ignore[attr-defined]

    nodes = len(node_sizes)
    if nodes == 1 or not between:
        return 0.0, 0.0
    placed = cells * nodes
    edges = list(between.items())
    count = placed + len(edges) * nodes
    upper = np.ones(count)
    if len(set(node_sizes)) == 1:
        # Nodes of equal size are interchangeable: cell i may take one of the nodes 0 to i.
        for cell_id in range(min(nodes, cells)):
            upper[cell_id * nodes + cell_id + 1 : (cell_id + 1) * nodes] = 0
    solver = _Highs()  # Highs prints a line when it is made
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", most_seconds)
    if most_tries is not None:
        solver.setOptionValue("mip_max_nodes", most_tries)
    solver.addVars(count, np.zeros(count), upper)
    solver.changeColsIntegrality(placed, np.arange(placed, dtype=np.int32), np.full(placed, HighsVarType.kInteger))

    def constrain(terms: Sequence[tuple[int, float]], low: float, high: float) -> None:
        columns, values = zip(*terms, strict=True)
        solver.addRow(low, high, len(terms), columns, values)

    for cell_id in range(cells):
        constrain([(cell_id * nodes + node, 1) for node in range(nodes)], 1, 1)
    for node, size in enumerate(node_sizes):
        constrain([(cell_id * nodes + node, 1) for cell_id in range(cells)], size, size)
    for e, ((u, v), weight) in enumerate(edges):
        for node in range(nodes):
            cut = placed + e * nodes + node
            solver.changeColCost(cut, weight / 2)  # a cut edge is left by one node and entered by another
            constrain([(cut, 1), (u * nodes + node, -1), (v * nodes + node, 1)], 0, np.inf)
            constrain([(cut, 1), (u * nodes + node, 1), (v * nodes + node, -1)], 0, np.inf)
    solver.run()
    found = solver.getInfo()
    proved = solver.getModelStatus() == HighsModelStatus.kOptimal
    return max(0.0, found.mip_dual_bound), found.objective_function_value if proved else None


if __name__ == "__main__":  # a problem as JSON: api/placing.py
    asked = json.loads(sys.argv[1])
    dims, nodes, offsets, weights, periodic = (asked[key] for key in ("dims", "nodes", "offsets", "weights", "periodic"))
    print(json.dumps(proven_optimum(dims, nodes, offsets, weights, periodic, asked["most_seconds"])))
