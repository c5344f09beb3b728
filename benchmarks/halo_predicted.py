"""Halos with unequal faces, predicted and measured on shaped links: eight ranks on four nodes in namespaces (root needed).

Measures the links and what packing takes, predicts and runs CoMD-like faces of three sizes, and boxes with fields, direct and
axis by axis, by turns; prints the error of each prediction. Exit code 1 where a face's is beyond 15 %.

    python benchmarks/halo_predicted.py --rate 1gbit
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile

from harness import OnNodes, options, require_nodes

from nodes import Nodes

BAR = 0.15
CASES = (
    ("2x2x2", "--halo", "49kB,70kB,100kB"),
    ("2x2x2", "--halo", "152kB,95kB,356kB"),
    ("4x2x1", "--halo", "49kB,70kB,100kB"),
    ("2x2x2", "--box", "64x64x32", "--width", "2", "--fields", "3x8"),
    ("2x2x2", "--box", "32x32x32", "--fields", "1x8"),
    ("2x2x2", "--box", "64x64x32", "--width", "2", "--fields", "3x8", "--faces", "--periodic", "none"),
)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rate", default="1gbit", help="of each node's link, each way, as tc writes it")
    parser.add_argument("--seconds", type=float, default=20, help="to measure the links")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each case, taken in turns")
    given = parser.parse_args()
    require_nodes()
    with tempfile.TemporaryDirectory() as folder, Nodes(given.rate, ("n1", "n2", "n3", "n4")) as four:
        rankwise = OnNodes(four, folder).rankwise
        measuring = ["--hosts", ",".join(four.hosts[:2]), "--seconds", f"{given.seconds}"]
        rankwise("measure", "--sizes", "0,8kB,30kB,100kB,300kB,900kB", "-o", "m.json", *measuring)
        rankwise("measure", "pack", "-o", "m.json")
        print(f"links shaped to {given.rate} each way; load {os.getloadavg()[0]:.1f}")
        measured: dict[tuple[str, str], list[float]] = {}
        predicted: dict[tuple[str, str], float] = {}
        placed = ("--hosts", ",".join(four.hosts))
        for turn in range(given.rounds):
            for grid, *shape in CASES:
                asked = ("halo", "--grid", grid, *shape, "--json")
                if turn == 0:
                    for row in json.loads(rankwise("predict", *asked, "--profile", "m.json", "--ranks-per-node", "2"))["rows"]:
                        predicted[" ".join((grid, *shape)), row["algorithm"]] = row["time_s"]
                for row in json.loads(rankwise("run", *asked, *placed, "--ranks-per-node", "2", "--seconds", "1"))["rows"]:
                    measured.setdefault((" ".join((grid, *shape)), row["algorithm"]), []).append(row["time_s"])
        missed = 0
        for (case, route), time_s in predicted.items():
            median_s = statistics.median(measured[case, route])
            error = time_s / median_s - 1
            missed += abs(error) > BAR and "--halo" in case
            print(
                f"{case:<70} {route:<7} predicted {1e3 * time_s:8.3f} ms, measured {1e3 * median_s:8.3f} ms: "
                f"{100 * error:+.1f} %"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
