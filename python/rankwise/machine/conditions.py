"""What would disturb a measurement on this machine, each with its fix.

All is found from a snapshot, or from an MPI; where all is well, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from rankwise.machine.record import MpiFacts, short_version
from rankwise.machine.snapshot import Snapshot
from rankwise.records import Record, key, record
from rankwise.units import format_ranges

Severity = Literal["problem", "warning", "info", "ok"]

LEAST_RANKS = 2  # a ping-pong's
_BUSY_SHARE = 0.05  # of the allowed PUs, kept busy by others, ...
_LEAST_BUSY_CPUS = 0.2  # ... but not less than what one clock tick in a short sample looks like, ...
_ONE_PROGRAM_CPUS = 0.9  # ... and one program that computes is always told
_STEAL_SHARE = 0.02
_PRESSURE_SHARE = 0.05
_LOAD_PER_CORE = 0.5
_SHM_LEAST_BYTES = 128 * 2**20  # twice what containers get by default


@record
class Finding(Record):
    """One condition: ``problem`` makes measuring impossible, ``warning`` spoils figures, ``info`` is worth knowing."""

    id: str = key("short name, the same in all versions")
    severity: Severity = key("problem: makes measuring impossible; warning: spoils figures; info: is worth knowing; ok")
    what: str = key("what was found")
    cure: str = key("what to do about what was found")


def examine(snapshot: Snapshot, ranks: int = LEAST_RANKS) -> list[Finding]:
    """Return all that is found on the machine for a measurement with so many ranks, the gravest first."""
    return by_severity([*_of_the_machine(snapshot), *_of_the_ranks(snapshot, ranks)])


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings, the gravest first; equals stay in their order."""
    return sorted(findings, key=lambda finding: get_args(Severity).index(finding.severity))


