"""What models are fitted to: times of messages by size for each way of sending over one class of link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.link import LinkModel, Parameter, Point, Segment
from rankwise.records import Interval
from rankwise.statistics import Deviations

_ALIKE = 3  # rows on either side whose launches differ as much
LEAST_NOISE = 1e-3  # a fit that is closer than that is not better


@dataclass(frozen=True)
class Way:
    """A table of times for one way of sending, sizes in order.

    ``columns_s`` has shape (sizes, deviations.count): the times with one launch left out, say, from which intervals come; no
    columns, no intervals. ``noise`` is the relative standard error of a row besides what is common to all rows of a launch.
    """

    sizes: Floats
    times_s: Floats
    samples: tuple[int, ...]
    columns_s: Floats
    deviations: Deviations = Deviations()
    noise: float = LEAST_NOISE
    linear: bool = False  # a difference of times, which may be 0 or negative

    @staticmethod
    def exact(sizes: Floats, times_s: Floats) -> Way:
        """Make a way of which nothing but the times is known."""
        return Way(sizes, times_s, (1,) * sizes.size, np.empty((sizes.size, 0)))

    def column(self, index: int) -> Way:
        """Return the way with one column in place of the times; rows that lack it stay."""
        times_s = self.columns_s[:, index]
        return Way.exact(self.sizes, np.where(np.isnan(times_s), self.times_s, times_s))

    def without(self, sizes: Iterable[float]) -> Way:
        """Return the rows of all other sizes, without columns."""
        others = ~np.isin(self.sizes, list(sizes))
        return replace(Way.exact(self.sizes[others], self.times_s[others]), noise=self.noise)

    def intervals(self) -> list[Interval | None]:
        """Return the 95 % interval of each row; None where nothing is known of its spread. Rows by it are as noisy."""
        found = []
        for i, (time_s, row) in enumerate(zip(self.times_s, self.columns_s, strict=True)):
            by_it = [j for j in range(i - _ALIKE, i + _ALIKE + 1) if j != i and 0 <= j < len(self.times_s)]
            others = (self.times_s[by_it], self.columns_s[by_it])
            found.append(self.deviations.interval(float(time_s), row, self.linear, others))
        return [ends and (max(ends[0], 0.0), ends[1]) for ends in found]

    def points(self) -> tuple[Point, ...]:
        """Return the rows of a table with their intervals."""
        return tuple(
            Point(int(size), float(time_s), ends and ends[0], ends and ends[1], count)
            for size, time_s, ends, count in zip(self.sizes, self.times_s, self.intervals(), self.samples, strict=True)
        )


# By name: send, ssend, exchange, exchange-gap; there is always a send.
Measured = Mapping[str, Way]


def scale(shape: Floats, missing_s: Floats, times_s: Floats) -> float:
    """Return the factor, at least 0, by which ``shape`` comes closest to ``missing_s``, weighted by the rows' times."""
    weighted = shape / times_s
    norm = float(np.sum(weighted**2))
    return max(0.0, float(np.sum(weighted * missing_s / times_s)) / norm) if norm > 0 else 0.0


def squared_error(model_s: Floats, times_s: Floats) -> float:
    """Return the sum of squared relative differences."""
    return float(np.sum((model_s / times_s - 1.0) ** 2))


def rms_error(model_s: Floats, times_s: Floats) -> float:
    """Return the root mean square relative difference."""
    return float(np.sqrt(squared_error(model_s, times_s) / times_s.size))


def with_error(model: LinkModel, way: Way) -> LinkModel:
    """Return a model with its root mean square relative difference from the rows that it was fitted to."""
    at = np.searchsorted([segment.from_bytes for segment in model.segments], way.sizes, side="right") - 1
    lines = np.array([(segment.alpha_s, segment.beta_s_per_byte) for segment in model.segments])[np.maximum(at, 0)]
    return replace(model, relative_error=rms_error(lines[:, 0] + lines[:, 1] * way.sizes, way.times_s))


def with_intervals(measured: Measured, estimate: Callable[[Measured], Mapping[str, float]]) -> dict[str, Parameter]:
    """Estimate parameters of all ways together, with the 95 % intervals of refits: one for each column that all ways have.

    What a refit does not show is taken as unmoved.
    """
    values, deviations = estimate(measured), measured["send"].deviations
    count = min(int(way.columns_s.shape[1]) for way in measured.values())
    refits = [estimate({name: way.column(i) for name, way in measured.items()}) for i in range(count)]

    def spread(name: str, value: float) -> Interval | None:
        return deviations.interval(value, np.array([refit.get(name, value) for refit in refits])) if refits else None

    return {name: Parameter(value, spread(name, value)) for name, value in values.items()}


def of_all_ways(
    name: str, measured: Measured, parameters: Mapping[str, Parameter], method: str,
    segments: Callable[[str], tuple[Segment, ...]], times: Callable[[str, Floats], Floats],
) -> dict[str, LinkModel]:  # fmt: skip
    """Return a model whose ways of sending share their parameters; ``segments``, ``times``: those of a way, by size."""
    return {
        way: LinkModel(
            name, segments(way), method, rms_error(times(way, known.sizes), known.times_s),
            parameters=parameters, parameter_count=len(parameters),
        )
        for way, known in measured.items()
    }  # fmt: skip


def steps(*lines: tuple[float, float, float]) -> tuple[Segment, ...]:
    """Make segments of (from_bytes, alpha_s, beta_s_per_byte), leaving out those that the next one replaces at once."""
    kept = [line for i, line in enumerate(lines) if i == len(lines) - 1 or int(lines[i + 1][0]) > int(line[0])]
    ends = [int(line[0]) for line in kept[1:]]
    return tuple(Segment(int(start), end, alpha, beta) for (start, alpha, beta), end in zip(kept, [*ends, None], strict=True))
