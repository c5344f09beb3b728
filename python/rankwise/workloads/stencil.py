"""The workload "stencil": one MPI_Neighbor_alltoall over a process grid whose cells are mapped to nodes.

Of real runs the rows are those of the throughput experiment of Hunold et al. (2020), section VI-D: a barrier before each
exchange, the time of a repetition that of the rank that took longest, with and without outliers, and the speed-up over
blocked with its interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rankwise.errors import InputError
from rankwise.records import Interval, computed, key, record, told
from rankwise.units import format_size, format_time, parse_periodic, parse_shape, parse_sizes
from rankwise.workloads.base import (
    Aside,
    Case,
    Figures,
    Halo,
    Options,
    Program,
    Row,
    Site,
    Times,
    Workload,
    joined,
    option,
    require_ranks,
)
from rankwise.workloads.exchange import FALLBACK

if TYPE_CHECKING:
    from rankwise.statistics import Summary

BASELINE = "blocked"
_FOLD_ABOVE_BYTES = 1 << 30  # of all ranks' messages
_ONE_NODE = "all ranks are on one node: no mapping can spare it messages; start them on several"


@record
class StencilFigures(Figures):
    """What only stencils have of a row."""

    messages: int = key("number of messages", optional=True)
    speedup_over_blocked: float | None = key("how many times as fast as blocked", optional=True)
    speedup_ci: Interval | None = key("95 % interval of speedup_over_blocked", optional=True)
    all: Summary = key("of all samples", optional=True)
    without_outliers: Summary = key("of those that are no outliers", optional=True)
    outliers: int = key("number of samples left out", optional=True)


@record
class StencilCase(Case):
    """A halo exchange: every cell sends ``message_bytes`` to each cell of its stencil; a rank a cell, row-major.

    ``node_of_cell`` is what the mapping gives; ``mapping`` names it, ``j_sum`` and ``j_max`` score it.
    """

    workload = kernel = "stencil"
    # All its sends are nonblocking and are waited for with the receives: nothing waits for a buffered one.
    buffers_sends = False
    most_a_simulation = 4  # setting up thousands of ranks costs as much as a few exchanges; what is done is kept by the run

    grid: tuple[int, ...] = key("ranks along each axis")
    periodic: tuple[bool, ...] = key("whether each axis wraps around")
    stencil: str = key("name of the stencil")
    mapping: str = key("id of the mapping")
    node_of_cell: tuple[int, ...]
    j_sum: int = key("messages between nodes, in all")
    j_max: int = key("messages of the node that sends most")
    nodes_used = computed("number of nodes", int, lambda case: max(case.node_of_cell) + 1, name="nodes")
    message_bytes: int = key("size of a message", after="ranks")
    repetitions: int | None = field(default=None, compare=False)

    @property
    @told("number of ranks", after="nodes_used")
    def ranks(self) -> int:
        return math.prod(self.grid)

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.node_of_cell

    @property
    def way(self) -> str:
        return self.mapping

    @property
    def folds_memory(self) -> bool:  # type: ignore[override]
        return 2 * self.ranks * len(_offsets(self.stencil, len(self.grid))) * self.message_bytes > _FOLD_ABOVE_BYTES

    def cells(self) -> dict[str, str]:
        return {
            "mapping": self.mapping,
            "size": format_size(self.message_bytes),
            "J_sum": str(self.j_sum),
            "J_max": str(self.j_max),
        }

    def program(self) -> Program:
        return Program(Halo(self.grid, self.periodic, _offsets(self.stencil, len(self.grid))))

    @property
    def together(self) -> Hashable:
        return self.grid, self.periodic, self.stencil, self.node_of_cell

    @property
    def item(self) -> int:
        return self.message_bytes

    def arguments(self, items: Sequence[int], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        arguments = [
            "--grid", joined(self.grid), "--periodic", joined(map(int, self.periodic)),
            "--stencil", self.stencil.replace(" ", ""), "--bytes", joined(items),
        ]  # fmt: skip
        if simulated:
            return [*arguments, "--verify", "0" if self.folds_memory else "1"]
        return [*arguments, "--cells", joined(cells_of_ranks(self.node_of_cell, node_of_rank)), "--start", "barrier"]

    def effort(self, seconds: float | None, crowded: bool) -> Sequence[str]:
        if seconds is None or self.repetitions is None:
            return super().effort(seconds, crowded)
        return ("--least", str(self.repetitions), "--most", str(self.repetitions))

    def simulation_notes(self, start: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
        notes = [] if start["neighborhood_collectives"] else [FALLBACK]
        if record["verified"] is None:
            notes.append(
                f"messages of {format_size(self.message_bytes)} share memory among the ranks: their bytes are not checked"
            )
        return notes

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        messages = int(record["messages_per_rank"])
        return {"bytes_per_rank": messages * self.message_bytes, "figures": {"messages": int(record["messages"])}}


def cells_of_ranks(node_of_cell: Sequence[int], node_of_rank: Sequence[int]) -> list[int]:
    """Return the cell of each rank: the ranks of a node take its cells in row-major order."""
    cells: dict[int, list[int]] = {}
    for cell, node in enumerate(node_of_cell):
        cells.setdefault(node, []).append(cell)
    waiting = {node: iter(own) for node, own in cells.items()}
    return [next(waiting[node]) for node in node_of_rank]


@lru_cache(maxsize=64)
def _offsets(stencil: str, ndim: int) -> tuple[tuple[int, ...], ...]:
    from rankwise import _core

    return tuple(map(tuple, _core.parse_stencil(stencil, ndim)[0]))


def stencil_cases(
    grid: Sequence[int],
    node_sizes: Sequence[int],
    stencil: str,
    periodic: Sequence[bool],
    mappings: Sequence[str],
    sizes_bytes: Sequence[int],
) -> list[StencilCase]:
    """Map a grid in several ways; return a case for each mapping and message size. Raises InputError."""
    from rankwise.mapping import map_grid

    mapped = map_grid(grid, node_sizes, stencil, periodic, mappings)
    return [
        StencilCase(
            tuple(grid), tuple(periodic), stencil, result.algorithm, tuple(result.node_of_cell.tolist()), result.j_sum,
            result.j_max, size_bytes,
        )
        for size_bytes in sizes_bytes
        for result in mapped.results
        if result.node_of_cell is not None
    ]  # fmt: skip


@dataclass(frozen=True)
class StencilOptions(Options):
    grid: str = option("", "Shape of the process grid, a rank a cell: 50x48.")
    stencil: str = option(
        "nearest-neighbor",
        "To whom each rank sends: nearest-neighbor, nearest-neighbor-with-hops, component, moore:K, "
        'or offsets: "1,0;-1,0;0,2".',
    )
    algorithm: str = option("all", "Mappings of ranks to nodes: all, or several; see 'rankwise map'.")
    size: str = option("1000", "Bytes to each neighbour: 64, 64,4kB,512kB.", "--bytes")
    periodic: str = option("none", "Axes that wrap around: all, none, or a flag an axis: 1,0.")
    nodes: int | None = option(None, "Nodes, all of --ppn ranks. A real run has those that the launcher uses.")
    ppn: int | None = option(None, "Ranks on each node. Default: as many on each of --nodes.")
    node_sizes: str | None = option(None, "Ranks on each node where they differ: 48,48,32.")
    repetitions: int | None = option(
        None, "Exchanges of each case. Default: as many as --seconds allow.", verbs=("run", "validate")
    )
    instantiation: bool = option(False, "Only time how long a rank takes to compute its cell; starts no ranks.", verbs=("run",))


class StencilWorkload(Workload):
    id = "stencil"
    title = "MPI_Neighbor_alltoall on a mapped process grid"
    options = StencilOptions
    examples = {
        "predict": "rankwise predict stencil --grid 8x6 --nodes 8 --ppn 6 --stencil moore:1 --bytes 64,64kB --profile "
        "cluster.json",
        "simulate": "rankwise simulate stencil --profile cluster.json --grid 50x48 --nodes 50 --ppn 48 --topology "
        "fat-tree:10x5:2",
        "run": """rankwise run stencil --grid 4x2 --bytes 64,4kB,512kB
        rankwise run stencil --grid 100x48 --nodes 100 --ppn 48 --instantiation""",
        "validate": """rankwise validate stencil --grid 2x2 --stencil moore:1 --profile machine.json
        rankwise validate stencil --grid 8x6 --nodes 8 --ppn 6 --engines model,simgrid --profile cluster.json""",
        "choose": "rankwise choose stencil --grid 8x6 --nodes 8 --ppn 6 --stencil moore:1 --bytes 64kB --profile cluster.json",
    }
    details = {
        "run": "The ranks sit where the launcher puts them; each mapping gives them other cells. A barrier is before each "
        "exchange, and the slowest rank counts.",
    }

    def cases(self, options: StencilOptions, site: Site) -> list[StencilCase]:
        o = options
        shape, mappings = parse_shape(o.grid, "--grid"), _mappings(o)
        require_ranks(math.prod(shape), "a stencil")
        flags, sizes_bytes = parse_periodic(o.periodic, len(shape)), parse_sizes(o.size, "--bytes")
        if o.repetitions is not None and not 1 <= o.repetitions <= 100_000:
            raise InputError(f"--repetitions {o.repetitions} is not a number of exchanges: give 1 to 100000")
        if site.node_of_rank is None:
            from rankwise.mapping.slots import parse_node_sizes

            node_sizes = parse_node_sizes(shape, o.nodes, o.ppn, o.node_sizes)
        else:
            if (o.nodes, o.ppn, o.node_sizes) != (None, None, None):
                raise InputError(
                    "--nodes, --ppn and --node-sizes go with --instantiation, or without a real run, which has the nodes "
                    "that the launcher uses"
                )
            stencil_cases(shape, [math.prod(shape)], o.stencil, flags, mappings, sizes_bytes[:1])  # refused before ranks start
            counts = Counter(site.node_of_rank(math.prod(shape)))
            node_sizes = [counts[node] for node in range(len(counts))]
        cases = stencil_cases(shape, node_sizes, o.stencil, flags, mappings, sizes_bytes)
        return [replace(case, repetitions=o.repetitions) for case in cases]

    def instead(self, options: StencilOptions) -> Aside | None:
        if not options.instantiation:
            return None
        from rankwise.mapping import How, map_grid
        from rankwise.mapping.instantiation import instantiate
        from rankwise.mapping.slots import parse_node_sizes

        o, shape = options, parse_shape(options.grid, "--grid")
        sizes = parse_node_sizes(shape, o.nodes, o.ppn, o.node_sizes)
        # Refuse what is wrong.
        map_grid(shape, sizes, o.stencil, [False] * len(shape), _mappings(o), how=How(keep_maps=False, effort_s=0.0))
        found = instantiate(shape, sizes, o.stencil, _mappings(o))
        return Aside(
            {"instantiation": [one.to_dict() for one in found]},
            ("algorithm", "slowest rank", "median rank", "ranks timed"),
            [(one.algorithm, format_time(one.slowest_s), format_time(one.median_s), str(one.ranks)) for one in found],
        )

    def finish(self, rows: Sequence[Row]) -> list[Row]:
        """Add the speed-up over blocked, and for real runs what the paper reports."""
        base = {(key, row.case.block_bytes): row for row in rows if row.case.way == BASELINE for key in [_instance(row)]}
        return [self._finished(row, base.get((_instance(row), row.case.block_bytes))) for row in rows]

    def _finished(self, row: Row, base: Row | None) -> Row:
        speedup = base.time_s / row.time_s if base is not None and row.time_s > 0 else None  # 0: nothing is sent
        figures: dict[str, Any] = {**row.figures, "speedup_over_blocked": speedup}
        if row.samples_s is None:
            return replace(row, figures=figures)
        from rankwise.statistics import Summary, is_outlier, ratio_interval

        every, kept = Summary.of(row.samples_s), Summary.of(row.samples_s[~is_outlier(row.samples_s)])
        ratio = None if base is None else ratio_interval(base.samples_s, row.samples_s)
        figures |= {
            "all": every.to_dict(),
            "without_outliers": kept.to_dict(),
            "outliers": every.repetitions - kept.repetitions,
            "speedup_over_blocked": None if ratio is None else ratio[0],
            "speedup_ci": None if ratio is None else list(ratio[1:]),
        }
        notes = (*row.notes, _ONE_NODE) if max(row.case.nodes or [0]) == 0 else row.notes
        return replace(row, figures=figures, notes=notes)

    def columns(self, row: Row) -> dict[str, str]:
        speedup = row.figures.get("speedup_over_blocked")
        shown = {"speed-up": "–" if speedup is None else f"{speedup:.2f}"}
        if "without_outliers" not in row.figures:
            return shown
        kept = row.figures["without_outliers"]
        low, high = kept["mean_ci_s"]
        if speedup is not None:
            shown["speed-up"] += " ({:.2f} to {:.2f})".format(*row.figures["speedup_ci"])
        mean = f"{format_time(kept['mean_s'])} ({format_time(low)} to {format_time(high)})"
        return {"mean without outliers": mean, "outliers": str(row.figures["outliers"]), **shown}


def _instance(row: Row) -> tuple[object, ...]:
    case = row.case
    assert isinstance(case, StencilCase)
    return case.grid, case.periodic, case.stencil


def _mappings(options: StencilOptions) -> list[str]:
    return [name.strip() for name in options.algorithm.split(",")]


WORKLOAD = StencilWorkload()
