from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.machine.link import LinkModel, Parameter, Segment
from rankwise.models.max_rate import fit, with_contention
from rankwise.models.measured import Way
from synthetic_machine import MAX_RATE, SIZES, max_rate_times, measure, several_at_once_s

MODEL = LinkModel("piecewise", (Segment(0, 100, 1e-6, 1e-9), Segment(100, None, 5e-6, 2e-10)), "by hand")


@given(st.integers(0, 10**6), st.integers(1, 10**5), st.floats(0.5, 3.0))
def test_contention_multiplies_times_from_its_size_on(size: int, from_bytes: int, factor: float) -> None:
    busy = with_contention(MODEL, factor, from_bytes)
    expected = MODEL.time_s(size) * (factor if size >= from_bytes else 1.0)
    assert busy.time_s(size) == pytest.approx(expected, rel=1e-12)
    assert busy.name == "max-rate" and f"from {from_bytes} B" in busy.method


def test_exact_times_give_the_exact_parameters() -> None:
    times = max_rate_times()
    fitted = fit({name: Way.exact(SIZES, time_s) for name, time_s in times.items()})
    for name, time_s in times.items():
        assert [fitted[name].time_s(int(size)) for size in SIZES] == pytest.approx(time_s.tolist(), rel=1e-9)
    found = {name: parameter.value for name, parameter in fitted["send"].parameters.items()}
    assert found == pytest.approx(MAX_RATE, rel=1e-6)


def test_without_a_shared_limit_two_messages_take_no_longer_than_one() -> None:
    one = max_rate_times()["send"]
    fitted = fit({"send": Way.exact(SIZES, one), "exchange": Way.exact(SIZES, one)})
    found = {name: parameter.value for name, parameter in fitted["send"].parameters.items()}
    assert found["injection_bytes_per_s"] == pytest.approx(2 / MAX_RATE["beta_s_per_byte"])
    assert "contention_factor" not in found


def test_contention_is_seen_from_three_sizes_on() -> None:
    times = max_rate_times()
    for name in ("exchange", "exchange-gap"):
        times[name] = times["send"] * np.where(SIZES >= SIZES[-2], 3.0, 1.0)
    found = fit({name: Way.exact(SIZES, time_s) for name, time_s in times.items()})["send"].parameters
    assert found["contention_from_bytes"].value == SIZES[-3]
    times["exchange"][3:] *= 2  # and not before the fourth
    found = fit({"send": Way.exact(SIZES, times["send"]), "exchange": Way.exact(SIZES, times["exchange"])})["send"].parameters
    assert found["contention_from_bytes"].value >= SIZES[3]


def test_several_at_once_take_the_lower_of_the_rates() -> None:
    def model(beta: float, limit: float | None) -> LinkModel:
        found = {"alpha_s": Parameter(2e-6), "beta_s_per_byte": Parameter(beta)}
        if limit is not None:
            found["injection_bytes_per_s"] = Parameter(limit)
        return LinkModel("max-rate", MODEL.segments, "", parameters=found)

    assert several_at_once_s(model(1e-9, 2.5e9), 2, 1000) == pytest.approx(2e-6 + 1e-6)
    assert several_at_once_s(model(1e-9, 2.5e9), 5, 1000) == pytest.approx(2e-6 + 2e-6)
    assert several_at_once_s(model(1e-9, None), 5, 1000) == pytest.approx(2e-6 + 1e-6)
    assert several_at_once_s(model(0.0, 2.5e9), 5, 1000) == pytest.approx(2e-6 + 2e-6)
    assert several_at_once_s(model(0.0, None), 5, 1000) == pytest.approx(2e-6)


def test_streams_that_were_measured_tell_the_limit() -> None:
    measured = {name: Way.exact(SIZES, time_s) for name, time_s in max_rate_times().items()}
    assert fit(measured, Parameter(7e9))["send"].parameters["injection_bytes_per_s"] == Parameter(7e9)
    assert fit(measured)["send"].parameter_count == 7


def test_contention_splits_the_segment_that_it_begins_in() -> None:
    busy = with_contention(MODEL, 2.0, 50).segments
    assert [(s.from_bytes, s.to_bytes, s.alpha_s, s.beta_s_per_byte) for s in busy] == [
        (0, 50, 1e-6, 1e-9), (50, 100, 2e-6, 2e-9), (100, None, 1e-5, 4e-10)
    ]  # fmt: skip
    assert [s.from_bytes for s in with_contention(MODEL, 2.0, 100).segments] == [0, 100]


def test_without_two_messages_at_once_it_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="exchange not measured"):
        fit({"send": Way.exact(SIZES, max_rate_times()["send"])})


def test_intervals_cover_known_parameters_of_a_machine_whose_launches_differ() -> None:
    covered: Counter[str] = Counter()
    seeds = 40
    for seed in range(seeds):
        for name, parameter in fit(measure(max_rate_times(), seed, common=0.1))["send"].parameters.items():
            low, high = parameter.ci or (parameter.value, parameter.value)
            covered[name] += low <= MAX_RATE.get(name, -1.0) <= high
    assert covered.keys() == MAX_RATE.keys()
    assert min(covered.values()) >= 0.87 * seeds, covered
