"""From tables of times to curves: every model fitted for each way of sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.machine.link import Curve, LinkModel, Point
from rankwise.models import hockney, piecewise
from rankwise.models.measured import Way
from rankwise.statistics import interval_95


def curve_of(way: Way, models: Mapping[str, LinkModel], chosen: str, statistic: str) -> Curve:
    """Make the curve of a measured way of sending; its alpha is T(0) where that was measured."""
    table = tuple(
        Point(int(size), float(time_s), *interval_95(row), count)
        for size, time_s, row, count in zip(way.sizes, way.times_s, way.replicates_s, way.samples, strict=True)
    )
    ends = models["piecewise"].segments
    alpha_s, alpha_ci_s = ends[0].alpha_s, ends[0].alpha_ci_s
    if table[0].size_bytes == 0:
        alpha_s, alpha_ci_s = table[0].time_s, (table[0].time_lo_s, table[0].time_hi_s)
    return Curve(
        model=chosen,
        alpha_s=alpha_s,
        alpha_ci_s=alpha_ci_s,
        beta_s_per_byte=ends[-1].beta_s_per_byte,
        beta_ci_s_per_byte=ends[-1].beta_ci_s_per_byte,
        samples=sum(way.samples),
        statistic=statistic,
        table=table,
        models=models,
    )


def curve_from_table(points: Sequence[Point], statistic: str) -> Curve:
    """Make a curve of a published or imported table: it is interpolated exactly, and a Hockney line stands beside it.

    Raises ValueError for fewer than two sizes.
    """
    if len(points) < 2:
        raise ValueError("a table needs at least two sizes")
    way = Way.exact(
        np.array([point.size_bytes for point in points], dtype=np.float64), np.array([point.time_s for point in points])
    )
    table, line = piecewise.interpolate(way), hockney.fit(way)
    first = points[0]
    return Curve(
        model=table.name,
        alpha_s=first.time_s if first.size_bytes == 0 else line.segments[0].alpha_s,
        alpha_ci_s=(first.time_lo_s, first.time_hi_s) if first.size_bytes == 0 else None,
        beta_s_per_byte=table.segments[-1].beta_s_per_byte,
        beta_ci_s_per_byte=None,
        samples=sum(point.samples for point in points),
        statistic=statistic,
        table=tuple(points),
        models={line.name: line, table.name: table},
    )
