"""Pictures of exchanges: measured time beside predicted time, with both intervals and the error of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rankwise.report.chart import SERIES, TIME, Chart, Spec, emphasised, field_of, log_axis, rows
from rankwise.report.words import timing
from rankwise.units import format_size, format_time
from rankwise.workloads.comparison import Comparison

_BOTH = ("measured", "predicted")


def exchange_groups(rows: Iterable[Comparison]) -> list[list[Comparison]]:
    """Sort comparisons into pictures: each holds one exchange in all its send modes, against k (or against size).

    Where an exchange was run with one cutoff and several sizes, the size is what the picture shows.
    """
    rows = list(rows)
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for row in rows:
        groups.setdefault((*_setting(row), None if _by_size(row, rows) else row.exchange.message_bytes), []).append(row)
    return list(groups.values())


def group_label(group: Sequence[Comparison]) -> str:
    """Say in words which exchange a group shows: ``shift, 1-D, 2 ranks, 1000 B``."""
    row = group[0]
    shape = f" as {'x'.join(map(str, row.exchange.grid))}" if len(row.exchange.grid) > 1 else ""
    parts = [
        row.exchange.algorithm,
        f"{len(row.exchange.grid)}-D",
        f"{row.exchange.ranks} rank{'s' * (row.exchange.ranks > 1)}{shape}",
    ]
    parts += [f"c = {row.exchange.replication}"] if row.exchange.replication > 1 else []
    sizes = {row.exchange.message_bytes for row in group}
    return ", ".join(parts + [format_size(row.exchange.message_bytes) if len(sizes) == 1 else f"k = {row.exchange.cutoff}"])


def exchange_picture(group: Sequence[Comparison], name: str) -> Chart:
    """Draw one group of ``exchange_groups``: a panel for each send mode; ``name`` keeps its ids apart from others."""
    modes = list(dict.fromkeys(row.exchange.mode for row in group))
    by_size = len({row.exchange.message_bytes for row in group}) > 1
    ordered = sorted(group, key=lambda row: (modes.index(row.exchange.mode), row.exchange.message_bytes, row.exchange.cutoff))
    stops = [
        f"{row.exchange.mode}, k = {row.exchange.cutoff}, {format_size(row.exchange.message_bytes)}: measured "
        f"{timing(row.measured)}, predicted {timing(row.predicted)}, off by {100 * row.error:+.1f} %; "
        f"{row.measured.repetitions} repetitions"
        for row in ordered
    ]
    axis: Spec = log_axis([time_s for row in group for time_s in _times(row)], TIME, "time of one exchange")
    if not by_size:
        axis = {
            "scale": {"domain": [0, 1.18 * max(max(_times(row)) for row in group)], "nice": True},
            "axis": {"labelExpr": TIME, "tickCount": 5, "title": "time of one exchange"},
        }
    places = list(dict.fromkeys(_place(row, by_size) for row in sorted(group, key=lambda row: _order(row, by_size))))
    panels = []
    for mode in modes:
        of_mode = [(i, row) for i, row in enumerate(ordered) if row.exchange.mode == mode]
        data = [
            {
                "place": _place(row, by_size), "kind": kind, "time": timed.time_s, "stop": i, "tip": stops[i],
                **dict(zip(("low", "high"), timed.interval_s or (timed.time_s, timed.time_s), strict=True)),
            }
            for i, row in of_mode
            for kind, timed in zip(_BOTH, (row.measured, row.predicted), strict=True)
        ]  # fmt: skip
        errors = [
            {
                "place": _place(row, by_size),
                "time": max(_times(row)),
                "words": f"{100 * row.error:+.0f} %",
                "stop": i,
                "tip": stops[i],
            }
            for i, row in of_mode
        ]
        title = "bytes of each rank's block" if by_size else "cutoff k (layers of neighbours)"
        x = field_of("place", "ordinal", sort=places, scale={"domain": places}, axis={"labelAngle": 0, "title": title})
        colour = field_of("kind", "nominal", scale={"domain": list(_BOTH), "range": list(SERIES[:2])})
        y, shift = field_of("time", **axis), field_of("kind", "nominal", scale={"domain": list(_BOTH)})
        panels.append({
            "title": mode, "height": 210, "encoding": {"x": x},
            "layer": [
                {
                    "data": rows(data), "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
                    "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour, "xOffset": shift},
                },
                {
                    "data": rows(data), "mark": {"type": "point", "filled": True, "opacity": 1, "clip": True},
                    "encoding": {
                        "y": y, "color": colour, "xOffset": shift, "size": emphasised(140, 55),
                        "shape": field_of("kind", "nominal", scale={"domain": list(_BOTH), "range": ["circle", "square"]}),
                    },
                },
                {
                    "data": rows(errors), "mark": {"type": "text", "dy": -9, "fontSize": 11.5},
                    "encoding": {"y": y, "text": {"field": "words"}},
                },
            ],
        })  # fmt: skip
    worst = max(group, key=lambda row: abs(row.error))
    most = max(sum(row.exchange.mode == mode for row in group) for mode in modes)
    return Chart(
        name,
        f"Measured and predicted time: {group_label(group)}",
        f"One panel for each of {', '.join(modes)}. "
        + " ".join(
            f"{row.exchange.mode}, k = {row.exchange.cutoff}, {format_size(row.exchange.message_bytes)}: measured "
            f"{format_time(row.measured.time_s)}, predicted {format_time(row.predicted.time_s)}."
            for row in (group[0], worst)
        )
        + f" The second is the largest error, {100 * worst.error:+.0f} %.",
        panels, stops, {"resolve": {"scale": {"y": "shared"}}}, least_px=max(250, 42 * most), most_columns=3, label_px=66,
    )  # fmt: skip


def _place(row: Comparison, by_size: bool) -> str:
    return format_size(row.exchange.message_bytes) if by_size else str(row.exchange.cutoff)


def _order(row: Comparison, by_size: bool) -> int:
    return row.exchange.message_bytes if by_size else row.exchange.cutoff


def _times(row: Comparison) -> list[float]:
    """All times of a pair, their intervals' ends included where those are above 0."""
    timings = (row.measured, row.predicted)
    return [
        *(timing.time_s for timing in timings),
        *(end for timing in timings for end in timing.interval_s or () if end > 0),
    ]


def _setting(row: Comparison) -> tuple[object, ...]:
    return (row.exchange.algorithm, len(row.exchange.grid), row.exchange.grid, row.exchange.replication, row.exchange.ranks)


def _by_size(row: Comparison, rows: Sequence[Comparison]) -> bool:
    alike = [other for other in rows if _setting(other) == _setting(row)]
    return len({other.exchange.cutoff for other in alike}) == 1 and len({other.exchange.message_bytes for other in alike}) > 1
