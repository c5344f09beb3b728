"""Ranks and steps that compute longer are named, with their times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwise.advise.evidence import evidence_of
from rankwise.observe.record import Record, read_record, write_record
from synthetic_events import CALL_NS, recorded, ring
from verbs import Rankwise

MS = 1_000_000


def ring_of(ranks: int, compute_ns: Callable[[int, int], int]) -> Record:
    """A ring of so many ranks, 30 steps with a sum at the end of each, on a host with enough cores."""
    found = recorded(ring(ranks, 30, compute_ns, 1000, reduce_every=1), [0] * ranks, cores_of_host=[ranks])
    seconds = max(int(of_rank["end_ns"].max()) for of_rank in found.events.values()) * 1e-9
    found.header.update(seconds=seconds, seconds_of_rank=[seconds] * ranks)
    return found


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
