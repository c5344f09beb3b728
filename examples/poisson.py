"""A spectral Poisson solver in Python: laplace u = f in a periodic box, against a known solution; transforms by rankwise.

    mpiexec -n 4 python poisson.py 48

Argument: points of the box along an edge (24). Prints the largest error of any point.
"""

import sys

import numpy as np
from mpi4py import MPI

import rankwise

n = int(sys.argv[1]) if len(sys.argv) > 1 else 24
fft = rankwise.Fft(MPI.COMM_WORLD, (n, n, n), real=True)
f, spectrum = fft.arrays()

x, y, z = np.meshgrid(*(2 * np.pi * np.arange(n)[part] / n for part in fft.in_box.slices), indexing="ij")
known = np.sin(x) * np.cos(2 * y) + np.sin(3 * z) * np.cos(x)
f[...] = -5 * np.sin(x) * np.cos(2 * y) - 10 * np.sin(3 * z) * np.cos(x)

whole = np.fft.fftfreq(n, 1 / n)
waves = (whole, whole, np.arange(n // 2 + 1))
kx, ky, kz = np.meshgrid(*(of_axis[part] for of_axis, part in zip(waves, fft.out_box.slices, strict=True)), indexing="ij")
k2 = kx**2 + ky**2 + kz**2
fft.forward(f, spectrum)
spectrum /= np.where(k2 == 0, 1, -k2)
spectrum[k2 == 0] = 0
u = np.empty_like(f)
fft.backward(spectrum, u, scale=1 / n**3)

worst = MPI.COMM_WORLD.reduce(np.abs(u - known).max(initial=0.0), MPI.MAX)
if MPI.COMM_WORLD.rank == 0:
    print(f"poisson {n}: off by {'less than 1e-12' if worst < 1e-12 else worst}")
fft.free()
