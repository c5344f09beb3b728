"""Our `direct` against the same messages written by hand and against MPI_Neighbor_alltoallv.

For each block size: the median time of each, and the ratio of ours to each of the others with its 95 % interval. A
ratio is taken within each repetition, in which all three run one after the other; the interval is that of the median
by order statistics. Exits with 1 when ours is slower than 1.05 times the hand-written one beyond doubt (the whole
interval lies above) at any size.

    python benchmarks/exchange_direct.py --mpiexec mpiexec build/cpp/tests/cpp/exchange_direct
"""

import math
import statistics
import sys

from harness import ended, keep_row, options, ratio, records

GOAL = 1.05


def main() -> int:
    parser = options(__doc__, program=True)
    parser.add_argument("--grid", default="2x1")
    parser.add_argument("--cutoff", default="1")
    parser.add_argument("--repetitions", default="200")
    arguments = parser.parse_args()
    ranks = math.prod(map(int, arguments.grid.split("x")))
    command = [*arguments.mpiexec.split(), "-n", ranks, arguments.program, arguments.grid, arguments.cutoff]
    print(f"grid {arguments.grid} periodic, cutoff {arguments.cutoff}, {arguments.repetitions} repetitions")
    print(f"{'bytes':>8} {'ours us':>9} {'by hand':>9} {'v-coll.':>9}   ours/by hand           ours/MPI_Neighbor_alltoallv")
    missed = []
    for row in records([*command, arguments.repetitions]):
        by_hand, collective = (ratio(row, "ours_s", other) for other in ("by_hand_s", "collective_s"))
        medians = [1e6 * statistics.median(row[name]) for name in ("ours_s", "by_hand_s", "collective_s")]
        print(f"{row['bytes']:>8} {medians[0]:9.2f} {medians[1]:9.2f} {medians[2]:9.2f}   {by_hand!s:<22} {collective}")
        keep_row(f"exchange, direct, {row['bytes']} B", "MPI by hand", by_hand)
        keep_row(f"exchange, direct, {row['bytes']} B", "MPI_Neighbor_alltoallv", collective)
        if by_hand.low > GOAL:
            missed.append(row["bytes"])
    return ended(missed, f"slower than {GOAL} times by hand at {{}} B")


if __name__ == "__main__":
    sys.exit(main())
