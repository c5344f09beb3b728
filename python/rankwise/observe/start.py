"""Programs run as they are with the tracer loaded: what they need, what they leave, and why one left nothing."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rankwise.errors import EXIT_FAILURE, InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.command import read_command
from rankwise.launch.launchers import Launcher, OpenMpi, make_launcher
from rankwise.launch.mpi import package_folder
from rankwise.launch.process import die_with_parent, output_of
from rankwise.observe.parts import merged
from rankwise.observe.record import Record, write_record
from rankwise.progress import tell

_VARIABLES = ("LD_PRELOAD", "RANKWISE_OBSERVE_DIR")
_FAMILY_WORDS = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
_LITTLE_BYTES = 1 << 20
_LAUNCHERS = re.compile(r"mpiexec|mpirun|orterun|prterun|srun")
_STARTERS = re.compile(rf"{_LAUNCHERS.pattern}|(env|nice|nohup|time|timeout|numactl|taskset|stdbuf|setarch|flux|(|ba|da|z)sh)$")


def observe(command: Sequence[str], output: Path) -> tuple[int, Record | None]:
    """Run a command with the tracer in its programs; return its exit code and what was written into ``output``.

    The exit code is 128 + its number for a command that a signal ended. The record is None where there was nothing to write: a
    line on stderr says why. Raises InputError where ``output`` cannot be written, UnusableEnvironmentError for a command that
    cannot work.
    """
    found = shutil.which(command[0])
    if found is None:
        raise UnusableEnvironmentError(f"{command[0]} cannot be started: it is no executable on PATH, correct its name")
    launcher = _launcher(Path(found))
    program = _program(command)
    _require_match(launcher, program)
    words = with_variables(command) if isinstance(launcher, OpenMpi) else list(command)
    folder, lock = _claim(output)
    try:
        begun = datetime.now(UTC)
        code = _run([found, *words[1:]], {**os.environ, **_variables(folder)})
        record = merged(folder, {"command": list(command), "created": begun.isoformat(timespec="seconds")})
        if record is None:
            tell(f"nothing was observed: {_why_nothing(program, folder, code)}")
        elif code != 0:
            record.header["notes"].insert(0, f"the command ended with exit code {code}")
            record.header["complete"] = False
        return code, None if record is None else _keep(record, output, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def library() -> Path:
    """Return the tracer. Raises UnusableEnvironmentError where it is not installed."""
    path = package_folder() / "lib" / "librankwise_observe.so"
    if not path.is_file():
        raise UnusableEnvironmentError(f"{path} is not installed: reinstall rankwise with 'pip install .'")
    return path


def _variables(folder: Path) -> dict[str, str]:
    before = os.environ.get("LD_PRELOAD")
    return {"LD_PRELOAD": ":".join([str(library()), *([before] if before else [])]), "RANKWISE_OBSERVE_DIR": str(folder)}


@contextmanager
def tracing(folder: Path) -> Iterator[None]:
    """Let programs that are started meanwhile load the tracer and leave what they see in a folder."""
    known = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(_variables(folder))
    try:
        yield
    finally:
        for name, value in known.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def with_variables(command: Sequence[str]) -> list[str]:
    """Return a command of Open MPI's, which takes to other hosts only what it is told to, for each of its programs."""
    words: list[str] = []
    for i, word in enumerate(command):
        words.append(word)
        if i == 0 or word == ":":
            words += [part for name in _VARIABLES for part in ("-x", name)]
    return words


def _launcher(path: Path) -> Launcher | None:
    if not _LAUNCHERS.match(path.name):
        return None
    try:
        return make_launcher(path, output_of([str(path), "--version"], 20.0)[1])
    except RankwiseError:
        return None


def _program(command: Sequence[str]) -> Path | None:
    """Return the first executable among a command's words that is neither a launcher nor a tool that starts another program."""
    try:
        command = read_command(command).program  # options may be the names of programs, as in --map-by seq
    except RankwiseError:
        pass
    for word in command:
        found = None if _STARTERS.match(Path(word).name) else shutil.which(word)
        try:
            if found is not None and _is_elf(found):
                return Path(found)
        except OSError:
            continue
    return None


def _is_elf(path: str) -> bool:
    with open(path, "rb") as stream:
        return stream.read(4) == b"\x7fELF"


