"""A folder of settings: what an MPI library reads, how a program is given them, and what they were made for.

Libraries read Open MPI's rules files, MPICH's selection files, Intel MPI's variables. A rule holds for a collective, one number
of ranks and a range of bytes; for all else the library goes on as without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.collectives.selection import BY_RANK, Setting
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
HERE = "{folder}"  # in a value of a variable: where the files lie
# Numbers of collectives in Open MPI's files.
_NUMBERS = {"allgather": 0, "allreduce": 2, "alltoall": 3, "bcast": 7, "gather": 9, "reduce": 11, "reduce_scatter": 12,
            "scatter": 15}  # fmt: skip
_OF_HAN = ("allgather", "allreduce", "bcast", "gather", "reduce", "scatter")
_GLOBAL = 2  # HAN's level of a whole communicator


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


@dataclass(frozen=True)
class Rule:
    """What is set for a collective of so many ranks and ``first`` to ``last`` bytes, as ``Call`` counts them."""

    kind: str
    ranks: int
    first: int
    last: int
    setting: Setting
    by_nodes: bool = False  # whether some of these communicators have several nodes of several ranks


@dataclass(frozen=True)
class Written:
    """Files by their names, and the variables that make a library read them."""

    files: Mapping[str, str]
    variables: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Library:
    """A library at hand: one of ``settable_libraries``, and its file (None: not at hand)."""

    name: str
    path: Path | None = None
    trees: Mapping[str, Any] = field(default_factory=dict)
    content: bytes = b""

    @classmethod
    def at(cls, name: str, path: Path | None) -> Library:
        """Read what a library's file says of itself: of MPICH its selection trees, by kind."""
        if path is None or not name.startswith("mpich"):
            return cls(name, path)
        content = path.read_bytes()
        found = {}
        for match in re.finditer(rb'\{"collective=[^\0]+', content):
            try:
                tree = json.loads(match.group())
            except (ValueError, RecursionError):
                continue
            text = match.group()
            found["posix" if b"MPIDI_POSIX" in text else "ch4" if b"composition=" in text else "mpir"] = tree
        return cls(name, path, found, content)

    def knows(self, kind: str, setting: Setting) -> bool:
        """Whether this very library has an algorithm."""
        return not self.content or _leaf(kind, setting).encode() in self.content


def written(library: Library, rules: Sequence[Rule]) -> Written:
    """Return the files and variables that make a library follow some rules, at least one. Raises InputError."""
    family = library.name.partition("-")[0]
    writers: dict[str, Callable[[Library, Sequence[Rule]], Written]] = {
        "openmpi": _open_mpi,
        "mpich": _mpich,
        "intelmpi": _intel_mpi,
    }
    return writers[family](library, rules)


def _open_mpi(library: Library, rules: Sequence[Rule]) -> Written:
    columns = "bytes, algorithm (0: the default), fan, segment"
    files = {"tuned.rules": _rules_file(rules, columns, lambda rule: _tuned(rule.setting), "0 0 0")}
    variables = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": f"{HERE}/tuned.rules",
    }
    past_han = [rule for rule in rules if rule.by_nodes and rule.kind in _OF_HAN]
    if past_han and library.name != "openmpi-4.1":
        # HAN, which serves communicators of several nodes of several ranks, leaves what is set to tuned, and nothing else.
        level = ("1 # level", f"{_GLOBAL} # the whole communicator")
        files["han.rules"] = _rules_file(past_han, "bytes, component", lambda rule: "tuned", "han", level)
        variables |= {
            "OMPI_MCA_coll_han_use_dynamic_file_rules": "1",
            "OMPI_MCA_coll_han_dynamic_rules_filename": f"{HERE}/han.rules",
        }
    return Written(files, variables)


def _by_kind(rules: Sequence[Rule]) -> list[tuple[str, list[tuple[int, list[Rule]]]]]:
    """Return the rules of each collective, of each number of ranks, ascending."""
    found: dict[str, dict[int, list[Rule]]] = defaultdict(lambda: defaultdict(list))
    for rule in sorted(rules, key=lambda rule: rule.first):
        found[rule.kind][rule.ranks].append(rule)
    return [
        (kind, sorted(found[kind].items()))
        for kind in sorted(found, key=lambda kind: (_NUMBERS.get(kind, len(_NUMBERS)), kind))
    ]


def _steps(rules: Sequence[Rule], unit: int, chosen: Callable[[Rule], str], default: str) -> list[str]:
    """Return a line for each size from which on something else is to be done, in units of the file's bytes."""
    lines = {0: default}
    for rule in rules:
        lines[rule.first * unit] = chosen(rule)
        lines[rule.last * unit + 1] = default
        lines = {size: line for size, line in lines.items() if not rule.first * unit < size <= rule.last * unit}
    return [f"{size} {line}" for size, line in sorted(lines.items())]


def _rules_file(
    rules: Sequence[Rule], columns: str, chosen: Callable[[Rule], str], default: str, level: Sequence[str] = ()
) -> str:
    """Return a file of Open MPI's: by collective, number of ranks and size what is to be done; ``level``: what HAN's file has
    above the ranks of a collective.

    A rule holds from its number of ranks on, so that the next number has the default again. Tuned's file, which has no levels,
    counts the blocks of all ranks together.
    """
    text = [f"{len({rule.kind for rule in rules})} # collectives; of a size: {columns}"]
    for kind, by_ranks in _by_kind(rules):
        every: dict[int, list[str]] = {1: [f"0 {default}"]}
        for ranks, of_ranks in by_ranks:
            every[ranks] = _steps(of_ranks, ranks if kind in BY_RANK and not level else 1, chosen, default)
            if ranks + 1 not in dict(by_ranks):
                every[ranks + 1] = [f"0 {default}"]
        text += [f"{_NUMBERS[kind]} # {kind}", *level, f"{len(every)} # numbers of ranks"]
        for ranks, lines in sorted(every.items()):
            text += [f"{ranks} {len(lines)} # ranks, sizes", *lines]
    return "\n".join(text) + "\n"


