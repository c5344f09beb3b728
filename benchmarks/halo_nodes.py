"""Few messages between nodes, simulated: 8 nodes of 16 ranks, all 26 neighbours get a block of equal size (halo_nodes.cpp).

    python benchmarks/halo_nodes.py [--sizes 64 1024 16384] [--auto]

The platform and SimGrid's factors by size are those of halo_auto.py: small messages use a full link badly there. Bars: two-step, or
whatever else, gains 1.9 over direct with blocks of 1 KiB; --auto: that is within 5 % of the best (its trial takes a quarter of an hour).
Exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import json
import sys

from halo_auto import simulated

_WAYS = ("direct", "two-step", "three-step", "leader")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=["64", "1024", "16384"], help="bytes of a block")
    parser.add_argument("--auto", action="store_true")
    given = parser.parse_args()
    missed = []
    for line in simulated("8x16", [*(["auto"] if given.auto else []), *given.sizes], "halo_nodes.cpp").splitlines():
        row = json.loads(line)
        gains = {name: row["direct"] / row[name] for name in (*_WAYS, "auto") if name in row}
        shown = ", ".join(f"{name} {1e6 * row[name]:.1f} us ({gain:.2f})" for name, gain in gains.items())
        print(f"{row['bytes']:>6} B: {shown}" + (f"; auto took {row['taken']}" if "taken" in row else ""))
        if row["bytes"] == 1024 and max(gains.values()) < 1.9:
            missed.append("gain at 1 KiB")
        if gains.get("auto", 1e9) < 0.95 * max(gains.values()):
            missed.append(f"auto at {row['bytes']} B")
    if missed:
        print(f"missed: {', '.join(missed)}", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
