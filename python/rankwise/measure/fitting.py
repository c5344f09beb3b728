"""From raw samples to a profile: tables per link class and way of sending, their models, the machine's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.machine.profile import Link, Profile
from rankwise.measure.campaign import now
from rankwise.measure.samples import Campaign
from rankwise.models.curve import curve_from_replicates
from rankwise.machine.link import Curve
from rankwise.statistics import STATISTICS, Array, location, replicates

_SMALLEST_TIME_S = 1e-10


def profile_from_campaign(
    campaign: Campaign, samples_path: Path, statistic: str = "median", warnings: tuple[str, ...] = ()
) -> Profile:
    """Fit everything that a campaign has samples for. Raises InputError when that is too little or makes no sense."""
    if statistic not in STATISTICS:
        raise InputError(f"statistic '{statistic}' is unknown: choose one of {', '.join(STATISTICS)}")
    timer_cost_s = float(np.median([start["timer_cost_s"] for start in campaign.starts])) if campaign.starts else 0.0
    links = {}
    for name in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        cells = _cells(campaign, name, timer_cost_s)
        if len(cells.get("send", {})) < 2:
            raise InputError(f"samples {samples_path} hold fewer than two sizes of {name}: measure on with --resume")
        links[name] = replace(
            _link(cells, _messages_in_burst(campaign), statistic), reference_loop_s=_reference_loop_s(campaign, name)
        )
    if not links:
        raise InputError(f"samples {samples_path} hold no sample yet: measure on with --resume")
    return Profile(
        machine=campaign.head["machine"],
        links=links,
        created=now(),
        source={
            "kind": "measured",
            "samples_file": samples_path.name,
            "campaign": campaign.id,
            "measured": campaign.head["created"],
            "timer_cost_s": timer_cost_s,
            "statistic": statistic,
        },
        warnings=warnings,
    )


def _reference_loop_s(campaign: Campaign, link: str) -> float | None:
    """Return the median over the cells of the slower rank's reference loop."""
    loops = [max(s["reference_loop_s"]) for s in campaign.samples if s["class"] == link and s.get("reference_loop_s")]
    return float(np.median(loops)) if loops else None


# operation -> size -> one array of times for each launch
Cells = dict[str, dict[int, list[Array]]]


def _cells(campaign: Campaign, link: str, timer_cost_s: float) -> Cells:
    """Turn raw times into the time of one message or round: the timer's own cost off, divided by what was timed."""
    gathered: dict[str, dict[int, dict[int, list[Array]]]] = {}
    for sample in campaign.samples:
        if sample["class"] != link:
            continue
        operation = str(sample["operation"])
        raw = np.asarray(sample["time_s"], dtype=np.float64)
        if raw.size == 0 or not np.all(np.isfinite(raw)):
            raise InputError(f"samples of {operation} at {sample['size_bytes']} B are not all numbers: is the file edited?")
        # A ping-pong sample is a round trip; the others are so many rounds of both directions at once.
        parts = 2 if operation in ("send", "ssend") else int(sample["rounds"])
        times = np.maximum((raw - timer_cost_s) / parts, _SMALLEST_TIME_S)
        by_launch = gathered.setdefault(operation, {}).setdefault(int(sample["size_bytes"]), {})
        by_launch.setdefault(int(sample["launch"]), []).append(times)
    return {
        operation: {
            size: [np.concatenate(visits) for visits in by_launch.values()] for size, by_launch in by_size.items()
        }
        for operation, by_size in gathered.items()
    }


def _messages_in_burst(campaign: Campaign) -> int:
    return max((int(s["messages"]) for s in campaign.samples if s["operation"] == "burst"), default=2)


def _link(cells: Cells, messages_in_burst: int, statistic: str) -> Link:
    rng = np.random.default_rng(20230101)
    tables = {operation: _table(by_size, statistic, rng) for operation, by_size in cells.items()}
    variants = {}
    for operation in ("ssend", "exchange"):
        if len(tables.get(operation, {})) >= 2:
            variants[operation] = _curve(tables[operation], statistic)
    gap = _gap(tables.get("exchange", {}), tables.get("burst", {}), messages_in_burst)
    if len(gap) >= 2:
        variants["exchange-gap"] = _curve(gap, statistic)
    return Link(_curve(tables["send"], statistic), variants)


# size -> (time, its bootstrap replicates, number of samples)
Table = dict[int, tuple[float, Array, int]]


def _table(by_size: Mapping[int, list[Array]], statistic: str, rng: np.random.Generator) -> Table:
    return {
        size: (
            location(np.concatenate(launches), statistic),
            replicates(launches, statistic, rng),
            sum(launch.size for launch in launches),
        )
        for size, launches in sorted(by_size.items())
    }


def _gap(exchange: Table, burst: Table, messages: int) -> Table:
    """Return what each further message in flight costs: (burst - exchange) / (messages - 1), where it is positive."""
    table: Table = {}
    for size in sorted(exchange.keys() & burst.keys()):
        gap_s = (burst[size][0] - exchange[size][0]) / (messages - 1)
        if gap_s <= 0:
            continue  # lost in the noise: the neighbouring sizes answer for this one
        gaps = np.maximum((burst[size][1] - exchange[size][1]) / (messages - 1), _SMALLEST_TIME_S)
        table[size] = (gap_s, gaps, burst[size][2])
    return table


def _curve(table: Table, statistic: str) -> Curve:
    sizes = list(table)
    return curve_from_replicates(
        sizes,
        np.array([table[size][0] for size in sizes]),
        np.array([table[size][1] for size in sizes]),
        [table[size][2] for size in sizes],
        statistic,
    )
