"""Hunold et al. (IEEE CLUSTER 2020), Tables II to VII and Figure 9: how well our J_max explains their published times.

One line a machine, time = a + b * J_max * bytes, is fitted to the times of all algorithms, stencils, message sizes and both
grids by relative least squares. J_max is of our own mappings, so that an algorithm of ours that is not the authors' would
stand out by its share. Table VII's caption names another machine; the text and the order say JUWELS, as the data have it.
Figure 9 prints no numbers; its sentences (section VI-E) are held against the time that our mappers take here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, quantiles
from typing import Any

import numpy as np

from rankwise.blocks import Column, Table, text_table
from rankwise.mapping import How, algorithm_names, map_grid
from rankwise.papers import printed
from rankwise.records import Record, key, record
from rankwise.report.reproduction import Section
from rankwise.units import format_size, format_time

PUBLISHED = ("blocked", "hyperplane", "kd-tree", "stencil-strips", "nodecart")
RANKS_PER_NODE = 48
GRIDS = {50: (50, 48), 100: (75, 64)}  # section VI-D, figures 6 and 7: by number of nodes
STENCILS = ("nearest-neighbor", "nearest-neighbor-with-hops", "component")
MACHINES = ("VSC4", "SuperMUC-NG", "JUWELS")
TABLES = {("VSC4", 50): "II", ("VSC4", 100): "III", ("SuperMUC-NG", 50): "IV", ("SuperMUC-NG", 100): "V", ("JUWELS", 50): "VI",
          ("JUWELS", 100): "VII"}  # fmt: skip
INSTANTIATED = ("hyperplane", "kd-tree", "nodecart", "stencil-strips")
_REPETITIONS = 40
# Section VI-E: over hyperplane's time.
_INSTANTIATION = {
    "hyperplane": "1", "kd-tree": "1", "nodecart": "1.28", "stencil-strips": "more than 2", "viem": "more than 400",
}  # fmt: skip


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
    return tuple(
        PublishedTime(
            row["machine"], row["nodes"], row["grid"], row["stencil"].replace("_", "-"), row["message_bytes"],
            row["algorithm"].replace("_", "-"), row["time_ms"],
        )
        for row in printed("hunold2020_neighbor_alltoall_times")
    )  # fmt: skip


def by_place(times: Sequence[PublishedTime]) -> dict[tuple[str, int, str, int, str], float]:
    """Return times by machine, nodes, stencil, size of a message and mapping."""
    return {(t.machine, t.nodes, t.stencil, t.message_bytes, t.mapping): t.time_s for t in times}


@cache
def our_scores(grid: tuple[int, ...], nodes: int, stencil: str) -> dict[str, tuple[int, int]]:
    """Return J_sum and J_max of our mappings of the paper's algorithms (and random, where there is one)."""
    names = [name for name in (*PUBLISHED, "random") if name in algorithm_names()]
    mapped = map_grid(grid, [RANKS_PER_NODE] * nodes, stencil, algorithms=names, how=How(keep_maps=False))
    return {result.algorithm: (result.j_sum, result.j_max) for result in mapped.results}


@record
class Line(Record):
    """The line of one machine, time = a + b * J_max * bytes, and how good it is."""

    machine: str = key("machine that the times are of")
    intercept_s: float = key("a of the line", name="a_s")
    s_per_byte: float = key("b of the line", name="b_s_per_byte")
    times: int = key("published times that the line is fitted to")
    explained: float = key("share of the variance of log(time) that the line explains", name="explained_log_variance")
    mean_absolute_error: float = key("mean of |line / published - 1|")
    share: Mapping[str, float] = key(
        "median of published / line by mapping; 1 where one fits in with all others", name="median_published_over_line"
    )


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


def instantiation(repetitions: int = _REPETITIONS) -> dict[str, list[float]]:
    """Time our mappers on the 75x64 grid of 100 nodes: seconds of each
    repetition, all ranks together, Tukey's outliers dropped."""
    seconds: dict[str, list[float]] = {name: [] for name in INSTANTIATED}
    for _ in range(repetitions):
        for name in INSTANTIATED:
            mapped = map_grid(
                GRIDS[100], [RANKS_PER_NODE] * 100, "nearest-neighbor", algorithms=[name], how=How(keep_maps=False)
            )
            seconds[name].append(mapped.results[0].seconds)
    return {name: _without_outliers(values) for name, values in seconds.items()}


