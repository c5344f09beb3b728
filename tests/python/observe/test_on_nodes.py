"""A program on four nodes that share nothing but a network: one record, with each rank's host, and one clock."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import nodes
from nodes import Nodes
from rankwise.launch.mpi import Mpi
from rankwise.observe.record import read_record
from rankwise.observe.summary import bytes_between_hosts, pairs

_WHY_NOT = nodes.why_not()
pytestmark = [pytest.mark.mpi, pytest.mark.namespaces, pytest.mark.skipif(_WHY_NOT is not None, reason=str(_WHY_NOT))]


def _observed(network: Nodes, launcher: list[str], program: Path, output: Path) -> None:
    """Observe four ranks, each on a host of its own."""
    words = [sys.executable, "-m", "rankwise", "observe", "-o", str(output), "--", *launcher, "-n", "4", str(program)]
    done = subprocess.run(
        network.command(network.hosts[0], words), capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **network.environment()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = read_record(output)
    assert [record.hosts[node] for node in record.node_of_rank] == list(network.hosts)
    assert {(pair["messages"], pair["bytes"]) for pair in pairs(record)} in ({(16, 409), (1, 16)}, {(15, 377), (1, 16)})
    assert bytes_between_hosts(record) == sum(pair["bytes"] + pair.get("pulled", 0) for pair in pairs(record))
    assert f"4 ranks on 4 hosts, {record.header['seconds']:.3g}"[:19] in done.stderr
    uncertainty = record.header["clock_uncertainty_ns"]
    assert uncertainty[0] == 0 and None not in uncertainty


def test_mpich_on_nodes(mpi: Mpi, build: Callable[..., Path], tmp_path: Path) -> None:
    with Nodes(None, nodes.FOUR) as network:
        launcher = [str(mpi.launcher_path), "-hosts", ",".join(network.hosts), "-ppn", "1"]
        _observed(network, launcher, build("pip", "known_answer.c"), tmp_path / "app.comm")


@pytest.mark.system_mpi
@pytest.mark.skipif(shutil.which("mpiexec.openmpi") is None, reason="no mpiexec.openmpi (Debian: apt-get install openmpi-bin)")
def test_open_mpi_on_nodes(build: Callable[..., Path], tmp_path: Path) -> None:
    with Nodes(None, nodes.FOUR) as network:
        _observed(network, network.open_mpi("mpiexec.openmpi", 1), build("openmpi", "known_answer.c"), tmp_path / "app.comm")


def test_a_deadlock_between_nodes_is_named_from_a_further_node(mpi: Mpi, build: Callable[..., Path], tmp_path: Path) -> None:
    program, record = build("pip", "hangs.c", "-g"), str(tmp_path / "app.comm")
    rankwise = [sys.executable, "-m", "rankwise", "observe"]
    with Nodes(None, nodes.FOUR) as network:
        launcher = [str(mpi.launcher_path), "-hosts", ",".join(network.hosts[:3]), "-ppn", "1", "-n", "3", str(program)]
        words = network.command(network.hosts[0], [*rankwise, "-o", record, "--", *launcher, "collectives", "120"])
        environment = {**os.environ, **network.environment()}
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            look = network.command(network.hosts[3], [*rankwise, "show", record, "--live", "--json"])
            for _ in range(120):
                seen = subprocess.run(look, capture_output=True, text=True, env=environment, timeout=60, check=False)
                found = json.loads(seen.stdout) if seen.returncode == 0 else {}
                if found.get("deadlock"):
                    break
                time.sleep(0.5)
            running.terminate()
    assert found["deadlock"]["ranks"] == [0, 1]
    assert [(one["call"], one["waits_for"]) for one in found["ranks"]] == [
        ("MPI_Barrier", [1, 2]), ("MPI_Bcast", [0]), ("MPI_Bcast", [0])
    ]  # fmt: skip
