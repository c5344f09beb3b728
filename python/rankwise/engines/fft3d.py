"""The workload "fft3d" and its rows: what is asked, and what every engine answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwise.errors import InputError

PHASES = ("compute", "shuffle", "exchange")
PRECISIONS = ("double", "single")
ORDERS = ("transposed", "natural")
METHODS = ("alltoall", "pairwise")
DIRECTIONS = ("forward", "backward")
LIBRARIES = ("auto", "fftw", "mkl")
PLANNINGS = ("measure", "estimate", "patient")
_MOST_POINTS = 2**20


@dataclass(frozen=True)
class FftCase:
    """One 3-D FFT of n[0] x n[1] x n[2] points on a process grid p1 x p2 (src/fft/decomposition.hpp says how)."""

    n: tuple[int, int, int]
    grid: tuple[int, int]
    real: bool = False
    precision: str = "double"
    order: str = "transposed"
    method: str = "alltoall"
    direction: str = "forward"

    @property
    def ranks(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def points(self) -> int:
        return math.prod(self.n)

    @property
    def exchanges(self) -> tuple[int, ...]:
        """The ranks of each exchange of a transform, in order."""
        once = tuple(ranks for ranks in (self.grid[1], self.grid[0]) if ranks > 1)
        return once + once[::-1] if self.order == "natural" else once

    @property
    def bytes_per_rank(self) -> float:
        """A rank's array, on the average."""
        word_bytes = 16.0 if self.precision == "double" else 8.0
        last = self.n[2] // 2 + 1 if self.real else self.n[2]
        return self.n[0] * self.n[1] * last * word_bytes / self.ranks

    @property
    def flops_per_rank(self) -> float:
        """5 N log2 N over the ranks, half of it for real data (Eq. 1 of czechowski2012 for any axes)."""
        return 5.0 * self.points * math.log2(self.points) * (0.5 if self.real else 1.0) / self.ranks


@dataclass(frozen=True)
class Span:
    """A time with its 95 % interval, in seconds."""

    time_s: float
    lo_s: float
    hi_s: float

    def to_dict(self) -> dict[str, float]:
        return {"time_s": self.time_s, "time_lo_s": self.lo_s, "time_hi_s": self.hi_s}


@dataclass(frozen=True)
class FftRow:
    """An engine's answer: the time of a transform (the last rank's), and of each phase (the mean of the ranks).

    ``per_rank`` and ``isolated`` are of real runs only: the phases of each rank; the exchanges alone and the local FFTs
    alone. ``terms`` are the model's, by name. ``checks`` are relative errors and the bound that they must keep.
    """

    engine: str
    case: FftCase
    total: Span
    phases: dict[str, Span]
    verified: bool | None
    notes: tuple[str, ...] = ()
    repetitions: int | None = None
    oversubscribed: bool = False
    library: str | None = None
    array_bytes: int | None = None
    memory_bytes: int | None = None
    per_rank: tuple[dict[str, Span], ...] = ()
    isolated: dict[str, Span] = field(default_factory=dict)
    checks: dict[str, float] = field(default_factory=dict)
    terms: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it (see docs/json.md)."""
        return {
            "engine": self.engine,
            **fft_case_keys(self.case),
            **self.total.to_dict(),
            "phases": {name: span.to_dict() for name, span in self.phases.items()},
            "per_rank": [{name: span.to_dict() for name, span in rank.items()} for rank in self.per_rank],
            "isolated": {name: span.to_dict() for name, span in self.isolated.items()},
            "terms": self.terms,
            "verified": self.verified,
            "checks": self.checks,
            "repetitions": self.repetitions,
            "oversubscribed": self.oversubscribed,
            "library": self.library,
            "array_bytes": self.array_bytes,
            "memory_bytes": self.memory_bytes,
            "notes": list(self.notes),
        }


def fft_case_keys(case: FftCase) -> dict[str, Any]:
    """Return what names a case in JSON."""
    return {
        "n": list(case.n),
        "grid": list(case.grid),
        "ranks": case.ranks,
        "real": case.real,
        "precision": case.precision,
        "order": case.order,
        "method": case.method,
        "direction": case.direction,
    }


@dataclass(frozen=True)
class FftAsked:
    """What a person asks for: sizes and rank counts each with each, the rest for all. ``grid``: None lets us choose."""

    sizes: Sequence[tuple[int, int, int]]
    ranks: Sequence[int]
    grid: tuple[int, int] | None = None
    real: bool = False
    precision: str = "double"
    order: str = "transposed"
    method: str = "alltoall"
    direction: str = "forward"


def make_fft_cases(asked: FftAsked) -> list[FftCase]:
    """Return all combinations. Raises InputError for unknown names and for ranks that no grid fits."""
    for name, known, what in (
        (asked.precision, PRECISIONS, "--precision"), (asked.order, ORDERS, "--order"),
        (asked.method, METHODS, "--method"), (asked.direction, DIRECTIONS, "--direction"),
    ):  # fmt: skip
        require_known(name, known, what)
    for n in asked.sizes:
        if not 1 <= min(n) or max(n) > _MOST_POINTS:
            raise InputError(f"--n {'x'.join(map(str, n))} has an axis that cannot be transformed: take 1 to {_MOST_POINTS} points")
    cases = []
    for n in asked.sizes:
        for ranks in asked.ranks:
            if asked.grid is not None and math.prod(asked.grid) != ranks:
                raise InputError(
                    f"--grid {asked.grid[0]}x{asked.grid[1]} has {math.prod(asked.grid)} ranks but --ranks is {ranks}: "
                    "make them equal or leave one out"
                )
            fitting = fitting_grids(n, asked.real, ranks)
            grid = asked.grid or (fewest_bytes(fitting) if fitting else None)
            if grid is None or grid not in fitting:
                raise InputError(
                    f"{ranks} ranks{'' if asked.grid is None else ' as ' + 'x'.join(map(str, asked.grid))} are more than "
                    f"the pencils of {'x'.join(map(str, n))} points give work to: take fewer ranks, another grid or larger axes"
                )
            cases.append(
                FftCase(n, grid, asked.real, asked.precision, asked.order, asked.method, asked.direction)
            )
    return cases


def require_known(name: str, known: Sequence[str], what: str) -> None:
    """Raise InputError when a name is none of those known."""
    if name not in known:
        raise InputError(f"{what} '{name}' is unknown: choose {', '.join(known[:-1])} or {known[-1]}")


def fitting_grids(n: tuple[int, int, int], real: bool, ranks: int) -> list[tuple[int, int]]:
    """Return the process grids p1 x p2 of so many ranks in which every rank has a pencil in every stage."""
    last = n[2] // 2 + 1 if real else n[2]
    return [
        (p1, ranks // p1)
        for p1 in range(1, ranks + 1)
        if ranks % p1 == 0 and p1 <= min(n[0], n[1]) and ranks // p1 <= min(n[1], last)
    ]


def fewest_bytes(grids: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the grid whose exchanges move the fewest bytes; of equals the one with the most slabs.

    Each exchange among p ranks sends the share 1 - 1/p of every rank's points (Eq. 3 of czechowski2012 without the own
    share): a slab exchanges once, pencils twice.
    """
    return min(grids, key=lambda grid: (sum(1 - 1 / p for p in grid), -grid[0]))
