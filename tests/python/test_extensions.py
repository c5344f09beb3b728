"""The additions of CONTRIBUTING, made in a copy of the sources as the page says: each in one or two files, each used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rankwise as package
from rankwise.launch.mpi import Mpi
from verbs import Rankwise

ROOT = Path(__file__).parents[2]
EXTENSIONS = ROOT / "examples" / "extensions"
CSV = ROOT / "tests" / "data" / "werner2023_pingpong.csv"
# The table of exchanges, asked for the new row: its schedules are proved, for both ways and a periodic axis that is short.
EXCHANGE = """
#include <cstdio>
#include "schedule/algorithms.hpp"
#include "schedule/check.hpp"
using namespace rankwise;
int main() {
  for (const SendMode mode : {SendMode::isend, SendMode::ssend}) {
    for (const Index width : {Index{2}, Index{5}}) {
      const Grid grid({4, width}, {true, false});
      const ExchangeSpec spec{.algorithm = "faces-first", .mode = mode, .grid = grid, .window = Window({2, 1}, Shell::full)};
      for (const std::string& finding : check_exchange(spec)) std::printf("%s\\n", finding.c_str());
      std::printf("%zu steps\\n", make_schedule(spec, 0).steps.size());
    }
  }
}
"""
MAPPING = """
#include <cstdio>
#include "mapping/algorithms.hpp"
#include "mapping/mapping.hpp"
using namespace rankwise;
int main() {
  const MappingProblem problem(Grid({3, 4}, {false, false}), NodeSizes(3, 4), Stencil(2, {{0, 1}}, {1}));
  const auto snake = mapping_algorithm("snake").prepare(problem, {});
  for (Index rank = 0; rank < 12; ++rank) std::printf("%d ", static_cast<int>(snake->cell_of_rank(rank)));
}
"""


def _add(extension: str, root: Path, *folders: str) -> None:
    """Copy folders of the sources to ``root``, then do as the page says."""
    for folder in folders:
        shutil.copytree(ROOT / folder, root / folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    files = {path.relative_to(EXTENSIONS / extension) for path in (EXTENSIONS / extension).glob("*/**/*.*")}
    for file in files:
        assert not (root / file).exists(), f"{file} is none that is added"
        shutil.copy(EXTENSIONS / extension / file, root / file)
    for patch in (EXTENSIONS / extension).glob("*.patch"):
        files |= {Path(name) for name in re.findall(r"^\+\+\+ b/(.+)$", patch.read_text(), re.MULTILINE)}
        done = subprocess.run(["git", "apply", patch], cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, f"{patch.name} no longer fits the sources: {done.stderr}"
    assert 1 <= len(files) <= 2


def _built(root: Path, program: str, *sources: str) -> str:
    """Build a program as one unit with sources of a tree and return what it prints; what it never calls may be missing."""
    (root / "all.cpp").write_text("".join(f'#include "{source}"\n' for source in sources) + program)
    words = "c++ -std=c++20 -O0 -w -fno-pie -no-pie -Isrc all.cpp -o all -Wl,--unresolved-symbols=ignore-all"
    subprocess.run(words.split(), cwd=root, check=True)
    return subprocess.run([root / "all"], check=True, capture_output=True, text=True).stdout


def test_an_exchange(tmp_path: Path) -> None:
    _add("exchange", tmp_path, "src/schedule", "src/grid")
    parts = ("algorithms", "faces_first", "schedule", "check", "replay")
    sources = ["grid/grid.cpp", *(f"schedule/{part}.cpp" for part in parts)]
    assert _built(tmp_path, EXCHANGE, *sources) == "2 steps\n" * 4


def test_a_mapping(tmp_path: Path) -> None:
    _add("mapping", tmp_path, "src/mapping", "src/grid")
    sources = ["grid/grid.cpp", "mapping/mapping.cpp", "mapping/algorithms.cpp", "mapping/snake.cpp"]
    assert _built(tmp_path, MAPPING, *sources).split() == [str(cell) for cell in (0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11)]


@pytest.fixture
def extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Add to a copy of the package, and run its command line."""
    folder = tmp_path / "tree"
    monkeypatch.setenv("PYTHONPATH", str(folder / "python"))

    def run(extension: str, *arguments: str | Path) -> str:
        if not folder.exists():
            _add(extension, folder, "python/rankwise")
            for name in ("_core*.so", "lib", "bin"):  # what was compiled
                for built in Path(package.__file__).parent.glob(name):
                    (folder / "python" / "rankwise" / built.name).symlink_to(built)
        words = [sys.executable, "-m", "rankwise", *map(str, arguments)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_link_model(extended: Callable[..., str]) -> None:
    extended("link-model", "fit", CSV, "--link", "other-node", "--model", "flat", "-o", "flat.json")
    link = json.loads(extended("link-model", "profile", "show", "flat.json", "--json"))["links"]["other-node"]
    assert link["model"] == "flat" and {"flat", "hockney", "pchip"} <= link["models"].keys()
    assert link["models"]["flat"]["segments"][0]["beta_s_per_byte"] == 0.0


def test_a_paper(extended: Callable[..., str]) -> None:
    record = json.loads(extended("paper", "reproduce", "thakur2005", "--json"))
    assert record["holds"] is True and list(record["rows"][2].values()) == [64, 63, 63, 6, 63, True]


@pytest.mark.mpi
def test_a_launcher(extended: Callable[..., str], mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ALPS is at hand: a stand-in takes aprun's words and starts the ranks by the launcher that is."""
    aprun = tmp_path / "aprun"
    aprun.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "aprun (ALPS) 6.6" && exit\n'
        f'printf "%s " "$@" >> {tmp_path}/said\nexec {mpi.launcher_path} "$@"\n'
    )
    aprun.chmod(0o755)
    monkeypatch.setenv("RANKWISE_MPIEXEC", str(aprun))
    words = "run exchange --algorithm direct --mode isend --cutoff 1 --ranks 2 --bytes 8 --seconds 0.02 --json"
    row = json.loads(extended("launcher", *words.split()))["rows"][0]
    assert row["verified"] is True and "-n 2" in (tmp_path / "said").read_text()
    asked = (
        "from pathlib import Path; from rankwise.launch.launchers import make_launcher;"
        "print(make_launcher(Path('aprun'), 'ALPS').placed(['a', 'a', 'b', 'b']))"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "['-N', '2', '-L', 'a,b']\n"


def test_a_machine(rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(list((EXTENSIONS / "machine").iterdir())) == 1
    monkeypatch.setenv("RANKWISE_MACHINES", str(EXTENSIONS / "machine"))
    assert "harbour" in rankwise("machines list").out
    assert rankwise("machines check harbour").code == 0
    found = rankwise("project exchange --machine harbour --dims 2x2 --cutoff 1 --bytes 1kB --json")
    assert found.code == 0 and found.json["rows"][0]["time_s"] > 1.4e-6


def test_a_workload_is_one_file() -> None:
    """All verbs of it are tried where workloads are (test_alltoall.py)."""
    assert [path.name for path in (EXTENSIONS / "workload").glob("*.py")] == ["bounce.py"]
