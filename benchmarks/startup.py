"""Start-up, mapping, projection and choosing time of the command line, start-up included.

    python benchmarks/startup.py [--runs 15]

Prints, for each command, the median wall time over runs with its 95 % interval and range, and the bound it is held to.
Commands are taken in turn (A B C A B C ...), so that a slow minute of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from rankwise.statistics import median_interval_95

PROFILE = Path(__file__).parents[1] / "tests" / "python" / "frozen" / "inputs" / "nodes.json"
COMMANDS = {
    "rankwise --version": (["--version"], 0.100),
    "rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor": (
        ["map", "--grid", "50x48", "--nodes", "50", "--ppn", "48", "--stencil", "nearest-neighbor"],
        0.400,
    ),
    "rankwise project fft3d --machine frontier --n 32768 --nodes 4096": (
        ["project", "fft3d", "--machine", "frontier", "--n", "32768", "--nodes", "4096"],
        0.300,
    ),
    "rankwise choose exchange --cutoff 50": (["choose", "exchange", "--cutoff", "50", "--profile", str(PROFILE)], 5.0),
    "rankwise choose exchange --cutoff 50 --ranks 512": (
        ["choose", "exchange", "--cutoff", "50", "--ranks", "512", "--profile", str(PROFILE)],
        5.0,
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    program = shutil.which("rankwise", path=str(Path(sys.executable).parent)) or "rankwise"
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for run in range(runs + 1):
        for name, (arguments, _) in COMMANDS.items():
            start_s = time.perf_counter()
            subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if run > 0:  # the first run fills the file cache
                times[name].append(time.perf_counter() - start_s)
    for name, (_, bound_s) in COMMANDS.items():
        samples = np.array(times[name])
        low, high = median_interval_95(samples)
        print(
            f"{1e3 * np.median(samples):6.1f} ms [{1e3 * low:.1f}, {1e3 * high:.1f}]  "
            f"range {1e3 * samples.min():.1f} … {1e3 * samples.max():.1f}  bound {1e3 * bound_s:.0f} ms  {name}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
