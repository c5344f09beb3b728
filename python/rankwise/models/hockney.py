"""Hockney's model: one alpha and one beta over all sizes."""

from __future__ import annotations

from dataclasses import replace

from rankwise.machine.link import LinkModel
from rankwise.models import piecewise
from rankwise.models.fit import LineFit, fit_line_in_logs
from rankwise.models.measured import Way

NAME = "hockney"


def fit(way: Way, line: LineFit = fit_line_in_logs) -> LinkModel:
    """Fit one line, with the intervals of its two parameters: the piecewise model without breaks."""
    found = piecewise.fit(way, line, most=1)
    return replace(found, name=NAME, method="least squares of the logarithms over all sizes")
