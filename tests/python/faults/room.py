"""A room for faults: a folder and a /dev/shm of its own, the processes that were started in it, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

MARK = "RANKWISE_FAULT"
PATIENCE_S = 300.0
KERNELS, PROXIES = "rankwise-kernels", ("hydra_pmi_proxy", "orted", "prted")
LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun", "smpirun")


class Room:
    """``root`` gives it mounts of its own; without, segments are not looked for, for others' are in /dev/shm, too."""

    def __init__(self, folder: Path, root: bool) -> None:
        self.folder, self.root = folder, root
        self.mark = uuid.uuid4().hex
        self.environment: dict[str, str] = {}
        self.before: tuple[str, ...] = ()  # words that start the command: limits, capabilities
        self.held: list[IO[bytes]] = []  # closed at the end
        self.groups: list[Path] = []  # of memory, removed at the end
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Room:
        if self.root:
            script = "mount -t tmpfs -o size=256m shm /dev/shm && echo ready && exec sleep 3600"
            self._keeper = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", script], stdout=subprocess.PIPE
            )
            assert self._keeper.stdout is not None and self._keeper.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None) -> None:
        for stream in self.held:
            stream.close()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        for group in self.groups:
            self.until("the memory group is empty", lambda group=group: not (group / "cgroup.procs").read_text())
            group.rmdir()
        if self._keeper is not None:
            self._keeper.kill()
            self._keeper.communicate()

    @property
    def view(self) -> Path:
        """The folder with what is mounted in it."""
        return self.folder if self._keeper is None else Path(f"/proc/{self._keeper.pid}/root{self.folder}")

    def inside(self, *words: str) -> list[str]:
        """Return a command as it is run in the room."""
        if self._keeper is None:
            return [*self.before, *words]
        return [
            "nsenter",
            f"--mount=/proc/{self._keeper.pid}/ns/mnt",
            "--",
            "env",
            "-C",
            str(self.folder),
            *self.before,
            *words,
        ]

    def mount(self, name: str, options: str) -> Path:
        """Mount a small file system of memory on a folder of the room."""
        (self.folder / name).mkdir(exist_ok=True)
        subprocess.run(self.inside("mount", "-t", "tmpfs", "-o", options, "small", str(self.folder / name)), check=True)
        return self.folder / name

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start rankwise, its signals as in a terminal."""
        environment = {**os.environ, **self.environment, MARK: self.mark}

        def as_in_a_terminal() -> None:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)

        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            return subprocess.Popen(
                self.inside(sys.executable, "-m", "rankwise", *words), cwd=self.folder, env=environment, text=True,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, preexec_fn=as_in_a_terminal,
            )  # fmt: skip

    def run(self, *words: str) -> tuple[int, str]:
        """Run rankwise to its end; return its exit code and what it said on stderr."""
        code = self.start(*words).wait(PATIENCE_S)
        return code, (self.folder / "err").read_text(errors="replace")

    def processes(self, *names: str) -> list[int]:
        """Return the living processes of the room, those of some programs only where these are named."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                if f"{MARK}={self.mark}".encode() not in (entry / "environ").read_bytes():
                    continue
                if (entry / "stat").read_bytes().rpartition(b") ")[2][:1] in b"ZX":
                    continue
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if not names or any(Path(word).name in names for word in words[:3]):
                found.append(int(entry.name))
        return sorted(found)

    def segments(self) -> list[str]:
        """Return what lies in the room's /dev/shm."""
        return [] if self._keeper is None else os.listdir(f"/proc/{self._keeper.pid}/root/dev/shm")

    def until(self, what: str, holds: Callable[[], object], child: subprocess.Popen[str] | None = None) -> None:
        """Wait until something holds."""
        end_s = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end_s, f"{what}: not after {PATIENCE_S:.0f} s; {(self.folder / 'err').read_text()}"
            assert child is None or child.poll() is None, f"{what}: not before the end; {(self.folder / 'err').read_text()}"
            time.sleep(0.01)

    def kill(self, number: int, *names: str) -> None:
        """Send a signal to all processes of some programs in the room."""
        self.until(f"there is a {names[0]}", lambda: self.processes(*names))
        for pid in self.processes(*names):
            os.kill(pid, number)

    def limit_memory(self, pid: int, limit_bytes: int) -> None:
        """Let a process have so many more bytes of memory, before the kernel
        kills it. Raises OSError where that cannot be had."""
        groups = dict(line.split(":")[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
        below = groups.get("memory", groups.get(""))
        assert below is not None
        kind, limit = ("memory", "memory.limit_in_bytes") if "memory" in groups else ("", "memory.max")
        group = Path("/sys/fs/cgroup") / kind / below.lstrip("/") / f"rankwise-{self.mark}"
        group.mkdir()
        self.groups.append(group)
        (group / limit).write_text(str(limit_bytes))
        (group / "cgroup.procs").write_text(str(pid))

    def script(self, name: str, text: str) -> Path:
        """Write a program of the shell into the room."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path


def whole_lines(path: Path) -> tuple[int, int]:
    """Return how many lines of a file are whole JSON, and how many are not."""
    lines: Sequence[bytes] = path.read_bytes().split(b"\n") if path.exists() else []
    good = bad = 0
    for line in filter(None, lines):
        try:
            json.loads(line)
            good += 1
        except ValueError:
            bad += 1
    return good, bad
