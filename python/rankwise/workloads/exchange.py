"""The workload "exchange": every rank's block goes to its neighbours of some layers, by an algorithm and a way of sending."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rankwise import _core
from rankwise.errors import InputError
from rankwise.factors import balanced_grid
from rankwise.records import computed, key, printable, record, told
from rankwise.units import format_size, parse_ints, parse_periodic, parse_shape, parse_sizes
from rankwise.workloads.base import Case, Options, Program, Site, Times, Workload, joined, option, require_known, require_ranks

DEFAULT_RANKS = 64  # as in the paper that the Shift model comes from
_MOST_LAYERS = 1_000_000
_MOST_BYTES = 2**50
FALLBACK = "SMPI has no neighbourhood collectives: the same messages went by MPI_Isend and MPI_Irecv"
# SMPI 3.32 does not keep the order of persistent messages of different sizes, as team-shift sends them with teams that differ.
_NOT_PERSISTENT = "SMPI mixes up persistent messages of different sizes: the same messages went by MPI_Isend and MPI_Irecv"


@dataclass(frozen=True)
class Names:
    """The ids that the core knows."""

    algorithms: tuple[str, ...]
    auto: tuple[str, ...]  # what `auto` of the C API chooses from: those that fill a window, by a program's own messages
    node_aware: tuple[str, ...]
    filling: tuple[str, ...]  # all that fill a window; the others have the blocks visit (teams)
    modes: tuple[str, ...]
    shells: tuple[str, ...]
    team_boxes: tuple[str, ...]


@lru_cache(maxsize=1)
def names() -> Names:
    """Read the names from the core: the one place that knows how it tells them."""
    table = _core.exchange_algorithms()
    return Names(
        tuple(a.id for a in table),
        tuple(a.id for a in table if a.fills_window),
        tuple(a.id for a in table if a.needs_nodes),
        tuple(a.id for a in table if not a.has_teams),
        tuple(_core.send_modes()),
        tuple(_core.shells()),
        tuple(_core.team_boxes()),
    )


@record
class ExchangeCase(Case):
    """One neighbour exchange: an algorithm and a way of sending on a grid of boxes, a cutoff, a block size.

    A box is a rank's, except for teams that replicate boxes: then there are ``replication`` ranks a box. The shell
    "all-pairs" has no cutoff, which then is 0.
    """

    workload = kernel = "exchange"

    algorithm: str = key("id of the algorithm", read=printable)
    mode: str = key("way of sending", read=printable)
    dims = computed("number of axes", int, lambda case: len(case.grid))
    grid: tuple[int, ...] = key("ranks along each axis", least=1, filled=True)
    periodic: tuple[bool, ...] = key("whether each axis wraps around")
    cutoff: int = key("layers of neighbours; 0 where the shell has none", least=0)
    message_bytes: int = key("size of a block", least=0, after="ranks")
    shell: str = key("full, eighth or all-pairs", default="full", read=printable)
    replication: int = key("copies c of each block; 1 for algorithms without teams", default=1, least=1)
    team_boxes: str = key(
        "boxes of a team: pooled (one a rank) or replicated (copies c ranks a box of the grid)", default="pooled",
        read=printable,
    )  # fmt: skip

    @property
    @told("number of ranks")
    def ranks(self) -> int:
        return math.prod(self.grid) * (self.replication if self.team_boxes == "replicated" else 1)

    @property
    def question(self) -> Hashable:
        return self.grid, self.periodic, self.cutoff, self.shell, self.message_bytes

    @property
    def way(self) -> str:
        teams = f" with teams of {self.replication}" if self.algorithm == "team-shift" else ""
        return f"{self.algorithm}{teams}, {self.mode}"

    def cells(self) -> dict[str, str]:
        return {
            "algorithm": self.algorithm,
            "mode": self.mode,
            "grid": "x".join(map(str, self.grid)),
            "k": str(self.cutoff or self.shell),
            "c": str(self.replication),
            "size": format_size(self.message_bytes),
        }

    def schedules(self) -> _core.Exchange:
        """Return the schedules of all ranks, made when they are needed. Raises InputError when there are none."""
        return _schedules(
            self.algorithm, self.mode, self.grid, self.periodic, self.cutoff, self.shell, self.replication, self.team_boxes
        )

    def program(self) -> Program:
        return Program(self.schedules(), self.mode)

    @property
    def together(self) -> Hashable:
        return self.ranks, self.grid, self.periodic

    @property
    def item(self) -> str:
        """The case as the kernels read it."""
        return (
            f"{self.algorithm}:{self.mode}:{self.cutoff}:{self.message_bytes}:{self.shell}:{self.replication}:{self.team_boxes}"
        )

    def arguments(self, items: Sequence[str], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        nodes = f":nodes={'/'.join(map(str, node_of_rank))}"
        cases = [item + nodes if item.split(":")[0] in names().node_aware else item for item in items]
        return ["--grid", joined(self.grid), "--periodic", joined(map(int, self.periodic)), "--cases", joined(cases)]

    def as_simulated(self) -> ExchangeCase:
        return replace(self, mode="isend") if (self.algorithm, self.mode) == ("team-shift", "persistent") else self

    def simulation_notes(self, start: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
        return [
            *([FALLBACK] if self.algorithm == "neighbor-alltoall" and not start["neighborhood_collectives"] else []),
            *([_NOT_PERSISTENT] if self.as_simulated() != self else []),
        ]

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        return {"bytes_per_rank": int(record["bytes_per_rank"])}


@lru_cache(maxsize=256)
def _schedules(
    algorithm: str, mode: str, grid: tuple[int, ...], periodic: tuple[bool, ...], cutoff: int, shell: str, replication: int,
    team_boxes: str,
) -> _core.Exchange:  # fmt: skip
    try:
        return _core.Exchange(algorithm, mode, list(grid), list(periodic), [cutoff] * len(grid), shell, replication, team_boxes)
    except ValueError as error:
        raise InputError(str(error)) from None


def make_grid(dims: str, boxes: int | None) -> tuple[int, ...]:
    """Return the grid that ``--dims`` asks for, as a shape or as a number of axes. Raises InputError."""
    if boxes is not None and boxes < 1:
        raise InputError(f"--ranks {boxes} is too small: it must be at least 1")
    shape = parse_shape(dims, "--dims")
    asked = math.prod(shape) if "x" in dims.lower() else boxes or 1
    require_ranks(asked, "an exchange")
    if "x" in dims.lower():
        grid = tuple(shape)
    elif shape[0] <= 3:
        grid = balanced_grid(boxes or 1, shape[0])
    else:
        raise InputError(f"--dims {dims} is not a number of axes: give 1, 2 or 3, or the grid's shape as in 8x1")
    total = math.prod(grid)
    if boxes is not None and total != boxes:
        raise InputError(f"--dims {dims} has {total} cells but --ranks is {boxes}: make them equal or leave one out")
    return grid


@dataclass(frozen=True)
class Asked:
    """What a person asks for, each a list. ``None`` for algorithms or modes means all that make sense together."""

    algorithms: Sequence[str] | None
    modes: Sequence[str] | None
    cutoffs: Sequence[int]
    sizes_bytes: Sequence[int]
    shells: Sequence[str] = ("full",)
    replications: Sequence[int] | None = None  # of team-shift; None: two where that fits
    team_boxes: str = "pooled"
    shares_nodes: bool = False  # whether "all" means those that know nodes, too


def require_names(algorithms: Iterable[str], modes: Iterable[str], shells: Iterable[str]) -> None:
    """Raise InputError for a name that no exchange has."""
    known = names()
    for asked, all_names, what in (
        (algorithms, known.algorithms, "exchange algorithm"),
        (modes, known.modes, "send mode"),
        (shells, known.shells, "shell"),
    ):
        for name in asked:
            require_known(name, all_names, what)


def make_cases(asked: Asked, grid: Sequence[int], periodic: Sequence[bool]) -> list[ExchangeCase]:
    """Return all combinations on a grid of boxes, in the order of a table.

    Combinations that make no sense are left out where "all" was asked for. Raises InputError, with the reason, where
    they were named, and for unknown names or a replication that does not fit.
    """
    require_names(asked.algorithms or (), asked.modes or (), asked.shells)
    require_known(asked.team_boxes, names().team_boxes, "team boxes")
    if max(asked.cutoffs) > _MOST_LAYERS:
        raise InputError(f"cutoff {max(asked.cutoffs)} is too large: give at most {_MOST_LAYERS}")
    if max(asked.sizes_bytes) > _MOST_BYTES:
        raise InputError(f"a block of {max(asked.sizes_bytes)} B is too large: give at most {_MOST_BYTES} B")
    cases = [
        ExchangeCase(algorithm, mode, tuple(grid), tuple(periodic), cutoff, size_bytes, shell, replication, boxes)
        for algorithm, mode, shell in _sensible(asked)
        for replication, boxes in _replications(asked, algorithm, grid, periodic, shell)
        for size_bytes in asked.sizes_bytes
        for cutoff in ((0,) if shell == "all-pairs" else asked.cutoffs)
    ]
    # What fits one cutoff and size fits all, but for windows that are too large.
    for case in {(c.algorithm, c.shell, c.replication, c.cutoff): c for c in cases}.values():
        case.schedules()
    return cases


def _sensible(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Yield (algorithm, mode, shell), one after the other."""
    reason = ""
    found = False
    every = [name for name in names().algorithms if asked.shares_nodes or name not in names().node_aware]
    for algorithm in asked.algorithms or every:
        for mode in asked.modes or names().modes:
            for shell in asked.shells:
                if why := _core.why_not(algorithm, mode, shell):
                    reason = reason or why
                    if asked.algorithms and asked.modes:
                        raise InputError(why)
                    continue
                found = True
                yield algorithm, mode, shell
    if not found:
        raise InputError(reason)


