"""Eight substances that diffuse and react in a periodic plane: a program as one writes it first.

    mpiexec -n 2 python reaction.py 96 400

Arguments: cells of the plane along an edge (96), steps (400). Prints a sum that does not depend on the number of ranks, and
the time of a step.
"""

import sys
import time

import numpy as np
from mpi4py import MPI

cells, steps = (int(text) for text in (sys.argv[1:] + ["96", "400"][len(sys.argv) - 1 :])[:2])
cart = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 2), periods=[True] * 2)
rows, columns = (np.arange(c * cells // dim, (c + 1) * cells // dim) for c, dim in zip(cart.coords, cart.dims, strict=True))

fields = [np.zeros((len(rows) + 2, len(columns) + 2)) for _ in range(8)]
for number, u in enumerate(fields):
    u[1:-1, 1:-1] = (7 * rows[:, None] + 13 * columns + 29 * number) % 101


def exchange():
    """Bring the borders of the four neighbours here, field by field and side by side."""
    for u in fields:
        for axis in range(2):
            before, after = cart.Shift(axis, 1)
            for dest, source, sent, received in ((after, before, -2, 0), (before, after, 1, -1)):
                line = np.ascontiguousarray(u.take(sent, axis))
                halo = np.empty_like(line)
                cart.Sendrecv(line, dest, recvbuf=halo, source=source)
                if axis == 0:
                    u[received] = halo
                else:
                    u[:, received] = halo


def react():
    """Let every field diffuse, then react with the next one."""
    for u in fields:
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    first = fields[0][1:-1, 1:-1].copy()
    for u, other in zip(fields, [f[1:-1, 1:-1] for f in fields[1:]] + [first], strict=True):
        u[1:-1, 1:-1] += 0.001 * (other - u[1:-1, 1:-1])


start = time.perf_counter()
for _ in range(steps):
    exchange()
    react()
took = cart.allreduce(time.perf_counter() - start, MPI.MAX)
total = cart.allreduce(sum(float((u[1:-1, 1:-1] * (k + 1)).sum()) for k, u in enumerate(fields)))
if cart.rank == 0:
    print(f"sum {total:.3f}, {1e6 * took / steps:.0f} us a step")
