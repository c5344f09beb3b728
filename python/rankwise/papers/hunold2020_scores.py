"""Hunold et al. (IEEE CLUSTER 2020): what mappers score on its instances, and how well J_max explains its times.

Scores (sections VI-C and VI-D): the paper's algorithms and ours run here anew; the general mappers were measured
(hunold2020_peers.csv). The paper's list of node counts ends in 33 where it says 144 instances: 144 = 8 * 9 * 2 needs eight
counts, 10 to 31.

Times (Tables II to VII): one line a machine, time = a + b * J_max * bytes, is fitted to the times of all algorithms, stencils,
message sizes and both grids by relative least squares. J_max is of our own mappings, so that an algorithm of ours that is not
the authors' would stand out by its share. Table VII's caption names another machine; the text and the order say JUWELS, as the
data have it. Figure 9 prints no numbers; its sentences (section VI-E) are held against the time that our mappers take here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, quantiles
from typing import Any

import numpy as np

from rankwise.blocks import Column, Table, text_table
from rankwise.factors import balanced_grid
from rankwise.mapping import How, algorithm_names, map_grid
from rankwise.mapping.mapper import steps_of
from rankwise.papers import printed
from rankwise.records import Record, computed, key, record
from rankwise.report.reproduction import Section
from rankwise.units import format_size, format_time

PAPERS_ALGORITHMS = ("hyperplane", "kd-tree", "stencil-strips", "nodecart")
PUBLISHED = ("blocked", *PAPERS_ALGORITHMS)
PPN = 48  # on the two grids
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
SHOWN = (*PUBLISHED, "viem", "kahip", "scotch", "refined")
COMPARED = SHOWN[1:]
EFFORT_S = 0.01

Scores = dict[str, tuple[int, int]]  # J_sum and J_max by mapper


@record
class Instance(Record):
    """One process grid on so many nodes with one stencil."""

    nodes: int = key("nodes that the grid is placed on")
    ranks_per_node: int = key("ranks on each node")
    grid: tuple[int, ...] = key("ranks along each axis", shape=Sequence[int])
    stencil: str = key("stencil that is mapped")


@record
class Score(Record):
    """What a mapping sends between nodes."""

    j_sum: int = key("messages between nodes, in all")
    j_max: int = key("those of the node that sends most")


def _scores(scores: Scores) -> dict[str, Score]:
    return {mapper: Score(*scores[mapper]) for mapper in SHOWN}


@record
class Scored(Record):
    """An instance with the scores of all mappers and the lower bound of J_sum."""

    instance: Instance = key(inline=True)
    scores: Scores = key("J_sum and J_max of each mapper", write=_scores, shape=Mapping[str, Score], after="bound")
    bound: int = key("messages between nodes that no mapping falls below, in all")


def instances() -> list[Instance]:
    """The 144 grids of section VI-C with each of the three stencils."""
    return [
        Instance(nodes, ppn, balanced_grid(nodes * ppn, ndim), stencil)
        for stencil in STENCILS
        for ndim in (2, 3)
        for nodes in range(10, 32, 3)
        for ppn in (*range(10, 32, 3), 32)
    ]


def throughput_instances() -> list[Instance]:
    """The two grids of section VI-D with each of the three stencils."""
    return [Instance(nodes, PPN, grid, stencil) for nodes, grid in GRIDS.items() for stencil in STENCILS]


@cache
def peers() -> dict[Instance, Scores]:
    """What the general mappers reach."""
    found: dict[Instance, Scores] = {}
    for row in printed("hunold2020_peers"):
        instance = Instance(row["nodes"], row["ranks_per_node"], row["grid"], row["stencil"])
        found.setdefault(instance, {})[row["mapper"]] = (row["j_sum"], row["j_max"])
    return found


def scored(instance: Instance, effort_s: float = EFFORT_S) -> Scored:
    """Run the paper's algorithms and ours on an instance, and look up the general mappers."""
    mappings = map_grid(
        instance.grid,
        [instance.ranks_per_node] * instance.nodes,
        instance.stencil,
        algorithms=[*PUBLISHED, "refined"],
        how=How(keep_maps=False, steps=steps_of(effort_s)),
    )
    own = {result.algorithm: (result.j_sum, result.j_max) for result in mappings.results}
    return Scored(instance, own | peers()[instance], mappings.bound)


