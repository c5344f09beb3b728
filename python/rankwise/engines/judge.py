"""The one call from Python into the judge: what a program costs on ranks that sit somewhere, on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rankwise import _core
from rankwise.errors import InputError
from rankwise.workloads.base import Halo, Program, Transpose


def judge(program: Program, block_bytes: int, placement: _core.Placement, machine: _core.Machine) -> _core.Cost:
    """Price a program. Raises InputError where the machine lacks a link class, or the placement does not fit."""
    try:
        return judged(program, placement).cost(block_bytes, machine)
    except ValueError as error:
        raise InputError(str(error)) from None


def message_sizes(program: Program, placement: _core.Placement, block_bytes: int) -> list[int]:
    """Return the sizes of a program's messages, later ones forwarding what earlier ones gathered; never empty."""
    return sizes_of(judged(program, placement).message_blocks, block_bytes)


def sizes_of(message_blocks: Sequence[int], block_bytes: int) -> list[int]:
    """Return the sizes of messages that have some numbers of blocks; never empty."""
    return [block_bytes * count for count in message_blocks if count > 0] or [block_bytes]


def judged(program: Program, placement: _core.Placement) -> _core.Judged:
    """Return a program on a placement; the same one when asked again. Raises InputError."""
    try:
        return _judged(program.schedules, program.mode, placement)
    except ValueError as error:
        raise InputError(str(error)) from None


@lru_cache(maxsize=512)
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
