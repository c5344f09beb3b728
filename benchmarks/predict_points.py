"""How long 10,000 predictions of an exchange take, from cases to rows.

    python benchmarks/predict_points.py [--runs 5]

The points are the 1-D Shift on 64 ranks, k = 1 to 10, at 1000 sizes, on the ping-pong of werner2023. Prints the median wall
time over runs with its 95 % interval and range, and the bound it is held to.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from rankwise.engines.predict import predict_rows
from rankwise.papers.werner2023_study import ping_pong_profile
from rankwise.statistics import median_interval_95
from rankwise.workloads.exchange import Asked, make_cases

BOUND_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    profile = ping_pong_profile()
    cases = make_cases(Asked(["shift"], ["ssend"], range(1, 11), range(0, 100_000, 100)), [64], [True])
    times = []
    for _ in range(runs):
        start_s = time.perf_counter()
        rows = predict_rows(profile, cases)
        times.append(time.perf_counter() - start_s)
        assert len(rows) == len(cases)
    samples = np.array(times)
    low, high = median_interval_95(samples)
    print(
        f"{np.median(samples):.2f} s [{low:.2f}, {high:.2f}]  range {samples.min():.2f} … {samples.max():.2f}  "
        f"bound {BOUND_S:.2f} s  {len(cases)} points"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
