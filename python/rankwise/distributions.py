"""Quantiles of Student's t and Fisher's F, from the incomplete beta function (NIST DLMF 8.17)."""

from __future__ import annotations

import math
from functools import lru_cache

_TERMS = 400


def t_quantile(p: float, df: float) -> float:
    """Return the value that Student's t with ``df`` degrees of freedom stays below with probability ``p`` in (0, 1)."""
    if p < 0.5:
        return -t_quantile(1 - p, df)
    tail = 2 * (1 - p)  # of both sides: I_x(df/2, 1/2) at x = df / (df + t²)
    x = _beta_quantile(tail, df / 2, 0.5)
    return math.sqrt(df * (1 - x) / x) if x > 0 else math.inf


def f_quantile(p: float, df1: float, df2: float) -> float:
    """Return the value that Fisher's F with ``df1`` and ``df2`` degrees of freedom stays below with probability ``p``."""
    # By the upper tail, whose beta argument keeps its digits where F is large.
    x = _beta_quantile(1 - p, df2 / 2, df1 / 2)  # x = df2 / (df2 + df1 F)
    return df2 * (1 - x) / (df1 * x) if x > 0 else math.inf


def t_tail(t: float, df: float) -> float:
    """Return the probability that Student's t is farther from 0 than ``t``: the p-value of a two-sided test."""
    return beta_fraction(df / (df + t * t), df / 2, 0.5)


def beta_fraction(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the continued fraction converges fast
        return 1 - beta_fraction(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    # DLMF 8.17.22 by Lentz's method.
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    value = d
    for m in range(1, _TERMS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + numerator * d) or tiny)
            c = (1 + numerator / c) or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value / a


@lru_cache(maxsize=4096)
def _beta_quantile(p: float, a: float, b: float) -> float:
    """Return x with I_x(a, b) = p, by bisection of its logarithm where it is small."""
    low, high = -700.0, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if beta_fraction(math.exp(middle), a, b) < p:
            low = middle
        else:
            high = middle
        if high - low < 1e-15 * max(1.0, abs(low)):
            break
    return math.exp((low + high) / 2)
