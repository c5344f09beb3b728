"""Efficiencies are what was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.observe.efficiency import Efficiencies, _waits_for, efficiencies, talp_of
from rankwise.observe.steps import common_steps
from synthetic_events import CALL_NS, CALLS, LATENCY_NS, NS_PER_BYTE, Op, ring, simulate
from test_by_rank import ring_of

MS = 1_000_000


def of_programs(programs: list[list[Op]]) -> Efficiencies:
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    found = efficiencies(steps, events, CALLS)
    assert found is not None
    assert found.parallel == pytest.approx(found.load_balance * found.serialisation * found.transfer)
    return found


def test_one_rank_twice_as_slow_is_a_loss_of_balance() -> None:
    programs: list[list[Op]] = [[("compute", MS * (1 + (rank == 5))), ("allreduce", 8)] * 30 for rank in range(8)]
    found = of_programs(programs)
    assert found.load_balance == pytest.approx(9 / 16, abs=0.001)
    assert found.serialisation == pytest.approx(1, abs=0.001)
    assert found.transfer > 0.98
    assert found.busiest_rank == 5


def test_a_chain_is_a_loss_by_serialisation() -> None:
    ranks, steps = 8, 30

    def step(rank: int) -> list[Op]:
        before: list[Op] = [("recv", rank - 1, 1)] if rank else []
        behind: list[Op] = [("send", rank + 1, 1, 8)] if rank < ranks - 1 else []
        return [*before, ("compute", MS), *behind, ("allreduce", 8)]

    found = of_programs([step(rank) * steps for rank in range(ranks)])
    assert found.load_balance == pytest.approx(1, abs=0.001)
    assert found.serialisation == pytest.approx(1 / ranks, abs=0.01)
    assert found.transfer > 0.97


def test_large_messages_are_a_loss_by_transfer() -> None:
    size = 10_000_000
    found = of_programs(ring(8, 30, MS, size))
    assert found.load_balance == pytest.approx(1, abs=0.001)
    assert found.serialisation == pytest.approx(1, abs=0.001)
    assert found.transfer == pytest.approx(MS / (MS + LATENCY_NS + NS_PER_BYTE * size + 4 * CALL_NS), rel=0.05)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(0, 4), st.integers(0, 2**32))
def test_none_is_above_one_whatever_the_program(ranks: int, reduce_every: int, seed: int) -> None:
    def compute(rank: int, step: int) -> int:
        return (seed + 7919 * rank * rank + 104729 * step * (rank + 1)) % MS

    events = simulate(ring(ranks, 24, compute, seed % 50_000, reduce_every))
    steps = common_steps(events)
    if steps is not None and (found := efficiencies(steps, events, CALLS)) is not None:
        assert 0 < found.parallel <= 1 + 1e-9
        assert max(found.load_balance, found.serialisation, found.transfer) <= 1 + 1e-9


def test_where_a_partner_never_comes_nothing_is_said() -> None:
    events = simulate(ring(4, 20, MS))
    steps = common_steps(events)
    assert steps is not None
    events[2] = events[2].copy()
    events[2]["tag"] += 5  # none of these messages is received
    assert efficiencies(steps, events, CALLS) is None


def test_of_the_run_they_are_talps() -> None:
    """Two nodes of two ranks, 10 s: useful 8, 6 and 4, 2 s."""
    record = ring_of(4, lambda *_: MS)
    times = np.zeros((4, 8), "<i8")
    times[:, 7] = np.array([2, 4, 6, 8]) * 1_000_000_000
    header = {**record.header, "seconds_of_rank": [10.0] * 4}
    nodes = np.array([0, 0, 1, 1], "<i4")
    known = replace(record, header=header, node_of_rank=nodes, call_counts=np.ones((4, 8), "<u8"), call_ns=times)
    found = talp_of(known)
    assert found is not None
    told = found.to_dict()
    assert (told["numMpiRanks"], told["numNodes"], told["numMpiCalls"], told["elapsedTime"]) == (4, 2, 32, 10**10)
    assert (told["usefulTime"], told["mpiTime"]) == (2 * 10**10, 2 * 10**10)
    assert (told["parallelEfficiency"], told["mpiCommunicationEfficiency"]) == pytest.approx((0.5, 0.8))
    assert told["mpiLoadBalance"] == pytest.approx(told["mpiLoadBalanceIn"] * told["mpiLoadBalanceOut"]) == pytest.approx(5 / 8)
    assert told["mpiLoadBalanceIn"] == pytest.approx(7 / 8)
    assert talp_of(replace(known, call_counts=times[:0], call_ns=times[:0])) is None


def test_ranks_look_at_a_collective_when_its_last_one_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice each at most: woken by every rank that comes, they would look as often as there are ranks."""
    looked: list[int] = []

    def looks(what: tuple[Any, ...], rank: int, comes: Any) -> int | None:
        looked.append(rank)
        return _waits_for(what, rank, comes)

    monkeypatch.setattr("rankwise.observe.efficiency._waits_for", looks)
    found = of_programs([[("compute", 1000 * (rank % 7 + 1)), ("allreduce", 8)] * 12 for rank in range(300)])
    assert found.serialisation == pytest.approx(1, abs=0.01) and 300 * 11 <= len(looked) <= 2 * 300 * 12
