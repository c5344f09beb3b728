"""When a campaign may stop: every cell's 95 % interval is narrower than asked."""

from __future__ import annotations

import numpy as np

from rankwise.measure.cells import cells_of, timer_cost_s
from rankwise.measure.samples import Campaign
from rankwise.statistics import interval_95, location, replicates


def imprecise_cells(campaign: Campaign, statistic: str, precision: float) -> dict[str, list[tuple[str, int]]]:
    """Return for each link class the cells (operation, size) whose interval reaches farther than ± precision."""
    rng = np.random.default_rng(7)
    cost_s = timer_cost_s(campaign)
    found: dict[str, list[tuple[str, int]]] = {}
    for link in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        for operation, by_size in cells_of(campaign, link, cost_s).items():
            for size, launches in by_size.items():
                low, high = interval_95(replicates(launches, statistic, rng))
                if (high - low) / 2 > precision * location(np.concatenate(launches), statistic):
                    found.setdefault(link, []).append((operation, size))
    return found
