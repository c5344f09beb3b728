"""When a campaign may stop: every cell's 95 % interval is as narrow as asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from rankwise.distributions import t_quantile
from rankwise.measure.cells import cells_of, timer_cost_s
from rankwise.measure.samples import Campaign
from rankwise.statistics import location


def imprecise_cells(
    campaign: Campaign, link: str, cells: Collection[tuple[str, int]], statistic: str, precision: float
) -> set[tuple[str, int]]:
    """Return those of a link class's cells (operation, size) whose interval reaches farther than ± precision, or that lack one."""
    by_operation = cells_of(campaign, link, timer_cost_s(campaign))
    return {
        (operation, size)
        for operation, size in cells
        if half_width([location(launch, statistic) for launch in by_operation.get(operation, {}).get(size, [])])
        > math.log1p(precision)
    }


def half_width(launches_s: Sequence[float]) -> float:
    """Return half the 95 % interval of launches' figures in their logarithm, by Student's t; infinite for a single launch."""
    if len(launches_s) < 2:
        return math.inf
    logs = np.log(launches_s)
    return float(t_quantile(0.975, logs.size - 1) * logs.std(ddof=1) / math.sqrt(logs.size))
