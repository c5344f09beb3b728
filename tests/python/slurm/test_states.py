"""States in words, out of what squeue, sacct and scontrol print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankwise.slurm.states import JobState, states_of


def _state(state: str, **others: Any) -> JobState:
    fields = {"reason": "None", "nodes": "n[1-2]", "elapsed": "1:05", "limit": "10:00", "restarts": 0, "exit_code": "0:0"}
    return JobState(job="12", state=state, source="squeue", **{**fields, **others})


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (_state("RUNNING"), "runs on n[1-2] since 1:05 of 10:00"),
        (_state("RUNNING", restarts=2), "runs on n[1-2] since 1:05 of 10:00; begun again 2 time(s)"),
        (_state("PENDING", reason="Resources"), "waits in the queue: no nodes are free"),
        (
            _state("PENDING", reason="ReqNodeNotAvail, UnavailableNodes:n7"),
            "waits in the queue: a node that it needs is down or reserved",
        ),
        (_state("PENDING", reason="SomethingOfTheSite"), "waits in the queue: SomethingOfTheSite"),
        (_state("COMPLETED"), "has completed"),
        (_state("FAILED", exit_code="7:0"), "failed with exit code 7"),
        (_state("FAILED", exit_code="0:9"), "failed with signal 9"),
        (_state("TIMEOUT", reason="TimeLimit"), "was stopped at its time limit; samples are kept"),
        (_state("NODE_FAIL"), "ended because a node died; samples are kept on n[1-2]"),
        (_state("NEW_IN_SLURM"), "is new in slurm"),
    ],
)
def test_states_in_words(state: JobState, words: str) -> None:
    assert state.words == words


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put programs on PATH that print what a cluster with accounts would."""

    def say(**outputs: str) -> None:
        for name, text in outputs.items():
            path = tmp_path / name
            path.write_text("#!/bin/sh\nexit 1\n" if text == "fails" else f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return say


def test_jobs_that_have_left_the_queue_are_known_to_the_accounts(commands: Any) -> None:
    commands(
        squeue="fails",
        scontrol="Slurmctld(primary) at login is UP",
        sacct="12|CANCELLED by 1000|None|n1|00:00:07|00:10:00|0:15\n13_1|OUT_OF_MEMORY|None|n2|00:01:00|00:10:00|0:125",
    )
    states = states_of(["12"])
    assert [(state.job, state.state, state.source, state.live) for state in states] == [
        ("12", "CANCELLED", "sacct", False), ("13_1", "OUT_OF_MEMORY", "sacct", False),
    ]  # fmt: skip
    assert states[1].words == "ran out of memory"


def test_without_accounts_such_a_job_is_unknown(commands: Any) -> None:
    commands(squeue="fails", scontrol="up", sacct="fails")
    (state,) = states_of(["12"])
    assert state.state == "UNKNOWN" and "see its log" in state.words


def test_restarts_and_exit_codes_come_from_scontrol(commands: Any) -> None:
    commands(
        squeue="7_1|RUNNING|None|n1|0:10|5:00\n7_2|PENDING|JobArrayTaskLimit||0:00|5:00",
        scontrol="JobId=8 ArrayJobId=7 ArrayTaskId=1 JobState=RUNNING Restarts=1 ExitCode=0:0",
        sacct="fails",
    )
    first, second = states_of(["7"])
    assert (first.restarts, first.live) == (1, True)
    assert second.words == "waits in the queue: as many tasks of the array run as are allowed at once"
