"""Programs run as they are with the tracer loaded: what they need, what they leave, and why one left nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.errors import EXIT_FAILURE, InputError, RankwiseError, UnusableEnvironmentError
from rankwise.files import load_json, locked, own_folder, require_output
from rankwise.launch.command import (
    LAUNCHERS,
    launcher_at,
    mpi_libraries,
    names_mpi,
    program_of,
    require_match,
    why_missing,
    words_of_program,
)
from rankwise.launch.installed import package_folder
from rankwise.launch.launchers import OpenMpi
from rankwise.launch.preload import loading
from rankwise.launch.process import die_with_parent
from rankwise.observe.header import parts_of
from rankwise.progress import tell

if TYPE_CHECKING:
    from rankwise.observe.record import Record

_NAMES_LIMIT_S = 0.2  # for each program and library; what takes longer is named by the first look at the record
_LITTLE_BYTES = 1 << 20
_HEADER = "header.json"  # of the record, for recover


def observe(command: Sequence[str], output: Path, meanwhile: Callable[[], object] = lambda: None) -> tuple[int, Record | None]:
    """Run a command with the tracer in its programs; return its exit code and what was written into ``output``.

    The exit code is 128 + its number for a command that a signal ended. The record is None where there was nothing to write: a
    line on stderr says why. ``meanwhile`` is called once while the program runs. Raises InputError where ``output`` cannot be
    written, UnusableEnvironmentError for a command that cannot work.
    """
    found = shutil.which(command[0])
    if found is None:
        raise UnusableEnvironmentError(f"{command[0]} cannot be started: it is no executable on PATH, correct its name")
    require_output(output)
    launcher = launcher_at(Path(found))
    program = program_of(command)
    require_match(launcher, program)
    words = with_variables(command) if isinstance(launcher, OpenMpi) else list(command)
    folder, lock = _claim(output)
    try:
        if any(folder.glob("*.node")):
            _keep_apart(output, folder)
        header = {"command": list(command), "created": datetime.now(UTC).isoformat(timespec="seconds")}
        with suppress(OSError):  # a full disk
            (folder / _HEADER).write_text(json.dumps(header))
        code = _run([found, *words[1:]], {**os.environ, **_variables(folder)}, meanwhile)
        record = _merged(folder, header)
        if record is None:
            tell(f"nothing was observed: {_why_nothing(command, program, folder, code)}")
        elif code != 0:
            record.header["notes"].insert(0, f"the command ended with exit code {code}")
            record.header["complete"] = False
        return code, None if record is None else _keep(record, output, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def recover(output: Path) -> Record:
    """Write the record of a run of ours that was killed, from what its ranks left. Raises InputError where that is nothing."""
    if not any(parts_of(output).glob("*.node")):
        raise InputError(f"{parts_of(output)} has nothing that ranks left: no run into {output} was killed")
    folder, lock = _claim(output)
    try:
        record = _recovered(output, folder)
    finally:
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)
    return record


def _recovered(output: Path, folder: Path) -> Record:
    try:
        header = load_json((folder / _HEADER).read_bytes())
    except (OSError, ValueError):
        header = {}
    record = _merged(folder, header if isinstance(header, dict) else {})
    if record is None:
        raise InputError(f"what ranks left in {folder} is of no use: observe the program again")
    record.header["notes"].insert(0, "'rankwise observe' was killed: this is what the ranks had left")
    record.header["complete"] = False
    return _keep(record, output, folder)


def _keep_apart(output: Path, folder: Path) -> None:
    """Write what a run that was killed has left next to the record that is going to be written."""
    apart = output.with_name(f"{output.stem}.killed{output.suffix}")
    try:
        _recovered(apart, folder)
        tell(f"{output}: an earlier run was killed: its record is {apart}")
    except RankwiseError as error:
        tell(f"{output}: an earlier run was killed: {error}")
    for left in folder.glob("*.node"):
        left.unlink(missing_ok=True)


def library() -> Path:
    """Return the tracer, built where it is not installed. Raises UnusableEnvironmentError where that fails."""
    path = package_folder() / "lib" / "librankwise_observe.so"
    if path.is_file():
        return path
    from rankwise.launch.build import TRACER, build

    return build(TRACER)


def _variables(folder: Path) -> dict[str, str]:
    return {**loading([library()]), "RANKWISE_OBSERVE_DIR": str(folder)}


@contextmanager
def tracing(folder: Path) -> Iterator[None]:
    """Let programs that are started meanwhile load the tracer and leave what they see in a folder."""
    variables = _variables(folder)
    known = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
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
            words += [part for name in _variables(Path()) for part in ("-x", name)]
    return words


def _merged(folder: Path, header: dict[str, Any]) -> Record | None:
    from rankwise.observe.parts import record_of, world_of

    notes: list[str] = []
    if not (parts := world_of(folder, notes)):
        return None
    record = record_of(parts, header, notes)
    if not record.header["complete"]:
        from rankwise.observe.live import left_waiting

        record.header["notes"] += left_waiting(parts)
    return record


def _claim(output: Path) -> tuple[Path, int]:
    """Make the folder where ranks leave what they see, and lock it."""
    folder = parts_of(output)
    try:
        for parent in (output.parent, folder.parent):
            parent.mkdir(parents=True, exist_ok=True)
        own_folder(folder)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(f"{output} cannot be written ({error.strerror}): name a file of your own with -o") from None
    if not locked(lock):
        os.close(lock)
        raise InputError(f"{output} is being written by another 'rankwise observe': name another file with -o")
    return folder, lock


def _run(command: Sequence[str], environment: dict[str, str], meanwhile: Callable[[], object]) -> int:
    """Run a command in our place: its terminal is ours, signals that would end us are its own, and it does not outlive us.

    What a terminal sends to all of its foreground, the command has got itself.
    """
    processes: list[subprocess.Popen[bytes]] = []
    early: list[int] = []  # signals that came before there was one

    def forward(number: int, frame: object) -> None:
        if number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground():
            return
        processes[0].send_signal(number) if processes else early.append(number)

    ended_by = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    handlers = {
        n: signal.signal(n, forward) for n in ended_by if signal.getsignal(n) is not signal.SIG_IGN
    }  # as nohup leaves it
    process = subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)
    processes.append(process)
    for number in early:
        process.send_signal(number)
    try:
        with suppress(ImportError):  # what reads the ranks' parts and writes the record
            import rankwise.observe.call_sites
            import rankwise.observe.parts  # noqa: F401

            meanwhile()
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _in_foreground() -> bool:
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _keep(record: Record, output: Path, folder: Path) -> Record:
    """Write a record with its call sites named, with less or elsewhere where the disk is full; return what was written."""
    from rankwise.observe.call_sites import named
    from rankwise.observe.record import write_record

    named(record.header, limit_s=_NAMES_LIMIT_S)
    shorter = replace(record, events={}, sites={}, header={**record.header, "windows": []})
    attempts: list[tuple[Path | None, Record]] = [(output, record), (output, record), (output, shorter), (None, record)]
    for attempt, (place, content) in enumerate(attempts):
        try:
            path = place or Path(tempfile.mkdtemp(prefix="rankwise-")) / output.name
            write_record(path, content)
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", None) or str(error)
            if attempt == 0:  # what the ranks left is in memory now: make room
                for part in folder.glob("*.node"):
                    part.unlink()
            continue
        if content is shorter:
            tell(f"{output}: {why}: the record was written without its events")
        elif path is not output:
            tell(f"{output} cannot be written ({why}): the record is {path}")
        return content
    raise RankwiseError(f"{output} cannot be written ({why}): make room, and observe the program again")


def _why_nothing(command: Sequence[str], program: Path | None, folder: Path, code: int) -> str:
    """Say why a command left no record, and the mend."""
    if shutil.disk_usage(folder).free < _LITTLE_BYTES:
        return f"there is no room in {folder.parent}: make some, or set RANKWISE_OBSERVE_DIR to a folder that all nodes share"
    if program is None:
        word = next(iter(words_of_program(command)), command[0])
        if word == command[0] and LAUNCHERS.fullmatch(Path(word).name):
            return f"the command names no program after {word}: give it as in -- mpiexec -n 16 ./app"
        if missing := why_missing(word):
            return f"{word}: {missing}, so nothing ran: correct its path"
        return f"{word} is a script, and no program that it started called MPI"
    if os.stat(program).st_mode & 0o6000:
        return f"{program} is setuid, and such programs load no library of rankwise: take a copy that is not"
    calls_mpi, names_library = names_mpi(program)
    if mpi_libraries(program) or names_library:
        if code != 0:
            return f"{program} ended with exit code {code} before MPI_Init: see that it runs without 'rankwise observe'"
        return (
            f"{program} did not call MPI_Init, or its launcher dropped LD_PRELOAD or RANKWISE_OBSERVE_DIR, or {folder.parent} "
            "is not on its nodes: let the launcher pass both on, and write to a folder that all nodes share"
        )
    if calls_mpi:
        return f"{program} has its MPI linked statically, which cannot be observed: link it with the shared library"
    return f"{program} called no MPI: only MPI programs can be observed"


def exit_code_of(code: int, record: Record | None) -> int:
    """Return the exit code: the program's, and failure where it was well but nothing was observed."""
    return code if code or record is not None else EXIT_FAILURE
