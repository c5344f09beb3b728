import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.models.measured import Measured, Way
from rankwise.models.selection import MODELS, fit_link
from synthetic_machine import SIZES, loggp_times, max_rate_times, measure


def _line(alpha_s: float, beta: float) -> dict[str, np.ndarray]:
    return {"send": alpha_s + beta * SIZES}


@pytest.mark.parametrize(
    ("times", "model"),
    [(_line(2e-6, 0.2e-9), "hockney"), (loggp_times(), "loggp"), (max_rate_times(), "max-rate")],
)
def test_the_model_of_the_machine_is_chosen(times: dict[str, np.ndarray], model: str) -> None:
    link = fit_link(measure(times, 1), "median")
    assert link.send.model == model
    assert {curve.model for curve in link.variants.values()} <= {model}
    assert link.choice is not None and model in link.choice.reason


def test_two_protocols_in_a_send_alone_are_piecewise() -> None:
    link = fit_link(measure({"send": loggp_times()["send"]}, 1), "median")
    assert link.send.model == "piecewise"
    assert link.choice is not None
    assert "loggp needs both directions" in link.choice.reason and "max-rate needs" in link.choice.reason


def test_of_models_that_are_equally_good_the_smaller_is_taken() -> None:
    link = fit_link(measure(_line(2e-6, 0.2e-9), 4), "median")
    errors = {name: model.cross_validated_error for name, model in link.send.models.items()}
    assert link.send.model == "hockney"
    assert errors["piecewise"] is not None and errors["hockney"] is not None


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
    measured: Measured = {
        name: Way(SIZES, time_s, np.repeat(time_s[:, None], 5, axis=1), (1,) * SIZES.size) for name, time_s in times.items()
    }
    link = fit_link(measured, "median", "hockney")
    error = link.send.models["hockney"].cross_validated_error
    assert error is not None and error > (1 - 1 / 3) / SIZES.size


def test_a_model_can_be_asked_for() -> None:
    link = fit_link(measure(loggp_times(), 1), "median", "hockney")
    assert link.send.model == "hockney"
    assert link.choice is not None and link.choice.reason.startswith("asked for")
    with pytest.raises(ValueError, match="choose another model"):
        fit_link(measure(_line(1e-6, 1e-9), 1), "median", "loggp")


def test_the_method_table_takes_the_rows_as_they_are() -> None:
    measured = measure(loggp_times(), 1)
    link = fit_link(measured, "median", "piecewise", "table")
    for size, time_s in zip(SIZES, measured["send"].times_s, strict=True):
        assert link.send.time_s(int(size)) == pytest.approx(time_s, rel=1e-9)


def test_two_sizes_are_too_few_to_test_a_model() -> None:
    way = Way.exact(np.array([0.0, 100.0]), np.array([1e-6, 2e-6]))
    replicated = Way(way.sizes, way.times_s, np.repeat(way.times_s[:, None], 5, axis=1), (1, 1))
    link = fit_link({"send": replicated}, "median")
    assert link.choice is not None and "fewer than 4 sizes" in link.choice.reason


@given(st.lists(st.floats(1e-9, 1e-2), min_size=4, max_size=10), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_any_positive_times_give_a_link_with_finite_positive_predictions(times_s: list[float], seed: int) -> None:
    truth = np.array(times_s)
    sizes = np.concatenate([[0.0], np.cumsum(np.random.default_rng(seed).integers(1, 5000, truth.size - 1))])
    replicates = np.repeat(truth[:, None], 5, axis=1)
    measured: Measured = {
        name: Way(sizes, truth, replicates, (1,) * truth.size) for name in ("send", "exchange", "exchange-gap")
    }
    link = fit_link(measured, "median")
    for curve in (link.send, *link.variants.values()):
        for model in curve.models.values():
            for size in sizes:
                assert np.isfinite(model.time_s(int(size))) and model.time_s(int(size)) >= -1e-12