def _replications(
    asked: Asked, algorithm: str, grid: Sequence[int], periodic: Sequence[bool], shell: str
) -> list[tuple[int, str]]:
    """Return (replication, team boxes) to try with an algorithm."""
    if algorithm != "team-shift":
        return [(1, "pooled")]
    if asked.replications is not None:
        return [(c, asked.team_boxes) for c in asked.replications]
    pair = ExchangeCase(algorithm, "isend", tuple(grid), tuple(periodic), 1, 0, shell, 2, asked.team_boxes)
    try:
        pair.schedules()
    except InputError:
        return [(1, asked.team_boxes)]
    return [(2, asked.team_boxes)]


@dataclass(frozen=True)
class ExchangeOptions(Options):
    algorithm: str = option("shift", f"Which exchange: {', '.join(names().algorithms)}, several, or all.")
    mode: str = option("ssend,isend", f"How messages are sent: {', '.join(names().modes)}, several, or all.")
    dims: str = option("1", "Axes of the process grid (1, 2, 3), or its shape: 4x2.")
    cutoff: str = option("1:4", "Layers of neighbours k: 2, 1,2,4 or 1:10.")
    size: str = option("1000", "Size of one block: 1000, 1kB, 8,1000,100kB.", "--bytes")
    ranks: int | None = option(None, "Number of ranks.")
    shell: str = option(
        "full", "Which neighbours: full, eighth (with the return of forces), all-pairs (every rank), or several."
    )
    replication: str | None = option(None, "Ranks a team of team-shift: 2, 1,2,4 or 1:4. Default: 2.", "--replication", "-c")
    team_boxes: str = option("pooled", "Teams pool the boxes of their ranks (pooled), or all have the same box (replicated).")
    periodic: str = option("all", "Axes that wrap around: all, none, or a flag an axis: 1,0.")