def sections(
    times: Sequence[PublishedTime], lines: Mapping[str, Line], seconds: Mapping[str, Sequence[float]]
) -> list[Section]:
    """The parts of the page: times, the law of each machine, Figure 9."""
    fastest = min(seconds, key=lambda name: fmean(seconds[name]))
    slowest = max(seconds, key=lambda name: fmean(seconds[name]))
    base = fmean(seconds[fastest])
    worst = min(lines.values(), key=lambda line: line.explained)
    return [
        Section(
            "law",
            "The published times and the law of J_max (Tables II to VII)",
            (
                "time = a + b J_max bytes, a line a machine, explains "
                + ", ".join(f"{line.explained:.0%} ({machine})" for machine, line in lines.items())
                + f" of the variance of the logarithm; a time is off by {worst.mean_absolute_error:.0%} in the mean on "
                f"{worst.machine}. J_max is of our own mappings: one that is not the authors' would stand out.",
            ),
            [_table(times, lines[machine], nodes, name) for (machine, nodes), name in TABLES.items()],
        ),
        Section(
            "instantiation",
            "Instantiation (Figure 9)",
            (
                "The paper prints no time but VieM's 7.95 s, and three ratios: hyperplane and k-d tree alike, Nodecart 28 % "
                "longer, stencil strips more than twice as long (VSC4, 4800 ranks, each computing its own). Ours compute all "
                f"4800 places at once, on this machine: {fastest} is fastest with {format_time(base)}, {slowest} takes "
                f"{fmean(seconds[slowest]) / base:.1f} times that; VieM's published time is {7.95 / base:,.0f} times ours.",
            ),
            (_instantiation_table(seconds),),
        ),
    ]


def _without_outliers(values: Sequence[float]) -> list[float]:
    low, _, high = quantiles(values, n=4)
    return [value for value in values if low - 1.5 * (high - low) <= value <= high + 1.5 * (high - low)]


def _table(times: Sequence[PublishedTime], line: Line, nodes: int, name: str) -> Table[Any]:
    here = [t for t in times if (t.machine, t.nodes) == (line.machine, nodes)]

    def score(t: PublishedTime) -> int | None:
        found = our_scores(t.grid, t.nodes, t.stencil).get(t.mapping)
        return None if found is None else found[1]

    def ours_s(t: PublishedTime) -> float | None:
        known = score(t)
        return None if known is None else line.intercept_s + line.s_per_byte * known * t.message_bytes

    def told(t: PublishedTime) -> str:
        ours = ours_s(t)
        return f"{1e3 * t.time_s:.3g}" + ("" if ours is None else f" / {1e3 * ours:.3g}")

    columns: Sequence[Column[PublishedTime]] = (
        Column(None, "stencil"), Column(None, "message_bytes"), Column(None, "mapping"),
        Column(None, "time_s", key="published_s"), Column(None, score, key="our_j_max"), Column(None, ours_s, key="law_s"),
    )  # fmt: skip
    found: dict[tuple[str, int], dict[str, str]] = {}
    for t in here:
        of_size = found.setdefault((t.stencil, t.message_bytes), {"stencil": t.stencil, "size": format_size(t.message_bytes)})
        of_size[t.mapping] = told(t)
    heads = ("stencil", "size", *dict.fromkeys(t.mapping for t in here))
    readers = text_table(heads, [[row.get(head, "–") for head in heads] for row in found.values()])
    caption = f"Table {name}: {line.machine}, N = {nodes}; published / by the law of J_max, in ms."
    return Table(columns, here, name=f"table-{name}", caption=caption, readers=readers)


def _instantiation_table(seconds: Mapping[str, Sequence[float]]) -> Table[Any]:
    mean = {name: fmean(values) for name, values in seconds.items() if values}
    columns: Sequence[Column[tuple[str, str]]] = (
        Column("mapper", lambda row: row[0], key="mapper"),
        Column("published, over hyperplane", lambda row: row[1], key="published_over_hyperplane"),
        Column("ours", lambda row: mean.get(row[0]), format_time, "ours_s"),
        Column(
            "ours, over hyperplane", lambda row: mean[row[0]] / mean["hyperplane"] if row[0] in mean else None,
            "{:.2f}".format, "ours_over_hyperplane",
        ),
        Column("kept of the repetitions", lambda row: len(seconds[row[0]]) if row[0] in mean else None),
        Column(None, lambda row: len(seconds.get(row[0], ())), key="repetitions"),
    )  # fmt: skip
    caption = "Time to compute the new ranks, 4800 ranks, nearest neighbour."
    return Table(columns, list(_INSTANTIATION.items()), name="figure9", caption=caption)
