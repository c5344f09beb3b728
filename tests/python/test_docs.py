"""What the documentation shows is run: its commands as they stand (those that measure, for fewer seconds), all pages in one
folder, and its pieces of programs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pages import PAGES, ROOT, Block, blocks
from rankwise.header import write
from rankwise.launch.mpi import Mpi
from verbs import Rankwise

FRAMES = Path(__file__).parent / "frames"
SHELL = ("sh", "bash")
# Blocks that are not run, each of which has a comment before it that says why.
NOT_RUN = {
    "README.md": 2, "CONTRIBUTING.md": 7, "docs/c-api.md": 2, "docs/cluster.md": 5, "docs/for-administrators.md": 3,
    "docs/halo.md": 2,
    "docs/health.md": 1, "docs/mapping.md": 1, "docs/measuring.md": 1,
    "docs/observe.md": 1, "docs/python.md": 1, "docs/reordering.md": 1,
    "docs/peers.md": 1, "docs/tutorial.md": 1,
}  # fmt: skip
# What may be found as well as not: exit codes of verbs that judge.
JUDGES = re.compile(r"(profile|observe) compare|doctor --nodes|preload --check|rankwise (measure|validate|choose)")
# In the last lines of stdout of each of the README's walks (its blocks "bash").
WALKS = (
    ("Fit to measure|Too busy", "latency", "machine.html"),
    ("app.comm|^$", "gain|[Nn]othing|times as fast|No advice yet"),
    ("latency", "same|slower|faster|told", "before-after.html"),
    ("theirs.json", "theirs.html"),
)
# What measures a given time does so for less here.
SHORTER = (
    (r"--seconds 3\b", "--seconds 1.5"), (r"(validate exchange .*) --seconds 1\b", r"\1 --seconds 0.3"),
    (r"measure fft3d .*", r"\g<0> --seconds 0.2"), (r"run (exchange|fft3d) [^#]*", r"\g<0> --seconds 0.1 "),
)  # fmt: skip
Run = Callable[[str], str]


def _app() -> str:
    """A program of somebody's own: each rank sends to both neighbours of a ring, step by step."""
    return """
#include <mpi.h>
int main(int argc, char** argv) {
  static double out[1 << 13], in[1 << 13];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
  for (int step = 0; step < 100; ++step) {
    MPI_Request of[2];
    MPI_Irecv(in, 1 << 12, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &of[0]);
    MPI_Irecv(in + (1 << 12), 1 << 12, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &of[1]);
    MPI_Ssend(out, 1 << 12, MPI_DOUBLE, up, 0, MPI_COMM_WORLD);
    MPI_Ssend(out + (1 << 12), 1 << 12, MPI_DOUBLE, down, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, of, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, mpi: Mpi) -> Path:
    """The folder of all pages' commands: the repository's data and examples, and a program that is the reader's own."""
    path = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "tests" / "data", path / "tests" / "data")
    shutil.copytree(ROOT / "examples", path / "examples")
    (path / "app.c").write_text(_app())
    subprocess.run([mpi.launcher_path.parent / "mpicc", "app.c", "-o", "app"], cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def outputs() -> dict[str, str]:
    """What each command that has run printed: the same line of another page is not run again."""
    return {}


@pytest.fixture
def run(
    rankwise: Rankwise, folder: Path, outputs: dict[str, str], mpi: Mpi, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run one line as a reader would and return its stdout; those of rankwise in this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{mpi.launcher_path.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
    monkeypatch.setattr("rankwise.engines.fft_lengths.SECONDS", 0.1)
    monkeypatch.setattr("rankwise.engines.fft_lengths._COUNTED", ((96, 64),))  # under valgrind

    def once(line: str) -> str:
        if line not in outputs:
            with monkeypatch.context() as own:
                if " python " in line or line.startswith("python "):  # loads the library that other tests load, too
                    own.setenv("XDG_CACHE_HOME", str(cache))
                outputs[line] = _printed_by(rankwise, line)
        return outputs[line]

    if not Path("machine.json").is_file():
        once("rankwise measure -o machine.json --seconds 3")
        once("rankwise observe -o app.comm -- mpiexec -n 8 ./app")
    return once


def _printed_by(rankwise: Rankwise, line: str) -> str:
    for wanted, given in SHORTER:
        line = re.sub(wanted, given, line)
    words = shlex.split(line, comments=True)
    words, target = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)
    if words[:2] == ["rankwise", "preload"] or words[0] != "rankwise":  # preload becomes the program
        done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, timeout=600)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        result = rankwise(*words[1:])
        code, out, err = result.code, str(result.out), result.err
    assert code in ((0, 3, 5, 6) if JUDGES.search(line) else (0,)), f"{line}: {code} {err}"
    if target is not None:
        Path(target).write_text(out)
    return out


def _shown(page: str, *languages: str) -> Iterator[Block]:
    return (block for block in blocks(page, *languages) if not block.said("not run"))


def test_each_block_says_what_it_is() -> None:
    found: dict[str, int] = {}
    for page in PAGES:
        for block in blocks(page):
            assert block.language in (*SHELL, "python", "c", "fortran", "cmake", "json", "toml", "text"), block.where
            if block.said("not run"):
                found[page] = found.get(page, 0) + 1
            elif block.language == "text":
                assert not re.search(r"^(rankwise [a-z]+ |mpiexec |python )", block.text, re.MULTILINE), block.where
            else:
                assert block.language != "cmake", f"{block.where}: nothing runs it"
    assert found == NOT_RUN
    assert sum(len(block.commands) for page in PAGES for block in _shown(page, *SHELL)) > 60


def _marks(page: str) -> list[pytest.MarkDecorator]:
    """Return what the commands of a page need."""
    commands = [command for block in _shown(page, *SHELL) for command in block.commands]
    return [pytest.mark.simgrid] if any(command.startswith("rankwise simulate ") for command in commands) else []


@pytest.mark.mpi
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=_marks(page)) for page in PAGES if any(_shown(page, *SHELL)) and page != "docs/simulate.md"],
)
def test_commands(run: Run, page: str) -> None:
    _run_all(run, page)


