"""Our `direct` against the same messages written by hand and against MPI_Neighbor_alltoallv.

For each block size: the median time of each, and the ratio of ours to each of the others with its 95 % interval. A
ratio is taken within each repetition, in which all three run one after the other; the interval is that of the median
by order statistics. Exits with 1 when ours is slower than 1.05 times the hand-written one beyond doubt (the whole
interval lies above) at any size.

    python benchmarks/exchange_direct.py --mpiexec mpiexec build/cpp/tests/cpp/api/exchange_direct
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

import numpy as np

from rankwise.statistics import median_interval_95

GOAL = 1.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--grid", default="2x1")
    parser.add_argument("--cutoff", default="1")
    parser.add_argument("--repetitions", default="200")
    arguments = parser.parse_args()
    ranks = math.prod(map(int, arguments.grid.split("x")))
    command = [arguments.mpiexec, "-n", str(ranks), arguments.program, arguments.grid, arguments.cutoff]
    output = subprocess.run([*command, arguments.repetitions], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(f"grid {arguments.grid} periodic, cutoff {arguments.cutoff}, {arguments.repetitions} repetitions")
    print(f"{'bytes':>8} {'ours us':>9} {'by hand':>9} {'v-coll.':>9}   ours/by hand           ours/MPI_Neighbor_alltoallv")
    missed = []
    for line in output.splitlines():
        row = json.loads(line)
        ratios = []
        for other in ("by_hand_s", "collective_s"):
            of_each = np.array(row["ours_s"]) / np.array(row[other])
            ratios.append((float(np.median(of_each)), *median_interval_95(of_each)))
        medians = [1e6 * statistics.median(row[name]) for name in ("ours_s", "by_hand_s", "collective_s")]
        texts = [f"{middle:.3f} [{low:.3f}, {high:.3f}]" for middle, low, high in ratios]
        print(f"{row['bytes']:>8} {medians[0]:9.2f} {medians[1]:9.2f} {medians[2]:9.2f}   {texts[0]:<22} {texts[1]}")
        if ratios[0][1] > GOAL:
            missed.append(row["bytes"])
    if missed:
        print(f"slower than {GOAL} times by hand at {', '.join(map(str, missed))} B", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
