"""The one call from Python into the judge: what a program costs on ranks that sit somewhere, on a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rankwise import _core
from rankwise.engines.placement import MOST_KEPT
from rankwise.errors import InputError
from rankwise.workloads.base import Busiest, Halo, Price, Program, Span, Transpose


def judge(program: Program, block_bytes: int, placement: _core.Placement, machine: _core.Machine) -> _core.Cost:
    """Price a program. Raises InputError where the machine lacks a link class, or the placement does not fit."""
    return cost_of(judged(program, placement), block_bytes, machine)


def cost_of(program: _core.Judged, block_bytes: int, machine: _core.Machine) -> _core.Cost:
    """Price a program whose ranks are placed. Raises InputError where the machine lacks a link class."""
    try:
        return program.cost(block_bytes, machine)
    except ValueError as error:
        raise InputError(str(error)) from None


def price_of(cost: _core.Cost, block_bytes: int, interval_s: tuple[float, float], notes: Sequence[str]) -> Price:
    """Return what a program costs as a workload has it."""
    resource, _, held_s, size_bytes = cost.busiest
    return Price(
        Span(cost.time_s, *interval_s), cost.messages_per_rank, cost.blocks_per_rank * block_bytes, tuple(notes),
        Busiest(resource, held_s, int(size_bytes)), (cost.low_s, cost.high_s),
    )  # fmt: skip


def sizes_of(message_blocks: Sequence[int], block_bytes: int) -> list[int]:
    """Return the sizes of messages that have some numbers of blocks; never empty."""
    return [block_bytes * count for count in message_blocks if count > 0] or [block_bytes]


def judged(program: Program, placement: _core.Placement) -> _core.Judged:
    """Return a program on a placement; the same one when asked again, where that is no burden. Raises InputError."""
    if program.placed is not None:
        return program.placed
    try:
        lasting = placement.ranks <= MOST_KEPT and getattr(program.schedules, "kept", True)
        find: Callable[..., _core.Judged] = _kept if lasting else _judged
        return find(program.schedules, program.mode, placement)
    except ValueError as error:
        raise InputError(str(error)) from None


def _judged(schedules: Any, mode: str, placement: _core.Placement) -> _core.Judged:
    if isinstance(schedules, Transpose):
        return _core.judge_transpose(list(schedules.dims), list(schedules.axes), schedules.pairwise, placement)
    if isinstance(schedules, Halo):
        return _core.judge_stencil(
            list(schedules.grid), list(schedules.periodic), [list(offset) for offset in schedules.offsets],
            list(schedules.weights), placement, mode,
        )  # fmt: skip
    found: _core.Judged = schedules.judged(placement)
    return found


_kept = lru_cache(maxsize=512)(_judged)
