"""Hunold et al. (IEEE CLUSTER 2020), section VI-D, simulated: speed-ups of mappings over blocked beside Tables II to VII.

The two grids with their three stencils run under SimGrid on a two-level fat tree tapered 2:1 with links of 100 Gbit/s, as
VSC4 and JUWELS are described in section VI-A. What the paper does not say is assumed: latencies and what a node's memory
carries (ASSUMED). The simulated times know nothing of the published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.blocks import Column, Picture, Table
from rankwise.engines.platform import System
from rankwise.engines.session import simulate_rows
from rankwise.papers import DATA, cited, printed
from rankwise.papers import hunold2020_scores as scores
from rankwise.papers.hunold2020_scores import GRIDS, MACHINES, STENCILS
from rankwise.progress import tell
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, Chart, Spec, field_of, series_scale, stop_of
from rankwise.report.layers import layer, shapes, zoomed
from rankwise.report.reproduction import Reproduction, Section
from rankwise.statistics import rank_correlation
from rankwise.units import format_size
from rankwise.workloads.base import Row
from rankwise.workloads.stencil import StencilCase, stencil_cases

SIZES = tuple(2**power for power in range(6, 20))
TOPOLOGY = {50: "fat-tree:32x2:2", 100: "fat-tree:32x4:2"}
MAPPINGS = (*scores.PUBLISHED, "refined", "random")
LINK_BYTES_PER_S = 12.5e9  # 100 Gbit/s, section VI-A
# Not in the paper. Two sockets of six channels DDR4-2666 move 256 GB/s; a message inside a node is copied into shared
# memory and out of it, so that each byte is read twice and written twice.
ASSUMED = {"latency_s": 1.1e-6, "latency_inside_s": 0.5e-6, "bytes_per_s_inside": 6e9, "memory_bytes_per_s": 64e9}


KEPT = DATA / "hunold2020_simulated.csv"
COMMAND = "rankwise reproduce hunold2020 --engine simgrid --simulations hunold2020-simulated"
_WORD_BYTES = 8
_AGREEMENT = (
    "ρ: rank correlation of the simulated order of the mappings with the published one; mean, median: error of the speed-ups."
)


@record
class Simulated(Record):
    """The simulated time of one mapping of one instance at one size."""

    nodes: int = key("nodes of the grid")
    stencil: str = key("stencil of the exchange")
    message_bytes: int = key("size of a message, as printed")
    mapping: str = key("id of the mapping")
    time_s: float = key("simulated time")


@record
class Compared(Simulated):
    """One mapping of one instance at one printed size: speed-ups over blocked, simulated and published (by machine)."""

    speedup: float = key("speed-up over blocked, simulated")
    published: Mapping[str, float] = key("speed-up over blocked as published, by machine")


@record
class Agreement(Record):
    """Simulated against one machine's published speed-ups at one size, over both grids and all stencils."""

    machine: str = key("machine that the times were measured on")
    message_bytes: int = key("size of a message")
    rank_correlation: float = key("of the simulated order of the mappings with the published one")
    mean_absolute_error: float = key("mean error of the simulated speed-ups")
    median_absolute_error: float = key("median error of the simulated speed-ups")
    speedups: int = key("speed-ups that the errors are of")


@record
class Figures(Record):
    """The speed-ups of Tables II to VII, simulated."""

    paper = computed("the paper's id", str, lambda _: "hunold2020")
    engine = computed("what made the figures: simgrid", str, lambda _: "simgrid")
    assumed = computed("what the paper does not say and the simulation needs", Mapping[str, float], lambda _: ASSUMED)
    lines: Sequence[scores.Line] = key("the law of J_max by machine")
    agreement: Sequence[Agreement] = key("how far simulated and published speed-ups agree, by machine and size")
    rows: Sequence[Compared] = key("simulated times and speed-ups beside those published")


