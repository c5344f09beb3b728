"""Which host takes which node of a map: nodes that talk much to each other go below one switch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.levels import Above
from rankwise.mapping.mapper import Mappings

_STEPS = 20_000_000


def order_hosts(mappings: Mappings, hosts: Sequence[str], above: Sequence[Above]) -> list[str]:
    """Return the hosts in the order of the best map's nodes, so that little goes between the units of ``above``.

    Only whole nodes change their places. Raises InputError where nodes are of several sizes, as a host's slots are its own.
    """
    sizes, best = mappings.nodes, mappings.best.node_of_cell
    assert best is not None
    if not above:
        return list(hosts)
    if len(set(sizes)) > 1:
        raise InputError(
            "a grid's nodes are ordered by switches where all are of one size: leave --topology and the levels above the node "
            "out"
        )
    offsets = [list(offset) for offset in mappings.offsets]
    first, others, weights = _core.stencil_graph(list(mappings.grid), list(mappings.periodic), offsets, list(mappings.weights))
    count = len(sizes)
    own, other = best[np.repeat(np.arange(len(first) - 1), np.diff(first))].astype(np.int64), best[others]
    apart = own != other
    keys, inverse = np.unique(own[apart] * count + other[apart], return_inverse=True)
    sums = np.bincount(inverse, weights[apart], len(keys))
    sums = np.maximum(1, np.floor(sums / max(1.0, float(sums.sum()) / 2**30)))
    pointer = np.searchsorted(keys, np.arange(count + 1) * count).astype(np.int32)
    units = np.array(above[0].unit_of_node)
    room = np.bincount(units).tolist()
    outer = [[level.unit_of_node[int(np.flatnonzero(units == unit)[0])] for unit in range(len(room))] for level in above[1:]]
    costs = [level.cost for level in above]
    unit_of_node = _core.map_graph(
        pointer, (keys % count).astype(np.int32), sums.astype(np.int32), room, outer, costs, (_STEPS, 1, 0.0, 1)
    )
    result = [""] * count
    for unit in range(len(room)):
        for node, place in zip(np.flatnonzero(unit_of_node == unit), np.flatnonzero(units == unit), strict=True):
            result[int(node)] = hosts[int(place)]
    return result
