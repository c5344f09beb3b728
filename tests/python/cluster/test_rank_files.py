"""What ``rankwise map --format`` writes, given to real launchers: where their ranks ran, read back from inside them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nodes
from nodes import Nodes
from rankwise.launch.mpi import Mpi
from slurm_cluster import Slurm

RANKS = 8
# Each rank sends along the first axis only: a column of the grid is best on one node, so ranks r and r + 4 share one.
GRID = (
    "map",
    "--grid",
    "2x4",
    "--nodes",
    "4",
    "--ppn",
    "2",
    "--stencil",
    "1,0;-1,0",
    "--algorithm",
    "hyperplane,stencil-strips,kd-tree",
)

WHERE = """
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char host[256];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  printf("%d %d %s %d\\n", size, rank, host, CPU_COUNT(&set) == 1 ? (CPU_ISSET(0, &set) ? 0 : 1) : -1);
  MPI_Finalize();
}
"""


def _written(kind: str, hosts: tuple[str, ...]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rankwise", *GRID, "--format", kind, "--hosts", ",".join(hosts)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def _wanted(hosts: tuple[str, ...]) -> list[str]:
    """The host of each rank, by the format that no launcher reads."""
    node_of_cell = json.loads(_written("json", hosts))["node_of_cell"]
    assert node_of_cell[:4] == node_of_cell[4:] and sorted(node_of_cell[:4]) == [0, 1, 2, 3]
    return [hosts[node] for node in node_of_cell]


def _hosts_of_ranks(stdout: str) -> list[str]:
    start = next(r for r in map(json.loads, stdout.splitlines()) if r["record"] == "start")
    assert start["ranks"] == RANKS
    return [placement["host"] for placement in start["placements"]]


@pytest.fixture(scope="module")
def four() -> Iterator[Nodes]:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    with Nodes(None, ("n1", "n2", "n3", "n4")) as up:
        yield up


@pytest.mark.slurm
@pytest.mark.mpi
def test_slurm_hostfile(cluster: Slurm, mpi: Mpi, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text(_written("slurm-hostfile", cluster.hosts))
    done = cluster.run(
        "srun", "--mpi=pmi2", "--distribution=arbitrary", "-n", str(RANKS), str(mpi.kernels_path), "hello",
        extra={"SLURM_HOSTFILE": str(path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert _hosts_of_ranks(done.stdout) == _wanted(cluster.hosts)


@pytest.mark.namespaces
@pytest.mark.mpi
def test_hydra_hostfile(four: Nodes, mpi: Mpi, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text(_written("hydra-hostfile", four.hosts))
    # The file's own comment is the command.
    advice = next(line for line in path.read_text().splitlines() if "-rankmap" in line).split()
    words = [
        str(mpi.launcher_path),
        *[str(path) if word == "FILE" else word for word in advice[2:-1]],
        str(mpi.kernels_path),
        "hello",
    ]
    done = subprocess.run(
        four.command(four.hosts[0], words), env=four.environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert _hosts_of_ranks(done.stdout) == _wanted(four.hosts)
    start = json.loads(done.stdout.splitlines()[0])
    assert len({placement["memory_group"] for placement in start["placements"]}) == 4


@pytest.mark.namespaces
@pytest.mark.mpi
def test_the_placement_of_run_is_that_of_the_file(four: Nodes, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text(_written("slurm-hostfile", four.hosts))
    words = [
        sys.executable, "-m", "rankwise", "run", "exchange", "--dims", "2x4", "--cutoff", "1", "--algorithm", "direct",
        "--mode", "isend", "--bytes", "8", "--hosts", ",".join(four.hosts), "--placement", str(path), "--seconds", "0.05",
        "--json",
    ]  # fmt: skip
    done = subprocess.run(
        four.command(four.hosts[0], words), cwd=tmp_path, env=four.environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["verified"] is True
    start = next(
        r for r in map(json.loads, (tmp_path / "exchange.samples.jsonl").read_text().splitlines()) if r["record"] == "start"
    )
    hosts = [placement["host"] for placement in start["placements"]]
    # A file of hosts numbers the nodes as it names them; those who share a node are the same, and they share its memory.
    assert [hosts.index(host) for host in hosts] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert [placement["memory_group"] for placement in start["placements"]] == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.namespaces
@pytest.mark.system_mpi
def test_openmpi_rankfile(four: Nodes, tmp_path: Path) -> None:
    compiler, launcher = shutil.which("mpicc.openmpi"), shutil.which("mpirun.openmpi")
    if compiler is None or launcher is None:
        pytest.skip("no Open MPI here (Debian: apt-get install libopenmpi-dev openmpi-bin)")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the file binds the two ranks of a node to two cores, and here is one")
    (tmp_path / "where.c").write_text(WHERE)
    subprocess.run([compiler, "-o", str(tmp_path / "where"), str(tmp_path / "where.c")], check=True)
    path = tmp_path / "ranks"
    path.write_text(_written("openmpi-rankfile", four.hosts))
    environment = {name: value for name, value in four.environment().items() if not name.startswith("SLURM")}
    done = subprocess.run(
        four.command(
            four.hosts[0],
            [launcher, "--allow-run-as-root", "--mca", "plm_rsh_agent", str(four.shell), "--mca", "pml", "ob1", "--mca", "btl",
             "self,tcp", "--mca", "mpi_yield_when_idle", "1", "--rankfile", str(path), "-n", str(RANKS),
             str(tmp_path / "where")],
        ),
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = sorted((int(rank), host, int(core)) for _, rank, host, core in map(str.split, done.stdout.splitlines()))
    assert [host for _, host, _ in rows] == _wanted(four.hosts)
    # The first rank of a node has its first core, the second one the second.
    assert [core for *_, core in rows] == [0] * 4 + [1] * 4


def test_cray_rank_order() -> None:
    """By the format's documentation (intro_mpi(3), MPICH_RANK_REORDER_METHOD
    3): slot k of the nodes' slots gets the k-th rank."""
    hosts = ("a", "b", "c", "d")
    lines = [line for line in _written("cray-rank-order", hosts).splitlines() if not line.startswith("#")]
    order = [int(word) for word in "".join(lines).split(",")]
    assert sorted(order) == list(range(RANKS))
    host_of_rank = {rank: hosts[slot // 2] for slot, rank in enumerate(order)}
    assert [host_of_rank[rank] for rank in range(RANKS)] == _wanted(hosts)
