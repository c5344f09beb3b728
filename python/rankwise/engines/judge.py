"""The one call from Python into the judge: what a program costs on ranks that sit somewhere, on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankwise import _core
from rankwise.engines.placement import Location
from rankwise.errors import InputError
from rankwise.workloads.base import Halo, Program, Transpose


@dataclass(frozen=True)
class Cost:
    """The time of the last rank, and the most that any rank sends."""

    time_s: float
    messages_per_rank: int
    bytes_per_rank: int


def judge(program: Program, block_bytes: int, placement: Sequence[Location], machine: _core.Machine) -> Cost:
    """Price a program. Raises InputError where the machine lacks a link class, or the judge does not know the program."""
    schedules = program.schedules
    try:
        if isinstance(schedules, Transpose):
            others = schedules.ranks - 1
            return Cost(_core.transpose_cost(block_bytes, list(placement), machine), others, others * block_bytes)
        if isinstance(schedules, Halo):
            schedules = _moore(schedules)
        return Cost(*schedules.cost(block_bytes, list(placement), machine))
    except ValueError as error:
        raise InputError(str(error)) from None


def _moore(halo: Halo) -> _core.Exchange:
    """Return a halo of whole layers as an exchange: the core prices no other stencil yet."""
    ndim = len(halo.grid)
    cutoff = max(abs(step) for offset in halo.offsets for step in offset)
    if len(set(halo.offsets)) != (2 * cutoff + 1) ** ndim - 1:
        raise InputError(f"the model prices whole layers of neighbours only: give --stencil moore:{cutoff}, or simulate this one")
    return _core.Exchange("direct", "isend", list(halo.grid), list(halo.periodic), [cutoff] * ndim, "full", 1, "pooled")
