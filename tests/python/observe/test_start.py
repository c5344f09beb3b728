"""However a program ends, what it did until then is kept, and its exit code; what cannot be observed is told with the mend."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rankwise import load_record
from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.observe.record import read_record
from rankwise.observe.start import observe, with_variables
from rankwise.observe.summary import pairs
from verbs import Rankwise

pytestmark = pytest.mark.mpi
Build = Callable[..., Path]
Start = Callable[[str, int], list[str]]


@pytest.mark.parametrize(
    ("how", "codes", "note"),
    [
        # mpiexec kills those that have not ended yet when one ends so.
        (["exit"], (0, 9), "ranks 0-3 ended without Finalize; counts up to the last call"),
        (["abort"], (7,), "rank 1 called MPI_Abort"),
        *((["kill", str(rank)], (9,), "ended without Finalize") for rank in range(4)),
    ],
)
def test_ends_before_finalize(
    build: Build, start: Start, tmp_path: Path, how: list[str], codes: tuple[int, ...], note: str
) -> None:
    program = build("pip", "known_answer.c")
    found, _ = observe([*start("pip", 4), str(program), *how], tmp_path / "app.comm")
    assert found in (*codes, *(128 + code for code in codes))
    record = read_record(tmp_path / "app.comm")
    assert {(pair["messages"], pair["bytes"]) for pair in pairs(record)} == {(16, 409), (1, 16)}
    assert any(note in line for line in record.header["notes"])
    assert not record.header["complete"]


@pytest.mark.parametrize("set_s", [-2, 86400])
def test_setting_the_time_of_day_changes_no_time(
    build: Build, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_s: int
) -> None:
    """As NTP does it: -2 s made 6.3 s of 8.3 s, and a day 257,437 s."""
    monkeypatch.setenv("CLOCK_SET_S", str(set_s))
    program = build("pip", "known_answer.c", str(Path(__file__).with_name("set_clock.c")), "-rdynamic")
    begun_s = time.monotonic()
    observe([*start("pip", 2), str(program)], tmp_path / "app.comm")
    record = read_record(tmp_path / "app.comm")
    assert 0 < record.header["seconds"] < time.monotonic() - begun_s
    assert record.call_ns.min() >= 0 and record.call_ns.sum(axis=1).max() * 1e-9 <= record.header["seconds"]
    assert any(f"was set by {set_s:+.3g} s while" in note for note in record.header["notes"]), record.header["notes"]


def test_few_file_descriptors_make_no_program_static(build: Build, start: Start, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rankwise", "observe", "-o", tmp_path / "a.comm", "--", *start("pip", 2)]
    words += [build("pip", "known_answer.c")]
    limited = ["sh", "-c", 'ulimit -n 8; exec "$@"', "sh", *map(str, words)]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "nothing was observed: " in done.stderr and "statically" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_signals_reach_the_program_which_does_not_outlive_us(tmp_path: Path, number: signal.Signals) -> None:
    """The program holds a pipe that is empty once it is gone; a child of Popen's may have ignored SIGHUP and SIGINT."""
    default = "signal.signal(signal.SIGHUP, signal.SIG_DFL); signal.signal(signal.SIGINT, signal.default_int_handler)"
    script = f"import signal, sys; {default}; from rankwise.cli.main import main; main()"
    words = ["observe", "-o", str(tmp_path / "a.comm"), "--", "sh", "-c", "echo runs; exec sleep 600"]
    command = [sys.executable, "-c", script, *words]
    # Of a session of its own: a terminal's Ctrl-C would have reached the program itself.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as child:
        assert child.stdout is not None and child.stdout.readline() == b"runs\n"
        child.send_signal(number)
        assert child.stdout.read() == b""
    assert child.returncode == (-number if number == signal.SIGKILL else 128 + number)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts a small disk")
    mounted = []

    def mount(size: str) -> Path:
        folder = tmp_path / size
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, check=False
        )
        if done.returncode != 0:
            pytest.skip("no disk can be mounted here")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=False)


@pytest.mark.parametrize(
    ("size", "what"),
    [("16k", None), ("200k", "found the disk nearly full"), ("580k", "later calls are counted, not listed"), ("2m", "")],
)
def test_a_full_disk(
    build: Build,
    start: Start,
    small_disk: Callable[[str], Path],
    capfd: pytest.CaptureFixture[str],
    size: str,
    what: str | None,
) -> None:
    output = small_disk(size) / "app.comm"
    code, record = observe([*start("pip", 4), str(build("pip", "known_answer.c")), "finalize", "5"], output)
    assert code == 5
    if what is None:
        assert record is None and "there is no room in" in capfd.readouterr().err
        return
    assert {(pair["messages"], pair["bytes"]) for pair in pairs(read_record(output))} == {(16, 409), (1, 16)}
    assert any(what in line for line in read_record(output).header["notes"])


