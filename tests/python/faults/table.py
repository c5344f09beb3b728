"""The faults: what is killed or filled, when, and what must become of it. One row each, to be read as a table."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from room import KERNELS, LAUNCHERS, PROXIES, Room

KILL, TERM, HUP, INT, STOP, SEGV = (getattr(signal, f"SIG{name}") for name in ("KILL", "TERM", "HUP", "INT", "STOP", "SEGV"))
MEASURE = "measure -o m.json --sizes 0,8,1kB,64KiB --seconds 8 --launches 1"
LARGE = "measure -o m.json --sizes 0,8,1kB,16MiB --seconds 8 --launches 1"
RUN = "run exchange --ranks 2 --cutoff 1 --bytes 100 --seconds 4 --samples m.samples.jsonl"
PROFILE = Path(__file__).parents[2] / "data" / "profile-schema-1.json"
SIMULATE = f"simulate exchange --profile {PROFILE} --ranks 512 --cutoff 2 --bytes 1000,1001,1002,1003,1004,1005"
Do = Callable[[Room], None]


@dataclass(frozen=True)
class Fault:
    """``what`` is killed or filled ``when`` (before, at the start, ranks, measuring); ``says`` stands on stderr, ``code`` is
    the exit code. ``samples``: none, or some; ``resume`` is the exit code of going on (None: there is nothing to go on
    with)."""

    what: str
    says: str
    code: int
    do: Do | None = None
    when: str = "measuring"
    command: str = MEASURE
    samples: str = "some"
    resume: int | None = 0
    quick: bool = False
    root: bool = False
    needs: str = ""  # openmpi, simgrid
    bad_lines: int = 0  # of samples, cut off before
    silence_s: str = ""  # that is allowed, where it is not the usual

    @property
    def kind(self) -> str:
        """A death, a silence (of what hangs, or does not start), or what is wrong with a file."""
        return (
            "silence"
            if self.says in (HANG, SILENT) or "within 2 s" in self.says
            else "death"
            if self.when != "before"
            else "file"
        )


def kill(number: int, *names: str) -> Do:
    return lambda room: room.kill(number, *names)


def signals(*numbers: int) -> Do:
    """Send signals to rankwise itself."""

    def send(room: Room) -> None:
        for number in numbers:
            room.kill(number, "rankwise")

    return send


def launcher(text: str, **environment: str) -> Do:
    """Put a script in the launcher's place; "$REAL" is the launcher."""

    def put(room: Room) -> None:
        real = Path(os.environ.get("VIRTUAL_ENV") or os.sys.prefix) / "bin/mpiexec"  # type: ignore[attr-defined]
        head = f'REAL={real}\nfor word; do [ "$word" = --version ] && exec "$REAL" --version; done\n'
        room.environment = {"RANKWISE_MPIEXEC": str(room.script("mpiexec", head + text)), **environment}

    return put


def memory_limit(room: Room) -> None:
    """Leave one rank 1 MB of memory beside what it has: the kernel kills it when it needs more."""
    import pytest

    try:
        room.limit_memory(room.processes(KERNELS)[0], 1 << 20)
    except OSError as error:
        pytest.skip(f"no memory group can be had here ({error})")


def starve(room: Room) -> None:
    """Keep the processors busy with others for longer than silence is allowed."""
    import subprocess
    import time

    spinners = [
        subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) for cpu in os.sched_getaffinity(0)
    ]

    def rank_below(policy: int, nice: int) -> None:
        for pid in room.processes(KERNELS):
            os.sched_setscheduler(pid, policy, os.sched_param(0))
            if (group := Path(f"/proc/{pid}/autogroup")).exists():  # of its session, whose ranks compete with others as one
                group.write_text(str(nice))

    rank_below(os.SCHED_IDLE, 19)
    time.sleep(25)
    for spinner in spinners:
        spinner.kill()
        spinner.wait()
    rank_below(os.SCHED_OTHER, 0)


def with_words(*words: str) -> Do:
    def put(room: Room) -> None:
        room.before = words

    return put


def several(*deeds: Do) -> Do:
    def do(room: Room) -> None:
        for deed in deeds:
            deed(room)

    return do


def written(name: str, content: bytes) -> Do:
    return lambda room: (room.folder / name).write_bytes(content) and None  # type: ignore[return-value]


def made(name: str, how: Callable[[Path], object]) -> Do:
    return lambda room: how(room.folder / name) and None  # type: ignore[return-value]


def filled(size: str) -> Do:
    """A small disk, nearly full, on which the samples lie."""
    return lambda room: room.mount("disk", f"size={size}") and None  # type: ignore[return-value]


