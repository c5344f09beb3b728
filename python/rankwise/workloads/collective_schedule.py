"""A collective by an algorithm, as it is priced, and what it may be done by; of many ranks it is extrapolated.

Its stages within nodes may have been measured: through shared memory, by the library's own calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from rankwise import _core
from rankwise.collectives.selection import BY_RANK, SQUARE, Call, Selection, pieces_of
from rankwise.machine.collective_costs import CollectiveCosts
from rankwise.records import Record, key, record
from rankwise.units import format_size
from rankwise.workloads.base import Span

if TYPE_CHECKING:
    from rankwise.observe.phases import PhasedStep

_SEGMENTS = (8192, 65536, 262144)
RADIX = {"chain": (2, 4), "tree": (2,), "k-nomial": (4, 8), "recursive-multiplying": (4, 8)}
_MOST_PIECES = 1024


@record
class Schedule(Record):
    """A collective by an algorithm, as the cost model prices it; blocks are of one byte."""

    collective: str
    ranks: int
    size_bytes: int
    algorithm: str = key("id of the algorithm")
    radix: int = key("children of a rank, or chains, where the algorithm has them", default=2, after="segment_bytes")
    segment_bytes: int = key("bytes of a piece that travels on its own; 0: all at once", default=0)
    within: str = key("node-aware: the algorithm within nodes; reduce-bcast: of the reduce; empty: none", default="")
    between: str = key("node-aware: the algorithm between nodes; reduce-bcast: of the bcast; empty: none", default="")

    @property
    def kept(self) -> bool:
        return self.ranks <= 64

    @property
    def core(self) -> _core.Collective:
        return _core.Collective(
            self.collective, self.algorithm, self.ranks, self.size_bytes, self.segment_bytes, self.radix,
            (self.within, self.between),
        )  # fmt: skip

    def judged(self, placement: _core.Placement) -> _core.Judged | Extrapolated:
        """Return the collective on a placement; of many ranks, extrapolated from fewer. Raises ValueError."""
        most = most_walked(self, placement.most_on_a_node)
        if self.ranks <= most or placement.nodes < _LEAST_NODES:
            return self.core.judged(placement)
        return Extrapolated(self, placement, most)

    def step(self, placement: _core.Placement) -> PhasedStep:
        """Return its messages as a step, round by round, as the kernel ``replay`` carries it out. Raises ValueError."""
        import numpy as np

        from rankwise.observe.phases import PhasedStep

        messages = np.array(self.core.messages(placement), np.int64).reshape(-1, 4)
        rounds = int(messages[-1, 0]) + 1 if len(messages) else 1
        phase, source, dest = (messages[:, i].astype(np.int32) for i in range(3))
        return PhasedStep(phase, source, dest, messages[:, 3].copy(), np.zeros((rounds, self.ranks)))

    @property
    def label(self) -> str:
        words = [self.algorithm]
        if self.algorithm in RADIX:
            words.append(str(self.radix))
        if self.algorithm == "node-aware":
            words[0] = f"node-aware {self.between}"
        if self.segment_bytes:
            words.append(format_size(self.segment_bytes))
        return " ".join(words)

    @staticmethod
    def of(selection: Selection, call: Call) -> Schedule:
        return Schedule(
            call.kind, call.ranks, call.size_bytes, selection.algorithm, selection.radix,
            selection.segment_bytes if selection.segment_bytes < call.size_bytes else 0, selection.within, selection.between,
        )  # fmt: skip


# So many messages take some tenths of a second; beyond, collectives are extrapolated. Up to 4,096 ranks those are walked that
# send little.
_MOST_SQUARED, _MOST_EXACT, _MOST_WALKED, _MOST_MESSAGES, _LEAST_NODES = 128, 4096, 1024, 20_000, 16
_UNEVEN = 0.2  # what extrapolated ones have been off by where the ranks are no power of two


def most_walked(schedule: Schedule, ranks_per_node: int) -> int:
    squared = not {schedule.algorithm, schedule.between}.isdisjoint(SQUARE) or schedule.collective == "alltoall"
    pieces = -(-schedule.size_bytes // schedule.segment_bytes) if schedule.segment_bytes else 1
    walked = _MOST_SQUARED if squared else _MOST_WALKED if schedule.ranks > _MOST_EXACT or pieces > 1 else _MOST_EXACT
    return max(8 * ranks_per_node, min(walked, _MOST_MESSAGES // pieces))


@dataclass(frozen=True)
class ScaledCost:
    """What an extrapolated collective costs, as the core's ``Cost`` has it."""

    time_s: float
    low_s: float
    high_s: float
    messages_per_rank: int
    blocks_per_rank: int
    busiest: tuple[str, int, float, float]