class ExchangeWorkload(Workload):
    id = "exchange"
    title = "a neighbour exchange (all within a cutoff: particle codes)"
    options = ExchangeOptions
    chooses = False  # by a contest of its own: decide/choice.py
    examples = {
        "predict": "rankwise predict exchange --algorithm shift --mode ssend --dims 1 --cutoff 1:10 --bytes 1000 --profile "
        "machine.json",
        "simulate": """rankwise simulate exchange --profile machine.json --cutoff 1:4 --bytes 1000
        rankwise simulate exchange --machine hopper --topology torus:4x4x4 --ranks-per-node 1 --dims 3 --cutoff 1,2""",
        "run": "rankwise run exchange --algorithm shift --mode ssend --dims 1 --cutoff 1:4 --bytes 1000",
        "validate": "rankwise validate exchange --cutoff 1:4 --bytes 1000 --profile machine.json",
    }
    details = {
        "validate": "Each exchange is interleaved with its building blocks (steps, hops, copies of the same sizes), so that "
        "slow changes of the machine cancel; the split between odd and even repetitions gives the noise."
    }

    def cases(self, options: ExchangeOptions, site: Site) -> list[ExchangeCase]:
        """Turn options into cases. Raises InputError."""
        o = options
        ranks = o.ranks if o.ranks is not None or "x" in o.dims.lower() else site.ranks or DEFAULT_RANKS
        asked = Asked(
            algorithms=None if o.algorithm == "all" else o.algorithm.split(","),
            modes=None if o.mode == "all" else o.mode.split(","),
            cutoffs=parse_ints(o.cutoff, "--cutoff"),
            sizes_bytes=parse_sizes(o.size, "--bytes"),
            shells=o.shell.split(","),
            replications=None if o.replication is None else parse_ints(o.replication, "--replication"),
            team_boxes=o.team_boxes,
            shares_nodes=site.shares_nodes,
        )
        if o.team_boxes != "replicated":
            grid = make_grid(o.dims, ranks)
            return make_cases(asked, grid, parse_periodic(o.periodic, len(grid)))
        # Boxes that teams replicate: c times fewer of them than ranks.
        if asked.algorithms != ["team-shift"]:
            raise InputError("--team-boxes replicated is for team-shift: give --algorithm team-shift with it")
        cases = []
        for c in asked.replications or [2]:
            if ranks is not None and ranks % c:
                raise InputError(f"--ranks {ranks} is no multiple of --replication {c}, which replicated boxes need")
            grid = make_grid(o.dims, None if ranks is None else ranks // c)
            cases += make_cases(replace(asked, replications=[c]), grid, parse_periodic(o.periodic, len(grid)))
        return cases


WORKLOAD = ExchangeWorkload()
