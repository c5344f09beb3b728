"""Pictures of how long a message takes, and how fast its bytes move, against its size; and the samples behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rankwise.errors import InputError
from rankwise.machine.link import Curve, LinkModel, Point
from rankwise.machine.profile import Link, Profile
from rankwise.measure.cells import cells_of, timer_cost_s
from rankwise.measure.samples import read_campaigns
from rankwise.report.chart import INK, MUTED, RATE, TIME, Chart, SizeAxis, Spec, field_of, log_axis, rows
from rankwise.report.layers import Curves, cursor, emphasised, labels, layer, nearest, ranged, zoomed
from rankwise.report.words import point_bandwidth, point_time
from rankwise.units import format_size, format_time

Launches = Mapping[str, Mapping[int, Sequence[Sequence[float]]]]  # of each link class and size, each launch's samples, s
_MOST_SAMPLES = 400  # drawn at a size: of more, as many that spread like them
_MOST_BYTES = 2**26  # of a file of samples that is read again


def launches_of(profile: Profile, folder: Path) -> Launches | None:
    """Return for each link class and size the samples (s) of each launch; None where they are not there, or are not whole."""
    name = profile.source.get("samples_file")
    path = folder / str(name)
    found: dict[str, dict[int, list[list[float]]]] = {}
    try:
        if not name or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        campaigns = [c for c in read_campaigns(path) if c.id == profile.source.get("campaign")]
        for campaign in campaigns:
            cost_s = timer_cost_s(campaign)
            for link in profile.links:
                for size, launches in cells_of(campaign, link, cost_s).get("send", {}).items():
                    found.setdefault(link, {})[size] = [[float(t) for t in times_s] for _, times_s in sorted(launches.items())]
    except (InputError, OSError, KeyError, ValueError, TypeError):
        return None  # the report is of the profile; samples that cannot be read only leave out what lies behind
    return found or None


def links_picture(links: Mapping[str, Link], launches: Launches | None = None, own_bytes: int | None = None) -> Chart:
    """Draw time, and size / time, against size: a series for each class of link, with 95 % intervals.

    ``launches``: the samples behind the points, drawn at the size that is pointed at; ``own_bytes``: the asker's own size.
    """
    tables = {name: link.send.table for name, link in links.items()}
    sizes = SizeAxis.of(point.size_bytes for table in tables.values() for point in table)
    order = sorted({point.size_bytes for table in tables.values() for point in table})
    stop_of = {size: i for i, size in enumerate(order)}
    behind = launches or {}
    values: list[Spec] = [
        {
            "series": name, **_measured(p, sizes, stop_of), "rate": p.size_bytes / p.time_s,
            "rate_low": p.size_bytes / _high(p), "rate_high": p.size_bytes / _low(p),
            "tip": f"{name}, {format_size(p.size_bytes)}: {point_time(p)}",
        }
        for name, table in tables.items() for p in table
    ]  # fmt: skip
    sampled: list[Spec] = [
        {"series": name, "place": sizes.place(size), "stop": stop_of[size], "size": size, "samples": _drawn(launches_of_size)}
        for name, by_size in behind.items() if name in links
        for size, launches_of_size in by_size.items() if size in stop_of
    ]  # fmt: skip
    panels = []
    for what, title, quantity, low, high, label in (
        ("time", "Time of a message, one way", "time", "low", "high", TIME),
        ("rate", "Bandwidth: size / time", "rate", "rate_low", "rate_high", RATE),
    ):
        data = [value for value in values if value[quantity] > 0]
        ends = [value[key] for value in data for key in (low, quantity, high)]
        drawn = Curves(sizes.encoding(), field_of(quantity, **log_axis(ends, label, "")), list(links), part="part")
        layers = [
            *zoomed([drawn.band(low, high)], f"zoom_{what}"),
            drawn.line(1.8),
            drawn.points(80, 16),
            cursor(),
            nearest("place", quantity, f"near_{what}"),
            *sizes.break_marks(),
        ]
        if sampled:
            layers.insert(4, {
                "data": rows(value for value in sampled if quantity == "time" or value["size"] > 0),
                "transform": [
                    {"filter": "datum.stop === stop"}, {"flatten": ["samples"], "as": ["time"]},
                    {"calculate": "datum.size / datum.time", "as": "rate"},
                ],
                "mark": {"type": "tick", "orient": "horizontal", "thickness": 1, "width": 18, "opacity": 0.5, "clip": True},
                "encoding": {"x": drawn.x, "y": drawn.y, "color": drawn.colour},
            })  # fmt: skip
        if own_bytes is not None and sizes.first <= own_bytes <= sizes.last:
            layers += _mark(sizes.place(own_bytes), f"here: {format_size(own_bytes)}")
        # 0 B stands beyond the break: no line leads there.
        data = [{**value, "part": f"{value['series']} {value['stop'] == stop_of.get(0)}"} for value in data]
        panels.append({"title": title, "height": 260, "data": rows(data), "layer": layers})
    first, last = order[0], order[-1]
    return Chart(
        "links",
        "Time and bandwidth of a message against its size",
        "All axes are logarithmic; 0 B stands beyond the break. "
        + " ".join(
            f"{name}: {format_time(table[0].time_s)} at {format_size(table[0].size_bytes)}, "
            f"{format_time(table[-1].time_s)} at {format_size(table[-1].size_bytes)}."
            for name, table in tables.items()
        )
        + f" {len(order)} sizes, {format_size(first)} to {format_size(last)}.",
        panels, [_stop(size, links, behind) for size in order], least_px=430, label_px=74,
    )  # fmt: skip


def link_picture(link_class: str, link: Link) -> Chart:
    """Draw time against size for one link class: measured with 95 % intervals, the models, other modes."""
    curves = link.curves
    sizes = SizeAxis.of(point.size_bytes for curve in curves.values() for point in curve.table)
    order = sorted({point.size_bytes for curve in curves.values() for point in curve.table})
    stop_of = {size: i for i, size in enumerate(order)}
    y = field_of("time", **log_axis([v for curve in curves.values() for v in _values(curve.table)], TIME, ""))
    models = sorted(link.send.models)
    data = [
        {
            "way": name, **_measured(p, sizes, stop_of), "tip": f"{name}, {format_size(p.size_bytes)}: {point_time(p)}; "
            f"{p.samples} samples",
        }
        for name, curve in curves.items() for p in curve.table
    ]  # fmt: skip
    panels = [_models_panel(f"plain send, {link_class}", link.send, sizes, stop_of, Curves(sizes.encoding(), y, models, "model",
        "segment"))]  # fmt: skip
    if link.variants:
        drawn = Curves(sizes.encoding(), y, list(curves), "way")
        layers = [
            *zoomed([drawn.line(1.2)], "zoom_ways"), drawn.intervals(), drawn.points(80, 16), cursor(),
            nearest("place", "time", "near_ways"), *sizes.break_marks(),
        ]  # fmt: skip
        panels.append({"title": "modes, measured", "height": 250, "data": rows(data), "layer": layers})
    first, last = link.send.table[0], link.send.table[-1]
    apart = dict.fromkeys(("color", "strokeDash", "shape"), "independent")
    return Chart(
        f"link-{link_class}",
        f"Time of one message against its size, {link_class}",
        f"Both axes are logarithmic. Measured times with 95 % intervals go from {format_time(first.time_s)} at "
        f"{format_size(first.size_bytes)} to {format_time(last.time_s)} at {format_size(last.size_bytes)}; drawn with them "
        f"are the models {', '.join(models)}" + (f" and the modes {', '.join(curves)}." if link.variants else "."),
        panels,
        [_stop_of_ways(size, curves) for size in order],
        {"resolve": {"legend": apart, "scale": apart}},
        least_px=430, legend_px=130, label_px=76,
    )  # fmt: skip


def _models_panel(title: str, curve: Curve, sizes: SizeAxis, stop_of: Mapping[int, int], drawn: Curves) -> Spec:
    lines = [row for name in drawn.names for row in _model_rows(curve.models[name], sizes)]
    measured = [
        {**_measured(p, sizes, stop_of), "tip": f"measured, {format_size(p.size_bytes)}: {point_time(p)}; {p.samples} samples"}
        for p in curve.table
    ]
    x, y = drawn.x, drawn.y
    layers = [
        *zoomed([drawn.line(1.6, lines)], "zoom_models"),
        layer("rule", {"x": x, **ranged("y", y, "low", "high")}, color=INK, clip=True),
        layer("point", {"x": x, "y": y, "size": emphasised(90, 22)}, filled=True, color=INK, opacity=1, clip=True),
        cursor(),
        nearest("place", "time", "near_models"),
        *sizes.break_marks(),
    ]
    chosen = curve.chosen()
    if not interpolates(chosen, curve):
        for segment in chosen.segments[1:]:
            if sizes.first < segment.from_bytes < sizes.last:
                layers += _mark(sizes.place(segment.from_bytes), f"break {format_size(segment.from_bytes)}")
    return {"title": f"{title}; lines: models", "height": 250, "data": rows(measured), "layer": layers}


def _measured(p: Point, sizes: SizeAxis, stop_of: Mapping[int, int]) -> Spec:
    return {
        "place": sizes.place(p.size_bytes), "time": p.time_s, "low": _low(p), "high": _high(p), "stop": stop_of[p.size_bytes],
    }  # fmt: skip


def interpolates(model: LinkModel, curve: Curve) -> bool:
    """Tell whether a model only joins the rows of its table, so that its segments say nothing of their own."""
    return model.looks_up or 1 < len(curve.table) - 1 <= len(model.segments)


def _mark(place: float, words: str) -> list[Spec]:
    data, x = [{"place": place, "words": words}], field_of("place")
    return [
        layer("rule", {"x": x}, data, strokeDash=[2, 3], color=MUTED, clip=True),
        labels({"x": x, "y": {"value": 0}}, "words", data, align="right", baseline="top", dx=-4, color=MUTED, fontSize=11),
    ]


def _stop(size: int, links: Mapping[str, Link], launches: Launches) -> str:
    told = []
    for name, link in links.items():
        for point in (point for point in link.send.table if point.size_bytes == size):
            rate = f", {point_bandwidth(point)}" if size else ""
            medians = [median(samples) for samples in launches.get(name, {}).get(size, ()) if samples]
            behind = f"; {point.samples} samples" + (
                f" in {len(medians)} launches of {format_time(min(medians))} to {format_time(max(medians))}"
                if len(medians)
                else ""
            )
            told.append(f"{name} {point_time(point)}{rate}{behind}")
    return f"At {format_size(size)}: {' | '.join(told)}"


def _drawn(launches: Sequence[Sequence[float]]) -> list[float]:
    """Return every sample at a size, or, of very many, evenly some of them in order of time."""
    every = sorted(time_s for samples in launches for time_s in samples if time_s > 0)
    step = max(1, -(-len(every) // _MOST_SAMPLES))
    return [float(f"{time_s:.4g}") for time_s in [*every[:-1:step], *every[-1:]]]


def _stop_of_ways(size: int, curves: Mapping[str, Curve]) -> str:
    told = [
        f"{name} {point_time(point)} (model {format_time(curve.time_s(size))})"
        for name, curve in curves.items()
        for point in curve.table
        if point.size_bytes == size
    ]
    return f"At {format_size(size)}: {' | '.join(told)}"


def _model_rows(model: LinkModel, sizes: SizeAxis) -> list[dict[str, Any]]:
    """Return the points of a model's lines, each segment on its own: the model may jump where it breaks."""
    found = []
    whole = model.looks_up or len(model.segments) > 12  # of what only joins its rows, one line
    for i, segment in enumerate(model.segments):
        low, high = max(segment.from_bytes, sizes.first), min(segment.to_bytes or sizes.last, sizes.last)
        steps = 1 if whole else 24
        for step in range(steps + 1) if low < high else ():
            size = low * (high / low) ** (step / steps)
            time_s = segment.time_s(size)
            if time_s > 0:
                found.append({"model": model.name, "segment": 0 if whole else i, "place": sizes.place(size), "time": time_s})
    at_zero = model.time_s(0)
    if sizes.zero is not None and at_zero > 0:
        half = 0.3 * (sizes.place(sizes.first) - sizes.zero)
        found += [{"model": model.name, "segment": -1, "place": sizes.zero + side, "time": at_zero} for side in (-half, half)]
    return found


def _low(point: Point) -> float:
    """Return the low end of a point's interval; a noisy table may have it at or below 0, which has no logarithm."""
    return max(point.time_s if point.time_lo_s is None else point.time_lo_s, point.time_s / 100)


def _high(point: Point) -> float:
    return point.time_s if point.time_hi_s is None else max(point.time_hi_s, _low(point))


def _values(table: Iterable[Point]) -> list[float]:
    return [value for point in table for value in (_low(point), point.time_s, max(point.time_hi_s or 0.0, point.time_s))]
