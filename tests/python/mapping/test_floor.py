"""The floor of what crosses between nodes, against trying every placement."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observed_rings import PROFILE
from rankwise.engines.model import Model
from rankwise.engines.step import least_time_s, program_pricer
from rankwise.mapping import How, map_grid
from rankwise.mapping.floor import GRID, by_partners, by_program, by_spectrum, least_crossing, spectral_bound
from rankwise.mapping.problem import problem_of
from rankwise.mapping.traffic import Traffic
from rankwise.observe.phases import PhasedStep
from rankwise.workloads.base import Program

SIZES = ([3, 3], [2, 2, 2], [4, 2], [1, 2, 3], [2, 2, 2, 1], [4, 3])
Graph = tuple[list[int], list[tuple[int, int, int]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sizes = draw(st.sampled_from(SIZES))
    pairs = list(itertools.permutations(range(sum(sizes)), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=len(pairs), unique=True))
    return sizes, [(u, v, draw(st.integers(0, 1000))) for u, v in chosen]


def all_maps(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Every placement on nodes of these sizes."""
    if sum(sizes) == 0:
        return [()]
    found = []
    for node, room in enumerate(sizes):
        if room:
            rest = [size - (other == node) for other, size in enumerate(sizes)]
            found += [(node, *others) for others in all_maps(rest)]
    return found


def least(sizes: Sequence[int], pairs: Sequence[tuple[int, int, int]]) -> int:
    """The least that crosses, of all placements at once."""
    maps = np.array(all_maps(sizes))
    u, v, weight = np.array(pairs).T
    return int(((maps[:, u] != maps[:, v]) * weight).sum(axis=1).min())


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_no_argument_is_above_the_least(graph: Graph) -> None:
    sizes, pairs = graph
    optimum = least(sizes, pairs)
    both: dict[tuple[int, int], int] = {}
    for u, v, weight in pairs:
        both[min(u, v), max(u, v)] = both.get((min(u, v), max(u, v)), 0) + weight
    edges = [np.array(column) for column in zip(*[(u, v, w) for (u, v), w in both.items() if w], strict=True)]
    if edges:
        low, high, weight = edges
        floors = [argument((low, high, weight.astype(float)), sizes) for argument in (by_partners, by_spectrum, by_program)]
        assert max(floors) <= optimum
        assert floors[-1] >= optimum * 0.999  # so small a program is solved
    whole = least_crossing(tuple(np.array(column) for column in zip(*pairs, strict=True)), sizes)  # type: ignore[arg-type]
    assert whole.least <= optimum


@dataclass(frozen=True)
class On:
    """A grid, numbered at random."""

    dims: tuple[int, ...]
    periodic: tuple[bool, ...]
    offsets: tuple[tuple[int, ...], ...]
    cell_of_rank: tuple[int, ...] = field(default=())

    def pairs(self, weight_of: dict[tuple[int, ...], int]) -> list[tuple[int, int, int]]:
        cells = list(itertools.product(*map(range, self.dims)))
        rank_of = {cells[cell]: rank for rank, cell in enumerate(self.cell_of_rank)}
        sent: dict[tuple[int, int], int] = {}
        for cell in cells:
            for offset in self.offsets:
                moved = [c + step for c, step in zip(cell, offset, strict=True)]
                to = tuple(c % n if wraps else c for c, n, wraps in zip(moved, self.dims, self.periodic, strict=True))
                if to in rank_of and to != cell:
                    pair = (rank_of[cell], rank_of[to])
                    sent[pair] = sent.get(pair, 0) + weight_of[offset]
        return [(u, v, weight) for (u, v), weight in sent.items()]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_grid_in_the_traffic_gives_no_more_than_the_least(data: st.DataObject) -> None:
    dims = data.draw(st.sampled_from([(6,), (2, 3), (7,), (3, 2), (2, 2, 2), (4, 2)]))
    offset = st.tuples(*[st.integers(-2, 2)] * len(dims)).filter(any)
    offsets = tuple(data.draw(st.lists(offset, min_size=1, max_size=4, unique=True)))
    ranks = int(np.prod(dims))
    cells = tuple(data.draw(st.permutations(range(ranks))))
    grid = On(dims, tuple(data.draw(st.booleans()) for _ in dims), offsets, cells)
    pairs = grid.pairs({offset: data.draw(st.integers(1, 9)) for offset in offsets})
    more = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1), st.integers(1, 9)).filter(
        lambda pair: pair[0] != pair[1]
    )
    known = {pair[:2] for pair in pairs}
    pairs += [pair for pair in data.draw(st.lists(more, max_size=3, unique_by=lambda pair: pair[:2])) if pair[:2] not in known]
    sizes = {6: [3, 3], 7: [4, 3], 8: [4, 4]}[ranks]
    if pairs:
        columns = tuple(np.array(column) for column in zip(*pairs, strict=True))
        assert least_crossing(columns, sizes, grid).least <= least(sizes, pairs)  # type: ignore[arg-type]


