"""A folder of settings: what an MPI library reads, how a program is given them, and what they were made for."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.collectives.written import HERE, Written
from rankwise.errors import InputError
from rankwise.files import make_folder, read_json, write_json, write_whole
from rankwise.reading import read_document
from rankwise.records import Record, computed, key, record

if TYPE_CHECKING:
    from typing import Self

FILE, SCRIPT = "settings.json", "env.sh"
SCHEMA = 1
_MEND = "write it again with 'rankwise tune'"
# Where people have settings of their own, by the variables that would be set.
_OWN_FILES = ("coll_tuned_dynamic_rules_filename", "coll_tuned_use_dynamic_rules", "coll_han_dynamic_rules_filename")


_VARIABLE = re.compile(r"(OMPI_MCA|MPIR_CVAR|I_MPI_ADJUST)_\w+", re.ASCII)


def _variables(value: Any, what: str) -> dict[str, str]:
    """Return variables as a program is given them: those of an MPI alone. Raises ValueError."""
    for name, text in value.items():
        if _VARIABLE.fullmatch(name) is None:
            raise ValueError(f"{what} {name!r:.40} is no variable of Open MPI, MPICH or Intel MPI")
        if not isinstance(text, str) or not text.isprintable():
            raise ValueError(f"{what}.{name} is not a printable text")
    return dict(value)


def _files(value: Any, what: str) -> dict[str, str]:
    """Return names of files in the folder itself with their sums. Raises ValueError."""
    for name, digest in value.items():
        if Path(name).name != name or "\0" in name or len(os.fsencode(name)) > 255 or not isinstance(digest, str):
            raise ValueError(f"{what} {name!r:.40} is no file of the folder with its sum")
    return dict(value)


@record
class Settings(Record):
    """What is set, for which library, ranks and machine. ``files``: by name, the SHA-256 of what was written."""

    schema = computed("version of this document", int, lambda of: SCHEMA)
    library: str = key("the library, as --mpi takes it")
    mpi: str = key("what the library says of itself; empty: unknown")
    machine: str = key("name of the machine whose profile predicts the gains")
    nodes: int = key("number of nodes", least=1)
    ranks: int = key("number of ranks", least=1)
    variables: Mapping[str, str] = key("variables of the environment; {folder} stands for where the files lie", read=_variables)
    files: Mapping[str, str] = key("files that were written, with their SHA-256", read=_files)
    created: str = key("when it was written, UTC")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a folder's settings. Raises InputError for what is none, or lacks a file."""
        path = folder / FILE if folder.is_dir() or not folder.exists() else folder
        if not path.is_file():
            raise InputError(f"{folder} has no settings ({FILE}): name a folder that 'rankwise tune -o' wrote")
        value = read_json(path, "settings of 'rankwise tune'", _MEND)
        found = read_document(cls.from_dict, value, str(path), _MEND)
        if missing := [name for name in found.files if not (path.parent / name).is_file()]:
            raise InputError(f"{path.parent} lacks {missing[0]}: {_MEND}")
        return found

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the variables that make a program use what lies in a folder."""
        where = str((folder if folder.is_dir() else folder.parent).resolve())
        return {name: value.replace(HERE, where) for name, value in self.variables.items()}

    def changed(self, folder: Path) -> list[str]:
        """Return the files that are not as they were written."""
        return [name for name, digest in self.files.items() if _digest((folder / name).read_bytes()) != digest]

    def stale(self, mpi: str = "", ranks: int | None = None, nodes: int | None = None, machine: str = "") -> Iterator[str]:
        """Yield what they were made for that is not so where they are used; what is unknown there is not held against it."""
        if mpi and self.mpi and _version(mpi) != _version(self.mpi):
            yield f"made for {_version(self.mpi)}, used with {_version(mpi)}"
        for name, made, used in (("rank", self.ranks, ranks), ("node", self.nodes, nodes)):
            if used is not None and used != made:
                yield f"made for {made} {name}s, used with {used}"
        if machine and self.machine and machine != self.machine:
            yield f"made for {self.machine}, used on {machine}"


def _version(text: str) -> str:
    """Return the first words of what a library says of itself: its name and version."""
    words = text.replace(",", " ").replace(" Version:", " ").split()
    return " ".join(words[: 1 + next((i for i, word in enumerate(words) if re.search(r"\d", word)), 2)])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_settings(folder: Path, found: Written, made_for: Mapping[str, Any]) -> Settings:
    """Write a folder of settings; what others wrote there stays. Raises InputError where that is in the way."""
    texts = dict(found.files)
    environment = Settings(**made_for, variables=found.variables, files={}, created="").environment(folder.absolute() / FILE)
    texts[SCRIPT] = "".join(
        ["# . env.sh, before the program is started; to undo it, unset these variables\n",
         *(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())]
    )  # fmt: skip
    _require_own(folder, [*texts, FILE])
    settings = Settings(
        **made_for, variables=found.variables, files={name: _digest(text.encode()) for name, text in texts.items()},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    make_folder(folder)
    for name, text in texts.items():
        write_whole(folder / name, text)
    write_json(folder / FILE, settings.to_dict())
    return settings


def _require_own(folder: Path, names: list[str]) -> None:
    """Raise InputError where a file is there that was not written here, or has been changed since."""
    there = [name for name in names if (folder / name).exists()]
    if not there:
        return
    try:
        before = Settings.read(folder)
    except InputError:
        raise InputError(f"{folder / there[0]} is there already and is not overwritten: name another folder with -o") from None
    foreign = [*before.changed(folder), *(name for name in there if name not in before.files and name != FILE)]
    if foreign:
        raise InputError(f"{folder / foreign[0]} was changed by hand and is not overwritten: name another folder with -o")


def own_settings(variables: Mapping[str, str]) -> list[str]:
    """Return what a person has set already that these variables would replace, as words."""
    found = [f"{name}={os.environ[name]}" for name in variables if name in os.environ]
    for folder in (Path.home() / ".openmpi", *map(Path, os.environ.get("OMPI_MCA_PARAM_FILES", "").split(":"))):
        path = folder / "mca-params.conf" if folder.is_dir() else folder
        try:
            lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        except OSError:
            continue
        if any(name.startswith("OMPI_MCA_") for name in variables):
            found += [f"{line.strip()} ({path})" for line in lines if line.split("=")[0].strip() in _OWN_FILES]
    return found
