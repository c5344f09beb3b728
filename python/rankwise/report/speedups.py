"""Pictures of simulated beside published speed-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.report.chart import INK, SHAPES, Chart, Spec, field_of, rows, series_scale, zoom


def speedup_picture(pairs: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> Chart:
    """Draw (simulated, published) speed-ups: a panel for each machine, a look for each mapping, both axes logarithmic."""
    everything = [value for panel in pairs.values() for points in panel.values() for pair in points for value in pair]
    # A few published times are tens of times off; what lies beyond is drawn at the edge.
    low, high = 0.2, min(20.0, 1.1 * max(everything, default=2.0))
    ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20) if low <= tick <= high]
    names = list(dict.fromkeys(mapping for panel in pairs.values() for mapping in panel))
    panels: list[Spec] = []
    stops: list[str] = []
    for number, (machine, series) in enumerate(pairs.items()):
        data = []
        for mapping, points in series.items():
            for ours, theirs in points:
                words = f"{machine}, {mapping}: simulated {ours:.2f}, published {theirs:.2f} times as fast as blocked"
                data.append({
                    "mapping": mapping, "ours": min(max(ours, low), high), "theirs": min(max(theirs, low), high),
                    "stop": len(stops), "tip": words,
                })  # fmt: skip
                stops.append(words)
        scale = {"type": "log", "domain": [low * 0.95, high * 1.05], "nice": False}
        x = field_of("ours", scale=scale, axis={"values": ticks, "title": "simulated speed-up over blocked", "format": "~g"})
        y = field_of("theirs", scale=scale, axis={"values": ticks, "title": "published", "format": "~g"})
        panels.append({
            "title": machine, "height": 260,
            "layer": [
                {
                    "data": {"values": [{"ours": low, "theirs": low}, {"ours": high, "theirs": high}]},
                    "mark": {"type": "line", "color": INK, "strokeWidth": 0.8, "clip": True}, "encoding": {"x": x, "y": y},
                },
                {
                    "params": [zoom(f"zoom_{number}", ("x", "y"))], "data": rows(data),
                    "mark": {"type": "point", "filled": True, "opacity": 0.75, "size": 26, "clip": True},
                    "encoding": {
                        "x": x, "y": y, "color": field_of("mapping", "nominal", scale=series_scale(names)),
                        "shape": field_of("mapping", "nominal", scale={"domain": names,
                            "range": [SHAPES[i % len(SHAPES)] for i in range(len(names))]}),
                    },
                },
                {
                    "data": rows(data), "transform": [{"filter": "datum.stop === stop"}],
                    "mark": {"type": "point", "size": 160, "color": INK, "clip": True},
                    "encoding": {"x": x, "y": y},
                },
            ],
        })  # fmt: skip
    return Chart(
        "speedups",
        "Simulated and published speed-up over blocked",
        "Each point is one mapping of one grid, stencil and message size; on the line simulation and paper agree.",
        panels, stops, least_px=300, label_px=52,
    )  # fmt: skip
