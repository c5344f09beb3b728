"""The commands that the documentation shows are run as they stand, in order, in one folder."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankwise.launch import Mpi

ROOT = Path(__file__).parents[2]


def _blocks(document: str, kind: str) -> list[list[str]]:
    blocks = re.findall(rf"```{kind}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    lines = ([line.split("#")[0].strip() for line in block.splitlines()] for block in blocks)
    return [[line for line in block if line.startswith("rankwise ")] for block in lines]


def _commands(document: str) -> list[str]:
    return [line for block in _blocks(document, "sh") for line in block]


def test_the_readme_shows_commands() -> None:
    assert len(_commands("README.md")) >= 5


@pytest.mark.mpi
@pytest.mark.parametrize("document", ["README.md", "docs/measuring.md", "docs/fft.md", "docs/health.md"])
def test_every_command_of_the_documentation_works(rankwise: Callable[..., Any], document: str) -> None:
    Path("tests").mkdir()
    shutil.copytree(ROOT / "tests" / "data", "tests/data")
    for command in _commands(document):
        result = rankwise(*shlex.split(command)[1:])
        assert result.code == 0, f"{command}: {result.err}"
        assert result.out


_HALO = """
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
_SAYS = (  # in the last lines of stdout of each walk's commands
    ("Usable", "latency", "machine.html"),
    ("app.comm|^$", "gain|[Nn]othing|times as fast"),
    ("latency", "same|slower|faster|told", "before-after.html"),
    ("theirs.json", "theirs.html"),
)


@pytest.mark.mpi
def test_four_goals_are_reached_from_the_readme_alone(
    rankwise: Callable[..., Any], mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{mpi.launcher_path.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
    shutil.copytree(ROOT / "tests" / "data" / "osu-samples", "tests/data/osu-samples")
    Path("app.c").write_text(_HALO)
    subprocess.run([mpi.launcher_path.parent / "mpicc", "app.c", "-o", "app"], check=True)
    walks = _blocks("README.md", "bash")
    assert len(walks) == len(_SAYS)
    for walk, says in zip(walks, _SAYS, strict=True):
        assert 0 < len(walk) <= 5
        for command, words in zip(walk, says, strict=True):
            result = rankwise(*shlex.split(command)[1:])
            assert result.code in ((0, 3, 5, 6) if " compare " in command else (0,)), f"{command}: {result.err}"
            assert re.search(words, result.out, re.MULTILINE), f"{command}: {result.out}"
    for page in ("machine.html", "advice.html", "before-after.html", "theirs.html"):
        assert "</html>" in Path(page).read_text(encoding="utf-8")
