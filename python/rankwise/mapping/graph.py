"""A general graph partitioner as a mapping algorithm, to compare with: KaHIP (Sanders, Schulz 2013), made exact.

KaHIP is an optional extra (``pip install 'rankwise[graph]'``) and is imported only when the algorithm is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankwise.errors import InputError
from rankwise.mapping.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray


def map_graph(problem: Problem, seed: int) -> NDArray[np.int32]:
    """Return the node of every cell: KaHIP's strong partition into equal parts, with exact sizes by repair.

    Raises InputError where KaHIP is not installed.
    """
    first, others, heavy = problem.core.stencil_graph()
    nodes = divided_by_kahip(first, others, heavy, problem.nodes, seed)
    return problem.core.balance_map(nodes)


def divided_by_kahip(
    first: NDArray[np.int32], others: NDArray[np.int32], heavy: NDArray[np.int32], node_sizes: Sequence[int], seed: int
) -> NDArray[np.int32]:
    """Return KaHIP's part of each vertex of a graph in compressed rows; parts are nearly equal, the largest for the largest
    node.

    Raises InputError where KaHIP is not installed.
    """
    try:
        import kahip
    except ImportError:
        raise InputError("the algorithm graph needs KaHIP: install it with pip install 'rankwise[graph]'") from None
    if len(node_sizes) == 1 or len(others) == 0:
        return np.repeat(np.arange(len(node_sizes), dtype=np.int32), node_sizes)
    _, blocks = kahip.kaffpa(
        [1] * (len(first) - 1), first.tolist(), heavy.tolist(), others.tolist(), len(node_sizes), 0.0, True,
        seed, kahip.STRONG,
    )  # fmt: skip
    parts = np.array(blocks, dtype=np.int32)
    # Blocks come in no order of size.
    held = np.bincount(parts, minlength=len(node_sizes))
    node_of_part = np.empty(len(node_sizes), dtype=np.int32)
    node_of_part[np.argsort(-held, kind="stable")] = np.argsort(-np.array(node_sizes), kind="stable")
    return node_of_part[parts]
