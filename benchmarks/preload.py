"""What the preload does to calls of MPI, beside the MPI's own: neighbour exchanges of subarrays, repeated Cartesian grids.

    python benchmarks/preload.py neighbor [--mpicc mpicc.openmpi --mpiexec "mpiexec.openmpi --oversubscribe"]
    python benchmarks/preload.py creations

Neighbour exchanges: MPI_Neighbor_alltoallw with 26 subarray types as the preload serves it, against the MPI's own: at most half
the time. Both by turns in one run of two ranks, for boxes of n^3 doubles of so many fields; then what a call costs that is left
to MPI: at most 50 ns. Other MPIs than the default are measured and judged by no bar.

Creations: a repeated MPI_Cart_create under the preload, against plain MPI's: at most 2.5 times as long in the median. Plain and
preloaded runs of two ranks on two nodes (MPICH's own make-believe) by turns.

Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import compiled, ended, keep_row, options, ratio, records

from rankwise.launch.mpi import find_mpi
from rankwise.launch.preload import preload_environment
from rankwise.units import format_count

CASES = [f"{n},{fields}" for n in (8, 16, 32, 64) for fields in (1, 4)]
CREATIONS = Path(__file__).parents[1] / "tests" / "python" / "launch" / "preload_creations.c"
MOST = 2.5


def neighbor(given: argparse.Namespace, folder: Path) -> int:
    launcher = find_mpi().launcher_path
    mpiexec = given.mpiexec.split() or [str(launcher)]
    program = compiled(Path(__file__).with_suffix(".c"), folder / "neighbor", given.mpicc or launcher.with_name("mpicc"))
    missed = []

    def run(ranks: str, mode: str, *arguments: str) -> list[dict[str, list[float]]]:
        environment = preload_environment({"RANKWISE_NEIGHBOR": mode, "RANKWISE_VERBOSE": "1"}) | {"UCX_LOG_LEVEL": "error"}
        return records([*mpiexec, "-n", ranks, program, given.repetitions, *arguments], dict(os.environ) | environment)

    for row in run("2", "always", *given.cases):
        ours, own = np.array(row["through_s"]), np.array(row["own_s"])
        gain = ratio(row, "own_s", "through_s")
        print(f"n {row['n']:>3}, {row['fields']} fields: ours {1e6 * ours.min():8.2f} us, MPI's own "
              f"{1e6 * own.min():8.2f} us; {gain.value:.2f} times as fast [{gain.low:.2f}, {gain.high:.2f}]")  # fmt: skip
        what = f"MPI_Neighbor_alltoallw preloaded, {row['n']}^3, {format_count(row['fields'], 'field')}"
        keep_row(what, "the MPI's own", ratio(row, "through_s", "own_s"))
        if gain.value < 2:
            missed.append(f"{row['n']},{row['fields']}")
    (row,) = run("1", "auto", "pass")
    through_ns, own_ns = (1e9 * float(np.median(row[name])) for name in ("through_s", "own_s"))
    more_ns = through_ns - own_ns
    print(f"a call left to MPI, and its wait: {through_ns:.0f} ns, {own_ns:.0f} ns without us: {more_ns:.0f} ns more")
    if more_ns > 50:
        missed.append("pass")
    code = ended(missed, between=" ")
    return 0 if given.mpicc else code


def creations(given: argparse.Namespace, folder: Path) -> int:
    launcher = find_mpi().launcher_path
    two_nodes = {"MPIR_CVAR_NUM_CLIQUES": "2", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    loaded = preload_environment({"RANKWISE_MAPPING": "blocked", "RANKWISE_VERBOSE": "0"}) | two_nodes
    program = compiled(CREATIONS, folder / "creations", launcher.with_name("mpicc"))
    ratios = []

    def run(environment: dict[str, str]) -> float:
        words = [str(launcher), "-n", "2", program, given.creations, "1"]
        return float(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.split()[0])

    for pair in range(given.pairs):
        order = (dict(os.environ) | two_nodes, loaded)
        times = [run(environment) for environment in (order if pair % 2 else order[::-1])]
        plain, ours = times if pair % 2 else times[::-1]
        ratios.append(ours / plain)
        print(f"plain {plain:8.2f} us, preloaded {ours:8.2f} us a creation: {ratios[-1]:.2f}")
    print(f"median {statistics.median(ratios):.2f}, bar {MOST}")
    return 0 if statistics.median(ratios) <= MOST else 1


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("kind", choices=("neighbor", "creations"))
    parser.add_argument("--mpicc", default="")
    parser.add_argument(
        "--mpiexec", default="", help="with its options, as one word; with RANKWISE_MPI=system and its mpicxx on PATH"
    )
    parser.add_argument("--repetitions", default="60")
    parser.add_argument("--cases", nargs="*", default=CASES, help="boxes as n,fields")
    parser.add_argument("--pairs", type=int, default=11, help="of runs with creations")
    parser.add_argument("--creations", default="10000", help="in each run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return (neighbor if given.kind == "neighbor" else creations)(given, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
