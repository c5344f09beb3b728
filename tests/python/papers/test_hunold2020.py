"""hunold2020 redone: its instances, its sentences, and ours beside the general mappers."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from breadth import ALL
from rankwise.factors import balanced_grid, divisors, factorisations
from rankwise.mapping.dims import count_factorisations
from rankwise.papers import hunold2020_scores as scores

SCORES = Path(__file__).parents[2] / "data" / "hunold2020_scores.csv"


def test_the_instances_are_those_of_the_published_scores() -> None:
    with SCORES.open() as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    published = {(row["nodes"], row["ranks_per_node"], row["grid"], row["stencil"]) for row in rows}
    ours = {
        (str(i.nodes), str(i.ranks_per_node), "x".join(map(str, i.grid)), i.stencil)
        for i in [*scores.instances(), *scores.throughput_instances()]
    }
    assert len(scores.instances()) == 432
    assert ours == published


def test_every_instance_has_all_three_general_mappers() -> None:
    for instance in [*scores.instances(), *scores.throughput_instances()]:
        assert scores.peers()[instance].keys() == {"viem", "kahip", "scotch"}


def test_refined_is_as_near_to_the_bound_as_promised() -> None:
    """Of each fifth instance; with RANKWISE_TEST_TIMES of all."""
    every = 1 if ALL else 5
    results = [scores.scored(instance) for instance in scores.instances()[::every]]
    most = {"nearest-neighbor": (1.015, 1.06), "nearest-neighbor-with-hops": (1.055, 1.095), "component": (1.0, 1.095)}
    for stencil, limits in most.items():
        for ndim, limit in zip((2, 3), limits, strict=True):
            group = [row for row in results if row.instance.stencil == stencil and len(row.instance.grid) == ndim]
            assert len(group) >= 72 // every
            assert sum(row.scores["refined"][0] for row in group) <= limit * sum(row.bound for row in group)
    for row in results:
        ours = row.scores["refined"][0]
        assert row.bound <= ours <= min(row.scores[name][0] for name in (*scores.PAPERS_ALGORITHMS, "blocked"))


def test_factorisations_are_all_there() -> None:
    for ranks in (1, 2, 7, 12, 48, 64, 97, 360):
        assert divisors(ranks) == [size for size in range(1, ranks + 1) if ranks % size == 0]
        for ndim in (1, 2, 3, 4):
            found = list(factorisations(ranks, ndim))
            assert len(found) == len(set(found)) == count_factorisations(ranks, ndim)
            assert all(math.prod(dims) == ranks for dims in found)
    assert balanced_grid(2400, 2) == (50, 48)
    assert balanced_grid(31 * 31, 3) == (31, 31, 1)
