"""Each fault of the table: the words, the exit code, the samples, going on, and nothing of ours left.

A quick share of them; RANKWISE_FAULTS=all: all of them (``make faults``), with a line for each in build/faults.txt.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from room import KERNELS, PROXIES, Room, whole_lines
from table import HANG, MEASURE, TABLE, Fault

pytestmark = [pytest.mark.mpi]
ALL = os.environ.get("RANKWISE_FAULTS") == "all"
ROWS = [fault for fault in TABLE if fault.quick or ALL]
PROGRAMS = {"openmpi": "mpicxx.openmpi", "simgrid": "smpirun"}


def test_there_are_sixty_faults_and_each_has_a_name() -> None:
    assert len({fault.what for fault in TABLE}) == len(TABLE) >= 60


@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.what.replace(" ", "-"))
def test_a_fault(fault: Fault, tmp_path: Path) -> None:
    if fault.root and os.geteuid() != 0:
        pytest.skip("needs root, for mounts and capabilities")
    if fault.needs and shutil.which(PROGRAMS[fault.needs]) is None:
        pytest.skip(f"needs {PROGRAMS[fault.needs]}")
    with Room(tmp_path, os.geteuid() == 0) as room:
        _environment(fault, room)
        assert (code := _happens(fault, room)) is not None
        took_s, err = code[1], (tmp_path / "err").read_text(errors="replace")
        assert "Traceback" not in err and "internal error" not in err
        assert re.search(fault.says, err, re.MULTILINE | re.DOTALL), err
        assert code[0] == fault.code, err
        room.until("no process is left", lambda: not room.processes())
        assert room.segments() == []
        good, bad = _samples(fault, room)
        assert (good > 0) == (fault.samples == "some") or fault.samples == "none" and good <= 3  # the campaign's head
        assert bad <= fault.bad_lines
        went_on = _goes_on(fault, room)
        assert went_on == fault.resume
        assert room.segments() == [] and room.processes() == []
        _tell(f"{fault.what} | {code[0]} | {took_s:.1f} s | {' '.join(err.split())[-200:]} | {good} lines | {went_on}")


def _environment(fault: Fault, room: Room) -> None:
    room.environment = {"RANKWISE_SILENCE_S": "10"} if fault.says == HANG else {}  # a busy machine is silent, too
    if fault.needs == "openmpi":
        folder = room.folder / "bin"
        folder.mkdir()
        for name in ("mpicxx", "mpiexec"):
            (folder / name).symlink_to(str(shutil.which(f"{name}.openmpi")))
        cache = Path(os.environ.get("RANKWISE_FAULTS_CACHE", "build/faults-cache")).absolute()
        room.environment |= {"PATH": f"{folder}:{os.environ['PATH']}", "RANKWISE_MPI": "system", "XDG_CACHE_HOME": str(cache)}


def _happens(fault: Fault, room: Room) -> tuple[int, float]:
    """Bring the fault about; return the exit code, and the seconds from the fault to the end."""
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
                                                    (*samples, *room.folder.glob("*/*.samples.jsonl")) if path.exists()), child)  # fmt: skip
    if fault.when != "before" and fault.do is not None:
        fault.do(room)
        begun_s = time.monotonic()
    code = child.wait(120)
    return code, time.monotonic() - begun_s


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
    if not (room.folder / "m.samples.jsonl").exists():  # it had not begun
        return room.run(*MEASURE_ANEW)[0]
    code, err = room.run("measure", "-o", "m.json", "--resume")
    # It went on to the end; on a starved machine its seconds do not suffice for a profile, which it says.
    return 0 if code == 2 and "a model needs at least 3; measure anew with more --seconds" in err else code


MEASURE_ANEW = MEASURE.split()


def _tell(line: str) -> None:
    if ALL:
        Path("build").mkdir(exist_ok=True)
        with Path("build/faults.txt").open("a") as stream:
            stream.write(line + "\n")
