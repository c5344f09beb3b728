"""What a launcher may leave behind when it dies: processes, found by a mark in
their environment, segments of shared memory, and files."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

MARK = "RANKWISE_CHILD"
_ALL_PROCESSES = "pid:[4026531836]"  # the first namespace of processes, from which all are seen
_PATIENCE_S = 5.0  # for the system to bury what was killed
# How MPI libraries name their segments; a program's own are not ours to remove.
_LAUNCHERS_FILES = "hydra_hwloc_xmlfile_*"  # in /tmp, whatever TMPDIR says; Hydra's proxy holds it open
_SEGMENT = re.compile(r"(/dev/shm/(?:mpich_sh|ucx_shm_posix_|vader_segment\.|sm_segment\.|Intel_MPI_|fi_shm_|psm[23]_shm)\S*)$")


def new_mark() -> str:
    """Return what all that one child starts has in its environment; those of children further up stay in it."""
    own = f"{os.getpid()}-{time.monotonic_ns()}"
    return f"{outer}:{own}" if (outer := os.environ.get(MARK)) else own


File: TypeAlias = tuple[int, int]  # device and inode: each file system counts its own inodes


class Remains:
    """What there is of a child and all that it started on this node, wherever it was moved to: sessions, groups, parents."""

    def __init__(self, leader: int, mark: str) -> None:
        self._leader = leader
        self._mark = f"{MARK}={mark}".encode()
        self._begun = (_stat(leader) or (0, "", 0))[2]
        self._begun_unix_s = time.time()
        self.segments: set[Path] = set()

    def processes(self) -> list[int]:
        """Return the processes that live: those with the mark, and those that these have started."""
        parents: dict[int, int] = {}
        own: set[int] = set()
        for pid, (parent, state, begun) in _all_processes():
            if state in "ZX" or begun < self._begun:
                continue
            parents[pid] = parent
            # A number that is used again is another process.
            if self._is_marked(pid) or (pid, begun) == (self._leader, self._begun):
                own.add(pid)
        grown = True
        while grown:
            more = {pid for pid, parent in parents.items() if parent in own and pid not in own}
            own |= more
            grown = bool(more)
        return sorted(own & parents.keys())

    def note_segments(self) -> None:
        """Remember the segments of MPI libraries that the processes have mapped:
        once they are dead nothing tells whose these are."""
        for pid in self.processes():
            for line in _lines(f"/proc/{pid}/maps"):
                if "/dev/shm/" in line and (found := _SEGMENT.search(line)):
                    self.segments.add(Path(found[1]))

    def end(self) -> list[int]:
        """Kill what is left, remove its segments, and return the processes that do not end."""
        self.note_segments()
        give_up_s = time.monotonic() + _PATIENCE_S
        while (left := self.processes()) and time.monotonic() < give_up_s:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
            time.sleep(0.01)
        if not left:
            seen = os.readlink("/proc/self/ns/pid") == _ALL_PROCESSES
            remove(self.segments | (orphans(self._begun_unix_s) if seen else set()))
        return left

    def _is_marked(self, pid: int) -> bool:
        try:
            environment, command = (Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline"))
        except OSError:
            return False  # another user's, or gone
        at = environment.find(self._mark)
        if at < 0 or environment[at + len(self._mark) : at + len(self._mark) + 1] not in (b"", b"\0", b":"):
            return False
        # A connection that ssh keeps for others is not ended with the one that opened it.
        return b"[mux]" not in command


def orphans(since_unix_s: float) -> set[Path]:
    """Return files of MPI libraries and launchers that are ours, younger than that, and that no process has any more.

    What ranks and launchers leave that die while they have them. To be asked only where all processes of the node can be seen:
    not in a container, whose /dev/shm may be others', too.
    """
    found: dict[File, Path] = {}
    for path in (*Path("/dev/shm").iterdir(), *Path("/tmp").glob(_LAUNCHERS_FILES)):
        try:
            stat = path.lstat()
        except OSError:
            continue
        is_known = path.parent != Path("/dev/shm") or _SEGMENT.search(str(path))
        if is_known and stat.st_uid == os.geteuid() and stat.st_ctime >= since_unix_s - 1:
            found[stat.st_dev, stat.st_ino] = path
    for process in os.listdir("/proc") if found else ():
        if not process.isdecimal():
            continue
        for file in (_mapped_segments(process) | _open_files(process)) & found.keys():
            del found[file]
    return set(found.values())


def _mapped_segments(process: str) -> set[File]:
    found = set()
    for line in _lines(f"/proc/{process}/maps"):
        if "/dev/shm/" in line:
            _, _, _, device, inode, *_ = line.split()
            major, minor = (int(number, 16) for number in device.split(":"))
            found.add((os.makedev(major, minor), int(inode)))
    return found


def _open_files(process: str) -> set[File]:
    """Return what a process has open; one that it closes meanwhile hides no other."""
    found = set()
    try:
        for name in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                stat = os.stat(f"/proc/{process}/fd/{name}")
                found.add((stat.st_dev, stat.st_ino))
    except OSError:
        pass
    return found


def remove(paths: Iterable[Path]) -> None:
    """Remove those of the files that are ours; one that is gone is gone."""
    for path in paths:
        try:
            if path.stat().st_uid == os.geteuid():
                path.unlink()
        except OSError:
            pass


def memory_kills() -> int:
    """Return how many processes the kernel has killed on this node for want of memory since it was started."""
    words = (line.split() for line in _lines("/proc/vmstat"))
    return next((int(line[1]) for line in words if line[0] == "oom_kill"), 0)


def waited_s(pid: int) -> float:
    """Return for how long a process has been ready to run and had no processor;
    0 where it is gone, or the system does not tell."""
    words = (_lines(f"/proc/{pid}/schedstat") or [""])[0].split()
    return int(words[1]) * 1e-9 if len(words) > 1 else 0.0


def _all_processes() -> Iterator[tuple[int, tuple[int, str, int]]]:
    for name in os.listdir("/proc"):
        if name.isdecimal() and (stat := _stat(int(name))) is not None:
            yield int(name), stat


def _stat(pid: int) -> tuple[int, str, int] | None:
    """Return the parent of a process, its state, and when it began (in ticks); None where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0].decode(), int(fields[19])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
