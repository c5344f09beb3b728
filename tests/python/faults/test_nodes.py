"""Deaths under Open MPI on two nodes: daemons, ranks, the launcher, rankwise; nothing is left on either node.

Collected with RANKWISE_FAULTS=all only (``make faults``): the kernels are built for Open MPI.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import nodes
from nodes import YIELDING, Nodes
from room import KERNELS, PATIENCE_S

PROGRAMS = ("orted", "mpiexec", KERNELS)
pytestmark = [pytest.mark.mpi, pytest.mark.namespaces]


@pytest.fixture(scope="module")
def two() -> Iterator[Nodes]:
    if (why := nodes.why_not()) is not None or (why := None if shutil.which("orted") else "no orted here") is not None:
        pytest.skip(why)
    with Nodes("1gbit") as pair:
        yield pair


def _environment(two: Nodes, folder: Path, cache: Path) -> dict[str, str]:
    """Return what makes Open MPI's launcher, and no other, reach the nodes."""
    (folder / "bin").mkdir()
    for name in ("mpicxx", "mpiexec"):
        (folder / "bin" / name).symlink_to(str(shutil.which(f"{name}.openmpi")))
    (folder / "bin" / "orted").symlink_to(str(shutil.which("orted")))
    settings = {"plm_rsh_agent": str(two.shell), "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": "eth0", "pml": "ob1",
                "btl": "self,vader,tcp", "btl_tcp_if_include": "eth0", "mpi_yield_when_idle": "1"}  # fmt: skip
    return {**os.environ, **YIELDING, **{f"OMPI_MCA_{name}": value for name, value in settings.items()},
            "PATH": f"{folder}/bin:{os.environ['PATH']}", "RANKWISE_MPI": "system", "XDG_CACHE_HOME": str(cache),
            "RANKWISE_SILENCE_S": "300"}  # fmt: skip


def _kill(host: str, program: str, number: int) -> None:
    for pid in map(
        int, subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=True).stdout.split()
    ):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if any(Path(word).name == program for word in words[:3]):
            os.kill(pid, number)


@pytest.mark.parametrize(
    ("node", "program", "number", "code", "says"),
    [
        (0, "mpiexec", signal.SIGKILL, 1, "the launcher was killed"),
        (0, "rankwise", signal.SIGKILL, -9, ""),
        (0, "rankwise", signal.SIGTERM, 130, "interrupted"),
        (1, "orted", signal.SIGKILL, 1, "while measuring"),
        (0, KERNELS, signal.SIGKILL, 1, "a rank died"),
        (1, KERNELS, signal.SIGKILL, 1, "a rank died"),
    ],
)
def test_nothing_is_left_on_either_node(
    two: Nodes, tmp_path: Path, openmpi_cache: Path, node: int, program: str, number: int, code: int, says: str
) -> None:
    words = ["measure", "-o", "m.json", "--hosts", ",".join(two.hosts), "--links", "other-node", "--sizes", "0,8,1000",
             "--seconds", "20", "--launches", "1"]  # fmt: skip
    with (tmp_path / "err").open("w") as err:
        child = subprocess.Popen(
            two.command(two.hosts[0], [sys.executable, "-m", "rankwise", *words]), cwd=tmp_path, stderr=err,
            stdout=subprocess.DEVNULL, env=_environment(two, tmp_path, openmpi_cache), start_new_session=True,
        )  # fmt: skip
    samples, give_up_s = tmp_path / "m.samples.jsonl", time.monotonic() + PATIENCE_S
    while not (samples.exists() and '"samples"' in samples.read_text()):
        assert child.poll() is None and time.monotonic() < give_up_s, (tmp_path / "err").read_text()
        time.sleep(0.05)
    _kill(two.hosts[node], program, number)
    assert child.wait(PATIENCE_S) == code
    assert says in (tmp_path / "err").read_text()
    while any(two.runs(host, name) for host in two.hosts for name in PROGRAMS):
        assert time.monotonic() < give_up_s, "something is left"
        time.sleep(0.1)
