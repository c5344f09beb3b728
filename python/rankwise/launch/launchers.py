"""How ranks are started: one small class for each family of launchers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.launch.process import output_of
from rankwise.machine.hosts import distinct, natural_order
from rankwise.machine.rank_map import MISREAD, is_read_back

ANY_HOST = "*"  # with a number after it: a host that the launcher chooses, for all ranks with that number


@dataclass(frozen=True)
class Launcher:
    """A launcher on this machine: its path, and what it says of its version."""

    path: Path
    version: str

    family: ClassVar[str] = "other"
    understands: ClassVar[tuple[str, ...]] = ("other",)  # families of MPI libraries whose ranks it can start
    finds_hosts: ClassVar[bool] = False  # by itself, as many as are asked for

    def command(self, ranks: int, program: Sequence[str], oversubscribed: bool, hosts: Sequence[str] = ()) -> list[str]:
        """Return the command that starts a program on so many ranks, unbound (the kernels bind).

        ``hosts`` holds the host of each rank (``*0``, ``*1``, ... where the launcher is to choose them); without it all run on
        this node. Raises InputError where this launcher cannot place ranks like that.
        """
        return [str(self.path), *(self.placed(hosts) if hosts else ()), "-n", str(ranks), *program]

    def placed(self, hosts: Sequence[str]) -> list[str]:
        """Return the options that place each rank on its host."""
        each = ranks_of_each(hosts)
        if each is None:
            raise InputError(
                f"{self.path} places ranks on hosts one after the other, as many on each: this placement needs MPICH's "
                "or Open MPI's mpiexec"
            )
        return ["-hosts", ",".join(distinct(hosts)), "-ppn", str(each)]

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        """Return what the ranks' environment needs besides ours."""
        return {}


