"""Location estimators for samples of time, intervals from what launches of the ranks differ by, outliers, ratios."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.arrays import Floats
from rankwise.distributions import f_quantile, t_quantile
from rankwise.records import Interval, Record, key, record

_RESAMPLES = 2000  # of a ratio
NORMAL_PER_MAD = 1.4826  # the standard deviation of normal noise whose median absolute deviation is 1


def _smallest_fifth_mean(values: Floats, axis: int) -> Floats:
    count = max(1, values.shape[axis] // 5)
    return np.asarray(np.take(np.sort(values, axis=axis), range(count), axis=axis).mean(axis=axis), dtype=np.float64)


def _tukey_mean(values: Floats, axis: int) -> Floats:
    """Mean of what lies within 1.5 interquartile ranges of the quartiles (Tukey's fences; SKaMPI and ReproMPI use them)."""
    low, high = np.quantile(values, [0.25, 0.75], axis=axis, keepdims=True)
    reach = 1.5 * (high - low)
    inside = (values >= low - reach) & (values <= high + reach)
    return np.asarray(np.mean(values, axis=axis, where=inside), dtype=np.float64)


STATISTICS: dict[str, Callable[[Floats, int], Floats]] = {
    "median": lambda values, axis: np.asarray(np.median(values, axis=axis), dtype=np.float64),
    "minimum": lambda values, axis: np.asarray(np.min(values, axis=axis), dtype=np.float64),
    "mean": lambda values, axis: np.asarray(np.mean(values, axis=axis), dtype=np.float64),
    # werner2023 section 6.2.3: the mean of the smallest 20 %.
    "smallest-20": _smallest_fifth_mean,
    "tukey-mean": _tukey_mean,
}


def location(samples: Floats, statistic: str) -> float:
    """Return the statistic of samples (1-D, not empty)."""
    return float(STATISTICS[statistic](samples, 0))


def interval_95(values: Floats) -> tuple[float, float]:
    """Return the central 95 % of replicates."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


MOST_HISTORY = 9  # degrees of freedom that earlier sessions count for
HISTORY_STEP = 0.25  # of a launch's deviation: an estimate is moved by about as much as when one launch is left out
_BATCHED = 20  # launches from which on runs of neighbours are the unit
_BATCHES = (5, 8)
_MOST_DEPENDENCE = 0.9
_LEAST_DF = 2.0  # of launches that depend on each other: with fewer an interval would say nothing
_CORRECTED = 10  # fewer launches than this cannot tell how far each depends on the one before it


@dataclass(frozen=True)
class History:
    """What earlier sessions of the same machine, MPI library, link and way of sending tell: the variance of the launches'
    log medians inside sessions, its degrees of freedom, and how far a launch depends on the one before it (lag 1)."""

    variance: float
    df: float
    autocorrelation: float = 0.0


@dataclass(frozen=True)
class LaunchInterval:
    """A 95 % interval from launches, all in logarithms; ``half_width`` None: a single launch, and no history.

    ``autocorrelation``: how far a launch depends on the one before it, as far as the interval is widened for it.
    """

    centre: float
    half_width: float | None
    df: float
    autocorrelation: float = 0.0

    @property
    def value(self) -> float:
        """The estimate itself, no longer in logarithms."""
        return math.exp(self.centre)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval itself, no longer in logarithms."""
        if self.half_width is None:
            return None
        return math.exp(self.centre - self.half_width), math.exp(self.centre + self.half_width)


def launch_interval(
    log_medians: Floats, history: History | None = None, autocorrelation: float | None = None
) -> LaunchInterval:
    """Return the mean of the launches' log medians (in the order of the launches) with its 95 % interval.

    Student's t over launches, their variance moderated by the machine's history (Smyth 2004) unless an F test says that the
    launches differ more than it. From 20 launches on the unit is a run of neighbours; below that, dependence of each launch
    on the one before widens the interval. ``autocorrelation`` is that of all cells' common effect (``lag_1``), by default
    of these medians. Raises ValueError for no launch.
    """
    if log_medians.size < 1:
        raise ValueError("an interval needs at least one launch")
    units = batches(log_medians)
    variance = float(units.var(ddof=1)) if units.size > 1 else 0.0
    own = lag_1(log_medians) if autocorrelation is None else autocorrelation
    half_width, df, r = _half_width(variance, units.size, log_medians.size, history, own)
    return LaunchInterval(float(log_medians.mean()), half_width, df, r)


def _half_width(
    variance: float, n: int, launches: int, history: History | None, own: float | None
) -> tuple[float | None, float, float]:
    """Return the half-width of the mean of n units (of so many launches) of a variance, its degrees of freedom, dependence."""
    r = _between_runs(dependence(own, launches, history), launches // n)
    inflation = (1 + r) / (1 - r)
    df = min(n - 1.0, max((n - 1) / inflation, _LEAST_DF)) if n == launches else float(n - 1)
    if history is not None and n == launches:
        d0 = min(history.df, MOST_HISTORY)
        if d0 > 0 and (n < 2 or variance <= f_quantile(0.95, n - 1, d0) * history.variance):
            variance = (d0 * history.variance + df * variance) / (d0 + df)
            df += d0
    # Launches that depend on each other differ less among themselves than from the mean of all there could be.
    variance *= 1 + (inflation - 1) / n
    return (None if df <= 0 else t_quantile(0.975, df) * math.sqrt(variance / n * inflation)), df, r


@dataclass(frozen=True)
class Deviations:
    """What is changed in all rows of a table at once, column by column, to see how far an estimate moves.

    First come ``own`` columns that each leave one of ``launches`` (or a run of them) out; then, for each earlier session, so
    many as ``history`` says, each moved by HISTORY_STEP of what a launch of that session differed from its mean. Instead
    there may be ``rows`` columns, each of which moves one row by its own standard error.
    """

    own: int = 0
    launches: int = 0
    history: tuple[int, ...] = ()
    autocorrelation: float | None = None
    history_autocorrelation: float = 0.0
    rows: int = 0

    @property
    def count(self) -> int:
        """The number of columns."""
        return self.own + sum(self.history) + self.rows

    def interval(
        self, value: float, refits: Floats, linear: bool = False, others: tuple[Floats, Floats] | None = None
    ) -> tuple[float, float] | None:
        """Return the 95 % interval of an estimate from its values at all columns, NaN where a row lacks a launch.

        The jackknife over launches, Student's t, moderated as ``launch_interval`` says; in logarithms unless ``linear`` or
        a value is not above 0. None where nothing is known of the spread, or it is 0. ``others``: estimates of which a launch
        moves each as much in the mean, and their values at all columns: by these the variance of a few launches is moderated
        where no history is known.
        """
        if not refits.size:
            return None
        linear = linear or value <= 0 or bool(np.any(refits <= 0))
        off = refits - value if linear else np.log(refits / value)
        alike = None
        if others is not None and not linear and len(others[0]) and bool(np.all(others[1][:, : self.own] > 0)):
            alike = np.log(others[1][:, : self.own] / others[0][:, None])
        half = 1.96 * math.sqrt(float(np.sum(off**2))) if self.rows else self._half_width(off, alike)
        if not half:
            return None
        return (value - half, value + half) if linear else (value * math.exp(-half), value * math.exp(half))

    def _half_width(self, off: Floats, others: Floats | None) -> float | None:
        own = off[: self.own]
        own = own[~np.isnan(own)]
        n, complete = max(own.size, 1), own.size == self.own
        variance = float((n - 1) * np.sum((own - own.mean()) ** 2)) if n > 1 else 0.0
        square_sum, df, first = 0.0, 0, self.own
        for launches in self.history:
            session = off[first : first + launches] / HISTORY_STEP
            square_sum, df, first = (
                square_sum + float(np.sum((session - session.mean()) ** 2)),
                df + launches - 1,
                first + launches,
            )
        history = History(square_sum / df, df, self.history_autocorrelation) if df > 0 and square_sum > 0 else None
        if history is None and others is not None and 1 < n < _CORRECTED:
            history = _pooled(others)
        return _half_width(variance, n, self.launches if complete else n, history, self.autocorrelation)[0]


def _pooled(rows: Floats) -> History | None:
    """Return what rows of estimates tell of each other's variance: values without each of n launches in turn, logarithms of
    their ratios to the estimates. What is common to all rows of a launch, a row of one's own knows already."""
    rows = rows[~np.isnan(rows).any(axis=1)]
    rows = rows - rows.mean(axis=1, keepdims=True)
    square = float(np.mean(np.sum(rows**2, axis=1))) if rows.size else 0.0
    if square <= 0:
        return None
    n = rows.shape[1]
    common = float(np.sum(rows.mean(axis=0) ** 2)) / square
    return History((n - 1) * square, (n - 1) * len(rows) * (1 - common) ** 2)


def _between_runs(r: float, length: int) -> float:
    """Return the autocorrelation of means of runs of so many launches, each of which depends on the one before by r."""
    left = 1 - r**length
    return r if length == 1 else r * left**2 / (length * (1 - r * r) - 2 * r * left)


def batches(log_medians: Floats) -> Floats:
    """Return the units of an interval: launches, from 20 on the means of five to eight runs of neighbouring ones."""
    n = log_medians.shape[-1]
    if n < _BATCHED:
        return log_medians
    runs = np.array_split(np.arange(n), min(max(_BATCHES[0], n // 8), _BATCHES[1]))
    return np.stack([log_medians[..., run].mean(axis=-1) for run in runs], axis=-1)


def lag_1(log_medians: Floats) -> float | None:
    """Return the autocorrelation of neighbouring launches with its bias for a short series taken off, for independent ones
    1 / n; None where there are too few launches to tell."""
    n = log_medians.size
    off = log_medians - log_medians.mean()
    norm = float(np.sum(off**2))
    if n < _CORRECTED or norm <= 0:
        return None
    return float(np.sum(off[1:] * off[:-1])) / norm + 1 / n


def dependence(own: float | None, launches: int, history: History | None) -> float:
    """Return the autocorrelation that widens an interval, of the launches' own and what history knows, in [0, 0.9]."""
    if history is None:  # what a single series tells is doubtful: on the safe side
        return 0.0 if own is None else min(max(own + 1 / launches, 0.0), _MOST_DEPENDENCE)
    known = [(history.autocorrelation, history.df)] + ([] if own is None else [(own, float(launches - 1))])
    weight = sum(df for _, df in known)
    if weight < 1:
        return 0.0
    r = sum(r * df for r, df in known) / weight
    if r <= 1 / math.sqrt(weight):  # by its standard error not to be told from none
        return 0.0
    # The bias of a series that depends on itself grows with it (Kendall 1954).
    return min(r / (1 - 3 / max(_CORRECTED, launches)), _MOST_DEPENDENCE)


def median_interval_95(samples: Floats) -> tuple[float, float]:
    """Return a non-parametric 95 % interval of the median by order statistics (Hoefler & Belli 2015, rule 5).

    Of fewer than eight the range is all that can be said. Where a clock's grain makes its ends one, it reaches to the next
    values that were seen.
    """
    ordered = np.sort(samples)
    n = ordered.size
    half_width = 1.96 * np.sqrt(n) / 2
    low = max(0, int(np.floor(n / 2 - half_width)))
    high = min(n - 1, int(np.ceil(n / 2 + half_width)))
    if ordered[low] == ordered[high]:
        low = max(0, int(np.searchsorted(ordered, ordered[low], "left")) - 1)
        high = min(n - 1, int(np.searchsorted(ordered, ordered[high], "right")))
    return float(ordered[low]), float(ordered[high])


@record
class Summary(Record):
    """Mean and median of repetitions, each with a 95 % interval (Student's; by order statistics)."""

    mean_s: float = key("mean")
    mean_ci_s: Interval = key()
    median_s: float = key("median")
    median_ci_s: Interval = key()
    repetitions: int = key("number of samples")

    @classmethod
    def of(cls, times_s: Floats) -> Summary:
        n = times_s.size
        mean = float(times_s.mean())
        half = float(t_quantile(0.975, n - 1) * times_s.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
        return cls(mean, (mean - half, mean + half), float(np.median(times_s)), median_interval_95(times_s), n)


def is_outlier(times_s: Floats) -> NDArray[np.bool_]:
    """Mark what lies more than 1.5 inter-quartile ranges below the first or above the third quartile."""
    first, third = np.quantile(times_s, [0.25, 0.75])
    fence = 1.5 * (third - first)
    return np.asarray((times_s < first - fence) | (times_s > third + fence))


def ratio_interval(base_s: Floats, times_s: Floats) -> tuple[float, float, float]:
    """Return the ratio of two medians and its bootstrapped 95 % interval."""
    rng = np.random.default_rng(2020)
    medians = [np.median(rng.choice(t, (_RESAMPLES, t.size)), axis=1) for t in (base_s, times_s)]
    low, high = interval_95(np.asarray(medians[0] / medians[1], dtype=np.float64))
    return float(np.median(base_s) / np.median(times_s)), low, high


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Return Spearman's coefficient: the correlation of the ranks, of which equal values share theirs."""

    def ranks(values: ArrayLike) -> Floats:
        _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])
