from pathlib import Path

import pytest

from rankwise.launch.launchers import Hydra, IntelHydra, Launcher, OpenMpi, family_of_library, make_launcher

MPICH = "MPICH Version:      5.0.2\nMPICH Release date: ..."
VERSIONS = {
    "HYDRA build details:\n    Version:  5.0.2": Hydra,
    "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/": OpenMpi,
    "mpiexec (Open MPI) 5.0.11": OpenMpi,
    "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build": IntelHydra,
    "something else": Launcher,
}


@pytest.mark.parametrize(("version", "kind"), VERSIONS.items())
def test_a_launcher_is_known_by_what_it_says(version: str, kind: type[Launcher]) -> None:
    assert type(make_launcher(Path("/usr/bin/mpiexec"), version)) is kind


@pytest.mark.parametrize(
    ("version", "family"),
    [
        (MPICH, "mpich"),
        ("Open MPI v5.0.11, package: ...", "openmpi"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS", "intel"),
        ("Cray MPI", "other"),
    ],
)
def test_a_library_is_known_by_what_it_says(version: str, family: str) -> None:
    assert family_of_library(version) == family


def test_commands_never_go_through_a_shell() -> None:
    command = Hydra(Path("/opt/my mpi/mpiexec"), "").command(2, ["/tmp/a b/kernels", "x; rm -rf /"], False)
    assert command == ["/opt/my mpi/mpiexec", "-n", "2", "/tmp/a b/kernels", "x; rm -rf /"]


def test_ranks_go_evenly_to_the_hosts_that_are_named() -> None:
    assert Hydra(Path("m"), "").command(4, ["x"], False, ("n1", "n2")) == ["m", "-hosts", "n1,n2", "-ppn", "2", "-n", "4", "x"]
    assert "n1:2,n2:2" in OpenMpi(Path("m"), "").command(4, ["x"], False, ("n1", "n2"))


def test_oversubscribed_ranks_give_up_the_core() -> None:
    assert Hydra(Path("m"), "").environment(True) == {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    assert Hydra(Path("m"), "").environment(False) == {}
    assert "--oversubscribe" in OpenMpi(Path("m"), "").command(8, ["x"], True)
    assert "--oversubscribe" not in OpenMpi(Path("m"), "").command(8, ["x"], False)
