import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.models.measured import Measured, Way
from rankwise.models.selection import MODELS, fit_link
from synthetic_machine import SIZES, loggp_times, measure


def _line(alpha_s: float, beta: float) -> dict[str, np.ndarray]:
    return {"send": alpha_s + beta * SIZES}


FINE = np.unique(np.concatenate([[0], 2 ** np.arange(23), 48 * 2 ** np.arange(16)])).astype(float)


def test_the_model_of_the_machine_is_chosen_where_it_beats_the_table() -> None:
    link = fit_link(measure({"send": 2e-6 + 0.2e-9 * FINE}, 1, sizes=FINE), "median")
    assert link.send.model == "hockney"
    assert link.reason is not None and "hockney beats the interpolated table" in link.reason


def test_what_is_looked_up_is_explained_by_the_best_of_the_fits() -> None:
    link = fit_link(measure(loggp_times(), 1), "median")
    assert (link.send.model, link.explained_by()) == ("pchip", "loggp")
    assert {curve.model for curve in link.variants.values()} == {"pchip"}


def test_what_no_model_of_few_parameters_describes_is_looked_up() -> None:
    wavy = 2e-6 * (1 + SIZES / 2000) ** 0.7
    link = fit_link(measure({"send": wavy}, 1), "median")
    assert link.send.model == "pchip" and link.reason is not None
    assert "no model with few parameters beats the interpolated table" in link.reason
    assert "loggp needs both directions" in link.reason and "max-rate needs" in link.reason
    for point in link.send.table:  # but for rows that fall, which are pooled with their neighbours
        assert link.send.time_s(point.size_bytes) == pytest.approx(point.time_s, rel=0.02)


def test_a_model_that_misses_a_row_by_more_than_the_row_is_uncertain_is_not_chosen() -> None:
    times = _line(2e-6, 0.2e-9)
    times["send"][6] *= 1.6
    link = fit_link(measure(times, 1), "median")
    assert link.send.model == "pchip" and link.reason is not None
    assert "hockney" in link.reason and "measured points by more than their noise" in link.reason


def test_with_few_sizes_a_line_is_taken_only_where_it_holds_all_rows() -> None:
    sizes = np.array([0.0, 8, 1000, 100_000, 1_000_000])
    line = fit_link(measure({"send": 2e-6 + 1e-9 * sizes}, 1, sizes=sizes), "median")
    assert line.send.model == "hockney" and line.reason is not None and "5 sizes are too few to test" in line.reason
    # 100 kB takes ten times what the line through the others says.
    bent = 2e-6 + 1e-9 * sizes
    bent[3] *= 10
    table = fit_link(measure({"send": bent}, 1, sizes=sizes), "median")
    assert table.send.model == "pchip" and table.send.time_s(100_000) == pytest.approx(bent[3], rel=0.1)


def test_rows_that_say_nothing_of_their_spread_are_missed_only_where_they_are_few() -> None:
    for sizes, misses in ((SIZES[:5], True), (SIZES, False)):
        times = 2e-6 + 1e-9 * sizes
        times[3] *= 1.5
        reason = fit_link({"send": Way.exact(sizes, times)}, "median").reason
        assert reason is not None and ("hockney, piecewise miss measured points" in reason) == misses


def test_rows_that_fall_are_told_of() -> None:
    times = 2e-6 + 1e-9 * SIZES
    straight = fit_link({"send": Way.exact(SIZES, times)}, "median").reason
    assert straight is not None and "not monotone" not in straight
    times[5] *= 9
    reason = fit_link({"send": Way.exact(SIZES, times)}, "median").reason
    assert reason is not None and "Times are not monotone: noise" in reason


def test_every_model_is_there_with_its_error_on_unseen_sizes() -> None:
    link = fit_link(measure(loggp_times(), 2), "median")
    for curve in (link.send, *link.variants.values()):
        assert tuple(curve.models) == MODELS
        for model in curve.models.values():
            assert model.cross_validated_error is not None and model.parameter_count is not None


def test_leaving_a_size_out_leaves_it_out_in_every_way_of_sending() -> None:
    # One size is wrong by the same factor everywhere: a model that had seen it in one way could not be off by all of it.
    times = {name: time_s.copy() for name, time_s in loggp_times().items()}
    for time_s in times.values():
        time_s[5] *= 3
    measured: Measured = {name: Way.exact(SIZES, time_s) for name, time_s in times.items()}
    link = fit_link(measured, "median", "hockney")
    error = link.send.models["hockney"].cross_validated_error
    assert error is not None and error > (1 - 1 / 3) / SIZES.size


def test_a_model_can_be_asked_for() -> None:
    link = fit_link(measure(loggp_times(), 1), "median", "hockney")
    assert link.send.model == "hockney"
    assert link.reason is not None and link.reason.startswith("the model that was asked for")
    with pytest.raises(ValueError, match="choose another model"):
        fit_link(measure(_line(1e-6, 1e-9), 1), "median", "loggp")


def test_the_method_table_takes_the_rows_as_they_are() -> None:
    measured = measure(loggp_times(), 1)
    link = fit_link(measured, "median", "piecewise", "table")
    for size, time_s in zip(SIZES, measured["send"].times_s, strict=True):
        assert link.send.time_s(int(size)) == pytest.approx(time_s, rel=1e-9)


@given(st.lists(st.floats(1e-9, 1e-2), min_size=4, max_size=10), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_any_positive_times_give_a_link_with_finite_positive_predictions(times_s: list[float], seed: int) -> None:
    truth = np.array(times_s)
    sizes = np.concatenate([[0.0], np.cumsum(np.random.default_rng(seed).integers(1, 5000, truth.size - 1))])
    measured: Measured = {name: Way.exact(sizes, truth) for name in ("send", "exchange", "exchange-gap")}
    link = fit_link(measured, "median")
    for curve in (link.send, *link.variants.values()):
        for model in curve.models.values():
            for size in sizes:
                assert np.isfinite(model.time_s(int(size))) and model.time_s(int(size)) >= -1e-12


@pytest.mark.parametrize("seed", [166, 192, 235, 462, *range(100, 106)])
def test_no_noise_leaves_a_figure_that_a_profile_cannot_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.choice(SIZES, rng.integers(3, 12), replace=False))
    times = {
        way: truth * np.exp(rng.normal(0.0, rng.choice([0.05, 0.5, 3, 6]), sizes.size))
        for way, truth in loggp_times(sizes).items()
    }
    measured = measure(times, seed, launches=int(rng.integers(1, 6)), sigma=float(rng.choice([0.03, 1.0, 3.0])), sizes=sizes)
    link = fit_link(measured, "median")
    json.dumps(link.to_dict(), allow_nan=False)
    assert all(curve.model in curve.models for curve in (link.send, *link.variants.values()))


def test_a_way_that_no_model_fits_is_refused() -> None:
    way = Way.exact(np.array([8.0]), np.array([1e-6]))
    with pytest.raises(ValueError, match="at least two sizes"):
        fit_link({"send": way}, "median")
