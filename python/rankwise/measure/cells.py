"""The cells of a measurement: the times of one message or round, by operation, size and launch.

When a measurement may stop: every cell's 95 % interval is as narrow as asked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.profile import OTHER_NODE
from rankwise.measure.samples import Campaign
from rankwise.measure.saturation import uncarried
from rankwise.models.measured import LEAST_NOISE, Way
from rankwise.statistics import HISTORY_STEP, NORMAL_PER_MAD, Deviations, batches, lag_1, launch_interval, location

SMALLEST_TIME_S = 1e-10
_MEDIAN_PER_MEAN = 1.2533  # the standard error of a median of normal noise, that of the mean being 1
_MOST_EARLIER = 20  # launches of one earlier session that count


def timer_cost_s(campaign: Campaign) -> float:
    """Return what one call of the timer cost, the median over launches; 0 where none was measured."""
    return float(np.median([start["timer_cost_s"] for start in campaign.starts])) if campaign.starts else 0.0


def _parts(sample: Mapping[str, Any]) -> float:
    """Return how many messages (or rounds) one sample's time stands for; files of before this key tell it by their kind."""
    if "parts" in sample:
        return float(sample["parts"])
    return 2.0 if sample["operation"] in ("send", "ssend") else float(sample["rounds"])


# operation -> size -> launch -> its times
Cells = dict[str, dict[int, dict[int, Floats]]]


def cells_of(campaign: Campaign, link: str, cost_s: float) -> Cells:
    """Turn raw times into the time of one message or round: the timer's own cost off, divided by what was timed."""
    gathered: dict[str, dict[int, dict[int, list[Floats]]]] = {}
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
            size: {launch: np.concatenate(visits) for launch, visits in sorted(by_launch.items())}
            for size, by_launch in sorted(by_size.items())
        }
        for operation, by_size in gathered.items()
    }


def log_medians(launches: Mapping[int, Floats], statistic: str) -> Floats:
    """Return the log of each launch's median (or other statistic) of one cell, in the order of the launches."""
    return np.log([location(times_s, statistic) for _, times_s in sorted(launches.items())])


def ways_of(cells: Cells, statistic: str, sessions: Sequence[Cells] = ()) -> dict[str, Way]:
    """Return the tables of all operations: rows are means of the logs of launches' medians.

    All have the same columns: one launch left out of all cells at once (from 20 launches on a run of neighbours), and what
    launches of earlier ``sessions`` differed by.
    """
    launches = sorted({launch for by_size in cells.values() for row in by_size.values() for launch in row})
    logs = {way: _logs(by_size, launches, statistic) for way, by_size in cells.items()}
    off = {way: table - _mean(table, 1)[:, None] for way, table in logs.items()}
    earlier, deviations = _earlier(cells, statistic, sessions), Deviations()
    if logs:
        common = _mean(np.concatenate(list(off.values())), 0)
        own = batches(common).size if len(launches) > 1 else 0
        told = [r for _, r in earlier if r is not None]
        counts = tuple(len(next(iter(session.values()))[0]) for session, _ in earlier)
        deviations = Deviations(own, len(launches), counts, lag_1(common), float(np.mean(told)) if told else 0.0)
    return {
        way: _way(cells[way], table, off[way], [session[way] for session, _ in earlier], deviations)
        for way, table in logs.items()
    }


def _logs(by_size: Mapping[int, Mapping[int, Floats]], launches: Sequence[int], statistic: str) -> Floats:
    """Return the logs of launches' medians, (sizes, launches), NaN where a launch did not visit a cell."""
    nan = float("nan")
    return np.array(
        [
            [math.log(location(row[launch], statistic)) if launch in row else nan for launch in launches]
            for row in by_size.values()
        ]
    )


def _mean(table: Floats, axis: int) -> Floats:
    """Return means of what is known, 0 where nothing is."""
    return np.asarray(np.nansum(table, axis=axis) / np.maximum(np.sum(~np.isnan(table), axis=axis), 1))


def _earlier(cells: Cells, statistic: str, sessions: Sequence[Cells]) -> list[tuple[dict[str, Floats], float | None]]:
    """Return for each earlier session what its launches differed by from their mean, for the rows of each way now, and how
    far each launch depended on the one before; what it did not measure differs as the rest did."""
    found = []
    for session in sessions:
        launches = sorted({launch for way in cells for row in session.get(way, {}).values() for launch in row})[:_MOST_EARLIER]
        tables = {way: _logs(by_size, launches, statistic) for way, by_size in session.items() if way in cells}
        if len(launches) < 2:
            continue
        off = {way: table - _mean(table, 1)[:, None] for way, table in tables.items() if table.size}
        common = _mean(np.concatenate(list(off.values())), 0)
        rows = {way: dict(zip(session.get(way, ()), off.get(way, ()), strict=False)) for way in cells}
        of_ways = {
            way: np.array([np.where(np.isnan(row := rows[way].get(size, common)), common, row) for size in by_size])
            for way, by_size in cells.items()
        }
        found.append((of_ways, lag_1(common)))
    return found


def _way(
    by_size: Mapping[int, Mapping[int, Floats]], logs: Floats, off: Floats, earlier: Sequence[Floats], deviations: Deviations
) -> Way:
    centre = _mean(logs, 1)
    columns = []
    if deviations.own:
        batched = deviations.own < deviations.launches
        units = batches(np.nan_to_num(off)) if batched else off
        counts = np.full(centre.shape, units.shape[1]) if batched else np.sum(~np.isnan(off), axis=1)
        columns.append(-units / np.maximum(counts - 1, 1)[:, None])
    columns += [-HISTORY_STEP * session for session in earlier]
    moved = np.concatenate(columns, axis=1) if columns else np.empty((centre.size, 0))
    within = [
        NORMAL_PER_MAD
        * float(np.median(np.abs(times_s / np.median(times_s) - 1)))
        / math.sqrt(times_s.size)
        * _MEDIAN_PER_MEAN
        for row in by_size.values() for times_s in row.values()
    ]  # fmt: skip
    count = max(logs.shape[1], 1)
    visited = off[:, ~np.isnan(off).all(axis=0)]
    apart = visited - np.nanmedian(visited, axis=0, keepdims=True)
    between = float(np.nanstd(apart)) / math.sqrt(count) if count > 1 else 0.0
    return Way(
        np.array(list(by_size), dtype=np.float64),
        np.exp(centre),
        tuple(sum(times_s.size for times_s in row.values()) for row in by_size.values()),
        np.exp(centre[:, None] + moved),
        deviations,
        max(LEAST_NOISE, float(np.median(within)) / math.sqrt(count), between),
    )


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


def half_width(launches: Mapping[int, Floats], statistic: str) -> float:
    """Return half the 95 % interval of a cell in its logarithm; infinite for a single launch."""
    found = launch_interval(log_medians(launches, statistic)).half_width if launches else None
    return math.inf if found is None else found
