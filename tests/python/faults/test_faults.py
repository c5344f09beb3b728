"""Each fault of the table: the words, the exit code, the samples, going on, and nothing of ours left.

A quick share of them; RANKWISE_FAULTS=all: all of them (``make faults``), with a line for each in build/faults.txt.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from room import KERNELS, PATIENCE_S, PROXIES, Room, whole_lines
from table import HANG, MEASURE, RUN, SILENT, SIMULATE, TABLE, Fault

pytestmark = [pytest.mark.mpi]
ALL = os.environ.get("RANKWISE_FAULTS") == "all"
BUSY_S = "300"  # of silence that a machine with other work may keep
Line = namedtuple("Line", "what kind code told_s gone_s words samples went_on")
ROWS = [fault for fault in TABLE if fault.quick or ALL]
PROGRAMS = {"openmpi": "mpicxx.openmpi", "simgrid": "smpirun"}


def test_there_are_sixty_faults_and_each_has_a_name() -> None:
    assert len({fault.what for fault in TABLE}) == len(TABLE) >= 60


@pytest.fixture(scope="module", autouse=True)
def lines() -> Iterator[list[Line]]:
    """What became of each fault, to be written as a table with its longest seconds."""
    found: list[Line] = []
    yield found
    if not ALL or not found:
        return
    table = [
        f"{line.what} | {line.code} | told {line.told_s:.1f} s, gone {line.gone_s:.1f} s | {line.words} | {line.samples} "
        f"lines | {line.went_on}"
        for line in found
    ]  # fmt: skip
    for kind in ("death", "silence", "file"):
        of_kind = [line for line in found if line.kind == kind]
        told_s, gone_s = (max((getattr(line, name) for line in of_kind), default=0.0) for name in ("told_s", "gone_s"))
        table.append(f"{len(of_kind)} x {kind}: told after at most {told_s:.1f} s, nothing left after at most {gone_s:.1f} s")
    Path("build").mkdir(exist_ok=True)
    with Path("build/faults.txt").open("a") as stream:
        stream.write("\n".join(table) + "\n")


@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.what.replace(" ", "-"))
def test_a_fault(fault: Fault, tmp_path: Path, lines: list[Line], request: pytest.FixtureRequest) -> None:
    if fault.root and os.geteuid() != 0:
        pytest.skip("needs root, for mounts and capabilities")
    if fault.needs and shutil.which(PROGRAMS[fault.needs]) is None:
        pytest.skip(f"needs {PROGRAMS[fault.needs]}")
    with Room(tmp_path, os.geteuid() == 0) as room:
        _environment(fault, room)
        if fault.needs == "openmpi":
            room.environment["XDG_CACHE_HOME"] = str(request.getfixturevalue("openmpi_cache"))
        code, begun_s = _happens(fault, room)
        told_s, err = time.monotonic() - begun_s, (tmp_path / "err").read_text(errors="replace")
        assert "Traceback" not in err and "internal error" not in err
        assert re.search(fault.says, err, re.MULTILINE | re.DOTALL), err
        assert code == fault.code, err
        room.until("no process is left", lambda: not room.processes())
        assert room.segments() == []
        gone_s = time.monotonic() - begun_s
        good, bad = _samples(fault, room)
        assert (good > 0) == (fault.samples == "some") or fault.samples == "none" and good <= 3  # the campaign's head
        assert bad <= fault.bad_lines
        went_on = _goes_on(fault, room)
        assert went_on == fault.resume or (went_on, fault.resume) == (6, 0), (tmp_path / "err").read_text(errors="replace")
        assert room.segments() == [] and room.processes() == []
        lines.append(Line(fault.what, fault.kind, code, told_s, gone_s, " ".join(err.split())[-200:], good, went_on))


def _environment(fault: Fault, room: Room) -> None:
    room.environment = {"RANKWISE_SILENCE_S": fault.silence_s or ("10" if fault.says in (HANG, SILENT) else BUSY_S)}
    if fault.needs == "openmpi":
        folder = room.folder / "bin"
        folder.mkdir()
        for name in ("mpicxx", "mpiexec"):
            (folder / name).symlink_to(str(shutil.which(f"{name}.openmpi")))
        room.environment |= {"PATH": f"{folder}:{os.environ['PATH']}", "RANKWISE_MPI": "system"}


def _happens(fault: Fault, room: Room) -> tuple[int, float]:
    """Bring the fault about; return the exit code, and when the fault was."""
    if fault.when == "before" and fault.do is not None:
        fault.do(room)
    begun_s = time.monotonic()
    child = room.start(*fault.command.split())
    if fault.when == "start":
        room.until("it has begun", lambda: _takes_signals(child.pid), child)
    elif fault.when == "ranks":
        room.until("ranks run", lambda: room.processes(*PROXIES, "smpirun") and room.processes(KERNELS), child)
    elif fault.when == "measuring":
        samples = list(room.folder.glob("*.samples.jsonl")) or [room.folder / "m.samples.jsonl"]
        room.until("samples are there", lambda: any(b'"samples"' in path.read_bytes() for path in
                                                    (*samples, *room.folder.glob("*/*.samples.jsonl")) if path.exists()),
                                                        child)  # fmt: skip
    if fault.when != "before" and fault.do is not None:
        fault.do(room)
        begun_s = time.monotonic()
    return child.wait(PATIENCE_S), begun_s


def _takes_signals(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & 1)


def _samples(fault: Fault, room: Room) -> tuple[int, int]:
    found = [whole_lines(path) for path in room.view.rglob("*.samples.jsonl") if not path.is_symlink()]
    return sum(good for good, _ in found), sum(bad for _, bad in found)


def _goes_on(fault: Fault, room: Room) -> int | None:
    """Go on where the fault left it, as the message says; what caused the fault stays where that is what is tested."""
    if fault.resume is None:
        return None
    if fault.resume == 0:
        room.before = ()
        room.environment["RANKWISE_SILENCE_S"] = BUSY_S
    if fault.command in (RUN, SIMULATE):
        return room.run(*fault.command.split())[0]
    if not (room.folder / "m.samples.jsonl").exists():  # it had not begun
        return room.run(*MEASURE.split())[0]
    return room.run("measure", "-o", "m.json", "--resume")[0]
