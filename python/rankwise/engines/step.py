"""The time of one step of a mapping's messages on a machine: what ``map`` asks the judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rankwise import _core
from rankwise.engines.judge import judge, price_of
from rankwise.errors import InputError
from rankwise.mapping.mapper import StepTime
from rankwise.mapping.problem import Problem
from rankwise.workloads.base import Halo, Price, Program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankwise.mapping.mapper import StepPricer

_MOST_BYTES = 2**40  # of a message


class Priced(Protocol):
    """What prices programs: the model of a profile, or a described machine."""

    machine: _core.Machine

    def price(self, program: Program, block_bytes: int, placement: _core.Placement) -> Price: ...


@dataclass
class Described:
    """A described machine, whose figures have no spread: its intervals are what the judge itself errs by."""

    machine: _core.Machine
    notes: tuple[str, ...]

    def price(self, program: Program, block_bytes: int, placement: _core.Placement) -> Price:
        cost = judge(program, block_bytes, placement, self.machine)
        return price_of(cost, block_bytes, (cost.low_s, cost.high_s), self.notes)


def step_pricer(on: Priced, message_bytes: int) -> StepPricer:
    """Return what prices mappings: all messages of a step are sent at once, from where the map puts the cells."""
    levels = [nodes for nodes, _ in on.machine.levels]

    def price(problem: Problem, node_of_cell: NDArray[np.int32], parts: Mapping[str, NDArray[np.int32]]) -> StepTime:
        if max(problem.weights, default=1) * message_bytes > _MOST_BYTES:
            raise InputError(f"messages of more than {_MOST_BYTES} B cannot be priced: make --bytes or the weights smaller")
        placement = _core.Placement.on_nodes(node_of_cell, parts.get("socket"))
        if levels:
            placement = placement.with_levels(levels)
        offsets = tuple(map(tuple, problem.offsets))
        halo = Halo(tuple(problem.dims), tuple(problem.periodic), offsets, tuple(problem.weights))
        found = on.price(Program(halo), message_bytes, placement)
        span, busiest = found.span, found.busiest
        return StepTime(
            span.time_s, *span.ends_s, busiest.resource, busiest.held_s, busiest.size_bytes, found.notes
        )

    return price
