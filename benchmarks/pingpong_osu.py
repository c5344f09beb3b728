"""Our ping-pong beside a loop like OSU's osu_latency, taken in turn on the same ranks: same size, same estimator.

For each size: the median round trip of both over all repetitions, and the median over repetitions of the ratio of their
medians with its 95 % interval by order statistics. Exits with 1 when at any size the whole interval lies outside 1.00 ± 0.05.

    cmake --build build/cpp --target pingpong_osu
    python benchmarks/pingpong_osu.py --mpiexec mpiexec build/cpp/tests/cpp/pingpong_osu [--repetitions 40] [--cpus 0,1]
"""

from __future__ import annotations

import sys

import numpy as np
from harness import ended, keep_row, median, options, records

TOLERANCE = 0.05


def main() -> int:
    parser = options(__doc__, program=True)
    parser.add_argument("--repetitions", default="40")
    parser.add_argument("--cpus", default="0,1")
    arguments = parser.parse_args()
    command = [*arguments.mpiexec.split(), "-n", "2", arguments.program, arguments.repetitions, *arguments.cpus.split(",")]
    medians: dict[int, list[tuple[float, float]]] = {}
    for record in records(command):
        pair = float(np.median(record["ours_s"])), float(np.median(record["osu_like_s"]))
        medians.setdefault(record["size_bytes"], []).append(pair)
    print(f"{arguments.repetitions} repetitions of 200 round trips each, in turn; one-way times")
    print(f"{'bytes':>8} {'ours us':>10} {'like OSU':>10}   ratio of medians")
    missed = []
    for size_bytes, pairs in medians.items():
        times = np.array(pairs)
        ratio = median(times[:, 0] / times[:, 1])
        ours_us, theirs_us = 1e6 * np.median(times, axis=0) / 2
        keep_row(f"ping-pong, {size_bytes} B", "a loop as osu_latency has it", ratio)
        print(f"{size_bytes:>8} {ours_us:10.3f} {theirs_us:10.3f}   {ratio}")
        if ratio.low > 1 + TOLERANCE or ratio.high < 1 - TOLERANCE:
            missed.append(size_bytes)
    return ended(missed, f"not 1.00 ± {TOLERANCE} at {{}} B")


if __name__ == "__main__":
    sys.exit(main())
