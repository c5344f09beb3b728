import math

import numpy as np
import pytest

from histories import FIGURES, KEY, session
from rankwise.health.judge import change_points, changes


def test_a_step_is_found_where_it_is_and_steps_on_both_sides_too() -> None:
    rng = np.random.default_rng(1)
    noise = 0.02 * rng.standard_normal(60)
    levels = np.repeat([0.0, math.log(1.2), math.log(0.9)], 20)
    assert change_points(noise) == []
    assert change_points(noise + levels) == pytest.approx([20, 40], abs=2)
    assert change_points(np.zeros(40)) == [] and change_points(np.zeros(3)) == []


def test_a_change_has_its_date_its_size_and_what_else_changed() -> None:
    history = [
        session(
            24 * i, {FIGURES[0]: 0.2 * (i >= 12) + 0.001 * (i % 2)}, key={**KEY, "kernel_release": "6.8" if i >= 12 else "6.1"}
        )
        for i in range(24)
    ]
    history.insert(5, session(24 * 5 + 1, {FIGURES[0]: 4.0}, verdict="unusable"))
    (found,) = changes(history)
    assert found.figure == FIGURES[0] and found.at.startswith("2026-01-13")
    assert found.ratio == pytest.approx(math.exp(0.2), rel=1e-3)
    assert found.causes == ("kernel_release 6.1 → 6.8",)
