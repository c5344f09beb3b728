"""Thakur, Rabenseifner, Gropp (2005), section 4.1: steps and bytes of two all-gathers, each counted by doing it.

Published: the ring takes p - 1 steps, recursive doubling lg p; by either a rank receives the p - 1 blocks of the others.
"""

from __future__ import annotations

from collections.abc import Callable

from rankwise.blocks import Column, Table
from rankwise.papers.claims import Tally
from rankwise.records import Record, key, record, told
from rankwise.report.reproduction import Reproduction, Section

RANKS = (2, 8, 64, 512)


@record
class Row(Record):
    """Both all-gathers of so many ranks."""

    ranks: int = key("ranks that take part")
    ring_steps: int = key("steps of the ring")
    ring_blocks: int = key("blocks that a rank receives by the ring")
    doubling_steps: int = key("steps of recursive doubling")
    doubling_blocks: int = key("blocks that a rank receives by recursive doubling")

    @property
    @told("whether all is as published")
    def holds(self) -> bool:
        steps = self.ring_steps == self.ranks - 1 and self.doubling_steps == self.ranks.bit_length() - 1
        return steps and self.ring_blocks == self.doubling_blocks == self.ranks - 1


@record
class Figures(Record):
    """Two all-gathers, counted."""

    rows: list[Row] = key("by number of ranks")
    holds: bool = key("whether all rows are as published")


def _ring(rank: int, step: int, ranks: int) -> tuple[int, set[int]]:
    """Return from whom a rank receives in a step, and which blocks."""
    return (rank - 1) % ranks, {(rank - step - 1) % ranks}


def _doubling(rank: int, step: int, ranks: int) -> tuple[int, set[int]]:
    peer = rank ^ 1 << step
    first = peer >> step << step
    return peer, set(range(first, first + (1 << step)))


def counted(receive: Callable[[int, int, int], tuple[int, set[int]]], ranks: int) -> tuple[int, int]:
    """Return the steps until every rank has every block, and how many blocks a rank receives."""
    held = [{rank} for rank in range(ranks)]
    steps = received = 0
    while min(map(len, held)) < ranks:
        before = [set(blocks) for blocks in held]
        for rank, blocks in enumerate(held):
            peer, new = receive(rank, steps, ranks)
            blocks |= new & before[peer]
        received += len(receive(0, steps, ranks)[1])
        steps += 1
    return steps, received


_COLUMNS = (
    Column("ranks", "ranks"),
    Column("ring: steps", "ring_steps"),
    Column("blocks received", "ring_blocks"),
    Column("doubling: steps", "doubling_steps"),
    Column("blocks received", "doubling_blocks"),
)


def reproduce() -> Reproduction:
    """Return the table, and whether it is as published."""
    rows = [Row(p, *counted(_ring, p), *counted(_doubling, p)) for p in RANKS]
    found = Tally(rows)
    table = Table(_COLUMNS, rows, name="thakur2005_steps", caption="Counted by doing both")
    said = "Other than published" if found.wrong else "As published"
    answer = [f"{said}: p - 1 steps of the ring and lg p of recursive doubling bring the same bytes."]
    return Reproduction(
        "thakur2005", "Two all-gathers", answer, [Section("steps", "Steps and bytes", answer, [table])],
        Figures(rows, not found.wrong), ["section 4.1"], "rankwise reproduce thakur2005",
    )  # fmt: skip
