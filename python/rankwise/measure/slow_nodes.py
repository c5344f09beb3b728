"""Which node, direction or cable is slow: times between all pairs taken apart into what each sender, receiver and pair adds.

The logarithm of the time from i to j is a round's effect + sends[i] + receives[j] + residual[i, j], found by sweeps of medians
(Tukey's median polish), so that a few slow ones do not move what the others are held against. Medians of an even number are the
lower of the middle two: what is wrong makes times longer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.arrays import Floats
from rankwise.distributions import t_quantile
from rankwise.statistics import NORMAL_PER_MAD

Partners = NDArray[np.int64]

LEAST_RATIO = 1.1  # what is slower by less is no finding
ASKED_RATIO = 1.2  # what a campaign must be able to see
NOISE_ASKED = 0.04  # of the log of a pair's time, over all sweeps
CONFIRMATIONS = 7
_CONFIRMED = 0.8  # of the repetitions must be slow: 6 of 7
_ALARM = 0.01  # probability of a finding where there is none, for nodes and for pairs of one size
_POLISHES = 3
_OWN_FAULT = 4.0  # a pair whose residual is so many standard deviations is left out when its nodes are judged
_MEDIAN_COST = 1.25  # a median's standard error against a mean's
_POWER_95 = 1.645
_CANDIDATES_PER_NODE = 4
MOST_SWEEPS = 12


@dataclass(frozen=True)
class Times:
    """Times of one size: a row a round, a column a sender.

    ``log_s`` is NaN where a node sent nothing or is not to be counted; ``partner`` is who it streamed to and from, -1 for
    nobody;
    ``sweep`` the number of the sweep that a round is of.
    """

    log_s: Floats
    partner: Partners
    sweep: Partners

    @property
    def sweeps(self) -> int:
        return int(np.unique(self.sweep).size)


@dataclass(frozen=True)
class Effects:
    """What each node and pair adds to the log of a time, at one size; medians of ``sends`` and ``receives`` are 0."""

    sends: Floats
    receives: Floats
    residual: Floats  # from row to column, the median over sweeps; NaN where no time is
    noise: float  # standard deviation of one time, by the median absolute deviation
    pair_noise: float  # of ``residual``
    sweeps: int
    half_width: float  # of the 95 % interval of an effect
    error: float  # standard error of an effect
    thresholds: tuple[float, float, float]  # that sends, receives and their mean are held against
    pairs: int

    def visible_node(self) -> float:
        """Return the ratio from which on a slow node or direction is found with 95 % probability."""
        return math.exp(max(self.thresholds[:2]) + _POWER_95 * self.error)

    def visible_pair(self) -> float:
        """Return the same of a pair that is slow both ways."""
        error = self.confirmation_error(self.noise, CONFIRMATIONS, 8)
        confirmed = self.confirmation_threshold(max(1, self.pairs // 100), error) + _POWER_95 * error
        return math.exp(max(self.candidate_threshold + _POWER_95 * _MEDIAN_COST * self.pair_noise, confirmed))

    @property
    def sees_enough(self) -> bool:
        """Whether a further sweep is needless."""
        visible = max(self.visible_node(), self.visible_pair())
        return self.noise / math.sqrt(self.sweeps) <= NOISE_ASKED and visible <= ASKED_RATIO

    @property
    def candidate_threshold(self) -> float:
        return max(math.log(LEAST_RATIO) / 2, 1.5 * self.pair_noise)

    def confirmation_error(self, noise: float, repetitions: int, others: int) -> float:
        """Return the standard error of a candidate's residual, of so many repetitions against so many other times."""
        return math.hypot(_MEDIAN_COST * noise * math.sqrt((1 + 1 / others) / repetitions), math.sqrt(2) * self.error)

    def confirmation_threshold(self, tests: int, error: float) -> float:
        freedom = max(2.0, 2.0 * self.pairs * self.sweeps - len(self.sends))
        return max(math.log(LEAST_RATIO), t_quantile(1 - _ALARM / tests, freedom) * error)


