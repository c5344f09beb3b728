"""How ranks are started: one small class for each family of launchers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Launcher:
    """A launcher on this machine: its path, and what it says of its version."""

    path: Path
    version: str

    family: ClassVar[str] = "other"
    understands: ClassVar[tuple[str, ...]] = ("other",)  # families of MPI libraries whose ranks it can start

    def command(
        self, ranks: int, program: Sequence[str], oversubscribed: bool, hosts: Sequence[str] = ()
    ) -> list[str]:
        """Return the command that starts a program on so many ranks, unbound (the kernels bind).

        With ``hosts`` each of them gets as many ranks, one host filled after the other; else all run on this node.
        """
        placed = ["-hosts", ",".join(hosts), "-ppn", str(ranks // len(hosts))] if hosts else []
        return [str(self.path), *placed, "-n", str(ranks), *program]

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        """Return what the ranks' environment needs beside ours."""
        return {}


class Hydra(Launcher):
    """MPICH's mpiexec."""

    family = "mpich"
    understands = ("mpich", "intel")

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        # Ranks that share a core must give it up while they wait, or each message costs a time slice.
        return {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"} if oversubscribed else {}


class IntelHydra(Launcher):
    """Intel MPI's mpiexec."""

    family = "intel"
    understands = ("intel", "mpich")


class OpenMpi(Launcher):
    """Open MPI's mpiexec (orterun, prterun)."""

    family = "openmpi"
    understands = ("openmpi",)

    def command(
        self, ranks: int, program: Sequence[str], oversubscribed: bool, hosts: Sequence[str] = ()
    ) -> list[str]:
        options = ["--bind-to", "none"]
        if hosts:
            options += ["--host", ",".join(f"{host}:{ranks // len(hosts)}" for host in hosts)]
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if oversubscribed:
            options.append("--oversubscribe")
        return [str(self.path), *options, "-n", str(ranks), *program]


def family_of_library(version: str) -> str:
    """Return the family of an MPI library from what MPI_Get_library_version says."""
    for sign, family in (("Intel(R) MPI", "intel"), ("Open MPI", "openmpi"), ("MPICH", "mpich")):
        if sign in version:
            return family
    return "other"


def make_launcher(path: Path, version: str) -> Launcher:
    """Return the launcher of the family that ``mpiexec --version`` tells."""
    kinds: tuple[tuple[str, type[Launcher]], ...] = (
        ("Intel(R) MPI", IntelHydra),
        ("HYDRA", Hydra),
        ("OpenRTE", OpenMpi),
        ("Open MPI", OpenMpi),
        ("PRRTE", OpenMpi),
    )
    lines = [line.strip() for line in version.splitlines() if line.strip()]
    # Hydra's first line is only a title; its version stands on a line of its own.
    title = lines[0] if lines else ""
    line = next((line.removeprefix("Version:").strip() for line in lines if line.startswith("Version:")), title)
    for sign, kind in kinds:
        if sign in version:
            return kind(path, line)
    return Launcher(path, line)
