"""The piecewise model: lines between breaks found from the data, or a table taken as it stands."""

from __future__ import annotations

import numpy as np

from rankwise.machine.link import LinkModel, Segment
from rankwise.models.fit import MOST_SEGMENTS, Line, LineFit, find_lines, fit_line, fit_line_in_logs, refit
from rankwise.models.measured import Way, with_error

NAME = "piecewise"
_TABLE_NOISE = 0.05  # relative, of a row in a table that says nothing of its spread


def fit(way: Way, line: LineFit = fit_line_in_logs, most: int = MOST_SEGMENTS) -> LinkModel:
    """Fit at most so many lines between breaks. An eager or rendezvous limit that the data shows is one of the breaks."""
    x = way.sizes
    lines = find_lines(x, way.times_s, way.noise, most, line)
    refits = [refit(x, way.column(i).times_s, lines, line) for i in range(way.columns_s.shape[1])]
    segments = []
    for i, one in enumerate(lines):
        ends = [
            way.deviations.interval(value, np.array([getattr(found[i], name) for found in refits]))
            for name, value in (("alpha_s", one.alpha_s), ("beta_s_per_byte", one.beta_s_per_byte))
        ]
        start = 0 if i == 0 else int(x[one.first])
        end = None if i == len(lines) - 1 else int(x[lines[i + 1].first])
        segments.append(Segment(start, end, one.alpha_s, one.beta_s_per_byte, *ends))
    method = f"least squares of the logarithms, {len(lines)} segment(s), breaks by the Bayesian information criterion"
    return with_error(LinkModel(NAME, tuple(segments), method, parameter_count=3 * len(lines) - 1), way)


def ends(way: Way) -> tuple[Line, Line]:
    """Return the lines fitted to the two ends of a table: two neighbouring rows hold more noise than slope."""
    lines = find_lines(way.sizes, way.times_s, _TABLE_NOISE, line=fit_line)
    return lines[0], lines[-1]


def interpolate(way: Way) -> LinkModel:
    """Take each row as it is, with straight lines between rows (werner2023 section 4.4: a beta for each size).

    Outside the table answer the lines fitted to its ends, moved to go through its first and last row.
    """
    below, above = ends(way)
    rows = [(int(size), float(time_s)) for size, time_s in zip(way.sizes, way.times_s, strict=True)]
    (first, first_s), (last, last_s) = rows[0], rows[-1]
    segments = []
    if first > 0:
        # An intercept at or below 0 is noise: the smallest message is then the best word on the empty one.
        alpha_s = below.alpha_s or first_s
        segments.append(Segment(0, first, alpha_s, (first_s - alpha_s) / first))
    for (low, low_s), (high, high_s) in zip(rows, rows[1:], strict=False):
        beta = (high_s - low_s) / (high - low)
        segments.append(Segment(low, high, low_s - beta * low, beta))
    beta = above.beta_s_per_byte
    segments.append(Segment(last, None, last_s - beta * last, beta))
    return LinkModel(NAME, tuple(segments), "interpolation between the rows of the table", parameter_count=int(way.sizes.size))
