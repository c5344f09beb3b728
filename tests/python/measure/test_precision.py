"""The stopping rule: which cells are not known well enough, from samples of a known spread."""

import numpy as np

from rankwise.measure.precision import imprecise_cells
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


def test_only_the_cells_that_scatter_too_much_are_named() -> None:
    assert imprecise_cells(_campaign(0.5, 20), "median", 0.03) == {"same-socket": [("send", 1000)]}
    assert imprecise_cells(_campaign(0.5, 20), "median", 0.5) == {}
    assert imprecise_cells(_campaign(0.05, 200), "median", 0.03) == {}


def test_a_spread_between_launches_counts_as_much_as_one_within() -> None:
    found = imprecise_cells(_campaign(0.0001, 200, launch_sigma=0.2), "median", 0.03)
    assert found == {"same-socket": [("send", 0), ("send", 1000)]}


def test_the_statistic_decides() -> None:
    campaign = _campaign(0.5, 100)
    assert imprecise_cells(campaign, "mean", 0.045) and not imprecise_cells(campaign, "median", 0.12)