def measured(then: Do) -> Do:
    """A whole campaign first, then something happens to its files."""

    def do(room: Room) -> None:
        code, err = room.run(*MEASURE.split())
        assert code in (0, 6), err
        then(room)

    return do


def changed(name: str, how: Callable[[bytes], bytes]) -> Do:
    return lambda room: (room.folder / name).write_bytes(how((room.folder / name).read_bytes())) and None  # type: ignore[return-value]


STARTED = 'echo \'{"record":"start","ranks":2,"placements":[]}\''
REAL = '"$REAL" "$@"'
SHORT = {"RANKWISE_START_S": "2", "RANKWISE_SILENCE_S": "10"}
HANG = "the ranks hang and were ended"
SILENT = "it hangs and was ended"
NO_DAC = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--")
DISK = MEASURE.replace("m.json", "disk/m.json")
BAD_PROFILE = "predict exchange --ranks 4 --cutoff 1 --bytes 100 --profile bad.json"

PROCESSES = [
    Fault("proxy, killed", "while measuring", 1, kill(KILL, *PROXIES), quick=True),
    Fault("proxy, SIGTERM (of which it takes no notice)", "stopped after", 0, kill(TERM, *PROXIES)),
    Fault("proxy, stopped", HANG, 1, kill(STOP, *PROXIES)),
    Fault("launcher, killed", "the launcher was killed while measuring .*SIGKILL", 1, kill(KILL, *LAUNCHERS)),
    Fault("launcher, SIGTERM", "while measuring", 1, kill(TERM, *LAUNCHERS)),
    Fault("launcher, stopped", HANG, 1, kill(STOP, *LAUNCHERS)),
    Fault("a rank and all others, killed (as for want of memory)", "a rank died.*SIGKILL", 1, kill(KILL, KERNELS)),
    Fault("ranks, SIGSEGV", "a rank died", 1, kill(SEGV, KERNELS)),
    Fault("ranks, SIGTERM", "a rank died", 1, kill(TERM, KERNELS)),
    Fault("ranks, stopped", HANG, 1, kill(STOP, KERNELS)),
    Fault("a rank, stopped while the other spins", HANG, 1, lambda room: os.kill(room.processes(KERNELS)[0], STOP)),
    Fault("ranks that get no processor for 25 s", "stopped after", 6, starve, resume=6, silence_s="10"),
    Fault("a rank, killed by the kernel at its memory "
          "limit", "a rank died.*killed a process .* for want of memory", 1, memory_limit,
          command=LARGE, root=True),
    Fault("ranks, killed at their start", "did not start|a rank died", 1, kill(KILL, KERNELS), "ranks", samples="none"),
    Fault("proxy, killed at the ranks' "
          "start", "did not start|a rank died|ended", 1, kill(KILL, *PROXIES), "ranks", samples="none"),
    Fault("rankwise, killed", "", -9, signals(KILL), quick=True),
    Fault("rankwise, killed while ranks start", "", -9, signals(KILL), "ranks", samples="none"),
    Fault("rankwise and launcher, killed", "", -9, several(kill(STOP, "rankwise"), kill(KILL, *LAUNCHERS), signals(KILL))),
    Fault("rankwise, SIGTERM", "interrupted: all samples so far are in .*--resume", 130, signals(TERM)),
    Fault("rankwise, SIGHUP", "interrupted: all samples so far are in .*--resume", 130, signals(HUP)),
    Fault("rankwise, Ctrl-C", "interrupted: all samples so far are in .*--resume", 130, signals(INT)),
    Fault("rankwise, Ctrl-C three times", "interrupted", 130, signals(INT, INT, INT)),
    Fault("rankwise, Ctrl-C with ranks that are stopped", "interrupted", 130, several(kill(STOP, KERNELS), signals(INT))),
    Fault("rankwise, SIGTERM while ranks start", "interrupted", 130, signals(TERM), "ranks", samples="none"),
    Fault("rankwise, SIGHUP at the "
          "start", "^rankwise: interrupted\n$|^$", 130, signals(HUP), "start", samples="none", resume=None),
    Fault("rankwise, SIGTERM at the "
          "start", "^rankwise: interrupted\n$|^$", 130, signals(TERM), "start", samples="none", resume=None),
    Fault("run: proxy, killed", "while running on 2 ranks", 1, kill(KILL, *PROXIES), "ranks", RUN, "none", 0),
    Fault("run: rankwise, SIGTERM", "interrupted", 130, signals(TERM), "ranks", RUN, "none", 0),
    Fault("run: rankwise, killed", "", -9, signals(KILL), "ranks", RUN, "none", 0),
    Fault("simulator, killed", "the simulation of 512 ranks failed", 1, kill(KILL, KERNELS), "ranks", SIMULATE, "none", 0,
          needs="simgrid"),
    Fault("simulator, stopped", SILENT, 1, kill(STOP, KERNELS), "ranks", SIMULATE, "none", 0, needs="simgrid"),
    Fault("simulation: rankwise, SIGTERM", "interrupted", 130, signals(TERM), "ranks", SIMULATE, "none", 0, needs="simgrid"),
    Fault("simulation: rankwise, killed", "", -9, signals(KILL), "ranks", SIMULATE, "none", 0, needs="simgrid"),
    Fault("Open MPI: launcher, killed", "while measuring", 1, kill(KILL, *LAUNCHERS), needs="openmpi"),
    Fault("Open MPI: ranks, killed", "a rank died", 1, kill(KILL, KERNELS), needs="openmpi"),
    Fault("Open MPI: rankwise, killed", "", -9, signals(KILL), needs="openmpi"),
    Fault("Open MPI: rankwise, SIGTERM", "interrupted", 130, signals(TERM), needs="openmpi"),
]  # fmt: skip