@pytest.mark.simgrid
def test_commands_that_simulate(run: Run) -> None:
    _run_all(run, "docs/simulate.md")
    compared = [
        run(line) for block in blocks("docs/simulate.md", "sh") for line in block.commands if "--engines model,simgrid" in line
    ]
    assert compared and all(re.search("predicted +simulated", out) and "running" not in out for out in compared)


def _run_all(run: Run, page: str) -> None:
    """Run what a page shows, in its order."""
    for block in _shown(page):
        if name := block.said("file"):
            Path(name).write_text(block.text)
        if block.language == "toml":
            tomllib.loads(block.text)
        if block.language == "json":  # has no comments: the page's name is the file's
            json.loads(block.text)
            Path(f"{Path(page).stem}.json").write_text(block.text)
        for command in block.commands if block.language in SHELL else ():
            assert run(command) or re.search(r"> | -o |^mpicc|^cp |preload ", command), command


@pytest.mark.mpi
def test_four_goals_are_reached_from_the_readme_alone(run: Run, folder: Path) -> None:
    walks = blocks("README.md", "bash")
    assert len(walks) == len(WALKS)
    for walk, says in zip(walks, WALKS, strict=True):
        assert 0 < len(walk.commands) <= 5
        for command, words in zip(walk.commands, says, strict=True):
            assert re.search(words, run(command), re.MULTILINE), command
    for page in ("machine.html", "advice.html", "before-after.html", "theirs.html"):
        assert "</html>" in Path(page).read_text(encoding="utf-8")


def _framed(page: str, language: str, ending: str) -> str:
    """Return a page's pieces of programs within the frame that declares what they use."""
    frame = (FRAMES / f"{Path(page).stem}.{ending}.frame").read_text(encoding="utf-8")
    pieces = [block.text for block in _shown(page, language)]
    assert frame.count("BLOCK") == len(pieces), f"{page}: its frame has room for another number of blocks"
    for piece in pieces:
        head = re.findall(r"^(?:#include|use ).*\n", piece, re.MULTILINE)  # stands above, in the frame
        for line in head:
            assert line.strip() in frame, f"{page}: {line}"
            piece = piece.replace(line, "")
        frame = frame.replace("BLOCK", piece, 1)
    return frame


def _pages_with(language: str) -> list[str]:
    return [page for page in PAGES if any(not block.said("from") for block in _shown(page, language))]


def test_what_is_taken_from_a_program_stands_in_it() -> None:
    taken = [block for page in PAGES for block in _shown(page) if block.said("from")]
    assert len(taken) >= 2
    for block in taken:
        assert block.text in (ROOT / str(block.said("from"))).read_text(encoding="utf-8"), block.where


@pytest.mark.parametrize("page", _pages_with("c"))
def test_pieces_of_c(page: str, mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "piece.c").write_text(_framed(page, "c", "c"))
    compiler = mpi.launcher_path.parent / "mpicc_abi"
    words = [compiler, "-std=c11", "-Wall", "-Werror", "-Wno-unused", "-fsyntax-only", "-I", ROOT / "include", "piece.c"]
    subprocess.run(words, cwd=tmp_path, check=True)


@pytest.mark.parametrize("page", _pages_with("fortran"))
def test_pieces_of_fortran(page: str, tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran here (Debian: apt-get install gfortran)")
    (tmp_path / "piece.f90").write_text(_framed(page, "fortran", "f90"))
    write(ROOT / "include" / "rankwise" / "rankwise.h", tmp_path)
    for source in ("rankwise_c.f90", *sorted((ROOT / "src" / "fortran").glob("*.f90")), "piece.f90"):
        subprocess.run(["gfortran", "-fsyntax-only", source], cwd=tmp_path, check=True)


@pytest.mark.mpi
@pytest.mark.parametrize("page", [page for page in _pages_with("python") if page != "docs/python.md"])
def test_pieces_of_python_under_ranks(page: str, python_ranks: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "piece.py").write_text(_framed(page, "python", "py"))
    python_ranks(2, tmp_path / "piece.py")


@pytest.mark.mpi
def test_pieces_of_python(run: Run) -> None:
    names: dict[str, Any] = {}
    for block in _shown("docs/python.md", "python"):
        exec(compile(block.text, block.where, "exec"), names)
    assert Path("map.svg").is_file() and json.loads(Path("round.json").read_text())