class Hydra(Launcher):
    """MPICH's mpiexec."""

    family = "mpich"
    understands = ("mpich", "intel")

    def placed(self, hosts: Sequence[str]) -> list[str]:
        names = sorted(distinct(hosts), key=natural_order)  # as Slurm orders the nodes of a step, whatever the list says
        if ranks_of_each(hosts) is not None and distinct(hosts) == names:
            return super().placed(hosts)
        # Not by a list of hosts in the order of ranks: each run in it would be a node that shares no memory with the others.
        if _knows_rankmap(self.path):
            numbers = [names.index(host) for host in hosts]
            if _misreads_rankmaps(self.version) and not is_read_back(numbers):
                raise InputError(f"{self.path} cannot place ranks like that: {MISREAD}; take srun, Open MPI or another map")
            return ["-hosts", ",".join(names), "-rankmap", ",".join(map(str, numbers))]
        if ranks_of_each(hosts) is not None:
            return super().placed(hosts)
        names = distinct(hosts)
        if list(hosts) == names * (len(hosts) // len(names)):
            return ["-hosts", ",".join(names), "-ppn", "1"]
        raise InputError(
            f"{self.path} ({self.version}) knows no -rankmap: it places ranks blocked or cyclic, and this placement is "
            "neither; it needs MPICH 5's mpiexec and library, or Slurm"
        )

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        # Ranks that share a core must give it up while they wait, or each message costs a time slice. The collectives for ranks
        # of one node never do; those made of messages take a twentieth of the time of these.
        return {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", **_OF_MESSAGES} if oversubscribed else {}


@cache
def _knows_rankmap(hydra: Path) -> bool:
    """Whether MPICH's launcher can place any rank on any node; a launcher that is not there, as in a plan, can."""
    try:
        return "-rankmap" in output_of([str(hydra), "--help"])[1]
    except UnusableEnvironmentError:
        return True


def _misreads_rankmaps(version: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) < (5, 1)


_OF_MESSAGES = {
    f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM": "mpir" for collective in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")
}


class IntelHydra(Launcher):
    """Intel MPI's mpiexec."""

    family = "intel"
    understands = ("intel", "mpich")


class OpenMpi(Launcher):
    """Open MPI's mpiexec (orterun, prterun)."""

    family = "openmpi"
    understands = ("openmpi",)

    def command(self, ranks: int, program: Sequence[str], oversubscribed: bool, hosts: Sequence[str] = ()) -> list[str]:
        options = ["--bind-to", "none"]
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if oversubscribed:
            options.append("--oversubscribe")
        return [str(self.path), *options, *(self.placed(hosts) if hosts else ()), "-n", str(ranks), *program]

    def placed(self, hosts: Sequence[str]) -> list[str]:
        return ["--host", ",".join(hosts), "--map-by", "seq"]


class Srun(Launcher):
    """Slurm's srun, inside an allocation or making one."""

    family = "slurm"
    understands = ("mpich", "intel", "openmpi")
    finds_hosts = True
    _pmi: ClassVar[str] = "pmi2"

    def command(self, ranks: int, program: Sequence[str], oversubscribed: bool, hosts: Sequence[str] = ()) -> list[str]:
        options = [f"--mpi={self._pmi}", *(("--overcommit",) if oversubscribed else ())]
        return [str(self.path), *options, *self.placed(hosts or [ANY_HOST] * ranks), "-n", str(ranks), *program]

    def placed(self, hosts: Sequence[str]) -> list[str]:
        names = distinct(hosts)
        each, named = len(hosts) // len(names), not names[0].startswith(ANY_HOST)
        options = ["-N", str(len(names))]
        if not named or names == sorted(names, key=natural_order):  # as Slurm orders them
            for distribution, order in (("block", filled(names, len(hosts))), ("cyclic", names * each)):
                if each * len(names) == len(hosts) and list(hosts) == order:
                    nodes = ("-w", ",".join(names)) if named else ()
                    return [*nodes, *options, f"--ntasks-per-node={each}", f"--distribution={distribution}"]
        if not named:
            raise InputError(
                "srun outside of an allocation places ranks blocked or cyclic, as many on each node: for another placement "
                "name the nodes with --hosts, or run inside an allocation (salloc, 'rankwise slurm submit')"
            )
        # Ranks placed so do not share memory under PMI-2, which is found out when they run.
        return ["-w", ",".join(hosts), *options, "--distribution=arbitrary"]

    def environment(self, oversubscribed: bool) -> dict[str, str]:
        # The kernels bind. A step inherits the job's tasks per node, which are not the step's.
        return {"SLURM_CPU_BIND": "none", **Hydra.environment(Hydra(self.path, ""), oversubscribed)}


class SrunPmix(Srun):
    """Slurm's srun for Open MPI."""

    _pmi = "pmix"


def ranks_of_each(hosts: Sequence[str]) -> int | None:
    """Return how many ranks each host has where hosts are filled one after the other, all alike; else None."""
    names = distinct(hosts)
    each = len(hosts) // len(names)
    return each if list(hosts) == filled(names, len(hosts)) and each * len(names) == len(hosts) else None


def filled(hosts: Sequence[str], ranks: int) -> list[str]:
    """Return the host of each rank: one host filled after the other, the first ones with one more where it must be."""
    each, more = divmod(ranks, len(hosts))
    return [host for i, host in enumerate(hosts) for _ in range(each + (i < more))]


def family_of_library(version: str) -> str:
    """Return the family of an MPI library from what MPI_Get_library_version says."""
    for sign, family in (("Intel(R) MPI", "intel"), ("Open MPI", "openmpi"), ("MPICH", "mpich")):
        if sign in version:
            return family
    return "other"


def make_launcher(path: Path, version: str, library_family: str = "mpich") -> Launcher:
    """Return the launcher of the family that ``mpiexec --version`` tells, to start ranks of a library."""
    kinds: tuple[tuple[str, type[Launcher]], ...] = (
        ("Intel(R) MPI", IntelHydra),
        ("HYDRA", Hydra),
        ("OpenRTE", OpenMpi),
        ("Open MPI", OpenMpi),
        ("PRRTE", OpenMpi),
        ("slurm", SrunPmix if library_family == "openmpi" else Srun),
    )
    lines = [line.strip() for line in version.splitlines() if line.strip()]
    # Hydra's first line is only a title; its version stands on a line of its own.
    title = lines[0] if lines else ""
    line = next((line.removeprefix("Version:").strip() for line in lines if line.startswith("Version:")), title)
    for sign, kind in kinds:
        if sign in version:
            return kind(path, line)
    return Launcher(path, line)
