"""What a better placement saves for real: a halo exchange on four nodes in namespaces whose links are shaped (root needed).

Measures the link classes, then runs the exchange on a 4x4 grid with ranks placed blocked, cyclic, and as ``rankwise map``
recommends, and prints the measured speed-up beside the predicted one.

    python benchmarks/placement_gain.py --rate 1gbit --bytes 300kB
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from harness import OnNodes, options, require_nodes

from nodes import Nodes


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rate", default="1gbit", help="of each node's link, each way, as tc writes it")
    parser.add_argument("--bytes", default="300kB", help="of one block")
    parser.add_argument("--seconds", type=float, default=40, help="to measure the links")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each placement, taken in turns")
    given = parser.parse_args()
    require_nodes()
    with tempfile.TemporaryDirectory() as folder, Nodes(given.rate, ("n1", "n2", "n3", "n4"), batches=True) as four:
        rankwise = OnNodes(four, folder).rankwise
        hosts = ",".join(four.hosts)
        measuring = ["--hosts", ",".join(four.hosts[:2]), "--launches", "1", "--seconds", f"{given.seconds}",
                     "--precision", "0.9"]  # fmt: skip
        rankwise(
            "measure", "one-to-all", "--sizes", "0,300kB,500kB,900kB", "--statistic", "minimum", "-o", "m.json", *measuring
        )
        rankwise("measure", "pairs", "--links", "other-node", "--sizes", "0,8kB,30kB", "-o", "pairs.json", *measuring)
        profile = json.loads(Path(folder, "m.json").read_text())
        links = profile["links"]
        # The links from large messages; what all ranks of a node can send together from many small ones in flight.
        profile["shared"] |= json.loads(Path(folder, "pairs.json").read_text())["shared"]
        Path(folder, "m.json").write_text(json.dumps(profile))
        print(f"links shaped to {given.rate} each way; load {os.getloadavg()[0]:.1f}")
        for name, link in links.items():
            print(f"{name}: alpha {1e6 * link['alpha_s']:.1f} us, {8e-6 / link['beta_s_per_byte']:.0f} Mbit/s")
        print(f"a node's ranks together: {8e-6 * profile['shared']['card']['bytes_per_s']:.0f} Mbit/s")
        mapping = rankwise("map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--stencil", "moore:1",
                           "--format", "slurm-hostfile", "--hosts", hosts)  # fmt: skip
        Path(folder, "recommended").write_text(mapping)
        grid = ["--algorithm", "direct", "--mode", "isend", "--dims", "4x4", "--cutoff", "1", "--periodic", "none",
                "--bytes", given.bytes, "--json"]  # fmt: skip
        placements = ("blocked", "cyclic", "recommended")
        predicted = {
            placement: json.loads(
                rankwise("predict", "exchange", *grid, "--profile", "m.json", "--ranks-per-node", "4", "--placement", placement)
            )["rows"][0]["time_s"]
            for placement in placements
        }
        measured: dict[str, list[float]] = {placement: [] for placement in placements}
        for _ in range(given.rounds):
            for placement in placements:
                row = json.loads(
                    rankwise("run", "exchange", *grid, "--hosts", hosts, "--placement", placement, "--seconds", "2")
                )
                measured[placement].append(row["rows"][0]["time_s"])
        print(
            f"{'placement':<12} {'predicted, ms':>14} {'measured, ms (median of each run)':>36} {'speed-up predicted':>20} "
            f"{'measured':>9}"
        )
        middle = {placement: sorted(times)[len(times) // 2] for placement, times in measured.items()}
        for placement in placements:
            print(
                f"{placement:<12} {1e3 * predicted[placement]:>14.1f} "
                f"{', '.join(f'{1e3 * t:.1f}' for t in measured[placement]):>36} "
                f"{predicted['blocked'] / predicted[placement]:>20.2f} {middle['blocked'] / middle[placement]:>9.2f}"
            )


if __name__ == "__main__":
    main()
