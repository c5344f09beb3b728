import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator

from rankwise.models import pchip
from rankwise.models.measured import Way

SIZES = np.array([8.0, 64, 512, 4096])
TIMES_S = np.array([1.0, 1, 2, 9]) * 1e-6


def test_between_rows_it_is_the_monotone_cubic_in_logarithms() -> None:
    model = pchip.fit(Way.exact(SIZES, TIMES_S))
    assert [model.time_s(int(size)) for size in SIZES] == pytest.approx(TIMES_S.tolist(), rel=1e-12)
    assert (model.time_s(128), model.time_s(2048)) == pytest.approx((1.1091e-6, 4.9311e-6), rel=2e-3)
    exact = pchip.curve(SIZES, TIMES_S)
    assert (exact(128), exact(2048)) == pytest.approx((1.1091e-6, 4.9311e-6), rel=1e-4)
    theirs = PchipInterpolator(np.log(SIZES + 8), np.log(TIMES_S))
    for size in np.geomspace(8, 4096, 50):
        assert exact(size) == pytest.approx(float(np.exp(theirs(np.log(size + 8)))), rel=1e-9)


def test_the_way_between_two_rows_is_halved_six_times_at_most() -> None:
    steep = pchip.fit(Way.exact(np.array([0.0, 8, 2e15, 4e15]), np.array([1e-6, 1e-6, 1e3, 1e6])))
    assert sum(8 <= segment.from_bytes < 2e15 for segment in steep.segments) == 62


def test_rows_that_fall_are_pooled() -> None:
    assert np.exp(pchip.pooled(np.log([1.0, 3, 2, 4]))) == pytest.approx([1, 6**0.5, 6**0.5, 4])


@given(st.lists(st.floats(1e-7, 1e-3), min_size=3, max_size=12))
@settings(max_examples=50, deadline=None)
def test_it_never_falls(times_s: list[float]) -> None:
    sizes = np.cumsum([0, 8, *range(1, len(times_s) - 1)]).astype(float) * 16
    model = pchip.fit(Way.exact(sizes, np.array(times_s)))
    found = [model.time_s(size) for size in range(0, int(2 * sizes[-1]), 7)]
    assert all(after >= before * (1 - 1e-9) for before, after in zip(found, found[1:], strict=False))
