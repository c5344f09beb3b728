"""Batches of 3-D FFTs against as many single transforms by FFTW's own MPI transform: ratios of medians.

Ours is one call of a plan that chooses by itself (fields together, trials included), the faster of in place and out of place,
as of FFTW's; all take turns in one program on the same MPI, each with memory of its own for every field (forward, double
complex, planned with FFTW_MEASURE). A ratio is taken within each repetition; several launches, for memory is placed anew in
each, and the median of all is told with its 95 % interval. The bar: at most 0.8, for 16 fields of 32^3 on 2 ranks. For
comparison: ours field by field, and FFTW on one and the same field again and again, which stays in cache. Exits with 1 where
the bar is missed beyond doubt.

    cmake --build build/system --target fft3d_batch        # as benchmarks/fft3d.py says
    python benchmarks/fft3d_batch.py build/system/tests/cpp/fft3d_batch --mpiexec /usr/bin/mpiexec
"""

import os
import sys

import numpy as np
from harness import ended, keep_row, median, options, records

GOAL = 0.8


def main() -> int:
    parser = options(__doc__, program=True)
    parser.add_argument("--sizes", default="32")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--together", default="0", help="so many fields together: several as 1,2,4; 0: the plan chooses")
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--launches", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; {arguments.ranks} ranks")
    names = ("ours", "ours_in_place", "one_by_one", "fftw_in_place", "fftw_out_of_place", "fftw_one_field")
    missed = []
    for n in arguments.sizes.split(","):
        for together in arguments.together.split(","):
            rows = []
            for _ in range(arguments.launches):
                command = [*arguments.mpiexec.split(), "-n", arguments.ranks, arguments.program, n, arguments.batch]
                rows += records([*command, arguments.repetitions, together])
            medians = {name: 1e3 * float(np.median([row[f"{name}_s"] for row in rows])) for name in names}
            ours = min(("ours", "ours_in_place"), key=medians.__getitem__)
            fastest = min(("fftw_in_place", "fftw_out_of_place"), key=medians.__getitem__)
            of_launches = [np.array(row[f"{ours}_s"]) / np.array(row[f"{fastest}_s"]) for row in rows]
            of_all = median(np.concatenate(of_launches))
            variants = "; ".join(sorted({row["variant_in_place" if ours == "ours_in_place" else "variant"] for row in rows}))
            times = "  ".join(f"{name} {value:.3f}" for name, value in medians.items())
            by_launch = " ".join(f"{float(np.median(of_launch)):.2f}" for of_launch in of_launches)
            print(
                f"{arguments.batch} x {n}^3, {variants}: ms: {times}\n  {ours} / {fastest}: {of_all}, "
                f"by launch {by_launch}; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            keep_row(f"{arguments.batch} FFTs of {n}^3 on {arguments.ranks} ranks", "FFTW-MPI, one by one", of_all)
            if of_all.low > GOAL:
                missed.append(f"{n}^3 {variants}")
    return ended(missed, f"more than {GOAL} of {arguments.batch} single transforms: {{}}", between="; ")


if __name__ == "__main__":
    sys.exit(main())
