"""The halo of numpy arrays under real ranks, and what its arguments refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CHECKS = """
import json
import sys

import numpy as np
from mpi4py import MPI
import rankwise
from rankwise.errors import InputError

world = MPI.COMM_WORLD
ring = world.Create_cart([world.size], periods=[True])
before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size

# Two fields of different types and strides, one of them with components, moved together and one alone.
a = np.full(10, -1.0)
b = np.full((9, 2), -1, dtype=np.int32)[:, ::-1]
a[2:-1] = 100 * world.rank + np.arange(7)
b[2:-1] = 100 * world.rank + np.arange(6)[:, None]
halo = rankwise.Halo(ring, [a, b], width=[(2, 1)])
with halo:
    pass
assert list(a[:2]) == [100 * before + 5, 100 * before + 6] and a[-1] == 100 * after, a
assert b[:2].tolist() == [[100 * before + 4] * 2, [100 * before + 5] * 2] and b[-1].tolist() == [100 * after] * 2, b
a[:2] = -1
b[:2] = -1
halo.exchange(active=[True, False])
assert a[1] == 100 * before + 6 and b[1, 0] == -1
assert "2 fields, widths 2+1" in halo.explain(), halo.explain()

c = np.zeros(6)
one = rankwise.Halo(ring, [c])
c[[0, -1]] = 5.0, 7.0
one.reduce(MPI.SUM)
assert c.tolist() == [5.0, 7.0, 0.0, 0.0, 5.0, 7.0], c
other = np.full(6, float(world.rank))
one.start([other])
one.wait()
assert other[0] == before and c[0] == 5.0

# Memory that the other rank reads; what is free after the last array.
d = rankwise.halo_array((6, 5))
d[1:-1, 1:-1] = world.rank
for algorithm in ("window", "auto", "three-step"):
    d[0] = d[-1] = -1.0
    shared = rankwise.Halo(world.Create_cart([world.size, 1], periods=[True, False]), [d], algorithm=algorithm, exchanges=500)
    for _ in range(8):
        shared.exchange()
    assert d[0, 1:-1].tolist() == [before] * 3 and d[-1, 1] == after, (algorithm, d)
    assert ("reads the memory of 1 ranks" in shared.explain()) or algorithm != "window", shared.explain()
    shared.save(sys.argv[1])
    shared.free()
saved = json.load(open(sys.argv[1]))
assert saved["ranks"] == 2 and saved["fields"] == [8] and saved["grid"] == [2, 1], saved
assert saved["pairs"] == [{"source": r, "dest": 1 - r, "bytes": [2 * 3 * 8], "row_bytes": 24} for r in (0, 1)], saved


def refused(call, words):
    try:
        call()
    except InputError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


refused(lambda: rankwise.Halo(ring, c), "a list of arrays")
refused(lambda: rankwise.Halo(ring, [object()]), "no numpy array")
refused(lambda: rankwise.Halo(ring, [c], width=[1, 1]), "width has 2 entries")
refused(lambda: rankwise.Halo(ring, [c], algorithm="fast"), "auto, direct, staged, persistent")
refused(lambda: rankwise.Halo(ring, [c, c]), "share memory")
refused(lambda: rankwise.Halo(ring, [np.zeros(2)]), "extent of 0")
refused(lambda: rankwise.Halo(ring, [c], algorithm="window"), "rankwise_halo_alloc")
refused(lambda: one.save("/nowhere/halo.json"), "cannot be written")
refused(one.wait, "nothing to wait for")
halo.free()
one.free()
print("well")
"""


@pytest.mark.mpi
def test_heat_and_arguments(python_ranks: Callable[..., str], tmp_path: Path) -> None:
    # The sums that the same example prints in C and Fortran.
    assert python_ranks(2, ROOT / "examples" / "heat.py", "7") == "heat 17233.000000 137687.372923\n"
    assert python_ranks(2, "-c", CHECKS, tmp_path / "saved.json").count("well") == 2
