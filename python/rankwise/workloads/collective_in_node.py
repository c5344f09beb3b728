"""A collective whose stages within nodes were measured: through shared memory, by the library's own calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rankwise import _core
from rankwise.collectives.selection import BY_RANK, Call
from rankwise.machine.collective_costs import CollectiveCosts
from rankwise.workloads.base import Span
from rankwise.workloads.collective_schedule import Extrapolated, Schedule

NOTE = "within nodes as measured: the library's own collectives through shared memory"
# What a collective of all does in the nodes before one rank of each goes on, and after.
_STAGES = {
    "bcast": ("", "bcast"), "reduce": ("reduce", ""), "allreduce": ("reduce", "bcast"), "allgather": ("gather", "bcast"),
    "barrier": ("barrier", ""), "gather": ("gather", ""), "scatter": ("", "scatter"),
}  # fmt: skip


@dataclass(frozen=True)
class OfLeaders:
    """A schedule of one rank of each node, to be priced where all ranks are."""

    schedule: Schedule

    @property
    def kept(self) -> bool:
        return self.schedule.kept

    def judged(self, placement: _core.Placement) -> _core.Judged | Extrapolated:
        import numpy as np

        return self.schedule.judged(_core.Placement.on_nodes(np.arange(placement.nodes, dtype=np.int32)))


def measured_in_nodes(
    call: Call, schedule: Schedule, costs: CollectiveCosts, price: Callable[[OfLeaders], Span]
) -> Span | None:
    """Return what a library's collective takes with what was measured of it within nodes; None where nothing was.

    ``price``: what messages among one rank of each node take.
    """
    nodes, each = call.nodes
    if nodes == 1:
        between, stages = Span(0.0, 0.0, 0.0), [(call.kind, call.ranks, call.size_bytes)]
    elif schedule.algorithm == "node-aware" and not schedule.segment_bytes and call.kind in _STAGES:
        size = call.size_bytes * (each if call.kind in BY_RANK else 1)
        among = replace(schedule, ranks=nodes, size_bytes=size, algorithm=schedule.between, within="", between="")
        between, stages = price(OfLeaders(among)), list(_stages(call))
    else:
        return None
    found = [one for stage in stages if (one := costs.in_node_s(*stage)) is not None]
    if len(found) < len(stages):
        return None
    ends = (between.lo_s, between.hi_s)
    low_s, high_s = (
        (between.time_s if end is None else end) + sum(one[i] for one in found) for i, end in enumerate(ends, start=1)
    )
    return Span(between.time_s + sum(one[0] for one in found), low_s, high_s)


def _stages(call: Call) -> Iterator[tuple[str, int, int]]:
    """Yield the collectives within nodes that a node-aware one has: which, of how many ranks, of which size."""
    nodes, each = call.nodes
    for kind in filter(None, _STAGES[call.kind]):
        yield kind, each, call.size_bytes * (each * nodes if (call.kind, kind) == ("allgather", "bcast") else 1)
