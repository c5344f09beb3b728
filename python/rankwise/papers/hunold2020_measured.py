"""Hunold et al. 2020, Tables II to VII and Figure 9: the published times beside the law of J_max, sentences on them,
instantiation.

Ours beside a published time is a + b J_max bytes, with the line of that machine (hunold2020_times) and the J_max of our own
mappings. Figure 9 prints no numbers; its sentences (section VI-E) are held against the time that our mappers take here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles

from rankwise.mapping import How, map_grid
from rankwise.papers.hunold2020_times import (
    MACHINES,
    RANKS_PER_NODE,
    Line,
    PublishedTime,
    fit_line,
    our_scores,
)
from rankwise.report.reproduction import Cell, Section, Table
from rankwise.units import format_size, format_time

TABLES = {("VSC4", 50): "II", ("VSC4", 100): "III", ("SuperMUC-NG", 50): "IV", ("SuperMUC-NG", 100): "V", ("JUWELS", 50): "VI",
          ("JUWELS", 100): "VII"}  # fmt: skip
INSTANTIATED = ("hyperplane", "kd-tree", "nodecart", "stencil-strips")
_REPETITIONS = 40
# Section VI-D, speed-ups over blocked "up to" (one of them "more than"): nodes, stencil, mappings, machine, figure.
_MORE_THAN = (50, "nearest-neighbor", "JUWELS")
_UP_TO = (
    (50, "nearest-neighbor", ("hyperplane",), "VSC4", 3.0),
    (50, "nearest-neighbor", ("stencil-strips",), "VSC4", 4.0),
    (50, "nearest-neighbor", ("hyperplane",), "SuperMUC-NG", 2.0),
    (50, "nearest-neighbor", ("stencil-strips",), "SuperMUC-NG", 3.0),
    (50, "nearest-neighbor", ("hyperplane", "stencil-strips"), "JUWELS", 5.0),
    (50, "nearest-neighbor-with-hops", ("hyperplane", "stencil-strips"), "VSC4", 4.0),
    (50, "nearest-neighbor-with-hops", ("hyperplane", "stencil-strips"), "SuperMUC-NG", 3.5),
    (50, "nearest-neighbor-with-hops", ("hyperplane", "stencil-strips"), "JUWELS", 3.0),
    (100, "nearest-neighbor-with-hops", ("hyperplane", "kd-tree", "stencil-strips"), "VSC4", 4.5),
    (100, "nearest-neighbor-with-hops", ("hyperplane", "kd-tree", "stencil-strips"), "SuperMUC-NG", 3.5),
    (50, "component", ("kd-tree", "stencil-strips"), "VSC4", 10.0),
    (50, "component", ("kd-tree", "stencil-strips"), "SuperMUC-NG", 5.0),
    (50, "component", ("kd-tree", "stencil-strips"), "JUWELS", 12.0),
    (100, "component", ("kd-tree", "stencil-strips"), "VSC4", 14.0),
    (100, "component", ("kd-tree", "stencil-strips"), "SuperMUC-NG", 5.0),
    (100, "component", ("kd-tree", "stencil-strips"), "JUWELS", 16.0),
)
_NEAR = 0.15  # by which a rounded "up to" may miss the largest printed speed-up


@dataclass(frozen=True)
class UpTo:
    """A sentence "up to so many times faster than blocked", and the largest that the tables print."""

    nodes: int
    stencil: str
    mappings: tuple[str, ...]
    machine: str
    says: float
    largest: float
    message_bytes: int

    @property
    def holds(self) -> bool:
        if (self.nodes, self.stencil, self.machine) == _MORE_THAN:
            return self.largest > self.says
        return abs(self.largest / self.says - 1) <= _NEAR


def up_to(times: Sequence[PublishedTime]) -> list[UpTo]:
    """Hold the speed-ups of section VI-D against the printed times."""
    at = {(t.machine, t.nodes, t.stencil, t.message_bytes, t.mapping): t.time_s for t in times}
    sizes = sorted({t.message_bytes for t in times})
    found = []
    for nodes, stencil, mappings, machine, says in _UP_TO:
        ratios = [
            (blocked / time_s, size)
            for size in sizes
            for mapping in mappings
            if (blocked := at.get((machine, nodes, stencil, size, "blocked")))
            and (time_s := at.get((machine, nodes, stencil, size, mapping)))
        ]  # fmt: skip
        largest, size = max(ratios)
        found.append(UpTo(nodes, stencil, mappings, machine, says, largest, size))
    return found


def instantiation(repetitions: int = _REPETITIONS) -> dict[str, list[float]]:
    """Time our mappers on the 75x64 grid of 100 nodes: seconds of each
    repetition, all ranks together, Tukey's outliers dropped."""
    seconds: dict[str, list[float]] = {name: [] for name in INSTANTIATED}
    for _ in range(repetitions):
        for name in INSTANTIATED:
            mapped = map_grid((75, 64), [RANKS_PER_NODE] * 100, "nearest-neighbor", algorithms=[name], how=How(keep_maps=False))
            seconds[name].append(mapped.results[0].seconds)
    return {name: _without_outliers(values) for name, values in seconds.items()}


