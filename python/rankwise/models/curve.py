"""From a table of times to a curve: Hockney over all sizes, piecewise, their intervals, and the choice between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankwise.statistics import interval_95
from rankwise.models.fit import Line, find_lines, fit_line, refit, relative_residuals
from rankwise.machine.link import AT_ZERO, Curve, Interval, LinkModel, Point, Segment

Array = NDArray[np.float64]

_TABLE_NOISE = 0.05  # relative, of a row in a table that says nothing of its spread


def curve_from_replicates(
    sizes: Sequence[int], times_s: Array, replicates_s: Array, samples: Sequence[int], statistic: str
) -> Curve:
    """Fit the models to a measured table.

    ``replicates_s`` has shape (sizes, replicates): bootstrap values of each row's time. Intervals of the table and of
    the piecewise parameters are percentiles over replicates; those of the Hockney line also resample the sizes, since
    what one line over all sizes misses is an error, too.
    """
    x = np.asarray(sizes, dtype=np.float64)
    table = tuple(
        Point(size, float(time_s), *interval_95(row), count)
        for size, time_s, row, count in zip(sizes, times_s, replicates_s, samples, strict=True)
    )
    hockney = _hockney(x, times_s, replicates_s)
    piecewise = _piecewise(x, times_s, replicates_s)
    large = piecewise.segments[-1]
    alpha_method = AT_ZERO
    if sizes[0] == 0:
        alpha_s, alpha_ci_s = table[0].time_s, (table[0].time_lo_s, table[0].time_hi_s)
    else:
        first = piecewise.segments[0]
        alpha_s, alpha_ci_s = first.alpha_s, first.alpha_ci_s or (0.0, 0.0)
        alpha_method = _intercept(sizes[0], first.to_bytes or sizes[-1])
    return Curve(
        model="piecewise",
        alpha_s=alpha_s,
        alpha_ci_s=alpha_ci_s,
        beta_s_per_byte=large.beta_s_per_byte,
        beta_ci_s_per_byte=large.beta_ci_s_per_byte,
        samples=sum(samples),
        statistic=statistic,
        table=table,
        models={"hockney": hockney, "piecewise": piecewise},
        alpha_method=alpha_method,
    )


def curve_from_table(points: Sequence[Point], statistic: str) -> Curve:
    """Make a curve of a published or imported table: it is interpolated exactly, and a Hockney line stands beside it.

    Outside the table lines answer that are fitted to its ends, since two neighbouring rows hold more noise than slope.
    Raises ValueError for fewer than two sizes.
    """
    if len(points) < 2:
        raise ValueError("a table needs at least two sizes")
    x = np.array([point.size_bytes for point in points], dtype=np.float64)
    y = np.array([point.time_s for point in points])
    first, last = points[0], points[-1]
    lines = find_lines(x, y, _TABLE_NOISE)
    beta = lines[-1].beta_s_per_byte
    alpha, alpha_method = first.time_s, AT_ZERO
    alpha_ci: Interval | None = (first.time_lo_s, first.time_hi_s)
    segments = []
    if first.size_bytes > 0:
        alpha_ci = None
        # An intercept at or below 0 is noise: the smallest message is then the best word on the empty one.
        alpha = lines[0].alpha_s or first.time_s
        alpha_method = (
            _intercept(first.size_bytes, points[lines[0].last].size_bytes)
            if lines[0].alpha_s > 0
            else f"time at {first.size_bytes} B"
        )
        segments.append(Segment(0, first.size_bytes, alpha, (first.time_s - alpha) / first.size_bytes))
    for low, high in zip(points, points[1:], strict=False):
        slope = (high.time_s - low.time_s) / (high.size_bytes - low.size_bytes)
        segments.append(Segment(low.size_bytes, high.size_bytes, low.time_s - slope * low.size_bytes, slope))
    segments.append(Segment(last.size_bytes, None, last.time_s - beta * last.size_bytes, beta))
    piecewise = LinkModel("piecewise", tuple(segments), "interpolation between the rows of the table")
    line = Line(0, x.size - 1, *fit_line(x, y))
    hockney = LinkModel(
        "hockney",
        (Segment(0, None, line.alpha_s, line.beta_s_per_byte),),
        "relative least squares over all sizes",
        _rms(relative_residuals(x, y, [line])),
    )
    return Curve(
        model="piecewise",
        alpha_s=alpha,
        alpha_ci_s=alpha_ci,
        beta_s_per_byte=beta,
        beta_ci_s_per_byte=None,
        samples=sum(point.samples for point in points),
        statistic=statistic,
        table=tuple(points),
        models={"hockney": hockney, "piecewise": piecewise},
        alpha_method=alpha_method,
    )


def _intercept(from_bytes: int, to_bytes: int) -> str:
    return f"intercept of the line through {from_bytes} to {to_bytes} B"


def _hockney(x: Array, y: Array, replicates_s: Array) -> LinkModel:
    alpha, beta = fit_line(x, y)
    rng = np.random.default_rng(1)
    fits = []
    for column in replicates_s.T:
        rows = rng.integers(0, x.size, size=x.size)
        if np.unique(x[rows]).size < 2:
            continue
        fits.append(fit_line(x[rows], column[rows]))
    alpha_ci, beta_ci = _intervals(np.array(fits))
    residuals = relative_residuals(x, y, [Line(0, x.size - 1, alpha, beta)])
    segment = Segment(0, None, alpha, beta, alpha_ci, beta_ci)
    return LinkModel("hockney", (segment,), "relative least squares over all sizes", _rms(residuals))


def _piecewise(x: Array, y: Array, replicates_s: Array) -> LinkModel:
    noise = float(np.median(replicates_s.std(axis=1) / y))
    lines = find_lines(x, y, max(noise, 1e-3))
    refits = [refit(x, column, lines) for column in replicates_s.T]
    segments = []
    for i, line in enumerate(lines):
        parameters = np.array([[fit[i].alpha_s, fit[i].beta_s_per_byte] for fit in refits])
        alpha_ci, beta_ci = _intervals(parameters)
        start = 0 if i == 0 else int(x[line.first])
        end = None if i == len(lines) - 1 else int(x[lines[i + 1].first])
        segments.append(Segment(start, end, line.alpha_s, line.beta_s_per_byte, alpha_ci, beta_ci))
    residuals = relative_residuals(x, y, lines)
    method = f"relative least squares, {len(lines)} segment(s), breaks by the Bayesian information criterion"
    return LinkModel("piecewise", tuple(segments), method, _rms(residuals))


def _intervals(parameters: Array) -> tuple[Interval, Interval]:
    return interval_95(parameters[:, 0]), interval_95(parameters[:, 1])


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