def _libraries(program: Path) -> list[str]:
    """Return the MPI libraries that a program names: their paths where they are found."""
    try:
        text = output_of(["ldd", str(program)])[1]
    except RankwiseError:
        return []
    return re.findall(r"^\s*(libmpi(?:ch|_abi)?\.so\S*)", text, re.MULTILINE)


def _require_match(launcher: Launcher | None, program: Path | None) -> None:
    """Raise UnusableEnvironmentError for a launcher of another MPI than the
    program's: each rank would be alone in its world."""
    if launcher is None or program is None or launcher.family not in _FAMILY_WORDS:
        return
    for name in _libraries(program):
        family = "openmpi" if name.startswith(("libmpi.so.40", "libmpi.so.80")) else "mpich"
        if family not in launcher.understands:
            raise UnusableEnvironmentError(
                f"{program} belongs to {_FAMILY_WORDS[family]} ({name}), {launcher.path} to {_FAMILY_WORDS[launcher.family]}: "
                "start it with its own MPI's mpiexec"
            )


def _claim(output: Path) -> tuple[Path, int]:
    """Make the folder where ranks leave what they see, and lock it."""
    if output.is_dir():
        raise InputError(f"{output} is a folder: name a file with -o")
    beside = Path(os.environ.get("RANKWISE_OBSERVE_DIR") or output.parent).absolute()
    folder = beside / f".{output.name}.parts"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(f"{output} cannot be written ({error.strerror}): name a file of your own with -o") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InputError(f"{output} is being written by another 'rankwise observe': name another file with -o") from None
    for left in folder.glob("*.node"):  # of one that was killed
        left.unlink()
    return folder, lock


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command in our place: its terminal is ours, signals that would end us are its own, and it does not outlive us."""
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []  # signals that came before there was one

    def forward(number: int, frame: object) -> None:
        processes[0].send_signal(number) if processes else early.append(number)

    ended_by = (signal.SIGTERM, signal.SIGHUP)
    handlers = {
        n: signal.signal(n, forward) for n in ended_by if signal.getsignal(n) is not signal.SIG_IGN
    }  # as nohup leaves it
    process = subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)
    processes.append(process)
    for number in early:
        process.send_signal(number)
    handlers |= {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _keep(record: Record, output: Path, folder: Path) -> Record:
    """Write a record, with less or elsewhere where the disk is full; return what was written."""
    shorter = replace(record, events={}, header={**record.header, "windows": []})
    elsewhere = Path(tempfile.gettempdir()) / output.name
    for attempt, (path, content) in enumerate([(output, record), (output, record), (output, shorter), (elsewhere, record)]):
        try:
            write_record(path, content)
        except OSError as error:
            why = error.strerror
            if attempt == 0:  # what the ranks left is in memory now: make room
                for part in folder.glob("*.node"):
                    part.unlink()
            continue
        if content is shorter:
            tell(f"{output}: {why}: the record was written without its events")
        elif path is not output:
            tell(f"{output} cannot be written ({why}): the record is {elsewhere}")
        return content
    raise RankwiseError(f"{output} cannot be written ({why}): make room, and observe the program again")


def _why_nothing(program: Path | None, folder: Path, code: int) -> str:
    """Say why a command left no record, and the mend."""
    if shutil.disk_usage(folder).free < _LITTLE_BYTES:
        return f"there is no room in {folder.parent}: make some, or set RANKWISE_OBSERVE_DIR to a folder that all nodes share"
    if program is None:
        return "no program was found among the command's words: name it with its path"
    if os.stat(program).st_mode & 0o6000:
        return f"{program} is setuid, and such programs load no library of ours: take a copy that is not"
    if _libraries(program):
        if code != 0:
            return f"{program} ended with exit code {code} before MPI_Init: see that it runs without 'rankwise observe'"
        return (
            f"{program} did not call MPI_Init, or its launcher dropped LD_PRELOAD or RANKWISE_OBSERVE_DIR, or {folder.parent} "
            "is not on its nodes: let the launcher pass both on, and write to a folder that all nodes share"
        )
    if _names_mpi(program):
        return f"{program} has its MPI linked statically, which cannot be observed: link it with the shared library"
    return f"{program} called no MPI"


def _names_mpi(program: Path) -> bool:
    import mmap

    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"MPI_Init\0") >= 0


def exit_code_of(code: int, record: Record | None) -> int:
    """Return the exit code: the program's, and failure where it was well but nothing was observed."""
    return code if code or record is not None else EXIT_FAILURE
