"""Hockney's model: one alpha and one beta over all sizes."""

from __future__ import annotations

from rankwise.machine.link import LinkModel, Segment
from rankwise.models.fit import LineFit, fit_line_in_logs
from rankwise.models.measured import Way, refits, rms_error, with_intervals

NAME = "hockney"


def fit(way: Way, line: LineFit = fit_line_in_logs) -> LinkModel:
    """Fit one line, with the intervals of its two parameters."""

    def estimate(sizes_and_times: Way) -> dict[str, float]:
        alpha_s, beta = line(sizes_and_times.sizes, sizes_and_times.times_s)
        return {"alpha_s": alpha_s, "beta_s_per_byte": beta}

    found = with_intervals(estimate(way), refits({NAME: way}, lambda ways: estimate(ways[NAME])), way.deviations)
    alpha, beta = found["alpha_s"], found["beta_s_per_byte"]
    return LinkModel(
        NAME,
        (Segment(0, None, alpha.value, beta.value, alpha.ci, beta.ci),),
        "least squares of the logarithms over all sizes",
        rms_error(alpha.value + beta.value * way.sizes, way.times_s),
        parameter_count=2,
    )
