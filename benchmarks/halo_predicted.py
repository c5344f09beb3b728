"""Halos predicted and run on four nodes in namespaces with shaped links, under either MPI (root needed).

Measures the nodes' links and what packing takes, predicts 5-, 9-, 7- and 27-point halos of three sizes on two and four ranks a
node, runs them direct and axis by axis, and prints the error of each prediction and whether its interval holds the run.

    python benchmarks/halo_predicted.py --rate 10mbit                                      # 20 minutes
    python benchmarks/halo_predicted.py --rate 100mbit --mpi openmpi --congestion cubic    # 15 minutes

Exit code 1 where fewer than 90 % of the runs are within the bar (MPICH: 6 % up to 10 Mbit/s, 10 % above, 15 % with BBR;
Open MPI: 25 %), or a prediction needs more than the link carries.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import time

from harness import busy_s, load, nodes_up, options

# Points of the stencil: its box, whose faces are all alike; edges and corners are in proportion.
STENCILS = {"5-point": ("50x50", "--faces"), "9-point": ("50x50", "--corners"),
            "7-point": ("10x10x10", "--faces"), "27-point": ("10x10x10", "--corners")}  # fmt: skip
GRIDS = {("2d", 2): "4x2", ("2d", 4): "4x4", ("3d", 2): "2x2x2", ("3d", 4): "4x2x2"}
FACES = {"30 kB": 30_000, "100 kB": 100_000, "1 MB": 1_000_000}


def mbit(rate: str) -> float:
    """Return a rate that tc writes as 10mbit or 1gbit."""
    return float(rate.removesuffix("mbit")) if rate.endswith("mbit") else 1e3 * float(rate.removesuffix("gbit"))


def bar_of(mpi: str, congestion: str, rate: str) -> float:
    if mpi == "openmpi":
        return 0.25
    return 0.15 if congestion == "bbr" else 0.06 if mbit(rate) <= 10 else 0.1


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rate", default="100mbit", help="of each node's link, each way, as tc writes it")
    parser.add_argument("--mpi", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument("--congestion", default="reno", help="TCP's congestion control: reno, cubic or bbr")
    parser.add_argument("--frame", type=int, default=1500, help="bytes of a frame")
    parser.add_argument("--queue", type=int, default=100_000, help="frames that wait at each end of a link")
    parser.add_argument("--seconds", type=float, default=60, help="to measure the links")
    parser.add_argument("--run-seconds", type=float, default=4, help="of each run")
    parser.add_argument("--stencils", default=",".join(STENCILS))
    parser.add_argument("--faces", default=",".join(FACES))
    parser.add_argument("--samples", help="where rows are kept, as lines of JSON")
    given = parser.parse_args()
    bar = bar_of(given.mpi, given.congestion, given.rate)
    cases = list(itertools.product(given.stencils.split(","), given.faces.split(","), (2, 4)))
    errors, widths, inside, missed = [], [], 0, []
    with nodes_up(given.rate, frame_bytes=given.frame) as on:
        on.up.use_tcp(given.congestion, given.queue)
        on.more |= on.up.measured_with_open_mpi() if given.mpi == "openmpi" else {}
        hosts = ("--hosts", on.hosts)
        print(f"links of {given.rate} each way, frames and bursts of {given.frame} B, queues of {given.queue} frames; "
              f"{load()}, 8 and 16 ranks, which poll", flush=True)  # fmt: skip
        on.rankwise("measure", *hosts, "--seconds", f"{given.seconds}", "-o", "m.json")
        on.rankwise("measure", "pack", "-o", "m.json")
        profile = json.loads((on.folder / "m.json").read_text())
        print(f"{profile['machine']['mpi']}; sockets: {profile['machine'].get('tcp')}; shared: {profile['shared']}")
        for stencil, face, ranks_per_node in cases:
            box, corners = STENCILS[stencil]
            cells = 50 if box == "50x50" else 100
            grid = GRIDS["2d" if cells == 50 else "3d", ranks_per_node]
            asked = ("halo", "--grid", grid, "--box", box, "--fields", f"1x{FACES[face] // cells}", corners,
                     "--ranks-per-node", f"{ranks_per_node}")  # fmt: skip
            before_s, began_s = busy_s(), time.monotonic()
            ran = on.asked("run", *asked, *hosts, "--seconds", f"{given.run_seconds}")["rows"]
            busy_share = (busy_s() - before_s) / (time.monotonic() - began_s) / (os.cpu_count() or 1)
            for row, was in zip(on.asked("predict", *asked, "--profile", "m.json")["rows"], ran, strict=True):
                assert row["algorithm"] == was["algorithm"]
                error = row["time_s"] / was["time_s"] - 1
                holds = row["time_lo_s"] <= was["time_s"] <= row["time_hi_s"]
                errors.append(error)
                widths.append((row["time_hi_s"] / row["time_lo_s"]) ** 0.5 - 1)
                inside += holds
                sent_mbit = 8e-6 * row["busiest"]["size_bytes"] / row["time_s"] if row["busiest"] else 0.0
                name = f"{stencil} {face} {ranks_per_node} {row['algorithm']}"
                missed += [name] * (row["busiest"]["resource"].startswith("card") and sent_mbit > mbit(given.rate))
                print(f"{stencil:<9} {face:>6} x{ranks_per_node} {row['algorithm']:<7} measured {1e3 * was['time_s']:8.1f} ms, "
                      f"predicted {1e3 * row['time_s']:8.1f} ({1e3 * row['time_lo_s']:.1f}-{1e3 * row['time_hi_s']:.1f}) ms: "
                      f"{100 * error:+6.1f} %{'' if holds else ' outside'}, busiest {row['busiest']['resource']} "
                      f"{sent_mbit:.2f} Mbit/s, processors {100 * busy_share:.0f} %", flush=True)  # fmt: skip
                if given.samples:
                    with open(given.samples, "a") as file:
                        what = {"mpi": given.mpi, "congestion": given.congestion, "rate": given.rate, "case": name}
                        print(json.dumps({**what, "predicted": row, "run": was}), file=file)
    within = sum(abs(error) <= bar for error in errors)
    print(f"{within} of {len(errors)} within {100 * bar:g} %, median {100 * statistics.median(map(abs, errors)):.1f} %, "
          f"signed {100 * statistics.median(errors):+.1f} %; {inside} inside intervals of median ±"
          f"{100 * statistics.median(widths):.0f} %; faster than the wire: {missed or 'none'}")  # fmt: skip
    return 1 if missed or within < 0.9 * len(errors) else 0


if __name__ == "__main__":
    sys.exit(main())
