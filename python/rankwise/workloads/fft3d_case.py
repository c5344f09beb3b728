"""A 3-D FFT that is done in one way: what is asked, and what of it is sent and computed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankwise import _core
from rankwise.records import Record, key, record, told
from rankwise.workloads.base import (
    Case,
    Settings,
    Span,
)

PHASES = ("compute", "shuffle", "exchange")
METHODS = ("alltoall", "pairwise", "node-aware")
TIMED, CALIBRATED, LITERAL, SHORTENED = "timed", "calibrated", "literal", "shortened"
MEASURED, WALK = "measured", "walk"


@dataclass(frozen=True)
class Ingredients:
    """What a transform is made of, timed on this machine (engines/fft_lengths.py): the phases and the imbalance in seconds.

    ``span``: of a further launch. ``alone``: nothing was exchanged. ``on_node``: ranks a node. ``of_grid``: another grid than
    the case's stands for it.
    """

    times_s: Mapping[str, float]
    span: Span
    library: str
    launches: int
    disturbed: bool = False
    alone: bool = False
    of_grid: tuple[int, int] | None = None
    on_node: int = 1


@record
class FftSettings(Settings):
    """What was asked of a whole comparison of FFTs."""

    reading: str = key("how the model of the paper is read")


@record
class PhaseSpans(Record):
    """The phases of a transform."""

    compute: Span = key("local FFTs")
    shuffle: Span = key("moving data within a rank")
    exchange: Span = key("exchange between ranks")


@record
class ShortenedSpans(PhaseSpans):
    """The phases of transforms that were shortened to fit the time, and their sum."""

    imbalance: Span = key("waiting for slower ranks")
    total: Span = key("all phases together")


@record
class FftFigures(Record):
    """What only FFTs have of a row."""

    per_rank: list[PhaseSpans] = key("by rank")
    isolated: Mapping[str, Span] = key("phases timed alone")
    terms: Mapping[str, float | None] = key("time by term of the model")
    checks: Mapping[str, float] = key("errors of the transform, and error_bound")
    library: str | None = key("library of the local FFTs")
    array_bytes: int | None = key("the array of all ranks")
    memory_bytes: int | None = key("memory of a rank")
    shortened: ShortenedSpans = key("what was shortened to fit the time", optional=True)


def figures_of(library: str | None, terms: Mapping[str, float | None]) -> dict[str, Any]:
    """Return what FFTs have of a row that was not run by itself: the terms of the model."""
    return {
        "per_rank": [], "isolated": {}, "terms": terms, "checks": {}, "library": library, "array_bytes": None,
        "memory_bytes": None,
    }  # fmt: skip


@record
class FftTransform(Case):
    """One 3-D FFT of n[0] x n[1] x n[2] points on a process grid p1 x p2 (src/fft/decomposition.hpp says how).

    ``batch``: fields; ``packed``: of them, whose blocks travel as one message; ``in_flight``: 2: one group of these is
    exchanged while the next is transformed.

    How it is run (``library``, ``planning``) and modelled (``reading``; ``network``: None takes what fits the method) names
    no other case. ``open_grid``: the model may take another grid of as many ranks. ``ingredients``: of each grid that was
    timed.
    """

    workload = kernel = "fft3d"
    most_a_launch = 1

    n: tuple[int, int, int] = key("points along each axis")
    grid: tuple[int, int] = key("ranks along both axes of the process grid")
    real: bool = key("whether the data are real numbers", default=False)
    precision: str = key("single or double", default="double")
    order: str = key("order of the result", default="transposed")
    method: str = key("how blocks are exchanged", default="alltoall")
    direction: str = key("forward or backward", default="forward")
    chunks: int = key("parts whose exchanges and transforms overlap", default=1)
    batch: int = key("fields that one call transforms", default=1)
    packed: int = key("fields whose blocks travel as one message", default=1, name="together")
    in_flight: int = key("2: one group of fields is exchanged while the next one is transformed", default=1)
    library: str = field(default="auto", compare=False)
    planning: str = field(default="measure", compare=False)
    reading: str = field(default=CALIBRATED, compare=False)
    network: str | None = field(default=None, compare=False)
    open_grid: bool = field(default=False, compare=False)
    ingredients: Mapping[tuple[int, int], Ingredients] = field(default_factory=dict, compare=False, repr=False)

    @property
    def keys_of_local(self) -> Hashable:
        """What the local work depends on besides lengths and ranks."""
        return self.real, self.precision, self.order, self.direction

    @property
    @told("number of ranks", after="grid")
    def ranks(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def way(self) -> str:
        slices = f", {self.chunks} slices" if self.chunks > 1 else ""
        together = f", {self.packed} fields together" if self.packed > 1 else ""
        turns = ", by turns" if self.in_flight > 1 else ""
        return f"{self.grid[0]}x{self.grid[1]}, {self.method}{slices}{together}{turns}"

    @property
    def needs_nodes(self) -> bool:
        """Whether it is a way that pays between nodes only."""
        return self.chunks > 1 or self.in_flight > 1 or self.method == "node-aware"

    @property
    def question(self) -> Hashable:
        return self.ranks, self.n, self.batch

    @property
    def groups(self) -> list[tuple[int, int]]:
        """How many groups of fields travel together, and how many fields each: whole ones, and what is left over."""
        return _core.fft_groups(self.batch, self.packed)

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

    @property
    def messages_sent(self) -> int:
        """The blocks that a rank has for others, over all exchanges."""
        return sum(ranks - 1 for ranks in self.exchanges) * sum(groups for groups, _ in self.groups)

    @property
    def bytes_sent(self) -> int:
        return round(self.batch * sum(self.bytes_per_rank * (1 - 1 / ranks) for ranks in self.exchanges))

    def cells(self) -> dict[str, str]:
        return {"n": "x".join(map(str, self.n)), "grid": "x".join(map(str, self.grid))}

    def settings(self) -> FftSettings:
        return FftSettings(self.reading)
