"""Grids are found in traffic, whatever the numbering; what is no grid is not taken for one."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breadth import TIMES, some
from rankwise.advise.evidence import evidence_of
from rankwise.errors import InputError
from rankwise.observe.pattern import find_pattern
from synthetic_events import Op, recorded

Flows = dict[tuple[int, int], tuple[int, int]]
NEAREST_3D = [o for o in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, o)) == 1]
MOORE_2D = [o for o in itertools.product((-1, 0, 1), repeat=2) if any(o)]


@dataclass
class Matrix:
    pointer: Any
    peer: Any
    messages: Any
    bytes: Any


def matrix(ranks: int, flows: Flows) -> Matrix:
    pairs = sorted(flows)
    pointer = np.searchsorted([pair[0] for pair in pairs], np.arange(ranks + 1))
    return Matrix(pointer, [pair[1] for pair in pairs], [flows[p][0] for p in pairs], [flows[p][1] for p in pairs])


def halo(dims: tuple[int, ...], periodic: tuple[bool, ...], sizes: dict[tuple[int, ...], int], rank: Any = None) -> Flows:
    """Return 10 messages along each offset; ``rank``: of each row-major cell."""
    rank = range(math.prod(dims)) if rank is None else rank
    flows: Flows = {}
    for cell in np.ndindex(*dims):
        for offset, size in sizes.items():
            to = [c + o for c, o in zip(cell, offset, strict=True)]
            if any(not p and not 0 <= t < d for t, p, d in zip(to, periodic, dims, strict=True)):
                continue
            peer = [t % d for t, d in zip(to, dims, strict=True)]
            pair = int(rank[np.ravel_multi_index(cell, dims)]), int(rank[np.ravel_multi_index(peer, dims)])
            messages, volume = flows.get(pair, (0, 0))
            if pair[0] != pair[1]:
                flows[pair] = messages + 10, volume + 10 * size
    return flows


def test_a_periodic_halo_with_a_ring_of_two_is_told_in_words() -> None:
    face = {0: 49_000, 1: 70_000, 2: 100_000}
    sizes = {o: face[next(i for i, step in enumerate(o) if step)] for o in NEAREST_3D}
    found = find_pattern(matrix(24, halo((4, 3, 2), (True, True, True), sizes)))
    assert (found.kind, found.dims, found.periodic) == ("grid", (4, 3, 2), (True, True, True))
    assert sorted(found.offsets) == sorted(NEAREST_3D)
    assert dict(zip(found.offsets, found.weights, strict=True)) == {o: 10 * s for o, s in sizes.items()}
    assert found.words == "3-D halo of 6 neighbours, grid 4x3x2, periodic: faces of 49 kB to 100 kB"
    assert found.explained == 1
    assert found.natural
    assert found.to_dict()["offsets"][0] == list(found.offsets[0])


@pytest.mark.parametrize(
    ("ranks", "dims"), [(8, (2, 2, 2)), (12, (3, 2, 2)), (12, (2, 2, 3)), (16, (4, 2, 2)), (16, (2, 2, 4)), (4, (4,))]
)
def test_few_ranks_have_a_grid_too(ranks: int, dims: tuple[int, ...]) -> None:
    unit = {tuple(s * (i == a) for i in range(len(dims))): 1000 * (a + 1) for a in range(len(dims)) for s in (1, -1)}
    found = find_pattern(matrix(ranks, halo(dims, (True,) * len(dims), unit)))
    assert (found.kind, found.dims) == ("grid", dims)
    assert found.explained == 1
    assert all(wraps for wraps, dim in zip(found.periodic, dims, strict=True) if dim > 2)


@settings(max_examples=20, deadline=None)
@given(
    dims=st.lists(st.integers(3, 7), min_size=2, max_size=3),
    periodic=st.lists(st.booleans(), min_size=3, max_size=3),
    weights=st.lists(st.integers(1, 9), min_size=3, max_size=3),
    seed=st.integers(0, 99),
)
def test_any_numbering_of_nearest_neighbours_is_found(
    dims: list[int], periodic: list[bool], weights: list[int], seed: int
) -> None:
    around = tuple(p for p, _ in zip(periodic, dims, strict=False))
    unit = {tuple(s * (i == a) for i in range(len(dims))): 1000 * weights[a] for a in range(len(dims)) for s in (1, -1)}
    rank = np.random.default_rng(seed).permutation(math.prod(dims))
    flows = halo(tuple(dims), around, unit, rank)
    found = find_pattern(matrix(math.prod(dims), flows))
    assert found.kind == "grid"
    assert found.explained == pytest.approx(1)
    assert len(found.offsets) <= sum(2 if dim != 4 or not p else 4 for dim, p in zip(dims, around, strict=True))
    assert sorted(found.cell_of_rank) == list(range(math.prod(dims)))


def test_diagonals_as_heavy_as_faces_and_other_traffic_beside() -> None:
    random = np.random.default_rng(7)
    rank = random.permutation(9 * 11)
    flows = halo((9, 11), (False, True), dict.fromkeys(MOORE_2D, 5000), rank)
    flows.update({(r, 5): (1, 900) for r in range(99) if r != 5})
    for a, b in random.integers(0, 99, (10, 2)).tolist():
        flows[a, b] = (10, 50_000)
    found = find_pattern(matrix(99, flows))
    assert (found.kind, sorted(zip(found.dims, found.periodic, strict=True))) == ("grid", [(9, False), (11, True)])
    assert len(found.offsets) == 8
    assert "ranks not numbered row by row" in found.words
    assert 0.95 < found.explained < 1


def test_random_graphs_are_no_grids() -> None:
    for seed in range(4 * TIMES):
        random = np.random.default_rng(seed)
        pairs = random.integers(0, 120, (400, 2)).tolist()
        flows: Flows = {p: (10, 10_000) for a, b in pairs if a != b for p in ((a, b), (b, a))}
        found = find_pattern(matrix(120, flows))
        assert found.kind == "graph"
        assert found.dims == found.offsets == ()
        assert found.naming.name == "irregular"


def test_one_sender_of_many_ranks_is_no_grid_whichever_it_is() -> None:
    for sender in some(range(0, 720, 90), 0, 3):  # more ranks than decide between grids, which has many shapes
        found = find_pattern(matrix(720, {(sender, (sender + 300) % 720): (1, 100)}))
        assert found.dims == (), sender


def test_no_traffic_and_arrays_that_do_not_fit() -> None:
    assert find_pattern(matrix(3, {})).words == "no messages between ranks"
    assert find_pattern(matrix(1, {(0, 0): (3, 3)})).kind == "graph"
    with pytest.raises(InputError, match="no rank 9"):
        find_pattern(matrix(3, {(0, 9): (1, 1)}))
    with pytest.raises(InputError, match="as many messages"):
        find_pattern(Matrix([0, 1], [0], [1, 2], [1]))


def test_an_axis_along_which_all_ranks_talk_is_found() -> None:
    """A ring of five with hops of two: nobody on it is opposite to anybody."""
    offsets = [(1, 0), (-1, 0), (2, 0), (-2, 0), (0, 1), (0, -1)]
    rank = np.random.default_rng(2).permutation(85)
    found = find_pattern(matrix(85, halo((5, 17), (True, False), dict.fromkeys(offsets, 500), rank)))
    assert (found.kind, sorted(found.dims), found.explained) == ("grid", [5, 17], 1)


def test_layers_of_a_grid_are_not_taken_for_the_whole() -> None:
    """Axes of different weights: those but one make a grid that is large enough to look right."""
    unit = {tuple(s * (i == a) for i in range(4)): 1000 * 3**a for a in range(4) for s in (1, -1)}
    unit |= {(2, 0, 0, 0): 200_000, (-2, 0, 0, 0): 200_000}
    dims = (16, 2, 19, 6)
    rank = np.random.default_rng(3).permutation(math.prod(dims))
    found = find_pattern(matrix(len(rank), halo(dims, (False, True, False, False), unit, rank)))
    assert (found.kind, sorted(found.dims)) == ("grid", sorted(dims))


@pytest.mark.parametrize(("turns", "name"), [(30, "collectives"), (2, "irregular")])
def test_sums_in_every_step_outweigh_results_that_are_gathered_in_the_end(turns: int, name: str) -> None:
    """As of a program whose ranks have k-points of their own; many messages before a few sums are what it does."""
    programs: list[list[Op]] = [[("allreduce", 8), ("compute", 1_000_000), ("allreduce", 27_000)] * turns for _ in range(8)]
    for rank in range(1, 6):
        sent = 2 if name == "collectives" else 40
        programs[rank] += [("send", rank // 2, 50 + of, 5_000 * rank) for of in range(sent)]
        programs[rank // 2] += [("recv", rank, 50 + of) for of in range(sent)]
    pattern = evidence_of(recorded(programs, [0] * 8, cores_of_host=[8]), "app.comm").pattern
    assert pattern.naming.name == name, pattern.words
    assert name != "collectives" or pattern.words == "collectives: no messages between ranks in a step"
