"""When a campaign may stop: every cell's 95 % interval is as narrow as asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from rankwise.measure.cells import cells_of, timer_cost_s
from rankwise.measure.samples import Campaign
from rankwise.statistics import launch_interval, location


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
    """Return half the 95 % interval of launches' figures in their logarithm; infinite where there is none."""
    if len(launches_s) < 2:
        return math.inf
    half = launch_interval(np.log(launches_s)).half_width
    return math.inf if half is None else half
