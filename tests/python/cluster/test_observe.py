"""A program under srun on four nodes of a Slurm, observed: one record, each rank with its node."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rankwise.launch.mpi import Mpi
from rankwise.observe.record import read_record

pytestmark = [pytest.mark.mpi, pytest.mark.slurm]
SOURCE = Path(__file__).parents[1] / "observe" / "known_answer.c"


def test_under_srun(on_login: Callable[..., tuple[int, str, str]], mpi: Mpi, tmp_path: Path) -> None:
    program, output = tmp_path / "known", tmp_path / "app.comm"
    subprocess.run([mpi.launcher_path.parent / "mpicc", "-w", SOURCE, "-o", program], check=True, capture_output=True)
    code, _, err = on_login("observe", "-o", output, "--", "srun", "--mpi=pmi2", "-N", "4", "-n", "4", program, "finalize", "3")
    assert code == 3, err
    record = read_record(output)
    assert len(record.hosts) == 4 and record.messages.sum() == 4 * 17
    assert sorted(record.bytes.tolist()) == [16] * 4 + [409] * 4
