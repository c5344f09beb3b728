"""What pairs of runs tell: an exact interval of their ratio, and whether to go on.

The interval is that of the signed ranks (Walsh averages of the differences of logarithms, Hollander and Wolfe, Nonparametric
Statistical Methods, 3.3), with the exact distribution of the rank sum. It is looked at four times; each look has the level by
which four of them together claim a difference that is none in at most one of twenty trials (Pocock 1977).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rankwise.distributions import t_quantile
from rankwise.records import Record, key, record, told

LOOKS = (10, 16, 24, 40)  # pairs
ALPHA = 0.0182  # of each look
NO_MATTER = 0.015  # a ratio this near to 1 is no gain
FASTER, SLOWER, NO_GAIN, UNCLEAR = "faster", "slower", "no gain", "cannot tell"
_EFFICIENCY = 0.955  # of signed ranks against a mean, of normal differences


@lru_cache(maxsize=64)
def outside(pairs: int, alpha: float = ALPHA) -> int:
    """Return how many of the sorted Walsh averages lie outside of the interval at each end; 0: no interval has that level.

    P(rank sum < outside) is at most alpha / 2, counted over all signs.
    """
    ways = np.zeros(pairs * (pairs + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, pairs + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    below = np.cumsum(ways) / 2.0**pairs
    return int(np.searchsorted(below, alpha / 2, side="right"))


def shift_interval(differences: Sequence[float], alpha: float = ALPHA) -> tuple[float, float, float]:
    """Return the median shift of differences and its interval; without bounds where there are too few of them."""
    d = np.asarray(differences, dtype=np.float64)
    rows, columns = np.triu_indices(d.size)
    walsh = np.sort((d[rows] + d[columns]) / 2)
    cut = outside(d.size, alpha)
    low, high = (-math.inf, math.inf) if cut == 0 else (float(walsh[cut - 1]), float(walsh[-cut]))
    return float(np.median(walsh)), low, high


def scatter_of(differences: Sequence[float]) -> float:
    """Return the standard deviation that normal differences with these quartiles would have."""
    d = np.asarray(differences, dtype=np.float64)
    return float(np.median(np.abs(d - np.median(d))) / 0.6745 * math.sqrt(d.size / max(1, d.size - 1)))


def could_find(scatter: float, pairs: int) -> float:
    """Return the least gain (0.05: 5 %) that so many pairs find in nine of ten trials, with this scatter of a pair.

    So few that they have no interval find none, however great: infinite.
    """
    if outside(pairs) == 0:
        return math.inf
    quantiles = t_quantile(1 - ALPHA / 2, pairs - 1) + t_quantile(0.9, pairs - 1)
    return math.expm1(quantiles * scatter / math.sqrt(pairs * _EFFICIENCY))


def least_pairs() -> int:
    """Return the number of pairs from which on there is an interval."""
    return next(pairs for pairs in range(2, LOOKS[0] + 1) if outside(pairs))


@record
class Judgement(Record):
    """What some pairs tell: how many times as fast the second placement is, with its interval; ``more``: pairs still needed."""

    pairs: int = key("pairs of runs", after="high")
    ratio: float = key("how many times as fast the new placement is")
    low: float = key(name="ratio_lo", kind="float | None", write=lambda low: _finite(low) or None)
    high: float = key(name="ratio_hi", kind="float | None", write=lambda high: _finite(high))
    scatter: float = key("standard deviation of a pair's log ratio", after="verdict")
    verdict: str = key("faster, slower, no gain or cannot tell", after="pairs")
    done: bool
    more: int = key("further pairs that it takes to tell", default=0, name="more_pairs", after="could_find")

    @property
    @told(
        "least gain that so many pairs find in nine of ten trials; null: they are too few for an interval",
        kind="float | None",
        after="scatter",
        write=lambda gain: _finite(gain),
    )
    def could_find(self) -> float:
        return could_find(self.scatter, self.pairs)


def judge(differences: Sequence[float], budget: int = LOOKS[-1]) -> Judgement:
    """Judge pairs by log(time of the first placement / time of the second).

    It is done where the interval leaves 0 out, is narrower than 1.5 % each way, or the budget is spent. Only at the numbers of
    ``LOOKS`` (or the budget) may that be asked: what is asked in between is not done.
    """
    n = len(differences)
    shift, low, high = shift_interval(differences)
    may_end = n in LOOKS or n >= budget
    half = (high - low) / 2
    clear, narrow = low > 0 or high < 0, half < NO_MATTER
    verdict = UNCLEAR
    if may_end and clear:
        verdict = FASTER if low > 0 else SLOWER
    elif may_end and narrow:
        verdict = NO_GAIN
    more = 0
    if verdict == UNCLEAR and math.isfinite(half):
        more = max(1, math.ceil(n * (half / max(abs(shift), NO_MATTER)) ** 2) - n)
    done = may_end and (clear or narrow or n >= budget)
    bounds = (math.exp(low) if math.isfinite(low) else 0.0, math.exp(high) if math.isfinite(high) else math.inf)
    return Judgement(n, math.exp(shift), *bounds, scatter_of(differences), verdict, done, more)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
