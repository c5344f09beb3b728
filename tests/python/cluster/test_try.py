"""``rankwise try`` on nodes with links of their own: the bytes on the links are those promised, whatever the machine's load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nodes
from nodes import FOUR, Nodes
from rankwise.launch.mpi import Mpi
from rankwise.observe.record import Record, write_record

RANKS, MESSAGE, MESSAGES = 8, 250_000, 4
APP = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, bytes = atoi(argv[1]), i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* out = calloc(2, bytes);
  for (i = 0; i < atoi(argv[2]); ++i)
    MPI_Sendrecv(out, bytes, MPI_CHAR, rank ^ 1, 0, out + bytes, bytes, MPI_CHAR, rank ^ 1, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""


def _record(path: Path, hosts: tuple[str, ...]) -> None:
    none = np.full(RANKS, -1, np.int32)
    ones = np.ones(RANKS, np.uint64)
    write_record(
        path,
        Record(
            {"calls": []}, RANKS, hosts, np.arange(RANKS, dtype=np.int32) % len(hosts), none, none, np.arange(RANKS + 1),
            np.arange(RANKS, dtype=np.uint32) ^ 1, MESSAGES * ones, MESSAGES * MESSAGE * ones, 0 * ones,
            np.zeros((RANKS, 32), np.uint32),
        ),
    )  # fmt: skip


@pytest.mark.namespaces
@pytest.mark.parametrize(
    "family", [pytest.param("mpich", marks=pytest.mark.mpi), pytest.param("openmpi", marks=pytest.mark.system_mpi)]
)
def test_both_placements_are_tried_and_their_bytes_counted(family: str, mpi: Mpi, tmp_path: Path) -> None:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    compiler = str(mpi.launcher_path.parent / "mpicc") if family == "mpich" else shutil.which("mpicc.openmpi")
    launcher = str(mpi.launcher_path) if family == "mpich" else shutil.which("mpirun.openmpi")
    if compiler is None or launcher is None or not os.access(compiler, os.X_OK):
        pytest.skip(f"no compiler of {family} here")
    (tmp_path / "app.c").write_text(APP)
    subprocess.run([compiler, "-o", str(tmp_path / "app"), str(tmp_path / "app.c")], check=True)
    with Nodes("1gbit", FOUR) as up:
        _record(tmp_path / "app.comm", up.hosts)
        start = [launcher, "-hosts", ",".join(up.hosts), "-ppn", "1"] if family == "mpich" else up.open_mpi(launcher, 2)
        words = [
            sys.executable, "-m", "rankwise", "try", "app.comm", "--pairs", "2", "--json", "--",
            *start, "-n", str(RANKS), "./app", str(MESSAGE), str(MESSAGES),
        ]  # fmt: skip
        environment = {name: value for name, value in up.environment().items() if not name.startswith("SLURM")}
        done = subprocess.run(
            up.command(up.hosts[0], words), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200
        )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["pairs"], record["verdict"]) == (2, "cannot tell")
    now, new = record["link_bytes"]
    promised = RANKS * MESSAGES * MESSAGE
    assert (now["placement"], now["promised"], new["promised"]) == ("observed", promised, 0)
    # Headers, and what the launcher says.
    assert promised < now["counted"] < 1.15 * promised and new["counted"] < 0.15 * promised
    assert len((tmp_path / "app.trial.jsonl").read_text().splitlines()) == 3
    assert [len(set(way["hosts"])) for way in record["placements"]] == [4, 4]
