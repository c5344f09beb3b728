"""How long ranks take to compute their cells: section VI-E of Hunold et al. (2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.records import Record, key, record


@record
class Instantiation(Record):
    """How long a rank takes to compute its new cell: processor time of the slowest rank, and of the median one."""

    algorithm: str = key("id of the mapping")
    slowest_s: float = key("of the slowest rank")
    median_s: float = key("median of the ranks")
    ranks: int = key("how many of them were timed")


def instantiate(
    grid: Sequence[int], node_sizes: Sequence[int], stencil: str, algorithms: Sequence[str], repetitions: int = 5
) -> list[Instantiation]:
    """Time each algorithm as section VI-E of the paper does: each rank by itself, the slowest rank counts.

    Of several repetitions each rank's quickest is taken, and processor time instead of the clock's, so that what else
    the machine does is left out. Algorithms that search, of which one rank does the work for all, are timed once.
    """
    from rankwise import _core

    offsets, _ = _core.parse_stencil(stencil, len(grid))
    problem = _core.Problem(list(grid), list(node_sizes), offsets)
    found = []
    for entry in _core.mapping_algorithms():
        wanted = entry.name in algorithms or ("all" in algorithms and entry.in_all)
        if not wanted or (entry.equal_nodes and len(set(node_sizes)) > 1):
            continue
        ranks = list(range(sum(node_sizes))) if entry.local else [0]
        rounds = [problem.instantiation_s(entry.name, ranks) for _ in range(repetitions if entry.local else 1)]
        times_s = np.min(np.asarray(rounds, dtype=np.float64), axis=0)
        found.append(Instantiation(entry.name, float(times_s.max()), float(np.median(times_s)), len(ranks)))
    return found
