"""Curves end where the card ends them."""

import numpy as np
import pytest

from rankwise.machine.link import Parameter
from rankwise.models import hockney, pchip, piecewise
from rankwise.models.curve import curve_of, limited
from rankwise.models.measured import Way

SIZES = np.array([0.0, 8, 64, 1000, 8000, 64000])
WAY = Way.exact(SIZES, 1e-5 + SIZES * 2e-8)  # 50 MB/s: small messages pass a shaper at once


@pytest.mark.parametrize("chosen", ["hockney", "piecewise", "pchip"])
def test_no_message_larger_than_the_measured_ones_is_faster_than_the_card(chosen: str) -> None:
    models = {model.name: model for model in (hockney.fit(WAY), piecewise.interpolate(WAY), pchip.fit(WAY))}
    free = curve_of(WAY, models, chosen, "median")
    curve = limited(free, Parameter(1.25e7, (1.2e7, 1.3e7)))
    assert curve.beta_s_per_byte == pytest.approx(8e-8)
    assert curve.beta_ci_s_per_byte == pytest.approx((1 / 1.3e7, 1 / 1.2e7))
    for size in (0, 5, 900, 64000):
        assert curve.time_s(size) == pytest.approx(free.time_s(size))
    assert curve.time_s(1_064_000) - curve.time_s(64_000) == pytest.approx(0.08)
    assert "beyond 64000 B at the card's rate" in curve.chosen().method


def test_a_link_slower_than_the_card_is_left_as_it_is() -> None:
    curve = curve_of(WAY, {"hockney": hockney.fit(WAY), "piecewise": piecewise.interpolate(WAY)}, "hockney", "median")
    assert limited(curve, Parameter(1e8)) == curve
