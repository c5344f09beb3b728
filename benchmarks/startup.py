"""Start-up, mapping, projection and choosing time of the command line, start-up included; and of many predictions.

    python benchmarks/startup.py [--runs 15]

Prints, for each command, the median wall time over runs with its 95 % interval and range, and the bound it is held to.
Commands are taken in turn (A B C A B C ...), so that a slow minute of the machine falls on all of them. Then the same of
10,000 predictions of an exchange, from cases to rows: the 1-D Shift on 64 ranks, k = 1 to 10, at 1000 sizes, on the ping-pong
of werner2023.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import median, options

PROFILE = Path(__file__).parents[1] / "tests" / "python" / "frozen" / "inputs" / "nodes.json"
BOUNDS_S = {
    "--version": 0.1,
    "map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor": 0.4,
    "project fft3d --machine frontier --n 32768 --nodes 4096": 0.3,
    f"choose exchange --cutoff 50 --profile {PROFILE}": 5.0,
    f"choose exchange --cutoff 50 --ranks 512 --profile {PROFILE}": 5.0,
}


def time_s(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def show(name: str, times_s: list[float], bound_s: float) -> None:
    samples = 1e3 * np.array(times_s)
    print(f"{median(samples)} ms  range {samples.min():.1f} … {samples.max():.1f}  bound {1e3 * bound_s:.0f} ms  {name}")


def predictions() -> Callable[[], object]:
    """Return what makes 10,000 predictions."""
    from rankwise.engines.predict import predict_rows
    from rankwise.papers.werner2023_study import ping_pong_profile
    from rankwise.workloads.exchange import Asked, make_cases

    profile = ping_pong_profile()
    cases = make_cases(Asked(["shift"], ["ssend"], range(1, 11), range(0, 100_000, 100)), [64], [True])
    return lambda: predict_rows(profile, cases)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    program = shutil.which("rankwise", path=str(Path(sys.executable).parent)) or "rankwise"
    times_s: dict[str, list[float]] = {words: [] for words in BOUNDS_S}
    for run in range(runs + 1):
        for words, times in times_s.items():
            took_s = time_s(lambda words=words: subprocess.run([program, *words.split()], check=True, capture_output=True))
            if run > 0:  # the first run fills the file cache
                times.append(took_s)
    for words, times in times_s.items():
        show(f"rankwise {words}", times, BOUNDS_S[words])
    predicted = predictions()
    show("10,000 predictions", [time_s(predicted) for _ in range(runs)], 1.0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
