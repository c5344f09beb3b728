"""Our ping-pong beside a loop like OSU's osu_latency, taken in turn on the same ranks: same size, same estimator.

For each size: the median round trip of both over all repetitions, and the median over repetitions of the ratio of their
medians with its 95 % interval by order statistics. Exits with 1 when at any size the whole interval lies outside 1.00 ± 0.05.

    cmake --build build/cpp --target pingpong_osu
    python benchmarks/pingpong_osu.py --mpiexec mpiexec build/cpp/tests/cpp/pingpong_osu [--repetitions 40] [--cpus 0,1]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

import numpy as np

from rankwise.statistics import median_interval_95

TOLERANCE = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--repetitions", default="40")
    parser.add_argument("--cpus", default="0,1")
    arguments = parser.parse_args()
    command = [arguments.mpiexec, "-n", "2", arguments.program, arguments.repetitions, *arguments.cpus.split(",")]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    medians: dict[int, list[tuple[float, float]]] = {}
    for record in map(json.loads, output.splitlines()):
        pair = float(np.median(record["ours_s"])), float(np.median(record["osu_like_s"]))
        medians.setdefault(record["size_bytes"], []).append(pair)
    print(f"{arguments.repetitions} repetitions of 200 round trips each, in turn; one-way times")
    print(f"{'bytes':>8} {'ours us':>10} {'like OSU':>10}   ratio of medians")
    missed = []
    for size_bytes, pairs in medians.items():
        times = np.array(pairs)
        ratios = times[:, 0] / times[:, 1]
        low, high = median_interval_95(ratios)
        ours_us, theirs_us = 1e6 * np.median(times, axis=0) / 2
        print(f"{size_bytes:>8} {ours_us:10.3f} {theirs_us:10.3f}   {np.median(ratios):.3f} [{low:.3f}, {high:.3f}]")
        if low > 1 + TOLERANCE or high < 1 - TOLERANCE:
            missed.append(size_bytes)
    if missed:
        print(f"not 1.00 ± {TOLERANCE} at {', '.join(map(str, missed))} B", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
