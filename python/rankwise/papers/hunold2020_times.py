"""Hunold et al. (IEEE CLUSTER 2020), Tables II to VII: how well our J_max explains their published times.

One line a machine, time = a + b * J_max * bytes, is fitted to the times of all algorithms, stencils, message sizes and both
grids by relative least squares. J_max is of our own mappings, so that an algorithm of ours that is not the authors' would
stand out by its share. Table VII's caption names another machine; the text and the order say JUWELS, as the data have it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.mapping import How, algorithm_names, map_grid

DATA = Path(__file__).with_name("data") / "hunold2020_neighbor_alltoall_times.csv"
PUBLISHED = ("blocked", "hyperplane", "kd-tree", "stencil-strips", "nodecart")
RANKS_PER_NODE = 48
MACHINES = ("VSC4", "SuperMUC-NG", "JUWELS")


@dataclass(frozen=True)
class PublishedTime:
    """One time of Tables II to VII."""

    machine: str
    nodes: int
    grid: tuple[int, ...]
    stencil: str
    message_bytes: int
    mapping: str
    time_s: float


@cache
def published_times() -> tuple[PublishedTime, ...]:
    """Return all times that are printed, with our names of stencils and mappings."""
    with DATA.open(encoding="utf-8", newline="") as stream:
        return tuple(
            PublishedTime(
                row["machine"],
                int(row["nodes"]),
                tuple(int(size) for size in row["grid"].split("x")),
                row["stencil"].replace("_", "-"),
                int(row["message_bytes"]),
                row["algorithm"].replace("_", "-"),
                float(row["time_ms"]) / 1e3,
            )
            for row in csv.DictReader(stream)
        )


@cache
def our_scores(grid: tuple[int, ...], nodes: int, stencil: str) -> dict[str, tuple[int, int]]:
    """Return J_sum and J_max of our mappings of the paper's algorithms (and random, where there is one)."""
    names = [name for name in (*PUBLISHED, "random") if name in algorithm_names()]
    mapped = map_grid(grid, [RANKS_PER_NODE] * nodes, stencil, algorithms=names, how=How(keep_maps=False))
    return {result.algorithm: (result.j_sum, result.j_max) for result in mapped.results}


@dataclass(frozen=True)
class Line:
    """The line of one machine and how good it is; errors are of predicted / published - 1.

    ``explained`` is the share of the variance of log(time) that it explains; ``share`` the median of published /
    predicted for each algorithm, which is 1 where an algorithm fits in with all the others.
    """

    machine: str
    intercept_s: float
    s_per_byte: float
    times: int
    explained: float
    mean_absolute_error: float
    share: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "a_s": self.intercept_s,
            "b_s_per_byte": self.s_per_byte,
            "times": self.times,
            "explained_log_variance": self.explained,
            "mean_absolute_error": self.mean_absolute_error,
            "median_published_over_line": self.share,
        }


def fit_line(machine: str, times: Sequence[PublishedTime] | None = None) -> Line:
    """Fit one machine's line to its published times (or to others, for a test)."""
    rows = []
    for row in published_times() if times is None else times:
        scores = our_scores(row.grid, row.nodes, row.stencil)
        if row.machine == machine and row.mapping in scores:
            rows.append((scores[row.mapping][1] * row.message_bytes, row.time_s, row.mapping))
    volume = np.array([row[0] for row in rows], dtype=np.float64)
    published = np.array([row[1] for row in rows])
    design = np.column_stack([1 / published, volume / published])
    (a, b), *_ = np.linalg.lstsq(design, np.ones(published.size), rcond=None)
    line = a + b * volume
    ratio = published / line
    logs = np.log(published)
    names = sorted({row[2] for row in rows})
    of = np.array([row[2] for row in rows])
    return Line(
        machine,
        float(a),
        float(b),
        len(rows),
        float(1 - np.sum(np.log(ratio) ** 2) / np.sum((logs - logs.mean()) ** 2)),
        float(np.mean(np.abs(line / published - 1))),
        {name: float(np.median(ratio[of == name])) for name in names},
    )
