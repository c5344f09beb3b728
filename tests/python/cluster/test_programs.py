"""Programs of Debian on four nodes, from observe to try: what they are called, their step, its share of the run, the pairs, and
the trial of another placement; LAMMPS's energies stay the same and its bytes fall as promised."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nodes
from melt import melt
from nodes import FOUR, Nodes
from rankwise.observe.record import Record, read_record

RANKS = 8  # of LAMMPS; of the others half as many
Rankwise = Callable[..., str]
Start = Callable[..., tuple[Rankwise, list[str]]]
# Light in a bar whose chunks touch the next one: 40 time steps.
BAR = """
(set! geometry-lattice (make lattice (size 8 1 1)))
(set! resolution 5)
(set! sources (list (make source (src (make continuous-src (frequency 0.3))) (component Ez) (center 0 0 0))))
(run-until 4)
"""
# Bands of a square lattice of rods: the fields are transformed by an FFT whose parts are sent between all ranks.
RODS = """
(set! geometry-lattice (make lattice (size 1 1 no-size)))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity) (material (make dielectric (epsilon 12))))))
(set! k-points (list (vector3 0 0 0) (vector3 0.5 0 0)))
(set! resolution 16)
(set! num-bands 2)
(define (output-epsilon . rest) #f)
(run-tm)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function of a program, Debian's package and how many nodes, which returns what runs rankwise, and the words that
    start two ranks on each node; or skip."""
    launcher = shutil.which("mpirun.openmpi")
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    with Nodes("1gbit", FOUR) as up:
        environment = {name: value for name, value in up.environment().items() if not name.startswith("SLURM")}

        def rankwise(*words: str) -> str:
            done = subprocess.run(
                up.command(up.hosts[0], [sys.executable, "-m", "rankwise", *words]),
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        def prepared(program: str, package: str, hosts: int) -> tuple[Rankwise, list[str]]:
            found = shutil.which(program)
            if found is None or launcher is None:
                pytest.skip(f"no {program} of Open MPI here (Debian: apt-get install {package} openmpi-bin)")
            return rankwise, [*up.open_mpi(launcher, 2, hosts), "-n", str(2 * hosts), found]

        yield prepared


def _observed(rankwise: Rankwise, command: list[str], folder: Path) -> tuple[dict[str, Any], Record]:
    """Return what is advised of a program, and its record."""
    rankwise("observe", "-o", "app.comm", "--", *command)
    advice = json.loads(rankwise("advise", "app.comm", "--json"))
    screen = " ".join(rankwise("observe", "show", "app.comm").split())  # however its lines are broken
    kinds = advice["step"]["kinds"]
    assert re.search(r"steps?\), [\d.]+ % of the run", screen), screen
    assert 0 < sum(kind["share"] for kind in kinds) <= 1.01
    assert advice["pattern"]["name"] in screen
    return advice, read_record(folder / "app.comm")


def _pairs(record: Record) -> set[tuple[int, int]]:
    source = np.repeat(np.arange(record.ranks), np.diff(record.pointer))
    return set(zip(source.tolist(), record.peer.tolist(), strict=True))


def _tried(rankwise: Rankwise, command: list[str], *options: str) -> dict[str, Any]:
    """Try a placement in 7 pairs, the fewest of which a ratio has an interval."""
    tried = json.loads(rankwise("try", "app.comm", "--pairs", "7", "--json", *options, "--", *command))
    assert tried["pairs"] == 7 and 0 < tried["ratio_lo"] < tried["ratio"] < tried["ratio_hi"]
    return dict(tried)


@pytest.mark.namespaces
@pytest.mark.system_mpi
def test_lammps(start: Start, tmp_path: Path) -> None:
    (tmp_path / "melt.in").write_text(melt("8 6 4", "thermo 20\n"))
    rankwise, command = start("lmp", "lammps", 4)
    command += ["-in", "melt.in", "-log", "melt.log", "-screen", "none"]
    advice, record = _observed(rankwise, command, tmp_path)
    energies = _energies(tmp_path)
    ranks = rankwise("map", "--observed", "app.comm", "--format", "openmpi-rankfile")
    tried = _tried(rankwise, command)
    assert (advice["step"]["events"], advice["pattern"]["name"], advice["pattern"]["dims"]) == (36, "halo", [2, 2, 2])
    assert _pairs(record) >= {(rank, rank ^ 2**axis) for rank in range(RANKS) for axis in range(3)}
    assert any("reorder" in line and not line["reorder"] for line in record.header["carts"])
    room = advice["headroom"]
    assert room["floor_bytes"] <= room["best_bytes"] < room["now_bytes"] and room["floor_bytes"] > 0.98 * room["best_bytes"]
    assert len(re.findall(r"^rank \d+=", ranks, re.MULTILINE)) == RANKS
    assert _energies(tmp_path) == energies and len(energies) == 4
    # The cards count headers and the launcher's words, too: of what was promised to be saved, as much was.
    now, new = tried["link_bytes"]
    saved, promised = now["counted"] - new["counted"], now["promised"] - new["promised"]
    assert promised > 0.2 * now["promised"] and saved == pytest.approx(promised, rel=0.1)
    assert now["promised"] < now["counted"] < 1.2 * now["promised"]


@pytest.mark.namespaces
@pytest.mark.system_mpi
def test_meep(start: Start, tmp_path: Path) -> None:
    """A finite-difference code whose ranks poll for their neighbours' messages."""
    (tmp_path / "bar.ctl").write_text(BAR)
    rankwise, command = start("meep", "meep-openmpi", 2)
    command += ["bar.ctl"]
    advice, record = _observed(rankwise, command, tmp_path)
    assert advice["pattern"]["name"] == "halo"
    assert _pairs(record) == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)}
    assert 35 <= sum(kind["steps"] for kind in advice["step"]["kinds"]) <= 40
    now, new = _tried(rankwise, command)["link_bytes"]
    # Dealt out, all three pairs of neighbours cross; two ranks on each node leave one.
    assert new["promised"] == pytest.approx(now["promised"] / 3, rel=0.05) and new["counted"] < now["counted"]


@pytest.mark.namespaces
@pytest.mark.system_mpi
def test_mpb(start: Start, tmp_path: Path) -> None:
    """A spectral code: no placement sends less than another, and a given one is tried all the same."""
    (tmp_path / "rods.ctl").write_text(RODS)
    rankwise, command = start("mpb-mpi", "mpb-mpi", 2)
    command += ["rods.ctl"]
    advice, record = _observed(rankwise, command, tmp_path)
    assert advice["pattern"]["name"] == "all-to-all"
    (tmp_path / "blocked").write_text("\n".join(host for host in record.hosts for _ in range(2)) + "\n")
    now, new = _tried(rankwise, command, "--placement", "blocked")["link_bytes"]
    assert new["promised"] == pytest.approx(now["promised"], rel=0.02)


def _energies(folder: Path) -> list[str]:
    lines = (folder / "melt.log").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:2] == ["Step", "Temp"]) + 1
    return lines[first : first + 4]
