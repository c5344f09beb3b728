"""Our 3-D FFT against FFTW's own MPI transform, and mpi4py-fft where it is installed: ratios of medians.

For each size and number of ranks the median time of each (forward, double complex, transposed out, planned with
FFTW_MEASURE), and ours over the fastest of the others with a 95 % interval. Ours and FFTW's take turns in one run of one
program on the same MPI; a ratio is taken within each repetition. mpi4py-fft runs by itself afterwards, so that its ratio is
one of medians. Exits with 1 when ours is slower than 1.05 times the fastest beyond doubt (the whole interval lies above).

    apt-get install libfftw3-dev libfftw3-mpi-dev libopenmpi-dev
    RANKWISE_MPI=system cmake -S . -B build/system -DRANKWISE_TESTS=ON -DRANKWISE_PYTHON=OFF
    cmake --build build/system --target fft3d_peers
    python benchmarks/fft3d.py build/system/tests/cpp/fft3d_peers --mpiexec /usr/bin/mpiexec
"""

import os
import statistics
import subprocess
import sys

from harness import ended, keep_row, options, ratio, records

from rankwise.units import format_count

GOAL = 1.05

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


def main() -> int:
    parser = options(__doc__, program=True)
    parser.add_argument("--sizes", default="64,128,256")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--method", default="alltoall", help="alltoall or pairwise")
    parser.add_argument("--repetitions", type=int, default=30)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}; {arguments.repetitions} repetitions, {arguments.method}")
    print(
        f"{'n':>4} {'ranks':>5} {'ours ms':>9} {'in place':>9} {'out of p.':>9} {'mpi4py':>9}  ours / fastest FFTW      memory"
    )
    missed = []
    for n in map(int, arguments.sizes.split(",")):
        for ranks in map(int, arguments.ranks.split(",")):
            launch = [*arguments.mpiexec.split(), "-n", str(ranks)]
            if ranks > cores:  # Open MPI's words for it
                launch[1:1] = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
            command = [*launch, arguments.program, str(n), f"{ranks}x1", str(arguments.repetitions), arguments.method]
            [row] = records(command)
            medians = {
                name: 1e3 * statistics.median(row[f"{name}_s"]) for name in ("ours", "fftw_in_place", "fftw_out_of_place")
            }
            fastest = min(("fftw_in_place", "fftw_out_of_place"), key=lambda name: medians[name])
            of_each = ratio(row, "ours_s", f"{fastest}_s")
            mpi4py_s = mpi4py_fft_median_s(launch, n, arguments.repetitions)
            texts = [f"{value:9.2f}" for value in medians.values()] + [
                "        –" if mpi4py_s is None else f"{1e3 * mpi4py_s:9.2f}"
            ]
            print(
                f"{n:>4} {ranks:>5} {' '.join(texts)}  {of_each}   {row['memory_ratio']:.2f} arrays",
                flush=True,
            )
            keep_row(f"FFT of {n}^3 on {format_count(ranks, 'rank')}", "FFTW-MPI, the faster of in and out of place", of_each)
            if of_each.low > GOAL or (mpi4py_s is not None and medians["ours"] > GOAL * 1e3 * mpi4py_s):
                missed.append(f"{n}^3 on {ranks}")
    return ended(missed, f"slower than {GOAL} times the fastest at {{}}")


if __name__ == "__main__":
    sys.exit(main())