@dataclass(frozen=True)
class Finding:
    """Something slow. ``kind``: leaf, node, sends, receives, pair, or one-way (from the first host to the second)."""

    kind: str
    nodes: tuple[int, ...]
    ratio: float
    low: float
    high: float
    size_bytes: int
    other_ratio: float | None = None  # of the direction that is sound
    confirmed: tuple[int, int] | None = None  # of a pair: slow in so many of so many repetitions
    leaf: str | None = None


def least_sweeps(nodes: int) -> int:
    """Return how many sweeps there are at least: with few nodes each has few rounds."""
    return 3 if nodes < 64 else 1


def low_median(values: Floats, axis: int) -> Floats:
    """Return the lower median along an axis, which stays with length 1; NaN are left out, NaN where nothing else is."""
    ordered = np.sort(values, axis=axis)
    count = np.sum(~np.isnan(values), axis=axis, keepdims=True)
    return np.asarray(np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0), axis=axis), dtype=np.float64)


def decompose(times: Times, figures: int = 1) -> Effects:
    """Take the times of one size apart. ``figures``: how many sizes are judged together."""
    log_s, nodes = times.log_s, times.log_s.shape[1]
    kept = log_s
    # Again without pairs that are slow by themselves: among few nodes one such pair moves both its nodes' medians.
    for _ in range(2):
        sends, receives, error = _polished(log_s, kept, times.partner)
        residual = _by_pairs(error, times)
        slow = residual > max(math.log(LEAST_RATIO), _OWN_FAULT * _spread(residual))
        slow &= (3 * slow.sum(axis=1, keepdims=True) <= nodes - 1) & (3 * slow.sum(axis=0, keepdims=True) <= nodes - 1)
        kept = np.where(slow[np.arange(nodes), np.maximum(times.partner, 0)], np.nan, log_s)
    values, pairs = int(np.sum(~np.isnan(error))), int(np.sum(~np.isnan(residual)))
    own = 2 * nodes - 1
    noise = _spread(error) * _fitted_away(values, own + len(log_s))
    pair_noise = _spread(residual) * _fitted_away(pairs, own)
    rounds = max(1.0, pairs / nodes)
    se = _MEDIAN_COST * max(pair_noise, noise / math.sqrt(times.sweeps)) / math.sqrt(rounds)
    freedom = max(2.0, pairs - own)
    quantile = t_quantile(1 - _ALARM / (3 * nodes * figures), freedom)
    small = nodes / (nodes - 1.2)  # the deviation of few values is too small in the mean (Croux & Rousseeuw 1992)
    thresholds = [
        max(quantile * max(small * _spread(effect), of_effect), math.log(LEAST_RATIO))
        for effect, of_effect in ((sends, se), (receives, se), ((sends + receives) / 2, se / math.sqrt(2)))
    ]
    return Effects(
        sends, receives, residual, noise, pair_noise, times.sweeps, t_quantile(0.975, freedom) * se, se,
        (thresholds[0], thresholds[1], thresholds[2]), pairs // 2,
    )  # fmt: skip


def _polished(log_s: Floats, kept: Floats, partner: Partners) -> tuple[Floats, Floats, Floats]:
    """Return sends, receives and what they leave of all times, by sweeps of medians of those that are kept."""
    sends, receives = np.zeros(log_s.shape[1]), np.zeros(log_s.shape[1])
    to = np.maximum(partner, 0)
    # A round's level stays as it is first found: among four nodes a slow pair could else become its nodes' fault and its
    # round's.
    above = kept - low_median(kept, axis=1)
    for _ in range(_POLISHES):
        sends = _centred(low_median(above - receives[to], axis=0)[0])
        receives = _centred(low_median(_received(above - sends, partner), axis=0)[0])
    of_round = low_median(kept - sends - receives[to], axis=1)
    return sends, receives, log_s - sends - receives[to] - of_round


def _centred(effects: Floats) -> Floats:
    effects = np.where(np.isnan(effects), 0.0, effects)
    return np.asarray(effects - np.median(effects))


