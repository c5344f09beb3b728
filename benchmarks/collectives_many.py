"""How right collectives of many ranks are, which are priced by fewer: against all ranks' messages, and the processor's time.

    python benchmarks/collectives_many.py     # a minute

At 4,096 ranks, one and eight a node, by every algorithm whose messages are few enough to be listed; at 1,024 from 256 ranks
where every rank sends to every other. Then 100,000 ranks. Exit 1 where a bar is missed.

130 predictions from 1,024 ranks: 128 within 1 %, scatter by binomial-in-order 2.4 and 3.6 %; from 256 ranks bcast by
scatter-ring-allgather 1.2 %; 0.2 s of processor time at most.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from judge import Table, percentile
from judge_draw import MACHINES

from rankwise import _core
from rankwise.workloads.collective_schedule import _SQUARE, Extrapolated, Schedule, candidates_of

KINDS = ("allreduce", "bcast", "reduce", "allgather", "reduce_scatter", "gather", "scatter", "barrier", "scan")
SQUARED = (
    ("allreduce", "ring", 65536), ("bcast", "scatter-ring-allgather", 65536), ("allgather", "ring", 64),
    ("alltoall", "pairwise", 64), ("alltoall", "linear", 64), ("alltoall", "bruck", 8), ("scatter", "linear", 1024),
)  # fmt: skip


def asked() -> Iterator[tuple[Schedule, int, int]]:
    """Yield collectives, the ranks of a node, and the most ranks that are walked."""
    for each in (1, 8):
        for kind in KINDS:
            for size in (0,) if kind == "barrier" else (8,) if kind == "allgather" else (8, 65536):
                for one in candidates_of(kind, 4096, size, each > 1):
                    if _SQUARE.isdisjoint({one.algorithm, one.between}) and not one.segment_bytes:
                        yield one, each, 1024
        for kind, algorithm, size in SQUARED:
            yield Schedule(kind, 1024, size, algorithm), each, 256


def main() -> int:
    table, machine, errors, spent_s = Table(), MACHINES["wagner"].alone(), [], []
    for schedule, each, most in asked():
        placement = _core.Placement.blocked(schedule.ranks, each)
        if schedule.core.why_not(placement):
            continue
        full_s = schedule.core.judged(placement).cost(1, machine).time_s
        errors.append(Extrapolated(schedule, placement, most).cost(1, machine).time_s / full_s - 1)
        if abs(errors[-1]) > 0.01:
            print(
                f"  {schedule.collective} {schedule.label}, {schedule.size_bytes} B, {each} a node: {100 * errors[-1]:+.2f} %"
            )
        many = replace(schedule, ranks=100_000)
        placement = _core.Placement.blocked(100_000, each)
        if not many.core.why_not(placement):
            begin_s = time.process_time()
            many.judged(placement).cost(1, machine)
            spent_s.append(time.process_time() - begin_s)
    table.title(f"{len(errors)} collectives by fewer ranks, absolute error")
    table.row("median", percentile(errors, 50))
    table.row("95th percentile", percentile(errors, 95), 1)
    table.row("largest", percentile(errors, 100), 1)
    table.title(f"{len(spent_s)} collectives of 100,000 ranks, processor time")
    table.row("largest", max(spent_s), 1, "s")
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
