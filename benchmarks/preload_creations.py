"""What a repeated MPI_Cart_create costs under the preload, beside plain MPI's: at most 2.5 times as much.

    python benchmarks/preload_creations.py [--pairs 11] [--creations 10000]

Plain and preloaded runs of two ranks on two nodes (MPICH's own make-believe) by turns; prints the median of the pairs' ratios.
Exit code 1 above 2.5.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import compiled, options

from rankwise.launch.mpi import find_mpi
from rankwise.launch.preload import preload_environment

SOURCE = Path(__file__).parents[1] / "tests" / "python" / "launch" / "preload_creations.c"
MOST = 2.5


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--creations", default="10000")
    given = parser.parse_args()
    mpi = find_mpi()
    two_nodes = {"MPIR_CVAR_NUM_CLIQUES": "2", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    loaded = preload_environment({"RANKWISE_MAPPING": "blocked", "RANKWISE_VERBOSE": "0"}) | two_nodes
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(SOURCE, Path(folder) / "creations", mpi.launcher_path.with_name("mpicc"))

        def run(environment: dict[str, str]) -> float:
            words = [str(mpi.launcher_path), "-n", "2", program, given.creations, "1"]
            return float(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.split()[0])

        for pair in range(given.pairs):
            order = (dict(os.environ) | two_nodes, loaded)
            times = [run(environment) for environment in (order if pair % 2 else order[::-1])]
            plain, ours = times if pair % 2 else times[::-1]
            ratios.append(ours / plain)
            print(f"plain {plain:8.2f} us, preloaded {ours:8.2f} us a creation: {ratios[-1]:.2f}")
    print(f"median {statistics.median(ratios):.2f}, bar {MOST}")
    return 0 if statistics.median(ratios) <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
