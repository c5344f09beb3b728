"""Whose turn it is in a measurement: which part starts its ranks next, for how long, and which cells it visits.

Many short launches tell more than few long ones, for launches differ more than samples do: each takes some tenths of a second
and visits every cell. What a visit costs is learned in a part's first launch, which goes from small messages to large ones;
on a slow link later launches visit all the cells that fit, and of the dear ones those that were visited least.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwise.machine.link import LEAST_SIZES
from rankwise.measure.workloads import Cell, Part, bytes_in_a_row

CHEAP_LAUNCH_S = 0.3
LEAST_LAUNCHES = 10  # where the time holds them
LEAST_DEAR = 5  # where launches are dear; starting the ranks of so many is not taken from the time
LEAST_ASIDE = 2
FEW_SAMPLES, MANY_SAMPLES = 30, 200  # of one visit at most: of many launches, of launches that are few or dear
_DEAR_START_S = 1.0
_FIRST_SHARE = 0.25  # of a part's time for its first launch at most
_FIRST_BUDGET_S = 1e-3  # of a visit in it
_ALWAYS_SHARE = 2 / 3  # of a launch for the cells that every launch visits, where not all fit
# Of a part's time for each of the launches that there are at least, also where the first ones took too long.
_LEAST_SHARE = 0.06
_LEAST_S = 0.02
_UNSEEN_ROUNDS = 2  # that a visit makes at least: one that is checked, and a sample
_UNSEEN_S = 1e-3
_REACH = 4  # times the largest size seen: what larger ones take is not known
# Of a launch beyond its time, for cells without which there is no model, on a machine too busy to come to them.
PATIENCE_S = 20.0


@dataclass(frozen=True)
class Seen:
    """What visits of a cell were like: how many there were, and of the last one
    how long a sample took, and all besides samples."""

    visits: int
    sample_s: float
    beside_s: float

    def then(self, sample: Mapping[str, Any]) -> Seen:
        times_s = sorted(sample["time_s"])
        lasted_s = float(sample.get("visit_s", 1.5 * sum(times_s)))
        return Seen(self.visits + 1, times_s[len(times_s) // 2], max(0.0, lasted_s - sum(times_s)))


@dataclass(frozen=True)
class Turn:
    """The next launch of a part: the cells in their order, samples' time of one visit, and for how long at most, apart from the
    first cells, the ``needed`` ones."""

    cells: tuple[Cell, ...]
    budget_s: float
    seconds: float
    needed: int = 0


@dataclass
class Progress:
    """One part of a link class under way."""

    link: str
    index: int  # of the part in its link class
    part: Part
    cells: tuple[Cell, ...]
    share: float  # of the campaign's time
    asked: int | None  # launches, or as many as the time holds
    wanted: int = LEAST_LAUNCHES  # where the time holds them
    launches: int = 0  # that came to their end
    spent_s: float = 0.0
    starts_s: float = 0.0
    seen: dict[Cell, Seen] = field(default_factory=dict)
    cut: set[Cell] = field(default_factory=set)  # visited in a launch that was cut off
    precise: bool = False

    @property
    def aside(self) -> bool:
        return bool(self.part.aside)

    @property
    def most(self) -> int:
        """How many samples a visit takes at most."""
        return FEW_SAMPLES if self.asked is None and self.start_s() < _DEAR_START_S else MANY_SAMPLES

    @property
    def least(self) -> int:
        """How many launches there are whatever they cost."""
        return self.asked or (LEAST_ASIDE if self.aside else LEAST_DEAR)

    def note(self, sample: Mapping[str, Any], cell: Cell) -> None:
        """Take in what a visit was like."""
        self.seen[cell] = self.seen.get(cell, Seen(0, 0.0, 0.0)).then(sample)

    def ended(self, witness: Mapping[str, Any]) -> None:
        """Count a launch that came to its end, by its witness."""
        measuring_s = float(witness["measuring_s"])
        start_s = max(0.0, float(witness["seconds"]) - measuring_s)
        self.starts_s += start_s
        self.spent_s += measuring_s + (start_s if self.launches >= self.least else 0.0)
        self.launches += 1
        self.cut.clear()

    def left_out(self) -> int:
        """Count the planned visits that were not made: of each cell in each launch asked for, or one at all."""
        seen = {cell: self.seen[cell].visits if cell in self.seen else 0 for cell in self.cells}
        return sum(max(0, (self.launches if self.asked else 1) - visits) for visits in seen.values())

    def start_s(self) -> float:
        """Return what starting and ending the ranks takes, in the mean."""
        return self.starts_s / self.launches if self.launches else 0.0

    def cost_s(self, cell: Cell, budget_s: float, byte_s: float) -> float:
        """Return what a visit is expected to take."""
        if (seen := self.seen.get(cell)) is not None:
            return seen.beside_s + max(seen.sample_s, min(self.most * seen.sample_s, budget_s))
        return _UNSEEN_S + max(_UNSEEN_ROUNDS * bytes_in_a_row(*cell) * byte_s, budget_s)

    def is_done(self, left_s: float) -> bool:
        """Whether there is no further launch, with so much left of its time."""
        if self.asked is not None:
            return self.launches >= self.asked or self.precise
        return self.precise or (self.launches >= self.least and left_s <= self.start_s() + _LEAST_S)

    def turn(self, left_s: float, byte_s: float, seed: int) -> Turn:
        """Return the next launch, with so much left of its time; ``byte_s`` is
        a byte's time over this link, as far as known."""
        rng = random.Random(f"{seed}/{self.launches}/{self.link}/{self.index}")
        cells = list(self.cells)
        if self.launches or not self.aside:  # a first launch of those aside goes by what tells most
            rng.shuffle(cells)
        seconds = self._seconds(left_s, byte_s)
        if self.launches == 0 and not self.aside:
            # What the time cuts off is what would have taken most of it.
            cells.sort(key=lambda cell: bytes_in_a_row(*cell))
            budget_s = _FIRST_BUDGET_S if self.asked is None else 0.8 * seconds / len(cells)
        else:
            chosen = self._fitting(seconds, byte_s)
            cells = [cell for cell in cells if cell in chosen]
            budget_s = self._budget_s(cells, seconds, byte_s)
        needed = self.needed()
        cells = [*needed, *(cell for cell in cells if cell not in self.cut and cell not in needed)]
        cap_s = max(seconds, left_s if self.asked == 1 else min(1.5 * seconds, left_s))
        return Turn(tuple(cells), budget_s, cap_s, len(needed))

    def needed(self) -> list[Cell]:
        """Return the cells without which there is no model, and that no launch has come to yet."""
        sends = sorted(cell for cell in self.cells if cell[0] == "send" and not self.aside)
        unseen = [cell for cell in sends if cell not in self.seen]
        return unseen[: max(0, LEAST_SIZES - len(sends) + len(unseen))]

    def _seconds(self, left_s: float, byte_s: float) -> float:
        """Return for how long the next launch is to measure."""
        if self.asked is not None:
            return max(left_s / max(1, self.asked - self.launches), _LEAST_S)
        all_s = sum(self.cost_s(cell, 0.0, byte_s) for cell in self.cells if self.aside or cell in self.seen)
        free = max(0, self.least - self.launches)  # launches whose start is not taken from the time
        if self.launches == 0:
            first = max(all_s, CHEAP_LAUNCH_S) if self.aside else math.inf
            share = 1 / self.least if self.aside else _FIRST_SHARE
            return max(min(first, share * left_s), _LEAST_S)
        start_s = self.start_s()
        holds = left_s / (start_s + max(CHEAP_LAUNCH_S, all_s))
        at_most = left_s / max(start_s + all_s, 1e-6)
        wanted = 0 if self.aside else self.wanted - self.launches
        ahead = max(1, free, int(min(max(wanted, holds), at_most)))
        floor_s = _LEAST_SHARE * (left_s + self.spent_s) if free else 0.0
        return max((left_s - start_s * max(0, ahead - free)) / ahead, floor_s, _LEAST_S)

    def _fitting(self, seconds: float, byte_s: float) -> set[Cell]:
        """Return the cells that a launch of so many seconds visits: the cheap ones, and in turn those that are dear."""
        costs_s = {cell: self.cost_s(cell, 0.0, byte_s) for cell in self.cells}
        visits = {cell: self.seen[cell].visits if cell in self.seen else 0 for cell in self.cells}
        chosen: set[Cell] = set()
        spent_s = 0.0
        if not self.aside:  # where those that tell most come first
            for cell in sorted(filter(self._within_reach, self.cells), key=lambda cell: costs_s[cell]):
                if spent_s + costs_s[cell] > _ALWAYS_SHARE * seconds and sum(costs_s.values()) > seconds:
                    break
                chosen.add(cell)
                spent_s += costs_s[cell]
        # Of a part aside the first cell is what its result is made of: it is in every launch.
        key = (
            (lambda cell: (cell != self.cells[0], visits[cell])) if self.aside else (lambda cell: (visits[cell], costs_s[cell]))
        )
        for cell in sorted((cell for cell in self.cells if cell not in chosen and self._within_reach(cell)), key=key):
            if spent_s + costs_s[cell] <= seconds or not chosen:
                chosen.add(cell)
                spent_s += costs_s[cell]
        return chosen

    def _within_reach(self, cell: Cell) -> bool:
        """Whether what a visit takes can be known: a link may pass small messages at once that is far slower for large ones."""
        operation, size = cell
        seen = [known for name, known in self.seen if name == operation]
        unseen = [
            other
            for name, other in self.cells
            if name == operation and (name, other) not in self.seen and other > max(seen, default=0)
        ]
        return not seen or size <= _REACH * max(seen) or size == min(unseen, default=size)

    def _budget_s(self, cells: Sequence[Cell], seconds: float, byte_s: float) -> float:
        """Return the time of one visit's samples with which all cells together take so long."""
        low, high = 1e-6, max(seconds, 2e-6)
        for _ in range(30):
            middle = math.sqrt(low * high)
            if sum(self.cost_s(cell, middle, byte_s) for cell in cells) > 0.8 * seconds:
                high = middle
            else:
                low = middle
        return low


