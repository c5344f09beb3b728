"""Predicted and run on four nodes in namespaces with shaped links: halos, under either MPI, and exchanges (root needed).

    python benchmarks/predicted_on_nodes.py halo --rate 10mbit                                      # 20 minutes
    python benchmarks/predicted_on_nodes.py halo --rate 100mbit --mpi openmpi --congestion cubic    # 15 minutes
    python benchmarks/predicted_on_nodes.py exchange                                                # three minutes

The links are measured first, on the same nodes; then each case is run and predicted, and its error printed, and whether its
interval holds the run. Bandwidth decides, so that ranks may share two cores as long as nothing else runs on them.

Halos: 5-, 9-, 7- and 27-point ones of three sizes on two and four ranks a node, direct and axis by axis, of what packing takes
as measured. Exit code 1 where fewer than 90 % of the runs are within the bar (MPICH: 6 % up to 10 Mbit/s, 10 % above, 15 % with
BBR; Open MPI: 25 %), or a prediction needs more than the link carries.

Exchanges: blocks of 400 kB on 8 and 16 ranks, blocked and cyclic. Exit code 1 where the median error is above 5 %, the largest
above 20 %, or fewer than 11 of 12 are within 10 %. Their frames are those of 9000 B, sent one by one: a shaper lets one pass at
once after a pause, and seven sent as one would be a part of what short measurements count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator

import numpy as np
from harness import Table, busy_s, load, nodes_up, options

# Points of the stencil: its box, whose faces are all alike; edges and corners are in proportion.
STENCILS = {"5-point": ("50x50", "--faces"), "9-point": ("50x50", "--corners"),
            "7-point": ("10x10x10", "--faces"), "27-point": ("10x10x10", "--corners")}  # fmt: skip
GRIDS = {("50x50", 2): "4x2", ("50x50", 4): "4x4", ("10x10x10", 2): "2x2x2", ("10x10x10", 4): "4x2x2"}
FACES = {"30 kB": 30_000, "100 kB": 100_000, "1 MB": 1_000_000}
# Of exchanges: ranks, their grid, whether it wraps around, a cutoff.
EXCHANGES = ((8, "1", "all", 2), (16, "4x4", "all", 1), (16, "4x4", "none", 1))


def halos(given: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield cases: a name, and what rankwise is asked."""
    for stencil in given.stencils.split(","):
        box, corners = STENCILS[stencil]
        for face in given.faces.split(","):
            fields = f"1x{FACES[face] // (50 if box == '50x50' else 100)}"
            for each in (2, 4):
                words = ["halo", "--grid", GRIDS[box, each], "--box", box, "--fields", fields, corners]
                yield f"{stencil:<9} {face:>6} x{each}", [*words, "--ranks-per-node", f"{each}"]


