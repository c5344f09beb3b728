"""Templates give back what all ranks do, on the recorded grid and, written down by hand, on others; impostors are refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from grid_programs import Offset, around, faces, halo
from rankwise.observe.collectives import Carrier
from rankwise.observe.operations import NoTemplateError, operations_of
from rankwise.observe.phases import PhasedStep, phased
from rankwise.observe.playing import Laws, laid, play
from rankwise.observe.steps import common_steps
from rankwise.observe.template import Template, Topology, grown, learn
from synthetic_events import CALLS, Op, simulate, wavefront

MESH = 24 * 12


def learned(programs: list[list[Op]], *carts: tuple[tuple[int, ...], tuple[bool, ...]]) -> list[Template]:
    """Learn from whichever cut of the step admits a template."""
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    refused = NoTemplateError("no cut")
    for found in operations_of(events, steps, CALLS, Carrier("")):
        try:
            return learn(found, carts)
        except NoTemplateError as error:
            refused = error
    raise refused


def observed(programs: list[list[Op]]) -> PhasedStep:
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    return phased(events, steps)


def on(template: Template, dims: Sequence[int]) -> PhasedStep:
    there = Topology(tuple(dims), template.topology.periodic)
    return laid(play(template, there, Laws.of(template.topology, there, False), tuple(CALLS)), Carrier(""))


def rows(step: PhasedStep) -> list[tuple[int, ...]]:
    return sorted(zip(*(array.tolist() for array in (step.phase, step.source, step.dest, step.bytes)), strict=True))


def surface(dims: Sequence[int], offset: Offset) -> int:
    return round(8 * math.prod(MESH / size for size, step in zip(dims, offset, strict=True) if not step))


def strong(dims: Sequence[int], periodic: bool, offsets: Sequence[Offset], style: str) -> list[list[Op]]:
    return halo(dims, [periodic] * len(dims), offsets, lambda offset: surface(dims, offset), style)


@pytest.mark.parametrize("style", ["at once", "by axis", "blocking"])
@pytest.mark.parametrize("periodic", [False, True], ids=["open", "periodic"])
@pytest.mark.parametrize(
    ("offsets", "recorded", "others"),
    [
        (faces(1), (12,), [(8,), (24,)]),
        (faces(2), (4, 3), [(4, 4), (3, 6)]),
        (around(2), (4, 3), [(4, 4)]),
        (faces(3), (3, 2, 2), [(4, 3, 2)]),
        (around(3), (3, 2, 2), [(3, 3, 2)]),
    ],
    ids=["1-D", "5 points", "9 points", "7 points", "27 points"],
)
def test_a_halo_is_carried_over_message_by_message(
    offsets: list[Offset], recorded: tuple[int, ...], others: list[tuple[int, ...]], periodic: bool, style: str
) -> None:
    programs = strong(recorded, periodic, offsets, style)
    first, *rest = learned(programs)
    assert (first.topology.dims, set(first.topology.periodic), rest) == (recorded, {periodic}, [])
    assert rows(on(first, recorded)) == rows(observed(programs))
    for dims in others:
        wanted, found = observed(strong(dims, periodic, offsets, style)), on(first, dims)
        assert Counter(row[1:] for row in rows(found)) == Counter(row[1:] for row in rows(wanted))
        if len(offsets) < 26 or style == "at once" or periodic:  # else corners follow each other in another order
            assert rows(found) == rows(wanted)


def test_computing_stays_where_it_was_and_is_divided() -> None:
    """Of 2x2x2 open ranks none is inside: what one computes there follows from all."""
    for style in ("at once", "by axis"):
        template = learned(strong((2, 2, 2), False, faces(3), style))[0]
        step = on(template, (4, 4, 4))
        np.testing.assert_allclose(step.compute_s.sum(axis=0), 50e-6 / 8, rtol=0.01)
        np.testing.assert_allclose(step.compute_s[0], 50e-6 / 8, rtol=0.01)


def test_axes_of_two_ranks_have_two_readings_where_nothing_tells_them_apart() -> None:
    both = learned(strong((2, 2, 2), True, faces(3), "at once"))
    assert [one.topology.periodic for one in both] == [(True,) * 3, (False,) * 3]
    wanted = Counter(row[1:] for row in rows(observed(strong((4, 2, 2), True, faces(3), "at once"))))
    assert [Counter(row[1:] for row in rows(on(one, (4, 2, 2)))) == wanted for one in both] == [True, False]
    told = learned(strong((2, 2, 2), True, faces(3), "at once"), ((2, 2, 2), (True, True, True)))
    assert [one.topology.periodic for one in told] == [(True,) * 3]


def doubling(ranks: int, size: Any) -> list[list[Op]]:
    """Return recursive doubling by hand; ``size``: a function of the bit."""
    bits = (ranks - 1).bit_length()
    programs: list[list[Op]] = []
    for rank in range(ranks):
        ops: list[Op] = [("compute", 9000)]
        for bit in range(bits):
            ops.append(("sendrecv", rank ^ 1 << bit, rank ^ 1 << bit, 1, size(bit)))
        programs.append([*ops, ("allreduce", 8)] * 12)
    return programs


@pytest.mark.parametrize("ratio", [1, 2])
def test_recursive_doubling_is_recognised_and_grows(ratio: int) -> None:
    (found,) = learned(doubling(16, lambda bit: 100 * ratio**bit))
    assert found.topology.bits
    for ranks in (8, 64):
        there = Topology((ranks,), (), bits=True)
        more = grown(found, ranks)
        step = laid(play(more, there, Laws(1.0, 1.0, ()), tuple(CALLS)), Carrier(""))
        assert rows(step) == rows(observed(doubling(ranks, lambda bit: 100 * ratio**bit)))
    with pytest.raises(NoTemplateError, match="powers of two, not 24"):
        grown(found, 24)


def test_recursive_doubling_on_eight_ranks_is_not_taken_for_a_halo() -> None:
    with pytest.raises(NoTemplateError, match="look alike: record 12 or 16 ranks"):
        learned(doubling(8, lambda bit: 100))


def test_a_pipeline_is_carried_over() -> None:
    (found,) = learned(_planes(12))
    wanted, carried = observed(_planes(20)), on(found, (20,))
    assert Counter(row[1:] for row in rows(carried)) == Counter(row[1:] for row in rows(wanted))
    assert carried.phases - on(found, (12,)).phases == 8 + 1  # 8 more ranks to pass, one more round of the sum


def _planes(ranks: int) -> list[list[Op]]:
    programs = []
    for rank in range(ranks):
        step: list[Op] = []
        for _ in range(5):
            step += [("recv", rank - 1, 1)] * (rank > 0) + [("compute", 900)] + [("send", rank + 1, 1, 8)] * (rank < ranks - 1)
        programs.append([*step, ("allreduce", 8)] * 12)
    return programs


def _master(ranks: int) -> list[list[Op]]:
    master: list[Op] = [op for other in range(1, ranks) for op in (("recv", other, 1), ("send", other, 2, 64))]
    return [[*master, ("allreduce", 8)] * 12] + [
        [("send", 0, 1, 64), ("recv", 0, 2), ("compute", 1000), ("allreduce", 8)] * 12 for _ in range(1, ranks)
    ]  # fmt: skip


def _each_to_each(ranks: int) -> list[list[Op]]:
    return [
        [*(("irecv", one, 1) for one in range(ranks) if one != rank),
         *(("isend", one, 1, 64) for one in range(ranks) if one != rank), ("waitall",), ("compute", 1000)] * 12
        for rank in range(ranks)
    ]  # fmt: skip


def _irregular(ranks: int) -> list[list[Op]]:
    pairs = {(int(a), int(b)) for a, b in np.random.default_rng(1).integers(0, ranks, (3 * ranks, 2)) if a != b}
    edges = sorted(pairs | {(b, a) for a, b in pairs})
    return [
        [*(("irecv", b, 1) for a, b in edges if a == rank), *(("isend", b, 1, 64) for a, b in edges if a == rank),
         ("waitall",), ("allreduce", 8), ("compute", 1000)] * 12
        for rank in range(ranks)
    ]  # fmt: skip


def _rounds(ranks: int) -> list[list[Op]]:
    """An allgather along a ring by hand, each round with a tag of its own."""
    return [
        [*(("sendrecv", (rank + 1) % ranks, (rank - 1) % ranks, tag, 64) for tag in range(1, ranks)), ("allreduce", 8)] * 12
        for rank in range(ranks)
    ]


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        (_master(8), "rank 0 exchanges with all others .a master and workers"),
        (_each_to_each(8), "an exchange of all with all look alike: record 18 or 27"),
        (_irregular(12), "no neighbours in a grid"),
        (_rounds(8), "whether their number grows with the ranks one recording cannot tell"),
        (strong((2, 2), False, faces(2), "at once"), "4 ranks may be 2x2x1, too"),
        (strong((5, 2), False, faces(2), "at once"), "10 ranks may be 5x2x1, too"),
    ],
    ids=["master", "each to each", "irregular", "rounds", "four ranks", "ten ranks"],
)
def test_what_cannot_be_carried_over_is_refused(programs: list[list[Op]], why: str) -> None:
    with pytest.raises(NoTemplateError, match=why):
        learned(programs)


def _mutants() -> list[tuple[str, list[list[Op]]]]:
    """A halo with one thing changed on one rank or in one class of ranks."""
    found = []
    for name in ("one rank sends once more", "two ranks change places", "one pair does not exchange"):
        halos, swapped = strong((4, 3), False, faces(2), "at once"), {1: 2, 2: 1}
        programs: list[list[Op]] = [[] for _ in halos]
        for rank, ops in enumerate(halos):
            step, place = ops[: len(ops) // 12], rank
            if name.startswith("one rank") and rank in (0, 7):
                step.insert(1, ("isend", 7, 9, 64) if rank == 0 else ("irecv", 0, 9))
            if name.startswith("two ranks"):
                step = [(op[0], swapped.get(op[1], op[1]), *op[2:]) if op[0] in ("isend", "irecv") else op for op in step]
                place = swapped.get(rank, rank)
            if name.startswith("one pair"):
                step = [op for op in step if not (op[0] in ("isend", "irecv") and {op[1], rank} == {4, 5})]
            programs[place] = step * 12
        found.append((name, programs))
    return found


@pytest.mark.parametrize(("programs"), [programs for _, programs in _mutants()], ids=[name for name, _ in _mutants()])
def test_a_program_with_one_change_is_no_halo(programs: list[list[Op]]) -> None:
    with pytest.raises(NoTemplateError):
        learned(programs)


def test_a_chain_with_a_message_back_is_no_grid_of_two_ranks_an_axis() -> None:
    """On 2x2x2 each of its messages is along some diagonal, without the faces that a stencil has."""
    with pytest.raises(NoTemplateError):
        learned(wavefront(8, 12, 4))
