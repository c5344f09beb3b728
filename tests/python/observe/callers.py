"""A wrapper of MPI that two functions call, one of them for three times as long: rank 1 lets rank 0 wait."""

import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD


def pass_on(tag: int, wait_s: float) -> None:
    value = np.zeros(1)
    if world.rank == 1:
        time.sleep(wait_s)
        world.Send(value, 0, tag)
    elif world.rank == 0:
        world.Recv(value, 1, tag)


def slow() -> None:
    pass_on(1, 0.03)


def quick() -> None:
    pass_on(2, 0.01)


def step() -> None:
    slow()
    quick()


for _ in range(25):
    step()
