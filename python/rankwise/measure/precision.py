"""When a campaign may stop: every cell's 95 % interval is as narrow as asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from rankwise.measure.cells import cells_of, log_medians, timer_cost_s
from rankwise.measure.samples import Campaign
from rankwise.statistics import Array, launch_interval


def imprecise_cells(
    campaign: Campaign, link: str, cells: Collection[tuple[str, int]], statistic: str, precision: float
) -> set[tuple[str, int]]:
    """Return those of a link class's cells (operation, size) whose interval
    reaches farther than ± precision, or that lack one."""
    by_operation = cells_of(campaign, link, timer_cost_s(campaign))
    return {
        (operation, size)
        for operation, size in cells
        if half_width(by_operation.get(operation, {}).get(size, {}), statistic) > math.log1p(precision)
    }


def half_width(launches: Mapping[int, Array], statistic: str) -> float:
    """Return half the 95 % interval of a cell in its logarithm; infinite for a single launch."""
    found = launch_interval(log_medians(launches, statistic)).half_width if launches else None
    return math.inf if found is None else found
