"""A general graph partitioner as a mapping algorithm, to compare with: KaHIP (Sanders, Schulz 2013), made exact.

KaHIP is an optional extra (``pip install 'rankwise[graph]'``) and is imported only when the algorithm is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.problem import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def map_graph(problem: Problem, seed: int) -> NDArray[np.int32]:
    """Return the node of every cell: KaHIP's strong partition into equal parts, with exact sizes by repair.

    Raises InputError where KaHIP is not installed.
    """
    try:
        import kahip
    except ImportError:
        raise InputError("the algorithm graph needs KaHIP: install it with pip install 'rankwise[graph]'") from None
    import numpy as np

    node_sizes = problem.nodes
    first, others, heavy = _core.stencil_graph(problem.dims, problem.periodic, problem.offsets, problem.weights)
    if len(node_sizes) == 1 or len(others) == 0:
        parts = np.repeat(np.arange(len(node_sizes), dtype=np.int32), node_sizes)
    else:
        _, blocks = kahip.kaffpa(
            [1] * (len(first) - 1), first.tolist(), heavy.tolist(), others.tolist(), len(node_sizes), 0.0, True,
            seed, kahip.STRONG,
        )  # fmt: skip
        parts = np.array(blocks, dtype=np.int32)
    # Blocks come in no order of size: the largest goes to the largest node.
    held = np.bincount(parts, minlength=len(node_sizes))
    node_of_part = np.empty(len(node_sizes), dtype=np.int32)
    node_of_part[np.argsort(-held, kind="stable")] = np.argsort(-np.array(node_sizes), kind="stable")
    return _core.balance_map(
        problem.dims, node_sizes, problem.offsets, node_of_part[parts], problem.weights, problem.periodic
    )
