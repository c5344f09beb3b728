#!/usr/bin/env python3
"""Campaigns between two nodes whose link has a known rate: does each come to its end, and what does it find?

Nodes are network namespaces (root, ip, tc; tests/python/cluster/nodes.py). For each rate, time and number of sizes one
``rankwise measure``, then a table: launches, the card's rate and that of the ping-pong's slope with their intervals, each
against the rate that the kernel keeps.

    benchmarks/slow_links.py --rates 10,100,1000 --seconds 10,30 --sizes 5,13,40
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/python/cluster"))
from nodes import Nodes

SIZES = {5: "0,8,1kB,64kB,1MiB", 13: "0,1,8,64,256,1kB,4kB,16kB,64kB,128kB,256kB,512kB,1MiB", 40: None}
BAR = 0.03


def campaign(cable: Nodes, folder: Path, seconds: float, sizes: int) -> tuple[int, float, str]:
    """Measure once; return exit code, how long it took, and what it said."""
    words = [sys.executable, "-m", "rankwise", "measure", "--seconds", f"{seconds:g}", "--hosts", ",".join(cable.hosts),
             "--links", "other-node", "-o", "m.json"]  # fmt: skip
    if (some := SIZES[sizes]) is not None:
        words += ["--sizes", some]
    begun_s = time.monotonic()
    environment = {**cable.environment(), "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}  # four ranks may share two processors
    done = subprocess.run(
        cable.command(cable.hosts[0], words), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, time.monotonic() - begun_s, done.stderr


def figure(bytes_per_s: float, interval: tuple[float, float] | None, truth: float) -> str:
    """Return a rate in MB/s, its error and interval, and whether that is within the bar or holds the truth."""
    error = bytes_per_s / truth - 1
    holds = interval is not None and interval[0] <= truth <= interval[1]
    ends = f"{interval[0] / 1e6:.2f}..{interval[1] / 1e6:.2f}" if interval else "-"
    return f"{bytes_per_s / 1e6:8.3f} {100 * error:+6.1f} %  {ends:>16}  {'ok' if abs(error) <= BAR else 'holds' if holds else 'MISSES':6}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="10,100,1000", help="of the link, in Mbit/s")
    parser.add_argument("--seconds", default="10,30")
    parser.add_argument("--sizes", default="5,13,40")
    options = parser.parse_args()
    print("Mbit/s     s sizes  rc  wall launches largest |  card MB/s  error          95 %                |  slope MB/s  error         95 %", flush=True)
    failed = 0
    for rate in map(int, options.rates.split(",")):
        for seconds in map(float, options.seconds.split(",")):
            for sizes in map(int, options.sizes.split(",")):
                with Nodes(f"{rate}mbit", frame_bytes=4500) as cable, tempfile.TemporaryDirectory() as folder:
                    code, wall_s, said = campaign(cable, Path(folder), seconds, sizes)
                    begin = f"{rate:6} {seconds:5.0f} {sizes:5} {code:3} {wall_s:5.1f}"
                    if code != 0:
                        failed += 1
                        print(f"{begin} {said.strip().splitlines()[-1]}", flush=True)
                        continue
                    profile = json.loads((Path(folder) / "m.json").read_text())
                link, card = profile["links"]["other-node"], profile["shared"].get("card")
                truth, ci = rate * 1e6 / 8, link["beta_ci_s_per_byte"]
                slope = (1 / ci[1], 1 / ci[0] if ci[0] > 0 else float("inf")) if ci and ci[1] > 0 else None
                at_once = "none".ljust(42) if card is None else figure(card["bytes_per_s"], card["ci"], truth)
                beta = link["beta_s_per_byte"]
                largest = link["table"][-1]["size_bytes"]
                print(
                    f"{begin} {profile['source']['launches']:8} {largest:7} | {at_once} | "
                    + (figure(1 / beta, slope, truth) if beta > 0 else "none"), flush=True,
                )  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