def _received(values: Floats, partner: Partners) -> Floats:
    """Turn what each sender has into what each receiver has of it: column j holds the value of its partner."""
    return np.asarray(
        np.where(partner < 0, np.nan, np.take_along_axis(values, np.maximum(partner, 0), axis=1)), dtype=np.float64
    )


def _by_pairs(values: Floats, times: Times) -> Floats:
    nodes = values.shape[1]
    sweeps = np.unique(times.sweep)
    by_sweep = np.full((len(sweeps), nodes, nodes), np.nan)
    rows, senders = np.nonzero(times.partner >= 0)
    by_sweep[np.searchsorted(sweeps, times.sweep[rows]), senders, times.partner[rows, senders]] = values[rows, senders]
    return np.asarray(low_median(by_sweep, axis=0)[0], dtype=np.float64)


def _spread(values: Floats) -> float:
    """Return the standard deviation that the median absolute deviation of normal values would tell."""
    flat = values[~np.isnan(values)]
    return float(NORMAL_PER_MAD * np.median(np.abs(flat - np.median(flat)))) if flat.size else math.inf


def _fitted_away(values: int, parameters: int) -> float:
    """Return how much larger deviations were before so many parameters were fitted to the values."""
    return math.sqrt(values / max(1, values - parameters)) if values else 1.0


def slow_nodes(
    effects: Effects, size_bytes: int, judged: NDArray[np.bool_], leaf_of: Sequence[str | None] = ()
) -> list[Finding]:
    """Name slow nodes, those slow in one direction, and leaf switches of whose nodes more than half are slow alike.

    ``judged`` says of which nodes something may be said; ``leaf_of`` holds each node's leaf switch where that is known.
    """
    findings = []
    sends, receives = effects.sends.copy(), effects.receives.copy()
    leaves = sorted({leaf for leaf in leaf_of if leaf is not None})
    for leaf in leaves:
        inside = np.array([name == leaf for name in leaf_of]) & judged
        if inside.sum() < 2 or 2 * inside.sum() > judged.sum():
            continue
        for kind, effect in (("node", (sends + receives) / 2), ("sends", sends), ("receives", receives)):
            typical = float(np.median(effect[inside]))
            slow = [_kind(effects, sends[i], receives[i]) for i in np.flatnonzero(inside)]
            if 2 * slow.count(kind) > len(slow):
                width = effects.half_width / math.sqrt(float(inside.sum()))
                findings.append(_finding("leaf", np.flatnonzero(inside), (typical, width), size_bytes, leaf=leaf))
                sends[inside] -= typical if kind != "receives" else 0.0
                receives[inside] -= typical if kind != "sends" else 0.0
                break
    for i in np.flatnonzero(judged):
        kind_of = _kind(effects, sends[i], receives[i])
        if kind_of is None:
            continue
        effect = {"node": (sends[i] + receives[i]) / 2, "sends": sends[i], "receives": receives[i]}[kind_of]
        other = {"node": None, "sends": math.exp(receives[i]), "receives": math.exp(sends[i])}[kind_of]
        width = effects.half_width / (math.sqrt(2) if kind_of == "node" else 1)
        findings.append(_finding(kind_of, [int(i)], (float(effect), width), size_bytes, other_ratio=other))
    return sorted(findings, key=lambda finding: (finding.kind != "leaf", -finding.ratio))


def _kind(effects: Effects, sends: float, receives: float) -> str | None:
    """Say whether a node is slow (node), or one direction of it, or nothing."""
    limits = effects.thresholds
    if not (sends > limits[0] or receives > limits[1] or (sends + receives) / 2 > limits[2]):
        return None
    if min(sends, receives) > max(sends, receives) / 2:
        return "node"
    return "sends" if sends > receives else "receives"


def _finding(
    kind: str, nodes: Sequence[int] | NDArray[np.int64], effect: tuple[float, float], size: int, **more: Any
) -> Finding:
    value, width = effect
    ends = math.exp(value - width), math.exp(value + width)
    return Finding(kind, tuple(int(node) for node in nodes), math.exp(value), *ends, size, **more)


