"""Other numbers of ranks: grids that programs choose, laws of computing that were planted, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from grid_programs import Offset, around, faces, halo
from rankwise.factors import balanced_grid
from rankwise.observe.operations import NoTemplateError
from rankwise.observe.phases import observed_step
from rankwise.observe.record import Record
from rankwise.observe.scaling import MOST_TIMES, Scaling, agreement, carriers
from synthetic_events import Op, recorded

CELLS = 5760


def on_nodes(programs: list[list[Op]], **header: object) -> Record:
    return recorded(programs, **{"mpi": "MPICH Version: 5.0.1", "cores_of_host": [1] * len(programs), **header})


def stencil(
    dims: Sequence[int],
    mesh: Sequence[int] = (CELLS, CELLS),
    compute_ns: Callable[[int], float] = lambda ranks: 4e7 / ranks,
    offsets: Sequence[Offset] | None = None,
) -> Record:
    """Return a record of a halo, its mesh divided among a grid."""
    axes, ranks = len(dims), math.prod(dims)

    def size(offset: Offset) -> int:
        return round(8 * math.prod(cells / parts for cells, parts, step in zip(mesh, dims, offset, strict=True) if not step))

    programs = halo(dims, [False] * axes, offsets or faces(axes), size)
    for ops in programs:
        ops[:] = [("compute", compute_ns(ranks)) if op[0] == "compute" else op for op in ops]
    return on_nodes(programs)


def grids_of(scaling: Scaling, ranks: int) -> list[tuple[int, ...] | None]:
    found = scaling.answers(ranks, carriers(scaling.base.record, list(range(ranks))))
    return [one.grid for one in found]


@pytest.mark.parametrize(
    ("dims", "mesh", "there"),
    [
        ((4, 3), (CELLS, CELLS), {24: [(6, 4)], 36: [(6, 6)]}),
        ((3, 4), (CELLS, CELLS), {24: [(4, 6)]}),
        ((12,), (CELLS,), {7: [(7,)]}),
        ((3, 2, 2), (64, 64, 64), {64: [(4, 4, 4)]}),
        ((6, 2), (CELLS, CELLS // 3), {24: [(8, 3)], 48: [(12, 4)]}),
        ((4, 2), (CELLS, CELLS // 2), {32: [(8, 4)]}),
    ],
)
def test_grids_are_those_of_the_rules_that_gave_the_recorded_one(
    dims: tuple[int, ...], mesh: tuple[int, ...], there: dict[int, list[tuple[int, ...]]]
) -> None:
    scaling = Scaling.of([stencil(dims, mesh)], False)
    assert {ranks: grids_of(scaling, ranks) for ranks in there} == there


def test_several_grids_are_several_answers_until_one_is_given_or_recorded() -> None:
    cube = stencil((2, 2, 2), (256, 256, 256))
    assert set(grids_of(Scaling.of([cube], False), 16)) == {(4, 2, 2), (2, 2, 4)}
    assert grids_of(Scaling.of([cube], False, (2, 4, 2)), 16) == [(2, 4, 2)]
    assert grids_of(Scaling.of([cube, stencil((3, 2, 2), (256, 256, 256))], False), 16) == [(4, 2, 2)]
    with pytest.raises(NoTemplateError, match="has 3 axes .2x2x2., not 2"):
        grids_of(Scaling.of([cube], False, (4, 4)), 16)
    odd = Scaling.of([stencil((2, 8))], False)
    with pytest.raises(NoTemplateError, match="no usual rule gives the recorded grid 2x8: say the one of 32 ranks, --grid"):
        grids_of(odd, 32)


def test_dims_create_is_what_mpi_has() -> None:
    for ranks in range(2, 65):
        for axes in (1, 2, 3):
            found = balanced_grid(ranks, axes)
            shapes = [(a, b, ranks // a // b) for a in range(1, ranks + 1) for b in range(1, ranks + 1) if ranks % (a * b) == 0]
            own = [one[:axes] for one in shapes if all(rest == 1 for rest in one[axes:])]
            assert math.prod(found) == ranks and list(found) == sorted(found, reverse=True)
            assert found[0] - found[-1] == min(max(one) - min(one) for one in own)


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (lambda ranks: 4e7 / ranks, True),
        (lambda ranks: 4e7 / ranks + 1e5, False),
        (lambda ranks: 4e7 / ranks + 1e6 / math.sqrt(ranks), False),
        (lambda ranks: 4e7 / ranks**0.9, False),
    ],
    ids=["volume", "constant", "surface", "power"],
)
def test_computing_lies_between_the_laws_that_two_recordings_leave(law: Callable[[int], float], exact: bool) -> None:
    scaling = Scaling.of([stencil((4, 2), compute_ns=law), stencil((4, 4), compute_ns=law)], False)
    for ranks in (32, 64):
        point, low, high = (factor * scaling.base.compute_s for factor in scaling.computing(ranks))
        wanted = law(ranks) * 1e-9
        assert low <= wanted <= high
        assert point == pytest.approx(wanted, rel=0.005 if exact else 0.2)
        caches = 0.75 if ranks >= 4 * 16 else 1.0  # so much may blocks gain that are a quarter of those recorded
        assert high / low < (1.1 if exact else 1.6) / caches


def test_what_falls_faster_than_the_volume_has_come_to_caches_and_goes_on_with_the_volume() -> None:
    def law(ranks: int) -> float:
        return 4e7 / ranks * (1.0 if ranks < 16 else 0.7)

    scaling = Scaling.of([stencil((4, 2), compute_ns=law), stencil((4, 4), compute_ns=law)], False)
    point, low, high = (factor * scaling.base.compute_s for factor in scaling.computing(32))
    assert point == pytest.approx(law(32) * 1e-9, rel=0.005)
    assert low < 0.75 * point and high < 1.05 * point


def test_one_recording_leaves_more_and_says_so() -> None:
    scaling = Scaling.of([stencil((4, 2))], False)
    point, low, high = scaling.computing(64)
    assert point == pytest.approx(1 / 8) and low < 0.8 * point and high > point
    assert any("one recording: record 16 ranks" in note for note in scaling.notes(64))
    assert Scaling.of([stencil((4, 2))], True).computing(64)[0] == 1.0
    assert any("no interval" in note for note in scaling.notes(8 * MOST_TIMES + 1))


def test_a_recording_is_predicted_from_another_pair_by_pair() -> None:
    small, large = stencil((4, 3)), stencil((6, 4))
    scaling = Scaling.of([small, large], False)
    step = observed_step(large)
    (answer,) = scaling.answers(24, carriers(large, list(range(24))), scaling.recordings[0])
    assert agreement(answer.step, step) == (1.0, 1.0)
    thick = observed_step(stencil((6, 4), (CELLS, 2 * CELLS)))
    pairs, sizes = agreement(answer.step, thick)
    assert pairs == 1.0 and sizes < 0.7


def test_faces_that_carry_ghosts_are_recognised_and_grow_less_slowly() -> None:
    mesh, width = 120, 6

    def thick(dims: tuple[int, ...], ghosts: int) -> Record:
        def size(offset: Offset) -> int:
            own, seen = [], False
            for parts, step in zip(dims, offset, strict=True):
                own += [] if step else [mesh / parts + (0 if seen else 2 * ghosts)]
                seen |= bool(step)
            return round(8 * math.prod(own))

        return on_nodes(halo(dims, [True] * 3, faces(3), size, "by axis"))

    scaling = Scaling.of([thick((3, 2, 2), width)], False)
    assert scaling.is_thick and any("bytes about" in note for note in scaling.notes(64))
    there = thick((4, 4, 4), width)
    (answer,) = scaling.answers(64, carriers(there, list(range(64))))
    assert agreement(answer.step, observed_step(there)) == (1.0, 1.0)
    assert not Scaling.of([thick((3, 2, 2), 0)], False).is_thick


def test_blocks_smaller_than_the_halo_are_refused() -> None:
    scaling = Scaling.of([stencil((4, 3), (24, 24), offsets=around(2))], False)
    assert grids_of(scaling, 48) == [(8, 6)]
    with pytest.raises(NoTemplateError, match="blocks would be smaller than the halo"):
        grids_of(scaling, 1024)


def test_an_awkward_number_of_ranks_names_better_ones() -> None:
    notes = Scaling.of([stencil((4, 3))], False).notes(31)
    assert any("31 ranks make 31x1: 30 or 32 suit better" in note for note in notes)


def test_what_is_no_recording_of_steps_is_refused() -> None:
    start: list[list[Op]] = [[("compute", 1000), ("allreduce", 8)] for _ in range(8)]
    with pytest.raises(NoTemplateError, match="no step repeats on all of 8 ranks"):
        Scaling.of([on_nodes(start)], False)
    anew = on_nodes(start, communicators=[{"size": 8, "ranks": None}] * 40)
    with pytest.raises(NoTemplateError, match="make communicators once .40 were made., not in each step"):
        Scaling.of([anew], False)
    ended = stencil((4, 3))
    del ended.events[11]
    with pytest.raises(NoTemplateError, match="no step repeats on all of 12 ranks"):
        Scaling.of([ended], False)
    with pytest.raises(NoTemplateError, match="what ranks do in a step differs between 12 and 24 ranks"):
        Scaling.of([stencil((4, 3)), stencil((6, 4), offsets=around(2))], False)
    with pytest.raises(NoTemplateError, match="two recordings have the same number of ranks"):
        Scaling.of([stencil((4, 3)), stencil((4, 3))], False)
    between = on_nodes(
        halo((4, 3), [False] * 2, faces(2), lambda _: 64), communicators=[{"size": 12, "ranks": None, "inter": True}]
    )
    with pytest.raises(NoTemplateError, match="inter-communicators"):
        Scaling.of([between], False)


def test_many_ranks_are_drawn_from_fewer_that_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    scaling = Scaling.of([stencil((4, 3))], False)
    whole = scaling.answers(256, carriers(scaling.base.record, list(range(256))))[0]
    monkeypatch.setattr("rankwise.observe.scaling.MOST_FULL", 64)
    few = scaling.answers(256, carriers(scaling.base.record, list(range(256))))[0]
    assert few.few and not whole.few and few.grid == whole.grid and few.step.ranks <= 64
    assert set(few.step.bytes.tolist()) == set(whole.step.bytes.tolist())
    np.testing.assert_allclose(few.step.compute_s.sum(axis=0), whole.step.compute_s.sum(axis=0)[0], rtol=0.01)