LAUNCHER = [
    Fault("launcher that "
          "hangs", "did not start within 2 s .* and were ended.*RANKWISE_START_S", 1, launcher("sleep 600", **SHORT),
          "before", samples="none", resume=1),
    Fault("launcher that hangs and takes no SIGTERM", "did not start within 2 s .* and were ended", 1,
          launcher("trap '' TERM; setsid sleep 600 & sleep 600", **SHORT), "before", samples="none", resume=1),
    Fault("launcher that prints rubbish for ever", "did not start within 2 s .* and were ended", 1,
          launcher("exec yes rubbish", **SHORT), "before", samples="none", resume=1, quick=True),
    Fault("launcher that prints rubbish once ranks run", HANG, 1, launcher(f"{REAL}; exec yes rubbish", **SHORT),
          "before", resume=1),
    Fault("launcher that prints JSON of its own", HANG, 1, launcher(f"{REAL}; exec yes '{{\"a\":1}}'", **SHORT),
          "before", resume=1),
    Fault("launcher that prints one line without end", HANG, 1, launcher(f"{REAL}; exec tr '\\0' x < /dev/zero", **SHORT),
          "before", resume=1),
    Fault("launcher that says where its ranks are, and "
          "lies", "0 of 2 ranks say where they are", 1, launcher(STARTED, **SHORT), "before",
          samples="none", resume=1),
    Fault("launcher that floods stderr", "did not start within 2 s", 1, launcher("exec yes rubbish >&2", **SHORT),
          "before", samples="none", resume=1),
    Fault("launcher that prints bytes", "did not start while", 1, launcher("head -c 100000 /dev/urandom", **SHORT), "before",
          samples="none", resume=1),
    Fault("launcher that leaves a daemon behind with its stdout", "did not start while", 1,
          launcher("setsid sleep 600 & exit 0", **SHORT), "before", samples="none", resume=1),
    Fault("launcher that ends at once", "did not start while .*exit code 3; no nodes", 1,
          launcher("echo no nodes >&2; exit 3", **SHORT), "before", samples="none", resume=1),
    Fault("launcher that is a folder", "RANKWISE_MPIEXEC names .* not an executable", 4,
          lambda room: room.environment.update(RANKWISE_MPIEXEC=str(room.folder)), "before", samples="none", resume=None),
    Fault("launcher without a word on --version", "belongs to other|said nothing|cannot be started", 4,
          lambda room: room.environment.update(RANKWISE_MPIEXEC=str(room.script("mpiexec", "exit "
                                                                                           "0"))), "before", samples="none",
          resume=None),
]  # fmt: skip

