"""The alarm on real ranks: a link between two nodes in namespaces, the same for some sessions, then slower by a fifth.

    python benchmarks/alarms_real.py [--sessions 20] [--slower 80mbit]

Sessions of ten launches one after the other over a link of 100 Mbit/s; then the kernel shapes it anew (80 Mbit/s: 25 % more
time per byte) and two sessions more decide. For each the load, exit code and conclusion. Below stands what the same launches
say when what their witnesses saw is set aside: on a machine that is never quiet every session ends with 6, unusable. Exits
with 1 when a session before the change ended with 3, or the last one with neither 3 nor 6, or with its witnesses aside not with
3.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python" / "cluster"))

from nodes import Nodes, why_not
from rankwise.health.history import read
from rankwise.health.judge import Rules, judge
from rankwise.health.record import Session

FRAME_BYTES = 4500
RULES = Rules(apart_s=1.0)


def session(cable: Nodes, folder: Path) -> None:
    load = os.getloadavg()[0]
    words = [sys.executable, "-m", "rankwise", "health", "--hosts", ",".join(cable.hosts), "--links", "other-node", "--as",
        "nodes",
             "--launches", "10", "--seconds", "15", "--confirm-after", "1s", "--json"]  # fmt: skip
    done = subprocess.run(
        cable.command(cable.hosts[0], words), cwd=folder, env=cable.environment(), capture_output=True, text=True, timeout=600
    )
    if done.returncode not in (0, 3, 5, 6):
        sys.exit(done.stderr)
    found = json.loads(done.stdout)
    print(f"   load {load:5.1f}   exit {done.returncode}   {found['verdict']}: {found['reason']}", flush=True)


def reshape(cable: Nodes, rate: str) -> None:
    for host in cable.hosts:
        words = [
            "tc",
            "-n",
            host,
            "class",
            "change",
            "dev",
            "eth0",
            "parent",
            "1:",
            "classid",
            "1:1",
            "htb",
            "rate",
            rate,
            "quantum",
            "9000",
        ]
        subprocess.run([*words, "burst", f"{FRAME_BYTES}b", "cburst", f"{FRAME_BYTES}b"], check=True)


def aside(history: Path) -> list[str]:
    """Return the verdicts that the launches give when nothing is held against them."""
    sessions: list[Session] = []
    for one in read(history):
        launches = [replace(launch, foreign_cpus=0.0, steal_share=0.0, switches_per_s=0.0) for launch in one.launches]
        undisturbed = Session.of(one.at, one.key, launches, one.digest)
        found = judge(undisturbed, sessions, RULES)
        sessions.append(undisturbed.judged(found.verdict, found.over))
        rows = ", ".join(f"{row.figure} {row.difference:+.3f} (limit {row.limit:.3f})" for row in found.rows)
        print(f"   {found.verdict:8s} {rows}")
    return [one.verdict for one in sessions]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--slower", default="80mbit")
    options = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    with tempfile.TemporaryDirectory() as name, Nodes("100mbit", frame_bytes=FRAME_BYTES) as cable:
        folder = Path(name)
        print("100mbit:")
        for _ in range(options.sessions):
            session(cable, folder)
        print(f"{options.slower}:")
        reshape(cable, options.slower)
        for _ in range(2):
            session(cable, folder)
        print("with what the witnesses saw set aside:")
        bare = aside(folder / "health.jsonl")
        told = [one.verdict for one in read(folder / "health.jsonl")]
    good = "slower" not in told[:-2] + bare[:-2] and told[-1] in ("slower", "unusable") and bare[-1] == "slower"
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
