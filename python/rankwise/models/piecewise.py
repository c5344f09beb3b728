"""The piecewise model: lines between breaks found from the data, or a table taken as it stands."""

from __future__ import annotations

import numpy as np

from rankwise.machine.link import LinkModel, Segment
from rankwise.models.fit import find_lines, refit, relative_residuals
from rankwise.models.measured import Way
from rankwise.statistics import interval_95

NAME = "piecewise"


def fit(way: Way) -> LinkModel:
    """Fit lines between breaks. An eager or rendezvous limit that the data shows is one of the breaks."""
    x, y = way.sizes, way.times_s
    lines = find_lines(x, y, way.noise())
    refits = [refit(x, column, lines) for column in way.replicates_s.T]
    segments = []
    for i, line in enumerate(lines):
        found = np.array([[fit[i].alpha_s, fit[i].beta_s_per_byte] for fit in refits])
        intervals = (interval_95(found[:, 0]), interval_95(found[:, 1])) if refits else (None, None)
        start = 0 if i == 0 else int(x[line.first])
        end = None if i == len(lines) - 1 else int(x[lines[i + 1].first])
        segments.append(Segment(start, end, line.alpha_s, line.beta_s_per_byte, *intervals))
    residuals = relative_residuals(x, y, lines)
    return LinkModel(
        NAME,
        tuple(segments),
        f"relative least squares, {len(lines)} segment(s), breaks by the Bayesian information criterion",
        float(np.sqrt(np.mean(residuals**2))),
        parameter_count=3 * len(lines) - 1,
    )


def interpolate(way: Way) -> LinkModel:
    """Take each row as it is, with straight lines between rows (werner2023 section 4.4: a beta for each size)."""
    sizes, times_s = way.sizes, way.times_s
    betas = np.diff(times_s) / np.diff(sizes)
    ends = [*(int(size) for size in sizes[1:-1]), None]
    return LinkModel(
        NAME,
        tuple(
            Segment(int(size), end, float(time_s - beta * size), float(beta))
            for size, end, time_s, beta in zip(sizes[:-1], ends, times_s[:-1], betas, strict=True)
        ),
        "interpolation between the rows of the table",
        parameter_count=int(sizes.size),
    )