def sections(times: Sequence[PublishedTime], seconds: Mapping[str, Sequence[float]]) -> list[Section]:
    """The parts of the page: times, the law, sentences on speed-ups, Figure 9."""
    lines = {machine: fit_line(machine, times) for machine in MACHINES}
    told = up_to(times)
    held = sum(one.holds for one in told)
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
                f"Of {len(told)} sentences on speed-ups over blocked {held} agree with the tables to {_NEAR:.0%}"
                + "".join(
                    f"; {one.machine}, N = {one.nodes}, {one.stencil}: 'up to {one.says:g}', printed {one.largest:.1f} at "
                    f"{format_size(one.message_bytes)}"
                    for one in told
                    if not one.holds
                )
                + ".",
            ),
            (_up_to_table(told), *(_table(times, lines[machine], nodes, name) for (machine, nodes), name in TABLES.items())),
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


def _up_to_table(told: Sequence[UpTo]) -> Table:
    shown = [["machine", "N", "stencil", "mappings", "says up to", "printed", "at", "holds"]]
    cells: list[list[Cell]] = []
    for one in told:
        mappings = ", ".join(one.mappings)
        cells.append([one.machine, one.nodes, one.stencil, mappings, one.says, one.largest, one.message_bytes, one.holds])
        shown.append(
            [one.machine, str(one.nodes), one.stencil, mappings, f"{one.says:g}", f"{one.largest:.1f}",
             format_size(one.message_bytes), "yes" if one.holds else "no"]
        )  # fmt: skip
    header = ["machine", "nodes", "stencil", "mappings", "says", "largest_printed", "message_bytes", "holds"]
    return Table("speedups-said", "Speed-ups over blocked, as section VI-D says and as the tables print.", header, cells, shown)


def _table(times: Sequence[PublishedTime], line: Line, nodes: int, name: str) -> Table:
    here = [t for t in times if (t.machine, t.nodes) == (line.machine, nodes)]
    mappings = list(dict.fromkeys(t.mapping for t in here))
    cells: list[list[Cell]] = []
    rows: dict[tuple[str, int], dict[str, str]] = {}
    for t in here:
        scores = our_scores(t.grid, t.nodes, t.stencil).get(t.mapping)
        ours_s = None if scores is None else line.intercept_s + line.s_per_byte * scores[1] * t.message_bytes
        cells.append([t.stencil, t.message_bytes, t.mapping, t.time_s, None if scores is None else scores[1], ours_s])
        told = f"{1e3 * t.time_s:.3g}" + ("" if ours_s is None else f" / {1e3 * ours_s:.3g}")
        rows.setdefault((t.stencil, t.message_bytes), {})[t.mapping] = told
    shown = [["stencil", "size", *mappings]]
    shown += [[stencil, format_size(size), *(row.get(m, "–") for m in mappings)] for (stencil, size), row in rows.items()]
    header = ["stencil", "message_bytes", "mapping", "published_s", "our_j_max", "law_s"]
    return Table(
        f"table-{name}",
        f"Table {name}: {line.machine}, N = {nodes}; published / by the law of J_max, in ms.",
        header,
        cells,
        shown,
    )


def _instantiation_table(seconds: Mapping[str, Sequence[float]]) -> Table:
    published = {
        "hyperplane": "1",
        "kd-tree": "1",
        "nodecart": "1.28",
        "stencil-strips": "more than 2",
        "viem": "more than 400",
    }
    base = fmean(seconds["hyperplane"])
    shown = [["mapper", "published, over hyperplane", "ours", "ours, over hyperplane", "kept of the repetitions"]]
    cells: list[list[Cell]] = []
    for name, ratio in published.items():
        mine = seconds.get(name)
        cells.append([name, ratio, fmean(mine) if mine else None, fmean(mine) / base if mine else None, len(mine or ())])
        shown.append(
            [
                name,
                ratio,
                *((format_time(fmean(mine)), f"{fmean(mine) / base:.2f}", str(len(mine))) if mine else ("–", "–", "–")),
            ]
        )
    header = ["mapper", "published_over_hyperplane", "ours_s", "ours_over_hyperplane", "repetitions"]
    return Table("figure9", "Time to compute the new ranks, 4800 ranks, nearest neighbour.", header, cells, shown)


def record(times: Sequence[PublishedTime], seconds: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """The same as JSON."""
    return {
        "lines": [fit_line(machine, times).to_dict() for machine in MACHINES],
        "speedups_said": [{**vars(one), "mappings": list(one.mappings), "holds": one.holds} for one in up_to(times)],
        "instantiation_s": {name: fmean(values) for name, values in seconds.items()},
    }
