"""Latency and bandwidth of one placement over repeated runs, and the effects that such tables show, found in the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.blocks import Column
from rankwise.units import format_size

Array = NDArray[np.float64]

_FLAT = 1.1  # latencies within 10 % of the smallest message's are constant
_DROP = 0.9  # a bandwidth below 90 % of a smaller size's, beyond three standard deviations, is a drop
_SATURATED = 0.9  # of the largest sizes' bandwidth


@dataclass(frozen=True)
class Series:
    """One placement: mean and standard deviation over runs at each size. Bandwidths are not a number where there are none."""

    name: str
    runs: int
    sizes: NDArray[np.int64]
    latency_s: Array
    latency_sigma_s: Array
    bandwidth: Array  # bytes/s
    bandwidth_sigma: Array
    resolution_s: float = 0.0  # to which latencies are known
    hosts: Sequence[str] = field(default=())

    @property
    def has_bandwidth(self) -> NDArray[np.bool_]:
        return np.isfinite(self.bandwidth)

    def rows(self) -> list[Measured]:
        """Return its figures size by size."""
        columns = (self.sizes, self.latency_s, self.latency_sigma_s, self.bandwidth, self.bandwidth_sigma)
        return [
            Measured(size, *times, *(None if np.isnan(rate) else rate for rate in rates))
            for size, *times_and_rates in zip(*(column.tolist() for column in columns), strict=True)
            for times, rates in ((times_and_rates[:2], times_and_rates[2:]),)
        ]


@dataclass(frozen=True)
class Measured:
    """A placement's figures at a size; bandwidths None where there are none."""

    message_bytes: int
    latency_s: float
    latency_sigma_s: float
    bandwidth_bytes_per_s: float | None
    bandwidth_sigma_bytes_per_s: float | None


def _us(time_s: float) -> str:
    return f"{1e6 * time_s:.2f}"


def _megabytes(rate: float) -> str:
    return f"{rate / 1e6:.2f}"


SIZE: Column[Measured] = Column("size", "message_bytes", format_size)
LATENCY: Column[Measured] = Column("latency, us", "latency_s", _us)
BANDWIDTH: Column[Measured] = Column("bandwidth, MB/s", "bandwidth_bytes_per_s", _megabytes)
TEN_RUNS: Sequence[Column[Measured]] = (
    SIZE,
    LATENCY,
    Column("σ", "latency_sigma_s", _us),
    BANDWIDTH,
    Column("σ", "bandwidth_sigma_bytes_per_s", _megabytes),
)


@dataclass(frozen=True)
class Drop:
    """A bandwidth that falls as messages grow: from a peak to a bottom; ``recovered_bytes`` None: never again so high."""

    peak_bytes: int
    peak: float
    bottom_bytes: int
    bottom: float
    recovered_bytes: int | None

    def to_dict(self) -> dict[str, Any]:
        renamed = {"peak": "peak_bytes_per_s", "bottom": "bottom_bytes_per_s"}
        return {renamed.get(name, name): value for name, value in vars(self).items()}


def constant_up_to(series: Series) -> int:
    """Return the largest size up to which every latency is that of the smallest messages, to 10 % or what is resolved."""
    first = float(series.latency_s[0])
    allowed = max(first * _FLAT, first + 2 * series.resolution_s)
    rises = np.flatnonzero(series.latency_s > allowed)
    return int(series.sizes[-1] if rises.size == 0 else series.sizes[rises[0] - 1])


def drop_of(series: Series) -> Drop | None:
    """Return the first drop of the bandwidth over sizes, or None."""
    here = np.flatnonzero(series.has_bandwidth)
    values, sigmas, sizes = series.bandwidth[here], series.bandwidth_sigma[here], series.sizes[here]
    for i in range(1, values.size):
        noise = 3 * float(np.hypot(sigmas[i - 1], sigmas[i]))
        if values[i] >= _DROP * values[i - 1] or values[i - 1] - values[i] <= noise:
            continue
        peak = i - 1
        after = np.flatnonzero(values[i:] >= values[peak])
        end = i + int(after[0]) if after.size else values.size
        bottom = i + int(np.argmin(values[i:end]))
        return Drop(
            int(sizes[peak]), float(values[peak]), int(sizes[bottom]), float(values[bottom]),
            int(sizes[end]) if after.size else None,
        )  # fmt: skip
    return None


def saturation_of(series: Series) -> tuple[int, float] | None:
    """Return the size from which on all bandwidths are 90 % of that of the
    largest sizes (median of the last four), and this."""
    here = np.flatnonzero(series.has_bandwidth)
    if here.size < 4:
        return None
    values, sizes = series.bandwidth[here], series.sizes[here]
    plateau = float(np.median(values[-4:]))
    below = np.flatnonzero(values < _SATURATED * plateau)
    start = 0 if below.size == 0 else int(below[-1]) + 1
    return (int(sizes[start]), plateau) if start < sizes.size else None


def growth_exponent(series: Series, from_bytes: int) -> float | None:
    """Return p where latency grows like size ** p over the sizes from ``from_bytes`` on (1: in proportion).

    None with fewer than two such sizes.
    """
    here = series.sizes >= max(1, from_bytes)
    if np.count_nonzero(here) < 2:
        return None
    return float(np.polyfit(np.log(series.sizes[here].astype(np.float64)), np.log(series.latency_s[here]), 1)[0])


def crossings(near: Series, far: Series) -> list[int]:
    """Return the sizes at which the farther placement is the faster one by more than three standard deviations."""
    return [
        int(size)
        for size, a, b, noise in zip(
            near.sizes, near.latency_s, far.latency_s, 3 * np.hypot(near.latency_sigma_s, far.latency_sigma_s), strict=True
        )
        if b < a - noise
    ]


def largest_spread(series: Series) -> tuple[float, int]:
    """Return the largest standard deviation of a latency as a share of its mean, and its size."""
    share = series.latency_sigma_s / series.latency_s
    return float(np.max(share)), int(series.sizes[int(np.argmax(share))])
