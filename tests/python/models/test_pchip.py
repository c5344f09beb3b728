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
    steep = pchip.fit(Way.exact(np.array([0.0, 8, 2e15, 4e15]), np.array([1e-6, 1e-6, 1e3, 3e3])))
    assert sum(8 <= segment.from_bytes < 2e15 for segment in steep.segments) == 62


def test_a_change_of_protocol_is_a_step_and_no_slope() -> None:
    # Open MPI 4.1 within a node: single-copy from 4096 B on, header included.
    sizes = np.array([0.0, 8, 1024, 2048, 3072, 4096, 6144, 8192, 65536])
    times_s = np.array([0.31, 0.32, 0.38, 0.45, 0.48, 2.24, 2.5, 2.54, 6.42]) * 1e-6
    model = pchip.fit(Way.exact(sizes, times_s))
    assert [model.time_s(int(size)) for size in sizes] == pytest.approx(times_s.tolist(), rel=1e-12)
    assert 0.48e-6 < model.time_s(3500) < model.time_s(4000) < model.time_s(4095) < 0.52e-6
    assert 2.24e-6 < model.time_s(4097) < 2.25e-6
    exact = pchip.curve(sizes, times_s)
    assert (exact(4095), exact(4096)) == pytest.approx((model.time_s(4095), 2.24e-6), rel=1e-3)
    # Each side is joined as if the other were not there.
    upper = pchip.curve(sizes[5:], times_s[5:])
    assert model.time_s(7000) == pytest.approx(upper(7000), rel=2e-3)


def test_rows_that_bytes_explain_are_joined_smoothly() -> None:
    # Beyond the caches a message takes a little more than in proportion.
    sizes, times_s = np.array([64.0, 1024, 2048, 4096]), np.array([1.0, 2, 4.5, 10]) * 1e-6
    assert 6.7e-6 < pchip.fit(Way.exact(sizes, times_s)).time_s(2900) < 6.9e-6


def test_rows_that_fall_are_pooled() -> None:
    assert np.exp(pchip.pooled(np.log([1.0, 3, 2, 4]))) == pytest.approx([1, 6**0.5, 6**0.5, 4])


@given(st.lists(st.floats(1e-7, 1e-3), min_size=3, max_size=12))
@settings(max_examples=50, deadline=None)
def test_it_never_falls(times_s: list[float]) -> None:
    sizes = np.cumsum([0, 8, *range(1, len(times_s) - 1)]).astype(float) * 16
    model = pchip.fit(Way.exact(sizes, np.array(times_s)))
    found = [model.time_s(size) for size in range(0, int(2 * sizes[-1]), 7)]
    assert all(after >= before * (1 - 1e-9) for before, after in zip(found, found[1:], strict=False))
