"""How right predictions of exchanges are on real nodes: four in namespaces with shaped links, blocks of 400 kB (root needed).

    python benchmarks/judge_nodes.py     # three minutes

There bandwidth decides, so that ranks may share two cores as long as nothing else runs on them: see the load that is printed.
The links are measured first, on the same nodes. Frames are sent one by one: a shaper lets one pass at once after a pause, and
seven sent as one would be a part of what short measurements count. Exit 1 where a bar is missed.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from harness import Table, load, nodes_up, options

from rankwise.units import format_time

# A grid of ranks, whether it wraps around, a cutoff.
_QUESTIONS = (((8,), True, 2), ((4, 4), True, 1), ((4, 4), False, 1))


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of each exchange")
    parser.add_argument("--measure-seconds", type=float, default=40, help="to measure the links")
    parser.add_argument(
        "--rate", type=int, default=100, help="of the links, in Mbit/s; the slower, the less the processors matter"
    )
    parser.add_argument("--mode", default="isend", help="how messages are sent: ssend,send,isend")
    given = parser.parse_args()
    errors = []
    with nodes_up(f"{given.rate}mbit") as on:
        print(load())
        hosts = ("--hosts", on.hosts)
        on.rankwise("measure", *hosts, "--seconds", f"{given.measure_seconds}", "-o", "m.json")
        for grid, periodic, cutoff in _QUESTIONS:
            ranks, shape = math.prod(grid), "x".join(map(str, grid))
            for where in ("blocked", "cyclic"):
                asked = (
                    "exchange", "--algorithm", "direct,shift,comb", "--mode", given.mode, "--bytes", "400000",
                    "--dims", shape if "x" in shape else "1", "--periodic", "all" if periodic else "none",
                    "--cutoff", str(cutoff), "--ranks", str(ranks), "--ranks-per-node", str(ranks // 4), "--placement", where,
                )  # fmt: skip
                ran = on.asked("run", *asked, *hosts, "--seconds", str(3 * given.seconds))
                predicted = on.asked("predict", *asked, "--profile", "m.json")
                for row, was in zip(predicted["rows"], ran["rows"], strict=True):
                    assert (row["algorithm"], row["mode"]) == (was["algorithm"], was["mode"])
                    errors.append(row["time_s"] / was["time_s"] - 1)
                    what = f"{shape:<5}{'periodic' if periodic else 'open':<9} k = {cutoff} {where:<8}"
                    print(f"  {what}{row['algorithm']:<7}{row['mode']:<8}{format_time(was['time_s']):>9} measured "
                          f"{format_time(row['time_s']):>9} predicted {errors[-1]:>+7.1%}", flush=True)  # fmt: skip
    table = Table()
    table.title(f"{len(errors)} exchanges on real nodes, absolute error")
    table.errors(errors, (50, 5), (100, 20))
    table.row("within 10 %", 100 * float(np.mean(np.abs(errors) <= 0.1)), least=100 * 11 / 12)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
