"""Patterns that are planted get the names that experts give them; random graphs are called no halo."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breadth import TIMES
from rankwise.observe.grids import Pairs
from rankwise.observe.levels import Levels, levels_of
from rankwise.observe.naming import Name, Seen, name_of
from synthetic_events import Op, simulate

Bytes = dict[tuple[int, int], tuple[int, float]]  # messages and bytes, by sender and receiver
EXCHANGE = Levels(1, 0, 0.0, 1.0)


def pairs_of(ranks: int, flows: Bytes, rank: Any = None, noise: float = 0.0) -> Pairs:
    """Return pairs; ``rank``: the number of each rank, ``noise``: by how much bytes differ at random."""
    number = range(ranks) if rank is None else rank
    random = np.random.default_rng(ranks)
    rows = [(int(number[a]), int(number[b]), m, w * random.uniform(1 - noise, 1 + noise)) for (a, b), (m, w) in flows.items()]
    source, dest, messages, volume = np.array(rows, float).reshape(-1, 4).T
    return Pairs(ranks, source.astype(int), dest.astype(int), messages, volume)


def halo(dims: tuple[int, ...], periodic: tuple[bool, ...], reach: int, size: int = 30) -> Bytes:
    """Return the halo of a box of ``size`` cells a side: faces, edges and corners, each a message."""
    flows: Bytes = {}
    for cell in np.ndindex(*dims):
        for offset in itertools.product((-1, 0, 1), repeat=len(dims)):
            along = sum(step != 0 for step in offset)
            to = [c + o for c, o in zip(cell, offset, strict=True)]
            if not 0 < along <= reach or any(not p and not 0 <= t < d for t, p, d in zip(to, periodic, dims, strict=True)):
                continue
            pair = (
                int(np.ravel_multi_index(cell, dims)),
                int(np.ravel_multi_index([t % d for t, d in zip(to, dims, strict=True)], dims)),
            )
            messages, volume = flows.get(pair, (0, 0.0))
            if pair[0] != pair[1]:
                flows[pair] = messages + 1, volume + 8 * size ** (len(dims) - along)
    return flows


@settings(max_examples=40 * TIMES, deadline=None)
@given(
    dims=st.lists(st.integers(2, 7), min_size=2, max_size=3),
    around=st.lists(st.booleans(), min_size=3, max_size=3),
    reach=st.integers(1, 3),
    noise=st.sampled_from([0.0, 0.05]),
)
def test_halos_of_any_grid_are_named(dims: list[int], around: list[bool], reach: int, noise: float) -> None:
    shape, periodic = tuple(dims), tuple(around[: len(dims)])
    reach = min(reach, len(shape))
    ranks = math.prod(shape)
    if ranks > 200 or ranks < 6 or (shape == (2, 2, 2) and reach == 1) or (set(shape) <= {2, 3} and all(periodic)):
        return
    named = name_of(Seen(pairs_of(ranks, halo(shape, periodic, reach), noise=noise), EXCHANGE))
    assert (named.name, named.grid) == ("halo", shape), named
    assert named.stencil == {(2, 1): 4, (2, 2): 8, (3, 1): 6, (3, 2): 18, (3, 3): 26}[len(shape), reach]
    assert all(told in (None, own) for told, own in zip(named.borders, periodic, strict=True)), named
    assert all(told is not None for told, dim in zip(named.borders, shape, strict=True) if dim > 2)


def test_cells_of_two_along_an_axis() -> None:
    """Two messages a pair where others have one: both neighbours are one rank; MPI_Cart_create tells what no message does."""
    for periodic in ((False, False), (False, True), (True, True)):
        assert name_of(Seen(pairs_of(8, halo((4, 2), periodic, 1)), EXCHANGE)).borders == periodic
    for wraps in (False, True):
        named = name_of(Seen(pairs_of(8, halo((2, 2, 2), (wraps,) * 3, 3)), EXCHANGE))
        assert (named.name, named.grid, named.borders, named.stencil) == ("halo", (2, 2, 2), (wraps,) * 3, 26)
    faces = pairs_of(8, halo((2, 2, 2), (True,) * 3, 1))
    assert name_of(Seen(faces, EXCHANGE)).borders == (None,) * 3
    assert name_of(Seen(faces, EXCHANGE)).words == "3-D halo of 6 neighbours, grid 2x2x2, open or periodic"
    assert name_of(Seen(faces, EXCHANGE, carts=(((2, 2, 2), (True, False, True)),))).borders == (True, False, True)


def test_the_programs_grid_wins_a_tie() -> None:
    """Four rows of three and three of four have the same pairs nowhere, but a ring of 12 is 12 or 12x1."""
    flows = halo((12,), (True,), 1)
    named = name_of(Seen(pairs_of(12, flows), EXCHANGE, carts=(((12, 1), (True, False)),)))
    assert (named.name, named.grid, named.borders) == ("halo", (12,), (True,))


def ring(ranks: int, shift: int = 1) -> Bytes:
    return {(r, (r + shift) % ranks): (1, 800.0) for r in range(ranks)}


def both(pairs: Any) -> Bytes:
    return {one: (1, 500.0) for a, b in pairs for one in ((a, b), (b, a))}


def tree(ranks: int) -> Bytes:
    return both((r & (r - 1), r) for r in range(1, ranks))


def cube(ranks: int) -> Bytes:
    return both((r, r ^ 1 << k) for k in range(ranks.bit_length()) for r in range(ranks) if r < r ^ 1 << k < ranks)


@pytest.mark.parametrize("ranks", [8, 12, 16, 27, 32, 64, 100, 256])
def test_others_are_named(ranks: int) -> None:
    every = {(a, b): (1, 512.0) for a in range(ranks) for b in range(ranks) if a != b}
    planted: list[tuple[str, Bytes, Levels]] = [
        ("ring", ring(ranks), EXCHANGE),
        ("all-to-all", every, EXCHANGE),
        ("master/worker", both((3, r) for r in range(ranks) if r != 3), Levels(2, 1, 0.0, 1.0)),
        ("tree", tree(ranks), Levels(4, 0, 0.0, 1.0)),
    ]
    if ranks % 2 == 0:
        planted.append(("pairing", both((r, r + ranks // 2) for r in range(ranks // 2)), EXCHANGE))
    if ranks & (ranks - 1) == 0:
        planted.append(("recursive doubling", cube(ranks), Levels(ranks.bit_length() - 1, 0, 0.0, 1.0)))
    for rows in (4, 3):
        if ranks % rows == 0 and ranks // rows > 2:
            columns = ranks // rows
            same = {(a, b): (1, 900.0) for a, b in every if a // columns == b // columns or a % columns == b % columns}
            planted.append(("transpose", same, Levels(2, 0, 0.0, 1.0)))
    for name, flows, levels in planted:
        for noise in (0.0, 0.05):
            named = name_of(Seen(pairs_of(ranks, flows, noise=noise), levels))
            assert named.name == name, (ranks, name, named)


def sweep(dims: tuple[int, int], planes: int, octants: int = 4) -> list[list[Op]]:
    """Return the programs of a 2-D sweep from up to four corners: planes wait for two sides and go on to two."""
    programs: list[list[Op]] = [[] for _ in range(math.prod(dims))]
    for corner in itertools.islice(itertools.product((1, -1), repeat=2), octants):
        for plane in range(planes):
            for cell in np.ndindex(*dims):
                rank = int(np.ravel_multi_index(cell, dims))
                for kind, sign in (("recv", -1), ("send", 1)):
                    for axis in range(2):
                        to = list(cell)
                        to[axis] += sign * corner[axis]
                        if 0 <= to[axis] < dims[axis]:
                            peer = int(np.ravel_multi_index(to, dims))
                            programs[rank].append((kind, peer, plane, *([800] if kind == "send" else [])))
    return programs


@pytest.mark.parametrize("dims", [(4, 2), (4, 4), (5, 3), (8, 8)])
@pytest.mark.parametrize("octants", [1, 4])
def test_sweeps_are_told_from_halos_by_their_turns(dims: tuple[int, int], octants: int) -> None:
    programs = sweep(dims, 5, octants)
    levels = levels_of(simulate(programs))
    flows: Bytes = {}
    for rank, ops in enumerate(programs):
        for op in ops:
            if op[0] == "send":
                messages, volume = flows.get((rank, op[1]), (0, 0.0))
                flows[rank, op[1]] = messages + 1, volume + op[3]
    named = name_of(Seen(pairs_of(math.prod(dims), flows), levels))
    assert (named.name, named.grid, levels.fill) == ("sweep", dims, sum(dims) - 2)
    assert levels.late == 1 - 1 / math.prod(dims)
    if octants == 4:
        assert name_of(Seen(pairs_of(math.prod(dims), flows), EXCHANGE)).name == "halo"


def test_a_sweep_from_all_corners_at_once_is_told_by_the_ranks_in_between() -> None:
    flows = halo((4, 2), (False, False), 1)
    at_once = Levels(depth=160, fill=2, gap=1.0, answered=1.0, late=0.5)  # of SNAP with two octants at a time
    assert name_of(Seen(pairs_of(8, flows), at_once)).name == "sweep"
    for other in ({"fill": 1}, {"late": 0.25}, {"gap": 0.0}):
        assert name_of(Seen(pairs_of(8, flows), at_once._replace(**other))).name == "halo", other


def test_alltoalls_of_rows_and_columns_are_a_transpose() -> None:
    rows = tuple(tuple(range(4 * r, 4 * r + 4)) for r in range(3))
    columns = tuple(tuple(range(c, 12, 4)) for c in range(4))
    nothing = pairs_of(12, {})
    assert name_of(Seen(nothing, collectives=rows + columns, collective_share=1.0)).grid == (3, 4)
    assert name_of(Seen(nothing, collectives=(tuple(range(12)),), collective_share=1.0)).name == "all-to-all"
    assert name_of(Seen(nothing, calls_collectives=True)).name == "collectives"
    assert name_of(Seen(nothing)).name == "none"


def test_a_halo_with_a_gather_in_the_step() -> None:
    flows = halo((5, 4), (False, False), 1)
    flows.update({(r, 0): (1, 40.0) for r in range(1, 20) if (r, 0) not in flows})
    named = name_of(Seen(pairs_of(20, flows), EXCHANGE))
    assert (named.name, named.grid, named.stencil) == ("halo", (5, 4), 4)
    assert "all ranks with rank 0" in named.reason


def test_a_halo_with_some_messages_along_a_tree() -> None:
    """As of OpenFOAM, which adds up vectors so: 3 % of the messages. With 20 % of them it is no halo alone."""
    for each, name in ((100, "halo"), (12, "irregular")):
        flows = {pair: (each, volume * each) for pair, (_, volume) in halo((4, 4), (False, False), 1).items()}
        tree = both([(rank & rank - 1, rank) for rank in range(1, 16)])
        flows.update({pair: (5, 40.0) for pair in tree if pair not in flows})
        named = name_of(Seen(pairs_of(16, flows), EXCHANGE))
        assert named.name == name and (name == "irregular" or "of the messages go to other ranks" in named.reason)


def test_pipelines_are_connected() -> None:
    """Two squares of ranks that take turns are no pipeline."""
    flows = both([(a + base, b + base) for base in (0, 4) for a, b in ((0, 1), (1, 3), (3, 2), (2, 0))])
    assert name_of(Seen(pairs_of(8, flows), Levels(42, 3, 1.0, 0.4, 0.6))).name != "sweep"


@pytest.mark.parametrize("ranks", [5, 7, 8])
def test_a_halo_as_wide_as_its_ring(ranks: int) -> None:
    reach = ranks // 2
    flows: Bytes = {}
    for rank in range(ranks):
        for away in [*range(1, reach + 1), *range(-1, -reach - 1, -1)]:
            flows[rank, (rank + away) % ranks] = 1, 20_000 / abs(away)
    named = name_of(Seen(pairs_of(ranks, flows, noise=0.03), EXCHANGE))
    assert named.words == f"perhaps 1-D halo of {ranks - 1} neighbours, grid {ranks}, periodic"
    assert "less with distance" in named.reason
    shuffled = np.random.default_rng(3).permutation(ranks)
    assert name_of(Seen(pairs_of(ranks, flows, shuffled), EXCHANGE)).name == "irregular"


@pytest.mark.parametrize("ranks", [6, 8, 13])
def test_transposes_with_particles_to_both_sides_are_perhaps_all_to_all(ranks: int) -> None:
    flows = {(a, b): (200, 4_915_200.0) for a in range(ranks) for b in range(ranks) if a != b}
    for a in range(ranks):
        for side, more in ((1, 1_380_000.0), (-1, 1_590_000.0)):
            flows[a, (a + side) % ranks] = (414, 4_915_200.0 + more + 1000 * a)
    named = name_of(Seen(pairs_of(ranks, flows), EXCHANGE))
    assert named.name == "all-to-all" and (not named.confident or "as much" in named.reason)
    random = np.random.default_rng(ranks)
    uneven = {pair: (count, volume * float(random.uniform(0.5, 1.5))) for pair, (count, volume) in flows.items()}
    assert name_of(Seen(pairs_of(ranks, uneven), EXCHANGE)).name == "irregular"


def test_random_graphs_are_no_halos() -> None:
    """Uniform and nearest points in two and three dimensions, 60 of them; halos whose ranks are numbered at random."""
    wrong: list[tuple[int, Name]] = []
    for seed in range(60 * TIMES):
        random = np.random.default_rng(seed)
        ranks, degree = int(random.integers(8, 65)), int(random.integers(2, 9))
        if seed % 3:
            points = random.random((ranks, 2 + seed % 2))
            apart = np.linalg.norm(points[:, None] - points[None], axis=2)
            near = [(a, int(b)) for a in range(ranks) for b in np.argsort(apart[a])[1 : degree + 1]]
        else:
            near = [tuple(one) for one in random.integers(0, ranks, (ranks * degree // 2, 2)).tolist() if one[0] != one[1]]
        flows = {pair: (1, volume * float(random.uniform(0.3, 3))) for pair, (_, volume) in both(near).items()}
        named = name_of(Seen(pairs_of(ranks, flows), EXCHANGE))
        if named.name != "irregular" and named.confident:
            wrong.append((seed, named))
    assert not wrong, wrong
    for seed in range(32):
        random = np.random.default_rng(seed)
        flows = halo((4, 4, 2), (bool(seed & 1), bool(seed & 2), False), 1 + seed % 3)
        named = name_of(Seen(pairs_of(32, flows, rank=random.permutation(32)), EXCHANGE))
        assert named.name == "irregular" or not named.confident, (seed, named)
