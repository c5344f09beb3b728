"""The stopping rule: which cells are not known well enough, from samples of a known spread."""

import math

import numpy as np
import pytest

from rankwise.measure.cells import half_width, imprecise_cells
from rankwise.measure.samples import Campaign


def _campaign(sigma: float, samples: int, launch_sigma: float = 0.0) -> Campaign:
    rng = np.random.default_rng(11)
    records = []
    for launch in range(6):
        host = float(np.exp(launch_sigma * rng.standard_normal()))
        for size in (0, 1000):
            spread = sigma if size else 1e-4
            times = 2e-6 * host * rng.lognormal(0, spread, samples)
            records.append({"class": "same-socket", "operation": "send", "size_bytes": size, "launch": launch,
                            "time_s": times.tolist()})  # fmt: skip
    return Campaign({"campaign": "a"}, records, [])


CELLS = [("send", 0), ("send", 1000)]


def _imprecise(
    campaign: Campaign, statistic: str, precision: float, cells: list[tuple[str, int]] = CELLS
) -> set[tuple[str, int]]:
    return imprecise_cells(campaign, "same-socket", cells, statistic, precision)


def test_only_the_cells_that_scatter_too_much_are_named() -> None:
    assert _imprecise(_campaign(0.5, 20), "median", 0.03) == {("send", 1000)}
    assert _imprecise(_campaign(0.5, 20), "median", 0.5) == set()
    assert _imprecise(_campaign(0.05, 200), "median", 0.03) == set()


def test_a_spread_between_launches_counts_however_small_that_within() -> None:
    assert _imprecise(_campaign(0.0001, 200, launch_sigma=0.2), "median", 0.03) == set(CELLS)


def test_cells_that_no_launch_or_a_single_one_came_to_are_not_known() -> None:
    assert _imprecise(_campaign(0.0001, 200), "median", 1.0, [*CELLS, ("ssend", 8)]) == {("ssend", 8)}
    campaign = _campaign(0.0001, 200)
    campaign.samples[:] = campaign.samples[:2]
    assert _imprecise(campaign, "median", 1.0) == set(CELLS)


def test_the_half_width_is_student_s_over_launches() -> None:
    launches = {launch: np.array([math.exp(0.1 * launch)]) for launch in range(3)}
    assert half_width(launches, "median") == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)
    assert half_width({0: launches[0]}, "median") == half_width({}, "median") == math.inf


def test_the_statistic_decides() -> None:
    campaign = _campaign(0.5, 100)
    assert _imprecise(campaign, "mean", 0.045) and not _imprecise(campaign, "median", 0.2)
