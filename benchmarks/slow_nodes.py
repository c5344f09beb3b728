"""How surely slow nodes, directions and pairs are named: simulated fleets, and real ranks in network namespaces.

    python benchmarks/slow_nodes.py                   # simulated: 16, 64, 256 and 1000 nodes, about half an hour
    python benchmarks/slow_nodes.py --nodes 16,64     # a few minutes
    python benchmarks/slow_nodes.py --real 20         # 20 runs of each fault and without one, on 4 to 8 namespaces (root
    needed)

Simulated: healthy nodes differ by 2 %, a time's noise is 5 %, one of 50 is a burst (1.5 to 4 times), the level drifts by 2 % a
round; one fault of 20 %. Bars: at most 1 % of fleets without a fault have a finding, a slow node or direction is found in 98 %,
a slow pair in 95 %. Real: links of 100 Mbit/s of which one node's, one direction or one pair's is held to 10 Mbit/s, or a node
beside a busy process; bars: each named and nothing else in all runs, nothing in those without a fault. Exit 1 where a bar is
missed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
from harness import OnNodes, nodes_up, options

from synthetic_nodes import Fleet

_RATIO = 1.2
_RUNS = {16: 1000, 64: 400, 256: 100, 1000: 10}
_BARS = {"none": 0.01, "node": 0.98, "sends": 0.98, "receives": 0.98, "pair": 0.95}
_SIZE = "200kB"


def simulated(counts: list[int], share: float) -> bool:
    """Print a row a fleet and fault; return whether all bars are kept."""
    good = True
    print(f"{'nodes':>6} {'fault':>9} {'fleets':>7} {'named':>7} {'else':>6} {'sweeps':>7} {'seconds':>8}")
    for count in counts:
        for fault, bar in _BARS.items():
            fleets = max(3, round(share * _RUNS.get(count, 20)))
            seen: Counter[str] = Counter()
            began_s, sweeps = time.monotonic(), 0
            for seed in range(fleets):
                rng = np.random.default_rng([count, seed, list(_BARS).index(fault)])
                a, b = (int(node) for node in rng.choice(count, 2, replace=False))
                sends = {a: _RATIO} if fault in ("node", "sends") else {}
                receives = {a: _RATIO} if fault in ("node", "receives") else {}
                pairs = {(a, b): _RATIO, (b, a): _RATIO} if fault == "pair" else {}
                effects, findings = Fleet(count, rng, sends=sends, receives=receives, pairs=pairs).judge()
                right = [f for f in findings if f.kind == fault and set(f.nodes) == ({a, b} if fault == "pair" else {a})]
                seen["named"] += bool(right)
                seen["else"] += len(findings) > len(right)
                sweeps += effects.sweeps
            kept = seen["else"] <= bar * fleets if fault == "none" else seen["named"] >= bar * fleets
            good &= kept
            print(f"{count:6} {fault:>9} {fleets:7} {seen['named']:7} {seen['else']:6} {sweeps / fleets:7.1f} "
                  f"{time.monotonic() - began_s:8.1f}{'' if kept else '  MISSED'}", flush=True)  # fmt: skip
    return good


def real(runs: int, faults: list[str]) -> bool:
    """Print a line a run and a table at the end; return whether all was named and nothing else."""
    seen: Counter[tuple[str, str]] = Counter()
    for run in range(runs):
        for fault in faults:
            count = (4, 5, 6, 8)[run % 4]
            load, began_s = os.getloadavg()[0], time.monotonic()
            with nodes_up("100mbit", count, batches=True) as on:
                code, answer, wanted = _trial(on, fault, run)
            got = sorted((f["kind"], tuple(f["hosts"])) for f in answer.get("findings", []))
            right = (got, [entry["host"] for entry in answer.get("busy", [])]) == wanted and "answer" in answer
            outcome = "too noisy" if code == 5 else "right" if right else "WRONG"
            seen[fault, outcome] += 1
            print(f"run {run} {fault} {count} nodes load {load:.1f} {time.monotonic() - began_s:.0f} s exit {code} "
                  f"{outcome if right else f'{outcome} {answer}'[:1500]}", flush=True)  # fmt: skip
    for fault in faults:
        right, noisy, wrong = (seen[fault, outcome] for outcome in ("right", "too noisy", "WRONG"))
        print(f"{fault:>9}: {right} of {runs} right, {noisy} too noisy, {wrong} wrong")
    return all(seen[fault, "right"] + (fault == "none") * seen[fault, "too noisy"] == runs for fault in faults)


def _trial(
    on: OnNodes, fault: str, run: int
) -> tuple[int, dict[str, Any], tuple[list[tuple[str, tuple[str, ...]]], list[str]]]:
    up, hosts = on.up, list(on.up.hosts)
    bad, other = hosts[1 + run % (len(hosts) - 1)], hosts[0]
    wanted: list[tuple[str, tuple[str, ...]]] = []
    load: subprocess.Popen[bytes] | None = None
    if fault in ("node", "sends", "receives"):
        up.slow(bad, "10mbit", sends=fault != "receives", receives=fault != "sends")
        wanted = [(fault, (bad,))]
    elif fault == "pair":
        up.slow_pair(bad, other, "10mbit")
        wanted = [("pair", (other, bad))]
    elif fault == "busy":
        for host in hosts:
            up.give_cpus(host, "1" if host == bad else "0")
        load = subprocess.Popen(up.command(bad, [sys.executable, "-c", "while True: pass"]))
    words = ["-m", "rankwise", "doctor", "--nodes", "--hosts", on.hosts, "--sizes", _SIZE, "--seconds", "60", "--json"]
    try:
        done = subprocess.run(
            up.command(hosts[0], [sys.executable, *words]), cwd=on.folder, env=up.environment(), capture_output=True, text=True,
            timeout=400, check=False,
        )  # fmt: skip
    finally:
        if load is not None:
            load.kill()
            load.wait()
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr}
    for figure in answer.get("figures", []):
        figure.pop("residual_ratio", None)
    return done.returncode, answer, (wanted, [bad] if fault == "busy" else [])


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--nodes", default="16,64,256,1000", help="how many are simulated")
    parser.add_argument("--share", type=float, default=1.0, help="of the fleets that are simulated usually")
    parser.add_argument("--real", type=int, default=0, metavar="RUNS", help="runs of each fault in namespaces, instead")
    parser.add_argument("--faults", default="none,node,sends,receives,pair,busy", help="those that are real")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # namespaces are taken down
    if given.real:
        return 0 if real(given.real, given.faults.split(",")) else 1
    return 0 if simulated([int(count) for count in given.nodes.split(",")], given.share) else 1


if __name__ == "__main__":
    sys.exit(main())
