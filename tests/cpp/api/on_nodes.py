"""Runs a program's ranks on four nodes that share nothing but a network (nodes.py): equal and unequal, block and cyclic.

Exits 77 where there can be no nodes, and says why.
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "cluster"))

import nodes

SKIPPED = 77
# How the launcher is told (a host list's ending for each host, and its other words), and the node of each rank then.
PLACEMENTS = {
    "blocked": (["", "", "", ""], ["-ppn", "2"], "0,0,1,1,2,2,3,3"),
    "cyclic": (["", "", "", ""], ["-ppn", "1"], "0,1,2,3,0,1,2,3"),
    "unequal": ([":3", ":1", ":2", ":2"], [], "0,0,0,1,2,2,3,3"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if (reason := nodes.why_not()) is not None:
        print(reason)
        return SKIPPED
    with nodes.Nodes("1gbit", nodes.FOUR) as network:
        for name, (endings, options, node_of_rank) in PLACEMENTS.items():
            hosts = ",".join(map("".join, zip(network.hosts, endings, strict=True)))
            print(f"{name}: {node_of_rank}", flush=True)
            words = ["env", f"RANKWISE_TEST_NODES={node_of_rank}", arguments.mpiexec, "-hosts", hosts, *options]
            words += ["-n", "8", *arguments.command]
            code = subprocess.run(
                network.command(network.hosts[0], words), env=network.environment(), timeout=200, check=False
            ).returncode
            if code != 0:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