def test_a_large_grid_has_the_floor_of_its_stencil() -> None:
    side = 48
    order = np.random.default_rng(5).permutation(side * side)
    grid = On((side, side), (False, False), ((0, 1), (0, -1), (1, 0), (-1, 0)), tuple(order.tolist()))
    columns = tuple(np.array(column) for column in zip(*grid.pairs(dict.fromkeys(grid.offsets, 64)), strict=True))
    floor = least_crossing(columns, [144] * 16, grid)  # type: ignore[arg-type]
    # 16 squares of 12 x 12: 24 borders of 12 cells, both ways.
    assert floor.kind == GRID and floor.least == pytest.approx(24 * 12 * 2 * 64, rel=1e-3)


@settings(deadline=None, max_examples=25)
@given(graphs(), st.integers(1, 3))
def test_no_placement_is_quicker_than_the_least_time(graph: Graph, phases: int) -> None:
    sizes, pairs = graph
    ranks = sum(sizes)
    phase = np.array([(u * 7 + v) % phases for u, v, _ in pairs])
    order = np.argsort(phase, kind="stable")
    source, dest, size = (column[order] for column in np.array(pairs, np.int64).T)
    step = PhasedStep(phase[order], source, dest, size * 1000, np.zeros((phases, ranks)))
    on = Model(PROFILE)
    floor_s, _ = least_time_s(on, step, sizes)
    price = program_pricer(on, Program(step))
    traffic = Traffic.of_pairs("x", ranks, (source, dest, size))
    maps = all_maps(sizes)
    for nodes in maps[:: max(1, len(maps) // 12)]:
        assert floor_s <= price(traffic, np.array(nodes, np.int32), {}).time_s * (1 + 1e-9)


def test_the_spectrum_is_met_by_halves_of_a_hypercube() -> None:
    assert spectral_bound(problem_of([2] * 6, [32, 32], "nearest-neighbor", None, None)) == 64


@pytest.mark.parametrize("seed", range(40))
def test_no_map_of_a_grid_is_below_its_spectrum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dims = rng.integers(2, 7, int(rng.integers(1, 4))).tolist()
    cells = int(np.prod(dims))
    cuts = np.sort(rng.choice(np.arange(1, cells), int(rng.integers(1, min(cells, 9))), replace=False))
    sizes = np.diff([0, *cuts.tolist(), cells]).tolist()
    offsets = np.unique(rng.integers(-2, 3, (int(rng.integers(1, 6)), len(dims))), axis=0)
    offsets = [list(map(int, offset)) for offset in offsets if offset.any()] or [[1] + [0] * (len(dims) - 1)]
    weights = rng.integers(1, 9, len(offsets)).tolist()
    periodic = [bool(flag) for flag in rng.integers(0, 2, len(dims))]
    found = map_grid(dims, sizes, offsets, periodic, ["refined", "random"], how=How(weights=weights, steps=300_000, sharp=True))
    bound = spectral_bound(problem_of(dims, sizes, offsets, periodic, weights))
    assert bound <= min(result.j_sum for result in found.results)
    assert found.bound >= bound or found.optimum is not None or found.best.j_sum <= 1.1 * found.bound