def left_of(progresses: Sequence[Progress], seconds: float) -> list[float]:
    """Return what is left for each part of a campaign of so many seconds: its share, and of what those left over that are done.

    Parts aside get no more than their share.
    """
    left_s = [progress.share * seconds - progress.spent_s for progress in progresses]
    done = [progress.is_done(own_s) for progress, own_s in zip(progresses, left_s, strict=True)]
    over_s = sum(own_s for own_s, is_done in zip(left_s, done, strict=True) if is_done)
    takers = sum(p.share for p, is_done in zip(progresses, done, strict=True) if not is_done and not p.aside)
    return [
        own_s + over_s * progress.share / takers if not is_done and not progress.aside else own_s
        for progress, own_s, is_done in zip(progresses, left_s, done, strict=True)
    ]


def next_of(progresses: Sequence[Progress], seconds: float) -> tuple[Progress, float] | None:
    """Return the part that is farthest behind its share, and what is left for it; None where all are done.

    Parts aside do not go on by themselves once all others are known precisely.
    """
    left_s = left_of(progresses, seconds)
    known = all(p.precise for p in progresses if not p.aside)
    waiting = [
        (own_s / progress.share, -i)
        for i, (progress, own_s) in enumerate(zip(progresses, left_s, strict=True))
        if not progress.is_done(own_s) and not (known and progress.aside and progress.launches >= progress.least)
    ]
    if not waiting:
        return None
    i = -max(waiting)[1]
    return progresses[i], left_s[i]
