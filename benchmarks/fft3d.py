"""Our 3-D FFT, and batches of it, against FFTW's own MPI transform, and mpi4py-fft where it is installed: ratios of medians.

For each size and number of ranks the median time of each (forward, double complex, transposed out, planned with
FFTW_MEASURE), and ours over the fastest of the others with a 95 % interval. Ours and FFTW's take turns in one run of one
program on the same MPI; a ratio is taken within each repetition. mpi4py-fft runs by itself afterwards, so that its ratio is
one of medians. Exits with 1 when ours is slower than 1.05 times the fastest beyond doubt (the whole interval lies above).

Batches against as many single transforms: ours is one call of a plan that chooses by itself (fields together, trials included),
the faster of in place and out of place, as of FFTW's; each has memory of its own for every field. Several launches, for memory
is placed anew in each; the median of all is told. The bar: at most 0.8, for 16 fields of 32^3 on 2 ranks. For comparison: ours
field by field, and FFTW on one and the same field again and again, which stays in cache.

    apt-get install libfftw3-dev libfftw3-mpi-dev libopenmpi-dev
    RANKWISE_MPI=system cmake -S . -B build/system -DRANKWISE_TESTS=ON -DRANKWISE_PYTHON=OFF
    cmake --build build/system --target fft3d_peers fft3d_batch
    python benchmarks/fft3d.py build/system/tests/cpp/fft3d_peers --mpiexec /usr/bin/mpiexec
    python benchmarks/fft3d.py build/system/tests/cpp/fft3d_batch --mpiexec /usr/bin/mpiexec --batch 16
"""

import argparse
import os
import statistics
import subprocess
import sys

import numpy as np
from harness import Median, ended, keep_row, load, median, options, ratio, records

from rankwise.units import format_count

GOAL, GOAL_OF_BATCHES = 1.05, 0.8
FFTW = ("fftw_in_place", "fftw_out_of_place")

# Run by each rank of mpi4py-fft's turn; prints the maximum over ranks of each repetition.
MPI4PY_FFT = """
import sys
import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray
n, repetitions = int(sys.argv[1]), int(sys.argv[2])
comm = MPI.COMM_WORLD
fft = PFFT(comm, [n] * 3, dtype=np.complex128, slab=True)
field, spectrum = newDistArray(fft, False), newDistArray(fft, True)
field[...] = 1.0
fft.forward(field, spectrum, normalize=False)
at_zero = comm.allreduce(float(np.abs(spectrum).max()), op=MPI.MAX)
assert abs(at_zero - n**3) < 1e-6 * n**3
times = []
for _ in range(repetitions + 2):
    comm.Barrier()
    start = MPI.Wtime()
    fft.forward(field, spectrum, normalize=False)
    times.append(comm.allreduce(MPI.Wtime() - start, op=MPI.MAX))
if comm.rank == 0:
    print(*times[2:])
"""


def mpi4py_fft_median_s(launch: list[str], n: int, repetitions: int) -> float | None:
    """The median time of mpi4py-fft, None where it is not installed or does not run."""
    done = subprocess.run([*launch, sys.executable, "-c", MPI4PY_FFT, str(n), str(repetitions)], capture_output=True, text=True)
    times = [float(word) for word in done.stdout.split()] if done.returncode == 0 else []
    return statistics.median(times) if times else None


def singles(given: argparse.Namespace) -> int:
    cores = len(os.sched_getaffinity(0))
    print(f"{given.method}\n   n ranks   ours ms  in place  out of p.    mpi4py  ours / fastest FFTW      memory")
    missed = []
    for n in map(int, (given.sizes or "64,128,256").split(",")):
        for ranks in map(int, (given.ranks or "1,2,4").split(",")):
            launch = [*given.mpiexec.split(), "-n", str(ranks)]
            if ranks > cores:  # Open MPI's words for it
                launch[1:1] = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
            repetitions = given.repetitions or 30
            [row] = records([*launch, given.program, n, f"{ranks}x1", repetitions, given.method])
            medians = {name: 1e3 * statistics.median(row[f"{name}_s"]) for name in ("ours", *FFTW)}
            of_each = ratio(row, "ours_s", f"{min(FFTW, key=medians.__getitem__)}_s")
            mpi4py_s = mpi4py_fft_median_s(launch, n, repetitions)
            texts = [f"{value:9.2f}" for value in medians.values()]
            texts.append("        –" if mpi4py_s is None else f"{1e3 * mpi4py_s:9.2f}")
            print(f"{n:>4} {ranks:>5} {' '.join(texts)}  {of_each}   {row['memory_ratio']:.2f} arrays", flush=True)
            keep_row(f"FFT of {n}^3 on {format_count(ranks, 'rank')}", "FFTW-MPI, the faster of in and out of place", of_each)
            if of_each.low > GOAL or (mpi4py_s is not None and medians["ours"] > GOAL * 1e3 * mpi4py_s):
                missed.append(f"{n}^3 on {ranks}")
    return ended(missed, f"slower than {GOAL} times the fastest at {{}}")


def batches(given: argparse.Namespace) -> int:
    names = ("ours", "ours_in_place", "one_by_one", *FFTW, "fftw_one_field")
    ranks, missed = given.ranks or "2", []
    for n in (given.sizes or "32").split(","):
        for together in given.together.split(","):
            words = [*given.mpiexec.split(), "-n", ranks, given.program, n, given.batch, given.repetitions or 50, together]
            rows = [row for _ in range(given.launches) for row in records(words)]
            medians = {name: 1e3 * float(np.median([row[f"{name}_s"] for row in rows])) for name in names}
            ours, fastest = (min(some, key=medians.__getitem__) for some in (("ours", "ours_in_place"), FFTW))
            of_launches: list[Median] = [ratio(row, f"{ours}_s", f"{fastest}_s") for row in rows]
            of_all = median(np.concatenate([np.array(row[f"{ours}_s"]) / np.array(row[f"{fastest}_s"]) for row in rows]))
            variants = "; ".join(sorted({row["variant_in_place" if ours == "ours_in_place" else "variant"] for row in rows}))
            times = "  ".join(f"{name} {value:.3f}" for name, value in medians.items())
            print(f"{given.batch} x {n}^3, {variants}: ms: {times}\n  {ours} / {fastest}: {of_all}, by launch "
                  f"{' '.join(f'{of.value:.2f}' for of in of_launches)}; {load()}", flush=True)  # fmt: skip
            keep_row(f"{given.batch} FFTs of {n}^3 on {ranks} ranks", "FFTW-MPI, one by one", of_all)
            if of_all.low > GOAL_OF_BATCHES:
                missed.append(f"{n}^3 {variants}")
    return ended(missed, f"more than {GOAL_OF_BATCHES} of {given.batch} single transforms: {{}}", between="; ")


def main() -> int:
    parser = options(__doc__, program=True)
    parser.add_argument("--sizes")
    parser.add_argument("--ranks")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--method", default="alltoall", help="of single transforms: alltoall or pairwise")
    parser.add_argument("--batch", type=int, help="so many fields")
    parser.add_argument("--together", default="0", help="so many of them together: several as 1,2,4; 0: the plan chooses")
    parser.add_argument("--launches", type=int, default=5, help="of a batch")
    given = parser.parse_args()
    print(load())
    return batches(given) if given.batch else singles(given)


if __name__ == "__main__":
    sys.exit(main())
