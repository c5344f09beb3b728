"""Heat in a periodic box, in three dimensions with edges and corners, in Python: the halo of a numpy array by rankwise.

    mpiexec -n 4 python heat.py 48

Argument: cells of the whole box along an edge (24). Prints sums that do not depend on the number of ranks.
"""

import sys
from itertools import product

import numpy as np
from mpi4py import MPI

import rankwise

n = int(sys.argv[1]) if len(sys.argv) > 1 else 24
cart = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 3), periods=[True] * 3)
ranges = [np.arange(c * n // dim, (c + 1) * n // dim) + 1 for c, dim in zip(cart.coords, cart.dims, strict=True)]
i, j, k = np.meshgrid(*ranges, indexing="ij")

u = np.zeros([len(r) + 2 for r in ranges])
inner = (slice(1, -1),) * 3
u[inner] = (i * 7 + j * 13 + k * 29) % 101
halo = rankwise.Halo(cart, [u], width=1, corners=True)
around = [tuple(slice(1 + o, o - 1 or None) for o in offset) for offset in product((-1, 0, 1), repeat=3)]
for _ in range(10):
    halo.exchange()
    u[inner] = 0.75 * u[inner] + 0.25 * sum(u[place] for place in around) / 27

weights = (i * 3 + j * 5 + k * 11) % 17
sums = cart.reduce(np.array([u[inner].sum(), (u[inner] * weights).sum()]))
if cart.rank == 0:
    print(f"heat {sums[0]:.6f} {sums[1]:.6f}")
halo.free()
