"""Unmodified programs under ``rankwise preload`` on four nodes that share nothing but a shaped network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nodes
from nodes import Nodes
from rankwise.launch.mpi import Mpi

ROOT = Path(__file__).parents[3]
_WHY_NOT = nodes.why_not()
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.namespaces,
    pytest.mark.skipif(_WHY_NOT is not None, reason=str(_WHY_NOT)),
]
WIDTH, STEPS = 16_000, 12
EDGE_BYTES = 8 * WIDTH * (STEPS + 1)  # what the program sends over one edge of the grid in all its steps


def _run(
    network: Nodes, launcher: list[str], program: Path, preload: list[str] | None, **environment: str
) -> tuple[str, list[int]]:
    """Run the program on 8 ranks; return what it says, and the bytes that crossed each node's link meanwhile."""
    words = [*launcher, "-n", "8", str(program), str(WIDTH), str(STEPS)]
    if preload is not None:
        words = [sys.executable, "-m", "rankwise", "preload", "--verbose", *preload, "--", *words]
    before = [network.crossed_bytes(host) for host in network.hosts]
    done = subprocess.run(
        network.command(network.hosts[0], words), capture_output=True, text=True, timeout=120, check=False,
        env={**network.environment(), "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    crossed = [network.crossed_bytes(host) - b for host, b in zip(network.hosts, before, strict=True)]
    return done.stdout + done.stderr, crossed


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found[1])


def _map(sizes: str, algorithm: str) -> dict[str, int]:
    """What ``rankwise map`` predicts for the program's grid."""
    words = ["map", "--grid", "4x2", "--node-sizes", sizes, "--stencil", "nearest-neighbor", "--algorithm", algorithm]
    words += ["--effort", "200ms", "--json"]
    done = subprocess.run([sys.executable, "-m", "rankwise", *words], check=True, capture_output=True, text=True)
    (result,) = json.loads(done.stdout)["results"]
    return dict(result)


@pytest.mark.parametrize(
    ("sizes", "endings", "options", "algorithms"),
    [
        (
            "2,2,2,2",
            ["", "", "", ""],
            ["-ppn", "1"],
            ["hyperplane", "kd-tree", "stencil-strips", "nodecart", "refined", "auto"],
        ),
        ("3,1,2,2", [":3", ":1", ":2", ":2"], [], ["kd-tree", "stencil-strips", "refined"]),
    ],
)
def test_the_score_is_the_one_that_map_predicts(
    mpi: Mpi, tmp_path: Path, sizes: str, endings: list[str], options: list[str], algorithms: list[str]
) -> None:
    program = tmp_path / "halo"
    compiler = mpi.launcher_path.parent / "mpicc"
    subprocess.run([compiler, ROOT / "examples/halo.c", "-o", program], check=True, capture_output=True)
    with Nodes("1gbit", nodes.FOUR) as network:
        hosts = ["-hosts", ",".join(map("".join, zip(network.hosts, endings, strict=True))), *options]
        for algorithm in algorithms:
            said, _ = _run(network, [str(mpi.launcher_path), *hosts], program, ["--mapping", algorithm, "--effort", "200ms"])
            predicted = _map(sizes, algorithm)
            assert "4x2 on 4 nodes" in said
            if "stay where they are" in said:  # auto found nothing better than what the ranks have
                assert algorithm == "auto"
                continue
            assert _number(r"J_sum \d+ into (\d+)", said) == predicted["j_sum"], algorithm
            assert _number(r"J_max \d+ into (\d+)", said) == predicted["j_max"], algorithm


def _cyclic_sends_less(network: Nodes, launcher: list[str], program: Path, **environment: str) -> None:
    plain, plain_bytes = _run(network, launcher, program, None, **environment)
    placed, placed_bytes = _run(network, launcher, program, [], **environment)
    assert _number(r"checksum (\S+)", plain) == _number(r"checksum (\S+)", placed)
    assert "turns J_sum 20 into 12, J_max 5 into 3" in placed
    # The kernel counts what crosses each node's link: both directions of J_max edges on the busiest one.
    assert max(plain_bytes) == pytest.approx(2 * 5 * EDGE_BYTES, rel=0.1)
    assert max(placed_bytes) == pytest.approx(2 * 3 * EDGE_BYTES, rel=0.1)
    times = [_number(r"step_ms (\S+)", text) for text in (plain, placed)]
    print(f"{times[0]:.2f} ms a step plain, {times[1]:.2f} ms placed: {times[0] / times[1]:.2f}x, J_max promises 1.67x")


def test_a_cyclic_c_program_sends_less_under_the_preload(mpi: Mpi, tmp_path: Path) -> None:
    program = tmp_path / "halo"
    compiler = str(mpi.launcher_path.parent / "mpicc")
    subprocess.run([compiler, "-O2", str(ROOT / "examples/halo.c"), "-o", str(program)], check=True, capture_output=True)
    with Nodes("1gbit", nodes.FOUR) as network:
        launcher = [str(mpi.launcher_path), "-hosts", ",".join(network.hosts), "-ppn", "1"]
        _cyclic_sends_less(network, launcher, program)


@pytest.mark.system_mpi
@pytest.mark.skipif(
    shutil.which("mpifort.openmpi") is None, reason="no mpifort.openmpi (Debian: apt-get install libopenmpi-dev)"
)
def test_a_cyclic_fortran_program_sends_less_under_the_preload(tmp_path: Path) -> None:
    program = tmp_path / "halo"
    source = str(ROOT / "examples/halo.F90")
    subprocess.run(["mpifort.openmpi", "-O2", source, "-o", str(program)], check=True, capture_output=True)
    (tmp_path / "mpicxx").symlink_to(str(shutil.which("mpicxx.openmpi")))
    environment = {"RANKWISE_MPI": "system", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with Nodes("1gbit", nodes.FOUR) as network:
        _cyclic_sends_less(network, network.open_mpi("mpiexec.openmpi", 2), program, **environment)
