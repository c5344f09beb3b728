"""The cells of a campaign: the times of one message or round, by operation, size and launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankwise.machine.profile import OTHER_NODE
from rankwise.measure.samples import Campaign
from rankwise.measure.saturation import uncarried
from rankwise.statistics import Array

SMALLEST_TIME_S = 1e-10


def timer_cost_s(campaign: Campaign) -> float:
    """Return what one call of the timer cost, the median over launches; 0 where none was measured."""
    return float(np.median([start["timer_cost_s"] for start in campaign.starts])) if campaign.starts else 0.0


def _parts(sample: Mapping[str, Any]) -> float:
    """Return how many messages (or rounds) one sample's time stands for; files of before this key tell it by their kind."""
    if "parts" in sample:
        return float(sample["parts"])
    return 2.0 if sample["operation"] in ("send", "ssend") else float(sample["rounds"])


# operation -> size -> one array of times for each launch
Cells = dict[str, dict[int, list[Array]]]


def cells_of(campaign: Campaign, link: str, cost_s: float) -> Cells:
    """Turn raw times into the time of one message or round: the timer's own cost off, divided by what was timed."""
    gathered: dict[str, dict[int, dict[int, list[Array]]]] = {}
    refused = uncarried(campaign) if link == OTHER_NODE else set()
    for sample in campaign.samples:
        if sample["class"] != link or (refused and (sample.get("part"), sample["launch"]) in refused):
            continue
        if sample.get("moved_ranks"):
            continue  # on another processor it is not a sample of this class; the verdict tells how many there were
        operation = str(sample["operation"])
        raw = np.asarray(sample["time_s"], dtype=np.float64)
        times = np.maximum((raw - cost_s) / _parts(sample), SMALLEST_TIME_S)
        by_launch = gathered.setdefault(operation, {}).setdefault(int(sample["size_bytes"]), {})
        by_launch.setdefault(int(sample["launch"]), []).append(times)
    return {
        operation: {
            size: [np.concatenate(visits) for visits in by_launch.values()] for size, by_launch in by_size.items()
        }
        for operation, by_size in gathered.items()
    }
