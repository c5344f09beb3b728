"""Pictures of werner2023's reproduction: the error of each prediction by size and k, and mean errors by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.report.chart import INK, LINES, RULE, Chart, Spec, emphasised, field_of, rows, series_scale
from rankwise.units import format_size

if TYPE_CHECKING:
    from rankwise.papers.werner2023_study import Study

_SHOWN = 60.0  # per cent; what lies beyond is drawn at the edge and said in words, or it would flatten all else


def errors_picture(study: Study) -> Chart:
    """Draw the errors of three models over k, a panel for each size, in the measurement's standard deviation."""
    models = (study.lookup, study.hockney, study.max_rate)
    names = [judged.name for judged in models]
    panels: list[Spec] = []
    stops: list[str] = []
    for size in study.sizes:
        here = study.size_of == size
        deviation = 100 * study.sigma[here] / study.measured[here]
        cutoffs = [int(k) for k in study.cutoff_of[here]]
        errors = {judged.name: study.errors(judged.predicted_s)[here] for judged in models}
        data, bars = [], []
        for i, k in enumerate(cutoffs):
            words = (
                f"{format_size(size)}, k = {k}: "
                + ", ".join(f"{name} {errors[name][i]:+.1f} %" for name in names)
                + f"; one standard deviation of the measurement is {deviation[i]:.1f} %"
            )
            bars.append(
                {
                    "k": k,
                    "low": -min(float(deviation[i]), _SHOWN),
                    "high": min(float(deviation[i]), _SHOWN),
                    "stop": len(stops),
                    "tip": words,
                }
            )
            data += [
                {"k": k, "model": name, "error": max(-_SHOWN, min(_SHOWN, float(errors[name][i]))), "stop": len(stops),
                "tip": words}
                for name in names
            ]  # fmt: skip
            stops.append(words)
        x = field_of("k", "ordinal", axis={"labelAngle": 0, "title": "cutoff k", "labelOverlap": "parity"})
        scale: Spec = {"scale": {"domain": [-_SHOWN, _SHOWN]}, "axis": {"title": "predicted / measured − 1, %", "tickCount": 5}}
        y = field_of("error", **scale)
        panels.append({
            "title": format_size(size), "height": 200,
            "layer": [
                {"data": rows(bars), "mark": {"type": "bar", "color": RULE, "width": {"band": 0.8}},
                    "encoding": {"x": x, "y": field_of("low", **scale), "y2": {"field": "high"}}},
                {"data": {"values": [{"error": 0}]}, "mark": {"type": "rule", "color": INK}, "encoding": {"y": y}},
                {
                    "data": rows(data), "mark": {"type": "line", "strokeWidth": 1.2},
                    "encoding": {"x": x, "y": y, "color": field_of("model", "nominal", scale=series_scale(names),
                        legend=LINES), "strokeDash": field_of("model", "nominal", scale=series_scale(names, "dash"))},
                },
                {
                    "data": rows(data), "mark": {"type": "point", "filled": True, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": field_of("model", "nominal", scale=series_scale(names),
                        legend=LINES), "size": emphasised(90, 22)},
                },
            ],
        })  # fmt: skip
    return Chart(
        "errors",
        "Error of the published prediction, of Hockney's two parameters and of max-rate",
        " ".join(f"{judged.name}: {judged.mape:.1f} % off on average over {len(study.rows)} rows." for judged in models),
        panels, stops, least_px=240, legend_px=260,
    )  # fmt: skip


def by_size_picture(study: Study) -> Chart:
    """Draw the mean absolute error of each model by size beside the noise floor."""
    series = [(judged.name, judged.by_size) for judged in (study.lookup, study.hockney, study.max_rate)]
    series.append(("noise floor", study.floor_by_size))
    names, sizes = [name for name, _ in series], [format_size(size) for size in study.sizes]
    stops = [
        f"{format_size(size)}: " + ", ".join(f"{name} {by_size[size]:.1f} %" for name, by_size in series)
        for size in study.sizes
    ]
    data = [
        {
            "size": format_size(size),
            "model": name,
            "error": float(by_size[size]),
            "words": f"{by_size[size]:.1f}",
            "stop": i,
            "tip": stops[i],
        }
        for name, by_size in series
        for i, size in enumerate(study.sizes)
    ]
    x = field_of("size", "ordinal", sort=sizes, axis={"labelAngle": 0, "title": "bytes of each rank's block"})
    y, shift = (
        field_of("error", axis={"title": "mean absolute error, %", "tickCount": 5}),
        field_of("model", "nominal", sort=names),
    )
    panel = {
        "height": 210, "data": rows(data),
        "layer": [
            {"mark": "bar", "encoding": {"x": x, "y": y, "xOffset": shift,
                "color": field_of("model", "nominal", scale=series_scale(names)), "opacity": emphasised(1, 0.85)}},
            {"mark": {"type": "text", "dy": -6, "fontSize": 10.5},
                "encoding": {"x": x, "y": y, "xOffset": shift, "text": {"field": "words"}}},
        ],
    }  # fmt: skip
    words = " ".join(
        f"{name}: " + ", ".join(f"{format_size(size)} {error:.1f} %" for size, error in by_size.items()) + "."
        for name, by_size in series
    )
    return Chart("by-size", "Mean absolute error by size", words, [panel], stops, legend_px=260)
