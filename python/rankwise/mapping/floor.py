"""What no placement can fall below: a proven least of what crosses between nodes, of any weighted traffic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise import _core
from rankwise.mapping.optimum import edges_of, least_cut
from rankwise.mapping.problem import Problem

if TYPE_CHECKING:
    from rankwise.arrays import Array
    from rankwise.observe.pattern import Pattern

NOTHING, PARTNERS, SPECTRUM, GRID, PROGRAM = "nothing", "partners", "spectrum", "grid", "program"
_MOST_RANKS = 1024  # of which the spectrum is taken
_MOST_CELLS = 300
_SHARES = (0.0, 0.4, 1.0)  # of what ranks send less than the mean, on the diagonal at first
_CLIMBS = {128: 6, _MOST_RANKS: 1}  # from each start, with up to so many ranks
_MOST_VARIABLES = 320  # of the integer program: more take minutes
_MOST_TRIES = 500  # branches of it, so that the same input has the same floor on any machine
_REACHED = 0.9999
_LARGEST = 2.0**20  # to which the weights of a stencil are scaled
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Floor:
    """What crosses at least, in the unit of the weights, and the argument that proves it.

    ``partners``: of each rank all but the heaviest partners that fit next to it on the largest node leave it. ``spectrum``: the
    eigenvalues of the graph (Donath, Hoffman 1973, "Lower bounds for the partitioning of graphs"). ``grid``: the bound of
    the stencil that is in the traffic (see src/mapping/isoperimetry.hpp). ``program``: an integer program, as far as it was
    solved.
    """

    least: float
    kind: str


def least_crossing(
    pairs: tuple[Array, Array, Array], sizes: Sequence[int], grid: Pattern | None = None, node_of_rank: Array | None = None
) -> Floor:
    """Return the greatest floor known of the weight between nodes that hold so many ranks.

    ``pairs``: senders, receivers and weights (at least 0, of any unit), a pair of ranks once at most. ``grid``: along whose
    offsets ranks send. ``node_of_rank``: a good placement; no more is tried where it is known to be the best.
    """
    source, dest, weight = (np.asarray(values) for values in pairs)
    ranks = sum(sizes)
    kept = (source != dest) & (weight > 0)
    if len(sizes) < 2 or not kept.any():
        return Floor(0.0, NOTHING)
    source, dest, weight = source[kept].astype(np.int64), dest[kept].astype(np.int64), weight[kept].astype(float)
    low, high = np.minimum(source, dest), np.maximum(source, dest)
    keys, inverse = np.unique(low * ranks + high, return_inverse=True)
    both = np.bincount(inverse.reshape(-1), weight)
    edges = (keys // ranks, keys % ranks, both)
    known = float(both.sum())
    if node_of_rank is not None:
        known = float(both[node_of_rank[edges[0]] != node_of_rank[edges[1]]].sum())
    best = Floor(0.0, NOTHING)
    arguments: tuple[tuple[str, Callable[[], float]], ...] = (
        (PARTNERS, lambda: by_partners(edges, sizes)),
        (GRID, lambda: _by_grid((source, dest, weight), sizes, grid)),
        (SPECTRUM, lambda: by_spectrum(edges, sizes)),
        (PROGRAM, lambda: by_program(edges, sizes)),
    )
    for kind, argument in arguments:
        if best.least < _REACHED * known and (found := argument()) > best.least:
            best = Floor(found, kind)
    return best


def by_partners(edges: tuple[Array, Array, Array], sizes: Sequence[int]) -> float:
    """Return half of what the ranks lose that keep their heaviest partners, each as if it could choose for itself."""
    low, high, weight = edges
    rank, lost = np.concatenate((low, high)), np.concatenate((weight, weight))
    order = np.lexsort((-lost, rank))
    rank, lost = rank[order], lost[order]
    place = np.arange(len(rank)) - np.searchsorted(rank, rank)
    return float(lost[place >= max(sizes) - 1].sum()) / 2 * (1 - _ROUNDING)


def by_spectrum(edges: tuple[Array, Array, Array], sizes: Sequence[int], most_climbs: int = 6) -> float:
    """Return the bound by eigenvalues, with weights on the diagonal that are moved to where it is great.

    Let X have a unit column for each node, its entry 1/sqrt(n) at each of the node's n ranks. With the Laplacian L and any
    diagonal U, twice the cut is the sum of n_i x_i'(L + U) x_i over all nodes, less the trace of U; the columns are
    orthonormal, hence that is at least the sum of n_i times the i-th least eigenvalue, the largest nodes first.
    """
    low, high, weight = edges
    ranks, scale = sum(sizes), float(weight.max())
    climbs = min(most_climbs, next((count for most, count in _CLIMBS.items() if ranks <= most), 0))
    if not climbs:
        return 0.0
    laplacian = np.zeros((ranks, ranks))
    np.add.at(laplacian, (low, high), -weight / scale)
    laplacian += laplacian.T
    degree = -laplacian.sum(axis=1)
    np.fill_diagonal(laplacian, degree)
    held = np.sort(np.asarray(sizes, float))[::-1]
    best, step = 0.0, 0.5 * float(degree.mean())
    shares = _SHARES if float(np.ptp(degree)) > 0 else (0.0,)
    for diagonal in [share * (degree.mean() - degree) for share in shares]:
        for climb in range(climbs):
            shifted = laplacian + np.diag(diagonal)
            last = climb == climbs - 1
            values, vectors = (np.linalg.eigvalsh(shifted), None) if last else np.linalg.eigh(shifted)
            err = 10 * ranks * np.finfo(float).eps * float(np.abs(values).max()) * ranks
            best = max(best, (float(held @ values[: len(held)]) - float(diagonal.sum()) - err) / 2)
            if vectors is None:
                break
            slope = (vectors[:, : len(held)] ** 2) @ held - 1
            if not slope.any():
                break
            diagonal = diagonal + step / (climb + 1) * slope / float(np.abs(slope).max())
    return best * scale * (1 - _ROUNDING)


def spectral_bound(problem: Problem) -> int:
    """Return by_spectrum's bound on the J_sum of a grid; 0 for more than 300 cells, which take too long."""
    if problem.cells > _MOST_CELLS:
        return 0
    low, high, weight = edges_of(problem.dims, problem.offsets, problem.weights, problem.periodic)
    return math.ceil(by_spectrum((low, high, weight.astype(float)), problem.nodes, most_climbs=1)) if len(low) else 0


