import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankwise.statistics import (
    History,
    Summary,
    is_outlier,
    launch_interval,
    location,
    median_interval_95,
    ratio_interval,
)


def test_statistics_are_what_their_names_say() -> None:
    samples = np.array([5.0, 1.0, 2.0, 9.0, 3.0, 4.0, 6.0, 7.0, 8.0, 10.0])
    assert location(samples, "median") == np.median(samples)
    assert location(samples, "minimum") == 1.0
    assert location(samples, "mean") == 5.5
    assert location(samples, "smallest-20") == 1.5


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=200))
def test_the_median_interval_contains_the_median(values: list[float]) -> None:
    samples = np.array(values)
    low, high = median_interval_95(samples)
    assert low <= np.median(samples) <= high


def test_the_median_interval_covers_the_truth_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        low, high = median_interval_95(rng.lognormal(0.0, 0.5, size=80))
        covered += low <= 1.0 <= high
    assert 930 <= covered <= 990


def test_outliers_are_those_beyond_the_whiskers_of_a_box_plot() -> None:
    times = np.random.default_rng(1).lognormal(size=200)
    first, third = np.percentile(times, (25, 75))
    reach = 1.5 * (third - first)
    assert sorted(times[is_outlier(times)]) == pytest.approx(sorted(times[(times < first - reach) | (times > third + reach)]))
    assert not is_outlier(np.full(50, 3.0)).any()


def test_mean_and_interval_are_students() -> None:
    times = np.random.default_rng(2).normal(5, 1, 40)
    found = Summary.of(times)
    expected = scipy.stats.ttest_1samp(times, 0).confidence_interval(0.95)
    assert found.mean_s == pytest.approx(times.mean())
    assert found.mean_ci_s == pytest.approx((expected.low, expected.high))
    assert found.median_ci_s[0] <= found.median_s <= found.median_ci_s[1]


def test_a_ratio_of_medians_has_an_interval_that_covers_it() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(100):
        value, low, high = ratio_interval(rng.normal(2, 0.2, 60), rng.normal(1, 0.1, 60))
        assert low <= value <= high
        covered += low <= 2 <= high
    assert covered >= 85


def test_the_interval_of_three_launches_is_students_and_history_narrows_it() -> None:
    medians = np.array([0.0, 0.1, 0.2])
    assert launch_interval(medians).half_width == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)  # 0.2484
    moderated = launch_interval(medians, History(0.05**2, 9))
    assert moderated.half_width == pytest.approx(2.2010 * 0.06216 / 3**0.5, rel=1e-4)  # 0.0790
    assert moderated.df == 11 and moderated.centre == pytest.approx(0.1)


def test_a_history_that_the_launches_contradict_is_dropped() -> None:
    medians = np.array([0.0, 0.4, 0.8])
    assert launch_interval(medians, History(0.05**2, 9)) == launch_interval(medians)


def test_one_launch_has_an_interval_by_history_only() -> None:
    alone = launch_interval(np.array([0.3]))
    assert alone.half_width is None and alone.ends is None and alone.value == pytest.approx(np.exp(0.3))
    assert launch_interval(np.array([0.3]), History(0.01, 9)).half_width == pytest.approx(2.2622 * 0.1, rel=1e-4)


@pytest.mark.parametrize("launches", [10, 30])
def test_launches_that_depend_on_the_one_before_are_covered(launches: int) -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(300):
        noise = rng.normal(size=launches)
        for i in range(1, launches):
            noise[i] = 0.5 * noise[i - 1] + 0.75**0.5 * noise[i]
        found = launch_interval(0.1 * noise, History(0.01, 27, 0.5) if launches < 20 else None)
        hits += abs(found.centre) <= found.half_width
    assert hits >= 0.91 * 300
