"""One program in every language under every MPI, exact to the byte; random programs by their own counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from breadth import ALL
from rankwise.advise.evidence import evidence_of
from rankwise.observe.record import Record, read_record
from rankwise.observe.start import library, observe
from rankwise.observe.summary import pairs, senders

pytestmark = pytest.mark.mpi
RANKS = 4
DEBIAN = "/usr/lib/x86_64-linux-gnu"
MPIS = Path(__file__).parents[3] / "build" / "mpis"
OTHERS = [pytest.param(kind, marks=pytest.mark.system_mpi) for kind in ("mpich", "openmpi", "openmpi5", "intel")]
Build = Callable[..., Path]
Start = Callable[[str, int], list[str]]


def known_pairs(messages: int, size: int) -> list[dict[str, int]]:
    """To the right so many messages and bytes, one to the left, and 13 bytes that the left one fetched."""
    right = {(rank, (rank + 1) % RANKS): {"messages": messages, "bytes": size} for rank in range(RANKS)}
    left = {(rank, (rank - 1) % RANKS): {"messages": 1, "bytes": 16, "pulled": 13} for rank in range(RANKS)}
    return [{"source": a, "dest": b, **of_pair} for (a, b), of_pair in sorted({**right, **left}.items())]


def check(record: Record | None, part: bool = False) -> None:
    assert record is not None
    assert pairs(record) in (known_pairs(16, 409), known_pairs(15, 377))
    assert record.histogram.sum() == record.messages.sum()
    assert record.header["complete"] is not part
    tables = {(line["call"], line["bytes"], line["root"]): line["calls"] for line in record.header["collectives"]}
    assert tables == {("MPI_Allreduce", 8, None): 4, ("MPI_Bcast", 50, 1): 4, ("MPI_Barrier", 0, None): 8}


def check_events(record: Record) -> None:
    """Each send has its receive, in the same communicator, and each request one completion."""
    calls, sends, receives = record.header["calls"], [], []
    for rank, events in record.events.items():
        assert (events["end_ns"] >= events["start_ns"]).all() and (np.diff(events["start_ns"]) >= 0).all()
        receives_of = {int(e["request"]) for e in events if e["kind"] == 1}
        for event in events:
            key = (int(event["tag"]), int(event["comm"]), int(event["bytes"]))
            assert event["kind"] != 6 or calls[event["call"]] not in ("MPI_Recv", "MPI_Sendrecv")
            if event["kind"] in (0, 2):
                sends.append((rank, int(event["peer"]), *key))
            elif event["kind"] == 3 or (event["kind"] == 4 and int(event["request"]) in receives_of):
                receives.append((int(event["peer"]), rank, *key))
        for kind in (0, 1):
            posted = events["request"][events["kind"] == kind]
            assert np.isin(posted, events["request"][events["kind"] == 4]).all() and len(set(posted)) == len(posted)
    # A persistent receive has one request for each start.
    assert sorted(sends) == sorted(receives)


@pytest.mark.parametrize("kind", ["pip", "abi", *OTHERS])
def test_in_c(build: Build, start: Start, tmp_path: Path, kind: str) -> None:
    program = build(kind, "known_answer.c")
    code, record = observe([*start(kind, RANKS), str(program), "finalize", "3"], tmp_path / "app.comm")
    assert code == 3
    check(record, part=True)  # its exit code says that something was wrong
    check_events(read_record(tmp_path / "app.comm"))
    assert list(tmp_path.iterdir()) == [tmp_path / "app.comm"]
    assert read_record(tmp_path / "app.comm").header["carts"] == [{"dims": [4], "periodic": [True], "reorder": False}]


@pytest.mark.system_mpi
@pytest.mark.parametrize(
    ("kind", "flags"),
    [(kind, flags) for kind in ("mpich", "openmpi") for flags in ((), ("-DUSE_MPI",), ("-DUSE_F08",))] + [("intel", ())],
)
def test_in_fortran(build: Build, start: Start, tmp_path: Path, kind: str, flags: tuple[str, ...]) -> None:
    program = build(kind, "known_answer.F90", "-fallow-argument-mismatch", *flags)
    code, record = observe([*start(kind, RANKS), str(program)], tmp_path / "app.comm")
    assert code == 0
    check(record)


@pytest.mark.parametrize("kind", ["pip", *OTHERS])
def test_in_python(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    pytest.importorskip("mpi4py")
    if kind == "mpich":  # Debian has no libmpi.so.12
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "libmpi.so.12").symlink_to(f"{DEBIAN}/libmpich.so.12")
        monkeypatch.setenv("MPI4PY_MPIABI", "mpich")
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "lib"))
    if kind == "openmpi":
        monkeypatch.setenv("MPI4PY_LIBMPI", f"{DEBIAN}/libmpi.so.40")
    if kind == "openmpi5":
        monkeypatch.setenv("MPI4PY_LIBMPI", f"{MPIS}/openmpi5/lib/libmpi.so.40")
    if kind.startswith("openmpi"):
        monkeypatch.setenv("MPI4PY_MPIABI", "openmpi")
    if kind == "intel":
        monkeypatch.setenv("MPI4PY_MPIABI", "mpich")
        monkeypatch.setenv("LD_LIBRARY_PATH", f"{MPIS}/intel/lib")
    program = [sys.executable, str(Path(__file__).parent / "known_answer.py")]
    code, record = observe([*start(kind, RANKS), *program], tmp_path / "app.comm")
    assert code == 0
    check(record)


@pytest.mark.parametrize(
    ("kind", "programs"), [("pip", 25), pytest.param("openmpi", 400 if ALL else 25, marks=pytest.mark.system_mpi)]
)
def test_random_programs_by_their_own_counts(
    build: Build, start: Start, tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str, programs: int
) -> None:
    program = build(kind, "random_calls.c")
    code, record = observe([*start(kind, RANKS), str(program), "20", str(programs)], tmp_path / "app.comm")
    assert code == 0 and record is not None
    wanted, found = (np.zeros((3, RANKS, RANKS), np.int64) for _ in range(2))
    lines = [line.split()[1:] for line in capfd.readouterr().out.splitlines() if line.startswith("expect")]
    assert len(lines) >= RANKS * (RANKS - 1)
    for rank, peer, messages, size, pulled in (map(int, line) for line in lines):
        wanted[:2, rank, peer] += messages, size
        wanted[2, peer, rank] += pulled
    found[:, senders(record), record.peer] = record.messages, record.bytes, record.pulled
    np.testing.assert_array_equal(found, wanted)


def test_threads(build: Build, start: Start, tmp_path: Path) -> None:
    code, record = observe([*start("pip", 2), str(build("pip", "threads.c", "-pthread"))], tmp_path / "app.comm")
    assert code == 0 and record is not None
    assert pairs(record) == [{"source": a, "dest": 1 - a, "messages": 4000, "bytes": 10000} for a in (0, 1)]
    assert record.histogram[:, 1:4].tolist() == [[1000, 2000, 1000]] * 2  # 1, 2 to 3, 4 bytes
    for events in record.events.values():
        completed = events["request"][events["kind"] == 4]
        assert len(set(completed.tolist())) == 8000 and 0 not in completed
    evidence = evidence_of(record, "app.comm")
    assert evidence.steps is not None or "(several threads may call MPI at once, whose calls mix)" in evidence.notes[0]


@pytest.mark.parametrize("kind", ["pip", pytest.param("openmpi", marks=pytest.mark.system_mpi)])
def test_ranks_that_are_spawned_are_told_and_left_out(build: Build, start: Start, tmp_path: Path, kind: str) -> None:
    code, record = observe([*start(kind, 2), str(build(kind, "spawns.c"))], tmp_path / "app.comm")
    assert code == 0 and record is not None and record.ranks == 2
    assert "2 ranks that the program spawned are not in the record" in record.header["notes"]
    assert record.header["others"] == [{"rank": rank, "messages": 1, "bytes": 4} for rank in (0, 1)]
    assert any("ranks 0-1 sent 2 messages, 8 B, to ranks outside" in note for note in record.header["notes"])
    assert pairs(record) == [{"source": a, "dest": 1 - a, "messages": 1, "bytes": 16} for a in (0, 1)]


def test_nothing_but_mpis_names_is_visible() -> None:
    done = subprocess.run(["readelf", "-W", "--dyn-syms", str(library())], capture_output=True, text=True, check=True)
    names = {
        line.split()[7]
        for line in done.stdout.splitlines()
        if " UND " not in line and len(line.split()) == 8 and line.split()[0] != "Num:"
    }
    assert {"MPI_Send", "PMPI_Send", "MPI_Send_c", "PMPI_Ialltoallw_c", "MPI_Init", "mpi_send_"} <= names
    assert all(name.startswith(("MPI_", "PMPI_", "mpi_")) for name in names)
