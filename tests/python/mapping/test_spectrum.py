"""The bound by eigenvalues: below any map, and met where nodes are opposite corners of a cube."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import _core
from rankwise.mapping import map_grid
from rankwise.mapping.problem import problem_of
from rankwise.mapping.spectrum import MOST_CELLS, spectral_bound


def test_it_is_met_by_halves_of_a_hypercube() -> None:
    assert spectral_bound(problem_of([2] * 6, [32, 32], "nearest-neighbor", None, None)) == 64


@pytest.mark.parametrize("seed", range(40))
def test_no_map_is_below_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dims = rng.integers(2, 7, int(rng.integers(1, 4))).tolist()
    cells = int(np.prod(dims))
    cuts = np.sort(rng.choice(np.arange(1, cells), int(rng.integers(1, min(cells, 9))), replace=False))
    sizes = np.diff([0, *cuts.tolist(), cells]).tolist()
    offsets = np.unique(rng.integers(-2, 3, (int(rng.integers(1, 6)), len(dims))), axis=0)
    offsets = [list(map(int, offset)) for offset in offsets if offset.any()] or [[1] + [0] * (len(dims) - 1)]
    weights = rng.integers(1, 9, len(offsets)).tolist()
    periodic = [bool(flag) for flag in rng.integers(0, 2, len(dims))]
    found = map_grid(dims, sizes, offsets, periodic, ["refined", "random"], weights=weights, steps=300_000)
    bound = spectral_bound(problem_of(dims, sizes, offsets, periodic, weights))
    assert bound <= min(result.j_sum for result in found.results)
    assert found.bound >= bound or found.optimum is not None


def test_large_grids_are_left_alone() -> None:
    assert spectral_bound(problem_of([MOST_CELLS + 1], [MOST_CELLS, 1], "nearest-neighbor", None, None)) == 0
    assert _core.lower_bound([MOST_CELLS + 1], [MOST_CELLS, 1], [[1], [-1]])[0] == 2
