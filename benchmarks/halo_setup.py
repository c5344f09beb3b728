"""What it takes to set up the halo of a box on 4,096 simulated ranks, and whether anything grows with the ranks.

    python benchmarks/halo_setup.py [--sizes 4x16 32x16 256x16]      # nodes x ranks

The library as it is, under SimGrid, with the platform of halo_auto.py; grids of 27 neighbours. Of each algorithm the simulated
time of rankwise_halo_create on the slowest rank (bar: 2 s with 4,096 ranks), and the memory that the library then holds for a
rank, without MPI's own (bar: with 4,096 ranks at most a tenth more than with 64). Exit code 1 where a bar is missed. The last
size takes some minutes.
"""

from __future__ import annotations

import sys

from halo_auto import simulated
from harness import ended, options

_MOST_S = 2.0
_MOST_GROWTH = 1.1


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--sizes", nargs="*", default=["4x16", "32x16", "256x16"], help="nodes x ranks, ascending")
    parser.add_argument("--edge", default="4", help="cells of a box")
    given = parser.parse_args()
    missed, first = [], {}
    for size in given.sizes:
        for row in simulated(size, [given.edge], "halo_setup.c", "halo_held.cpp"):
            kilobytes = row["memory_bytes"] / row["ranks"] / 1e3
            least = first.setdefault(row["algorithm"], kilobytes)
            print(f"{row['ranks']:>5} ranks  {row['algorithm']:<10}  create {1e3 * row['create_s']:8.3f} ms  "
                  f"memory {kilobytes:7.1f} kB a rank", flush=True)  # fmt: skip
            if row["create_s"] > _MOST_S or kilobytes > _MOST_GROWTH * least:
                missed.append(f"{row['ranks']} {row['algorithm']}")
    return ended(missed)


if __name__ == "__main__":
    sys.exit(main())
