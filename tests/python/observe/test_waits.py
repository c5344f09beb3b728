"""Waiting is told from transfer, adds up to the time in calls, and is blamed on who caused it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.observe.record import COLLECTIVE, COMPLETION, EVENT
from rankwise.observe.waits import (
    BARRIER,
    EARLY_REDUCE,
    KINDS,
    LATE_BROADCAST,
    LATE_RECEIVER,
    LATE_SENDER,
    N_TO_N,
    Waits,
    analyse,
)
from synthetic_events import LATENCY_NS, Op, ring, simulate

MS = 1_000_000


def assert_adds_up(waits: Waits) -> None:
    parts = waits.waiting_s.sum(axis=0) + waits.transfer_s + waits.own_s
    np.testing.assert_allclose(parts, waits.in_calls_s, atol=1e-12)
    assert min(part.min() for part in (waits.waiting_s, waits.transfer_s, waits.own_s)) >= 0
    assert waits.blamed_s.sum() == pytest.approx(waits.waiting_s.sum())
    assert sum(waits.causes_s.values()) == pytest.approx(waits.waiting_s.sum())


def of_kind(waits: Waits, kind: str) -> list[float]:
    return list(waits.waiting_s[KINDS.index(kind)].tolist())


@pytest.mark.parametrize("reduce_every", [0, 10])
def test_a_slow_rank_is_named_through_those_who_wait_for_it(reduce_every: int) -> None:
    random = np.random.default_rng(3)
    noise = random.integers(0, MS // 2, (8, 40))
    slow = 5
    programs = ring(8, 40, lambda rank, step: 5 * MS + int(noise[rank, step]) + 20 * MS * (rank == slow), 20_000, reduce_every)
    waits = analyse(simulate(programs), 8)
    assert_adds_up(waits)
    assert waits.why_not is None
    assert waits.waiting_s.sum() > 7 * 35 * 0.02
    (rank, seconds), *_ = waits.late_ranks()
    assert rank == slow
    assert seconds >= 0.9 * waits.waiting_s.sum()


def test_one_late_sender_to_the_nanosecond() -> None:
    programs: list[list[Op]] = [[("compute", 7 * MS), ("send", 1, 0, 1000)], [("compute", MS), ("recv", 0, 0)]]
    waits = analyse(simulate(programs), 2)
    assert of_kind(waits, LATE_SENDER) == pytest.approx([0, 0.006])
    assert waits.transfer_s[1] == pytest.approx((LATENCY_NS + 100) * 1e-9)
    assert waits.own_s[0] == waits.in_calls_s[0] > 0
    assert waits.late_ranks() == [(0, pytest.approx(0.006))]


def test_a_large_send_waits_for_its_receiver() -> None:
    programs: list[list[Op]] = [[("send", 1, 0, 100_000)], [("compute", 9 * MS), ("recv", 0, 0)]]
    waits = analyse(simulate(programs, rendezvous_bytes=65_536), 2)
    assert of_kind(waits, LATE_RECEIVER) == pytest.approx([0.009, 0])
    assert waits.late_ranks() == [(1, pytest.approx(0.009))]
    buffered = analyse(simulate(programs), 2)
    assert not buffered.waiting_s.any()


def test_receives_from_anybody_and_sendrecv_take_part_in_the_pairing() -> None:
    programs: list[list[Op]] = [
        [("compute", 3 * MS), ("sendrecv", 1, 1, 4, 64), ("send", 1, 5, 8)],
        [("irecv", -1, 5), ("sendrecv", 0, 0, 4, 64), ("waitall",)],
    ]
    waits = analyse(simulate(programs), 2)
    assert waits.unmatched == 0
    assert of_kind(waits, LATE_SENDER)[1] == pytest.approx(0.003, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(ranks=st.integers(2, 6), seed=st.integers(0, 1000), large=st.booleans(), mixed=st.booleans())
def test_parts_add_up_whatever_the_times_and_their_order(ranks: int, seed: int, large: bool, mixed: bool) -> None:
    random = np.random.default_rng(seed)
    times = random.exponential(2e5, (ranks, 12)).astype(int)
    events = simulate(ring(ranks, 12, lambda rank, step: times[rank, step], 5000, 4), 1000 if large else 1 << 60)
    for of_rank in events.values() if mixed else ():  # as those of threads may be
        random.shuffle(of_rank[["start_ns", "end_ns"]])
    assert_adds_up(analyse(events, ranks))


def test_what_cannot_be_told_is_not_told() -> None:
    events = simulate(ring(4, 20, lambda rank, step: 5000 * (rank + 1)))
    nodes = np.arange(4)
    assert analyse(events, 4, (nodes, 1e-6)).why_not is None
    vague = analyse(events, 4, (nodes, 0.1))
    assert "clocks" in str(vague.why_not)
    assert vague.late_ranks() == []
    assert analyse(events, 4, (np.zeros(4), 0.1)).why_not is None  # one host has one clock
    cut = {rank: of_rank[: -10 * rank or None] for rank, of_rank in events.items()}
    assert "too many" in str(analyse(cut, 4).why_not)
    assert not analyse({}, 3).waiting_s.any()


def collective(begins: list[int], end: int, root: int, request: bool = False) -> dict[int, Any]:
    """One collective of three ranks, and where it has a request the wait for it half a millisecond behind."""
    call = [[(begin, begin + 1 if request else end, 8, root, 0, int(request), 0, 0, COLLECTIVE)] for begin in begins]
    for rank, begin in enumerate(begins):
        call[rank] += [(begin + MS // 2, end, 0, -1, 0, 1, 0, 1, COMPLETION)] if request else []
    return {rank: np.array(of_rank, EVENT) for rank, of_rank in enumerate(call)}


@pytest.mark.parametrize(
    ("call", "root", "kind", "late_ms"),
    [
        ("MPI_Barrier", -1, BARRIER, [6, 3, 0]),
        ("MPI_Allreduce", -1, N_TO_N, [6, 3, 0]),
        ("MPI_Bcast", 1, LATE_BROADCAST, [3, 0, 0]),
        ("MPI_Bcast", 0, LATE_BROADCAST, [0, 0, 0]),
        ("MPI_Scatterv", 2, LATE_BROADCAST, [6, 3, 0]),
        ("MPI_Reduce", 0, EARLY_REDUCE, [6, 0, 0]),
        ("MPI_Gather", 2, EARLY_REDUCE, [0, 0, 0]),
        ("MPI_Reduce_scatter", -1, N_TO_N, [6, 3, 0]),
    ],
)
def test_collectives_wait_for_those_whose_data_they_need(call: str, root: int, kind: str, late_ms: list[float]) -> None:
    waits = analyse(collective([MS, 4 * MS, 7 * MS], 8 * MS, root), 3, names=[call, "MPI_Wait"])
    assert_adds_up(waits)
    assert of_kind(waits, kind) == pytest.approx([1e-3 * late for late in late_ms])
    assert waits.waiting_s.sum() == pytest.approx(1e-3 * sum(late_ms))


def test_a_collective_that_goes_on_meanwhile_is_waited_for_at_its_completion() -> None:
    waits = analyse(collective([MS, 4 * MS, 7 * MS], 8 * MS, -1, request=True), 3, names=["MPI_Iallreduce", "MPI_Wait"])
    assert_adds_up(waits)
    assert of_kind(waits, N_TO_N) == pytest.approx([5.5e-3, 2.5e-3, 0])


def test_the_call_that_comes_late_is_the_one_behind_the_longest_computing() -> None:
    programs: list[list[Op]] = [
        [*[("compute", 9 * MS), ("irecv", 1, 2), ("compute", MS), ("send", 1, 1, 8), ("waitall",)]] * 20,
        [*[("send", 0, 2, 8), ("recv", 0, 1)]] * 20,
    ]
    events = simulate(programs)
    labels = {rank: 100 * rank + of_rank["call"].astype(int) for rank, of_rank in events.items()}
    causes = analyse(events, 2, labels=labels).causes_s
    (kind, at, rank, before), seconds = max(causes.items(), key=lambda one: one[1])
    assert (kind, at, rank, before) == (LATE_SENDER, 106, 0, 2)  # MPI_Recv of rank 1, MPI_Irecv of rank 0
    assert seconds == pytest.approx(20 * 10e-3, rel=0.01)


def test_behind_a_collective_nobody_is_blamed_for_what_came_before_it() -> None:
    """Rank 1 is late in the first halves of steps and rank 2 in the second: each is blamed for its own."""
    programs: list[list[Op]] = [
        [("compute", MS * (1 + 4 * (rank == 1))), ("allreduce", 8), ("compute", MS * (1 + 2 * (rank == 2))), ("allreduce", 8)]
        * 10
        for rank in range(3)
    ]
    waits = analyse(simulate(programs), 3)
    assert waits.blamed_s.tolist() == pytest.approx([0, 10 * 2 * 4e-3, 10 * 2 * 2e-3])
