"""Hockney's model: one alpha and one beta over all sizes."""

from __future__ import annotations

import numpy as np

from rankwise.machine.link import LinkModel, Segment
from rankwise.models.fit import fit_line
from rankwise.models.measured import Way, rms_error
from rankwise.statistics import interval_95

NAME = "hockney"


def fit(way: Way) -> LinkModel:
    """Fit one line. Its intervals also resample the sizes, since what one line over all of them misses is an error, too."""
    x, y = way.sizes, way.times_s
    alpha, beta = fit_line(x, y)
    rng = np.random.default_rng(1)
    fits = []
    for column in way.replicates_s.T:
        rows = rng.integers(0, x.size, size=x.size)
        if np.unique(x[rows]).size >= 2:
            fits.append(fit_line(x[rows], column[rows]))
    pairs = np.array(fits)
    intervals = (interval_95(pairs[:, 0]), interval_95(pairs[:, 1])) if fits else (None, None)
    return LinkModel(
        NAME,
        (Segment(0, None, alpha, beta, *intervals),),
        "relative least squares over all sizes",
        rms_error(alpha + beta * x, y),
        parameter_count=2,
    )
