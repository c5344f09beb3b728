"""Traces that otf2's own writer wrote become records: by hand count, and the same step as a record of the same program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.errors import InputError
from rankwise.observe.otf2 import read_otf2
from rankwise.observe.phases import observed_step
from rankwise.observe.record import (
    BLOCKING_RECEIVE,
    BLOCKING_SEND,
    COLLECTIVE,
    COMPLETION,
    RECEIVE,
    SEND,
    read_record,
    write_record,
)
from synthetic_events import ring, simulate

otf2 = pytest.importorskip("otf2")
Call = tuple[str, int, int, list[tuple[Any, ...]]]  # MPI function, begin, end, its events: (time, kind, what the writer takes)


def write(folder: Path, calls: dict[int, list[Call]], hosts: list[str], resolution: int = 10**9) -> Path:
    """Write a trace of ranks' calls with a second thread a rank, whose calls are none of ours."""
    from otf2.enums import GroupType, LocationType, Paradigm  # type: ignore[import-untyped]

    with otf2.writer.open(str(folder), timer_resolution=resolution) as trace:
        made = trace.definitions
        top = made.system_tree_node("cluster")
        nodes = {host: made.system_tree_node(host, parent=top) for host in dict.fromkeys(hosts)}
        groups = [made.location_group(f"rank {rank}", system_tree_parent=nodes[hosts[rank]]) for rank in calls]
        locations = [made.location("main", type=LocationType.CPU_THREAD, group=group) for group in groups]
        thread = made.location("worker", type=LocationType.CPU_THREAD, group=groups[0])
        made.group("world", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
        whole = made.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=locations)
        half = made.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=locations[::-1][:2])
        comms = {"world": made.comm("MPI_COMM_WORLD", group=whole), "last two": made.comm("", group=half)}
        regions: dict[str, Any] = {}
        other = trace.event_writer_from_location(thread)
        work = made.region("omp work", paradigm=Paradigm.OPENMP)
        other.enter(1, work)
        other.leave(2, work)
        for rank, listed in calls.items():
            writer = trace.event_writer_from_location(locations[rank])
            for name, begin, end, events in listed:
                region = regions.setdefault(name, made.region(name, paradigm=Paradigm.MPI))
                writer.enter(begin, region)
                for at, kind, *values in events:
                    getattr(writer, kind)(
                        at, *(comms.get(value, value) if isinstance(value, str) else value for value in values)
                    )
                writer.leave(end, region)
    return folder / "traces.otf2"


def test_calls_messages_and_communicators(tmp_path: Path) -> None:
    from otf2.enums import CollectiveOp

    calls: dict[int, list[Call]] = {
        0: [
            ("MPI_Irecv", 10, 11, [(11, "mpi_irecv_request", 7)]),
            ("MPI_Isend", 12, 13, [(13, "mpi_isend", 1, "world", 5, 400, 8)]),
            ("MPI_Waitall", 20, 40, [(39, "mpi_irecv", 1, "world", 6, 0, 7), (39, "mpi_isend_complete", 8)]),
        ],
        1: [
            ("MPI_Send", 11, 15, [(11, "mpi_send", 0, "world", 6, 0)]),
            ("MPI_Recv", 16, 30, [(29, "mpi_recv", 0, "world", 5, 400)]),
        ],
        2: [
            ("MPI_Allreduce", 50, 60,
             [(50, "mpi_collective_begin"), (60, "mpi_collective_end", CollectiveOp.ALLREDUCE, "last two", 0xFFFFFFFF, 8, 8)]),
        ],
        3: [
            ("MPI_Allreduce", 52, 60,
             [(52, "mpi_collective_begin"), (60, "mpi_collective_end", CollectiveOp.ALLREDUCE, "last two", 0xFFFFFFFF, 8, 8)]),
            ("MPI_Sendrecv", 70, 80, [(70, "mpi_send", 1, "last two", 9, 16), (80, "mpi_recv", 0, "last two", 9, 24)]),
        ],
    }  # fmt: skip
    found = read_otf2(write(tmp_path / "trace", calls, ["a", "a", "b", "b"], resolution=10**8))
    assert (found.ranks, found.hosts, found.node_of_rank.tolist()) == (4, ("a", "b"), [0, 0, 1, 1])
    names = found.header["calls"]
    rows = {
        rank: [(names[event["call"]], *(int(event[key]) for key in ("kind", "peer", "tag", "bytes"))) for event in events]
        for rank, events in found.events.items()
    }
    assert rows[0] == [
        ("MPI_Irecv", RECEIVE, 1, 6, 0), ("MPI_Isend", SEND, 1, 5, 400), ("MPI_Waitall", COMPLETION, 1, 6, 0),
        ("MPI_Waitall", COMPLETION, -1, -1, 0),
    ]  # fmt: skip
    assert rows[1] == [("MPI_Send", BLOCKING_SEND, 0, 6, 0), ("MPI_Recv", BLOCKING_RECEIVE, 0, 5, 400)]
    assert [row[1:] for row in rows[2]] == [(COLLECTIVE, -1, -1, 8)]
    # Of the communicator of the last two, 0 is the world's rank 3 and 1 its 2.
    assert [row[1:4] for row in rows[3][1:]] == [(BLOCKING_SEND, 2, 9), (BLOCKING_RECEIVE, 3, 9)]
    comm = found.header["communicators"][int(found.events[2]["comm"][0])]
    assert comm == {"size": 2, "ranks": [3, 2]}
    assert found.header["communicators"][int(found.events[0]["comm"][1])] == {"size": 4, "ranks": None}
    # Ticks of 10 ns, since the first event of any rank.
    assert (int(found.events[0]["start_ns"][1]), int(found.events[0]["end_ns"][3])) == (20, 300)
    edges = {(0, 1): (1, 400), (1, 0): (1, 0), (3, 2): (1, 16)}
    rows_of = np.repeat(np.arange(4), np.diff(found.pointer)).tolist()
    listed = zip(rows_of, found.peer.tolist(), found.messages.tolist(), found.bytes.tolist(), strict=True)
    assert {(a, b): (m, n) for a, b, m, n in listed} == edges
    assert found.call_counts.sum() == 8
    write_record(tmp_path / "app.comm", found)
    assert read_record(tmp_path / "app.comm").events[1].tolist() == found.events[1].tolist()


