from collections import Counter

import numpy as np
import pytest

from rankwise.models import loggp
from rankwise.models.measured import Way
from synthetic_machine import LOGGP, SIZES, STALLING, loggp_times, measure


@pytest.mark.parametrize("truth", [LOGGP, STALLING], ids=["LOGGP", "STALLING"])
def test_exact_times_give_the_exact_parameters(truth: dict[str, float]) -> None:
    times = loggp_times(p=truth)
    fitted = loggp.fit({name: Way.exact(SIZES, time_s) for name, time_s in times.items()})
    for name, time_s in times.items():
        model = fitted[name]
        assert [model.time_s(int(size)) for size in SIZES] == pytest.approx(time_s.tolist(), rel=1e-9)
        assert model.relative_error < 1e-9
        assert {key: parameter.value for key, parameter in model.parameters.items()} == pytest.approx(truth, rel=1e-6)
        assert model.parameter_count == len(truth)


def test_no_latency_is_below_zero() -> None:
    truth = {**LOGGP, "latency_s": -0.1e-6}  # 0.5 us, of which both overheads would be 0.6
    fitted = loggp.fit({name: Way.exact(SIZES, time_s) for name, time_s in loggp_times(p=truth).items()})["send"]
    assert fitted.parameters["latency_s"].value == pytest.approx(0.0, abs=1e-15)
    assert fitted.parameters["overhead_s"].value == pytest.approx(0.25e-6)


def test_alpha_is_two_overheads_and_the_latency() -> None:
    fitted = loggp.fit(measure(loggp_times(), 3))["send"]
    parameters = {name: parameter.value for name, parameter in fitted.parameters.items()}
    assert fitted.segments[0].alpha_s == pytest.approx(2 * parameters["overhead_s"] + parameters["latency_s"])


@pytest.mark.parametrize("truth", [LOGGP, STALLING], ids=["LOGGP", "STALLING"])
def test_segments_between_measured_sizes_follow_the_formula(truth: dict[str, float]) -> None:
    fitted = loggp.fit({name: Way.exact(SIZES, time_s) for name, time_s in loggp_times(p=truth).items()})
    sizes = np.arange(0, 20000, 37).astype(float)
    for name, time_s in loggp_times(sizes, truth).items():
        assert [fitted[name].time_s(int(size)) for size in sizes] == pytest.approx(time_s.tolist(), rel=1e-6)


def test_without_both_directions_it_says_what_it_needs() -> None:
    send = Way.exact(SIZES, loggp_times()["send"])
    with pytest.raises(ValueError, match="exchange and exchange-gap not measured"):
        loggp.fit({"send": send})


@pytest.mark.parametrize("truth", [LOGGP, STALLING], ids=["LOGGP", "STALLING"])
def test_intervals_cover_known_parameters_of_a_machine_whose_launches_differ(truth: dict[str, float]) -> None:
    covered: Counter[str] = Counter()
    seeds = 40
    for seed in range(seeds):
        parameters = loggp.fit(measure(loggp_times(p=truth), seed, common=0.1))["send"].parameters
        assert parameters["rendezvous_from_bytes"].value == truth["rendezvous_from_bytes"]
        for name, parameter in parameters.items():
            # Where launches have nothing but noise in common, what is a ratio of times does not differ at all.
            low, high = parameter.ci or (parameter.value, parameter.value)
            covered[name] += low * (1 - 1e-6) <= truth[name] <= high * (1 + 1e-6)
    assert covered.keys() == truth.keys()
    assert min(covered.values()) >= 0.87 * seeds, covered
