"""From raw samples to a profile: tables per link class and way of sending, their models, the machine's record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.machine.link import LEAST_SIZES
from rankwise.machine.profile import LINK_CLASSES, VARIANTS, Profile
from rankwise.measure.campaign import last_campaign, now
from rankwise.measure.samples import Campaign
from rankwise.measure.tables import read_points
from rankwise.models.measured import Measured, Way
from rankwise.models.selection import METHODS, MODELS, fit_link
from rankwise.statistics import REPLICATES, STATISTICS, Array, location, replicates

_SMALLEST_TIME_S = 1e-10


def fit_samples(path: Path, statistic: str, model: str, method: str) -> Profile:
    """Fit the newest campaign of a samples file. Raises InputError."""
    campaign = last_campaign(path)
    warnings = () if campaign.complete else (f"the campaign in {path.name} was interrupted: go on with --resume",)
    return profile_from_campaign(campaign, path, statistic, warnings, model, method)


def fit_table(path: Path, link: str, model: str, method: str) -> Profile:
    """Fit a CSV table of message times; intervals follow from its sigma column, where it has one. Raises InputError."""
    _require_names(model, method)
    if link not in LINK_CLASSES:
        raise InputError(f"link class '{link}' is unknown: choose one of {', '.join(LINK_CLASSES)}")
    points = read_points(path)
    sizes = np.array([point.size_bytes for point in points], dtype=np.float64)
    times_s = np.array([point.time_s for point in points])
    sigma_s = np.array([(point.time_hi_s - point.time_s) / 1.96 for point in points])
    drawn = np.random.default_rng(20230101).normal(times_s[:, None], sigma_s[:, None], (sizes.size, REPLICATES))
    way = Way(sizes, times_s, np.maximum(drawn, _SMALLEST_TIME_S), (1,) * sizes.size)
    try:
        fitted = fit_link({"send": way}, "as published", model, method)
    except ValueError as error:
        raise InputError(f"table {path}: {error}") from None
    return Profile(
        machine={"hostname": path.stem},
        links={link: fitted},
        created=now(),
        source={"kind": "imported", "table": path.name, "model": model, "method": method},
    )


def profile_from_campaign(
    campaign: Campaign,
    samples_path: Path,
    statistic: str = "median",
    warnings: tuple[str, ...] = (),
    model: str = "auto",
    method: str = "regression",
) -> Profile:
    """Fit everything that a campaign has samples for. Raises InputError when that is too little or makes no sense."""
    if statistic not in STATISTICS:
        raise InputError(f"statistic '{statistic}' is unknown: choose one of {', '.join(STATISTICS)}")
    _require_names(model, method)
    timer_cost_s = float(np.median([start["timer_cost_s"] for start in campaign.starts])) if campaign.starts else 0.0
    links = {}
    for name in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        cells = _cells(campaign, name, timer_cost_s)
        if len(cells.get("send", {})) < LEAST_SIZES:
            raise InputError(
                f"samples {samples_path} hold {len(cells.get('send', {}))} size(s) of {name}: a model needs at least "
                f"{LEAST_SIZES}; measure on with --resume, or anew with more --sizes"
            )
        try:
            links[name] = fit_link(
                _measured(cells, _messages_in_burst(campaign), statistic), statistic, model, method
            )
        except ValueError as error:
            raise InputError(f"samples {samples_path}, {name}: {error}") from None
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
            "model": model,
            "method": method,
        },
        warnings=warnings,
    )


def _require_names(model: str, method: str) -> None:
    if model != "auto" and model not in MODELS:
        raise InputError(f"link model '{model}' is unknown: choose auto or one of {', '.join(MODELS)}")
    if method not in METHODS:
        raise InputError(f"method '{method}' is unknown: choose one of {', '.join(METHODS)}")


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


def _measured(cells: Cells, messages_in_burst: int, statistic: str) -> Measured:
    rng = np.random.default_rng(20230101)
    tables = {operation: _table(by_size, statistic, rng) for operation, by_size in cells.items()}
    tables["exchange-gap"] = _gap(tables.get("exchange", {}), tables.pop("burst", {}), messages_in_burst)
    return {name: _way(tables[name]) for name in ("send", *VARIANTS) if len(tables.get(name, {})) >= LEAST_SIZES}


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


def _way(table: Table) -> Way:
    times_s, replicates_s, samples = zip(*table.values(), strict=True)
    return Way(np.array(list(table), dtype=np.float64), np.array(times_s), np.array(replicates_s), samples)
