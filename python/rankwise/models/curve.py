"""From tables of times to curves: every model fitted for each way of sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rankwise.machine.link import AT_ZERO, Curve, LinkModel, Parameter, Point, Segment
from rankwise.models import hockney, piecewise
from rankwise.models.measured import Way


def curve_of(way: Way, models: Mapping[str, LinkModel], chosen: str, statistic: str) -> Curve:
    """Make the curve of a measured way of sending; its alpha is T(0) where that was measured."""
    return _curve(way, way.points(), models, chosen, statistic)


def curve_from_table(points: Sequence[Point], statistic: str) -> Curve:
    """Make a curve of a published or imported table: it is interpolated exactly, and a Hockney line stands next to it.

    Raises ValueError for fewer than two sizes.
    """
    if len(points) < 2:
        raise ValueError("a table needs at least two sizes")
    way = Way(
        np.array([point.size_bytes for point in points], dtype=np.float64),
        np.array([point.time_s for point in points]),
        tuple(point.samples for point in points),
        np.empty((len(points), 0)),
    )
    table, line = piecewise.interpolate(way), hockney.fit(way)
    return _curve(way, tuple(points), {line.name: line, table.name: table}, table.name, statistic)


def limited(curve: Curve, rate: Parameter) -> Curve:
    """Let no model pass messages larger than the table's faster than a card does: ``rate`` in bytes/s, as streams found it."""
    models = {name: _limited(model, curve.table[-1].size_bytes, rate) for name, model in curve.models.items()}
    last = _lines(models, curve.model).segments[-1]
    return replace(curve, models=models, beta_s_per_byte=last.beta_s_per_byte, beta_ci_s_per_byte=last.beta_ci_s_per_byte)


def _lines(models: Mapping[str, LinkModel], chosen: str) -> LinkModel:
    """Return the model whose first and last line are alpha and beta: lines, where they could be fitted."""
    return models[piecewise.NAME if piecewise.NAME in models else chosen]


def _limited(model: LinkModel, largest_bytes: int, rate: Parameter) -> LinkModel:
    if model.segments[-1].beta_s_per_byte * rate.value >= 1:
        return model
    segments = [segment for segment in model.segments if segment.from_bytes < largest_bytes]
    if segments:
        segments[-1] = replace(segments[-1], to_bytes=largest_bytes)
    beta = 1 / rate.value
    ends = None if rate.ci is None else (1 / rate.ci[1], 1 / rate.ci[0])
    alpha = model.time_s(largest_bytes) - beta * largest_bytes
    segments.append(Segment(largest_bytes, None, alpha, beta, beta_ci_s_per_byte=ends))
    return replace(model, segments=tuple(segments), method=f"{model.method}; beyond {largest_bytes} B at the NIC's rate")


def _curve(way: Way, table: tuple[Point, ...], models: Mapping[str, LinkModel], chosen: str, statistic: str) -> Curve:
    segments = _lines(models, chosen).segments
    alpha_s, alpha_ci_s = segments[0].alpha_s, segments[0].alpha_ci_s
    alpha_method = AT_ZERO
    if table[0].size_bytes == 0:
        alpha_s, alpha_ci_s = table[0].time_s, table[0].interval_s
    else:
        alpha_method = _alpha_method(way, segments[0].to_bytes)
    return Curve(
        model=chosen,
        alpha_s=alpha_s,
        alpha_ci_s=alpha_ci_s,
        beta_s_per_byte=segments[-1].beta_s_per_byte,
        beta_ci_s_per_byte=segments[-1].beta_ci_s_per_byte,
        samples=sum(way.samples),
        statistic=statistic,
        table=table,
        models=models,
        alpha_method=alpha_method,
    )


def _alpha_method(way: Way, first_to_bytes: int | None) -> str:
    """Say which line's intercept alpha is; ``first_to_bytes`` is where the piecewise model's first segment ends."""
    smallest, largest = int(way.sizes[0]), int(way.sizes[-1])
    if first_to_bytes == smallest:  # an interpolated table: that segment lies below it
        below, _ = piecewise.ends(way)
        if not below.alpha_s:
            return f"time at {smallest} B"
        first_to_bytes = int(way.sizes[below.last])
    return f"intercept of the line through {smallest} to {first_to_bytes or largest} B"
