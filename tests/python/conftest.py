"""Fixtures for all tests: the command line in this process, the MPI of this machine, a small measured profile."""

from __future__ import annotations

import contextlib
import getpass
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import hypothesis
import pytest

from breadth import ALL
from rankwise.launch.mpi import Mpi, find_mpi
from rankwise.launch.remains import orphans, remove
from verbs import Rankwise, Refused, Result

_BEGUN_UNIX_S = time.time()

# MPICH's collectives in shared memory wait without giving up the core: with more ranks than cores, a time slice each.
for _collective in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE"):
    os.environ.setdefault(f"MPIR_CVAR_{_collective}_POSIX_INTRA_ALGORITHM", "mpir")

# Sums of OpenBLAS and numpy differ by processor, in the last digits of each figure: those of all x86-64 with AVX2.
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR")

os.environ.setdefault("RANKWISE_PROGRESS_S", "0")  # what a loaded machine takes long for is said to nobody here

# A version of the sources passes or fails everywhere alike; ``make nightly`` draws other cases each time.
hypothesis.settings.register_profile("reproducible", derandomize=True)
hypothesis.settings.load_profile("default" if ALL else "reproducible")


# A shell's job in the background ignores interrupts, and so would all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove what killed launchers and ranks have left, and of tests that were interrupted their folders: nobody else does."""
    remove(orphans(_BEGUN_UNIX_S))
    if exitstatus == pytest.ExitCode.INTERRUPTED and "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(session.config._tmp_path_factory.getbasetemp(), ignore_errors=True)  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove pytest's folder in /tmp where nothing but links to what it has removed itself is left in it."""
    folder = Path(tempfile.gettempdir()) / f"pytest-of-{getpass.getuser()}"
    if "PYTEST_XDIST_WORKER" in os.environ or not folder.is_dir():
        return
    for link in folder.glob("*-current"):
        if not link.exists():
            link.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # another session's, or what has failed is kept there
        folder.rmdir()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what simulates where there is no SimGrid."""
    if item.get_closest_marker("simgrid") is not None and shutil.which("smpirun") is None:
        pytest.skip("SimGrid is not installed (Debian: apt-get install libsimgrid-dev)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed by the JUnit files in RANKWISE_RAN; with RANKWISE_FAILED keep what failed by those there."""
    if folder := os.environ.get("RANKWISE_FAILED", os.environ.get("RANKWISE_RAN")):
        outcomes: dict[str, set[str]] = {}
        for path in Path(folder).glob("*.xml"):
            for case in ElementTree.parse(path).iter("testcase"):
                outcomes.setdefault(f"{case.get('classname')}::{case.get('name')}", set()).update(child.tag for child in case)
        failed = {name for name, tags in outcomes.items() if tags & {"failure", "error"}}
        passed = {name for name, tags in outcomes.items() if tags <= {"system-out", "system-err", "properties"}}
        names = {item: f"{junit_class(item.nodeid)}::{item.name}" for item in items}
        kept = [
            item for item in items if (names[item] in failed if "RANKWISE_FAILED" in os.environ else names[item] not in passed)
        ]
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept


def junit_class(nodeid: str) -> str:
    """Return a test's class in JUnit files."""
    return nodeid.partition("[")[0].rpartition("::")[0].removesuffix(".py").replace("/", ".").replace("::", ".")


@pytest.fixture(autouse=True)
def schemas_hold(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold everything that a verb prints as JSON against its schema."""
    from typer._click.globals import get_current_context

    import schemas
    from rankwise.cli import base

    def checked(value: Any) -> str:
        text = json_text(value)
        context = get_current_context(silent=True)
        asked = {} if context is None else context.params
        name = "error" if context is None else schemas.name_of(context.command_path, asked)
        if name != "machines-schema":
            try:
                schemas.check(name, json.loads(text))
            except AssertionError as error:  # which a verb would take for one of its own
                wrong.append(str(error))
        return text

    json_text, wrong = base.json_text, list[str]()
    monkeypatch.setattr(base, "json_text", checked)
    yield
    assert wrong == []


@pytest.fixture(autouse=True)
def screens_hold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold what verbs that start MPI would show on a terminal, also where a test asks for JSON, to what all screens keep to.

    Other verbs' screens are frozen.
    """
    wrong = list[str]()
    if request.node.get_closest_marker("mpi") is not None:
        from typer._click.globals import get_current_context

        import screens
        from rankwise.blocks import terminal
        from rankwise.cli import base

        def check(blocks: Iterable[Any]) -> None:
            if (context := get_current_context(silent=True)) is None:
                return
            streams = io.StringIO(), io.StringIO()
            with (
                contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]),
                patch.object(terminal, "on_terminal", return_value=True), patch.dict(os.environ, COLUMNS="80", NO_COLOR="1"),
            ):  # fmt: skip
                show(blocks)
            command = context.command_path + " --wide" * terminal._wide + " --all " * terminal._all
            texts = (stream.getvalue().replace(str(Path.cwd()), ".") for stream in streams)
            wrong.extend(f"{command}: {fault}" for fault in screens.faults(command, *texts))

        def show_checked(blocks: Iterable[Any]) -> None:
            shown = list(blocks)
            check(shown)
            show(shown)

        def print_checked(value: object) -> None:
            asked = sys._getframe(1).f_locals  # of base.show
            if "found" in asked and asked.get("as_json"):
                check(asked["found"].rendered(asked.get("blocks")))
            print_json(value)

        show, print_json = terminal.show, base.print_json
        monkeypatch.setattr(terminal, "show", show_checked)
        monkeypatch.setattr(base, "print_json", print_checked)
    yield
    assert wrong == []


@pytest.fixture
def rankwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rankwise:
    """Run a command line, and words that follow it, in an empty folder; stdout and stderr apart, never a traceback."""
    from rankwise.cli.main import run

    monkeypatch.chdir(tmp_path)

    def call(line: str = "", *arguments: str | Path) -> Result:
        capsys.readouterr()
        code = run([*shlex.split(line), *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err)

    return call


@pytest.fixture
def refused(rankwise: Rankwise) -> Refused:
    """Run a command line that is wrong and return its complaint: one line, exit code 2, no result."""

    def call(line: str, *arguments: str | Path) -> str:
        found = rankwise(line, *arguments)
        assert found.code == 2 and (found.out == "" or set(found.json) == {"error"}), found.err
        assert found.err.startswith("rankwise: ") and found.err.count("\n") == 1, found.err
        return found.err

    return call


@pytest.fixture
def imported(rankwise: Rankwise) -> Callable[..., Path]:
    """Write the profile of a published table's ping-pongs over a link class."""

    def profile(link: str, output: str = "machine.json") -> Path:
        table = Path(__file__).parents[1] / "data" / "werner2023_pingpong.csv"
        assert rankwise("profile", "import", table, "--link", link, "-o", output).code == 0
        return Path(output)

    return profile


@pytest.fixture
def jureca(imported: Callable[..., Path]) -> Path:
    return imported("other-node", "jureca.json")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all tests that load the library from Python: it is built once for them, and for all processes."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(scope="session")
def python_ranks(cache: Path) -> Callable[..., str]:
    """Run a Python program under real ranks and return its stdout."""

    def run(ranks: int, *command: str | Path) -> str:
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        words = [str(Path(sys.prefix) / "bin" / "mpiexec"), "-n", str(ranks), sys.executable, *map(str, command)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def mpi() -> Mpi:
    return find_mpi()
