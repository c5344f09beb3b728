"""Prices on other numbers of ranks are those of the program recorded there; curves and checks say what was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rankwise import _core
from rankwise.engines.scaled import Check, Curve, checks, priced
from rankwise.engines.step import Described
from rankwise.engines.what_if import PlacedStep, Share, WhatIfRow
from rankwise.observe.phases import observed_step
from rankwise.observe.scaling import Scaling
from test_scaling import stencil

LINES = {"send": [(0, 1e-5, 8e-9)]}
ON = Described(_core.Machine({"same-socket": LINES, "other-node": LINES}, {"card": {"bytes_per_s": 1.25e8}}), ())


def blocked(each: int = 1) -> Any:
    return lambda ranks: _core.Placement.blocked(ranks, each)


@pytest.mark.parametrize("each", [1, 4])
def test_the_price_is_that_of_the_program_recorded_there(each: int) -> None:
    scaling = Scaling.of([stencil((4, 3))], False)
    for dims in ((4, 4), (8, 4)):
        there = stencil(dims)
        step = observed_step(there).on([rank // each for rank in range(there.ranks)])
        wanted_s = PlacedStep(step, blocked(each)(there.ranks)).time_s(ON.machine)
        row = priced(scaling, there.ranks, blocked(each), ON)
        assert row.time_s == pytest.approx(wanted_s, rel=0.003) and row.grid == dims
        assert row.time_lo_s < wanted_s < row.time_hi_s  # type: ignore[operator]
        assert row.nodes == there.ranks // each


def test_the_interval_covers_all_grids_and_ends_far_out() -> None:
    scaling = Scaling.of([stencil((2, 2, 2), (512, 512, 512))], False)
    row = priced(scaling, 16, blocked(4), ON)
    for grid in ((4, 2, 2), (2, 2, 4)):
        one = priced(replace(scaling, grid=grid), 16, blocked(4), ON)
        assert row.time_lo_s <= one.time_s <= row.time_hi_s  # type: ignore[operator]
    assert priced(scaling, 1024, blocked(4), ON).span is None


def test_recordings_are_held_against_each_other() -> None:
    """Bytes that do not follow the surface are told, and widen the interval by as much."""
    small, large = stencil((4, 3)), stencil((6, 4))
    (one,) = checks(Scaling.of([small, large], False), blocked(), ON)
    assert (one.pairs, one.sizes) == (1.0, 1.0) and abs(one.error) < 0.002
    assert one.words == f"24 predicted from 12: {100 * one.error:+.1f} %"
    (alone,) = checks(Scaling.of([small, large], False, compute=False), blocked(), ON)  # of messages alone
    assert abs(alone.error) < 0.002 and abs(alone.rest) < 0.002
    thick = Scaling.of([small, stencil((6, 4), (5760, 20 * 5760))], False)
    (wrong,) = checks(thick, blocked(), ON)
    assert wrong.sizes < 0.7 and wrong.rest < -0.1 and "bytes of" in wrong.words
    tight, wide = (priced(thick, 48, blocked(), ON, tried) for tried in ((), (wrong,)))
    assert wide.time_hi_s == pytest.approx(tight.time_hi_s / (1 + wrong.rest), rel=1e-6)  # type: ignore[operator]


def test_many_ranks_drawn_from_fewer_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    scaling = Scaling.of([stencil((4, 3))], False)
    whole = priced(scaling, 256, blocked(4), ON)
    monkeypatch.setattr("rankwise.observe.scaling.MOST_FULL", 64)
    few = priced(scaling, 256, blocked(4), ON)
    assert few.time_s == pytest.approx(whole.time_s, rel=0.02)
    assert (few.ranks, few.nodes, few.grid) == (256, 64, (16, 16))


def _row(ranks: int, time_s: float) -> WhatIfRow:
    shares = [Share("compute", 0.6), Share("latency", 0.3), Share("bandwidth", 0.1)]
    return WhatIfRow("asked", ranks, ranks, 1, None, time_s, time_s, time_s, "compute", shares, None, 0, 0, None, ())


def test_the_curve_has_a_knee_a_cause_and_the_fewest_ranks_that_nearly_do() -> None:
    times_s = [8.0, 4.1, 2.2, 1.8, 1.7, 2.0]
    curve = Curve.of([_row(16 << i, time_s) for i, time_s in enumerate(times_s)], False)
    assert curve == Curve(256, 128, 64, "latency")
    assert Curve.of([_row(16, 8.0)], False) is None and Curve.of([_row(16, 8.0), _row(32, 8.0)], True) is None
    assert Curve.of([_row(16, 8.0), _row(32, 4.0)], False) == Curve(32, 32, None, None)


def test_pairs_that_are_wrong_are_told() -> None:
    assert Check(16, 8, -0.021, 0.5, 0.5, 0.0).words == "16 predicted from 8: -2.1 %, 50 % of the pairs right"
