"""Waiting is told from transfer, adds up to the time in calls, and is blamed on who caused it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.observe.waits import Waits, analyse
from synthetic_events import LATENCY_NS, Op, ring, simulate

MS = 1_000_000


def assert_adds_up(waits: Waits) -> None:
    parts = waits.late_sender_s + waits.late_receiver_s + waits.collective_s + waits.transfer_s + waits.own_s
    np.testing.assert_allclose(parts, waits.in_calls_s, atol=1e-12)
    assert min(part.min() for part in (waits.late_sender_s, waits.late_receiver_s, waits.transfer_s, waits.own_s)) >= 0
    assert waits.blamed_s.sum() == pytest.approx(waits.waiting_s)


@pytest.mark.parametrize("reduce_every", [0, 10])
def test_a_slow_rank_is_named_through_those_who_wait_for_it(reduce_every: int) -> None:
    random = np.random.default_rng(3)
    noise = random.integers(0, MS // 2, (8, 40))
    slow = 5
    programs = ring(8, 40, lambda rank, step: 5 * MS + int(noise[rank, step]) + 20 * MS * (rank == slow), 20_000, reduce_every)
    waits = analyse(simulate(programs), 8)
    assert_adds_up(waits)
    assert waits.why_not is None
    assert waits.waiting_s > 7 * 35 * 0.02
    (rank, seconds), *_ = waits.late_ranks()
    assert rank == slow
    assert seconds >= 0.9 * waits.waiting_s


def test_one_late_sender_to_the_nanosecond() -> None:
    programs: list[list[Op]] = [[("compute", 7 * MS), ("send", 1, 0, 1000)], [("compute", MS), ("recv", 0, 0)]]
    waits = analyse(simulate(programs), 2)
    assert waits.late_sender_s.tolist() == pytest.approx([0, 0.006])
    assert waits.transfer_s[1] == pytest.approx((LATENCY_NS + 100) * 1e-9)
    assert waits.own_s[0] == waits.in_calls_s[0] > 0
    assert waits.late_ranks() == [(0, pytest.approx(0.006))]


def test_a_large_send_waits_for_its_receiver() -> None:
    programs: list[list[Op]] = [[("send", 1, 0, 100_000)], [("compute", 9 * MS), ("recv", 0, 0)]]
    waits = analyse(simulate(programs, rendezvous_bytes=65_536), 2)
    assert waits.late_receiver_s.tolist() == pytest.approx([0.009, 0])
    assert waits.late_ranks() == [(1, pytest.approx(0.009))]
    buffered = analyse(simulate(programs), 2)
    assert buffered.waiting_s == 0


def test_receives_from_anybody_and_sendrecv_take_part_in_the_pairing() -> None:
    programs: list[list[Op]] = [
        [("compute", 3 * MS), ("sendrecv", 1, 1, 4, 64), ("send", 1, 5, 8)],
        [("irecv", -1, 5), ("sendrecv", 0, 0, 4, 64), ("waitall",)],
    ]
    waits = analyse(simulate(programs), 2)
    assert waits.unmatched == 0
    assert waits.late_sender_s[1] == pytest.approx(0.003, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(ranks=st.integers(2, 6), seed=st.integers(0, 1000), large=st.booleans())
def test_parts_add_up_whatever_the_times(ranks: int, seed: int, large: bool) -> None:
    random = np.random.default_rng(seed)
    times = random.exponential(2e5, (ranks, 12)).astype(int)
    events = simulate(ring(ranks, 12, lambda rank, step: times[rank, step], 5000, 4), 1000 if large else 1 << 60)
    assert_adds_up(analyse(events, ranks))


def test_what_cannot_be_told_is_not_told() -> None:
    events = simulate(ring(4, 20, lambda rank, step: 5000 * (rank + 1)))
    nodes = np.arange(4)
    assert analyse(events, 4, nodes, 1e-6).why_not is None
    vague = analyse(events, 4, nodes, 0.1)
    assert "clocks" in str(vague.why_not)
    assert vague.late_ranks() == []
    assert analyse(events, 4, np.zeros(4), 0.1).why_not is None  # one host has one clock
    cut = {rank: of_rank[: -10 * rank or None] for rank, of_rank in events.items()}
    assert "too many" in str(analyse(cut, 4).why_not)
    assert analyse({}, 3).waiting_s == 0
