"""Verbs whose JSON no other test prints: the fixture of all tests holds each
against its schema, here are what must be in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.observe.record import Record, write_record
from synthetic_events import ring, simulate

Rankwise = Callable[..., Any]
HISTORY = Path(__file__).parents[2] / "data" / "health.jsonl"
RANKS = 2


@pytest.fixture
def profile(rankwise: Rankwise) -> Path:
    """A profile of made-up figures."""
    rows = "".join(f"{size},{1000 + 0.1 * size},10\n" for size in (0, 8, 1024, 65536, 1 << 20))
    Path("table.csv").write_text("message_bytes,latency_ns,sigma_ns\n" + rows)
    assert rankwise("profile", "import", "table.csv", "--link", "same-socket", "-o", "machine.json").code == 0
    return Path("machine.json")


@pytest.fixture
def observed() -> Path:
    """A program of two ranks whose step is a ring."""
    events = simulate(ring(RANKS, 30, 20_000, 900))
    windows = [{"rank": rank, "first_call": 0, "first_event": 0, "events": len(of_rank)} for rank, of_rank in events.items()]
    whole, none = np.zeros(RANKS, np.int32), np.zeros(0, np.uint64)
    calls = ["", "MPI_Isend", "MPI_Irecv", "MPI_Waitall"]
    write_record(
        Path("app.comm"),
        Record(
            {"calls": calls, "windows": windows}, RANKS, ("node",), whole, whole, whole - 1, np.zeros(RANKS + 1, np.int64),
            np.zeros(0, np.uint32), none, none, none, np.zeros((0, 32), np.uint32), events,
        ),
    )  # fmt: skip
    return Path("app.comm")


def test_a_history(rankwise: Rankwise) -> None:
    shutil.copy(HISTORY, "health.jsonl")
    accepted = rankwise("health", "accept", "--json")
    assert accepted.code == 0 and accepted.json


@pytest.mark.mpi
def test_steps_beside_their_predictions(rankwise: Rankwise, profile: Path, observed: Path) -> None:
    assert rankwise("run", "observed", observed, "--seconds", "0.05", "--json").json["rows"][0]["verified"] is True
    beside = rankwise("validate", "observed", observed, "--profile", profile, "--seconds", "0.05", "--json").json
    assert beside["rows"][0]["error"] is not None and beside["workload"] == "observed"
    assert rankwise("measure", "pack", "-o", profile, "--json").json


@pytest.mark.simgrid
def test_simulations(rankwise: Rankwise, profile: Path, observed: Path) -> None:
    alltoall = rankwise("simulate", "alltoall", "--ranks", "4", "--bytes", "100", "--profile", profile, "--json").json
    assert alltoall["rows"][0]["verified"] is True
    assert rankwise("simulate", "observed", observed, "--profile", profile, "--json").json["rows"]
