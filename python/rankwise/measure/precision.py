"""When a campaign may stop: every cell's 95 % interval is narrower than asked."""

from __future__ import annotations

import math

from rankwise.measure.cells import cells_of, log_medians, timer_cost_s
from rankwise.measure.samples import Campaign
from rankwise.statistics import launch_interval


def imprecise_cells(campaign: Campaign, statistic: str, precision: float) -> dict[str, list[tuple[str, int]]]:
    """Return for each link class the cells (operation, size) whose interval reaches farther than ± precision."""
    cost_s = timer_cost_s(campaign)
    found: dict[str, list[tuple[str, int]]] = {}
    for link in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        for operation, by_size in cells_of(campaign, link, cost_s).items():
            for size, launches in by_size.items():
                half_width = launch_interval(log_medians(launches, statistic)).half_width
                if half_width is None or half_width > math.log1p(precision):
                    found.setdefault(link, []).append((operation, size))
    return found
