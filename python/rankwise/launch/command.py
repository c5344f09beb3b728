"""A user's own command line: its launcher, the launcher's options, the program; and the same with other placements.

The program that a user's command starts, and to which MPI it belongs, before anything is started.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.launchers import Launcher, make_launcher
from rankwise.launch.process import output_of

WORDS = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "abi": "the MPI-5 ABI"}  # of families
LAUNCHERS = re.compile(r"mpiexec|mpirun|orterun|prterun|srun")
_STARTERS = re.compile(rf"{LAUNCHERS.pattern}|(env|nice|nohup|time|timeout|numactl|taskset|stdbuf|setarch|flux|(|ba|da|z)sh)$")


def launcher_at(path: Path) -> Launcher | None:
    """Return the launcher at a path; None for what is none, or does not say which it is."""
    if not LAUNCHERS.match(path.name):
        return None
    try:
        return make_launcher(path, output_of([str(path), "--version"], 20.0)[1])
    except RankwiseError:
        return None


def words_of_program(command: Sequence[str]) -> Sequence[str]:
    """Return what follows a launcher and its options (of which some are names of programs: --map-by seq), or all words."""
    try:
        return read_command(command).program
    except RankwiseError:
        return command


def why_missing(word: str) -> str | None:
    """Say why a word names nothing that can be started here; None where it does."""
    if shutil.which(word) is not None:
        return None
    return "no such file" if "/" in word and not Path(word).exists() else "not an executable file, or not on PATH"


def program_of(command: Sequence[str]) -> Path | None:
    """Return the first executable among a command's words that is neither a launcher nor a tool that starts another program."""
    for word in words_of_program(command):
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


def _linked(program: Path) -> list[tuple[str, str]]:
    """Return the names of the MPI libraries that a program is linked with, each with its file (empty: it is not found)."""
    try:
        text = output_of(["ldd", str(program)])[1]
    except RankwiseError:
        return []
    return re.findall(r"^\s*(libmpi(?:ch|_abi)?\.so\S*)(?: => (/.*?)(?: \(0x|$))?", text, re.MULTILINE)


def mpi_libraries(program: Path) -> list[str]:
    """Return the names of the MPI libraries that a program is linked with."""
    return [name for name, _ in _linked(program)]


def mpi_library_path(program: Path) -> Path | None:
    """Return the file of the MPI library that a program is linked with; None for none, or one that is not found."""
    return next((Path(path) for _, path in _linked(program) if path), None)


def names_mpi(program: Path) -> tuple[bool, bool]:
    """Whether a program's file names calls of MPI, and whether it names a library of MPI: one without the other is static."""
    import mmap

    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"MPI_Init\0") >= 0, re.search(rb"\0libmpi(?:ch|_abi)?\.so[.\d]*\0", content) is not None


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


# Options that say where ranks go, without their dashes, by the family of launchers; and how many words follow.
_OF_HYDRA = dict.fromkeys(
    ("f", "hosts", "host", "hostfile", "hostlist", "machinefile", "machine", "ppn", "perhost", "rankmap"), 1
)
_PLACING = {
    "mpich": _OF_HYDRA,
    "intel": _OF_HYDRA | {"grr": 1, "rr": 0},
    "openmpi": dict.fromkeys(
        ("H", "host", "hostfile", "machinefile", "map-by", "rank-by", "rankfile", "rf", "N", "npernode", "npersocket"), 1
    ) | dict.fromkeys(("pernode", "bynode", "byslot", "bycore"), 0),
    "slurm": dict.fromkeys(("w", "nodelist", "N", "nodes", "m", "distribution", "ntasks-per-node"), 1),
}  # fmt: skip
# Others that are followed by words; of an option that is not known, a next word that is neither option nor program belongs to
# it.
_WORDS = {
    "genv": 2, "env": 2, "mca": 2, "gmca": 2, "prtemca": 2, "pmixmca": 2, "x": 1, "bind-to": 1, "wdir": 1, "wd": 1,
    "launcher": 1,
    "launcher-exec": 1, "iface": 1, "genvlist": 1, "envlist": 1, "prefix": 1, "mpi": 1, "p": 1, "A": 1, "t": 1, "c": 1,
}  # fmt: skip
_RANKS = ("n", "np", "ntasks")


@dataclass(frozen=True)
class Command:
    """A launcher, its options apart from those that place ranks, and the program; ``ranks`` is None where it is not said."""

    launcher: Launcher
    options: tuple[str, ...]
    placing: tuple[str, ...]
    program: tuple[str, ...]
    ranks: int | None

    def on(self, hosts: Sequence[str], program: Sequence[str] | None = None) -> list[str]:
        """Return the command that starts the program (or another one) with each rank on its host; bound only if the user says
        so.

        Raises InputError where the launcher cannot place ranks like that.
        """
        placed = self.launcher.placed(hosts)
        if self.launcher.family == "openmpi" and not any(option.lstrip("-").startswith("bind-to") for option in self.options):
            placed = [*placed, "--bind-to", "none"]
        return [str(self.launcher.path), *placed, *self.options, "-n", str(len(hosts)), *(program or self.program)]


def read_command(words: Sequence[str]) -> Command:
    """Take a command line apart. Raises InputError, and UnusableEnvironmentError for a launcher that is not there."""
    if not words:
        raise InputError("the command is missing: give it after --, as in -- mpiexec -n 16 ./app")
    found = shutil.which(words[0])
    if found is None:
        raise UnusableEnvironmentError(f"{words[0]} cannot be started: it is no executable on PATH, correct its name")
    launcher = make_launcher(Path(found), output_of([found, "--version"])[1])
    if launcher.family not in _PLACING:
        raise InputError(f"{words[0]} is no launcher that is known here: start with mpiexec, mpirun or srun")
    options: list[str] = []
    placing: list[str] = []
    ranks: int | None = None
    at = 1
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].lstrip("-").partition("=")
        count = 0 if equals else _words_of(launcher.family, words, at, name)
        whole = words[at : at + 1 + count]
        if name in _RANKS:
            ranks = _number(value if equals else whole[-1], whole)
        elif name in _PLACING[launcher.family]:
            placing += whole
        else:
            options += whole
        at += 1 + count
    program = words[at:]
    if not program:
        raise InputError(f"the command names no program after {words[0]}: give it as in -- mpiexec -n 16 ./app")
    if ":" in program:
        raise InputError("the command starts several programs (:), whose ranks cannot be placed one by one: start one program")
    return Command(launcher, tuple(options), tuple(placing), tuple(program), ranks)


def _words_of(family: str, words: Sequence[str], at: int, name: str) -> int:
    """Return how many words belong to an option."""
    if name in _RANKS:
        return 1
    known = _PLACING[family].get(name, _WORDS.get(name))
    if known is not None:
        return known
    follows = words[at + 1] if at + 1 < len(words) else "-"
    return 0 if follows.startswith("-") or shutil.which(follows) is not None else 1


def _number(text: str, whole: Sequence[str]) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"'{' '.join(whole)}' is no number of ranks: give one, as in -n 16")
    return int(text)
