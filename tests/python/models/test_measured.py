"""What all models are fitted to, and by."""

import math

import numpy as np
import pytest

from rankwise.arrays import Floats
from rankwise.distributions import t_quantile
from rankwise.errors import InputError
from rankwise.machine.link import LinkModel, Parameter, Segment
from rankwise.models.measured import Measured, Way, rms_error, scale, squared_error, steps, with_error, with_intervals
from rankwise.models.uncertain import Range, bounds
from rankwise.statistics import Deviations

SIZES = np.array([0.0, 8.0, 64.0])
# Three launches, of which one lacks a row; the columns leave one of them out.
WAY = Way(
    SIZES, np.array([1.0, 2.0, 4.0]), (3, 3, 2), np.array([[1.1, 0.9, 1.0], [2.2, 1.8, 2.0], [4.0, np.nan, 4.4]]),
    Deviations(own=3, launches=3), noise=0.02,
)  # fmt: skip


def test_the_factor_that_comes_closest_weighs_rows_by_their_times() -> None:
    assert scale(np.array([1.0, 2.0]), np.array([3.0, 6.0]), np.array([1.0, 5.0])) == pytest.approx(3)
    # (1 * 4 + 4 * 1 / 4) / (1 + 4 / 4)
    assert scale(np.array([1.0, 2.0]), np.array([4.0, 2.0]), np.array([1.0, 2.0])) == pytest.approx(2.5)
    assert scale(np.array([1.0]), np.array([-1.0]), np.array([1.0])) == scale(np.zeros(2), np.ones(2), np.ones(2)) == 0.0


def test_errors_are_relative() -> None:
    model, times = np.array([1.1, 1.8, 4.0, 8.0]), np.array([1.0, 2.0, 4.0, 8.0])
    assert squared_error(model, times) == pytest.approx(0.02)
    assert rms_error(model, times) == pytest.approx(0.005**0.5)


def test_a_line_that_the_next_one_replaces_at_once_is_left_out() -> None:
    assert steps((0, 1.0, 2.0), (0.4, 3.0, 4.0), (10, 5.0, 6.0)) == (Segment(0, 10, 3.0, 4.0), Segment(10, None, 5.0, 6.0))
    assert steps((0, 1.0, 2.0)) == (Segment(0, None, 1.0, 2.0),)
    assert [one.from_bytes for one in steps((0, 1, 1), (10, 2, 2), (10, 3, 3), (12, 4, 4))] == [0, 10, 12]


def test_a_column_takes_the_place_of_the_times_where_it_has_them() -> None:
    column = WAY.column(1)
    assert column.times_s.tolist() == [0.9, 1.8, 4.0] and column.columns_s.shape == (3, 0) and column.samples == (1, 1, 1)
    rest = WAY.without([8.0])
    assert rest.sizes.tolist() == [0.0, 64.0] and rest.times_s.tolist() == [1.0, 4.0] and rest.noise == 0.02


def test_rows_have_the_intervals_of_their_columns() -> None:
    expected = [WAY.deviations.interval(float(t), row) for t, row in zip(WAY.times_s, WAY.columns_s, strict=True)]
    assert WAY.intervals() == expected and all(ends is not None and ends[0] > 0 for ends in expected)
    points = WAY.points()
    assert [(p.size_bytes, p.time_s, p.samples) for p in points] == [(0, 1.0, 3), (8, 2.0, 3), (64, 4.0, 2)]
    assert [p.interval_s for p in points] == expected
    difference = Way(SIZES[:1], np.array([0.1]), (3,), np.array([[0.4, -0.3, 0.2]]), WAY.deviations, linear=True)
    low, high = difference.intervals()[0] or (1.0, 1.0)
    assert low == 0.0 and high > 1.0
    assert Way.exact(SIZES, SIZES + 1).intervals() == [None] * 3 and Way.exact(SIZES, SIZES + 1).noise == 1e-3


def test_refits_are_of_the_columns_that_all_ways_have() -> None:
    shorter = Way(SIZES, WAY.times_s, (3,) * 3, WAY.columns_s[:, :2] * 2, WAY.deviations)

    def first(ways: Measured) -> dict[str, float]:
        return {name: float(way.times_s[0]) for name, way in ways.items()}

    of_two = (WAY.deviations.interval(1.0, np.array(row)) for row in ([1.1, 0.9], [2.2, 1.8]))
    sent, both = with_intervals({"send": WAY}, first), with_intervals({"send": WAY, "ssend": shorter}, first)
    assert both == {name: Parameter(1.0, ends) for name, ends in zip(("send", "ssend"), of_two, strict=True)}
    assert sent == {"send": Parameter(1.0, WAY.deviations.interval(1.0, np.array([1.1, 0.9, 1.0])))}
    assert with_intervals({"send": Way.exact(SIZES, WAY.times_s)}, first) == {"send": Parameter(1.0, None)}
    seen = with_intervals({"send": WAY}, lambda ways: first(ways) if ways["send"] is WAY else {})
    assert seen == {"send": Parameter(1.0, WAY.deviations.interval(1.0, np.ones(3)))}  # what no column shows is unmoved


