"""How well sessions of `rankwise measure pingpong` agree, and what a competing process does to them.

    python benchmarks/repeatability.py [--sessions 10] [--minutes 10] [--seconds 25] [--link same-socket]

Sessions start at even distances over the minutes. For each: load of the machine, alpha and beta (with the time of the
reference loop by which they are normalised), trust. Then their coefficients of variation, raw and normalised, with the bars
that they are held to. At last, in turn, sessions alone and beside a process that computes on the first rank's CPU: what the
verdict says, and by how much alpha moves. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import asked, ended, options

BARS = {"raw": 0.12, "normalised": 0.05}
COMPETITION_BAR = 0.15


@dataclass(frozen=True)
class Session:
    load: float
    alpha_s: float
    beta_s_per_byte: float
    loop_s: float
    trust: str
    warnings: list[str]


def session(folder: Path, number: int, options: argparse.Namespace) -> Session:
    load = os.getloadavg()[0]
    words = ("measure", "pingpong", "-o", f"{number}.json", "--seconds", str(options.seconds), "--links", options.link)
    profile = asked(*words, "--statistic", options.statistic, cwd=folder)
    link = profile["links"][options.link]
    return Session(load, link["alpha_s"], link["beta_s_per_byte"], link["reference_loop_s"], profile["source"]["trust"],
                   profile["warnings"])  # fmt: skip


def line(name: str, s: Session) -> str:
    return (
        f"{name:>10}  load {s.load:5.2f}  alpha {1e9 * s.alpha_s:8.1f} ns  beta {1e12 * s.beta_s_per_byte:7.2f} ps/B  "
        f"loop {1e6 * s.loop_s:6.2f} us  {s.trust}"
    )


def variation(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.mean(values))


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--link", default="same-socket")
    parser.add_argument("--statistic", default="smallest-20")
    parser.add_argument("--competitions", type=int, default=3)
    given = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begin_s = time.monotonic()
        sessions = []
        for i in range(given.sessions):
            due_s = begin_s + 60 * given.minutes * i / max(1, given.sessions - 1)
            time.sleep(max(0.0, due_s - time.monotonic()))
            sessions.append(session(folder, i, given))
            print(line(str(i + 1), sessions[-1]), flush=True)
        print(f"{given.sessions} sessions over {(time.monotonic() - begin_s) / 60:.1f} minutes, {given.statistic}")
        for what in ("alpha_s", "beta_s_per_byte"):
            raw = [getattr(s, what) for s in sessions]
            values = {"raw": raw, "normalised": [v / s.loop_s for v, s in zip(raw, sessions, strict=True)]}
            for kind, of_kind in values.items():
                cv = variation(of_kind)
                print(f"{what:>16} {kind:>10}: coefficient of variation {100 * cv:5.1f} %  bar {100 * BARS[kind]:.0f} %")
                if cv > BARS[kind]:
                    missed.append(f"{what} {kind}")
        ratios = []
        for i in range(given.competitions):
            alone = session(folder, 1000 + i, given)
            print(line("alone", alone), flush=True)
            with subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"]) as rival:
                try:
                    beside = session(folder, 2000 + i, given)
                finally:
                    rival.kill()
            print(line("rival", beside), "|", " | ".join(beside.warnings), flush=True)
            ratios.append(beside.alpha_s / alone.alpha_s)
            if beside.trust == "good":
                missed.append("the verdict on a session beside a rival")
        if ratios:
            moved = float(np.median(ratios)) - 1
            print(f"alpha beside a rival: {100 * moved:+.1f} % (median of {len(ratios)})  bar ± {100 * COMPETITION_BAR:.0f} %")
            if abs(moved) > COMPETITION_BAR:
                missed.append("alpha beside a rival")
    return ended(missed)


if __name__ == "__main__":
    sys.exit(main())
