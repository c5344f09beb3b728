import itertools
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankwise import _core
from rankwise.errors import InputError
from rankwise.factors import balanced_grid
from rankwise.workloads.exchange import Asked, ExchangeCase, make_cases, names

ALGORITHMS, MODES, SHELLS, TEAM_BOXES = names().algorithms, names().modes, names().shells, names().team_boxes


@given(st.integers(1, 5000), st.integers(1, 3))
def test_a_balanced_grid_multiplies_up_and_does_not_increase(ranks: int, ndim: int) -> None:
    grid = balanced_grid(ranks, ndim)
    assert math.prod(grid) == ranks
    assert list(grid) == sorted(grid, reverse=True)


def test_a_balanced_grid_of_many_ranks_is_found_by_its_divisors() -> None:
    assert balanced_grid(10**9, 3) == (1000, 1000, 1000)
    assert balanced_grid(999_999_937, 2) == (999_999_937, 1)  # a prime


@pytest.mark.parametrize(("ranks", "ndim", "grid"), [(64, 3, (4, 4, 4)), (2400, 2, (50, 48)), (7, 2, (7, 1)), (12, 2, (4, 3))])
def test_a_balanced_grid_is_as_even_as_can_be(ranks: int, ndim: int, grid: tuple[int, ...]) -> None:
    assert balanced_grid(ranks, ndim) == grid


def _asked(algorithms: list[str] | None, modes: list[str] | None, **more: Any) -> Asked:
    return Asked(algorithms, modes, **{"cutoffs": [1, 2], "sizes_bytes": [8, 16], **more})


def test_the_names_are_those_of_the_core() -> None:
    for algorithm in _core.exchange_algorithms():
        assert list(algorithm.modes) == [mode for mode in MODES if not _core.why_not(algorithm.id, mode, "full")]
        assert list(algorithm.shells) == [shell for shell in SHELLS if not _core.why_not(algorithm.id, "isend", shell)]
        assert algorithm.summary
        assert algorithm.source
    for name, mode, shell in itertools.product(ALGORITHMS, MODES, SHELLS):
        assert isinstance(_core.why_not(name, mode, shell), str)
    for boxes in TEAM_BOXES:
        assert _core.Exchange("team-shift", "isend", [4], [True], [1], "full", 2, boxes).check() == []


def test_cases_are_all_combinations() -> None:
    cases = make_cases(_asked(["shift"], ["ssend", "isend"]), [4], [True])
    assert len(cases) == 8
    assert len(set(cases)) == 8


def test_all_leaves_out_what_makes_no_sense() -> None:
    cases = make_cases(_asked(None, None, cutoffs=[1], sizes_bytes=[8]), [3, 2], [True, True])
    pairs = {(case.algorithm, case.mode) for case in cases}
    assert len(pairs) == len(cases) == 4 + 1 + 5 + 4 + 4 + 2
    assert ("shift", "isend-self") in pairs
    assert not {("direct", "isend-self"), ("neighbor-alltoall", "ssend")} & pairs
    assert {case.replication for case in cases if case.algorithm == "team-shift"} == {2}
    assert {case.replication for case in cases if case.algorithm != "team-shift"} == {1}


def test_all_pairs_have_no_cutoff() -> None:
    cases = make_cases(_asked(["direct"], ["isend"], shells=["all-pairs"]), [4], [False])
    assert [(case.cutoff, case.message_bytes) for case in cases] == [(0, 8), (0, 16)]


def test_a_default_replication_gives_way_to_a_grid_of_one() -> None:
    (case,) = make_cases(_asked(["team-shift"], ["isend"], cutoffs=[1], sizes_bytes=[8]), [1], [True])
    assert case.replication == 1


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (_asked(["sideways"], ["ssend"]), "'sideways' is unknown: choose direct"),
        (_asked(["shift"], ["bsend"]), "'bsend' is unknown: did you mean send"),
        (_asked(["shift"], ["isend"], shells=["half"]), "shell 'half' is unknown"),
        (_asked(["team-shift"], ["isend"], team_boxes="own"), "team boxes 'own' is unknown"),
        (_asked(["neighbor-alltoall"], ["ssend"]), "its only send mode is isend"),
        (_asked(["direct", "shift"], ["isend-self"]), "which only shift does"),
        (_asked(["team-shift"], ["isend"], shells=["eighth"]), "no eighth shell"),
        (_asked(["team-shift"], None, shells=["eighth"]), "no eighth shell"),
        (_asked(["team-shift"], ["isend"], replications=[5]), "replication 5 does not fit"),
        (_asked(["shift"], ["isend"], cutoffs=[10**6 + 1]), "cutoff 1000001 is too large"),
        (_asked(["shift"], ["isend"], cutoffs=[10**6]), "2\\^40 slots"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(asked: Asked, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_cases(asked, [4, 3], [True, True])


@st.composite
def _exchanges(draw: st.DrawFn) -> ExchangeCase:
    algorithm = draw(st.sampled_from(ALGORITHMS))
    ndim = draw(st.integers(1, 3))
    grid = tuple(draw(st.integers(1, (12, 6, 4)[ndim - 1])) for _ in range(ndim))
    teams = algorithm == "team-shift"
    return ExchangeCase(
        algorithm,
        draw(st.sampled_from(MODES)),
        grid,
        tuple(draw(st.booleans()) for _ in range(ndim)),
        draw(st.integers(1, 6 if ndim == 1 else 2)),
        8,
        draw(st.sampled_from(SHELLS)),
        draw(st.integers(1, 6)) if teams else 1,
        draw(st.sampled_from(TEAM_BOXES)) if teams else "pooled",
    )


@settings(max_examples=300, deadline=None)
@given(_exchanges())
def test_every_schedule_is_right_and_what_it_sends_is_what_it_says(case: ExchangeCase) -> None:
    try:
        exchange = case.schedules()
    except InputError:
        assume(False)
    if case.algorithm in names().node_aware:
        exchange = exchange.on_nodes([rank // 3 for rank in range(case.ranks)])
    assert exchange.check() == []
    for rank in range(exchange.ranks):
        sent = [op for step in exchange.steps(rank, False) for op in step if op.kind == "send"]
        if exchange.includes_reduce:
            sent += [op for step in exchange.steps(rank, True) for op in step if op.kind == "send"]
        blocks = sum(count for op in sent for _, count in op.slots)
        assert exchange.counts(rank) == (len(sent), blocks)