def test_a_traced_program_has_the_step_of_the_recorded_one(tmp_path: Path) -> None:
    recorded = simulate(ring(4, 30, 40_000, 700))
    calls: dict[int, list[Call]] = {}
    for rank, events in recorded.items():
        calls[rank] = []
        for row in events.tolist():
            start, end, size, peer, tag, request, _, _, kind = row
            end = max(end, start + 1)
            if kind == RECEIVE:
                calls[rank].append(("MPI_Irecv", start, end, [(end, "mpi_irecv_request", request)]))
            elif kind == SEND:
                calls[rank].append(("MPI_Isend", start, end, [(end, "mpi_isend", peer, "world", tag, size, request)]))
            else:
                receives = any(one["request"] == request and one["kind"] == RECEIVE for one in events)
                done: tuple[Any, ...] = (
                    ("mpi_irecv", peer, "world", tag, size, request) if receives else ("mpi_isend_complete", request)
                )
                if calls[rank][-1][0] == "MPI_Waitall" and calls[rank][-1][1] == start:
                    calls[rank][-1][3].append((end, *done))
                else:
                    calls[rank].append(("MPI_Waitall", start, end, [(end, *done)]))
    step = observed_step(read_otf2(write(tmp_path / "trace", calls, ["n"] * 4)))
    sent = sorted(zip(step.source.tolist(), step.dest.tolist(), step.bytes.tolist(), strict=True))
    assert sent == sorted((r, (r + d) % 4, 700) for r in range(4) for d in (1, -1))
    np.testing.assert_allclose(step.compute_s.sum(axis=0), 40e-6, rtol=0.01)


def test_clocks_that_disagree_are_said(tmp_path: Path) -> None:
    calls: dict[int, list[Call]] = {
        0: [("MPI_Send", 500_000, 500_100, [(500_000, "mpi_send", 1, "world", 1, 8)])],
        1: [("MPI_Recv", 100, 2_000, [(2_000, "mpi_recv", 0, "world", 1, 8)])],
    }
    found = read_otf2(write(tmp_path / "trace", calls, ["a", "b"]))
    assert found.header["clocks_disagree"]
    assert "498000 ns before it is sent" in " ".join(found.header["notes"])


def test_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        read_otf2(tmp_path / "traces.otf2")
    wrong = tmp_path / "wrong.otf2"
    wrong.write_text("no trace")
    with pytest.raises(InputError, match="no OTF2 trace"):
        read_otf2(wrong)
    nothing = write(tmp_path / "empty", {0: [], 1: []}, ["a", "a"])
    with pytest.raises(InputError, match="no calls of MPI"):
        read_otf2(nothing)
