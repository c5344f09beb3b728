"""Thakur, Rabenseifner, Gropp (2005), section 4.1: steps and bytes of two all-gathers, each counted by doing it.

Published: the ring takes p - 1 steps, recursive doubling lg p; by either a rank receives the p - 1 blocks of the others.
"""

from __future__ import annotations

from collections.abc import Callable

from rankwise.blocks import text_table
from rankwise.report.reproduction import Reproduction, Section

RANKS = (2, 8, 64, 512)


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


def reproduce() -> Reproduction:
    """Return the table, and whether it is as published."""
    rows = [(p, *counted(_ring, p), *counted(_doubling, p)) for p in RANKS]
    holds = all(row[1:] == (p - 1, p - 1, p.bit_length() - 1, p - 1) for p, *_ in rows for row in rows if row[0] == p)
    said = "As published" if holds else "Other than published"
    header = ("ranks", "ring: steps", "blocks received", "doubling: steps", "blocks received")
    texts = [[str(cell) for cell in row] for row in rows]
    table = text_table(header, texts, name="thakur2005_steps", caption="Counted by doing both")
    answer = [f"{said}: p - 1 steps of the ring and lg p of recursive doubling bring the same bytes."]
    return Reproduction(
        "thakur2005", "Two all-gathers", answer, [Section("steps", "Steps and bytes", answer, [table])],
        {"rows": rows, "holds": holds}, ["section 4.1"], "rankwise reproduce thakur2005",
    )  # fmt: skip
