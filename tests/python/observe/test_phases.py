"""An observed step becomes phases in which both ends of every message meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankwise import _core
from rankwise.observe.phases import PhasedStep, phased
from rankwise.observe.steps import common_steps
from synthetic_events import Op, ring, simulate


def step_of(programs: list[list[Op]]) -> PhasedStep:
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    return phased(events, steps)


def rows(step: PhasedStep) -> list[tuple[Any, ...]]:
    return sorted(zip(*(a.tolist() for a in (step.phase, step.source, step.dest, step.bytes)), strict=True))


def test_a_halo_is_one_phase_after_its_computing() -> None:
    step = step_of(ring(5, 30, 40_000, 700))
    messages = [(step.phase[0], r, (r + d) % 5, 700) for r in range(5) for d in (1, -1)]
    assert rows(step) == sorted(messages)
    np.testing.assert_allclose(step.compute_s.sum(axis=0), 40e-6, rtol=0.01)
    assert step.notes == ()


def test_exchanges_one_after_the_other_are_phases_and_an_unknown_collective_is_a_dissemination() -> None:
    programs: list[list[Op]] = []
    for rank in range(4):
        ops: list[Op] = []
        for _ in range(30):
            for distance in (1, 2):
                ops += [("irecv", (rank - distance) % 4, 7), ("send", (rank + distance) % 4, 7, 10 * distance), ("waitall",)]
            ops += [("allreduce", 8), ("compute", 9000)]
        programs.append(ops)
    step = step_of(programs)
    sizes = [set(step.bytes[step.phase == phase].tolist()) for phase in sorted(set(step.phase.tolist()))]
    assert sorted(map(min, sizes)) == [8, 8, 10, 20]
    assert all(len(size) == 1 for size in sizes)
    assert len(step.bytes) == 16
    assert step.notes == ("collectives: taken as a dissemination of the bytes: the library's rule is not known",)


def test_ranks_that_order_their_calls_differently_meet() -> None:
    programs: list[list[Op]] = [[], []]
    for _ in range(30):
        programs[0] += [("send", 1, 1, 100), ("recv", 1, 2), ("compute", 5000)]
        programs[1] += [("recv", 0, 1), ("send", 0, 2, 300), ("compute", 5000)]
    step = step_of(programs)
    assert sorted(row[1:] for row in rows(step)) == [(0, 1, 100), (1, 0, 300)]
    assert step.phase[0] != step.phase[1]
    assert step.notes == ()


def test_values_gathered_at_their_owners_and_scattered_again_are_four_phases() -> None:
    """As in PENNANT: each rank is owner for ranks above it and owned by those below, and some have nothing to wait for."""
    above = {0: (1, 2, 3), 1: (3,), 2: (3,), 3: ()}
    programs: list[list[Op]] = [[] for _ in above]
    for _ in range(30):
        for rank, others in above.items():
            owners = [owner for owner, owned in above.items() if rank in owned]
            for size in (100, 200):
                for tag, (sends_to, receives_from) in enumerate(((owners, others), (others, owners))):
                    programs[rank] += [("irecv", peer, tag) for peer in receives_from]
                    programs[rank] += [("send", peer, tag, size) for peer in sends_to]
                    programs[rank].append(("waitall",))
            programs[rank] += [("allreduce", 8), ("compute", 5000)]
    step = step_of(programs)
    assert not any("in flight at once" in note for note in step.notes)
    gathered = {(rank, owner) for owner, others in above.items() for rank in others}
    of_phase = [{(a, b, size) for at, a, b, size in rows(step) if at == phase} for phase in np.unique(step.phase)]
    exchanges = [{(a, b) for a, b, _ in phase} for phase in of_phase if {size for *_, size in phase} <= {100, 200}]
    assert exchanges == [gathered, {(b, a) for a, b in gathered}] * 2


def test_the_judge_adds_computing_to_messages() -> None:
    step = step_of(ring(4, 30, 40_000, 1000))
    lines = [(0, 1e-6, 1e-9)]
    machine = _core.Machine({"same-socket": {"send": lines}, "other-node": {"send": lines}})
    placement = _core.Placement.on_nodes(np.arange(4, dtype=np.int32))
    cost = step.judged(placement).cost(1, machine)
    still = PhasedStep(step.phase, step.source, step.dest, step.bytes, step.compute_s * 0)
    alone = still.judged(placement).cost(1, machine)
    assert cost.time_s == pytest.approx(alone.time_s + 40e-6, rel=0.01)
    assert alone.time_s >= 2e-6
    assert (cost.messages_per_rank, cost.blocks_per_rank) == (2, 2000)


def test_the_text_for_the_kernel_has_all_messages() -> None:
    step = step_of(ring(3, 30, 1000, 50))
    lines = step.text.splitlines()
    assert lines[0] == f"rankwise-step 1 3 {step.phases}"
    assert sum(len(line.split()) == 3 for line in lines[1:]) == len(step.bytes)
    with pytest.raises(ValueError, match="rank that does not exist"):
        bad = PhasedStep(step.phase, step.source + 9, step.dest, step.bytes, step.compute_s)
        bad.judged(_core.Placement.on_nodes(np.zeros(3, dtype=np.int32)))


def test_a_step_has_no_more_phases_than_the_program_whatever_the_cut() -> None:
    """Along the axes of an open grid, one way after the other: where a rank may
    be phases ahead of another, and so may the cut."""
    dims = (4, 2, 2)
    programs: list[list[Op]] = [[] for _ in range(16)]
    for rank, ops in enumerate(programs):
        for _ in range(30):
            for axis, way in ((axis, way) for axis in range(3) for way in (1, -1)):
                for turn, kind in ((-way, "irecv"), (way, "isend")):
                    place = list(np.unravel_index(rank, dims))
                    place[axis] += turn
                    if 0 <= place[axis] < dims[axis]:
                        peer = int(np.ravel_multi_index(place, dims))
                        ops.append((kind, peer, 2 * axis + (way < 0), *([10_000 * (axis + 1)] if kind == "isend" else [])))
                ops.append(("waitall",))
            ops.append(("compute", 1000 + 100 * rank))
    step = step_of(programs)
    assert len(step.bytes) == 2 * (12 + 8 + 8) and len(set(step.phase.tolist())) == 6
    assert all(len(set(step.bytes[step.phase == phase].tolist())) == 1 for phase in set(step.phase.tolist()))
