import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankwise.statistics import (
    HISTORY_STEP,
    STATISTICS,
    Deviations,
    History,
    Summary,
    batches,
    dependence,
    interval_95,
    is_outlier,
    lag_1,
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
    assert location(samples[:3], "smallest-20") == 1.0
    rng = np.random.default_rng(8)
    for count in (1, 4, 9):
        assert location(rng.permutation(5 * count).astype(float), "smallest-20") == (count - 1) / 2
    assert interval_95(np.arange(1001.0)) == (25.0, 975.0)


def test_the_tukey_mean_is_of_what_lies_within_its_fences() -> None:
    # Quartiles 2 and 4: fences at -1 and 7, themselves within.
    rows = np.array([[7.0, 1, 4, 2, 3], [-1, 2, 3, 4, 5], [7.1, 1, 2, 3, 4], [-1.1, 2, 3, 4, 5]])
    assert STATISTICS["tukey-mean"](rows, 1) == pytest.approx([3.4, 2.6, 2.5, 3.5])
    assert STATISTICS["tukey-mean"](rows.T, 0) == pytest.approx([3.4, 2.6, 2.5, 3.5])
    assert is_outlier(rows[0]).tolist() == is_outlier(rows[1]).tolist() == [False] * 5
    assert is_outlier(rows[2]).tolist() == is_outlier(rows[3]).tolist() == [True] + [False] * 4


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


def test_the_median_interval_is_of_order_statistics() -> None:
    # 1.96 sqrt(n) / 2 ranks to either side of the middle.
    assert median_interval_95(np.arange(100.0)) == (40.0, 60.0)
    assert median_interval_95(np.arange(7.0)) == (0.0, 6.0)
    assert median_interval_95(np.array([3.0, 1, 2, 5, 4])) == (1.0, 5.0)
    assert median_interval_95(np.array([3.0, 1, 2, 5, 4, 9])) == (1.0, 9.0)
    # Where they are one value, to the next ones that were seen.
    grains = np.repeat([1.0, 2, 3, 4, 5], [3, 3, 100, 3, 3])
    assert median_interval_95(grains) == (2.0, 4.0)
    assert median_interval_95(np.repeat([1.0, 2, 3, 4, 5], [1, 1, 100, 1, 1])) == (2.0, 4.0)
    assert median_interval_95(np.array([4.0, 4])) == (4.0, 4.0) and median_interval_95(np.arange(8.0)) == (1.0, 7.0)
    assert median_interval_95(np.repeat([1.0, 3], [1, 100])) == (1.0, 3.0)
    assert median_interval_95(np.repeat([3.0, 4], [100, 1])) == (3.0, 4.0)


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


def test_one_repetition_has_no_spread() -> None:
    assert Summary.of(np.array([7.0])) == Summary(7.0, (7.0, 7.0), 7.0, (7.0, 7.0), 1)
    assert Summary.of(np.array([1.0, 3.0])).to_dict() == {
        "mean_s": 2.0, "mean_ci_s": pytest.approx([2 - 12.7062, 2 + 12.7062], abs=1e-4), "median_s": 2.0,
        "median_ci_s": [1.0, 3.0], "repetitions": 2,
    }  # fmt: skip


def test_a_ratio_of_medians_has_an_interval_that_covers_it() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(100):
        value, low, high = ratio_interval(rng.normal(2, 0.2, 60), rng.normal(1, 0.1, 60))
        assert low <= value <= high
        covered += low <= 2 <= high
    assert covered >= 85
    base, times = rng.normal(2, 0.2, 60), rng.normal(1, 0.1, 50)
    # 2000 medians of as many samples, drawn anew from either.
    drawn = np.random.default_rng(2020)
    ratios = np.divide(*(np.median(drawn.choice(t, (2000, t.size)), axis=1) for t in (base, times)))
    low, high = np.quantile(ratios, [0.025, 0.975])
    assert ratio_interval(base, times) == pytest.approx((np.median(base) / np.median(times), low, high))


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


def half_width(variance: float, n: int, df: float, inflation: float = 1.0) -> float:
    return float(scipy.stats.t.ppf(0.975, df)) * math.sqrt(variance * (1 + (inflation - 1) / n) / n * inflation)


def test_launches_that_depend_on_each_other_widen_the_interval() -> None:
    medians = np.array([0.0, 0.3, 0.1, 0.2, 0.6, 0.3, 0.4, 0.5])
    variance = float(medians.var(ddof=1))
    for own, inflation in ((0.125, 1.25 / 0.75), (0.4, 1.525 / 0.475), (2.0, 1.9 / 0.1)):
        found = launch_interval(medians, autocorrelation=own)
        df = max(7 / inflation, 2.0)
        assert (found.df, found.autocorrelation) == pytest.approx((df, (inflation - 1) / (inflation + 1)))
        assert found.half_width == pytest.approx(half_width(variance, 8, df, inflation), rel=1e-6)
    free = launch_interval(medians, autocorrelation=-0.5)
    assert free == launch_interval(medians)  # eight launches cannot tell
    assert (free.df, free.half_width) == pytest.approx((7, half_width(variance, 8, 7)), rel=1e-6)
    assert free.ends == pytest.approx((math.exp(0.3 - free.half_width), math.exp(0.3 + free.half_width)))
    assert launch_interval(medians[:1]).half_width is None
    assert launch_interval(medians[:2], autocorrelation=0.2).df == 1.0
    with pytest.raises(ValueError, match="at least one launch"):
        launch_interval(medians[:0])


def test_history_moderates_what_launches_tell() -> None:
    medians = np.array([0.0, 0.3, 0.1, 0.2])
    own = float(medians.var(ddof=1))
    for known, df in ((History(0.04, 5), 5), (History(0.04, 30), 9)):
        found = launch_interval(medians, known)
        variance = (df * 0.04 + 3 * own) / (df + 3)
        assert found.df == df + 3 and found.half_width == pytest.approx(half_width(variance, 4, df + 3), rel=1e-6)
    assert launch_interval(medians, History(0.04, 0)).df == 3 and launch_interval(medians, History(0.04, 0.5)).df == 3.5
    # Two that the history contradicts are left to themselves; one has nothing that it could contradict.
    assert launch_interval(np.array([0.0, 9.0]), History(0.04, 5)).df == 1
    assert launch_interval(np.array([9.0]), History(0.04, 5)).df == 5
    # Kept up to the 95 % point of F(3, 9) = 3.8625.
    assert launch_interval(medians, History(own / 3.85, 9)).df == 12
    assert launch_interval(medians, History(own / 3.87, 9)).df == 3


def test_from_20_launches_on_runs_of_neighbours_are_the_unit() -> None:
    launches = np.arange(90.0)
    assert batches(launches[:19]).tolist() == launches[:19].tolist()
    assert batches(launches[:20]).tolist() == [1.5, 5.5, 9.5, 13.5, 17.5]
    assert [batches(launches[:n]).size for n in (47, 48, 56, 64, 90)] == [5, 6, 7, 8, 8]
    assert batches(np.stack([launches[:20], launches[20:40]])).shape == (2, 5)
    noise = np.random.default_rng(6).normal(size=20)
    runs = noise.reshape(5, 4).mean(axis=1)
    found = launch_interval(noise, History(1e-6, 9), autocorrelation=None)
    assert found.df == 4
    # Means of runs of four depend on each other by r (1 - r^4)^2 / (4 (1 - r^2) - 2 r (1 - r^4)); 27 launches know r.
    r = 0.5 / (1 - 3 / 20)
    between = r * (1 - r**4) ** 2 / (4 * (1 - r * r) - 2 * r * (1 - r**4))
    known = launch_interval(noise, History(1e-6, 1e9, 0.5), autocorrelation=0.5)
    assert known.autocorrelation == pytest.approx(between)
    expected = half_width(float(runs.var(ddof=1)), 5, 4, (1 + between) / (1 - between))
    assert known.half_width == pytest.approx(expected, rel=1e-6)


def test_neighbouring_launches_tell_how_they_depend_on_each_other() -> None:
    launches = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    off = launches - 5.5
    assert lag_1(launches) == pytest.approx(float(np.sum(off[1:] * off[:-1]) / np.sum(off**2)) + 0.1)
    assert lag_1(launches / 1000) == pytest.approx(lag_1(launches))
    assert lag_1(launches[:9]) is None and lag_1(np.full(12, 3.0)) is None
    # Of a single series on the safe side; with history in the mean, where its standard error tells it from none.
    assert [dependence(own, 10, None) for own in (None, 0.2, -0.5, 0.85)] == pytest.approx([0.0, 0.3, 0.0, 0.9])
    assert dependence(None, 10, History(1.0, 16, 0.3)) == pytest.approx(0.3 / 0.7)
    assert dependence(None, 30, History(1.0, 16, 0.3)) == pytest.approx(0.3 / 0.9)
    assert dependence(None, 5, History(1.0, 16, 0.3)) == pytest.approx(0.3 / 0.7)
    assert dependence(0.8, 11, History(1.0, 10, 0.3)) == pytest.approx(0.55 / (1 - 3 / 11))
    assert dependence(0.9, 11, History(1.0, 10, 0.9)) == 0.9
    assert dependence(None, 10, History(1.0, 16, 0.25)) == 0.0 and dependence(None, 10, History(1.0, 0, 0.9)) == 0.0
    assert dependence(None, 10, History(1.0, 0.25, 0.9)) == 0.0
    assert dependence(None, 30, History(1.0, 1.5, 0.9)) == 0.9


def test_leaving_launches_out_one_by_one_is_students_interval_of_their_mean() -> None:
    launches = np.array([1.0, 4.0, 2.0, 7.0, 5.0])
    left_out = np.array([np.delete(launches, i).mean() for i in range(5)])
    deviations = Deviations(own=5, launches=5)
    half = half_width(float(launches.var(ddof=1)), 5, 4)
    assert deviations.interval(3.8, left_out, linear=True) == pytest.approx((3.8 - half, 3.8 + half))
    assert deviations.interval(-3.8, -left_out) == pytest.approx((-3.8 - half, -3.8 + half))
    logs = np.exp(left_out)
    assert deviations.interval(math.exp(3.8), logs) == pytest.approx((math.exp(3.8 - half), math.exp(3.8 + half)))
    # A row that lacks a launch has one fewer.
    left_out[2] = math.nan
    four = left_out[~np.isnan(left_out)]
    half = half_width(3 * float(np.sum((four - four.mean()) ** 2)), 4, 3)
    assert deviations.interval(3.8, left_out, linear=True) == pytest.approx((3.8 - half, 3.8 + half))
    # What passes 0 has no logarithm.
    near = np.array([0.5, 0.2, -0.1, 0.3, 0.6])
    half = half_width(4 * float(np.sum((near - near.mean()) ** 2)), 5, 4)
    assert deviations.interval(0.3, near) == pytest.approx((0.3 - half, 0.3 + half))
    assert deviations.interval(-0.3, near + 1) == pytest.approx((-0.3 - half, -0.3 + half))
    logs = np.log(near + 0.2)
    half = half_width(4 * float(np.sum((logs - logs.mean()) ** 2)), 5, 4)
    assert deviations.interval(0.5, near + 0.2) == pytest.approx((0.5 * math.exp(-half), 0.5 * math.exp(half)))
    two = half_width(0.5 * 0.2**2, 2, 1)
    assert Deviations(own=2, launches=2).interval(5.0, np.array([5.1, 4.9]), linear=True) == pytest.approx((5 - two, 5 + two))
    # Five runs of four launches each: what they are off is not moderated, and their own dependence is of runs.
    runs = Deviations(own=5, launches=20, history=(3,), autocorrelation=0.0)
    half = half_width(4 * float(np.sum((near - near.mean()) ** 2)), 5, 4)
    columns = np.concatenate([near, [0.2, -0.2, 0.0]])
    assert runs.interval(0.3, columns, linear=True) == pytest.approx((0.3 - half, 0.3 + half))
    assert deviations.interval(3.8, np.full(5, 3.8)) is None and deviations.interval(3.8, np.empty(0)) is None
    assert Deviations(own=1, launches=1).interval(3.8, np.array([3.9])) is None


def test_earlier_sessions_and_rows_have_columns_of_their_own() -> None:
    deviations = Deviations(own=3, launches=3, history=(2, 3), history_autocorrelation=0.0)
    assert deviations.count == 8 and Deviations(own=2, rows=4).count == 6 and Deviations(rows=4).count == 4
    own, first, second = np.array([0.1, -0.2, 0.1]), np.array([0.03, -0.05]), np.array([0.02, 0.05, -0.04])
    squares = sum(float(np.sum((s - s.mean()) ** 2)) for s in (first, second)) / HISTORY_STEP**2
    variance = (squares + 2 * (2 * float(np.sum((own - own.mean()) ** 2)))) / (3 + 2)
    found = deviations.interval(5.0, 5.0 + np.concatenate([own, first, second]), linear=True)
    half = half_width(variance, 3, 5)
    assert found == pytest.approx((5 - half, 5 + half))
    assert Deviations(rows=2).interval(5.0, np.array([5.3, 4.6]), linear=True) == pytest.approx((5 - 0.98, 5 + 0.98))
    half = 1.96 * math.hypot(math.log(5.3 / 5), math.log(4.6 / 5))
    assert Deviations(rows=2).interval(5.0, np.array([5.3, 4.6])) == pytest.approx((5 * math.exp(-half), 5 * math.exp(half)))
    # A session without any spread says nothing, not even of how launches depend on each other.
    still = np.concatenate([own, np.full(3, 0.1)])
    expected = Deviations(own=3, launches=3, autocorrelation=0.2).interval(5.0, 5.0 + own, linear=True)
    silent = Deviations(own=3, launches=3, history=(3,), autocorrelation=0.2, history_autocorrelation=0.9)
    assert silent.interval(5.0, 5.0 + still, linear=True) == expected
    # No launch of its own, or one, and what sessions know.
    absent = Deviations(own=1, launches=1, history=(3,)).interval(5.0, 5 + np.array([np.nan, 0.01, 0.02, -0.03]), linear=True)
    alone = Deviations(own=1, launches=1, history=(3,)).interval(5.0, 5 + np.array([0.3, 0.01, 0.02, -0.03]), linear=True)
    half = half_width(16 * 14e-4 / 2, 1, 2)
    assert alone == absent == pytest.approx((5 - half, 5 + half))
