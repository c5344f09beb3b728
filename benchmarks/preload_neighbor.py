"""MPI_Neighbor_alltoallw with 26 subarray types as the preload serves it, against the MPI's own: at most half the time.

    python benchmarks/preload_neighbor.py [--mpicc mpicc.openmpi --mpiexec "mpiexec.openmpi --oversubscribe"]

Both by turns in one run of two ranks, for boxes of n^3 doubles of so many fields; then what a call costs that is left to MPI:
at most 50 ns. Exit code 1 where a bar is missed. Other MPIs than the default are measured and judged by no bar.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import compiled, ended, keep_row, options, ratio, records

from rankwise.launch.mpi import find_mpi
from rankwise.launch.preload import preload_environment
from rankwise.units import format_count

CASES = [f"{n},{fields}" for n in (8, 16, 32, 64) for fields in (1, 4)]


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--mpicc", default="")
    parser.add_argument(
        "--mpiexec", default="", help="with its options, as one word; with RANKWISE_MPI=system and its mpicxx on PATH"
    )
    parser.add_argument("--repetitions", default="60")
    parser.add_argument("--cases", nargs="*", default=CASES)
    o = parser.parse_args()
    mpi = find_mpi()
    mpicc, mpiexec = o.mpicc or str(mpi.launcher_path.parent / "mpicc"), o.mpiexec.split() or [str(mpi.launcher_path)]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(__file__).with_suffix(".c"), Path(folder) / "neighbor", mpicc)

        def run(ranks: str, mode: str, *arguments: str) -> list[dict[str, list[float]]]:
            environment = preload_environment({"RANKWISE_NEIGHBOR": mode, "RANKWISE_VERBOSE": "1"}) | {"UCX_LOG_LEVEL": "error"}
            return records([*mpiexec, "-n", ranks, program, o.repetitions, *arguments], dict(os.environ) | environment)

        for row in run("2", "always", *o.cases):
            ours, own = np.array(row["through_s"]), np.array(row["own_s"])
            gain = ratio(row, "own_s", "through_s")
            print(f"n {row['n']:>3}, {row['fields']} fields: ours {1e6 * ours.min():8.2f} us, MPI's own "
                  f"{1e6 * own.min():8.2f} us; {gain.value:.2f} times as fast [{gain.low:.2f}, {gain.high:.2f}]")  # fmt: skip
            what = f"MPI_Neighbor_alltoallw preloaded, {row['n']}^3, {format_count(row['fields'], 'field')}"
            keep_row(what, "the MPI's own", ratio(row, "through_s", "own_s"))
            if gain.value < 2:
                missed.append(f"{row['n']},{row['fields']}")
        (row,) = run("1", "auto", "pass")
        through, own = np.median(row["through_s"]), np.median(row["own_s"])
        print(
            f"a call left to MPI, and its wait: {1e9 * through:.0f} ns, {1e9 * own:.0f} ns without us: "
            f"{1e9 * (through - own):.0f} ns more"
        )
        if through - own > 50e-9:
            missed.append("pass")
    code = ended(missed, between=" ")
    return 0 if o.mpicc else code


if __name__ == "__main__":
    sys.exit(main())