def system() -> System:
    """Return the nodes and links that are simulated."""
    links = _core.Machine(
        {
            "same-socket": {"send": [(0, ASSUMED["latency_inside_s"], 1 / ASSUMED["bytes_per_s_inside"])]},
            "other-node": {"send": [(0, ASSUMED["latency_s"], 1 / LINK_BYTES_PER_S)]},
        },
        {"card": {"bytes_per_s": LINK_BYTES_PER_S}, "memory": {"bytes_per_s": ASSUMED["memory_bytes_per_s"]}},
    )
    return System("hunold2020: 100 Gbit/s, 48 ranks a node", links, None, None)


def simulated(
    folder: Path, nodes: Sequence[int] = (50, 100), sizes: Sequence[int] = SIZES, jobs: int | None = None
) -> list[Simulated]:
    """Simulate all mappings, stencils and sizes on the grids of so many nodes; what ``folder`` has is not done again."""
    rows: list[Row] = []
    for count in nodes:
        cases = [
            case
            for stencil in STENCILS
            for case in stencil_cases(GRIDS[count], [scores.PPN] * count, stencil, [False, False], MAPPINGS, sizes)
        ]
        machine = system()
        rows += simulate_rows(machine, cases, TOPOLOGY[count], None, machine.placement(scores.PPN), folder, jobs)
    return times_of(rows)