def candidates(effects: Effects, judged: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return pairs (the lower node first) that seem slow both ways, or clearly one way: at most four a node of either."""
    residual = np.where(np.isnan(effects.residual), -math.inf, effects.residual)
    residual[~judged, :] = residual[:, ~judged] = -math.inf
    both = np.triu(np.minimum(residual, residual.T), 1)
    either = np.triu(np.maximum(residual, residual.T), 1)
    least = math.log(LEAST_RATIO)
    found: dict[tuple[int, int], None] = {}
    for score, threshold in ((both, effects.candidate_threshold), (either, max(least, 3 * effects.pair_noise))):
        rows, columns = np.nonzero(score > threshold)
        worst = np.argsort(-score[rows, columns], kind="stable")[: _CANDIDATES_PER_NODE * len(judged)]
        found.update({(int(rows[k]), int(columns[k])): None for k in worst})
    return list(found)


def slow_pairs(
    effects: Effects, again: Times, pairs: Sequence[tuple[int, int]], size_bytes: int, figures: int = 1
) -> list[Finding]:
    """Name those of the candidates that were slow again, both ways or one way, when they were measured again.

    ``again`` holds rounds of candidates with other pairs, against whose lower median each round is held.
    """
    if not pairs:
        return []
    error = again.log_s - effects.sends - effects.receives[np.maximum(again.partner, 0)]
    error = error - low_median(error, axis=1)
    found = []
    for a, b in pairs:
        rounds = np.flatnonzero(again.partner[:, a] == b)
        ways = error[rounds][:, [a, b]]
        ways = ways[~np.isnan(ways).any(axis=1)]
        if len(ways) == 0:
            continue
        others = max(1, int(np.median(np.sum(~np.isnan(error[rounds]), axis=1))))
        up, down = (float(way) for way in np.median(ways, axis=0))
        both = min(up, down) > max(up, down) / 2
        ends, values = ((a, b), ways.mean(axis=1)) if both else ((a, b), ways[:, 0]) if up > down else ((b, a), ways[:, 1])
        noise = max(effects.noise, _spread(ways - np.median(ways, axis=0)), _spread(values) * (math.sqrt(2) if both else 1))
        se = effects.confirmation_error(noise, len(values), others)
        slow = int(np.sum(values > math.log(LEAST_RATIO) / 2))
        if max(up, down) <= effects.confirmation_threshold(2 * len(pairs) * figures, se) or slow < _CONFIRMED * len(values):
            continue
        width = t_quantile(0.975, max(1, len(values) - 1)) * se / (math.sqrt(2) if both else 1)
        effect = float(np.median(values)), width
        # Slow only against what its nodes do otherwise, where these are quicker than usual by as much: nobody's fault.
        nodes = [effects.sends[i] + effects.receives[j] for i, j in ((ends, ends[::-1]) if both else (ends,))]
        if effect[0] / 2 + float(np.mean(nodes)) < 0:
            continue
        found.append(_finding("pair" if both else "one-way", ends, effect, size_bytes, confirmed=(slow, len(values))))
    return sorted(found, key=lambda finding: -finding.ratio)


def not_explained(pairs: Sequence[Finding], nodes: Sequence[Finding]) -> list[Finding]:
    """Leave out pairs of which a node is named already at the same size,
    unless what the pair adds is more than half of that."""
    return [
        pair
        for pair in pairs
        if not any(
            node.size_bytes == pair.size_bytes
            and set(node.nodes) & set(pair.nodes)
            and 2 * math.log(pair.ratio) <= math.log(node.ratio)
            for node in nodes
        )
    ]


def exclude(findings: Sequence[Finding]) -> list[int]:
    """Return nodes without which no finding would be left: slow ones, and of slow pairs the node that is in most of them."""
    left_out = {node for finding in findings if finding.kind not in ("pair", "one-way") for node in finding.nodes}
    pairs = [set(finding.nodes) for finding in findings if finding.kind in ("pair", "one-way")]
    while rest := [pair for pair in pairs if not pair & left_out]:
        counts: Mapping[int, int] = {node: sum(node in pair for pair in rest) for pair in rest for node in pair}
        left_out.add(max(sorted(counts), key=lambda node: counts[node]))
    return sorted(left_out)
