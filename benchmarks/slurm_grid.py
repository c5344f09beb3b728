#!/usr/bin/env python3
"""Measured and predicted on a real Slurm: four nodes in namespaces whose links have a known rate (root, Slurm, munge).

    python benchmarks/slurm_grid.py                                        # about an hour
    python benchmarks/slurm_grid.py --rates 100 --seconds 30 --sizes 13    # a few minutes

For each rate, time and number of sizes one ``slurm submit measure`` on two nodes: what the card and the ping-pong's slope come
to, against the rate that the kernel keeps less the headers of frames. Then a halo of blocks of 400 kB on 4x2 and 4x4 ranks,
blocked, cyclic and as ``rankwise map`` recommends: what the profile of a campaign over all four nodes predicts, beside what
is run by turns in one allocation. Links decide there, so that ranks may share processors: see the load. Exit 1 where a bar is
missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from harness import load, options

import slurm_cluster
from slurm_cluster import Slurm

SIZES = {5: "0,8,1kB,64kB,1MiB", 13: "0,1,8,64,256,1kB,4kB,16kB,64kB,128kB,256kB,512kB,1MiB", 40: None}
RATE_BAR, TIME_BAR = 0.03, 0.1
PAYLOAD = 0.9926  # of what crosses in frames of 9000 B; the rest is headers
ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL")
PLACEMENTS = ("blocked", "cyclic", "recommended")


def rankwise(cluster: Slurm, folder: Path, *words: str, before: tuple[str, ...] = (), timeout_s: float = 600) -> str:
    done = cluster.run(*before, sys.executable, "-m", "rankwise", *words, cwd=folder, timeout_s=timeout_s)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def measure(cluster: Slurm, folder: Path, nodes: int, seconds: float, sizes: int) -> dict:
    """Measure as a job; return the profile."""
    some = [] if SIZES[sizes] is None else ["--sizes", str(SIZES[sizes])]
    name = f"job-{nodes}-{seconds:g}-{sizes}"
    job = rankwise(
        cluster, folder, "slurm", "submit", "measure", "--nodes", str(nodes), "--time", "10", "--seconds", f"{seconds:g}",
        "--folder", name, "-o", "m.json", *some,
    ).strip()  # fmt: skip
    cluster.wait_state(job, *ENDED, seconds=seconds * 4 + 120)
    cluster.wait_idle()
    profile = folder / name / "m.json"
    if not profile.exists():
        (log,) = (folder / name).glob("log-*")
        raise RuntimeError(f"no profile: {log.read_text().strip().splitlines()[-1:]}")
    return {**json.loads(profile.read_text()), "path": str(profile)}


def figure(bytes_per_s: float, interval: tuple[float, float] | None, truth: float) -> tuple[str, bool]:
    """Return a rate in MB/s with its error and interval, and whether it is within the bar or its interval holds the truth."""
    error = bytes_per_s / truth - 1
    good = abs(error) <= RATE_BAR or (interval is not None and interval[0] <= truth <= interval[1])
    ends = f"{interval[0] / 1e6:.2f}..{interval[1] / 1e6:.2f}" if interval else "-"
    return f"{bytes_per_s / 1e6:8.3f} {100 * error:+6.1f} %  {ends:>16}  {'ok' if good else 'MISSED':6}", good


def campaigns(cluster: Slurm, folder: Path, rate: int, options: argparse.Namespace) -> int:
    """Print what each campaign found; return how many missed."""
    missed = 0
    truth = rate * 1e6 / 8 * PAYLOAD
    for seconds in map(float, options.seconds.split(",")):
        for sizes in map(int, options.sizes.split(",")):
            begin = f"{rate:6} {seconds:5.0f} {sizes:5}"
            try:
                profile = measure(cluster, folder, 2, seconds, sizes)
            except RuntimeError as error:
                print(f"{begin} {error}", flush=True)
                missed += 1
                continue
            link, card = profile["links"]["other-node"], profile["shared"].get("card")
            beta, ci = link["beta_s_per_byte"], link["beta_ci_s_per_byte"]
            slope = (1 / ci[1], 1 / ci[0] if ci[0] > 0 else float("inf")) if ci and ci[1] > 0 else None
            figures = [("none", False) if card is None else figure(card["bytes_per_s"], card["ci"], truth)]
            figures.append(figure(1 / beta, slope, truth) if beta > 0 else ("none", False))
            missed += sum(not good for _, good in figures)
            print(f"{begin} {profile['source']['launches']:8} | " + " | ".join(f"{text:42}" for text, _ in figures), flush=True)
    return missed


def halos(cluster: Slurm, folder: Path, rate: int, options: argparse.Namespace) -> int:
    """Print predicted and measured times of halos by placement; return how many missed."""
    profile = measure(cluster, folder, 4, options.campaign, 13)["path"]
    missed = 0
    for grid, ppn in (("4x2", 2), ("4x4", 4)):
        words = ("map", "--grid", grid, "--nodes", "4", "--ppn", str(ppn), "--stencil", "moore:1", "--bytes", "400kB")
        words += ("--profile", profile, "--format", "slurm-hostfile", "--hosts", ",".join(cluster.hosts))
        (folder / "recommended").write_text(rankwise(cluster, folder, *words))
        asked = ("--algorithm", "direct", "--mode", "isend", "--dims", grid, "--cutoff", "1", "--periodic", "none",
                 "--bytes", "400kB", "--json")  # fmt: skip
        words = ("predict", "exchange", *asked, "--profile", profile, "--ranks-per-node", str(ppn), "--placement")
        predicted = {where: json.loads(rankwise(cluster, folder, *words, where))["rows"][0] for where in PLACEMENTS}
        measured: dict[str, list[float]] = {where: [] for where in PLACEMENTS}
        for _ in range(options.rounds):
            for where in PLACEMENTS:
                allocation = ("salloc", "--quiet", "--nodes", "4", "--exclusive")
                words = ("run", "exchange", *asked, "--placement", where, "--seconds", "4")
                words += () if where == "recommended" else ("--ranks-per-node", str(ppn))
                row = json.loads(rankwise(cluster, folder, *words, before=allocation))["rows"][0]
                measured[where].append(row["time_s"])
                cluster.wait_idle()
        for where in PLACEMENTS:
            time_s, row = median(measured[where]), predicted[where]
            error = row["time_s"] / time_s - 1
            gain, promised = median(measured["blocked"]) / time_s, predicted["blocked"]["time_s"] / row["time_s"]
            good = abs(error) <= TIME_BAR and abs(promised / gain - 1) <= TIME_BAR
            missed += not good
            print(
                f"{rate:6} {grid} {where:<12} predicted {1e3 * row['time_s']:8.1f} ms "
                f"({1e3 * row['time_lo_s']:.1f}..{1e3 * row['time_hi_s']:.1f}), measured "
                f"{', '.join(f'{1e3 * t:.1f}' for t in measured[where])} ms: {100 * error:+6.1f} %; speed-up {promised:.2f} "
                f"predicted, {gain:.2f} measured  {'ok' if good else 'MISSED'}", flush=True,
            )  # fmt: skip
    return missed


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rates", default="10,100,1000", help="of the links, in Mbit/s")
    parser.add_argument("--seconds", default="10,30,120", help="of each campaign; empty: none")
    parser.add_argument("--sizes", default="5,13,40")
    parser.add_argument("--halo-rates", default="10,100", help="where halos are predicted and run; empty: nowhere")
    parser.add_argument("--campaign", type=float, default=60, help="seconds to measure before the halos")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each placement, by turns")
    given = parser.parse_args()
    if (why := slurm_cluster.why_not()) is not None:
        sys.exit(why)
    missed = 0
    for rate in map(int, given.rates.split(",")):
        with Slurm(4, f"{rate}mbit") as cluster, tempfile.TemporaryDirectory() as folder:
            if given.seconds:
                head = f"Mbit/s     s sizes launches | card MB/s, error, 95 %{'':20} | slope MB/s, error, 95 %"
                print(f"{load()}\n{head}", flush=True)
                missed += campaigns(cluster, Path(folder), rate, given)
            if str(rate) in given.halo_rates.split(","):
                missed += halos(cluster, Path(folder), rate, given)
    print("every bar reached" if not missed else f"{missed} bars missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