def times_of(rows: Sequence[Row]) -> list[Simulated]:
    """Return the times of simulated cases."""
    return [
        Simulated(case.ranks // scores.PPN, case.stencil, case.message_bytes, case.mapping, row.time_s)
        for row in rows
        if isinstance(case := row.case, StencilCase)
    ]


def compare(times: Sequence[Simulated], word_bytes: int = 1) -> list[Compared]:
    """Set each simulated speed-up over blocked beside the published ones.

    With ``word_bytes`` the printed sizes are read as words of so many bytes.
    """
    printed = scores.by_place(scores.published_times())
    own = {(t.nodes, t.stencil, t.message_bytes, t.mapping): t.time_s for t in times}
    found = []
    for time in times:
        size, rest = divmod(time.message_bytes, word_bytes)
        blocked_s = own.get((time.nodes, time.stencil, time.message_bytes, "blocked"))
        if rest or blocked_s is None:
            continue
        published = {}
        for machine in MACHINES:
            base = printed.get((machine, time.nodes, time.stencil, size, "blocked"))
            time_s = printed.get((machine, time.nodes, time.stencil, size, time.mapping))
            if base is not None and time_s is not None:
                published[machine] = base / time_s
        found.append(Compared(time.nodes, time.stencil, size, time.mapping, time.time_s, blocked_s / time.time_s, published))
    return found


def agreements(rows: Sequence[Compared]) -> list[Agreement]:
    """Return, for each machine and size, rank correlation (mean over the instances) and error of the speed-ups."""
    found = []
    for machine in MACHINES:
        for size in sorted({row.message_bytes for row in rows}):
            here = [row for row in rows if row.message_bytes == size and machine in row.published]
            others = [row for row in here if row.mapping != "blocked"]
            correlations = []
            for instance in sorted({(row.nodes, row.stencil) for row in here}):
                group = [row for row in here if (row.nodes, row.stencil) == instance]
                ours = [row.speedup for row in group]
                theirs = [row.published[machine] for row in group]
                if len(group) >= 3 and len(set(ours)) > 1 and len(set(theirs)) > 1:
                    correlations.append(rank_correlation(ours, theirs))
            if others and correlations:
                errors = [abs(row.speedup / row.published[machine] - 1) for row in others]
                means = (float(np.mean(correlations)), float(np.mean(errors)), float(np.median(errors)))
                found.append(Agreement(machine, size, *means, len(others)))
    return found


def kept() -> list[Simulated]:
    """Return the simulated times that the package keeps (data/hunold2020_simulated.csv, whose head names the command)."""
    return [Simulated(*row.values()) for row in printed(KEPT.stem)]


def keep(times: Sequence[Simulated], path: Path = KEPT) -> None:
    """Write simulated times as the package keeps them."""
    ordered = sorted(times, key=lambda t: (t.nodes, STENCILS.index(t.stencil), t.message_bytes, MAPPINGS.index(t.mapping)))
    text = f"# made by: {COMMAND}\nnodes,stencil,message_bytes,mapping,time_s\n"
    text += "".join(f"{t.nodes},{t.stencil},{t.message_bytes},{t.mapping},{t.time_s:.6g}\n" for t in ordered)
    path.write_text(text, encoding="utf-8")


def whole() -> int:
    """Return how many times the whole campaign has."""
    return len(GRIDS) * len(STENCILS) * len(SIZES) * len(MAPPINGS)


def kept_section() -> Section:
    """What of the campaign the package keeps, beside the published speed-ups."""
    times = kept()
    rows = compare(times)
    agreed = agreements(rows)
    large = _large(agreed)
    by_grid = ", ".join(
        f"N = {n}: {sum(t.nodes == n for t in times)} of {len(STENCILS) * len(SIZES) * len(MAPPINGS)}" for n in GRIDS
    )
    return Section.of(
        "simulated",
        "The campaign, simulated",
        f"{len(times)} of {whole()} times are kept ({by_grid}); {'' if len(times) == whole() else 'the others and '}these "
        f"again: '{COMMAND}', which goes on where it was. The rank correlation of the simulated order of the mappings with "
        f"the published one is {np.mean([a.rank_correlation for a in large]):.2f} in the mean over machines and sizes of "
        f"{format_size(min(a.message_bytes for a in large))} or more. Assumed, as the paper does not "
        f"say: {_assumed()}.",
        _agreement_table(agreed),
        _speedup_table(rows),
        _picture(rows),
    )


def reproduce(folder: Path) -> Reproduction:
    """Simulate everything (more than an hour on two cores, resumed from ``folder``) and set it beside the paper."""
    tell(f"simulating up to 4800 ranks: more than an hour on two cores, what is done stays in {folder} and is not done again")
    times = simulated(folder)
    keep(times, folder / KEPT.name)
    return reproduction(compare(times), compare(times, _WORD_BYTES))


def _large(agreed: Sequence[Agreement]) -> Sequence[Agreement]:
    """Those of 4 KiB or more, if there are any."""
    return [a for a in agreed if a.message_bytes >= 4096] or agreed


def _mean_error(agreed: Sequence[Agreement]) -> float:
    """The mean error of the speed-ups of small messages, in which the readings differ most."""
    return float(np.mean([a.mean_absolute_error for a in agreed if a.message_bytes < 4096]))


def reproduction(rows: Sequence[Compared], as_words: Sequence[Compared]) -> Reproduction:
    """Put simulated speed-ups beside the published ones, and say which reading of the printed sizes they speak for."""
    lines = [scores.fit_line(machine) for machine in MACHINES]
    explained, s_per_byte = [line.explained for line in lines], [line.s_per_byte for line in lines]
    agreed = agreements(rows)
    of_bytes, of_words = _mean_error(agreed), _mean_error(agreements(as_words))
    large = _large(agreed)
    answer = [
        f"time = a + b J_max bytes explains {min(explained):.0%} to {max(explained):.0%} of "
        "the variance of the logarithm of the published times, a line a machine.",
        f"From 4 KiB on the simulated order of the mappings has a rank correlation of "
        f"{np.mean([a.rank_correlation for a in large]):.2f} with the published one; the speed-ups differ by "
        f"{np.mean([a.mean_absolute_error for a in large]):.0%} in the mean and "
        f"{np.median([a.median_absolute_error for a in large]):.0%} in the median (some published times are tens of times "
        "those of their neighbours).",
        f"b comes to {1e-9 / max(s_per_byte):.2f} to {1e-9 / min(s_per_byte):.2f} GB/s a node of 100 Gbit/s: "
        f"{12.5e9 * min(s_per_byte):.0f} to {12.5e9 * max(s_per_byte):.0f} times less, where printed sizes that are words of "
        f"{_WORD_BYTES} bytes would be {_WORD_BYTES} times less. The simulated speed-ups "
        f"{'bear that out' if of_words < of_bytes else 'do not bear that out'}: below 4 KiB they are off by {of_bytes:.0%} "
        f"with bytes and by {of_words:.0%} with words.",
    ]
    return Reproduction(
        paper="hunold2020",
        title="hunold2020: mappings of stencils, simulated",
        answer=answer,
        sections=(
            Section.of(
                "simulation",
                "Simulated beside published",
                "MPI_Neighbor_alltoall (its messages by Isend and Irecv) on two-level fat trees tapered 2:1, 48 ranks a "
                f"node, links of 100 Gbit/s. Assumed, as the paper does not say: {_assumed()}.",
                _agreement_table(agreed),
                _speedup_table(rows),
                _picture(rows),
            ),
            Section.of(
                "lines",
                "The published times against J_max",
                "J_max is of our own mappings; a mapping that is not the authors' would stand out by its share.",
                _line_table(lines),
            ),
        ),
        figures=Figures(lines, agreed, rows),
        sources=(f"{cited('hunold2020')}, Tables II to VII.",),
        next_command="rankwise simulate stencil --machine hopper --grid 16x16 --nodes 16 --ppn 16",
    )


def _assumed() -> str:
    return ", ".join(f"{key} = {value:g}" for key, value in ASSUMED.items())


_AGREEMENTS: Sequence[Column[Agreement]] = (
    Column(None, "machine"),
    Column(None, "message_bytes"),
    Column(None, "rank_correlation"),
    Column(None, "mean_absolute_error", key="mean_absolute_error_of_speedup"),
    Column(None, "median_absolute_error", key="median_absolute_error_of_speedup"),
    Column(None, "speedups"),
)


def _agreement_table(agreed: Sequence[Agreement]) -> Table[Agreement]:
    at = {(a.machine, a.message_bytes): a for a in agreed}

    def of(machine: str, what: str, name: str, write: Callable[[Any], str]) -> Column[int]:
        return Column(f"{machine}, {what}", lambda size: getattr(at.get((machine, size)), name, None), write)

    columns: list[Column[int]] = [Column("size, B", int)]
    for machine in MACHINES:
        columns += [
            of(machine, "ρ", "rank_correlation", "{:.2f}".format), of(machine, "mean", "mean_absolute_error", "{:.0%}".format),
            of(machine, "median", "median_absolute_error", "{:.0%}".format),
        ]  # fmt: skip
    readers = Table(columns, sorted({a.message_bytes for a in agreed}))
    return Table(_AGREEMENTS, agreed, name="agreement", caption=_AGREEMENT, readers=readers)


def _speedup_table(rows: Sequence[Compared]) -> Table[Compared]:
    def published(machine: str) -> Callable[[Compared], float | None]:
        return lambda row: row.published.get(machine)

    columns: Sequence[Column[Compared]] = (
        Column("nodes", "nodes"),
        Column("stencil", "stencil"),
        Column(None, "message_bytes"),
        Column("mapping", "mapping"),
        Column(None, "time_s"),
        Column("simulated", "speedup", "{:.2f}".format),
        *(Column(machine, published(machine), "{:.2f}".format, f"speedup_{machine}") for machine in MACHINES),
    )
    largest = max(row.message_bytes for row in rows)
    readers = Table(columns, [row for row in rows if row.message_bytes == largest and row.mapping != "blocked"])
    caption = f"Speed-up over blocked; shown at {largest} B, all sizes in the CSV."
    return Table(columns, rows, name="speedups", caption=caption, readers=readers)


def _line_table(lines: Sequence[scores.Line]) -> Table[scores.Line]:
    def share(name: str) -> Callable[[scores.Line], float]:
        return lambda line: line.share[name]

    names = [name for name in (*scores.PUBLISHED, "random") if all(name in line.share for line in lines)]
    columns: Sequence[Column[scores.Line]] = (
        Column("machine", "machine"),
        Column("a", "intercept_s", lambda time_s: f"{time_s * 1e6:.1f} us", "a_s"),
        Column("1 / b", "s_per_byte", lambda beta: f"{1e-9 / beta:.2f} GB/s", "b_s_per_byte"),
        Column(None, "times"),
        Column("explained", "explained", "{:.0%}".format, "explained_log_variance"),
        Column("error", "mean_absolute_error", "{:.0%}".format),
        *(Column(name, share(name), "{:.2f}".format, name) for name in names),
    )
    caption = "time = a + b J_max bytes; for each mapping the median of published over fitted."
    return Table(columns, lines, name="lines", caption=caption)


def _picture(rows: Sequence[Compared]) -> Picture:
    caption = (
        "Tables II to VII: published speed-up over blocked against the simulated one, every mapping, size and stencil; on the "
        "line they agree."
    )
    return Picture("speedups", caption, lambda: _draw(rows))


def _draw(rows: Sequence[Compared]) -> Chart:
    return speedup_picture(
        {
            machine: {
                mapping: [(r.speedup, r.published[machine]) for r in rows if r.mapping == mapping and machine in r.published]
                for mapping in (*scores.PUBLISHED[1:], "random")
            }
            for machine in MACHINES
        }
    )


def speedup_picture(pairs: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> Chart:
    """Draw (simulated, published) speed-ups: a panel for each machine, a look for each mapping, both axes logarithmic."""
    everything = [value for panel in pairs.values() for points in panel.values() for pair in points for value in pair]
    # A few published times are tens of times off; what lies beyond is drawn at the edge.
    low, high = 0.2, min(20.0, 1.1 * max(everything, default=2.0))
    ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20) if low <= tick <= high]
    names = list(dict.fromkeys(mapping for panel in pairs.values() for mapping in panel))
    panels: list[Spec] = []
    stops: list[str] = []
    for number, (machine, series) in enumerate(pairs.items()):
        data = []
        for mapping, points in series.items():
            for ours, theirs in points:
                words = f"{machine}, {mapping}: simulated {ours:.2f}, published {theirs:.2f} times as fast as blocked"
                data.append({
                    "mapping": mapping, "ours": min(max(ours, low), high), "theirs": min(max(theirs, low), high),
                    **stop_of(stops, words),
                })  # fmt: skip
        scale = {"type": "log", "domain": [low * 0.95, high * 1.05], "nice": False}
        both = {
            name: field_of(value, scale=scale, axis={"values": ticks, "title": title, "format": "~g"})
            for name, value, title in (("x", "ours", "simulated speed-up over blocked"), ("y", "theirs", "published"))
        }
        alike = [{"ours": low, "theirs": low}, {"ours": high, "theirs": high}]
        told_apart = {"color": field_of("mapping", "nominal", scale=series_scale(names)), "shape": shapes("mapping", names)}
        marks = layer("point", {**both, **told_apart}, data, filled=True, opacity=0.75, size=26, clip=True)
        layers = [
            layer("line", both, alike, color=INK, strokeWidth=0.8, clip=True),
            *zoomed([marks], f"zoom_{number}", ("x", "y")),
            layer("point", both, data, "datum.stop === stop", size=160, color=INK, clip=True),
        ]
        panels.append({"title": machine, "height": 260, "layer": layers})
    return Chart(
        "speedups",
        "Simulated and published speed-up over blocked",
        "Each point is one mapping of one grid, stencil and message size; on the line simulation and paper agree.",
        panels, stops, least_px=300, label_px=52,
    )  # fmt: skip
