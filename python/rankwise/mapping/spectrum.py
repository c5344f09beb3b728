"""A lower bound by eigenvalues, for any stencil on a small grid: strongest where few nodes share it."""

from __future__ import annotations

import math

import numpy as np

from rankwise import _core
from rankwise.mapping.problem import Problem

MOST_CELLS = 600  # some 100 ms
_SHARES = (0.25, 0.45)
KIND = "spectral"


def spectral_bound(problem: Problem) -> int:
    """Return a J_sum that no mapping can fall below (Donath, Hoffman 1973); 0 for grids of more than MOST_CELLS cells.

    With x_i the cells of node i as zeros and ones and L the Laplacian of what is sent both ways, 2 J_sum is the sum of x_i' L x_i.
    The x_i are orthogonal, their squares the nodes' sizes: the least such sum gives the largest node the smallest eigenvalue, and so on.
    Any numbers may be added to L's diagonal and their sum be taken off: some of what cells at the border lack makes it sharper.
    """
    if problem.cells > MOST_CELLS:
        return 0
    first, others, both = _core.stencil_graph(problem.dims, problem.periodic, problem.offsets, problem.weights)
    laplacian = np.zeros((problem.cells, problem.cells))
    np.subtract.at(laplacian, (np.repeat(np.arange(problem.cells), np.diff(first)), others), both.astype(float))
    sent = -laplacian.sum(axis=1)
    laplacian[np.diag_indices(problem.cells)] += sent
    sizes = np.sort(problem.nodes)[::-1]
    lacking = sent.max(initial=0.0) - sent
    best = 0.0
    for share in _SHARES if lacking.any() else (0.0,):
        shifted = laplacian + np.diag(share * lacking)
        value = float(sizes @ np.linalg.eigvalsh(shifted)[: len(sizes)] - share * lacking.sum()) / 2
        best = max(best, value - 1e-9 * problem.cells * float(shifted.max()))
    return math.ceil(best)
