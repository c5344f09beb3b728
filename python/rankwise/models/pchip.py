"""A table as it stands, joined smoothly: monotone cubic interpolation in logarithms (Fritsch & Carlson 1980).

Rows that fall as messages grow are noise, and are pooled with their neighbours first (pool adjacent violators). With x =
log(size + s0) and s0 = max(8, smallest size above 0) an empty message has its place, too. Below the table the time is that of
its first row; above it the slope of its last three rows goes on, from 0 to 1. Both are extrapolations.

Where a row takes so much more than the one before that bytes cannot be the reason, the MPI changes its protocol: a step, not a
slope. Up to the upper row the lower rows' curve goes on, for limits are powers of two, less a header: joined smoothly, all of
the step would count as time in which bytes pass a resource.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.link import LinkModel, Segment
from rankwise.models.measured import Way, with_error

NAME = "pchip"
_LEAST_SHIFT = 8.0
_TOLERANCE = 1e-3  # between the curve and the straight lines that stand for it
_MOST_HALVINGS = 6  # of the way between two rows
_STEP = 2.0  # slope in logarithms; where bytes take all the time it is 1
_LEAST_STEP = math.log(1.3)  # in the time


def fit(way: Way) -> LinkModel:
    """Join the rows of a table, as straight lines that stay within 0.1 % of the curve."""
    runs = _runs(way.sizes, way.times_s)
    first, last = int(way.sizes[0]), int(way.sizes[-1])
    segments = [Segment(0, first, runs[0].time_s(first), 0.0)] if first > 0 else []
    for run in runs:
        ends = [int(size) for size in run.sizes] + ([] if run.end is None else [int(run.end)])
        places = ends[:1]
        for low, high in zip(ends, ends[1:], strict=False):
            _places(run.time_s, low, high, _MOST_HALVINGS, places)
        segments += [_line(run.time_s, low, high) for low, high in zip(places, places[1:], strict=False)]
    segments.append(dataclasses.replace(_line(runs[-1].time_s, last, 2 * last), to_bytes=None))
    method = "monotone interpolation of the logarithms between the rows of the table"
    return with_error(LinkModel(NAME, tuple(segments), method, parameter_count=int(way.sizes.size)), way)


def _line(time_s: Callable[[float], float], low: int, high: int) -> Segment:
    low_s = time_s(low)
    beta = max(time_s(high) - low_s, 0.0) / (high - low)
    return Segment(low, high, low_s - beta * low, beta)


def pooled(values: Floats) -> Floats:
    """Return the closest values that never fall: neighbours that do are replaced by their mean (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, of = blocks.pop()
            mean, count = (before * of + mean * count) / (of + count), of + count
        blocks.append((mean, count))
    return np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])


def curve(sizes: Floats, times_s: Floats) -> Callable[[float], float]:
    """Return the time as a function of the size. Raises ValueError for fewer than two sizes."""
    runs = _runs(sizes, times_s)
    return lambda size: next((run for run in runs if run.end is None or size < run.end), runs[-1]).time_s(size)


@dataclasses.dataclass(frozen=True)
class _Run:
    """Rows without a step between them, up to the row ``end`` where the next run begins; in logarithms ``x``, ``y``."""

    sizes: Floats
    x: Floats
    y: Floats
    slopes: Floats
    shift: float
    beyond: float  # slope above the last row
    end: float | None

    def time_s(self, size: float) -> float:
        x, y = self.x, self.y
        at = math.log(size + self.shift)
        if at <= x[0]:
            return math.exp(y[0])
        if at >= x[-1]:
            return math.exp(y[-1] + self.beyond * (at - x[-1]))
        i = int(np.searchsorted(x, at, side="right")) - 1
        h = float(x[i + 1] - x[i])
        t = (at - float(x[i])) / h
        rise = (3 - 2 * t) * t * t
        bend = h * t * (1 - t) * ((1 - t) * self.slopes[i] - t * self.slopes[i + 1])
        return math.exp(float(y[i] + rise * (y[i + 1] - y[i]) + bend))


def _runs(sizes: Floats, times_s: Floats) -> list[_Run]:
    if sizes.size < 2:
        raise ValueError("an interpolation needs at least two sizes")
    shift = max(_LEAST_SHIFT, float(sizes[sizes > 0][0]))
    x, y = np.log(sizes + shift), pooled(np.log(times_s))
    steps = (np.diff(y) > _STEP * np.diff(x)) & (np.diff(y) > _LEAST_STEP)
    bounds = [0, *(np.flatnonzero(steps) + 1).tolist(), sizes.size]
    runs = []
    for begin, end in zip(bounds, bounds[1:], strict=False):
        slopes = _slopes(x[begin:end], y[begin:end])
        is_last = end == sizes.size
        beyond = float(np.polyfit(x[-3:], y[-3:], 1)[0]) if is_last else float(slopes[-1])
        runs.append(
            _Run(
                sizes[begin:end],
                x[begin:end],
                y[begin:end],
                slopes,
                shift,
                min(max(beyond, 0.0), 1.0),
                None if is_last else float(sizes[end]),
            )
        )
    return runs


def _slopes(x: Floats, y: Floats) -> Floats:
    """Return the slope at each place that keeps the curve between places as monotone as they are (Fritsch & Butland 1984)."""
    h, secants = np.diff(x), np.diff(y) / np.diff(x)
    if secants.size == 0:
        return np.zeros(1)
    if secants.size == 1:
        return np.repeat(secants, 2)
    slopes = np.empty_like(y)
    before, after = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = (before + after) / (before / secants[:-1] + after / secants[1:])
    slopes[1:-1] = np.where(secants[:-1] * secants[1:] > 0, inner, 0.0)
    slopes[0] = _end_slope(h[0], h[1], secants[0], secants[1])
    slopes[-1] = _end_slope(h[-1], h[-2], secants[-1], secants[-2])
    return slopes


def _end_slope(h: float, next_h: float, secant: float, next_secant: float) -> float:
    slope = ((2 * h + next_h) * secant - h * next_secant) / (h + next_h)
    return min(max(slope, 0.0), 3 * secant)  # nothing falls


def _places(time_s: Callable[[float], float], low: int, high: int, halvings: int, places: list[int]) -> None:
    """Add the ends of straight lines from ``low``, which is there, to ``high``."""
    middle = round(math.sqrt(max(low, 1) * high))
    straight = (time_s(low) * (high - middle) + time_s(high) * (middle - low)) / (high - low)
    if halvings and abs(straight / time_s(middle) - 1) > _TOLERANCE:
        _places(time_s, low, middle, halvings - 1, places)
        _places(time_s, middle, high, halvings - 1, places)
    else:
        places.append(high)
