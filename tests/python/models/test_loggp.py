from collections import Counter

import numpy as np
import pytest
from synthetic_machine import LOGGP, SIZES, loggp_times, measure

from rankwise.models import loggp
from rankwise.models.measured import Way


def test_exact_times_give_the_exact_parameters() -> None:
    times = loggp_times()
    fitted = loggp.fit({name: Way.exact(SIZES, time_s) for name, time_s in times.items()})
    for name, time_s in times.items():
        model = fitted[name]
        assert [model.time_s(int(size)) for size in SIZES] == pytest.approx(time_s.tolist(), rel=1e-9)
        assert model.relative_error < 1e-9
        assert {key: parameter.value for key, parameter in model.parameters.items()} == pytest.approx(LOGGP, rel=1e-6)
        assert model.parameter_count == len(LOGGP)


def test_alpha_is_two_overheads_and_the_latency() -> None:
    fitted = loggp.fit(measure(loggp_times(), 3))["send"]
    parameters = {name: parameter.value for name, parameter in fitted.parameters.items()}
    assert fitted.segments[0].alpha_s == pytest.approx(2 * parameters["overhead_s"] + parameters["latency_s"])


def test_segments_between_measured_sizes_follow_the_formula() -> None:
    fitted = loggp.fit({name: Way.exact(SIZES, time_s) for name, time_s in loggp_times().items()})
    sizes = np.arange(0, 20000, 37).astype(float)
    for name, time_s in loggp_times(sizes).items():
        assert [fitted[name].time_s(int(size)) for size in sizes] == pytest.approx(time_s.tolist(), rel=1e-6)


def test_without_both_directions_it_says_what_it_needs() -> None:
    send = Way.exact(SIZES, loggp_times()["send"])
    with pytest.raises(ValueError, match="exchange and exchange-gap not measured"):
        loggp.fit({"send": send})


def test_intervals_cover_known_parameters_in_90_of_100_seeds() -> None:
    covered: Counter[str] = Counter()
    for seed in range(100):
        for name, parameter in loggp.fit(measure(loggp_times(), seed))["send"].parameters.items():
            low, high = parameter.ci or (parameter.value, parameter.value)
            covered[name] += low <= LOGGP[name] <= high
    assert covered.keys() == LOGGP.keys()
    assert min(covered.values()) >= 90, covered
