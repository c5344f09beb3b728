"""Neighbourhood collectives of unmodified programs under RANKWISE_NEIGHBOR: the same bytes and errors as by MPI's own.

All of it, 10,000 graphs with each MPI, is ``neighbor_graphs SEED GRAPHS`` built and run by hand (docs/reordering.md).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from breadth import ALL
from rankwise.launch.mpi import Mpi
from rankwise.launch.preload import preload_environment

HERE = Path(__file__).parent

pytestmark = pytest.mark.mpi


def _built(compiler: str, source: str, folder: Path, *flags: str) -> str:
    program = folder / f"{Path(compiler).name}-{source}{''.join(flags)}"
    subprocess.run([compiler, "-O1", *flags, str(HERE / source), "-o", str(program)], check=True, capture_output=True)
    return str(program)


def _run(words: list[str], mode: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program; ``mode``: preloaded, with this RANKWISE_NEIGHBOR."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RANKWISE_")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        loaded = preload_environment({"RANKWISE_NEIGHBOR": mode}) if mode else environment
    return subprocess.run(words, capture_output=True, text=True, timeout=200, check=False, env=inherited | loaded)


def _same(plain: subprocess.CompletedProcess[str], served: subprocess.CompletedProcess[str]) -> None:
    assert plain.returncode == served.returncode == 0, plain.stderr + served.stderr
    assert served.stdout == plain.stdout != ""


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_random_graphs_bring_the_same_bytes(mpi: Mpi, tmp_path: Path, compiler: str) -> None:
    program = _built(str(mpi.launcher_path.parent / compiler), "neighbor_graphs.c", tmp_path)
    for ranks, graphs in (("1", "200"), ("2", "300"), ("3", "60")):
        words = [str(mpi.launcher_path), "-n", ranks, program, "1", graphs]
        plain = _run(words)
        for mode in ("always", "check", "auto") if ranks == "2" else ("always",):
            served = _run(words, mode)
            _same(plain, served)
            told = re.search(r"neighbourhood collectives: (\d+) by plans(.*?), (\d+) left to MPI", served.stderr)
            assert told and int(told[1]) > 0 and told[2] == (", all as by MPI's own" if mode == "check" else "")
            assert mode == "auto" or told[3] == "0"  # nonblocking and persistent calls are checked, too


def test_errors_are_mpis_own(mpi: Mpi, tmp_path: Path) -> None:
    program = _built(str(mpi.launcher_path.parent / "mpicc"), "neighbor_errors.c", tmp_path)
    for ranks in ("1", "2"):
        words = [str(mpi.launcher_path), "-n", ranks, program]
        plain = _run(words)
        for mode in ("always", "check", "auto"):
            _same(plain, _run(words, mode))


def test_off_is_off_and_nonsense_is_told(mpi: Mpi, tmp_path: Path) -> None:
    words = [str(mpi.launcher_path), "-n", "1", _built(str(mpi.launcher_path.parent / "mpicc"), "neighbor_errors.c", tmp_path)]
    for mode, says in (("off", ""), ("on", "RANKWISE_NEIGHBOR='on' is none of off, check, auto, always")):
        done = _run(words, mode)
        assert done.returncode == 0 and "neighbourhood collectives:" not in done.stderr and says in done.stderr


def _need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here (Debian: apt-get install gfortran libmpich-dev mpich libopenmpi-dev openmpi-bin)")


@pytest.mark.system_mpi
def test_fortran_of_debians_mpich(tmp_path: Path) -> None:
    """By mpif.h: the mpi_f08 of MPICH 4.0.2 fails on a grid, without us, too."""
    _need("mpifort.mpich", "mpiexec.mpich")
    words = ["mpiexec.mpich", "-n", "2", _built("mpifort.mpich", "neighbor.F90", tmp_path)]
    served = _run(words, "always")
    _same(_run(words), served)
    assert "collectives: 5 by plans, 0 left" in served.stderr


@pytest.mark.system_mpi
def test_open_mpi(tmp_path: Path) -> None:
    """C and both Fortran bindings; a graph that is made of a grid (which Open MPI 5 alone cannot)."""
    _need("mpicc.openmpi", "mpifort.openmpi", "mpiexec.openmpi")
    (tmp_path / "mpicxx").symlink_to(str(shutil.which("mpicxx.openmpi")))
    environment = {"RANKWISE_MPI": "system", "PATH": f"{tmp_path}:{os.environ['PATH']}", "OMPI_MCA_mpi_yield_when_idle": "1"}
    launcher = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"]
    for words in (
        ["2", _built("mpicc.openmpi", "neighbor_graphs.c", tmp_path), "5", "200" if ALL else "40", "12", "grids"],
        ["3", _built("mpifort.openmpi", "neighbor.F90", tmp_path)],
        ["2", _built("mpifort.openmpi", "neighbor.F90", tmp_path, "-DUSE_F08")],
    ):
        served = _run([*launcher, *words], "always", **environment)
        _same(_run([*launcher, *words], **environment), served)
        assert re.search(r"collectives: \d+ by plans, 0 left", served.stderr)
    words = [*launcher, "2", _built("mpicc.openmpi", "neighbor_errors.c", tmp_path)]
    for mode in ("always", "check"):
        served = _run(words, mode, **environment)
        _same(_run(words, **environment), served)
        assert "30 by plans" in served.stderr  # what has no buffer of its own is MPI's to refuse
