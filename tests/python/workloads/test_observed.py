"""The step of an observed program is a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.errors import InputError
from rankwise.observe.record import Record, write_record
from rankwise.workloads.base import Site
from rankwise.workloads.observed import WORKLOAD, ObservedOptions
from synthetic_events import ring, simulate

CALLS = ["", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Send", "MPI_Sendrecv", "MPI_Recv", "MPI_Allreduce"]


def record_of(events: dict[int, Any], ranks: int) -> Record:
    windows = [{"rank": r, "first_call": 0, "first_event": 0, "events": len(e)} for r, e in events.items()]
    whole = np.zeros(ranks, np.int32)
    none = np.zeros(0, np.uint64)
    return Record(
        {"calls": CALLS, "windows": windows}, ranks, ("node",), whole, whole, whole - 1, np.zeros(ranks + 1, np.int64),
        np.zeros(0, np.uint32), none, none, none, np.zeros((0, 32), np.uint32), events,
    )  # fmt: skip


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "app.comm"
    write_record(path, record_of(simulate(ring(4, 30, 50_000, 900)), 4))
    return path


def test_the_case_names_the_step_and_writes_it_for_the_kernel(record: Path) -> None:
    (case,) = WORKLOAD.cases(ObservedOptions(record), Site())
    assert case.ranks == 4
    keys = case.keys()
    assert keys.pop("compute_s") == pytest.approx(50e-6, rel=0.02)
    assert keys == {"record": "app.comm", "ranks": 4, "phases": case.step.phases, "messages": 8, "bytes": 7200}
    name, path = case.arguments([()], [0] * 4, simulated=False)
    assert name == "--step"
    assert Path(path).read_text().startswith("rankwise-step 1 4 ")
    assert "computing" in case.program().notes[-1]
    assert hash(case) == hash(case)


def test_messages_alone(record: Path) -> None:
    (case,) = WORKLOAD.cases(ObservedOptions(record, compute=False), Site())
    assert case.keys()["compute_s"] == 0
    assert case.program().notes == ()


def test_records_without_a_step_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.comm"
    write_record(path, record_of({}, 2))
    with pytest.raises(InputError, match=r"app\.comm has the calls of 0 of 2 ranks"):
        WORKLOAD.cases(ObservedOptions(path), Site())
    write_record(path, record_of(simulate([[("send", 1, 0, 8)], [("recv", 0, 0)]]), 2))
    with pytest.raises(InputError, match=r"app\.comm has no step that repeats"):
        WORKLOAD.cases(ObservedOptions(path), Site())
    with pytest.raises(InputError):
        WORKLOAD.cases(ObservedOptions(tmp_path / "none.comm"), Site())
