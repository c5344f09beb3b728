"""Which node of a map stands where: nodes that talk much to each other go below one switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.levels import Above
from rankwise.mapping.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS = 20_000_000
_WORTH_SWEEPS = 10_000  # of all pairs of nodes that talk


def require_alike(sizes: Sequence[int]) -> None:
    """Raise InputError where nodes are of several sizes: they cannot change their places, as a host's slots are its own."""
    if len(set(sizes)) > 1:
        raise InputError(
            "a grid's nodes are ordered by switches where all are of one size: leave --topology and the levels above the node "
            "out"
        )


def seat_nodes(problem: Problem, node_of_cell: NDArray[np.int32], above: Sequence[Above]) -> NDArray[np.int32]:
    """Return a map with its nodes, all of one size, renumbered so that little goes between the units of ``above`` (at least one
    level). Only whole nodes change their places.
    """
    first, others, weights = _core.stencil_graph(problem.dims, problem.periodic, problem.offsets, problem.weights)
    count = len(problem.nodes)
    own, other = node_of_cell[np.repeat(np.arange(len(first) - 1), np.diff(first))].astype(np.int64), node_of_cell[others]
    apart = own != other
    keys, inverse = np.unique(own[apart] * count + other[apart], return_inverse=True)
    sums = np.bincount(inverse, weights[apart], len(keys))
    sums = np.maximum(1, np.floor(sums / max(1.0, float(sums.sum()) / 2**30)))
    pointer = np.searchsorted(keys, np.arange(count + 1) * count).astype(np.int32)
    units = np.array(above[0].unit_of_node)
    room = np.bincount(units).tolist()
    outer = [[level.unit_of_node[int(np.flatnonzero(units == unit)[0])] for unit in range(len(room))] for level in above[1:]]
    costs = [level.cost for level in above]
    steps = min(_STEPS, _WORTH_SWEEPS * (len(keys) + count))
    unit_of_node = _core.map_graph(
        pointer, (keys % count).astype(np.int32), sums.astype(np.int32), room, outer, costs, (steps, 1, 0.0, 1)
    )
    seat = np.empty(count, np.int32)
    for unit in range(len(room)):
        seat[np.flatnonzero(unit_of_node == unit)] = np.flatnonzero(units == unit)
    return seat[node_of_cell]
