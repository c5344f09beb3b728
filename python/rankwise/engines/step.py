"""The time of one step of a mapping's messages on a machine: what ``map`` asks the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from rankwise import _core
from rankwise.engines.judge import judge, price_of
from rankwise.errors import InputError
from rankwise.mapping.floor import least_crossing
from rankwise.mapping.mapper import StepTime
from rankwise.mapping.problem import Problem
from rankwise.observe.phases import PhasedStep
from rankwise.workloads.base import Halo, Price, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankwise.mapping.mapper import StepPricer
    from rankwise.mapping.traffic import Traffic
    from rankwise.observe.pattern import Pattern

    Nodes: TypeAlias = NDArray[np.int32]

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


def step_pricer(on: Priced, message_bytes: int, seats: Sequence[int] = ()) -> StepPricer:
    """Return what prices mappings: all messages of a step are sent at once, from where the map puts the cells.

    ``seats``: the number of each node on the machine, where they do not follow each other.
    """

    def price(problem: Problem, node_of_cell: Nodes, parts: Mapping[str, Nodes]) -> StepTime:
        offsets = tuple(map(tuple, problem.offsets))
        halo = Halo(tuple(problem.dims), tuple(problem.periodic), offsets, tuple(problem.weights))
        placement = _placed(on, _seated(node_of_cell, seats), parts)
        return _priced(on, Program(halo), max(problem.weights, default=1), message_bytes, placement)

    return price


def traffic_pricer(on: Priced, seats: Sequence[int] = ()) -> Callable[[Traffic, Nodes, Mapping[str, Nodes]], StepTime]:
    """Return what prices placements of a program: of each pair one message is sent, all at once, of its bytes a round.

    ``seats``: as for :func:`step_pricer`.
    """

    def price(traffic: Traffic, node_of_rank: Nodes, parts: Mapping[str, Nodes]) -> StepTime:
        sent = traffic.step_bytes
        program = Program(PhasedStep.at_once(traffic.source, traffic.peer, sent, traffic.ranks))
        return _priced(on, program, int(sent.max(initial=1)), 1, _placed(on, _seated(node_of_rank, seats), parts))

    return price


def program_pricer(
    on: Priced, program: Program, seats: Sequence[int] = ()
) -> Callable[[Traffic, Nodes, Mapping[str, Nodes]], StepTime]:
    """Return what prices placements of a program whose step is known: its own schedule, whatever the traffic adds up to.

    ``seats``: as for :func:`step_pricer`.
    """

    def price(_: Traffic, node_of_rank: Nodes, parts: Mapping[str, Nodes]) -> StepTime:
        return _priced(on, program, 1, 1, _placed(on, _seated(node_of_rank, seats), parts))

    return price


def least_time_s(
    on: Priced, step: PhasedStep, sizes: Sequence[int], grid: Pattern | None = None, node_of_rank: Nodes | None = None
) -> tuple[float, str]:
    """Return what the judge's time of a step cannot fall below, wherever its ranks are, and what holds it up there.

    No time is below that for which a resource is held: of all that must cross between nodes (or between units of switches) the
    busiest card or link has at least the mean. Nor is it below the step's on the machine of the quickest links.
    """
    volume = np.ascontiguousarray(step.bytes, np.int64)
    program = Program(step.without_computing())
    quickest = on.machine.quickest(np.unique(volume).tolist())
    alone = judge(program, 1, _core.Placement.blocked(step.ranks, step.ranks), quickest).time_s if len(volume) else 0.0
    best = (alone, "the quickest links")
    shared = [("card-out", 1, list(sizes)), ("card", 2, list(sizes))]
    for level, (nodes, _) in enumerate(on.machine.levels):
        shared.append((f"uplink-{level}", 1, [sum(sizes[i : i + nodes]) for i in range(0, len(sizes), nodes)]))
    keys, inverse = np.unique(np.asarray(step.source, np.int64) * step.ranks + step.dest, return_inverse=True)
    for name, ends, units in shared:
        held_s = np.bincount(inverse.reshape(-1), on.machine.held_s(name, volume), minlength=len(keys))
        if len(units) < 2 or not held_s.any():
            continue
        own = None if node_of_rank is None or len(units) < len(sizes) else node_of_rank
        floor = least_crossing((keys // step.ranks, keys % step.ranks, held_s), units, grid, own)
        best = max(best, (ends * floor.least / len(units), name))
    return best


def _seated(node_of_rank: Nodes, seats: Sequence[int]) -> Nodes:
    return np.asarray(seats, dtype=np.int32)[node_of_rank] if seats else node_of_rank


def _placed(on: Priced, node_of_rank: Nodes, parts: Mapping[str, Nodes]) -> _core.Placement:
    placement = _core.Placement.on_nodes(node_of_rank, parts.get("socket"))
    levels = [nodes for nodes, _ in on.machine.levels]
    return placement.with_levels(levels) if levels else placement


def _priced(on: Priced, program: Program, most_blocks: int, block_bytes: int, placement: _core.Placement) -> StepTime:
    if most_blocks * block_bytes > _MOST_BYTES:
        raise InputError(f"messages of more than {_MOST_BYTES} B cannot be predicted: make --bytes or the weights smaller")
    found = on.price(program, block_bytes, placement)
    span, busiest = found.span, found.busiest
    return StepTime(span.time_s, *span.ends_s, busiest.resource, busiest.held_s, busiest.size_bytes, found.judge_s, found.notes)
