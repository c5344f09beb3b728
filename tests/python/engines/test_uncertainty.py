"""The interval of a prediction holds the time of a machine whose truth is known, whichever fitting model answers."""

import numpy as np
import pytest

from rankwise.engines.predict import predict_rows
from rankwise.machine.profile import Link, Profile
from rankwise.models import hockney, loggp, max_rate, piecewise
from rankwise.models.curve import curve_of
from rankwise.models.measured import Measured
from rankwise.workloads.exchange import Asked, make_cases
from synthetic_machine import SIZES, known, loggp_times, max_rate_times, measure

CASES = make_cases(Asked(["shift"], ["ssend", "send", "isend"], [1, 3], [500, 3000, 100_000]), [8], [True])


def _profile(measured: Measured, model: str) -> Profile:
    fits = {
        "hockney": {name: hockney.fit(way) for name, way in measured.items()},
        "piecewise": {name: piecewise.fit(way) for name, way in measured.items()},
        "loggp": loggp.fit(measured) if model == "loggp" else {},
        "max-rate": max_rate.fit(measured) if model == "max-rate" else {},
    }
    curves = {
        name: curve_of(way, {key: fit[name] for key, fit in fits.items() if fit}, model, "median")
        for name, way in measured.items()
    }
    return Profile({}, {"other-node": Link(curves.pop("send"), curves)}, "", {})


@pytest.mark.parametrize(
    ("model", "times"),
    [
        ("hockney", {name: (1 + i) * 1e-6 + 0.2e-9 * SIZES for i, name in enumerate(loggp_times())}),
        ("piecewise", {name: np.where(SIZES < 8192, 1e-6 + 0.4e-9 * SIZES, 5e-6 + 0.1e-9 * SIZES) for name in loggp_times()}),
        ("loggp", loggp_times()),
        ("max-rate", max_rate_times()),
    ],
)
def test_predicted_intervals_hold_the_truth_in_90_of_100(model: str, times: dict[str, np.ndarray]) -> None:
    truth_s = [row.time_s for row in predict_rows(_profile(known(times), model), CASES)]
    inside = 0
    for seed in range(10):
        rows = predict_rows(_profile(measure(times, seed, common=0.05), model), CASES)
        inside += sum(row.time_lo_s <= true_s <= row.time_hi_s for row, true_s in zip(rows, truth_s, strict=True))
        assert all(row.time_hi_s - row.time_lo_s < row.time_s for row in rows)  # and is not won by being wide
    assert inside >= 0.9 * 10 * len(CASES), inside
