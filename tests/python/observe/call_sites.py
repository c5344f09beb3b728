"""Calls of MPI from Python: a comment says which function of MPI a line calls, and how often on each rank."""

import sys

import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5

ranks = MPI.COMM_WORLD
room = np.zeros(4)


class Solver:
    def step(self) -> None:
        ranks.Allreduce(MPI.IN_PLACE, room)  # MPI_Allreduce from Solver.step 5


def barriers(count: int) -> list[None]:
    return [
        ranks.Barrier()  # type: ignore[func-returns-value]  # MPI_Barrier from barriers 3
        for _ in range(count)
    ]


def passed_on(to: int) -> None:
    pkl5.Intracomm(ranks).bcast(to)  # MPI_Bcast from passed_on 3


solver = Solver()
for _ in range(5):
    solver.step()
barriers(3)
passed_on(
    1,
)
ranks.Bcast(room)  # MPI_Bcast from <module> 1
sys.setprofile(lambda *_: None)
(lambda: ranks.Barrier())()  # MPI_Barrier from <lambda> 1