def by_program(edges: tuple[Array, Array, Array], sizes: Sequence[int]) -> float:
    """Return what an integer program proves, of small graphs."""
    ranks, scale = sum(sizes), float(edges[2].max())
    if (ranks + len(edges[0])) * len(sizes) > _MOST_VARIABLES:
        return 0.0
    between = {(int(u), int(v)): float(w) / scale for u, v, w in zip(*edges, strict=True)}
    bound, _ = least_cut(ranks, between, sizes, most_tries=_MOST_TRIES)
    return bound * scale * (1 - 1e-6)  # its tolerance


def _by_grid(pairs: tuple[Array, Array, Array], sizes: Sequence[int], grid: Pattern | None) -> float:
    """Return the bound of the stencil whose weights every pair along an offset has at least."""
    if grid is None or not grid.dims:
        return 0.0
    source, dest, weight = pairs
    dims, ranks = np.array(grid.dims), sum(sizes)
    cell_of_rank = np.asarray(grid.cell_of_rank, np.int64)
    if len(cell_of_rank) != ranks or int(dims.prod()) != ranks:
        return 0.0
    order = np.argsort(source * ranks + dest)
    keys, weight = (source * ranks + dest)[order], weight[order]
    rank_of_cell = np.empty(ranks, np.int64)
    rank_of_cell[cell_of_rank] = np.arange(ranks)
    places = np.stack(np.unravel_index(np.arange(ranks), grid.dims), axis=1)
    claims = np.zeros(len(keys))
    along: list[Array | None] = []
    for offset in grid.offsets:
        moved = places + np.array(offset)
        inside = (((moved >= 0) & (moved < dims)) | np.array(grid.periodic)).all(axis=1)
        other = np.ravel_multi_index(tuple((moved % dims).T), grid.dims)
        inside &= other != np.arange(ranks)
        wanted = rank_of_cell[inside.nonzero()[0]] * ranks + rank_of_cell[other[inside]]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        known = bool(len(wanted)) and bool((keys[at] == wanted).all())
        along.append(at if known else None)
        if known:
            claims[at] += 1  # halfway around an axis two offsets lead to one rank, and share what the pair sends
    least = [0.0 if at is None else float((weight[at] / claims[at]).min()) for at in along]
    scale = _LARGEST / max(1e-300, *least)
    whole = [int(value * scale) for value in least]
    offsets = [list(offset) for offset, value in zip(grid.offsets, whole, strict=True) if value]
    if not offsets:
        return 0.0
    weights = [value for value in whole if value]
    bound, _ = _core.Problem(list(grid.dims), list(sizes), offsets, weights, list(grid.periodic)).lower_bound()
    return bound / scale * (1 - _ROUNDING)
