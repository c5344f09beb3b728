"""What is timed is timed by a clock that nobody sets: MPI_Wtime is the time of day in MPICH."""

from pathlib import Path

import pytest

from rankwise.launch.installed import package_folder


@pytest.mark.parametrize("file", ["bin/rankwise-kernels", "lib/librankwise_mpich.so"])
def test_nothing_of_ours_asks_mpi_for_the_time(file: str) -> None:
    content = (package_folder() / Path(file)).read_bytes()
    assert b"MPI_Comm_rank" in content and b"MPI_Wtime" not in content
