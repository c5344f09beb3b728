"""Descriptors and memory of one process over rounds of measure, fit, predict, map and report.

    python benchmarks/memory.py [--rounds 200] [--seconds 1]

Prints both every tenth round, the other rounds' mean between; ends with 1 where descriptors grew, or memory still grew in the
last half of the rounds by more than a share of what it was.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import tempfile
from pathlib import Path

from harness import options

from rankwise.cli.main import run

ROUND = (
    "measure -o m.json --sizes 0,8,1kB,64KiB --seconds {seconds} --launches 1",
    "fit m.samples.jsonl",
    "predict exchange --profile m.json --ranks 64 --cutoff 1 --bytes 100,10000",
    "map --grid 12x8 --nodes 12 --ppn 8 --stencil nearest-neighbor --effort 10ms --json",
    "report --profile m.json --mapping map.json -o r.html",
)
MOST_GROWTH = 0.02  # in the last half of the rounds


def memory_mb() -> float:
    words = next(
        line for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if line.startswith("VmRSS")
    )
    return int(words.split()[1]) / 1024


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) - 1


def one_round(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for words in ROUND:
            said, shown = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
                code = run(words.format(seconds=seconds).split())
            if code not in (0, 6):  # 6: disturbed
                raise SystemExit(f"'{words}' ended with {code}: {said.getvalue()}")
            if words.startswith("map"):
                Path("map.json").write_text(shown.getvalue(), encoding="utf-8")


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    os.environ |= {"RANKWISE_SILENCE_S": "600", "RANKWISE_START_S": "600"}  # this is no test of time
    seen: list[tuple[float, int]] = []
    for number in range(1, given.rounds + 1):
        one_round(given.seconds)
        gc.collect()
        seen.append((memory_mb(), descriptors()))
        if number == 1 or number % 10 == 0:
            print(f"round {number}: {seen[-1][0]:.1f} MB, {seen[-1][1]} descriptors", flush=True)
    (half_mb, _), (end_mb, end_count) = seen[len(seen) // 2 - 1], seen[-1]
    growth = end_mb / half_mb - 1
    print(f"last half: {half_mb:.1f} to {end_mb:.1f} MB ({100 * growth:+.1f} %), {seen[0][1]} to {end_count} descriptors")
    return 1 if growth > MOST_GROWTH or end_count > seen[0][1] else 0


if __name__ == "__main__":
    sys.exit(main())
