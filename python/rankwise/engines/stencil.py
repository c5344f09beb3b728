"""The workload "stencil" and its rows: one MPI_Neighbor_alltoall over a mapped process grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class StencilCase:
    """A halo exchange: every cell sends ``message_bytes`` to each cell of its stencil; a rank a cell, row-major.

    ``node_of_cell`` is what the mapping gives; ``mapping`` names it, ``j_sum`` and ``j_max`` score it.
    """

    grid: tuple[int, ...]
    periodic: tuple[bool, ...]
    stencil: str
    mapping: str
    node_of_cell: tuple[int, ...]
    j_sum: int
    j_max: int
    message_bytes: int

    @property
    def ranks(self) -> int:
        return math.prod(self.grid)

    @cached_property
    def most_neighbors(self) -> int:
        """How many cells an inner cell sends to."""
        from rankwise import _core

        return len(_core.parse_stencil(self.stencil, len(self.grid))[0])

    def keys(self) -> dict[str, Any]:
        """Return what names the case in JSON."""
        return {
            "grid": list(self.grid),
            "periodic": list(self.periodic),
            "stencil": self.stencil,
            "mapping": self.mapping,
            "j_sum": self.j_sum,
            "j_max": self.j_max,
            "nodes": max(self.node_of_cell) + 1,
            "ranks": self.ranks,
            "message_bytes": self.message_bytes,
        }


@dataclass(frozen=True)
class StencilRow:
    """An engine's answer for one case; ``verified`` is None where the bytes could not be checked."""

    engine: str
    case: StencilCase
    time_s: float
    time_lo_s: float
    time_hi_s: float
    messages_per_rank: int
    messages: int
    verified: bool | None
    notes: tuple[str, ...] = ()
    repetitions: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it (see docs/json.md)."""
        return {
            "engine": self.engine,
            **self.case.keys(),
            "time_s": self.time_s,
            "time_lo_s": self.time_lo_s,
            "time_hi_s": self.time_hi_s,
            "messages_per_rank": self.messages_per_rank,
            "messages": self.messages,
            "verified": self.verified,
            "repetitions": self.repetitions,
            "notes": list(self.notes),
        }
