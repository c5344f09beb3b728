"""Hunold et al. 2020: the instances of section VI-C, the throughput grids of VI-D, and what mappers score on them.

The paper's algorithms and ours run here anew; the general mappers were measured (hunold2020_peers.csv). The paper's list of
node counts ends in 33 where it says 144 instances: 144 = 8 * 9 * 2 needs eight counts, 10 to 31.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from rankwise.mapping import How, map_grid
from rankwise.mapping.mapper import steps_of
from rankwise.papers import printed
from rankwise.papers.hunold2020_times import GRIDS, STENCILS
from rankwise.records import Record, computed, key, record
from rankwise.workloads.exchange import balanced_grid

NODES = tuple(range(10, 32, 3))
RANKS_PER_NODE = (*range(10, 32, 3), 32)
PAPERS_ALGORITHMS = ("hyperplane", "kd-tree", "stencil-strips", "nodecart")
OURS = ("refined",)
GENERAL = ("viem", "kahip", "scotch")
SHOWN = ("blocked", *PAPERS_ALGORITHMS, *GENERAL, *OURS)
COMPARED = SHOWN[1:]
EFFORT_S = 0.01

Scores = dict[str, tuple[int, int]]  # J_sum and J_max by mapper


@record
class Instance(Record):
    """One process grid on so many nodes with one stencil."""

    nodes: int = key("nodes that the grid is placed on")
    ranks_per_node: int = key("ranks on each node")
    grid: tuple[int, ...] = key("ranks along each axis", shape=Sequence[int])
    stencil: str = key("stencil that is mapped")


@record
class Score(Record):
    """What a mapping sends between nodes."""

    j_sum: int = key("messages between nodes, in all")
    j_max: int = key("those of the node that sends most")


def _scores(scores: Scores) -> dict[str, Score]:
    return {mapper: Score(*scores[mapper]) for mapper in SHOWN}


@record
class Scored(Record):
    """An instance with the scores of all mappers and the lower bound of J_sum."""

    instance: Instance = key(inline=True)
    scores: Scores = key("J_sum and J_max of each mapper", write=_scores, shape=Mapping[str, Score], after="bound")
    bound: int = key("messages between nodes that no mapping falls below, in all")


def instances() -> list[Instance]:
    """The 144 grids of section VI-C with each of the three stencils."""
    return [
        Instance(nodes, ppn, balanced_grid(nodes * ppn, ndim), stencil)
        for stencil in STENCILS
        for ndim in (2, 3)
        for nodes in NODES
        for ppn in RANKS_PER_NODE
    ]


def throughput_instances() -> list[Instance]:
    """The two grids of section VI-D with each of the three stencils."""
    return [Instance(nodes, 48, grid, stencil) for nodes, grid in GRIDS.items() for stencil in STENCILS]


@cache
def peers() -> dict[Instance, Scores]:
    """What the general mappers reach."""
    found: dict[Instance, Scores] = {}
    for row in printed("hunold2020_peers"):
        instance = Instance(row["nodes"], row["ranks_per_node"], row["grid"], row["stencil"])
        found.setdefault(instance, {})[row["mapper"]] = (row["j_sum"], row["j_max"])
    return found


def scored(instance: Instance, effort_s: float = EFFORT_S) -> Scored:
    """Run the paper's algorithms and ours on an instance, and look up the general mappers."""
    mappings = map_grid(
        instance.grid,
        [instance.ranks_per_node] * instance.nodes,
        instance.stencil,
        algorithms=["blocked", *PAPERS_ALGORITHMS, *OURS],
        how=How(keep_maps=False, steps=steps_of(effort_s)),
    )
    own = {result.algorithm: (result.j_sum, result.j_max) for result in mappings.results}
    return Scored(instance, own | peers()[instance], mappings.bound)


@record
class Distribution(Record):
    """Reductions over blocked of one mapper with one stencil: the median with its 95 % notch, and the quartiles."""

    stencil: str = key("stencil of the instances")
    objective: str = key("what is reduced: j_sum or j_max")
    mapper: str = key("mapper that reduces it")
    reductions: tuple[float, ...]
    median: float = key("median of the objective relative to blocked")
    notch: tuple[float, float] = key("95 % interval of the median")
    quartiles: tuple[float, float] = key("lower and upper quartile of the objective relative to blocked")
    instances = computed("instances that the distribution is of", int, lambda of: len(of.reductions))

    @staticmethod
    def of(stencil: str, objective: str, mapper: str, reductions: Sequence[float]) -> Distribution:
        low, median, high = (float(value) for value in np.percentile(reductions, [25, 50, 75]))
        # The notch of a box plot (McGill, Tukey, Larsen 1978): a Gaussian approximation from the quartiles.
        half = 1.57 * (high - low) / math.sqrt(len(reductions))
        return Distribution(stencil, objective, mapper, tuple(reductions), median, (median - half, median + half), (low, high))

    def overlaps(self, other: Distribution) -> bool:
        return self.notch[0] <= other.notch[1] and other.notch[0] <= self.notch[1]

    def clearly_below(self, other: Distribution) -> bool:
        return self.notch[1] < other.notch[0]


def distributions(results: Sequence[Scored]) -> dict[tuple[str, str, str], Distribution]:
    """Figure 8: for each stencil, objective and mapper the reductions over blocked.

    An instance in which blocked sends nothing has no reduction and is left out.
    """
    found = {}
    for stencil in STENCILS:
        rows = [row for row in results if row.instance.stencil == stencil]
        for index, objective in enumerate(("j_sum", "j_max")):
            for mapper in COMPARED:
                values = [
                    row.scores[mapper][index] / row.scores["blocked"][index] for row in rows if row.scores["blocked"][index] > 0
                ]
                found[stencil, objective, mapper] = Distribution.of(stencil, objective, mapper, values)
    return found
