"""The workload "exchange" and its rows: what is asked, and what every engine answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rankwise.errors import InputError

ALGORITHMS = ("shift",)
MODES = ("ssend", "send", "isend")


@dataclass(frozen=True)
class ExchangeCase:
    """One neighbour exchange: an algorithm and a way of sending on a grid of ranks, a cutoff, a block size."""

    algorithm: str
    mode: str
    grid: tuple[int, ...]
    periodic: tuple[bool, ...]
    cutoff: int
    message_bytes: int

    @property
    def ranks(self) -> int:
        return math.prod(self.grid)


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
        "replication": 1,
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


def make_cases(
    algorithms: Sequence[str],
    modes: Sequence[str],
    grid: Sequence[int],
    periodic: Sequence[bool],
    cutoffs: Sequence[int],
    sizes_bytes: Sequence[int],
) -> list[ExchangeCase]:
    """Return all combinations, in the order of a table. Raises InputError for unknown names."""
    for name, known, what in (
        *((name, ALGORITHMS, "exchange algorithm") for name in algorithms),
        *((name, MODES, "send mode") for name in modes),
    ):
        if name not in known:
            raise InputError(f"{what} '{name}' is unknown: choose {' or '.join(known)}")
    return [
        ExchangeCase(algorithm, mode, tuple(grid), tuple(periodic), cutoff, size_bytes)
        for algorithm in algorithms
        for mode in modes
        for size_bytes in sizes_bytes
        for cutoff in cutoffs
    ]
