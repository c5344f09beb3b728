"""Arrows point one way: no part uses, over however many others, one that uses it; the core knows no MPI, file or clock, and
threads in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "rankwise"
CORE = ("grid", "mapping", "schedule", "cost", "decide", "profile", "pattern", "halo")
# Headers of MPI, files and clocks; of threads, which one file of the core may start.
IMPURE = re.compile(r"mpi\.h|fstream|iostream|filesystem|chrono|ctime|time\.h|unistd\.h|sys/.*")
THREADS = {"thread", "future", "atomic", "mutex", "condition_variable"}
Arrows = dict[str, set[str]]


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield what is imported when it runs, in functions too, but not what only the type checker reads."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        children: list[ast.AST] = list(node.orelse)
    else:
        children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports say the whole name"
        yield from (f"{node.module}.{name.name}" for name in node.names)
    for child in children:
        yield from _imports(child)


@cache
def _python_arrows() -> Arrows:
    """Return which part (a folder or a module of the package) uses which others."""
    parts = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    arrows: Arrows = {}
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        used = {name.split(".")[1] for name in _imports(ast.parse(path.read_text())) if name.startswith("rankwise.")}
        arrows.setdefault(part, set()).update((used & parts) - {part})
    return arrows


def _included(source: Path) -> set[str]:
    return set(re.findall(r'^ *# *include *[<"]([^>"]+)[>"]', source.read_text(), re.MULTILINE))


def _includes(folder: Path) -> set[str]:
    return {name for path in folder.iterdir() if path.suffix in (".cpp", ".hpp") for name in _included(path)}


@cache
def _cpp_arrows() -> Arrows:
    folders = {path.name: path for path in (ROOT / "src").iterdir()}
    arrows = {name: {include.partition("/")[0] for include in _includes(path)} for name, path in folders.items()}
    return {name: (used & folders.keys()) - {name} for name, used in arrows.items()}


@pytest.mark.parametrize("arrows", [_python_arrows, _cpp_arrows])
def test_no_part_uses_what_uses_it(arrows: Callable[[], Arrows]) -> None:
    found = arrows()
    assert sum(map(len, found.values())) > 20
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        pytest.fail(" uses ".join(reversed(error.args[1])))


def test_nothing_uses_the_command_line() -> None:
    assert {part for part, used in _python_arrows().items() if "cli" in used} == {"__main__"}


def test_the_core_is_pure() -> None:
    arrows = _cpp_arrows()
    for part in CORE:
        assert arrows[part] <= set(CORE), part
        assert [name for name in _includes(ROOT / "src" / part) if IMPURE.fullmatch(name)] == [], part


def test_the_core_starts_threads_in_one_place() -> None:
    sources = [path for part in CORE for path in (ROOT / "src" / part).glob("*.?pp")]
    assert [path.name for path in sources if _included(path) & THREADS] == ["parallel.hpp"]
