"""A flat model: all messages up to a size take the same time, longer ones follow a line."""

from __future__ import annotations

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.link import LinkModel
from rankwise.models.fit import fit_line_in_logs
from rankwise.models.measured import Way, rms_error, squared_error, steps

NAME = "flat"


def fit(way: Way) -> LinkModel:
    """Try each size as the end of the flat part, and take the one that misses the rows least."""
    sizes, times_s = way.sizes, way.times_s

    def model_s(cut: int) -> tuple[float, float, float, Floats]:
        flat_s = float(np.exp(np.log(times_s[:cut]).mean()))
        alpha_s, beta = fit_line_in_logs(sizes[cut:], times_s[cut:])
        return flat_s, alpha_s, beta, np.where(np.arange(sizes.size) < cut, flat_s, alpha_s + beta * sizes)

    cuts = range(1, sizes.size - 1)
    cut = min(cuts, key=lambda cut: squared_error(model_s(cut)[3], times_s))
    flat_s, alpha_s, beta, found_s = model_s(cut)
    return LinkModel(
        NAME,
        steps((0, flat_s, 0.0), (float(sizes[cut]), alpha_s, beta)),
        f"one time below {int(sizes[cut])} B, least squares of the logarithms above",
        rms_error(found_s, times_s),
        parameter_count=4,
    )
