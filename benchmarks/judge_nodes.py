"""How right the judge is on real nodes: four in namespaces whose links are shaped, blocks of 400 kB (root needed).

    python benchmarks/judge_nodes.py     # two minutes

There bandwidth decides, so that ranks may share two cores as long as nothing else runs on them: see the load that is printed.
The machine is not measured: links between nodes and cards are what the kernel shapes, less the headers of frames. Exit 1 where
a bar is missed.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile

import numpy as np
from harness import OnNodes, options, require_nodes
from judge import Table
from judge_draw import cases_of, placed

from nodes import FOUR, Nodes
from rankwise import _core
from rankwise.engines.judge import judge
from rankwise.units import format_time

_PAYLOAD = 0.98  # of what crosses, the rest is headers of frames of 9000 B and what shapers lose
_BLOCK_BYTES = 400_000
# A grid of ranks, whether it wraps around, a cutoff.
_QUESTIONS = (((8,), True, 2), ((4, 4), True, 1), ((4, 4), False, 1))


def machine(rate_mbit: int) -> _core.Machine:
    rate = _PAYLOAD * rate_mbit * 1e6 / 8
    links = {"same-socket": {"send": [(0, 2e-5, 5e-10)]}, "other-node": {"send": [(0, 2e-4, 1 / rate)]}}
    return _core.Machine(links, {"card": {"bytes_per_s": rate}})


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of each exchange")
    parser.add_argument(
        "--rate", type=int, default=100, help="of the links, in Mbit/s; the slower, the less the processors matter"
    )
    given = parser.parse_args()
    require_nodes()
    errors = []
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, Nodes(f"{given.rate}mbit", FOUR, batches=True) as four:
        for grid, periodic, cutoff in _QUESTIONS:
            ranks, shape = math.prod(grid), "x".join(map(str, grid))
            cases = cases_of(grid, periodic, cutoff, _BLOCK_BYTES, [(name, "isend", 1) for name in ("direct", "shift", "comb")])
            for where in ("blocked", "cyclic"):
                words = [
                    "run", "exchange", "--algorithm", "direct,shift,comb", "--mode", "isend", "--dims", shape if "x" in shape
                    else "1",
                    "--ranks", str(ranks), "--cutoff", str(cutoff), "--periodic", "all" if periodic else "none",
                    "--bytes", str(_BLOCK_BYTES), "--hosts", ",".join(four.hosts), "--placement", where,
                    "--seconds", str(3 * given.seconds), "--json",
                ]  # fmt: skip
                answer = json.loads(OnNodes(four, folder).rankwise(*words))
                for case, row in zip(cases, answer["rows"], strict=True):
                    placement = placed(ranks, ranks // len(four.hosts), where == "cyclic")
                    predicted = judge(case.program(), _BLOCK_BYTES, placement, machine(given.rate))
                    assert (row["algorithm"], row["mode"]) == (case.algorithm, case.mode)
                    errors.append(predicted.time_s / row["time_s"] - 1)
                    print(
                        f"  {shape:<5}{'periodic' if periodic else 'open':<9} k = {cutoff} {where:<8}{case.way:<15}"
                        f"{format_time(row['time_s']):>9} measured {format_time(predicted.time_s):>9} predicted "
                        f"{errors[-1]:>+7.1%}",
                        flush=True,
                    )
    table = Table()
    table.title(f"{len(errors)} exchanges on real nodes, absolute error")
    table.row("median", 100 * float(np.median(np.abs(errors))), 5)
    table.row("within 10 %", 100 * float(np.mean(np.abs(errors) <= 0.1)), least=100 * 11 / 12)
    table.row("worst", 100 * float(np.max(np.abs(errors))), 20)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
