"""Fitting link models to a table of times: one line over all sizes, or lines between breaks found from the data.

Fits are least squares of the logarithms, since an absolute one would see only the largest messages, and a relative one
favours too small a time; places of breaks are found by the relative one. A row is (size in bytes, time in seconds).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Floats

LineFit = Callable[[Floats, Floats], tuple[float, float]]

_MOST_STEPS = 30
MOST_SEGMENTS = 5
_LEAST_POINTS = 3


@dataclass(frozen=True)
class Line:
    """alpha + beta * size over rows first..last of the table."""

    first: int
    last: int
    alpha_s: float
    beta_s_per_byte: float


def fit_line(sizes: Floats, times_s: Floats) -> tuple[float, float]:
    """Return (alpha_s, beta_s_per_byte), both at least 0, of the relative least-squares line.

    Raises ValueError for fewer than two sizes.
    """
    if sizes.size < 2:
        raise ValueError("a line needs at least two sizes")
    weights = 1.0 / times_s
    design = np.column_stack([weights, sizes * weights])
    if not np.isfinite(design).all():
        raise ValueError("its times are too far apart, or too small, for a line")
    (alpha, beta), *_ = np.linalg.lstsq(design, np.ones_like(sizes), rcond=None)
    # A negative parameter has no meaning: the best line then has it at zero.
    if beta < 0:
        alpha, beta = float(np.sum(weights) / np.sum(weights**2)), 0.0
    elif alpha < 0:
        scaled = sizes * weights
        alpha, beta = 0.0, float(np.sum(scaled) / np.sum(scaled**2))
    return float(alpha), float(beta)


def fit_line_in_logs(sizes: Floats, times_s: Floats) -> tuple[float, float]:
    """Return (alpha_s, beta_s_per_byte), both at least 0, of the line with the least squares of log(line / time).

    Gauss-Newton from the relative fit. Raises ValueError for fewer than two sizes.
    """
    alpha, beta = fit_line(sizes, times_s)
    logs = np.log(times_s)
    if beta <= 0:
        return float(np.exp(logs.mean())), 0.0
    if alpha <= 0 and sizes.min() > 0:  # rows of two ways come one after the other
        return 0.0, float(np.exp(np.mean(logs - np.log(sizes))))
    alpha = max(alpha, 1e-3 * float(times_s[np.argmin(sizes)]))

    def left(a: float, b: float) -> Floats:
        return np.asarray(logs - np.log(a + b * sizes))

    residual = left(alpha, beta)
    error = float(residual @ residual)
    for _ in range(_MOST_STEPS):
        line_s = alpha + beta * sizes
        u, v = 1 / line_s, sizes / line_s
        uu, uv, vv, ur, vr = float(u @ u), float(u @ v), float(v @ v), float(u @ residual), float(v @ residual)
        determinant = uu * vv - uv * uv
        if determinant <= 0:
            break
        to_alpha, to_beta, step = (ur * vv - vr * uv) / determinant, (vr * uu - ur * uv) / determinant, 1.0
        before = error
        while step > 1e-3:  # shorter steps until both stay positive and the error falls
            a, b = alpha + step * to_alpha, beta + step * to_beta
            if a > 0 and b > 0:
                tried = left(a, b)
                if float(tried @ tried) <= error:
                    alpha, beta, residual, error = a, b, tried, float(tried @ tried)
                    break
            step /= 2
        if before - error <= 1e-12 * before:
            break
    return alpha, beta


def find_lines(
    sizes: Floats, times_s: Floats, noise: float = 1e-3, most: int = MOST_SEGMENTS, line: LineFit = fit_line_in_logs
) -> list[Line]:
    """Return the piecewise model: the number of lines and their breaks by the Bayesian information criterion.

    ``noise`` is the relative standard error of a row: a fit that is closer than that is not better. Every line covers at
    least three rows, and there are at most ``most`` lines. Dynamic programming over all places of the breaks finds the best
    for each number of lines; the criterion then takes fewer lines unless more pay for their parameters.
    """
    n = sizes.size
    if n < 2 * _LEAST_POINTS or most == 1:
        return [Line(0, n - 1, *line(sizes, times_s))]
    cost = _costs(sizes, times_s)
    best = cost[0].copy()  # best[last]: least cost of rows 0..last with the current number of lines
    cuts: list[list[int]] = []
    chosen: tuple[float, list[tuple[int, int]]] | None = None
    for count in range(1, min(most, n // _LEAST_POINTS) + 1):
        if count > 1:
            grown = np.full(n, np.inf)
            cut = [0] * n
            for last in range(n):
                options = best[:last] + cost[1 : last + 1, last] if last else np.array([np.inf])
                cut[last] = int(np.argmin(options)) + 1
                grown[last] = options[cut[last] - 1]
            best = grown
            cuts.append(cut)
        if not np.isfinite(best[-1]):
            break
        parameters = 3 * count - 1  # alpha, beta and a break for each line but the last
        criterion = n * np.log(best[-1] / n + noise**2) + parameters * np.log(n)
        if chosen is None or criterion < chosen[0]:
            chosen = (float(criterion), _trace(cuts, n))
    assert chosen is not None
    return [Line(first, last, *line(sizes[first : last + 1], times_s[first : last + 1])) for first, last in chosen[1]]


def _costs(sizes: Floats, times_s: Floats) -> Floats:
    """Return the squared relative error of the best line over rows first..last for all pairs; infinite for too few rows.

    All pairs at once by prefix sums of the normal equations, with the same bounds as ``fit_line``.
    """
    w = 1.0 / times_s
    v = sizes * w

    def over_all_pairs(values: Floats) -> Floats:
        total = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(total[None, 1:] - total[:-1, None])

    ww, wv, vv, w1, v1, n1 = map(over_all_pairs, (w * w, w * v, v * v, w, v, np.ones_like(w)))
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = ww * vv - wv**2
        alpha = (w1 * vv - v1 * wv) / determinant
        beta = (v1 * ww - w1 * wv) / determinant
        best = n1 - alpha * w1 - beta * v1
        best = np.where(alpha < 0, n1 - v1**2 / vv, best)
        best = np.where(beta < 0, n1 - w1**2 / ww, best)
    rows = np.arange(sizes.size)
    enough = rows[None, :] - rows[:, None] >= _LEAST_POINTS - 1
    return np.where(enough, np.maximum(best, 0.0), np.inf)


def _trace(cuts: list[list[int]], n: int) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    last = n - 1
    for cut in reversed(cuts):
        pieces.append((cut[last], last))
        last = cut[last] - 1
    pieces.append((0, last))
    return pieces[::-1]


def refit(sizes: Floats, times_s: Floats, lines: list[Line], line: LineFit = fit_line_in_logs) -> list[Line]:
    """Return lines with the same breaks, fitted to other times."""
    return [
        Line(old.first, old.last, *line(sizes[old.first : old.last + 1], times_s[old.first : old.last + 1])) for old in lines
    ]
