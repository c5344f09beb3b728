"""Times between all pairs of nodes that never were: healthy spreads, noise, bursts, drift, and the faults one asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rankwise.arrays import Floats
from rankwise.measure.all_pairs import confirmation_rounds
from rankwise.measure.slow_nodes import (
    CONFIRMATIONS,
    MOST_SWEEPS,
    Effects,
    Finding,
    Partners,
    Times,
    candidates,
    decompose,
    least_sweeps,
    not_explained,
    slow_nodes,
    slow_pairs,
)

SIZE_BYTES = 1_000_000


def circle(order: Sequence[int]) -> Partners:
    """Return each node's partner (-1: none) in all rounds of the circle method, a row a round."""
    nodes = len(order)
    rounds = nodes + nodes % 2 - 1
    place = np.arange(nodes)
    of_place = (np.arange(rounds)[:, None] - place) % rounds
    of_place = np.where(of_place == place, rounds, of_place)  # who would meet itself meets the last
    if nodes % 2 == 0:
        of_place[:, -1] = [np.flatnonzero(row[:-1] == rounds)[0] for row in of_place]
    partner = np.full((rounds, nodes), -1)
    there = of_place < nodes
    ordered = np.asarray(order)
    rows, columns = np.nonzero(there)
    partner[rows, ordered[columns]] = ordered[of_place[rows, columns]]
    return partner


@dataclass
class Fleet:
    """Nodes whose times are a round's level times what sender, receiver, pair and chance add, all in logs."""

    nodes: int
    rng: np.random.Generator
    spread: float = 0.02  # between healthy nodes, of sends and receives apart
    noise: float = 0.05
    burst_share: float = 0.02
    sends: dict[int, float] = field(default_factory=dict)  # ratios of what is slow
    receives: dict[int, float] = field(default_factory=dict)
    pairs: dict[tuple[int, int], float] = field(default_factory=dict)  # from and to

    def __post_init__(self) -> None:
        self._sends = self.rng.normal(0, self.spread, self.nodes)
        self._receives = self.rng.normal(0, self.spread, self.nodes)
        for effects, slow in ((self._sends, self.sends), (self._receives, self.receives)):
            for node, ratio in slow.items():
                effects[node] = math.log(ratio)

    def times(self, partner: Partners, sweep: int) -> Times:
        """Return what would be measured in rounds of these partners."""
        to = np.maximum(partner, 0)
        level = np.cumsum(self.rng.normal(0, 0.02, (len(partner), 1)), axis=0)
        log_s = level + self._sends + self._receives[to] + self.rng.normal(0, self.noise, partner.shape)
        burst = self.rng.random(partner.shape) < self.burst_share
        log_s += np.where(burst, np.log(self.rng.uniform(1.5, 4.0, partner.shape)), 0.0)
        for (a, b), ratio in self.pairs.items():
            log_s[partner[:, a] == b, a] += math.log(ratio)
        return Times(np.where(partner < 0, np.nan, log_s), partner, np.full(len(partner), sweep))

    def sweep(self, number: int) -> Times:
        return self.times(circle(self.rng.permutation(self.nodes).tolist()), number)

    def judge(self) -> tuple[Effects, list[Finding]]:
        """Measure sweeps until they suffice, and candidates again, as the program does; return what was found."""
        parts = [self.sweep(number) for number in range(least_sweeps(self.nodes))]
        while not (effects := decompose(joined(parts))).sees_enough and len(parts) < MOST_SWEEPS:
            parts.append(self.sweep(len(parts)))
        judged = np.ones(self.nodes, dtype=bool)
        again = candidates(effects, judged)
        rounds = confirmation_rounds(again, self.nodes, CONFIRMATIONS, int(self.rng.integers(1 << 30)))
        partner = np.full((len(rounds), self.nodes), -1)
        for row, pairs in zip(partner, rounds, strict=True):
            for a, b in pairs:
                row[a], row[b] = b, a
        found = slow_nodes(effects, SIZE_BYTES, judged)
        return effects, [*found, *not_explained(slow_pairs(effects, self.times(partner, len(parts)), again, SIZE_BYTES), found)]


def joined(parts: Sequence[Times]) -> Times:
    log_s: Floats = np.concatenate([part.log_s for part in parts])
    return Times(log_s, np.concatenate([part.partner for part in parts]), np.concatenate([part.sweep for part in parts]))
