import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.engines.exchange import balanced_grid, make_cases
from rankwise.errors import InputError


@given(st.integers(1, 5000), st.integers(1, 3))
def test_a_balanced_grid_multiplies_up_and_does_not_increase(ranks: int, ndim: int) -> None:
    grid = balanced_grid(ranks, ndim)
    assert math.prod(grid) == ranks
    assert list(grid) == sorted(grid, reverse=True)


@pytest.mark.parametrize(
    ("ranks", "ndim", "grid"), [(64, 3, (4, 4, 4)), (2400, 2, (50, 48)), (7, 2, (7, 1)), (12, 2, (4, 3))]
)
def test_a_balanced_grid_is_as_even_as_can_be(ranks: int, ndim: int, grid: tuple[int, ...]) -> None:
    assert balanced_grid(ranks, ndim) == grid


def test_cases_are_all_combinations() -> None:
    cases = make_cases(["shift"], ["ssend", "isend"], [4], [True], [1, 2], [8, 16])
    assert len(cases) == 8
    assert len(set(cases)) == 8


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="'sideways' is unknown: choose shift"):
        make_cases(["sideways"], ["ssend"], [4], [True], [1], [8])
    with pytest.raises(InputError, match="'bsend' is unknown: choose ssend"):
        make_cases(["shift"], ["bsend"], [4], [True], [1], [8])
