"""A record on the screen, as JSON and in other programs' formats."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.observe.parts import ranges
from rankwise.observe.record import EVENT, HISTOGRAM_BINS, Record, write_record
from rankwise.observe.summary import coarse_matrix
from verbs import Rankwise


@pytest.fixture
def record() -> Record:
    """Two ranks on a host each: 0 sends to 1 thrice, 1 had 50 bytes fetched by 0."""
    events = np.array([(1000, 3500, 700, 1, 5, 0, 0, 0, 2)], EVENT)
    return Record(
        header={
            "seconds": 2.0,
            "seconds_of_rank": [2.0, 2.0],
            "complete": False,
            "notes": ["rank 1 ended without Finalize; counts up to the last call"],
            "calls": ["MPI_Send", "MPI_Test"],
            "sampled_calls": ["MPI_Test"],
            "collectives": [{"call": "MPI_Bcast", "comm": 0, "bytes": 8, "root": 1, "calls": 4, "ranks": 2}],
            "carts": [{"dims": [2], "periodic": [True], "reorder": True}],
            "windows": [{"rank": 0, "first_call": 0, "first_event": 0, "events": 1}],
        },
        ranks=2,
        hosts=("a", "b"),
        node_of_rank=np.array([0, 1], "<i4"),
        socket_of_rank=np.array([-1, -1], "<i4"),
        core_of_rank=np.array([0, 0], "<i4"),
        pointer=np.array([0, 1, 2], "<i8"),
        peer=np.array([1, 0], "<u4"),
        messages=np.array([3, 0], "<u8"),
        bytes=np.array([2100, 0], "<u8"),
        pulled=np.array([0, 50], "<u8"),
        histogram=np.zeros((2, HISTOGRAM_BINS), "<u4"),
        events={0: events},
        call_counts=np.array([[3, 10], [0, 0]], "<u8"),
        call_ns=np.array([[900_000_000, 100_000_000], [0, 0]], "<i8"),
    )


def test_on_the_screen(record: Record, rankwise: Rankwise, tmp_path: Path) -> None:
    write_record(tmp_path / "app.comm", record)
    shown = rankwise("observe show app.comm")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == "✓ 25 % of the run of 2.00 s in MPI, mostly MPI_Send."
    assert lines[1] == "Record: partial, 2 ranks on 2 hosts (app.comm)."
    assert "rank 1 ended without Finalize; counts up to the last call" in shown.err
    said = " ".join(shown.out.split())
    assert "In MPI MPI_Send 90 %, MPI_Test 10 %" in said
    assert "Messages 3, 2.15 kB in all, 2.15 kB between hosts; a rank sends to 1 other, 2 communicating pairs" in said
    assert "Grid MPI_Cart_create 2, periodic, reordering allowed" in said
    assert lines[-3:] == ["0 | @|", "1 |* |", "Next  rankwise advise app.comm  what to change"]
    write_record(tmp_path / "few.comm", replace(record, call_counts=np.zeros((0, 2)), call_ns=np.zeros((0, 2))))
    few = rankwise("observe show few.comm").out
    assert "The run took 2.00 s" in few and "2 ranks on 2 hosts (few.comm)" in few


def test_what_was_fetched_is_in_the_matrix_and_ranks_are_put_together(record: Record) -> None:
    matrix, each = coarse_matrix(record, most=1)
    assert (matrix.tolist(), each) == ([[2150.0]], 2)


def test_as_json(record: Record, rankwise: Rankwise, tmp_path: Path) -> None:
    write_record(tmp_path / "app.comm", record)
    shown = rankwise("observe show app.comm --json").json
    assert (shown["ranks"], shown["seconds"], shown["mpi_share"], shown["events"]) == (2, 2.0, 0.25, 1)
    assert shown["pairs"][0] == {"source": 0, "dest": 1, "messages": 3, "bytes": 2100}
    assert shown["pairs"][1] == {"source": 1, "dest": 0, "messages": 0, "bytes": 0, "pulled": 50}
    assert shown["calls"][1] == {"call": "MPI_Test", "calls": 10, "seconds": 0.1, "sampled": True}


def exported_send(rankwise: Rankwise) -> Any:
    trace = json.loads(rankwise("observe export app.comm --format perfetto").out)["traceEvents"]
    return next(event for event in trace if event["ph"] == "X")


def test_in_other_formats(record: Record, rankwise: Rankwise, tmp_path: Path) -> None:
    from scipy.io import mmread

    write_record(tmp_path / "app.comm", record)
    assert rankwise("observe export app.comm --format matrixmarket -o app.mtx").code == 0
    np.testing.assert_array_equal(mmread(tmp_path / "app.mtx").toarray(), [[0, 2100], [50, 0]])
    assert rankwise("observe export app.comm --format csv").out.splitlines()[1:] == ["0,1,3,2100,0", "1,0,0,0,50"]
    assert "where" not in exported_send(rankwise)["args"]
    site = {"call": "MPI_Send", "module": None, "offset": 4, "function": "halo", "file": "/src/halo.c", "line": 9, "calls": 3}
    site |= {"seconds": 1.0, "ranks": 1, "most_seconds": 1.0, "most_rank": 0}
    known = replace(record, header={**record.header, "sites": [site]}, sites={0: np.array([0], "<u2")})
    write_record(tmp_path / "app.comm", known)
    send = exported_send(rankwise)
    assert send["args"]["where"] == "halo, halo.c:9"
    assert (send["name"], send["ts"], send["dur"], send["args"]["bytes"]) == ("MPI_Send", 1.0, 2.5, 700)
    assert rankwise("observe export app.comm --format otf2").code == 2
    assert rankwise("observe show absent.comm").code == 2


def test_numbers_as_a_person_writes_them() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
