"""An unmodified program with a poor default, from observe to try, on nodes with links of their own: told by what is sent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nodes
from nodes import Nodes
from rankwise.collectives.settings import FILE, Settings
from rankwise.launch.mpi import Mpi

SIZE, ROUNDS, HOSTS = 1 << 20, 6, ("n1", "n2", "n3", "n4", "n5")
RATE_BYTES_PER_S = 1e9 / 8
MPIS = Path(__file__).parents[3] / "build" / "mpis"  # of "make mpis"
PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int bytes = atoi(argv[1]), i;
  MPI_Init(&argc, &argv);
  char* data = calloc(bytes, 1);
  for (i = 0; i < atoi(argv[2]); ++i) {
    MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


@pytest.mark.namespaces
@pytest.mark.parametrize(
    "family",
    [
        pytest.param("mpich", marks=pytest.mark.mpi),
        pytest.param("openmpi", marks=pytest.mark.system_mpi),
        pytest.param("openmpi5", marks=pytest.mark.system_mpi),  # two ranks a node: where HAN serves them
        pytest.param("intel", marks=pytest.mark.system_mpi),  # of which only calls that were timed tell what it selects
    ],
)
def test_a_poor_default_is_found_set_and_tried(family: str, mpi: Mpi, tmp_path: Path) -> None:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    if family in ("openmpi5", "intel"):
        where = MPIS / family
        launcher, compiler = f"{where}/bin/mpiexec", ["gcc", f"-I{where}/include", f"-L{where}/lib", f"-Wl,-rpath,{where}/lib"]
    elif family == "openmpi":
        launcher, compiler = shutil.which("mpirun.openmpi") or "", [shutil.which("mpicc.openmpi") or ""]
    else:
        launcher, compiler = str(mpi.launcher_path), [str(mpi.launcher_path.parent / "mpicc")]
    if not os.access(launcher, os.X_OK) or not shutil.which(compiler[0]):
        pytest.skip(f"no compiler or launcher of {family} here")
    (tmp_path / "app.c").write_text(PROGRAM)
    subprocess.run([*compiler, "-o", "app", "app.c", *(["-lmpi"] if compiler[0] == "gcc" else [])], cwd=tmp_path, check=True)
    for name, alpha_s, bytes_per_s in (("other-node", 1.5e-4, RATE_BYTES_PER_S), ("same-socket", 2e-6, 2e9)):
        lines = [f"{1 << k},{alpha_s + (1 << k) / bytes_per_s}" for k in range(25)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["size_bytes,time_s", *lines, ""]))
    each = 2 if family == "openmpi5" else 1
    ranks = len(HOSTS) * each
    with Nodes("1gbit", HOSTS) as up:
        hydra = [launcher, "-hosts", ",".join(up.hosts), "-ppn", "1"]
        program = [
            *(hydra if family in ("mpich", "intel") else _blocked(up.open_mpi(launcher, each))),
            "-n",
            str(ranks),
            "./app",
            str(SIZE),
            str(ROUNDS),
        ]
        environment = {name: value for name, value in up.environment().items() if not name.startswith("SLURM")}
        environment |= up.intel_mpi(MPIS / "intel") if family == "intel" else {}

        def run(*words: str, **more: str) -> str:
            done = subprocess.run(
                up.command(up.hosts[0], words),
                cwd=tmp_path,
                env={**environment, **more},
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        _from_observe_to_try(family, up, lambda *words: run(sys.executable, "-m", "rankwise", *words), program, run, tmp_path)


def _blocked(words: list[str]) -> list[str]:
    at = words.index("--map-by")
    return words[:at] + words[at + 2 :]


def _from_observe_to_try(
    family: str, up: Nodes, rankwise: Callable[..., str], program: list[str], run: Callable[..., str], folder: Path
) -> None:
    rankwise("profile", "import", "other-node.csv", "--link", "other-node", "-o", "machine.json")
    rankwise("profile", "import", "same-socket.csv", "--link", "same-socket", "--add", "-o", "machine.json")
    rankwise("observe", "-o", "app.comm", "--", *program)
    tuned = json.loads(rankwise("tune", "app.comm", "--json"))
    (bcast,) = (one for one in tuned["settings"] if one["collective"] == "bcast")
    assert bcast["bytes"] <= SIZE <= bcast["last_bytes"] and bcast["ranks"] in (5, 10)
    assert bcast["time_s"] > 1.2 * bcast["new_time_s"]
    tried = json.loads(_try(rankwise, program))
    assert (tried["pairs"], tried["ignored"], tried["stale"]) == (2, None, [])
    settings = Settings.read(folder / "tuned").environment(folder / "tuned")
    if family in ("mpich", "intel"):  # by MPICH's default the root sends it to three ranks, then to one
        counted = []
        for variables in ({}, settings):
            before = up.crossed_bytes(up.hosts[0])
            run(*program, **variables)
            counted.append((up.crossed_bytes(up.hosts[0]) - before) / (SIZE * ROUNDS))
        low, high = (0.9, 1.4) if family == "mpich" else (2.3, 2.6)  # a ring: its parts go out and around, and come back
        assert 2.9 < counted[0] < 3.4 and low < counted[1] < high, counted
        return
    # What is ignored without a word is told: without this variable Open MPI reads no file.
    file = folder / "tuned" / FILE
    value: dict[str, Any] = json.loads(file.read_text())
    name = "han_use_dynamic_file_rules" if family == "openmpi5" else "tuned_use_dynamic_rules"
    del value["variables"][f"OMPI_MCA_coll_{name}"]
    file.write_text(json.dumps(value))
    (folder / "app.tuned.trial.jsonl").unlink()
    assert "the library ignores them" in (json.loads(_try(rankwise, program))["ignored"] or "")


def _try(rankwise: Callable[..., str], program: list[str]) -> str:
    return rankwise("try", "app.comm", "--settings", "tuned", "--pairs", "2", "--json", "--", *program)
