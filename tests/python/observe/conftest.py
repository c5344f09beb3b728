"""Programs to observe, compiled once, and the MPIs of this machine to start them with."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rankwise.launch.mpi import Mpi

# More ranks than cores: those that wait give way. One-sided calls of Open MPI 4.1 fail by themselves after some hundred
# windows.
_PATIENCE = {
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_osc": "^rdma",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

MPIS = Path(__file__).parents[3] / "build" / "mpis"  # of "make mpis": Open MPI 5 and Intel's
MADE = ("openmpi5", "intel")

Build = Callable[..., Path]
Start = Callable[[str, int], list[str]]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _PATIENCE.items():
        monkeypatch.setenv(name, value)


def made(kind: str) -> Path:
    """Return the folder of an MPI of "make mpis", or skip."""
    if not (MPIS / kind / "bin" / "mpiexec").exists():
        pytest.skip(f"no {MPIS / kind}: run 'make mpis'")
    return MPIS / kind


@pytest.fixture(scope="session")
def build(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a program of this folder with ``WRAPPER.KIND`` (kind: pip, abi, mpich, openmpi, openmpi5, intel), or skip."""
    folder = tmp_path_factory.mktemp("observed")

    def compiled(kind: str, source: str, *flags: str) -> Path:
        wrapper = "mpifort" if source.endswith(".F90") else "mpicc"
        beside = {"pip": wrapper, "abi": f"{wrapper}_abi"}
        compiler = str(mpi.launcher_path.parent / beside[kind]) if kind in beside else shutil.which(f"{wrapper}.{kind}")
        if kind in MADE:
            made(kind)
            compiler = "gfortran" if source.endswith(".F90") else "gcc"
            libraries = ["-lmpifort"] if source.endswith(".F90") else []
            flags = (
                *flags,
                f"-I{MPIS}/{kind}/include",
                f"-L{MPIS}/{kind}/lib",
                f"-Wl,-rpath,{MPIS}/{kind}/lib",
                *libraries,
                "-lmpi",
            )
        if compiler is None:
            pytest.skip(
                f"no {wrapper}.{kind} here (Debian: apt-get install gfortran libmpich-dev mpich libopenmpi-dev openmpi-bin)"
            )
        program = folder / "-".join([Path(source).stem, kind, *(flag for flag in flags if "/" not in flag)])
        if not program.exists():
            path = str(Path(__file__).parent / source)
            subprocess.run([compiler, "-w", path, *flags, "-o", str(program)], check=True, capture_output=True)
        return program

    return compiled


@pytest.fixture
def start(mpi: Mpi) -> Start:
    """Return the launcher's words for so many ranks of an MPI, or skip."""

    def words(kind: str, ranks: int) -> list[str]:
        if kind in ("pip", "abi"):
            return [str(mpi.launcher_path), "-n", str(ranks)]
        if kind in MADE:
            return [
                str(made(kind) / "bin" / "mpiexec"),
                *(["--oversubscribe", "--mca", "osc", "^ucx"] if kind == "openmpi5" else []),
                "-n",
                str(ranks),
            ]
        if shutil.which(f"mpiexec.{kind}") is None:
            pytest.skip(f"no mpiexec.{kind} here")
        return [f"mpiexec.{kind}", *(["--oversubscribe"] if kind == "openmpi" else []), "-n", str(ranks)]

    return words
