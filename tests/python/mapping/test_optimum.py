"""Bounds and optima of tiny problems, against trying every map."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import _core
from rankwise.mapping import How, map_grid
from rankwise.mapping.optimum import least_cut, proven_optimum

Problem = tuple[list[int], list[int], list[tuple[int, ...]], list[int], list[bool]]


def all_maps(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Every map of cells to nodes of these sizes."""
    left = list(sizes)
    nodes: list[int] = []

    def extend() -> Iterator[list[int]]:
        if len(nodes) == sum(sizes):
            yield list(nodes)
            return
        for node, room in enumerate(left):
            if room:
                left[node] -= 1
                nodes.append(node)
                yield from extend()
                nodes.pop()
                left[node] += 1

    return extend()


def least_j_sum(
    dims: list[int], sizes: list[int], offsets: list[tuple[int, ...]], weights: list[int], periodic: list[bool]
) -> int:
    cells = list(itertools.product(*map(range, dims)))
    edges = []
    for i, cell in enumerate(cells):
        for offset, weight in zip(offsets, weights, strict=True):
            moved = [c + step for c, step in zip(cell, offset, strict=True)]
            target = tuple(c % size if wraps else c for c, size, wraps in zip(moved, dims, periodic, strict=True))
            if target in cells:
                edges.append((i, cells.index(target), weight))
    return min(sum(w for u, v, w in edges if nodes[u] != nodes[v]) for nodes in all_maps(sizes))


@st.composite
def tiny_problems(draw: st.DrawFn) -> Problem:
    dims = draw(st.sampled_from([[8], [2, 3], [3, 3], [4, 2], [2, 2, 2], [5], [1, 6], [2, 4, 1]]))
    cells = math.prod(dims)
    cuts = draw(st.sets(st.integers(1, cells - 1), min_size=1, max_size=2))
    sizes = [b - a for a, b in itertools.pairwise([0, *sorted(cuts), cells])]
    named = draw(st.booleans())
    if named:
        text = draw(st.sampled_from(["nearest-neighbor", "nearest-neighbor-with-hops", "moore:1"]))
        offsets = [tuple(offset) for offset in _core.parse_stencil(text, len(dims))[0]]
    else:
        offset = st.tuples(*[st.integers(-3, 3)] * len(dims)).filter(any)
        offsets = draw(st.lists(offset, min_size=1, max_size=4, unique=True))
    weights = draw(st.lists(st.integers(1, 5), min_size=len(offsets), max_size=len(offsets)))
    return dims, sizes, offsets, weights, draw(st.lists(st.booleans(), min_size=len(dims), max_size=len(dims)))


@settings(deadline=None)
@given(tiny_problems())
def test_bound_optimum_and_every_algorithm_are_in_order(problem: Problem) -> None:
    dims, sizes, offsets, weights, periodic = problem
    optimum = least_j_sum(dims, sizes, offsets, weights, periodic)
    mappings = map_grid(dims, sizes, offsets, periodic, how=How(weights=weights, effort_s=1e-3))
    assert mappings.bound <= optimum
    assert all(result.j_sum >= optimum for result in mappings.results)
    refined = next(result for result in mappings.results if result.algorithm == "refined")
    assert refined.j_sum == min(result.j_sum for result in mappings.results)


@settings(deadline=None, max_examples=10)
@given(tiny_problems())
def test_the_integer_program_finds_the_optimum(problem: Problem) -> None:
    dims, sizes, offsets, weights, periodic = problem
    assert proven_optimum(dims, sizes, offsets, weights, periodic) == least_j_sum(dims, sizes, offsets, weights, periodic)


# By scipy.optimize.milp 1.17.1, with as many branches as it wanted.
_CUTS = (
    5, 2.5, 1.5, 5.5, 14.75, 17, 2, 40.5, 3, 10, 8, 31.75, 9.5, 7.5,
    11.75, 5, None, 26.25, 6, 6.5, 13, 2.5, 4.5, 15.5,
)  # fmt: skip


@pytest.mark.parametrize("seed", [seed for seed, cut in enumerate(_CUTS) if cut is not None])
def test_the_least_cut_is_what_another_solver_recorded(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(seed)
    cells = draw.choice([6, 8, 9, 12])
    pairs = itertools.combinations(range(cells), 2)
    between = {pair: draw.choice([1, 2, 3, 0.5, 7.25]) for pair in pairs if draw.random() < 0.45}
    nodes = draw.choice([2, 3, 4] if cells == 12 else [2, 3] if cells % 3 == 0 else [2])
    sizes = [cells - 2, 2] if seed % 3 == 0 else [cells // nodes] * nodes
    for tries in (None, 20):
        assert least_cut(cells, between, sizes, most_tries=tries) == pytest.approx((_CUTS[seed],) * 2, rel=1e-4)
    assert not any(capfd.readouterr())  # the solver says nothing


def test_a_bound_holds_before_the_least_cut_is_found() -> None:
    between = {pair: 1.0 + (pair[0] * pair[1]) % 3 for pair in itertools.combinations(range(12), 2)}
    whole, optimum = least_cut(12, between, [4, 4, 4])
    bound, found = least_cut(12, between, [4, 4, 4], most_tries=1)
    assert 0 < bound <= whole == pytest.approx(optimum) and found is None


def test_the_graph_partitioner_gives_exact_sizes() -> None:
    pytest.importorskip("kahip", reason="KaHIP is an optional extra")
    for sizes in ([12] * 8, [20, 10, 30, 36]):
        (result,) = map_grid([12, 8], sizes, "nearest-neighbor", algorithms=["graph"]).results
        assert result.node_of_cell is not None
        assert [list(result.node_of_cell).count(node) for node in range(len(sizes))] == sizes
        assert result.j_sum < 200
