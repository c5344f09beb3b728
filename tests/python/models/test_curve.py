"""Curves end where the NIC ends them."""

import dataclasses

import numpy as np
import pytest

from rankwise.machine.link import Parameter, Segment
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
    assert "beyond 64000 B at the NIC's rate" in curve.chosen().method


def test_a_link_slower_than_the_card_is_left_as_it_is() -> None:
    curve = curve_of(WAY, {"hockney": hockney.fit(WAY), "piecewise": piecewise.interpolate(WAY)}, "hockney", "median")
    assert limited(curve, Parameter(1e8)) == curve
    exact = dataclasses.replace(hockney.fit(WAY), segments=(Segment(0, None, 1e-5, 0.5),))
    curve = curve_of(WAY, {"hockney": exact}, "hockney", "median")
    assert limited(curve, Parameter(2.0)) == curve and limited(curve, Parameter(1.99)) != curve


def test_alpha_says_where_it_comes_from() -> None:
    def told(sizes: list[float], times: list[float], chosen: str = "piecewise") -> tuple[float, str]:
        way = Way.exact(np.array(sizes), np.array(times))
        models = {"hockney": hockney.fit(way), "piecewise": piecewise.interpolate(way)}
        curve = curve_of(way, models if chosen == "piecewise" else {"hockney": models["hockney"]}, chosen, "median")
        return curve.alpha_s, curve.alpha_method

    assert told([0.0, 8, 64], [5.0, 7, 21]) == (5.0, "time at 0 B")
    line = [1 + 0.25 * size for size in (8, 16, 64, 128)]
    alpha_s, method = told([8.0, 16, 64, 128], line)
    assert alpha_s == pytest.approx(1.0) and method == "intercept of the line through 8 to 128 B"
    alpha_s, method = told([8.0, 16, 64, 128], line, "hockney")
    assert alpha_s == pytest.approx(1.0) and method == "intercept of the line through 8 to 128 B"
    # Where the line meets 0 B below zero the smallest message stands for the empty one.
    assert told([8.0, 16], [1.0, 4.0]) == (1.0, "time at 8 B")
    # Two protocols: the line of the first.
    sizes = [8.0, 16, 32, 1000, 2000, 4000]
    alpha_s, method = told(sizes, [1 + 0.01 * size if size < 100 else 50 + 0.1 * size for size in sizes])
    assert alpha_s == pytest.approx(1.0) and method == "intercept of the line through 8 to 32 B"
