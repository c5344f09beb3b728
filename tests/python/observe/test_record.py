"""The file of an observed program: what is written is read, and what is damaged is told in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.advise.evidence import evidence_of
from rankwise.errors import InputError
from rankwise.observe.record import COLLECTIVE, EVENT, HISTOGRAM_BINS, Record, read_record, record_of_events, write_record
from synthetic_events import ring, simulate


def a_record(ranks: int, seed: int, events: int = 5) -> Record:
    """A record of random messages."""
    draw = np.random.default_rng(seed)
    matrix = draw.random((ranks, ranks)) < 0.3
    edges = int(matrix.sum())
    calls = ["MPI_Send", "MPI_Recv"]
    listed = {}
    for rank in range(0, ranks, 2):
        listed[rank] = np.zeros(events, EVENT)
        for name in ("start_ns", "end_ns", "bytes"):
            listed[rank][name] = draw.integers(0, 1 << 40, events)
        listed[rank]["peer"] = draw.integers(-1, ranks, events)
        listed[rank]["call"] = draw.integers(0, 2, events)
        listed[rank]["kind"] = draw.integers(0, 7, events)
    windows = [{"rank": rank, "first_call": 7, "first_event": 0, "events": events} for rank in listed]
    return Record(
        header={"calls": calls, "windows": windows, "command": ["mpiexec", "ä"], "complete": True},
        ranks=ranks,
        hosts=("n0", "n1"),
        node_of_rank=draw.integers(-1, 2, ranks).astype("<i4"),
        socket_of_rank=np.full(ranks, -1, "<i4"),
        core_of_rank=np.arange(ranks, dtype="<i4"),
        pointer=np.concatenate([[0], np.cumsum(matrix.sum(axis=1))]).astype("<i8"),
        peer=np.nonzero(matrix)[1].astype("<u4"),
        messages=draw.integers(0, 1 << 48, edges).astype("<u8"),
        bytes=draw.integers(0, 1 << 48, edges).astype("<u8"),
        pulled=np.zeros(edges, "<u8"),
        histogram=draw.integers(0, 1 << 32, (edges, HISTOGRAM_BINS)).astype("<u4"),
        events=listed,
        call_counts=draw.integers(0, 1 << 62, (ranks, 2)).astype("<u8"),
        call_ns=draw.integers(0, 1 << 62, (ranks, 2)).astype("<i8"),
    )


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 40), st.integers(0, 1 << 30), st.integers(0, 100))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, ranks: int, seed: int, events: int) -> None:
    path = tmp_path_factory.mktemp("record") / "app.comm"
    record = a_record(ranks, seed, events)
    write_record(path, record)
    read = read_record(path)
    assert (read.ranks, read.hosts) == (record.ranks, record.hosts)
    assert record.header.items() <= read.header.items()
    assert read.header["schema"] == 1
    for name, value in vars(record).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(read, name), value)
            assert getattr(read, name).dtype == value.dtype
    assert read.events.keys() == record.events.keys()
    for rank, wanted in record.events.items():
        np.testing.assert_array_equal(read.events[rank], wanted)


@pytest.mark.parametrize("mixed", [0, 1 << 40])  # deflated or not
def test_of_too_many_events_the_first_are_looked_at(tmp_path: Path, mixed: int) -> None:
    path, events = tmp_path / "app.comm", simulate(ring(4, 500, 100_000, reduce_every=1))
    for rank, of_rank in events.items():
        of_rank["tag"][of_rank["kind"] == COLLECTIVE] = -1
        of_rank["start_ns"] -= np.random.default_rng(rank).integers(0, 400 if mixed else 1, len(of_rank))
    windows = [{"rank": r, "first_call": 0, "first_event": 0, "events": len(e)} for r, e in events.items()]
    header = {"calls": [f"MPI_{i}" for i in range(8)], "windows": windows, "seconds": 0.06}
    write_record(path, record_of_events(events, header, ["n0"], [0] * 4))
    read = read_record(path, 1000)
    assert {len(of_rank) for of_rank in read.events.values()} == {250}
    assert {window["events"] for window in read.header["windows"]} == {250}
    evidence = evidence_of(read, "app")
    assert evidence.steps is not None and evidence.steps.steps in range(24, 28)  # of 9 events
    assert "only the first 1000 of 18000 events are analysed, as many of each rank" in evidence.notes


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "app.comm"
    write_record(path, a_record(6, 1))
    content = path.read_bytes()
    for end in range(0, len(content), 11):
        path.write_bytes(content[:end])
        with pytest.raises(InputError, match=str(path)):
            read_record(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a record of 'rankwise observe'"),
        (b"RWcomm\r\n" + b"\xff" * 8, "ends within its header"),
        (b"RWcomm\r\n" + b"\x02" + bytes(7) + b"{}", "has no schema"),
        (b"RWcomm\r\n" + b"\x0c" + bytes(7) + b'{"schema":9}', "has schema 9, newer"),
        (b"RWcomm\r\n" + (40000).to_bytes(8, "little") + b"[" * 40000, "is no JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_record(tmp_path / "x")
    with pytest.raises(InputError, match="absent does not exist"):
        read_record(tmp_path / "absent")


def test_a_deflated_array_never_takes_more_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "app.comm"
    write_record(path, a_record(30, 3))
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"socket_of_rank","<i4",30,', b'"socket_of_rank","<i4",20,'))
    with pytest.raises(InputError, match="socket_of_rank has a wrong length"):
        read_record(path)


def test_a_record_that_is_none_is_not_written(tmp_path: Path) -> None:
    record = a_record(4, 1)
    record.peer[:] = 9
    with pytest.raises(InputError, match="peer does not ascend"):
        write_record(tmp_path / "app.comm", record)
    assert not list(tmp_path.iterdir())


SITE = {
    "call": "MPI_Send",
    "module": None,
    "offset": 1,
    "calls": 1,
    "seconds": 0.0,
    "ranks": 1,
    "most_seconds": 0.0,
    "most_rank": 0,
}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sites", [SITE | {"module": 3}], "sites or frames name no module"),
        ("frames", [{"module": 3, "offset": 1}], "sites or frames name no module"),
        ("sites", [SITE | {"module": None, "callers": [{"samples": 1, "frames": [0]}]}], "callers name no frame"),
        ("sites", [7], r"sites\[0\] 7 is not an object"),
        ("sites", [SITE | {"seconds": -1.0}], r"sites\[0\].seconds"),
        ("modules", [{"path": 7}], r"modules\[0\].path"),
        ("communicators", [{"size": 2, "ranks": [0, 9]}], "communicators have ranks that are none"),
        ("communicators", [{"size": 2, "ranks": [1, 1]}], "or one twice"),
        ("shapes", [{"element_bytes": 8, "commutative": True, "in_place": False, "counts": [-1]}], r"shapes\[0\].counts"),
        ("collectives", [{"call": "MPI_Bcast"}], "its header lacks 'comm'"),
        ("carts", [{"dims": [2, 0], "reorder": False, "periodic": [True, True]}], r"carts\[0\].dims"),
        ("carts", [{"dims": [2, 2], "reorder": False, "periodic": [True]}], "dims and periodic"),
        ("carts", [{"dims": [2, 2], "periodic": [True, True]}], "its header lacks 'reorder'"),
        ("windows", [{"rank": 0, "first_call": 0, "first_event": 3, "events": 9}], "a window of rank 0 ends behind its events"),
        ("seconds", 1e300, "seconds"),
        ("seconds_of_rank", [1.0], "seconds_of_rank has 1 entries, not 4"),
        ("clock_uncertainty_ns", [0], "clock_uncertainty_ns is not one for each host"),
        ("notes", "x", "notes"),
    ],
)
def test_a_header_that_cannot_be_is_told(tmp_path: Path, key: str, value: object, words: str) -> None:
    record = a_record(4, 1)
    with pytest.raises(InputError, match=words):
        write_record(tmp_path / "app.comm", replace(record, header={**record.header, key: value}))


@pytest.mark.parametrize("name", ["messages", "bytes", "pulled"])
def test_counts_that_cannot_be_are_refused(tmp_path: Path, name: str) -> None:
    record = a_record(4, 1)
    counts = getattr(record, name).copy()
    counts[:2] = 1 << 63
    with pytest.raises(InputError, match=f"{name} has counts that cannot be"):
        write_record(tmp_path / "app.comm", replace(record, **{name: counts}))


@pytest.mark.parametrize("name", ["start_ns", "end_ns"])
def test_times_that_cannot_be_are_refused(tmp_path: Path, name: str) -> None:
    record = a_record(4, 1)
    record.events[2][name][3] = (1 << 63) - 1
    with pytest.raises(InputError, match="events of rank 2 have times that cannot be"):
        write_record(tmp_path / "app.comm", record)


@pytest.mark.parametrize("size", [-1, 1 << 56])
def test_sizes_that_cannot_be_are_refused(tmp_path: Path, size: int) -> None:
    record = a_record(4, 1)
    record.events[2]["bytes"][3] = size
    with pytest.raises(InputError, match="events of rank 2 have sizes that cannot be"):
        write_record(tmp_path / "app.comm", record)


def test_a_pointer_whose_differences_wrap_around_is_refused(tmp_path: Path) -> None:
    record = a_record(4, 1)
    record.pointer[1:4] = [2**63 - 1, -(2**63), -1]
    assert (np.diff(record.pointer) >= 0).all()
    with pytest.raises(InputError, match="pointer does not ascend"):
        write_record(tmp_path / "app.comm", record)
