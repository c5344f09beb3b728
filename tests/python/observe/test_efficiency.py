"""Efficiencies are what was planted; ranks and steps that compute longer are named, with their times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.advise.evidence import evidence_of
from rankwise.observe.efficiency import Efficiencies, _waits_for, efficiencies, talp_of
from rankwise.observe.record import read_record, write_record
from rankwise.observe.steps import common_steps
from synthetic_events import CALL_NS, CALLS, LATENCY_NS, MS, NS_PER_BYTE, Op, ring, ring_of, simulate
from verbs import Rankwise


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


def test_times_of_ranks_and_the_balance_of_steps_are_those_planted() -> None:
    found = evidence_of(ring_of(6, lambda rank, step: MS * (1 + (rank == 4) + 6 * (rank == 2 and step == 20))), "app.comm")
    rows = found.by_rank
    assert [row.rank for row in rows] == list(range(6))
    calls_s = 4 * CALL_NS * 1e-9  # which only begin messages, and wait for none
    steps = len(found.steps.sample) if found.steps else 0
    assert rows[4].compute_s == pytest.approx(2e-3 + calls_s, rel=1e-3)
    assert rows[2].compute_s == pytest.approx(1e-3 * (1 + 6 / steps) + calls_s, rel=1e-3)
    assert (rows[1].messages, rows[1].bytes, rows[1].host) == (2, 2000, "n1")
    assert rows[0].wait_s is not None and rows[0].wait_s == pytest.approx(1e-3 * (1 + 5 / steps), rel=0.02)
    balance = found.balance
    assert balance is not None
    assert balance.load_balance == pytest.approx(7 / 12, abs=0.002)
    assert balance.load_balance_lo == pytest.approx((7 + 6) / 6 / 7, abs=0.002)
    assert (balance.worst_rank, balance.slowest_rank, balance.slowest_steps) == (2, 4, steps - 1)
    assert balance.worst_step == 20


def test_on_the_screen(rankwise: Rankwise, tmp_path: Path) -> None:
    record = ring_of(6, lambda rank, _: MS * (1 + (rank == 4)))
    write_record(tmp_path / "app.comm", record)
    assert "Ranks compute 1.00 / 1.00 / 2.00 ms" in " ".join(rankwise("observe show app.comm").out.split())
    shown = rankwise("observe show app.comm --ranks")
    lines = shown.out.splitlines()
    assert lines[0] == "✓ Rank 4 computes longest: 2.00 ms a step, 2 times the median rank."
    assert lines[2].split()[:3] == ["rank", "compute", "ms"] and lines[3].split()[0] == "4"
    assert "Load balance 58 % in every step." in lines
    as_json = rankwise("observe show app.comm --ranks --json").json
    assert [row["rank"] for row in as_json["by_rank"]] == list(range(6))
    assert as_json["balance"]["slowest_rank"] == 4
    write_record(tmp_path / "even.comm", ring_of(6, lambda *_: MS))
    even = rankwise("observe show even.comm --ranks").out
    assert even.startswith("✓ All ranks compute about as long, 1.00 ms a step.")


def test_without_a_step_it_is_of_the_run(rankwise: Rankwise, tmp_path: Path) -> None:
    record = ring_of(4, lambda rank, _: MS * (1 + rank))
    times = np.array([[0] * 7 + [9 - rank] for rank in range(4)], "<i8") * MS
    header = {**record.header, "windows": [], "seconds_of_rank": [0.01] * 4}
    write_record(
        tmp_path / "run.comm",
        replace(record, header=header, events={}, call_counts=np.ones((4, 8), "<u8"), call_ns=times),
    )
    row = evidence_of(read_record(tmp_path / "run.comm"), "run.comm").by_rank[2]
    assert (row.compute_s, row.mpi_s, row.wait_s, row.messages) == (pytest.approx(0.003), pytest.approx(0.007), None, 60)
    assert "Of the run" in rankwise("observe show run.comm --ranks").out


def test_shares_are_of_the_time_whose_calls_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window holds 12 of 30 steps here; the run goes on for three times as long as all of them."""
    found = ring_of(4, lambda rank, step: MS)
    whole = evidence_of(found, "app.comm").steps
    assert whole is not None and whole.of == "the run"
    calls = len(found.events[0]) * 12 // 30
    cut = {rank: of_rank[:calls] for rank, of_rank in found.events.items()}
    windows = [{"rank": rank, "first_call": 0, "first_event": 0, "events": calls} for rank in cut]
    shorter = replace(found, events=cut, header={**found.header, "windows": windows, "seconds": 3 * found.header["seconds"]})
    for listed in (65_536, calls):  # the program has ended, or a window was full
        monkeypatch.setattr("rankwise.observe.phases.WINDOW_EVENTS", listed)
        evidence = evidence_of(shorter, "app.comm")
        steps = evidence.steps
        assert steps is not None
        full = listed == calls
        assert steps.of.startswith("the first ") == any("later ones are counted" in note for note in evidence.notes) == full
        assert steps.kinds[0].share == pytest.approx(0.97 if full else 0.97 * 12 / 90, rel=0.1)
        assert steps.in_run(shorter.header["seconds"]) == pytest.approx(87 if full else 12, abs=6)