def _of_the_machine(snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.virtualization:
        yield Finding(
            "virtual-machine",
            "warning",
            f"virtual machine ({snapshot.virtualization}): its host may take cores away unnoticed",
            "measure on bare metal, or repeat at other hours and use results that agree",
        )
    if snapshot.steal_share >= _STEAL_SHARE:
        yield Finding(
            "steal",
            "warning",
            f"the hypervisor gives {100 * snapshot.steal_share:.0f} % of the CPU time to others (steal in /proc/stat)",
            "ask for dedicated cores, or measure when 'vmstat 1' shows 0 under st",
        )
    yield from _busy(snapshot)
    if slow := [name for name in snapshot.governors if name != "performance"]:
        yield Finding(
            "frequency-governor",
            "warning",
            f"the frequency governor is {', '.join(slow)} (/sys/devices/system/cpu/cpu*/cpufreq): clocks follow the load",
            "sudo cpupower frequency-set -g performance",
        )
    free = snapshot.shm_free_bytes
    if free is None or free < _SHM_LEAST_BYTES:
        amount = "is not there" if free is None else f"has only {free // 2**20} MiB free"
        yield Finding(
            "shared-memory",
            "warning",
            f"/dev/shm {amount}: ranks of one node exchange messages there",
            "sudo mount -o remount,size=1G /dev/shm, or docker run --shm-size=1g",
        )
    if snapshot.rdma_devices and snapshot.memlock_bytes is not None:
        yield Finding(
            "locked-memory",
            "warning",
            f"locked memory is limited to {snapshot.memlock_bytes // 1024} KiB, and {snapshot.rdma_devices[0]} needs more",
            "ulimit -l unlimited, or '* - memlock unlimited' in /etc/security/limits.conf",
        )
    if len(snapshot.allowed_pus) < snapshot.pus:
        yield Finding(
            "cpu-set",
            "info",
            f"only {len(snapshot.allowed_pus)} of {snapshot.pus} hardware threads may be used here: "
            f"{format_ranges(snapshot.allowed_pus, between=',')}",
            "for more: taskset -c LIST, docker run --cpuset-cpus=LIST, or the job's --cpus-per-task",
        )
    if snapshot.threads_per_core >= 2:
        yield Finding(
            "smt",
            "info",
            f"SMT is on: {snapshot.threads_per_core} hardware threads share a core; ranks are placed one to a core",
            "echo off | sudo tee /sys/devices/system/cpu/smt/control switches it off",
        )
    if snapshot.turbo:
        yield Finding(
            "turbo",
            "info",
            "turbo is on: the clock rate changes with temperature and with the number of busy cores",
            "sudo cpupower set --turbo-boost 0 gives a steady, lower clock rate",
        )


def _busy(snapshot: Snapshot) -> Iterator[Finding]:
    cpus = len(snapshot.allowed_pus)
    signs = []
    cure = "stop the programs that 'ps -eo pcpu,pid,comm --sort=-pcpu | head -5' lists, or take a node of your own"
    if snapshot.foreign_cpus >= min(max(_LEAST_BUSY_CPUS, _BUSY_SHARE * cpus), _ONE_PROGRAM_CPUS):
        signs.append(f"other programs use {snapshot.foreign_cpus:.1f} of {cpus} hardware threads")
    else:  # what remembers the last minute may speak of a program that has ended: a compiler, say
        cure = f"wait a minute; if it stays busy, {cure}"
    if snapshot.load_average > _LOAD_PER_CORE * snapshot.cores:
        signs.append(f"load {snapshot.load_average:.1f} on {snapshot.cores} cores in the last minute")
    if snapshot.pressure_share is not None and snapshot.pressure_share >= _PRESSURE_SHARE:
        signs.append(f"tasks waited for a core {100 * snapshot.pressure_share:.0f} % of the last 10 s")
    if signs:
        yield Finding("busy-machine", "warning", f"the machine is busy: {', '.join(signs)}", cure)


def _of_the_ranks(snapshot: Snapshot, ranks: int) -> Iterator[Finding]:
    cores, cpus = snapshot.allowed_cores, snapshot.quota_cpus
    if ranks > cores:
        more = "give the job more cores: taskset -c LIST, docker run --cpuset-cpus=LIST or --cpus-per-task"
        yield Finding(
            "oversubscription",
            "warning",
            f"{ranks} ranks on {cores} core{'s' if cores > 1 else ''}: ranks that share a core wait for each other",
            more if cores < LEAST_RANKS else f"take at most {cores} ranks: --ranks {cores}",
        )
    if cpus is not None and cpus < len(snapshot.allowed_pus):
        enough = cpus >= ranks
        yield Finding(
            "cpu-quota",
            "info" if enough else "warning",
            f"the container or job is limited to {cpus:.3g} CPUs (cgroup quota)"
            + ("" if enough else f": {ranks} polling ranks are suspended in every period"),
            "raise the limit: docker run --cpus=N, or the job's or pod's CPU limit",
        )


def wheel_mpi(mpi: MpiFacts) -> Finding | None:
    if mpi.origin != "wheel":
        return None
    return Finding(
        "wheel-mpi",
        "warning",
        f"MPI from pip ({short_version(mpi.library_version)}): results may differ from this site's MPI",
        "put the site's mpicxx on PATH and set RANKWISE_MPI=system",
    )


def other_mpis(mpi: MpiFacts, asked: str | None, others: Sequence[Path]) -> Finding | None:
    """``asked``: what RANKWISE_MPI says; ``others``: the launchers of MPIs on PATH that are not used."""
    if not others:
        return None
    why = f"RANKWISE_MPI={asked} asks for it" if asked else "RANKWISE_MPI is not set and rankwise was built with it"
    return Finding(
        "other-mpis",
        "info",
        f"{short_version(mpi.library_version)} is used, since {why}; not used: {', '.join(map(str, others))}",
        "to use another MPI set RANKWISE_MPI to the path of its mpicxx",
    )


def foreign_launcher(mpi: MpiFacts, cure: str) -> Finding | None:
    if mpi.matches:
        return None
    return Finding(
        "foreign-launcher",
        "problem",
        f"the launcher {mpi.launcher_path} belongs to {mpi.launcher_family}, the MPI library to {mpi.library_family}: "
        "each rank would be the only one of its MPI_COMM_WORLD",
        cure,
    )