FILES = [
    Fault("output is a "
          "folder", "m.json is a folder: name a file in it", 2, made("m.json", Path.mkdir), "before", samples="none",
          resume=None),
    Fault("output is a pipe", "m.json is no plain file", 2, made("m.json", os.mkfifo), "before", samples="none", resume=None),
    Fault("output in a folder that may not be written", r"m.json cannot be written \(Permission denied\)", 2,
          several(lambda room: room.folder.chmod(0o555), with_words(*NO_DAC)), "before", samples="none", resume=None,
          root=True),
    Fault("output that is read-only", "m.json cannot be written .*make it writable", 2,
          several(written("m.json", b"{}"), made("m.json", lambda path: path.chmod(0o444)), with_words(*NO_DAC)), "before",
          samples="none", resume=None, root=True),
    Fault("output on a disk that is "
          "read-only", "cannot be written .*Read-only", 2, lambda room: room.mount("disk", "ro") and None,
          "before", DISK, "none", None, root=True),
    Fault("output on a disk that is full", r"cannot be written \(No space left on device\)", 2,
          several(filled("64k"), made("disk/full", lambda path: None), lambda room: _fill(room)), "before", DISK, "none", None,
          root=True, quick=True),
    Fault("disk, full while samples are taken", "samples cannot be written to .*No space left.*--resume", 1,
          several(filled("64k"), lambda room: _fill(room, 28)), "before", DISK, "some", None, root=True, bad_lines=1),
    Fault("file size limit", "while measuring", 1, with_words("prlimit", "--fsize=9000:9000", "--"), "before", samples="none"),
    Fault("output through a link that leads round", "m.json is a link that leads nowhere", 2,
          made("m.json", lambda path: path.symlink_to("m.json")), "before", samples="none", resume=None),
    Fault("output through a link to another folder", "stopped after", 0,
          several(made("there", Path.mkdir), made("m.json", lambda path: path.symlink_to("there/m.json"))), "before",
          resume=None),
    Fault("folder that vanishes "
          "meanwhile", "m.samples.jsonl was removed "
                       "meanwhile", 1, lambda room: _vanish(room), command=MEASURE.replace("m.json", "gone/m.json"),
          samples="none", resume=None),
    Fault("samples that a second session wants", "is being written by process [0-9]+: wait for its end", 2,
          lambda room: _hold(room), "before", samples="none", resume=None, quick=True),
    Fault("samples cut off in mid-line", "cut off in mid-line, skipped", 0,
          measured(changed("m.samples.jsonl", lambda old: old[:-100])), "before", resume=0, bad_lines=1),
    Fault("samples with a line of bytes", "cut off in mid-line, skipped", 0,
          measured(changed("m.samples.jsonl", lambda old: old + b"\xff\x00\xfe\n")), "before", resume=0, bad_lines=1),
    Fault("samples that are no samples", "line 1: not JSON Lines", 2, written("m.samples.jsonl", b"hello\n"), "before",
          samples="none", resume=None, bad_lines=1),
    Fault("samples that are empty", "stopped after", 0, written("m.samples.jsonl", b""), "before", resume=0),
    Fault("samples of another machine", "holds samples of two machines", 2,
          measured(changed("m.samples.jsonl", lambda old: old.replace(b'"cores":', b'"cores":9'))), "before", resume=None),
    Fault("home that is read-only", "stopped after", 0, lambda room: _home(room), "before", root=True, resume=0),
    Fault("few files may be open", "Too many open files", 1, with_words("prlimit", "--nofile=12:12", "--"), "before",
          samples="none", resume=None),
    Fault("profile cut "
          "off", "bad.json is not complete JSON", 2, written("bad.json", b'{"schema": 2, "links"'), "before", BAD_PROFILE,
          "none", None),
    Fault("profile that is "
          "empty", "bad.json is not complete JSON", 2, written("bad.json", b""), "before", BAD_PROFILE, "none", None),
    Fault("profile that is a pipe", "bad.json is a pipe", 2, made("bad.json", os.mkfifo), "before", BAD_PROFILE, "none", None),
    Fault("profile nested too "
          "deeply", "bad.json: values are nested too deeply", 2, written("bad.json", b"[" * 100000), "before", BAD_PROFILE,
          "none", None),
    Fault("profile with 5000 "
          "digits", "more than 4300 digits", 2, written("bad.json", b'{"schema": 1' + b"0" * 5000 + b"}"), "before",
          BAD_PROFILE, "none", None),
    Fault("profile that is bytes", "bad.json cannot be read", 2, written("bad.json", bytes(range(256))), "before", BAD_PROFILE,
          "none", None),
    Fault("profile whose figures were changed", "links same-socket do not fit the checksums: .*remove .checksums.", 2,
          measured(lambda room: _edit(room)), "before", BAD_PROFILE, resume=None),
]  # fmt: skip

TABLE = [*PROCESSES, *LAUNCHER, *FILES]


def _fill(room: Room, left_kib: int = 0) -> None:
    """Fill the disk but for some KiB; what the room's mounts hold is seen through the room only."""
    import subprocess

    script = f"dd if=/dev/zero of=disk/full bs=1k count={64 - left_kib} 2>/dev/null; true"
    subprocess.run(room.inside("sh", "-c", script), check=True)


def _vanish(room: Room) -> None:
    import shutil

    shutil.rmtree(room.folder / "gone")


def _hold(room: Room) -> None:
    import fcntl

    stream = (room.folder / "m.samples.jsonl").open("ab")
    fcntl.flock(stream, fcntl.LOCK_EX)
    room.held.append(stream)


def _home(room: Room) -> None:
    home = room.mount("home", "size=64k,ro")
    room.environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}


def _edit(room: Room) -> None:
    import json

    profile = json.loads((room.folder / "m.json").read_text())
    next(iter(profile["links"].values()))["alpha_s"] *= 2
    (room.folder / "bad.json").write_text(json.dumps(profile))
