"""Random 3-D FFTs against numpy's, under mpiexec: arguments are a seed and how many cases. Prints the worst errors."""

import sys

import numpy as np
from mpi4py import MPI

import rankwise

world = MPI.COMM_WORLD
BOUND = {"double": 1e-12, "single": 1e-5}


def bricks(rng, n):
    """Return a box for every rank: the array cut again and again at random, pieces of no points among them."""
    boxes = [((0, 0, 0), tuple(n))]
    while len(boxes) < world.size:
        lower, size = boxes.pop(int(rng.integers(len(boxes))))
        axis = int(rng.integers(3))
        cut = int(rng.integers(size[axis] + 1))
        less, more, after = list(size), list(size), list(lower)
        less[axis], more[axis], after[axis] = cut, size[axis] - cut, lower[axis] + cut
        boxes += [(lower, tuple(less)), (tuple(after), tuple(more))]
    return [boxes[i] for i in rng.permutation(len(boxes))]


def error(found, wanted, box, batch):
    """Return the largest difference on any rank, relative to the largest value of the whole array."""
    part = wanted[(slice(None), *box.slices)]
    worst = np.abs((found if batch else found[None]) - part).max(initial=0.0)
    return world.allreduce(worst, MPI.MAX) / np.abs(wanted).max()


def case(rng):
    n = [int(rng.integers(1, 71)) for _ in range(3)]
    real, in_place = bool(rng.integers(2)), bool(rng.integers(2))
    precision = ("double", "single")[rng.integers(2)]
    batch = (None, 1, 2, 3, 5)[rng.integers(5)]
    fields = batch or 1
    field = rng.uniform(-1, 1, (fields, *n))
    if not real:
        field = field + 1j * rng.uniform(-1, 1, (fields, *n))
    kind = np.float32 if real else np.complex64
    if precision == "single":
        field = field.astype(kind).astype(np.float64 if real else np.complex128)
    spectrum = np.fft.rfftn(field, axes=(1, 2, 3)) if real else np.fft.fftn(field, axes=(1, 2, 3))
    has_in, has_out = rng.integers(2, size=2)
    boxes_in, boxes_out = bricks(rng, n), bricks(rng, spectrum.shape[1:])
    shapes = [[p, world.size // p] for p in range(1, world.size + 1) if world.size % p == 0]
    ways = {
        "in_box": boxes_in[world.rank] if has_in else None,
        "out_box": boxes_out[world.rank] if has_out else None,
        "order": ("transposed", "natural")[rng.integers(2)],
        "method": ("auto", "alltoall", "pairwise", "node-aware")[rng.integers(4)],
        "chunks": (0, 1, 2, 5)[rng.integers(4)],
        "together": int(rng.integers(4)),
        "in_flight": int(rng.integers(3)),
        "grid": shapes[rng.integers(len(shapes))] if rng.integers(2) else None,
    }
    begins = bool(rng.integers(2))
    name = f"n={n} real={real} {precision} batch={batch} in_place={in_place} begins={begins} {ways}"
    fft = rankwise.Fft(world, n, real=real, precision=precision, batch=batch, in_place=in_place, effort="model", **ways)
    mine, found = fft.arrays()
    mine[...] = field[(slice(None) if batch else 0, *fft.in_box.slices)]
    if begins:
        fft.begin_forward(mine, found)
        while not fft.test():
            pass
        fft.end()
    else:
        fft.forward(mine, found)
    forward = error(found, spectrum, fft.out_box, batch)
    if not in_place:
        mine[...] = 7.0
    fft.backward(found, mine, scale=1 / np.prod(n))
    backward = error(mine, field, fft.in_box, batch)
    fft.free()
    assert max(forward, backward) <= BOUND[precision], f"{name}: {forward:.1e} there, {backward:.1e} back"
    return precision, max(forward, backward)


rng = np.random.default_rng([int(sys.argv[1]), world.size])
worst = {"double": 0.0, "single": 0.0}
for _ in range(int(sys.argv[2])):
    precision, off = case(rng)
    worst[precision] = max(worst[precision], off)
if world.rank == 0:
    print(f"{sys.argv[2]} cases on {world.size} ranks: {worst['double']:.1e} double, {worst['single']:.1e} single")
