"""Each finding, from a snapshot that has just that fault; and the cures."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rankwise.machine.conditions import Finding, by_severity, examine, foreign_launcher, other_mpis, wheel_mpi
from rankwise.machine.snapshot import Snapshot

QUIET = Snapshot(
    cores=8,
    allowed_cores=8,
    pus=8,
    allowed_pus=tuple(range(8)),
    threads_per_core=1,
    virtualization="",
    load_average=0.3,
    foreign_cpus=0.1,
    steal_share=0.0,
    pressure_share=0.0,
    governors=("performance",),
    turbo=False,
    quota_cpus=None,
    shm_free_bytes=2**33,
    memlock_bytes=None,
    rdma_devices=(),
)


@dataclass(frozen=True)
class SomeMpi:
    origin: str = "system"
    library_version: str = "MPICH Version: 4.2"
    library_family: str = "mpich"
    launcher_path: Path | None = Path("/usr/bin/mpiexec")
    launcher_version: str = "4.2"
    launcher_family: str = "mpich"
    matches: bool = True


def test_a_quiet_machine_has_no_finding():
    assert examine(QUIET, ranks=8) == []
    assert examine(replace(QUIET, pressure_share=None, turbo=None, governors=(), quota_cpus=8.0)) == []


SINGLE = [
    ({"virtualization": "KVM"}, 2, "virtual-machine", "warning", "(KVM)"),
    ({"steal_share": 0.04}, 2, "steal", "warning", "4 %"),
    ({"foreign_cpus": 1.2}, 2, "busy-machine", "warning", "1.2 of 8 hardware threads"),
    ({"load_average": 5.0}, 2, "busy-machine", "warning", "5.0 on 8 cores"),
    ({"pressure_share": 0.3}, 2, "busy-machine", "warning", "30 % of the last 10 s"),
    ({"governors": ("performance", "powersave")}, 2, "frequency-governor", "warning", "powersave"),
    ({"turbo": True}, 2, "turbo", "info", "turbo is on"),
    ({"threads_per_core": 2}, 2, "smt", "info", "2 hardware threads share a core"),
    ({"pus": 96}, 2, "cpu-set", "info", "8 of 96 hardware threads may be used here: 0-7"),
    ({"shm_free_bytes": 64 * 2**20}, 2, "shared-memory", "warning", "64 MiB free"),
    ({"shm_free_bytes": None}, 2, "shared-memory", "warning", "is not there"),
    ({"rdma_devices": ("mlx5_0",), "memlock_bytes": 8192 * 1024}, 2, "locked-memory", "warning", "8192 KiB"),
    ({}, 9, "oversubscription", "warning", "9 ranks on 8 cores"),
    ({"allowed_cores": 1, "allowed_pus": (0,), "pus": 1}, 2, "oversubscription", "warning", "2 ranks on 1 core:"),
    ({"quota_cpus": 1.5}, 2, "cpu-quota", "warning", "1.5 CPUs"),
    ({"quota_cpus": 4.0}, 2, "cpu-quota", "info", "4 CPUs"),
]


@pytest.mark.parametrize(("change", "ranks", "id", "severity", "words"), SINGLE)
def test_each_fault_gives_its_one_finding(change, ranks, id, severity, words):
    [finding] = examine(replace(QUIET, **change), ranks)
    assert (finding.id, finding.severity) == (id, severity)
    assert words in finding.what
    assert finding.cure
    assert "\n" not in finding.what + finding.cure


@pytest.mark.parametrize(
    ("change", "ranks"),
    [
        ({"foreign_cpus": 0.3}, 2),
        ({"load_average": 3.9}, 2),
        ({"pressure_share": 0.04}, 2),
        ({"steal_share": 0.01}, 2),
        ({"memlock_bytes": 65536}, 2),  # no device that would need it
        ({"rdma_devices": ("mlx5_0",)}, 2),
        ({}, 8),
    ],
)
def test_below_the_limits_there_is_none(change, ranks):
    assert examine(replace(QUIET, **change), ranks) == []


@pytest.mark.parametrize(("pus", "foreign", "busy"), [(2, 0.1, False), (2, 0.25, True), (128, 0.8, False), (128, 1.0, True)])
def test_one_computing_program_is_told_on_every_size_of_machine(pus, foreign, busy):
    machine = replace(QUIET, pus=pus, allowed_pus=tuple(range(pus)), foreign_cpus=foreign)
    assert [finding.id for finding in examine(machine)] == (["busy-machine"] if busy else [])


def test_several_signs_of_business_are_one_finding():
    [finding] = examine(replace(QUIET, foreign_cpus=4.0, load_average=9.0))
    assert "4.0 of 8" in finding.what
    assert "9.0 on 8 cores" in finding.what


def test_the_cure_of_oversubscription_fits():
    [too_many] = examine(QUIET, ranks=20)
    assert too_many.cure == "take at most 8 ranks: --ranks 8"
    [one_core] = examine(replace(QUIET, allowed_cores=1), ranks=2)
    assert "taskset" in one_core.cure


def test_wheel_mpi():
    assert wheel_mpi(SomeMpi()) is None
    finding = wheel_mpi(SomeMpi(origin="wheel", library_version="MPICH Version:      5.0.2\nMPICH Device: ch4:ucx"))
    assert (finding.id, finding.severity) == ("wheel-mpi", "warning")
    assert "(MPICH Version: 5.0.2)" in finding.what
    assert "RANKWISE_MPI=system" in finding.cure


def test_other_mpis_on_path_and_why_this_one():
    assert other_mpis(SomeMpi(), None, []) is None
    found = other_mpis(SomeMpi(library_version="MPICH Version: 5.0.2"), None, [Path("/opt/mpi/bin/mpiexec")])
    assert found.severity == "info" and found.what.startswith("MPICH Version: 5.0.2 is used, since RANKWISE_MPI is not set")
    assert found.what.endswith("not used: /opt/mpi/bin/mpiexec")
    assert "RANKWISE_MPI=system asks for it" in other_mpis(SomeMpi(), "system", [Path("/opt/mpi/bin/mpiexec")]).what


def test_foreign_launcher():
    assert foreign_launcher(SomeMpi(), "the cure") is None
    finding = foreign_launcher(SomeMpi(launcher_family="openmpi", matches=False), "the cure")
    assert (finding.severity, finding.cure) == ("problem", "the cure")
    assert "/usr/bin/mpiexec belongs to openmpi, the MPI library to mpich" in finding.what


def test_the_gravest_come_first():
    mixed = [Finding(severity, severity, "", "") for severity in ("ok", "info", "problem", "warning")]
    assert [finding.severity for finding in by_severity(mixed)] == ["problem", "warning", "info", "ok"]
    everything = replace(QUIET, virtualization="KVM", turbo=True, steal_share=0.5, threads_per_core=2)
    assert [finding.id for finding in examine(everything)] == ["virtual-machine", "steal", "smt", "turbo"]
