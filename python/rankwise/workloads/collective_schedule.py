"""A collective by an algorithm, as it is priced, and what it may be done by; of many ranks it is extrapolated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from rankwise import _core
from rankwise.collectives.selection import Call, Selection
from rankwise.units import format_size

if TYPE_CHECKING:
    from rankwise.observe.phases import PhasedStep

_SEGMENTS = (8192, 65536, 262144)
RADIX = {"chain": (2, 4), "tree": (2,), "k-nomial": (4, 8), "recursive-multiplying": (4, 8)}
_MOST_PIECES = 1024
# Of these every rank sends to every other, or as often.
_SQUARE = frozenset(
    "ring segmented-ring linear linear-nonblocking pairwise pairwise-exchange in-place neighbor-exchange double-ring pipeline "
    "chain scatter-ring-allgather".split()
)


@dataclass(frozen=True)
class Schedule:
    """A collective by an algorithm, as the cost model prices it; blocks are of one byte."""

    collective: str
    ranks: int
    size_bytes: int
    algorithm: str
    radix: int = 2
    segment_bytes: int = 0
    within: str = ""
    between: str = ""

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
        most = _most_walked(self, placement.most_on_a_node)
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


# So many messages take some tenths of a second; beyond, collectives are extrapolated.
_MOST_SQUARED, _MOST_WALKED, _LEAST_NODES = 256, 1024, 16


def _most_walked(schedule: Schedule, ranks_per_node: int) -> int:
    squared = not {schedule.algorithm, schedule.between}.isdisjoint(_SQUARE) or schedule.collective == "alltoall"
    pieces = -(-schedule.size_bytes // schedule.segment_bytes) if schedule.segment_bytes else 1
    return max(8 * ranks_per_node, min(_MOST_SQUARED if squared else _MOST_WALKED, 100_000 // pieces))


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
    """A collective of many ranks from three of fewer nodes, each twice as many (or radix times), filled alike.

    Each doubling of the nodes adds rounds: as many as before where an algorithm has log2 P of them, twice as many where it has
    P; and their bytes grow alike, or shrink where a vector is divided among the ranks. So what a doubling adds, at no bytes
    and for the bytes, is a geometric series, whose ratio the three tell.
    """

    kind = "several steps in flight"

    def __init__(self, schedule: Schedule, placement: _core.Placement, most: int) -> None:
        import numpy as np

        each, nodes = placement.most_on_a_node, placement.nodes
        factor = schedule.radix if schedule.algorithm in ("k-nomial", "recursive-multiplying") else 2
        base = nodes
        while base * each > most and base >= 4 * factor**2:
            base //= factor
        base = max(2, base // factor**2 // 2 * 2)
        self._steps = math.log(nodes / (factor**2 * base), factor)
        cyclic = placement.ranks > 1 and placement.node(0) != placement.node(1)
        self._walks = []
        for count in (base, factor * base, factor**2 * base):
            ranks = count * each
            places = np.arange(ranks, dtype=np.int32) % count
            placed = _core.Placement.on_nodes(places) if cyclic else _core.Placement.blocked(ranks, each)
            few = replace(schedule, ranks=ranks)
            self._walks.append((few.core.judged(placed), replace(few, size_bytes=0).core.judged(placed)))

    @property
    def message_blocks(self) -> list[int]:
        return list(self._walks[-1][0].message_blocks)

    def cost(self, block_bytes: int, machine: _core.Machine) -> ScaledCost:
        """Raises ValueError where the machine lacks a link."""
        whole = [walk.cost(block_bytes, machine) for walk, _ in self._walks]
        empty_s = [walk.cost(block_bytes, machine).time_s for _, walk in self._walks]
        bytes_s = [cost.time_s - time_s for cost, time_s in zip(whole, empty_s, strict=True)]
        last = whole[-1]
        time_s = self._grown(empty_s) + self._grown(bytes_s)
        ratio = time_s / last.time_s if last.time_s > 0 else 1.0
        resource, unit, held_s, size_bytes = last.busiest
        return ScaledCost(
            time_s, last.low_s * ratio, last.high_s * ratio, round(self._grown([cost.messages_per_rank for cost in whole])),
            round(self._grown([cost.blocks_per_rank for cost in whole])), (resource, unit, held_s * ratio, size_bytes * ratio),
        )  # fmt: skip

    def _grown(self, values: Sequence[float]) -> float:
        first, second = values[1] - values[0], values[2] - values[1]
        ratio = min(4.0, max(0.25, second / first)) if first > 0 and second > 0 else 1.0
        steps = self._steps
        return values[2] + second * (steps if abs(ratio - 1) < 1e-6 else ratio * (ratio**steps - 1) / (ratio - 1))


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
        pieces = [size for size in _SEGMENTS if size < size_bytes <= size * _MOST_PIECES] if one.segments else []
        found += [
            Schedule(collective, ranks, size_bytes, one.id, radix, segment)
            for radix in RADIX.get(one.id, (2,)) for segment in (0, *pieces)
        ]  # fmt: skip
    return tuple(found)
