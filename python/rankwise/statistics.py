"""Location estimators for samples of time, their intervals by resampling launches and samples, outliers, ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

REPLICATES = 200
_CAP = 500
_RESAMPLES = 2000  # of a ratio


def _smallest_fifth_mean(values: Array, axis: int) -> Array:
    count = max(1, values.shape[axis] // 5)
    smallest = np.partition(values, count - 1, axis=axis)
    return np.asarray(np.take(smallest, range(count), axis=axis).mean(axis=axis), dtype=np.float64)


def _tukey_mean(values: Array, axis: int) -> Array:
    """Mean of what lies within 1.5 interquartile ranges of the quartiles (Tukey's fences; SKaMPI and ReproMPI use them)."""
    low, high = np.quantile(values, [0.25, 0.75], axis=axis, keepdims=True)
    reach = 1.5 * (high - low)
    inside = (values >= low - reach) & (values <= high + reach)
    return np.asarray(np.mean(values, axis=axis, where=inside), dtype=np.float64)


STATISTICS: dict[str, Callable[[Array, int], Array]] = {
    "median": lambda values, axis: np.asarray(np.median(values, axis=axis), dtype=np.float64),
    "minimum": lambda values, axis: np.asarray(np.min(values, axis=axis), dtype=np.float64),
    "mean": lambda values, axis: np.asarray(np.mean(values, axis=axis), dtype=np.float64),
    # werner2023 section 6.2.3: the mean of the smallest 20 %.
    "smallest-20": _smallest_fifth_mean,
    "tukey-mean": _tukey_mean,
}


def location(samples: Array, statistic: str) -> float:
    """Return the statistic of samples (1-D, not empty)."""
    return float(STATISTICS[statistic](samples, 0))


def replicates(launches: Sequence[Array], statistic: str, rng: np.random.Generator) -> Array:
    """Return REPLICATES bootstrap values of the statistic over the pooled samples of several launches.

    Launches are resampled first and samples within them second, so that the spread between launches, most of the
    variance of a communication benchmark, is part of the interval.
    """
    # Long series are thinned evenly: beyond a few hundred samples a replicate costs more than it tells.
    thinned = [launch if launch.size <= _CAP else launch[:: -(-launch.size // _CAP)] for launch in launches]
    values = np.empty(REPLICATES)
    if len(thinned) == 1:
        drawn = rng.integers(0, thinned[0].size, size=(REPLICATES, thinned[0].size))
        return STATISTICS[statistic](thinned[0][drawn], 1)
    for i in range(REPLICATES):
        chosen = rng.integers(0, len(thinned), size=len(thinned))
        pooled = np.concatenate([thinned[j][rng.integers(0, thinned[j].size, size=thinned[j].size)] for j in chosen])
        values[i] = STATISTICS[statistic](pooled, 0)
    return values


def interval_95(values: Array) -> tuple[float, float]:
    """Return the central 95 % of replicates."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def median_interval_95(samples: Array) -> tuple[float, float]:
    """Return a non-parametric 95 % interval of the median by order statistics (Hoefler & Belli 2015, rule 5)."""
    ordered = np.sort(samples)
    n = ordered.size
    if n < 6:  # too few for 95 %: the range is all that can be said
        return float(ordered[0]), float(ordered[-1])
    half_width = 1.96 * np.sqrt(n) / 2
    low = max(0, int(np.floor(n / 2 - half_width)))
    high = min(n - 1, int(np.ceil(n / 2 + half_width)))
    return float(ordered[low]), float(ordered[high])


@dataclass(frozen=True)
class Summary:
    """Mean and median of repetitions, each with a 95 % interval (Student's; by order statistics)."""

    mean_s: float
    mean_ci_s: tuple[float, float]
    median_s: float
    median_ci_s: tuple[float, float]
    repetitions: int

    @classmethod
    def of(cls, times_s: Array) -> Summary:
        from scipy.special import stdtrit

        n = times_s.size
        mean = float(times_s.mean())
        half = float(stdtrit(n - 1, 0.975) * times_s.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
        return cls(mean, (mean - half, mean + half), float(np.median(times_s)), median_interval_95(times_s), n)

    def to_dict(self) -> dict[str, Any]:
        return {
            "mean_s": self.mean_s,
            "mean_ci_s": list(self.mean_ci_s),
            "median_s": self.median_s,
            "median_ci_s": list(self.median_ci_s),
            "repetitions": self.repetitions,
        }


def is_outlier(times_s: Array) -> NDArray[np.bool_]:
    """Mark what lies more than 1.5 inter-quartile ranges below the first or above the third quartile."""
    first, third = np.quantile(times_s, [0.25, 0.75])
    fence = 1.5 * (third - first)
    return np.asarray((times_s < first - fence) | (times_s > third + fence))


def ratio_interval(base_s: Array, times_s: Array) -> tuple[float, float, float]:
    """Return the ratio of two medians and its bootstrapped 95 % interval."""
    rng = np.random.default_rng(2020)
    medians = [np.median(rng.choice(t, (_RESAMPLES, t.size)), axis=1) for t in (base_s, times_s)]
    low, high = interval_95(np.asarray(medians[0] / medians[1], dtype=np.float64))
    return float(np.median(base_s) / np.median(times_s)), low, high