class Extrapolated:
    """A collective of many ranks from those on fewer nodes, filled alike: on so many, and on half of them (or by the radix).

    Algorithms repeat themselves. What twice the ranks add is a round, or as many rounds as there were ranks: of the same bytes;
    of twice as many where each rank's block is passed on; of half where a vector is divided among the ranks. The same rounds
    are the last of a collective of fewer ranks with more or fewer bytes, so that they are priced by the same law.
    """

    kind = "collective"

    def __init__(self, schedule: Schedule, placement: _core.Placement, most: int) -> None:
        import numpy as np

        each, nodes = placement.most_on_a_node, placement.nodes
        factor = schedule.radix if schedule.algorithm in ("k-nomial", "recursive-multiplying") else 2
        base = nodes
        while base * each > most and base >= 2 * factor:
            base //= factor
        if base >= 2 * factor:  # pairs of ranks on either
            base = base // (2 * factor) * 2 * factor
        cyclic = placement.ranks > 1 and placement.node(0) != placement.node(1)
        shares: dict[tuple[int, Schedule], float] = {}
        for halvings, part, share in _parts(schedule, nodes / base, factor):
            on = max(1, base // factor**halvings)
            key = on, replace(part, ranks=on * each)
            shares[key] = shares.get(key, 0.0) + share
        self._spread = 0.0 if schedule.ranks & (schedule.ranks - 1) == 0 else _UNEVEN
        self._walks = []
        for (on, part), share in shares.items():
            placed = (
                _core.Placement.on_nodes(np.arange(part.ranks, dtype=np.int32) % on) if cyclic
                else _core.Placement.blocked(part.ranks, each)
            )  # fmt: skip
            self._walks.append((share, part.core.judged(placed)))

    @property
    def message_blocks(self) -> list[int]:
        return sorted({size for _, walk in self._walks for size in walk.message_blocks})

    def cost(self, block_bytes: int, machine: _core.Machine) -> ScaledCost:
        """Raises ValueError where the machine lacks a link."""
        costs = [(share, walk.cost(block_bytes, machine)) for share, walk in self._walks]
        first = costs[0][1]
        time_s = max(first.time_s, sum(share * cost.time_s for share, cost in costs))
        ratio = time_s / first.time_s if first.time_s > 0 else 1.0
        resource, unit, held_s, size_bytes = first.busiest
        return ScaledCost(
            time_s, first.low_s * ratio * (1 - self._spread), first.high_s * ratio * (1 + self._spread),
            round(sum(share * cost.messages_per_rank for share, cost in costs)),
            round(sum(share * cost.blocks_per_rank for share, cost in costs)),
            (resource, unit, held_s * ratio, size_bytes * ratio),
        )  # fmt: skip


# Of these a vector is divided among the ranks; in those of all blocks, what all ranks have together is passed on in each round.
_DIVIDED = frozenset({
    "rabenseifner", "rabenseifner-halves", "butterfly", "ring", "segmented-ring", "recursive-halving",
    "scatter-doubling-allgather", "scatter-ring-allgather", "pairwise",
})  # fmt: skip
_OF_ALL_BLOCKS = frozenset({("alltoall", "bruck"), ("allgather", "gather-bcast")})


def _parts(schedule: Schedule, times: float, factor: int) -> Iterator[tuple[int, Schedule, float]]:
    """Yield of which collectives one of ``times`` as many ranks is the sum.

    Each: on the nodes divided by the factor to which power, by which schedule, how often.
    """
    size, by_rank = schedule.size_bytes, schedule.collective in BY_RANK
    among = {schedule.algorithm, schedule.between}
    divided = not by_rank and not among.isdisjoint(_DIVIDED)
    doublings = math.log(times, factor)

    def of(size_bytes: float) -> Schedule:
        return replace(schedule, size_bytes=round(size_bytes))

    if any((schedule.collective, one) in _OF_ALL_BLOCKS for one in among):
        yield 0, of(size * times), 1 + doublings
        yield 1, of(size * times * factor), -doublings
    elif not among.isdisjoint(SQUARE) or schedule.collective == "alltoall":
        more = (times - 1) / (1 - 1 / factor)  # rounds or messages of the same bytes
        same = size / times if divided else size
        yield 0, of(same), 1
        longer, shorter = of(same), of(same / factor if divided else same)
        if schedule.algorithm == "scatter-ring-allgather":  # the rounds are the ring's; before it more is scattered
            block = size / schedule.ranks
            longer = shorter = replace(of(block), collective="allgather", algorithm="ring")
            yield from _doubled(replace(schedule, collective="scatter", algorithm="binomial"), block, factor, doublings)
        yield 0, longer, more
        yield 1, shorter, -more
    else:
        yield 0, of(size), 1
        yield from _doubled(schedule, size, factor if by_rank else 1 / factor if divided else 1, doublings)
        if schedule.algorithm == "binomial-in-order":  # before a further child those that were there have their turn
            for doubling in range(math.ceil(doublings)):
                before, twice, share = size * factor**doubling, size * factor ** (doubling + 1), doublings - doubling
                yield from ((0, of(before), share), (1, of(before), -share), (1, of(twice), -share), (2, of(twice), share))


def _doubled(schedule: Schedule, size: float, scale: float, doublings: float) -> Iterator[tuple[int, Schedule, float]]:
    """Yield what so many doublings of the ranks add: each the last round of the ranks walked, of ``scale`` times the bytes."""
    for doubling in range(1, math.ceil(doublings) + 1):
        share = min(1.0, doublings - doubling + 1)
        part = replace(schedule, size_bytes=round(size * scale**doubling))
        yield 0, part, share
        yield 1, part, -share


@cache
def candidates_of(collective: str, ranks: int, size_bytes: int, several_nodes: bool) -> tuple[Schedule, ...]:
    """Return what a collective may be done by: all algorithms, with some segments and radices."""
    found: list[Schedule] = []
    plain = collective.removesuffix("_block")
    table = [one for one in _core.collective_algorithms() if one.collective == plain]
    for one in table:
        if one.needs_nodes:
            flat = [other for other in table if not other.needs_nodes and other.id not in ("linear", "reduce-bcast")]
            found += [
                Schedule(collective, ranks, size_bytes, one.id, within="binomial", between=other.id)
                for other in flat if several_nodes
            ]  # fmt: skip
            continue
        pieces = pieces_of(one.id, ranks, size_bytes, _SEGMENTS, _MOST_PIECES) if one.segments else []
        found += [
            Schedule(collective, ranks, size_bytes, one.id, radix, segment)
            for radix in RADIX.get(one.id, (2,)) for segment in (0, *pieces)
        ]  # fmt: skip
    return tuple(found)


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
    return Span.sum([between, *(Span(*one) for one in found)])


def _stages(call: Call) -> Iterator[tuple[str, int, int]]:
    """Yield the collectives within nodes that a node-aware one has: which, of how many ranks, of which size."""
    nodes, each = call.nodes
    for kind in filter(None, _STAGES[call.kind]):
        yield kind, each, call.size_bytes * (each * nodes if (call.kind, kind) == ("allgather", "bcast") else 1)
