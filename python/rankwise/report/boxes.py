"""Notched box plots of reductions over blocked, a panel for each stencil and objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.report.chart import INK, MUTED, SERIES, SURFACE, Chart, Spec, emphasised, field_of, rows

_WHISKER = 1.5  # at most so many interquartile ranges beyond the box, as Tukey drew them
_MOST = 2.2  # of blocked, that is drawn; what lies beyond is counted at the edge


def reduction_picture(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> Chart:
    """Draw one panel a title: for each mapper the distribution of its reductions, whiskers and outliers inside the axis."""
    mappers = list(next(iter(panels.values())))
    drawn: list[Spec] = []
    stops: list[str] = []
    for title, values in panels.items():
        colour = SERIES[0] if "J_sum" in title else SERIES[1]
        edge = min(_MOST, 1.05 * max(1.0, *(max(values[mapper]) for mapper in mappers)))
        boxes, outliers = [], []
        for mapper in mappers:
            data = np.sort(np.asarray(values[mapper], float))
            low, middle, high = np.quantile(data, (0.25, 0.5, 0.75))
            reach = _WHISKER * (high - low)
            inside = data[(data >= low - reach) & (data <= high + reach)]
            notch = 1.57 * (high - low) / np.sqrt(len(data))  # McGill, Tukey and Larsen 1978: 95 % of the median
            beyond = int((data > edge).sum())
            words = (
                f"{title}, {mapper}: median {middle:.3f} ({middle - notch:.3f} to {middle + notch:.3f}), half of all from "
                f"{low:.3f} to {high:.3f}, {len(data)} instances from {data[0]:.3f} to {data[-1]:.3f}"
            )
            ends = {
                "least": inside[0], "low": low, "notch_low": middle - notch, "middle": middle, "notch_high": middle + notch,
                "high": high, "most": inside[-1],
            }  # fmt: skip
            boxes.append({
                "mapper": mapper, **{name: min(float(end), edge) for name, end in ends.items()}, "stop": len(stops),
                "tip": words,
                "beyond": f"{beyond} beyond →" if beyond else "", "edge": edge,
            })  # fmt: skip
            outliers += [
                {"mapper": mapper, "value": float(value)}
                for value in data[(data < inside[0]) | (data > inside[-1])]
                if value <= edge
            ]
            stops.append(words)
        y = field_of("mapper", "nominal", sort=mappers, title=None, axis={"labelLimit": 110})
        x: Spec = {"scale": {"domain": [0, edge], "nice": False}, "title": "relative to blocked"}
        layers: list[Spec] = [
            {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "strokeDash": [2, 3]},
                "encoding": {"x": field_of("one", **x)}},
            {"data": rows(outliers), "mark": {"type": "point", "filled": True, "size": 7, "color": MUTED, "opacity": 0.7},
                "encoding": {"y": y, "x": field_of("value", **x)}},
            {"mark": {"type": "rule"}, "encoding": {"y": y, "x": field_of("least", **x), "x2": {"field": "most"}}},
            {
                "mark": {"type": "bar", "height": 13, "fill": SURFACE, "stroke": colour},
                "encoding": {"y": y, "x": field_of("low", **x), "x2": {"field": "high"}, "strokeWidth": emphasised(2.5, 1.2)},
            },
            {"mark": {"type": "bar", "height": 7, "color": colour, "opacity": 0.4},
                "encoding": {"y": y, "x": field_of("notch_low", **x), "x2": {"field": "notch_high"}}},
            {"mark": {"type": "tick", "color": INK, "thickness": 2, "height": 13},
                "encoding": {"y": y, "x": field_of("middle", **x)}},
            *({"mark": {"type": "text", "align": "right", "dx": -2, "fontSize": 10.5, **rim},
                "encoding": {"y": y, "x": field_of("edge", **x), "text": {"field": "beyond"}}}
                for rim in ({"stroke": SURFACE, "strokeWidth": 5}, {})),
        ]  # fmt: skip
        drawn.append({"title": title, "height": {"step": 21}, "data": rows(boxes), "layer": layers})
    return Chart(
        "reduction",
        "Messages between nodes of each mapper, relative to blocked",
        "Box plots: the line is the median, the tint in the box its 95 % interval, the box half of all instances, whiskers "
        "what lies within 1.5 times the box, points the rest.",
        drawn, stops, least_px=330, most_columns=2, label_px=110,
    )  # fmt: skip