def test_the_error_of_a_model_is_that_of_its_lines_at_the_rows() -> None:
    line, flat = Segment(0, 2, 1.0, 1.0), Segment(2, None, 3.0, 0.0)
    way = Way.exact(np.arange(4.0), np.full(4, 2.0))
    assert with_error(LinkModel("a", (line, flat), ""), way).relative_error == pytest.approx(np.sqrt(3 * 0.25 / 4))
    assert with_error(LinkModel("a", (Segment(2, None, 3.0, 0.0),), ""), way).relative_error == pytest.approx(0.5)


def test_bounds_lie_at_the_corners_of_the_ranges() -> None:
    ranges = {"a": Range(2.0, 1.0, 4.0), "b": Range(10.0, 5.0, 20.0), "c": Range.exactly(3.0)}
    found = bounds(lambda p: {"quotient": p["a"] / p["b"], "sum": p["a"] + p["c"], "three": p["c"]}, ranges)
    assert found == {"quotient": Range(0.2, 0.05, 0.8), "sum": Range(5.0, 4.0, 7.0), "three": Range(3.0, 3.0, 3.0)}
    assert found["sum"].wide and not found["three"].wide
    many = {str(i): Range(1.0, 0.5, 2.0) for i in range(12)}
    assert bounds(lambda p: {"sum": sum(p.values())}, many)["sum"] == Range(12.0, 6.0, 24.0)
    with pytest.raises(InputError, match="13 parameters are ranges: fix some, 12 are the most"):
        bounds(lambda p: {}, many | {"more": Range(1.0, 0.5, 2.0)})


def _of_launches(logs: Floats) -> Way:
    """A way whose rows are means of launches' logarithms, (rows, launches)."""
    launches = logs.shape[1]
    without = np.exp((logs.sum(axis=1, keepdims=True) - logs) / (launches - 1))
    means = np.exp(logs.mean(axis=1))
    return Way(np.arange(1.0, len(logs) + 1), means, (launches,) * len(logs), without, Deviations(launches, launches))


def _half_widths(way: Way) -> Floats:
    return np.array([np.log(ends[1] / ends[0]) / 2 for ends in way.intervals() if ends is not None])


@pytest.mark.parametrize(("common", "own"), [(0.0, 0.1), (0.05, 0.05), (0.1, 0.01)])
@pytest.mark.parametrize("launches", [2, 3, 5])
def test_intervals_of_few_launches_hold_the_truth(launches: int, common: float, own: float) -> None:
    rng = np.random.default_rng(launches)
    inside, alone = [], t_quantile(0.975, launches - 1) * np.hypot(common, own) / math.sqrt(launches)
    widths = []
    for _ in range(40):
        way = _of_launches(rng.normal(0, common, (1, launches)) + rng.normal(0, own, (15, launches)))
        inside += [ends is not None and ends[0] <= 1 <= ends[1] for ends in way.intervals()]
        widths.append(np.median(_half_widths(way)))
    assert np.mean(inside) > 0.88
    if launches == 2 and common <= own:  # the rows around one tell as much as more launches would
        assert np.median(widths) < alone / 3


def test_what_all_rows_have_in_common_is_told_once() -> None:
    launches = np.array([0.04, -0.02, 0.01])
    alike = _half_widths(_of_launches(np.tile(launches, (12, 1))))
    assert alike == pytest.approx(t_quantile(0.975, 2) * launches.std(ddof=1) / math.sqrt(3))


def test_a_row_that_launches_differ_in_keeps_its_own_width() -> None:
    logs = np.random.default_rng(3).normal(0, 0.02, (11, 3))
    logs[5] = [-0.5, 0.6, 0.3]
    widths = _half_widths(_of_launches(logs))
    assert widths[5] == pytest.approx(t_quantile(0.975, 2) * logs[5].std(ddof=1) / math.sqrt(3))
    assert np.all(np.delete(widths, 5) < widths[5] / 3)
