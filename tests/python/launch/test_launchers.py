from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.launch.launchers import (
    Hydra,
    IntelHydra,
    Launcher,
    OpenMpi,
    Srun,
    SrunPmix,
    family_of_library,
    filled,
    make_launcher,
    ranks_of_each,
)

MPICH = "MPICH Version:      5.0.2\nMPICH Release date: ..."
VERSIONS = {
    "HYDRA build details:\n    Version:  5.0.2": Hydra,
    "mpiexec (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/": OpenMpi,
    "mpiexec (Open MPI) 5.0.11": OpenMpi,
    "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build": IntelHydra,
    "slurm-wlm 22.05.8": Srun,
    "slurm 23.11.4": Srun,
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


def test_oversubscribed_ranks_give_up_the_core() -> None:
    crowded = Hydra(Path("m"), "").environment(True)
    assert crowded["MPIR_CVAR_ENABLE_HEAVY_YIELD"] == "1"
    # Of messages, which yield: with 4 ranks on 2 cores a barrier takes 0.5 ms and not 15.
    assert crowded["MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM"] == "mpir" and len(crowded) == 5
    assert Hydra(Path("m"), "").environment(False) == {}
    assert "--oversubscribe" in OpenMpi(Path("m"), "").command(8, ["x"], True)
    assert "--oversubscribe" not in OpenMpi(Path("m"), "").command(8, ["x"], False)


def test_srun_speaks_the_library_s_language() -> None:
    assert type(make_launcher(Path("srun"), "slurm 23.11.4", "openmpi")) is SrunPmix
    assert SrunPmix(Path("srun"), "").command(2, ["x"], False)[1] == "--mpi=pmix"
    assert Srun(Path("srun"), "").command(2, ["x"], True)[1:3] == ["--mpi=pmi2", "--overcommit"]


BLOCKED, CYCLIC, UNEVEN = ["a", "a", "b", "b"], ["a", "b", "a", "b"], ["a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("kind", "hosts", "options"),
    [
        (Hydra, BLOCKED, ["-hosts", "a,b", "-ppn", "2"]),
        (Hydra, ["b", "b", "a", "a"], ["-hosts", "a,b", "-rankmap", "1,1,0,0"]),  # Slurm starts nodes in its own order
        (Hydra, CYCLIC, ["-hosts", "a,b", "-rankmap", "0,1,0,1"]),
        (Hydra, UNEVEN, ["-hosts", "a,b", "-rankmap", "0,1,1,1"]),
        (IntelHydra, BLOCKED, ["-hosts", "a,b", "-ppn", "2"]),
        (OpenMpi, CYCLIC, ["--host", "a,b,a,b", "--map-by", "seq"]),
        (Srun, BLOCKED, ["-w", "a,b", "-N", "2", "--ntasks-per-node=2", "--distribution=block"]),
        (Srun, ["b", "b", "a", "a"], ["-w", "b,b,a,a", "-N", "2", "--distribution=arbitrary"]),
        (Srun, CYCLIC, ["-w", "a,b", "-N", "2", "--ntasks-per-node=2", "--distribution=cyclic"]),
        (Srun, UNEVEN, ["-w", "a,b,b,b", "-N", "2", "--distribution=arbitrary"]),
        (Srun, ["n9", "n9", "n10", "n10"], ["-w", "n9,n10", "-N", "2", "--ntasks-per-node=2", "--distribution=block"]),
        (Srun, ["*0", "*1", "*0", "*1"], ["-N", "2", "--ntasks-per-node=2", "--distribution=cyclic"]),
        (Srun, [], ["-N", "1", "--ntasks-per-node=4", "--distribution=block"]),
    ],
)
def test_each_launcher_places_ranks_in_its_own_words(kind: type[Launcher], hosts: list[str], options: list[str]) -> None:
    command = kind(Path("m"), "").command(4, ["x"], False, hosts)
    start = command.index(options[0])
    assert command[start : start + len(options)] == options and command[-3:] == ["-n", "4", "x"]


def test_a_placement_that_mpich_5_0_misreads_is_refused() -> None:
    hosts = list("aabbaabbccddccddaabbaabb")
    with pytest.raises(InputError, match=r"^m cannot place ranks like that: under MPICH 5\.0 its ranks hang.*take srun"):
        Hydra(Path("m"), "5.0.2").command(24, ["x"], False, hosts)
    for version in ("5.1.0", "5.1.0a1", "6.0", ""):
        assert "-rankmap" in Hydra(Path("m"), version).command(24, ["x"], False, hosts)
    assert "-rankmap" in Hydra(Path("m"), "5.0.2").command(16, ["x"], False, hosts[:16])


def test_a_placement_that_a_launcher_cannot_make_is_refused() -> None:
    with pytest.raises(InputError, match="this placement needs"):
        IntelHydra(Path("m"), "").command(4, ["x"], False, CYCLIC)
    with pytest.raises(InputError, match="blocked or cyclic.*name the nodes with --hosts"):
        Srun(Path("m"), "").command(4, ["x"], False, ["*0", "*1", "*1", "*1"])


def test_hosts_filled_one_after_the_other() -> None:
    assert filled(["a", "b"], 5) == ["a", "a", "a", "b", "b"]
    assert ranks_of_each(filled(["a", "b", "c"], 9)) == 3
    assert ranks_of_each(filled(["a", "b", "c"], 8)) is None
    assert ranks_of_each(CYCLIC) is None
