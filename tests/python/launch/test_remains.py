"""What a command leaves is found and ended wherever it went, and how long silence is patience."""

import mmap
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from processes import runs
from rankwise.launch import remains
from rankwise.launch.mpi import longest_silence_s
from rankwise.launch.process import Child
from rankwise.launch.remains import Remains, memory_kills, new_mark, orphans, waited_s


def test_processes_in_sessions_of_their_own_are_ended_with_the_command() -> None:
    script = "setsid sh -c 'trap \"\" TERM; env -i sleep 1000 & echo $$ $!; wait' & exec sleep 1000"
    with Child(["sh", "-c", script]) as child:
        pids = [int(word) for word in next(child.lines(10)).split()]
        assert all(map(runs, pids))
    assert child.left == [] and not any(map(runs, pids))


def test_a_command_that_ended_is_not_waited_for_because_of_a_daemon_with_its_stdout() -> None:
    with Child(["sh", "-c", "setsid sleep 1000 & echo $!; exit 3"]) as child:
        (pid,) = (int(line) for line in child.lines(1000))
        assert child.wait() == 3
    assert not runs(pid)


def test_lines_that_do_not_count_end_no_silence() -> None:
    with Child(["yes"]) as child, pytest.raises(TimeoutError):
        for _ in child.lines(0.3, all_count=False):
            pass


def test_others_are_left_alone() -> None:
    mark = new_mark()
    assert mark.startswith(f"{os.getpid()}-") and Remains(1 << 30, mark).processes() == []
    with Child([sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"]) as one, Child(["true"]) as other:
        next(one.lines(10))
        other.end()
        assert runs(one._process.pid)


def test_segments_are_those_of_mpi_libraries_that_the_processes_have(tmp_path: Path) -> None:
    names = (f"mpich_shm_test{os.getpid()}", f"mine{os.getpid()}")
    code = (
        "import mmap, os, sys, time\n"
        "held = [mmap.mmap(os.open(f'/dev/shm/{name}', os.O_RDWR | os.O_CREAT, 0o600), 1, flags=mmap.MAP_SHARED) for name in "
        "(os.truncate(os.open(f'/dev/shm/{n}', os.O_RDWR | os.O_CREAT, 0o600), 1) or n for n in sys.argv[1:])]\n"
        "print(flush=True); time.sleep(1000)"
    )
    try:
        with Child([sys.executable, "-c", code, *names]) as child:
            next(child.lines(10))
        assert [os.path.exists(f"/dev/shm/{name}") for name in names] == [False, True]
    finally:
        Path(f"/dev/shm/{names[1]}").unlink()


def test_a_launchers_file_is_left_once_nobody_holds_it_open() -> None:
    begun_s = time.time()
    path = Path(f"/tmp/hydra_hwloc_xmlfile_{os.getpid()}")
    try:
        with path.open("w"):
            assert path not in orphans(begun_s)
        assert path in orphans(begun_s) and path not in orphans(begun_s + 100)
    finally:
        path.unlink()


def test_a_file_of_the_same_number_on_another_disk_hides_no_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    begun_s = time.time()
    path = Path(f"/dev/shm/ucx_shm_posix_{os.getpid()}")
    path.touch()
    try:
        stat = path.stat()
        monkeypatch.setattr(remains, "_open_files", lambda process: {(stat.st_dev + 1, stat.st_ino)})
        assert path in orphans(begun_s)
        with path.open("r+b") as held:
            held.truncate(1)
            with mmap.mmap(held.fileno(), 1):
                assert path not in orphans(begun_s)
    finally:
        path.unlink()


def test_patience_follows_from_the_plan() -> None:
    assert longest_silence_s(["hello"], 2, False) == 30
    assert longest_silence_s(["pingpong", "--seconds", "10", "--cells", "send:8"], 2, False) == pytest.approx(70, rel=1e-3)
    assert longest_silence_s(["pingpong", "--seconds", "1", "--cells", "send:1073741824"], 2, False) > 100
    assert longest_silence_s(["hello"], 100, True) == 80
    assert longest_silence_s(["fft3d", "--n", "512,512,512", "--grid", "2,1", "--budget-s", "0.5"], 2, False) > 150
    assert longest_silence_s(["exchange", "--cases", "shift:isend:1:" + "9" * 18], 64, True) < 1e6


def test_the_kernel_s_count_of_processes_that_it_killed_is_a_number() -> None:
    assert memory_kills() >= 0


def test_waiting_for_a_processor_is_no_silence() -> None:
    """A process that others keep from running is excused, though not for ever; one that is stopped is not."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not tell who waits for a processor")
    spin = [sys.executable, "-c", "while True: pass"]
    cpu = str(min(os.sched_getaffinity(0)))
    with Child(["taskset", "-c", cpu, "chrt", "--idle", "0", *spin]) as starved:
        starved.heard()
        begun_s, excused_s = time.monotonic(), 0.0
        with Child(["taskset", "-c", cpu, *spin]):
            while excused_s < 1:
                time.sleep(0.1)
                excused_s = time.monotonic() - begun_s - starved.silence_s()
                assert time.monotonic() - begun_s < 300
        assert starved.silence_s() >= (time.monotonic() - begun_s) / 20 - 0.1
        pid = starved._process.pid
        os.kill(pid, signal.SIGSTOP)
        while b") T " not in Path(f"/proc/{pid}/stat").read_bytes():
            time.sleep(0.01)
        before_s = waited_s(pid)
        time.sleep(0.3)
        assert before_s >= 1 and waited_s(pid) == before_s
