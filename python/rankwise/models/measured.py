"""What models are fitted to: times of messages by size for each way of sending over one class of link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.machine.link import Interval, Parameter, Segment
from rankwise.statistics import interval_95

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Way:
    """A table of times for one way of sending, sizes in order.

    ``replicates_s`` has shape (sizes, replicates): bootstrap values of each row's time, from which intervals come; no
    replicates, no intervals.
    """

    sizes: Array
    times_s: Array
    replicates_s: Array
    samples: tuple[int, ...]

    @staticmethod
    def exact(sizes: Array, times_s: Array) -> Way:
        """Make a way of which nothing but the times is known."""
        return Way(sizes, times_s, np.empty((sizes.size, 0)), (1,) * sizes.size)

    def replicate(self, index: int) -> Way:
        """Return one bootstrap replicate in place of the times."""
        return Way.exact(self.sizes, self.replicates_s[:, index])

    def without(self, size: float) -> Way:
        """Return the rows of all other sizes, without replicates."""
        others = self.sizes != size
        return Way.exact(self.sizes[others], self.times_s[others])

    def noise(self) -> float:
        """Return the relative standard error of a row, at least 0.1 %: a fit that is closer than that is not better."""
        if not self.replicates_s.shape[1]:
            return 1e-3
        return max(float(np.median(self.replicates_s.std(axis=1) / self.times_s)), 1e-3)


# By name: send, ssend, exchange, exchange-gap; there is always a send.
Measured = Mapping[str, Way]


def replicate_count(measured: Measured) -> int:
    """Return how many bootstrap replicates all ways have."""
    return min(int(way.replicates_s.shape[1]) for way in measured.values())


def replicate_of(measured: Measured, index: int) -> Measured:
    """Return one bootstrap replicate of all ways together."""
    return {name: way.replicate(index) for name, way in measured.items()}


def scale(shape: Array, missing_s: Array, times_s: Array) -> float:
    """Return the factor, at least 0, by which ``shape`` comes closest to ``missing_s``, weighted by the rows' times."""
    weighted = shape / times_s
    norm = float(np.sum(weighted**2))
    return max(0.0, float(np.sum(weighted * missing_s / times_s)) / norm) if norm > 0 else 0.0


def squared_error(model_s: Array, times_s: Array) -> float:
    """Return the sum of squared relative differences."""
    return float(np.sum((model_s / times_s - 1.0) ** 2))


def rms_error(model_s: Array, times_s: Array) -> float:
    """Return the root mean square relative difference."""
    return float(np.sqrt(squared_error(model_s, times_s) / times_s.size))


def with_intervals(values: Mapping[str, float], refits: Sequence[Mapping[str, float]]) -> dict[str, Parameter]:
    """Give each parameter the 95 % interval of its refits to bootstrap replicates."""

    def spread(name: str) -> Interval | None:
        return interval_95(np.array([refit[name] for refit in refits])) if refits else None

    return {name: Parameter(value, spread(name)) for name, value in values.items()}


def steps(*lines: tuple[float, float, float]) -> tuple[Segment, ...]:
    """Make segments of (from_bytes, alpha_s, beta_s_per_byte), leaving out those that the next one replaces at once."""
    kept = [line for i, line in enumerate(lines) if i == len(lines) - 1 or int(lines[i + 1][0]) > int(line[0])]
    ends = [int(line[0]) for line in kept[1:]]
    return tuple(
        Segment(int(start), end, alpha, beta)
        for (start, alpha, beta), end in zip(kept, [*ends, None], strict=True)
    )
