"""The workload "exchange" and its rows: what is asked, and what every engine answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise import _core

ALGORITHMS = ("direct", "neighbor-alltoall", "shift", "comb", "team-shift", "striped", "leader", "two-step")
MODES = ("ssend", "send", "isend", "isend-self", "persistent")
SHELLS = ("full", "eighth", "all-pairs")
TEAM_BOXES = ("pooled", "replicated")

_MOST_LAYERS = 1_000_000
_MOST_BYTES = 2**50


@dataclass(frozen=True)
class ExchangeCase:
    """One neighbour exchange: an algorithm and a way of sending on a grid of boxes, a cutoff, a block size.

    A box is a rank's, except for teams that replicate boxes: then there are ``replication`` ranks a box. The shell
    "all-pairs" has no cutoff, which then is 0. ``node_of_rank`` is empty for algorithms that need not know nodes.
    """

    algorithm: str
    mode: str
    grid: tuple[int, ...]
    periodic: tuple[bool, ...]
    cutoff: int
    message_bytes: int
    shell: str = "full"
    replication: int = 1
    team_boxes: str = "pooled"
    node_of_rank: tuple[int, ...] = ()

    @property
    def ranks(self) -> int:
        return math.prod(self.grid) * (self.replication if self.team_boxes == "replicated" else 1)

    def schedules(self) -> _core.Exchange:
        """Return the schedules of all ranks, made when they are needed. Raises InputError when there are none."""
        from rankwise import _core

        try:
            return _core.Exchange(
                self.algorithm, self.mode, list(self.grid), list(self.periodic), [self.cutoff] * len(self.grid),
                self.shell, self.replication, self.team_boxes, list(self.node_of_rank),
            )  # fmt: skip
        except ValueError as error:
            raise InputError(str(error)) from None


@dataclass(frozen=True)
class Row:
    """An engine's answer for one case.

    ``verified`` is None where nothing was sent that could be checked. ``pingpong_time_s`` is the one-way time of a block
    between ranks 0 and 1, measured right before and after a real run: how fast the machine was just then.
    """

    engine: str
    case: ExchangeCase
    time_s: float
    time_lo_s: float
    time_hi_s: float
    messages_per_rank: int
    bytes_per_rank: int
    verified: bool | None
    notes: tuple[str, ...] = ()
    repetitions: int | None = None
    oversubscribed: bool = False
    pingpong_time_s: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it (see docs/json.md)."""
        return {
            "engine": self.engine,
            **case_keys(self.case),
            "time_s": self.time_s,
            "time_lo_s": self.time_lo_s,
            "time_hi_s": self.time_hi_s,
            "messages_per_rank": self.messages_per_rank,
            "bytes_per_rank": self.bytes_per_rank,
            "verified": self.verified,
            "repetitions": self.repetitions,
            "oversubscribed": self.oversubscribed,
            "pingpong_time_s": self.pingpong_time_s,
            "notes": list(self.notes),
        }


def case_keys(case: ExchangeCase) -> dict[str, Any]:
    """Return what names a case in JSON; ``replication`` is 1 for algorithms without teams."""
    return {
        "algorithm": case.algorithm,
        "mode": case.mode,
        "dims": len(case.grid),
        "grid": list(case.grid),
        "periodic": list(case.periodic),
        "cutoff": case.cutoff,
        "shell": case.shell,
        "replication": case.replication,
        "team_boxes": case.team_boxes,
        "ranks": case.ranks,
        "message_bytes": case.message_bytes,
    }


class Engine(Protocol):
    """Gives a time for each case; the model in microseconds of work, the others by running something."""

    name: str

    def rows(self, cases: Sequence[ExchangeCase]) -> Iterator[Row]:
        """Yield one row a case, in order."""


def balanced_grid(ranks: int, ndim: int) -> tuple[int, ...]:
    """Return axis sizes that multiply up to ``ranks``, as close to each other as possible, not increasing."""

    def split(rest: int, axes: int, most: int) -> tuple[int, ...] | None:
        if axes == 1:
            return (rest,) if rest <= most else None
        best: tuple[int, ...] | None = None
        for first in range(1, min(rest, most) + 1):
            if rest % first:
                continue
            tail = split(rest // first, axes - 1, first)
            if tail is not None and (best is None or first - tail[-1] < best[0] - best[-1]):
                best = (first, *tail)
        return best

    grid = split(ranks, ndim, ranks)
    assert grid is not None  # ranks x 1 x ... x 1 always fits
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
    ranks_per_node: int | None = None  # for algorithms that need to know nodes


def make_cases(asked: Asked, grid: Sequence[int], periodic: Sequence[bool]) -> list[ExchangeCase]:
    """Return all combinations on a grid of boxes, in the order of a table.

    Combinations that make no sense are left out where "all" was asked for. Raises InputError, with the reason, where
    they were named, and for unknown names or a replication that does not fit.
    """
    for names, known, what in (
        (asked.algorithms or (), ALGORITHMS, "exchange algorithm"),
        (asked.modes or (), MODES, "send mode"),
        (asked.shells, SHELLS, "shell"),
        ((asked.team_boxes,), TEAM_BOXES, "team boxes"),
    ):
        for name in names:
            if name not in known:
                raise InputError(f"{what} '{name}' is unknown: choose {', '.join(known[:-1])} or {known[-1]}")
    if max(asked.cutoffs) > _MOST_LAYERS:
        raise InputError(f"cutoff {max(asked.cutoffs)} is too large: stay below {_MOST_LAYERS}")
    if max(asked.sizes_bytes) > _MOST_BYTES:
        raise InputError(f"a block of {max(asked.sizes_bytes)} B is too large: stay below {_MOST_BYTES} B")
    if asked.ranks_per_node is not None and asked.ranks_per_node < 1:
        raise InputError(f"--ranks-per-node {asked.ranks_per_node} is too small: it must be at least 1")
    nodes = tuple(rank // asked.ranks_per_node for rank in range(math.prod(grid))) if asked.ranks_per_node else ()
    knowing = _knowing_nodes()
    cases = [
        ExchangeCase(
            algorithm, mode, tuple(grid), tuple(periodic), cutoff, size_bytes, shell, replication, boxes,
            nodes if algorithm in knowing else (),
        )  # fmt: skip
        for algorithm, mode, shell in _sensible(asked)
        for replication, boxes in _replications(asked, algorithm, grid, periodic, shell)
        for size_bytes in asked.sizes_bytes
        for cutoff in ((0,) if shell == "all-pairs" else asked.cutoffs)
    ]
    # What fits one cutoff and size fits all, but for windows that are too large.
    for case in {(c.algorithm, c.shell, c.replication, c.cutoff): c for c in cases}.values():
        case.schedules()
    return cases


def _knowing_nodes() -> set[str]:
    from rankwise import _core

    return {algorithm.id for algorithm in _core.exchange_algorithms() if algorithm.needs_nodes}


def _sensible(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Yield (algorithm, mode, shell), one after the other."""
    from rankwise import _core

    reason = ""
    found = False
    unknown = set() if asked.ranks_per_node else _knowing_nodes()
    for algorithm in asked.algorithms or [name for name in ALGORITHMS if name not in unknown]:
        for mode in asked.modes or MODES:
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
