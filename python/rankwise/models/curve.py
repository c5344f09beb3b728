"""From a table of times to a curve: Hockney over all sizes, piecewise, their intervals, and the choice between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankwise.statistics import interval_95
from rankwise.models.fit import Line, find_lines, fit_line, refit, relative_residuals
from rankwise.machine.link import Curve, Interval, LinkModel, Point, Segment

Array = NDArray[np.float64]


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
    if sizes[0] == 0:
        alpha_s, alpha_ci_s = table[0].time_s, (table[0].time_lo_s, table[0].time_hi_s)
    else:
        alpha_s, alpha_ci_s = piecewise.segments[0].alpha_s, piecewise.segments[0].alpha_ci_s or (0.0, 0.0)
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
    )


def curve_from_table(points: Sequence[Point], statistic: str) -> Curve:
    """Make a curve of a published or imported table: it is interpolated exactly, and a Hockney line stands beside it.

    Raises ValueError for fewer than two sizes.
    """
    if len(points) < 2:
        raise ValueError("a table needs at least two sizes")
    x = np.array([point.size_bytes for point in points], dtype=np.float64)
    y = np.array([point.time_s for point in points])
    segments = []
    for i, (low, high) in enumerate(zip(points, points[1:], strict=False)):
        beta = (high.time_s - low.time_s) / (high.size_bytes - low.size_bytes)
        end = None if i == len(points) - 2 else high.size_bytes
        segments.append(Segment(low.size_bytes, end, low.time_s - beta * low.size_bytes, beta))
    piecewise = LinkModel("piecewise", tuple(segments), "interpolation between the rows of the table")
    alpha, beta = fit_line(x, y)
    residuals = relative_residuals(x, y, [Line(0, x.size - 1, alpha, beta)])
    hockney = LinkModel(
        "hockney", (Segment(0, None, alpha, beta),), "relative least squares over all sizes", _rms(residuals)
    )
    return Curve(
        model="piecewise",
        alpha_s=points[0].time_s if points[0].size_bytes == 0 else alpha,
        alpha_ci_s=(points[0].time_lo_s, points[0].time_hi_s) if points[0].size_bytes == 0 else None,
        beta_s_per_byte=segments[-1].beta_s_per_byte,
        beta_ci_s_per_byte=None,
        samples=sum(point.samples for point in points),
        statistic=statistic,
        table=tuple(points),
        models={"hockney": hockney, "piecewise": piecewise},
    )


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
