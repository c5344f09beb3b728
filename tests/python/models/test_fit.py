"""The fits must find parameters that are known, from data that nobody but the test has seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.machine.link import Point
from rankwise.models import hockney, piecewise
from rankwise.models.curve import curve_from_table, curve_of
from rankwise.models.fit import _costs, find_lines, fit_line, fit_line_in_logs, refit
from rankwise.models.measured import Way
from synthetic_machine import measure

SIZES = np.array([0, 1, 8, 64, 256, 512, 1024, 2048, 4096, 6000, 8192, 16384, 32768, 65536, 262144, 1048576], float)


@given(st.floats(1e-8, 1e-3), st.floats(1e-12, 1e-7))
@settings(max_examples=50)
def test_an_exact_line_is_found_exactly(alpha_s: float, beta: float) -> None:
    found_alpha, found_beta = fit_line(SIZES, alpha_s + beta * SIZES)
    assert found_alpha == pytest.approx(alpha_s, rel=1e-6)
    assert found_beta == pytest.approx(beta, rel=1e-6)


def test_parameters_never_go_below_zero() -> None:
    alpha, beta = fit_line(np.array([1.0, 1000.0]), np.array([2e-6, 1e-6]))
    assert beta == 0.0 and alpha > 0
    alpha, beta = fit_line(np.array([100.0, 1000.0]), np.array([1e-6, 50e-6]))
    assert alpha == 0.0 and beta > 0
    with pytest.raises(ValueError, match="two sizes"):
        fit_line(np.array([1.0]), np.array([1e-6]))


def _two_protocols(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes < 8192, 1e-6 + 0.4e-9 * sizes, 5e-6 + 0.1e-9 * sizes)


def test_the_break_between_two_protocols_is_found() -> None:
    lines = find_lines(SIZES, _two_protocols(SIZES))
    assert [int(SIZES[line.first]) for line in lines] == [0, 8192]
    assert lines[0].alpha_s == pytest.approx(1e-6, rel=1e-6)
    assert lines[1].beta_s_per_byte == pytest.approx(0.1e-9, rel=1e-6)


def test_a_parameter_below_zero_leaves_the_best_line_without_it() -> None:
    # Relative least squares with one parameter: sum(1 / t) / sum(1 / t^2), and sum(x / t) / sum((x / t)^2).
    assert fit_line(np.array([1.0, 1000.0]), np.array([2.0, 1.0])) == pytest.approx((1.5 / 1.25, 0.0))
    assert fit_line(np.array([1.0, 10.0]), np.array([1.0, 50.0])) == pytest.approx((0.0, 1.2 / 1.04))
    # In logarithms the means of log t and of log (t / x); a size of 0 keeps alpha above 0.
    assert fit_line_in_logs(np.array([1.0, 1000.0]), np.array([2.0, 1.0])) == pytest.approx((2**0.5, 0.0))
    assert fit_line_in_logs(np.array([1.0, 10.0]), np.array([1.0, 50.0])) == pytest.approx((0.0, 5**0.5))
    assert fit_line_in_logs(np.array([0.0, 1.0, 10.0]), np.array([1e-9, 1.0, 50.0]))[0] > 0
    assert fit_line(np.array([0.0, 1.0, 10.0]), np.array([1000.0, 1.0, 50.0]))[0] == 0
    assert fit_line_in_logs(np.array([0.0, 1.0, 10.0]), np.array([1000.0, 1.0, 50.0]))[0] > 0
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="too far apart, or too small"):
        fit_line(np.array([1.0, 2.0]), np.array([1e-320, 1.0]))


def test_no_other_line_is_closer_in_the_logarithm() -> None:
    rng = np.random.default_rng(9)
    noisy = [(1e-6 + 1e-9 * SIZES) * np.exp(rng.uniform(-1, 1, SIZES.size)) for _ in range(20)]
    for times in (_two_protocols(SIZES), *noisy):
        alpha, beta = fit_line_in_logs(SIZES, times)

        def error(a: float, b: float, times: np.ndarray = times) -> float:
            return float(np.sum(np.log((a + b * SIZES) / times) ** 2))

        for a, b in ((1.001, 1), (0.999, 1), (1, 1.001), (1, 0.999), (1.001, 0.999), (0.999, 1.001)):
            assert error(alpha, beta) < error(a * alpha, b * beta)
        # In whatever units.
        assert fit_line_in_logs(SIZES, 1e15 * times) == pytest.approx((1e15 * alpha, 1e15 * beta), rel=1e-5)


def test_every_piece_costs_what_the_best_line_through_it_is_off() -> None:
    sizes, times = SIZES[:8], np.array([2.0, 1.5, 3.0, 2.5, 9.0, 40.0, 30.0, 200.0])
    costs = _costs(sizes, times)
    for first in range(8):
        for last in range(8):
            if last - first < 2:
                assert np.isinf(costs[first, last])
                continue
            x, t = sizes[first : last + 1], times[first : last + 1]
            alpha, beta = fit_line(x, t)
            assert costs[first, last] == pytest.approx(float(np.sum(((alpha + beta * x) / t - 1) ** 2)), rel=1e-6, abs=1e-9)


def test_the_breaks_are_the_best_of_all_for_their_number() -> None:
    x = np.arange(1.0, 13.0)
    times = np.where(x < 5, 3 + x, np.where(x < 9, 30 + 2 * x, 300 + x))
    assert [(line.first, line.last) for line in find_lines(x, times)] == [(0, 3), (4, 7), (8, 11)]
    two = find_lines(x, times, most=2)
    assert [(line.first, line.last) for line in two] == [(0, 3), (4, 11)] or len(two) == 2
    assert [(line.first, line.last) for line in find_lines(x, times, noise=100.0)] == [(0, 11)]
    assert [(line.first, line.last) for line in find_lines(x[:5], times[:5])] == [(0, 4)]
    assert len(find_lines(x[:6], np.where(x[:6] < 4, 1.0, 50.0))) == 2
    again = refit(x, 2 * times, find_lines(x, times))
    assert [(line.first, line.last) for line in again] == [(0, 3), (4, 7), (8, 11)]
    assert again[1].alpha_s == pytest.approx(60) and again[1].beta_s_per_byte == pytest.approx(4)


def test_noise_alone_makes_no_breaks() -> None:
    rng = np.random.default_rng(5)
    single = 0
    for _ in range(50):
        times = (2e-6 + 0.2e-9 * SIZES) * rng.lognormal(0, 0.02, size=SIZES.size)
        single += len(find_lines(SIZES, times, noise=0.02)) == 1
    assert single >= 45


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_line_through_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="too far apart"):
        hockney.fit(Way.exact(SIZES, np.full(SIZES.size, 1e-320)))


def _covers(interval: tuple[float, float] | None, truth: float) -> bool:
    assert interval is not None
    return interval[0] <= truth <= interval[1]


@pytest.mark.parametrize("launches", [3, 5, 10])
def test_intervals_hold_alpha_and_beta_where_launches_have_noise_in_common(launches: int) -> None:
    # Drawing launches anew for every size averages what they have in common away: that holds them in 38 to 70 of 100.
    alpha, beta = 1e-6, 1e-10
    covered = [0, 0]
    for seed in range(100):
        way = measure({"send": alpha + beta * SIZES}, seed, launches, common=0.1, sigma=0.02, sizes=SIZES)["send"]
        segment = hockney.fit(way).segments[0]
        covered[0] += _covers(segment.alpha_ci_s, alpha)
        covered[1] += _covers(segment.beta_ci_s_per_byte, beta)
    assert min(covered) >= 93 - 3, covered


def test_piecewise_intervals_hold_what_two_protocols_cost() -> None:
    covered = [0, 0, 0]
    for seed in range(60):
        way = measure({"send": _two_protocols(SIZES)}, seed, common=0.1, sigma=0.01, sizes=SIZES)["send"]
        model = piecewise.fit(way)
        curve = curve_of(way, {"hockney": hockney.fit(way), "piecewise": model}, "piecewise", "median")
        covered[0] += [segment.from_bytes for segment in model.segments] == [0, 8192]
        covered[1] += _covers(curve.alpha_ci_s, 1e-6)
        covered[2] += _covers(curve.beta_ci_s_per_byte, 0.1e-9)
    assert min(covered) >= 0.88 * 60, covered


def test_a_line_is_fitted_in_the_logarithm() -> None:
    # A row twice as slow and one half as slow cancel; relative squares favour too small a time.
    sizes = np.array([0.0, 0.1, 1e6, 1.1e6])
    times = np.array([2.0, 0.5, 2.0, 0.5]) * 1e-6 * np.array([1, 1, 1e3, 1e3])
    assert fit_line_in_logs(sizes, times)[1] == pytest.approx(1e-9, rel=0.1)
    assert fit_line(sizes, times)[1] < 0.7e-9
    alpha, beta = fit_line_in_logs(SIZES, 2e-6 + 0.2e-9 * SIZES)
    assert (alpha, beta) == pytest.approx((2e-6, 0.2e-9), rel=1e-6)


def test_an_imported_table_is_interpolated_exactly() -> None:
    points = [Point(0, 2e-6, 2e-6, 2e-6, 1), Point(10, 3e-6, 3e-6, 3e-6, 1), Point(1000, 4e-6, 4e-6, 4e-6, 1)]
    curve = curve_from_table(points, "as published")
    for point in points:
        assert curve.time_s(point.size_bytes) == pytest.approx(point.time_s, rel=1e-12)
    assert curve.time_s(505) == pytest.approx(3.5e-6)
    assert curve.extrapolates(1001) and not curve.extrapolates(1000)
    with pytest.raises(ValueError, match="two sizes"):
        curve_from_table(points[:1], "as published")


@pytest.mark.parametrize("disturbed", range(8))
def test_a_disturbed_row_makes_no_other_size_uncertain(disturbed: int) -> None:
    sizes = [0, *(2**power for power in range(10, 17))]
    times = [1e-5 + 1e-8 * size for size in sizes]
    times[disturbed] *= 2
    curve = curve_from_table([Point(size, t, t, t, 1) for size, t in zip(sizes, times, strict=True)], "median")
    for number in set(range(7)) - {disturbed - 1, disturbed}:
        between = (sizes[number] + sizes[number + 1]) // 2
        assert curve.model_error(between) < 0.05, between
    if 0 < disturbed < 7:  # the nearer, the less certain
        low, high = sizes[disturbed - 1], sizes[disturbed]
        errors = [curve.model_error(low + round(share * (high - low))) for share in (0.05, 0.5, 0.95)]
        assert 0.1 < errors[0] < errors[1] < errors[2] and errors[2] > 0.8