def _tuned(setting: Setting) -> str:
    fan = setting.radix if setting.algorithm == "chain" else 0
    return f"{setting.name.split()[0]} {fan} {setting.segment_bytes} # {setting.name}"


def _leaf(kind: str, setting: Setting) -> str:
    return f"algorithm=MPIR_{kind.capitalize()}_intra_{setting.name}"


def _mpich(library: Library, rules: Sequence[Rule]) -> Written:
    """Change branches of the very trees that the library has: a file of its own replaces all of them."""
    if "mpir" not in library.trees or "ch4" not in library.trees:
        raise InputError(
            f"{library.path or library.name} has no selection trees to start from: name the library that the program uses "
            "with --library-path"
        )
    mpir = json.loads(json.dumps(library.trees["mpir"]))
    for kind, by_ranks in _by_kind(rules):
        branch = _branch(library, mpir, kind)
        branch["comm_type=intra"] = _by_size(by_ranks, branch["comm_type=intra"], lambda rule, base: _guarded(rule, base))
    files = {"mpir.json": _pretty(mpir)}
    variables = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": f"{HERE}/mpir.json"}
    flat = [rule for rule in rules if rule.by_nodes]
    ch4 = json.loads(json.dumps(library.trees["ch4"]))
    for kind, by_ranks in _by_kind(flat):
        if (whole := _FLAT.get(kind)) is None:
            continue
        leaf = f"composition=MPIDI_{kind.capitalize()}_intra_composition_{whole}"
        branch = _branch(library, ch4, kind)
        branch["comm_type=intra"] = _by_size(by_ranks, branch["comm_type=intra"], lambda rule, base, leaf=leaf: {leaf: {}})
        files["ch4.json"] = _pretty(ch4)
        variables["MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"] = f"{HERE}/ch4.json"
    return Written(files, variables)


def _branch(library: Library, tree: Any, kind: str) -> dict[str, Any]:
    """Return what a tree has of a collective. Raises InputError for a tree of another form."""
    found = tree.get(f"collective={kind}") if isinstance(tree, dict) else None
    if not isinstance(found, dict) or "comm_type=intra" not in found:
        raise InputError(
            f"{library.path} has no selection tree of {kind}: name the library that the program uses with --library-path"
        )
    return found


# Which composition carries a collective out over all ranks at once; others are always so.
_FLAT = {"bcast": "gamma", "reduce": "gamma", "allreduce": "beta"}
_QUANTITY = {"allgather": "total_msg_size", "reduce_scatter": "total_msg_size", "reduce_scatter_block": "total_msg_size"}


def _by_size(by_ranks: Sequence[tuple[int, list[Rule]]], base: Any, leaf: Callable[..., Any]) -> dict[str, Any]:
    """Return a tree that is the base but where rules hold."""
    tree: dict[str, Any] = {}
    for ranks, rules in by_ranks:
        tree[f"comm_size<{ranks}"] = base
        sizes: dict[str, Any] = {}
        for rule in rules:
            quantity = _QUANTITY.get(rule.kind, "avg_msg_size")
            unit = ranks if quantity.startswith("total") and rule.kind in BY_RANK else 1
            if rule.first > 0:
                sizes[f"{quantity}<{rule.first * unit}"] = base
            sizes[f"{quantity}<={rule.last * unit}"] = leaf(rule, base)
        sizes[f"{_QUANTITY.get(rules[0].kind, 'avg_msg_size')}=any"] = base
        tree[f"comm_size<={ranks}"] = sizes
    return {**tree, "comm_size=any": base}


def _guarded(rule: Rule, base: Any) -> dict[str, Any]:
    """Return a leaf; the base where an algorithm cannot be: of reductions with few elements or an order of their own."""
    parameters = [*rule.setting.parameters]
    if rule.setting.segment_bytes or parameters:
        parameters.append(f"chunk_size={rule.setting.segment_bytes or rule.last}")
    leaf: dict[str, Any] = {_leaf(rule.kind, rule.setting): {name: {} for name in parameters}}
    if rule.kind == "alltoall":  # in place there is but one algorithm
        return {"is_sendbuf_inplace=yes": base, "is_sendbuf_inplace=no": leaf}
    if rule.kind not in ("reduce", "allreduce") or rule.setting.algorithm not in ("rabenseifner", "ring"):
        return leaf
    enough = {"count<pow2": base, "count=any": leaf}
    return {"is_commutative=yes": {"is_op_built_in=yes": enough, "is_op_built_in=no": base}, "is_commutative=no": base}


def _intel_mpi(library: Library, rules: Sequence[Rule]) -> Written:
    """Name presets for ranges of bytes, ascending: an entry holds up to its end, the last one for all that is larger, too."""
    variables = {}
    for kind, by_ranks in _by_kind(rules):
        ranges = (
            f"{rule.setting.name.split()[0]}:{rule.first}-{rule.last}@{ranks}-{ranks}"
            for ranks, some in by_ranks
            for rule in some
        )
        variables[f"I_MPI_ADJUST_{kind.upper()}"] = ";".join(ranges)
    return Written({}, variables)


def _pretty(tree: Any) -> str:
    return json.dumps(tree, indent=1) + "\n"
