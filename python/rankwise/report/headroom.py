"""A picture of how far a placement is from the best and the worst that are known."""

from __future__ import annotations

from rankwise.advise.findings import Advice
from rankwise.report.chart import IDLE, INK, MOVING, VOLUME, Chart, Spec, field_of, rows
from rankwise.units import format_volume


def headroom_picture(advice: Advice, title: str) -> Chart:
    """Draw bytes between nodes: the proven floor, the best placement known, now, and the worst."""
    room = advice.headroom
    ends = [
        ("proven least", room.floor_bytes),
        ("best known", room.best_bytes),
        ("now", room.now_bytes),
        ("worst known", room.worst_bytes),
    ]
    if room.floor_bytes >= room.best_bytes:
        ends = [("best, proven", room.best_bytes), *ends[2:]]
    stops = [f"{name}: {format_volume(size)} between nodes a {advice.evidence.per}" for name, size in ends]
    most = max(size for _, size in ends)
    axis: Spec = {
        "scale": {"domain": [0, most * 1.06], "nice": False},
        "axis": {"labelExpr": VOLUME, "tickCount": 5, "title": None, "grid": False},
    }
    data = [
        {"name": name, "size": size, "words": f"{name}: {format_volume(size)}", "row": i, "stop": i, "tip": stops[i]}
        for i, (name, size) in enumerate(ends)
    ]
    y: Spec = {"value": 96}
    bars: list[Spec] = [
        {"low": room.best_bytes, "high": room.now_bytes, "part": "to gain by another placement"},
        {"low": room.now_bytes, "high": room.worst_bytes, "part": "could be lost by a bad placement"},
    ]
    panel = {
        "height": 120,
        "layer": [
            {
                "data": rows(bar for bar in bars if bar["high"] > bar["low"]),
                "mark": {"type": "bar", "height": 18},
                "encoding": {
                    "y": y, "x": field_of("low", **axis), "x2": {"field": "high"},
                    "color": field_of("part", "nominal", scale={"domain": [bar["part"] for bar in bars],
                        "range": [MOVING, IDLE]}),
                },
            },
            {
                "data": rows(data), "mark": {"type": "rule", "color": INK, "strokeWidth": 2},
                "encoding": {"x": field_of("size", **axis), "y": {"field": "row", "type": "quantitative", "axis": None,
                    "scale": {"domain": [-0.6, 5], "reverse": True}}, "y2": {"value": 106}},
            },
            {
                "data": rows(data), "transform": [{"filter": f"datum.size<{0.6 * most!r}"}],
                "mark": {"type": "text", "align": "left", "dx": 4, "dy": 4, "color": INK},
                "encoding": {"x": field_of("size", **axis), "y": {"field": "row", "type": "quantitative"},
                    "text": {"field": "words"}},
            },
            {
                "data": rows(data), "transform": [{"filter": f"datum.size>={0.6 * most!r}"}],
                "mark": {"type": "text", "align": "right", "dx": -4, "dy": 4, "color": INK},
                "encoding": {"x": field_of("size", **axis), "y": {"field": "row", "type": "quantitative"},
                    "text": {"field": "words"}},
            },
        ],
    }  # fmt: skip
    return Chart("headroom", title, "; ".join(stops), [panel], stops, legend_px=260)
