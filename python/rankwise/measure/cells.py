"""The cells of a campaign: the times of one message or round, by operation, size and launch."""

from __future__ import annotations

import numpy as np

from rankwise.measure.samples import Campaign
from rankwise.statistics import Array

SMALLEST_TIME_S = 1e-10


def timer_cost_s(campaign: Campaign) -> float:
    """Return what one call of the timer cost, the median over launches; 0 where none was measured."""
    return float(np.median([start["timer_cost_s"] for start in campaign.starts])) if campaign.starts else 0.0


# operation -> size -> one array of times for each launch
Cells = dict[str, dict[int, list[Array]]]


def cells_of(campaign: Campaign, link: str, cost_s: float) -> Cells:
    """Turn raw times into the time of one message or round: the timer's own cost off, divided by what was timed."""
    gathered: dict[str, dict[int, dict[int, list[Array]]]] = {}
    for sample in campaign.samples:
        if sample["class"] != link:
            continue
        operation = str(sample["operation"])
        raw = np.asarray(sample["time_s"], dtype=np.float64)
        # A ping-pong sample is a round trip; the others are so many rounds of both directions at once.
        parts = 2 if operation in ("send", "ssend") else int(sample["rounds"])
        times = np.maximum((raw - cost_s) / parts, SMALLEST_TIME_S)
        by_launch = gathered.setdefault(operation, {}).setdefault(int(sample["size_bytes"]), {})
        by_launch.setdefault(int(sample["launch"]), []).append(times)
    return {
        operation: {
            size: [np.concatenate(visits) for visits in by_launch.values()] for size, by_launch in by_size.items()
        }
        for operation, by_size in gathered.items()
    }
