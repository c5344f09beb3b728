"""The program that a user's command starts, and to which MPI it belongs, before anything is started."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import RankwiseError, UnusableEnvironmentError
from rankwise.launch.command import read_command
from rankwise.launch.launchers import Launcher, make_launcher
from rankwise.launch.process import output_of

WORDS = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "abi": "the MPI-5 ABI"}  # of families
_LAUNCHERS = re.compile(r"mpiexec|mpirun|orterun|prterun|srun")
_STARTERS = re.compile(rf"{_LAUNCHERS.pattern}|(env|nice|nohup|time|timeout|numactl|taskset|stdbuf|setarch|flux|(|ba|da|z)sh)$")


def launcher_at(path: Path) -> Launcher | None:
    """Return the launcher at a path; None for what is none, or does not say which it is."""
    if not _LAUNCHERS.match(path.name):
        return None
    try:
        return make_launcher(path, output_of([str(path), "--version"], 20.0)[1])
    except RankwiseError:
        return None


def program_of(command: Sequence[str]) -> Path | None:
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


def mpi_libraries(program: Path) -> list[str]:
    """Return the names of the MPI libraries that a program is linked with."""
    try:
        text = output_of(["ldd", str(program)])[1]
    except RankwiseError:
        return []
    return re.findall(r"^\s*(libmpi(?:ch|_abi)?\.so\S*)", text, re.MULTILINE)


def names_mpi(program: Path) -> bool:
    """Whether a program calls MPI, linked with a library of it or with MPI itself."""
    import mmap

    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"MPI_Init\0") >= 0


def family_of(library: str) -> str:
    """Return whose handles a library has: abi, openmpi or mpich (and all that share its ABI)."""
    if library.startswith("libmpi_abi"):
        return "abi"
    return "openmpi" if library.startswith(("libmpi.so.40", "libmpi.so.80")) else "mpich"


def require_match(launcher: Launcher | None, program: Path | None) -> None:
    """Raise UnusableEnvironmentError for a launcher of another MPI than the
    program's: each rank would be alone in its world."""
    if launcher is None or program is None or launcher.family not in WORDS:
        return
    for name in mpi_libraries(program):
        family = "openmpi" if family_of(name) == "openmpi" else "mpich"
        if family not in launcher.understands:
            raise UnusableEnvironmentError(
                f"{program} belongs to {WORDS[family]} ({name}), {launcher.path} to {WORDS[launcher.family]}: "
                "start it with its own MPI's mpiexec"
            )
