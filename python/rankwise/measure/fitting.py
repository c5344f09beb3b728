"""From raw samples to a profile: tables per link class and way of sending, their models, the machine's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.machine.profile import Link, Profile
from rankwise.measure.cells import SMALLEST_TIME_S, Cells, cells_of, timer_cost_s
from rankwise.measure.samples import Campaign, now
from rankwise.models.curve import curve_from_replicates
from rankwise.machine.link import Curve
from rankwise.statistics import STATISTICS, Array, location, replicates


def profile_from_campaign(
    campaign: Campaign, samples_path: Path, statistic: str = "median", warnings: tuple[str, ...] = ()
) -> Profile:
    """Fit everything that a campaign has samples for. Raises InputError when that is too little or makes no sense."""
    if statistic not in STATISTICS:
        raise InputError(f"statistic '{statistic}' is unknown: choose one of {', '.join(STATISTICS)}")
    cost_s = timer_cost_s(campaign)
    links = {}
    for name in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        cells = cells_of(campaign, name, cost_s)
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
            "timer_cost_s": cost_s,
            "statistic": statistic,
            **campaign.stop,
        },
        warnings=warnings,
    )


def _reference_loop_s(campaign: Campaign, link: str) -> float | None:
    """Return the median over the cells of the slower rank's reference loop."""
    loops = [max(s["reference_loop_s"]) for s in campaign.samples if s["class"] == link and s.get("reference_loop_s")]
    return float(np.median(loops)) if loops else None


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
        gaps = np.maximum((burst[size][1] - exchange[size][1]) / (messages - 1), SMALLEST_TIME_S)
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