def exchanges(given: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    for ranks, grid, periodic, cutoff in EXCHANGES:
        for where in ("blocked", "cyclic"):
            words = ["exchange", "--algorithm", "direct,shift,comb", "--mode", given.mode, "--bytes", "400000", "--dims", grid,
                     "--periodic", periodic, "--cutoff", f"{cutoff}", "--placement", where]  # fmt: skip
            name = f"{grid:<4} periodic {periodic:<5} k = {cutoff} {where:<8}"
            yield name, [*words, "--ranks", f"{ranks}", "--ranks-per-node", f"{ranks // 4}"]


def mbit(rate: str) -> float:
    """Return a rate that tc writes as 10mbit or 1gbit."""
    return float(rate.removesuffix("mbit")) if rate.endswith("mbit") else 1e3 * float(rate.removesuffix("gbit"))


def bar_of(mpi: str, congestion: str, rate: str) -> float:
    if mpi == "openmpi":
        return 0.25
    return 0.15 if congestion == "bbr" else 0.06 if mbit(rate) <= 10 else 0.1


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("kind", choices=("halo", "exchange"))
    parser.add_argument("--rate", default="100mbit", help="of each node's link, each way, as tc writes it")
    parser.add_argument("--mpi", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument("--congestion", default="reno", help="TCP's congestion control: reno, cubic or bbr")
    parser.add_argument("--frame", type=int, help="bytes of a frame")
    parser.add_argument("--queue", type=int, help="frames that wait at each end of a link")
    parser.add_argument("--seconds", type=float, help="to measure the links")
    parser.add_argument("--run-seconds", type=float, help="of each run")
    parser.add_argument("--stencils", default=",".join(STENCILS), help="of halos")
    parser.add_argument("--faces", default=",".join(FACES), help="of halos")
    parser.add_argument("--mode", default="isend", help="how messages of exchanges are sent: ssend,send,isend")
    parser.add_argument("--samples", help="where rows are kept, as lines of JSON")
    usual = {"halo": {"frame": 1500, "queue": 100_000, "seconds": 60, "run_seconds": 4},
             "exchange": {"frame": 9000, "queue": None, "seconds": 40, "run_seconds": 9}}  # fmt: skip
    parser.set_defaults(**usual.get(parser.parse_args().kind, {}))
    given = parser.parse_args()
    is_halo = given.kind == "halo"
    errors, widths, inside, too_fast = [], [], [], []
    with nodes_up(given.rate, frame_bytes=given.frame) as on:
        on.up.use_tcp(given.congestion, given.queue)
        on.more |= on.up.measured_with_open_mpi() if given.mpi == "openmpi" else {}
        hosts = ("--hosts", on.hosts)
        print(f"links of {given.rate} each way, frames and bursts of {given.frame} B; {load()}", flush=True)
        on.rankwise("measure", *hosts, "--seconds", f"{given.seconds}", "-o", "m.json")
        if is_halo:
            on.rankwise("measure", "pack", "-o", "m.json")
        profile = json.loads((on.folder / "m.json").read_text())
        print(f"{profile['machine']['mpi']}; sockets: {profile['machine'].get('tcp')}; shared: {profile['shared']}")
        for case, asked in (halos if is_halo else exchanges)(given):
            before_s, began_s = busy_s(), time.monotonic()
            ran = on.asked("run", *asked, *hosts, "--seconds", f"{given.run_seconds}")["rows"]
            busy_share = (busy_s() - before_s) / (time.monotonic() - began_s) / (os.cpu_count() or 1)
            for row, was in zip(on.asked("predict", *asked, "--profile", "m.json")["rows"], ran, strict=True):
                name = f"{case} {row['algorithm']:<7} {row.get('mode', '')}"
                assert (row["algorithm"], row.get("mode")) == (was["algorithm"], was.get("mode"))
                low_s, high_s = row["time_lo_s"], row["time_hi_s"]
                errors.append(row["time_s"] / was["time_s"] - 1)
                widths.append((high_s / low_s) ** 0.5 - 1)
                inside.append(low_s <= was["time_s"] <= high_s)
                busiest = row["busiest"] or {"resource": "none", "size_bytes": 0}
                sent_mbit = 8e-6 * busiest["size_bytes"] / row["time_s"]
                too_fast += [name] * (busiest["resource"].startswith("card") and sent_mbit > mbit(given.rate))
                held = "" if inside[-1] else " outside"
                print(f"{name} measured {1e3 * was['time_s']:8.1f} ms, predicted {1e3 * row['time_s']:8.1f} "
                      f"({1e3 * low_s:.1f}-{1e3 * high_s:.1f}) ms: {100 * errors[-1]:+6.1f} %{held}, busiest "
                      f"{busiest['resource']} {sent_mbit:.2f} Mbit/s, processors {busy_share:.0%}", flush=True)  # fmt: skip
                if given.samples:
                    with open(given.samples, "a") as file:
                        what = {"mpi": given.mpi, "congestion": given.congestion, "rate": given.rate, "case": name}
                        print(json.dumps({**what, "predicted": row, "run": was}), file=file)
    table, bar = Table(), bar_of(given.mpi, given.congestion, given.rate) if is_halo else 0.1
    table.title(f"{len(errors)} runs, absolute error; faster than the wire: {', '.join(too_fast) or 'none'}")
    table.errors(errors, (50, None if is_halo else 5), (100, None if is_halo else 20))
    table.row(f"within {bar:.0%}", 100 * float(np.mean(np.abs(errors) <= bar)), least=90 if is_halo else 100 * 11 / 12)
    table.row("signed, median", 100 * float(np.median(errors)))
    table.row("inside their intervals", 100 * float(np.mean(inside)))
    table.row("half width of the interval, median", 100 * float(np.median(widths)))
    return 1 if table.missed or (is_halo and too_fast) else 0


if __name__ == "__main__":
    sys.exit(main())
