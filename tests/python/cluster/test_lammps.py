"""LAMMPS on four nodes: observed, advised on, mapped and tried; its energies stay the same and its bytes fall as promised."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nodes
from melt import melt
from nodes import FOUR, Nodes
from rankwise.observe.record import read_record

RANKS = 8


@pytest.mark.namespaces
@pytest.mark.system_mpi
def test_from_observe_to_try(tmp_path: Path) -> None:
    lammps, launcher = shutil.which("lmp"), shutil.which("mpirun.openmpi")
    if lammps is None or launcher is None:
        pytest.skip("no lmp of Open MPI here (Debian: apt-get install lammps openmpi-bin)")
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    (tmp_path / "melt.in").write_text(melt("8 6 4", "thermo 20\n"))
    with Nodes("1gbit", FOUR) as up:
        environment = {name: value for name, value in up.environment().items() if not name.startswith("SLURM")}

        def rankwise(*words: str) -> str:
            done = subprocess.run(
                up.command(up.hosts[0], [sys.executable, "-m", "rankwise", *words]),
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        command = [*up.open_mpi(launcher, 2), "-n", str(RANKS), lammps, "-in", "melt.in", "-log", "melt.log", "-screen", "none"]
        rankwise("observe", "-o", "app.comm", "--", *command)
        energies = _energies(tmp_path)
        advice = json.loads(rankwise("advise", "app.comm", "--json"))
        ranks = rankwise("map", "--observed", "app.comm", "--format", "openmpi-rankfile")
        tried = json.loads(rankwise("try", "app.comm", "--pairs", "2", "--json", "--", *command))
    step = advice["step"]
    assert (step["events"], advice["pattern"]["dims"]) == (36, [2, 2, 2])
    assert any("reorder" in line and not line["reorder"] for line in read_record(tmp_path / "app.comm").header["carts"])
    room = advice["headroom"]
    assert room["floor_bytes"] <= room["best_bytes"] < room["now_bytes"] and room["floor_bytes"] > 0.98 * room["best_bytes"]
    assert len(re.findall(r"^rank \d+=", ranks, re.MULTILINE)) == RANKS
    assert _energies(tmp_path) == energies and len(energies) == 4
    # The cards count headers and the launcher's words, too: of what was promised to be saved, as much was.
    now, new = tried["link_bytes"]
    saved, promised = now["counted"] - new["counted"], now["promised"] - new["promised"]
    assert promised > 0.2 * now["promised"] and saved == pytest.approx(promised, rel=0.1)
    assert now["promised"] < now["counted"] < 1.2 * now["promised"]


def _energies(folder: Path) -> list[str]:
    lines = (folder / "melt.log").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:2] == ["Step", "Temp"]) + 1
    return lines[first : first + 4]
