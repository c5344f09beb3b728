"""Arrows point one way in the sources of C and C++, as docs/design.md says; the core knows no MPI, file or clock, and
threads in one place. Those of Python are held by import-linter (``make lint``)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ("grid", "mapping", "schedule", "cost", "decide", "profile", "pattern", "halo")
# Headers of MPI, files and clocks; of threads, which one file of the core may start.
IMPURE = re.compile(r"mpi\.h|fstream|iostream|filesystem|chrono|ctime|time\.h|unistd\.h|sys/.*")
THREADS = {"thread", "future", "atomic", "mutex", "condition_variable"}
Arrows = dict[str, set[str]]


def _included(source: Path) -> set[str]:
    return set(re.findall(r'^ *# *include *[<"]([^>"]+)[>"]', source.read_text(), re.MULTILINE))


def _includes(folder: Path) -> set[str]:
    return {name for path in folder.iterdir() if path.suffix in (".c", ".cpp", ".h", ".hpp") for name in _included(path)}


@cache
def _arrows() -> Arrows:
    folders = {path.name: path for path in (ROOT / "src").iterdir()}
    arrows = {name: {include.partition("/")[0] for include in _includes(path)} for name, path in folders.items()}
    return {name: (used & folders.keys()) - {name} for name, used in arrows.items()}


def _layers() -> list[set[str]]:
    """Return the page's layers, the lowest first."""
    block = re.search(r"reads these lines.*?```text\n(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL)
    assert block
    return [set(line.split(" | ")) for line in reversed(block[1].splitlines())]


def test_no_part_uses_one_beside_or_above_it() -> None:
    arrows, layers = _arrows(), _layers()
    assert sum(map(len, arrows.values())) > 20
    assert sorted(part for layer in layers for part in layer) == sorted(arrows)
    below: set[str] = set()
    for layer in layers:
        assert {part: arrows[part] - below for part in layer if arrows[part] - below} == {}
        below |= layer


def test_the_page_names_every_part() -> None:
    rows = "\n".join(
        line.split("|")[1] for line in (ROOT / "docs" / "design.md").read_text().splitlines() if line.startswith("| `")
    )
    folders = [path for path in (ROOT / "python" / "rankwise").iterdir() if (path / "__init__.py").is_file()]
    assert {part for part in _arrows() if f"`src/{part}`" not in rows} == set()
    assert {path.name for path in folders if f"/{path.name}`" not in rows} == set()


def test_the_core_is_pure() -> None:
    arrows = _arrows()
    for part in CORE:
        assert arrows[part] <= set(CORE), part
        assert [name for name in _includes(ROOT / "src" / part) if IMPURE.fullmatch(name)] == [], part


def test_the_core_starts_threads_in_one_place() -> None:
    sources = [path for part in CORE for path in (ROOT / "src" / part).glob("*.?pp")]
    assert [path.name for path in sources if _included(path) & THREADS] == ["effort.hpp"]
