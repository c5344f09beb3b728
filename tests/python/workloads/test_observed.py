"""The step of an observed program is a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.observe.record import record_of_events, write_record
from rankwise.workloads.base import Site
from rankwise.workloads.observed import WORKLOAD, ObservedOptions
from synthetic_events import recorded, ring


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "app.comm"
    write_record(path, recorded(ring(4, 30, 50_000, 900), [0] * 4))
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
    write_record(path, record_of_events({}, {"calls": []}, ["node"], [0, 0]))
    with pytest.raises(InputError, match=r"app\.comm has the calls of 0 of 2 ranks"):
        WORKLOAD.cases(ObservedOptions(path), Site())
    write_record(path, recorded([[("send", 1, 0, 8)], [("recv", 0, 0)]], [0, 0]))
    with pytest.raises(InputError, match=r"app\.comm has no step that repeats"):
        WORKLOAD.cases(ObservedOptions(path), Site())
    with pytest.raises(InputError):
        WORKLOAD.cases(ObservedOptions(tmp_path / "none.comm"), Site())
