"""How right collectives of many ranks are, which are priced by fewer: against all ranks' messages, and the processor's time.

    python benchmarks/collectives_many.py     # a minute

As from 100,000 ranks on, at 4,096 ranks, one and eight a node, by every algorithm whose messages are few enough to be listed;
at 1,024 where every rank sends to every other. Then 3,000 ranks, whose intervals are wider, and the time of questions of
100,000 ranks. Exit 1 where a bar is missed.

Of 198 at 4,096 ranks 196 within 1 % (median 2e-14 %), reduce by in-order-tree 6 %, scatter by node-aware binomial-in-order 2 %,
eight a node; at 3,000 ranks 95th percentile 5.5 %, largest 16 %, all inside their intervals; 0.8 s of a processor at most.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from harness import Table, options, percentile
from judge_draw import MACHINES

from rankwise import _core
from rankwise.collectives.selection import SQUARE
from rankwise.workloads.collective_schedule import Extrapolated, Schedule, candidates_of, most_walked

KINDS = ("allreduce", "bcast", "reduce", "allgather", "reduce_scatter", "gather", "scatter", "barrier", "scan")
SQUARED = (
    ("allreduce", "ring", 65536), ("bcast", "scatter-ring-allgather", 65536), ("allgather", "ring", 64),
    ("alltoall", "pairwise", 64), ("alltoall", "linear", 64), ("alltoall", "bruck", 8), ("scatter", "linear", 1024),
)  # fmt: skip


def asked(ranks: int) -> Iterator[tuple[Schedule, int]]:
    """Yield collectives, and the ranks of a node."""
    for each in (1, 8):
        for kind in KINDS:
            for size in (0,) if kind == "barrier" else (8,) if kind == "allgather" else (8, 65536):
                for one in candidates_of(kind, ranks, size, each > 1):
                    if SQUARE.isdisjoint({one.algorithm, one.between}) and not one.segment_bytes:
                        yield one, each
        for kind, algorithm, size in SQUARED:
            yield Schedule(kind, 1024, size, algorithm), each
        for kind in ("bcast", "reduce", "allreduce"):
            yield from ((one, each) for one in candidates_of(kind, 1024, 4 << 20, each > 1) if one.segment_bytes == 65536)


def questions_s(machine: _core.Machine) -> Iterator[tuple[str, float]]:
    """Yield questions of 100,000 ranks, all algorithms of each, and the processor's time."""
    for each in (1, 8):
        placement = _core.Placement.blocked(100_000, each)
        for kind in (*KINDS, "alltoall"):
            for size in (0,) if kind == "barrier" else (8, 65536, 4 << 20):
                begin_s = time.process_time()
                for one in candidates_of(kind, 100_000, size, each > 1):
                    if not one.core.why_not(placement):
                        one.judged(placement).cost(1, machine)
                yield f"{kind} of {size} B, {each} a node", time.process_time() - begin_s


def compared(ranks: int, machine: _core.Machine) -> Iterator[tuple[float, bool]]:
    """Yield by how much extrapolated collectives are off, and whether their interval holds what all ranks' messages take."""
    for schedule, each in asked(ranks):
        placement = _core.Placement.blocked(schedule.ranks, each)
        if schedule.core.why_not(placement):
            continue
        full_s = schedule.core.judged(placement).cost(1, machine).time_s
        most = most_walked(replace(schedule, ranks=100_000), each)
        found = Extrapolated(schedule, placement, most).cost(1, machine)
        error = found.time_s / full_s - 1
        if abs(error) > 0.01:
            what = f"{schedule.collective} {schedule.label}, {schedule.size_bytes} B, {each} a node"
            print(f"  {ranks} ranks, {what}: {100 * error:+.2f} %")
        yield error, found.low_s <= full_s * (1 + 1e-9) and full_s <= found.high_s * (1 + 1e-9)


def main() -> int:
    options(__doc__).parse_args()
    table, machine = Table(), MACHINES["wagner"].alone()
    errors = [error for error, _ in compared(4096, machine)]
    table.title(f"{len(errors)} collectives by fewer ranks, absolute error")
    table.errors(errors, (50, None), (95, 1), (100, 1))
    of_others = list(compared(3000, machine))
    table.title(f"{len(of_others)} collectives of 3,000 ranks (one where all send to all: 1,024)")
    table.errors([error for error, _ in of_others], (95, None), (100, None))
    table.row("inside the interval", 100 * sum(held for _, held in of_others) / len(of_others), least=95)
    questions = dict(questions_s(machine))
    table.title(f"{len(questions)} questions of 100,000 ranks, all algorithms of each, processor time")
    table.row("median", percentile(list(questions.values()), 50) / 100, None, "s")
    table.row("largest", max(questions.values()), 1, "s")
    print(f"  the longest: {max(questions, key=lambda name: questions[name])}")
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