def test_what_cannot_be_observed_is_told(build: Build, start: Start, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "app.comm"

    def told(*command: str) -> str:
        assert observe(command, output)[1] is None
        return capfd.readouterr().err

    assert "called no MPI" in told(*start("pip", 2), "/bin/true")
    (tmp_path / "still.c").write_text('char MPI_Init[] = "MPI_Init"; int main(void) { return MPI_Init[0] == 0; }')
    subprocess.run(["gcc", "-w", str(tmp_path / "still.c"), "-o", str(tmp_path / "still")], check=True)
    assert "linked statically" in told(str(tmp_path / "still"))
    program = build("pip", "known_answer.c")
    assert "dropped LD_PRELOAD" in told("env", "-u", "RANKWISE_OBSERVE_DIR", *start("pip", 4), str(program))
    with pytest.raises(UnusableEnvironmentError, match="no-such cannot be started"):
        observe(["no-such"], output)
    with pytest.raises(InputError, match="is a folder: name a file"):
        observe(["true"], tmp_path)


@pytest.mark.system_mpi
def test_another_mpis_launcher_is_told_before_the_start(build: Build, start: Start, tmp_path: Path) -> None:
    command = [*start("openmpi", 2), str(build("pip", "known_answer.c"))]
    with pytest.raises(UnusableEnvironmentError, match=r"belongs to MPICH \(libmpi.*to Open MPI: start it with its own"):
        observe(command, tmp_path / "app.comm")


def test_two_jobs_do_not_write_one_file(tmp_path: Path) -> None:
    (tmp_path / ".app.comm.parts").mkdir()
    with (tmp_path / ".app.comm.parts" / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="being written by another"):
            observe(["true"], tmp_path / "app.comm")
    assert observe(["true"], tmp_path / "app.comm") == (0, None)  # what one that was killed left is no hindrance


def test_what_a_run_that_was_killed_has_left_is_recovered(
    build: Build, start: Start, rankwise: Rankwise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the out-of-memory killer ends 'rankwise observe': before it puts together what ranks left."""
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as killed:
        killed.setattr("rankwise.observe.parts.record_of", lambda *_: pytest.fail("killed"))
        killed.setattr("rankwise.observe.start.shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(pytest.fail.Exception, match="killed"):
            observe([*start("pip", 4), str(build("pip", "known_answer.c")), "finalize", "0"], Path("app.comm"))
    assert "'rankwise observe recover app.comm' makes it" in rankwise("observe show app.comm").err
    found = rankwise("observe recover app.comm")
    assert (found.code, found.err.count("was killed")) == (0, 1)
    record = read_record(Path("app.comm"))
    assert {(pair["messages"], pair["bytes"]) for pair in pairs(record)} == {(16, 409), (1, 16)}
    assert record.header["command"][-2:] == ["finalize", "0"] and not record.header["complete"]
    assert "nothing that ranks left" in rankwise("observe recover app.comm").err


def test_the_next_run_keeps_what_a_run_that_was_killed_has_left(
    build: Build, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [*start("pip", 4), str(build("pip", "known_answer.c")), "finalize", "0"]
    with monkeypatch.context() as killed:
        killed.setattr("rankwise.observe.parts.record_of", lambda *_: pytest.fail("killed"))
        killed.setattr("rankwise.observe.start.shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(pytest.fail.Exception, match="killed"):
            observe(command, tmp_path / "app.comm")
    assert observe(command, tmp_path / "app.comm")[0] == 0
    assert f"its record is {tmp_path}/app.killed.comm" in capfd.readouterr().err
    assert pairs(read_record(tmp_path / "app.killed.comm")) == pairs(read_record(tmp_path / "app.comm"))


def test_words_for_open_mpi() -> None:
    words = with_variables(["mpiexec", "-n", "1", "./a", ":", "-n", "2", "./b"])
    extra = ["-x", "LD_PRELOAD", "-x", "RANKWISE_OBSERVE_DIR"]
    assert words == ["mpiexec", *extra, "-n", "1", "./a", ":", *extra, "-n", "2", "./b"]


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("./nosuchprog", "./nosuchprog: no such file, so nothing ran"),
        ("nosuchprog", "nosuchprog: not an executable file, or not on PATH, so nothing ran"),
        ("./plain", "./plain: not an executable file"),
        ("./script.sh", "./script.sh is a script, and no program that it started called MPI"),
    ],
)
def test_a_program_that_cannot_run_is_named(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], program: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain").touch()
    Path("script.sh").write_text("#!/bin/sh\n")
    Path("script.sh").chmod(0o755)
    observe([*start("pip", 2), program], tmp_path / "x.comm")
    assert f"nothing was observed: {why}" in capfd.readouterr().err


def test_a_command_without_mpi_is_not_harmed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = "ls / > /dev/null; echo $0 $1; exit 7"
    assert observe(["sh", "-c", script, "a", "b c"], tmp_path / "app.comm") == (7, None)
    assert capfd.readouterr().out == "a b c\n"


def test_the_command_line(build: Build, start: Start, rankwise: Rankwise, tmp_path: Path) -> None:
    program = build("pip", "known_answer.c")
    done = rankwise("observe -o app.comm --", *start("pip", 4), program)
    assert done.code == 0, done.err
    assert done.err.startswith("app.comm: 4 ranks, ") and "next: rankwise observe show app.comm" in done.err
    assert rankwise("observe -o app.comm -- sh -c", "exit 3").code == 3
    assert rankwise("observe -o app.comm -- true").code == 1
    shown = rankwise("observe show app.comm --json").json
    assert (shown["ranks"], len(shown["pairs"]), shown["complete"]) == (4, 8, True)
    assert 0 < shown["mpi_share"] <= 1 and 0 < shown["seconds"] < 600


@pytest.mark.parametrize("kind", ["pip", pytest.param("openmpi", marks=pytest.mark.system_mpi)])
def test_a_program_says_by_pcontrol_which_part_is_looked_at(kind: str, build: Build, start: Start, tmp_path: Path) -> None:
    code, record = observe([*start(kind, 2), str(build(kind, "pcontrol.c"))], tmp_path / "app.comm")
    assert code == 0 and record is not None
    whole = load_record(tmp_path / "app.comm", until_s=1e9).evidence.steps
    part = load_record(tmp_path / "app.comm").evidence.steps
    assert whole is not None and part is not None
    assert len(part.durations_s) <= 20 < len(whole.durations_s)
    assert part.levels.step == 3 and whole.levels.step % 2 == 0  # a Sendrecv has two
    levels = [int(event["tag"]) for event in record.events[0] if record.header["calls"][event["call"]] == "MPI_Pcontrol"]
    assert levels == [0, 1, 0]
