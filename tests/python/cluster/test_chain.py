"""From observe to the same program placed as advised, on nodes with links of their own, under every kind of launcher.

What crosses the links falls by the promised share, whatever the machine's load.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import nodes
import slurm_cluster
from nodes import FOUR, Nodes
from rankwise.launch.mpi import Mpi
from slurm_cluster import Slurm

RANKS, STEPS = 8, 40
OPENMPI5 = Path(__file__).parents[3] / "build" / "mpis" / "openmpi5"  # of "make mpis"
# On a grid of 4 x 2, row by row: dealt out to four nodes, all messages cross; with rows on nodes those along the first axis do.
HALO = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, step, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int x = rank / 2, y = rank % 2;
  int peers[3] = {(x + 1) % 4 * 2 + y, (x + 3) % 4 * 2 + y, 2 * x + 1 - y}, bytes[3] = {20000, 20000, 100000};
  char* data = calloc(6, 100000);
  for (step = 0; step < atoi(argv[1]); ++step) {
    MPI_Request requests[6];
    for (i = 0; i < 3; ++i) MPI_Irecv(data + i * 100000, bytes[i], MPI_CHAR, peers[i], 0, MPI_COMM_WORLD, &requests[i]);
    for (i = 0; i < 3; ++i)
        MPI_Isend(data + (3 + i) * 100000, bytes[i], MPI_CHAR, peers[i], 0, MPI_COMM_WORLD, &requests[3 + i]);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""


@dataclass
class Site:
    """Nodes, one of which starts a program by a launcher: dealt out to the nodes, or by a file of some format."""

    up: Nodes
    hosts: Sequence[str]
    login: str
    environment: dict[str, str]
    compiler: Sequence[str]
    dealt: Sequence[str]
    file_format: str
    placed: Callable[[Path], tuple[list[str], dict[str, str]]]
    folder: Path

    def run(self, words: Sequence[str], extra: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            self.up.command(self.login, words), cwd=self.folder, env=self.environment | (extra or {}),
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rankwise(self, *words: str) -> str:
        return self.run([sys.executable, "-m", "rankwise", *words])

    def crossed(self) -> int:
        return sum(map(self.up.crossed_bytes, self.hosts)) // 2  # counted where sent and where received


@pytest.fixture(scope="module")
def four() -> Iterator[Nodes]:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    with Nodes("1gbit", FOUR) as up:
        yield up


@pytest.fixture
def site(request: pytest.FixtureRequest, mpi: Mpi, tmp_path: Path) -> Site:
    kind: str = request.param
    mpicc = [str(mpi.launcher_path.parent / "mpicc")]
    if kind == "srun":
        if (why := slurm_cluster.why_not()) is not None:
            pytest.skip(why)
        cluster: Slurm = request.getfixturevalue("cluster")
        start = ["srun", "--mpi=pmi2", "-n", str(RANKS)]
        return Site(
            cluster.nodes, cluster.hosts, cluster.login, cluster.environment(), mpicc,
            [*start, "-N", "4", "--ntasks-per-node=2", "--distribution=cyclic"], "slurm-hostfile",
            lambda file: ([*start, "--distribution=arbitrary"], {"SLURM_HOSTFILE": str(file)}), tmp_path,
        )  # fmt: skip
    up: Nodes = request.getfixturevalue("four")
    environment = {name: value for name, value in up.environment().items() if not name.startswith("SLURM")}
    if kind == "hydra":
        start = [str(mpi.launcher_path), "-n", str(RANKS)]
        return Site(
            up, up.hosts, up.hosts[0], environment, mpicc, [*start, "-hosts", ",".join(up.hosts), "-ppn", "1"],
            "hydra-hostfile",
            lambda file: ([*start, *_said(file, "-f", "-rankmap")], {}), tmp_path,
        )  # fmt: skip
    if kind == "openmpi5":
        launcher, compiler = (
            str(OPENMPI5 / "bin" / "mpirun"),
            ["gcc", f"-I{OPENMPI5}/include", f"-L{OPENMPI5}/lib", f"-Wl,-rpath,{OPENMPI5}/lib"],
        )
        if not os.access(launcher, os.X_OK):
            pytest.skip(f"no {launcher}: run 'make mpis'")
    else:
        launcher, compiler = shutil.which("mpirun.openmpi") or "", [shutil.which("mpicc.openmpi") or ""]
        if not launcher or not compiler[0]:
            pytest.skip("no Open MPI here (Debian: apt-get install libopenmpi-dev openmpi-bin)")
    words = up.open_mpi(launcher, 2)
    start = [*words, "-n", str(RANKS)]
    bare = [word for word in start if word not in ("--map-by", "node")]
    by_file = {
        "openmpi": lambda file: ["--rankfile", str(file)],
        "openmpi5": lambda file: ["--map-by", f"rankfile:file={file.name}"],  # a path with "pe" in it is read as PE
    }[kind]
    return Site(
        up,
        up.hosts,
        up.hosts[0],
        environment,
        compiler,
        start,
        "openmpi-rankfile",
        lambda file: ([*bare, *by_file(file)], {}),
        tmp_path,
    )


def _said(file: Path, *names: str) -> list[str]:
    """Return options of the command that a file has in its first line."""
    words = file.read_text().splitlines()[0].split()
    return [
        str(file) if word == "FILE" else word for name in names for word in words[words.index(name) : words.index(name) + 2]
    ]


@pytest.mark.parametrize(
    "site",
    [
        pytest.param("hydra", marks=[pytest.mark.mpi, pytest.mark.namespaces]),
        pytest.param("openmpi", marks=[pytest.mark.system_mpi, pytest.mark.namespaces]),
        pytest.param("openmpi5", marks=[pytest.mark.system_mpi, pytest.mark.namespaces]),
        pytest.param("srun", marks=[pytest.mark.mpi, pytest.mark.slurm]),
    ],
    indirect=True,
)
def test_bytes_fall_as_promised(site: Site) -> None:
    (site.folder / "halo.c").write_text(HALO)
    subprocess.run(
        [*site.compiler, "-o", "halo", "halo.c", *(["-lmpi"] if site.compiler[0] == "gcc" else [])], cwd=site.folder, check=True
    )
    program = ["./halo", str(STEPS)]
    site.rankwise("observe", "-o", "app.comm", "--", *site.dealt, *program)
    room = json.loads(site.rankwise("advise", "app.comm", "--json"))["headroom"]
    file = site.folder / "placement"
    file.write_text(site.rankwise("map", "--observed", "app.comm", "--format", site.file_format))
    counted = []
    words, extra = site.placed(file)
    for launch, more in ((list(site.dealt), {}), (words, extra)):
        before = site.crossed()
        site.run([*launch, *program], more)
        counted.append(site.crossed() - before)
    assert (room["now_bytes"], room["best_bytes"]) == (RANKS * 140_000, RANKS * 40_000)
    assert counted[1] / counted[0] == pytest.approx(room["best_bytes"] / room["now_bytes"], abs=0.02)