@record
class Distribution(Record):
    """Reductions over blocked of one mapper with one stencil: the median with its 95 % notch, and the quartiles."""

    stencil: str = key("stencil of the instances")
    objective: str = key("what is reduced: j_sum or j_max")
    mapper: str = key("mapper that reduces it")
    reductions: tuple[float, ...]
    median: float = key("median of the objective relative to blocked")
    notch: tuple[float, float] = key("95 % interval of the median")
    quartiles: tuple[float, float] = key("lower and upper quartile of the objective relative to blocked")
    instances = computed("instances that the distribution is of", int, lambda of: len(of.reductions))

    @staticmethod
    def of(stencil: str, objective: str, mapper: str, reductions: Sequence[float]) -> Distribution:
        low, median, high = (float(value) for value in np.percentile(reductions, [25, 50, 75]))
        # The notch of a box plot (McGill, Tukey, Larsen 1978): a Gaussian approximation from the quartiles.
        half = 1.57 * (high - low) / math.sqrt(len(reductions))
        return Distribution(stencil, objective, mapper, tuple(reductions), median, (median - half, median + half), (low, high))

    def overlaps(self, other: Distribution) -> bool:
        return self.notch[0] <= other.notch[1] and other.notch[0] <= self.notch[1]

    def clearly_below(self, other: Distribution) -> bool:
        return self.notch[1] < other.notch[0]


def distributions(results: Sequence[Scored]) -> dict[tuple[str, str, str], Distribution]:
    """Figure 8: for each stencil, objective and mapper the reductions over blocked.

    An instance in which blocked sends nothing has no reduction and is left out.
    """
    found = {}
    for stencil in STENCILS:
        rows = [row for row in results if row.instance.stencil == stencil]
        for index, objective in enumerate(("j_sum", "j_max")):
            for mapper in COMPARED:
                values = [
                    row.scores[mapper][index] / row.scores["blocked"][index] for row in rows if row.scores["blocked"][index] > 0
                ]
                found[stencil, objective, mapper] = Distribution.of(stencil, objective, mapper, values)
    return found


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
    mapped = map_grid(grid, [PPN] * nodes, stencil, algorithms=names, how=How(keep_maps=False))
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
    explained = float(1 - np.sum(np.log(ratio) ** 2) / np.sum((logs - logs.mean()) ** 2))
    share = {name: float(np.median(ratio[of == name])) for name in names}
    return Line(machine, float(a), float(b), len(rows), explained, float(np.mean(np.abs(line / published - 1))), share)


def instantiation(repetitions: int = _REPETITIONS) -> dict[str, list[float]]:
    """Time our mappers on the 75x64 grid of 100 nodes: seconds of each
    repetition, all ranks together, Tukey's outliers dropped."""
    seconds: dict[str, list[float]] = {name: [] for name in INSTANTIATED}
    for _ in range(repetitions):
        for name in INSTANTIATED:
            mapped = map_grid(GRIDS[100], [PPN] * 100, "nearest-neighbor", algorithms=[name], how=How(keep_maps=False))
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
        Section.of(
            "law",
            "The published times and the law of J_max (Tables II to VII)",
            "time = a + b J_max bytes, a line a machine, explains "
            + ", ".join(f"{line.explained:.0%} ({machine})" for machine, line in lines.items())
            + f" of the variance of the logarithm; a time is off by {worst.mean_absolute_error:.0%} in the mean on "
            f"{worst.machine}. J_max is of our own mappings: one that is not the authors' would stand out.",
            *[_table(times, lines[machine], nodes, name) for (machine, nodes), name in TABLES.items()],
        ),
        Section.of(
            "instantiation",
            "Instantiation (Figure 9)",
            "The paper prints no time but VieM's 7.95 s, and three ratios: hyperplane and k-d tree alike, Nodecart 28 % "
            "longer, stencil strips more than twice as long (VSC4, 4800 ranks, each computing its own). Ours compute all "
            f"4800 places at once, on this machine: {fastest} is fastest with {format_time(base)}, {slowest} takes "
            f"{fmean(seconds[slowest]) / base:.1f} times that; VieM's published time is {7.95 / base:,.0f} times ours.",
            _instantiation_table(seconds),
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
