"""Werner et al. 2023: Tables 1 to 6 redone, the published prediction tested, and a model of ours beside it.

Sections 6.2.2 and 6.2.3: the raw samples were not published. A mean and a deviation bound the mean of the smallest fifth from
below, whatever the distribution: it is at least mean - 2 sigma (mean - sigma sqrt((1 - p)/p) for the share p).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from rankwise.blocks import Column, Picture, Table
from rankwise.papers import cited
from rankwise.papers import werner2023_tradeoff as tradeoff
from rankwise.papers.claims import claims_section, judge
from rankwise.papers.werner2023_claims import CLAIMS, QUESTIONABLE, Read, implied, noisiest, within_bound
from rankwise.papers.werner2023_study import RANKS, Judged, PingPong, Published, Study, ns, ping_pong_profile, published_rows
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, RULE, Chart, Spec, field_of, rows, series_scale, stop_of
from rankwise.report.layers import Curves, emphasised, labels, layer, level, ranged
from rankwise.report.reproduction import Reproduction, Section
from rankwise.units import format_percent, format_size

_COMMAND = "rankwise reproduce werner2023 --engine run -o here"
_SHOWN = 60.0  # per cent; what lies beyond is drawn at the edge and said in words, or it would flatten all else


@record
class Timed(Record):
    """A row of Tables 2 to 6 with what is predicted of it."""

    row: Published = key(inline=True)
    ours_s: float = key("time that our walk over the schedule predicts", name="our_prediction_s")
    hockney_s: float = key("time that Hockney's two parameters predict", name="hockney_prediction_s")
    max_rate_s: float = key("time that Table 1 with the factor for large messages predicts", name="max_rate_prediction_s")

    def error(self, predicted_s: float) -> float:
        return predicted_s / self.row.measured_s - 1


def _of(meaning: str, name: str, kind: Any = float) -> computed:
    """Declare a key that is an attribute of the study."""
    return computed(meaning, kind, lambda of: attrgetter(name)(of.study))


@record
class Figures(Record):
    """Tables 1 to 6 on the Shift, the published prediction and models beside it."""

    study: Study
    paper = computed("the paper's id", str, lambda _: "werner2023")
    published_prediction_max_abs_diff_ns = _of("ours against the published prediction, at most", "difference_ns")
    rows_count = computed("rows of Tables 2 to 6", int, lambda of: len(of.study.rows))
    mape_published = _of("mean absolute error of the published prediction", "lookup.mape")
    mape_unit = computed("unit of every mape and of bias_published", str, lambda _: "percent")
    bias_published = _of("mean error of the published prediction", "bias")
    share_inside_sigma_published = _of("share of published predictions within a standard deviation", "inside_sigma")
    median_sigma_of_mean = _of("median of standard deviation by mean", "median_sigma")
    mape_published_without_its_ping_pong = computed(
        "mean absolute error of the look-up where the ping-pong lacks the size",
        float,
        lambda of: of.study.without_its_ping_pong(),
    )
    models = _of("the published prediction and ours", "models", Sequence[Judged])
    best_model = _of("name of the best of the models", "max_rate.name", str)
    mape_noise_floor = _of("mean absolute error of a line in k, each k predicted from the others", "floor")
    mape_noise_floor_by_size = _of("mape_noise_floor by size", "floor_by_size", Mapping[str, float])
    tradeoff = computed("Team Shift against the Shift", tradeoff.Tradeoff, lambda of: tradeoff.Tradeoff(of.study.duels))
    ping_pong = _of("Table 1", "ping_pong", Sequence[PingPong])
    rows = computed("Tables 2 to 6 by row", Sequence[Timed], lambda of: _timed(of.study))  # fmt: skip


def read() -> Read:
    """Return what the text's sentences are about."""
    return Read(Study(published_rows(), ping_pong_profile()))


def reproduce() -> Reproduction:
    """Compute everything from the paper's tables alone."""
    of = read()
    study, verdicts = of.study, judge(CLAIMS, of, "rankwise reproduce werner2023")
    return Reproduction(
        paper="werner2023",
        title="Werner et al. 2023: the Shift, predicted and measured",
        answer=_answer(study),
        sections=(
            claims_section(verdicts),
            _models_section(study),
            tradeoff.section(study.duels),
            raw_section(study),
            _tables_section(study),
        ),
        figures=Figures(study),
        claims=verdicts,
        sources=(
            f"{cited('werner2023')}. Table 1 is the ping-pong between nodes of JURECA, Tables 2 to 6 the 1-D Shift with "
            "synchronous sends on 64 nodes; all other figures on this page are computed from them.",
        ),
        next_command="rankwise measure -o machine.json   # the same for your machine",
    )


def _answer(study: Study) -> Sequence[str]:
    factor = study.max_rate.parameters["contention_factor"]
    return (
        f"Walking the Shift's schedule with the ping-pong of Table 1 gives the published prediction of all {len(study.rows)} "
        f"rows to within {study.difference_ns:.0f} ns.",
        f"It is off by {study.lookup.mape:.2f} % on average and too {'low' if study.bias < 0 else 'high'} by "
        f"{abs(study.bias):.1f} %, but it is a look-up: it uses {len(study.sizes)} betas, one for each size. With one alpha "
        "and one beta by least squares over Table 1 the error is "
        f"{study.hockney.mape:.1f} %; taken from its first and last row alone, {study.two_point.mape:.1f} %.",
        f"One factor of {factor:.2f} for messages of {_threshold(study)} or more brings it to "
        f"{study.max_rate.mape_unseen:.2f} % on sizes whose exchanges it has not seen; noise alone leaves {study.floor:.1f} %.",
        f"Team Shift against the Shift, both taking turns as the paper's ssend does: "
        f"{tradeoff.sentence(study.duels, 'in turns')}",
    )


def _threshold(study: Study) -> str:
    return format_size(int(study.max_rate.parameters["contention_from_bytes"]))


def _models_section(study: Study) -> Section:
    factor, (low, high) = study.max_rate.parameters["contention_factor"], study.max_rate.intervals["contention_factor"]
    two_misses = study.two_point.mape > study.hockney.mape
    return Section.of(
        "models",
        "How good the predictions are",
        f"Errors are predicted over measured, minus one. The published prediction is "
        f"{'below' if study.bias < 0 else 'above'} the measurement by {abs(study.bias):.1f} % on average. The paper notes "
        f"that every prediction lies within one standard deviation: {100 * study.inside_sigma:.0f} % do, where the median "
        f"deviation is {100 * study.median_sigma:.0f} % of the mean and the published prediction off by "
        f"{study.lookup.mape:.0f} %.",
        "A look-up cannot answer for a size that was not in the ping-pong: interpolated from the other sizes "
        f"of Table 1, it is off by {study.without_its_ping_pong():.0f} %. Hockney's model proper has two parameters: "
        f"fitted to all of Table 1 it is off by {study.hockney.mape:.1f} %, set by the empty and the largest message by "
        f"{study.two_point.mape:.1f} %" + (": a line through two points misses the sizes in between." if two_misses else "."),
        f"Ours keeps Table 1 and adds one number, {factor:.3f} (95 % interval {low:.3f} to {high:.3f}): what a "
        f"message of {_threshold(study)} or more takes longer when all nodes send at once. The threshold is the first "
        "size of Table 1 whose bytes take longer than an empty message; the factor for a size is fitted to the "
        "exchanges of all other sizes.",
        "The noise floor is the error of a straight line in k for each size, every k predicted from the "
        "other nine: about what can be expected of any model.",
        _models_table(study),
        Picture(
            "errors",
            "Error of each prediction, a panel for each size of a block; the bar is one standard deviation of the measurement.",
            partial(errors_picture, study),
        ),
        Picture(
            "by-size",
            "Mean absolute error by size, on exchanges that a model has not seen.",
            partial(by_size_picture, study),
        ),
    )


def _tables_section(study: Study) -> Section:
    return Section.of(
        "tables",
        "The tables, as published and ours",
        f"Ours is the walk over the schedule of 64 ranks with Table 1, as 'rankwise predict exchange' makes it; "
        f"the difference to the published prediction is at most {study.difference_ns:.0f} ns.",
        Table(_TABLE_1, study.ping_pong, name="table-1", caption="Table 1: the ping-pong, and beta derived from it"),
        *(_table(study, size) for size in sorted(study.sizes, key=study.table_of)),
        Picture(
            "times",
            "Tables 2 to 6: the printed times with one standard deviation, the published prediction, and ours (max-rate).",
            partial(times_picture, study),
        ),
    )


def _models_table(study: Study) -> Table[Any]:
    noise = SimpleNamespace(name="noise floor", parameters={}, mape=None, mape_unseen=study.floor, by_size=study.floor_by_size)

    def counted(judged: Any) -> int | None:
        own = len(judged.parameters) + (len(study.lookup.parameters) if judged is study.max_rate else 0)
        return None if judged is noise else own

    def of_size(size: int) -> Callable[[Any], float]:
        return lambda judged: float(judged.by_size[size])

    return Table(
        [
            Column("model", "name", key="model"),
            Column("parameters", counted),
            Column(None, lambda judged: "; ".join(f"{n}={v:.6g}" for n, v in judged.parameters.items()), key="parameters"),
            Column("error", "mape", "{:.2f} %".format, key="mape_percent"),
            Column("error, size not seen", "mape_unseen", "{:.2f} %".format, key="mape_leave_one_size_out_percent"),
            *(
                Column(format_size(size), of_size(size), "{:.1f} %".format, key=f"mape_{size}_bytes_percent")
                for size in study.sizes
            ),
        ],
        (*study.models, noise),
        name="models",
        caption="Mean absolute error over all 50 rows, on sizes that were not seen, and by size of a block. Parameters are "
        "counted with those of Table 1.",
    )  # fmt: skip


_TABLE_1: Sequence[Column[PingPong]] = (
    Column("load", "message_bytes", format_size),
    Column("latency, ns", "latency_s", ns),
    Column("sigma, ns", "sigma_s", ns),
    Column("beta, ns/B", "beta_s_per_byte", lambda beta: f"{1e9 * beta:.3f}"),
)


_TIMED: Sequence[Column[Timed]] = (
    Column("k", "row.cutoff", key="k"),
    Column("measured", "row.measured_s", ns, "measured_s"),
    Column("sigma", "row.sigma_s", ns, "measured_sigma_s"),
    Column("published", "row.predicted_s", ns, "published_prediction_s"),
    Column("error", lambda timed: timed.error(timed.row.predicted_s), format_percent),
    Column("ours", "ours_s", ns, "our_prediction_s"),
    Column(
        "− published", lambda timed: timed.ours_s - timed.row.predicted_s, lambda time_s: f"{1e9 * time_s:+.0f}",
        "ours_minus_published_s",
    ),
    Column("hockney", "hockney_s", ns, "hockney_prediction_s"),
    Column("error", lambda timed: timed.error(timed.hockney_s), format_percent),
    Column("max-rate", "max_rate_s", ns, "max_rate_prediction_s"),
    Column("error", lambda timed: timed.error(timed.max_rate_s), format_percent),
)  # fmt: skip


def _timed(study: Study) -> list[Timed]:
    predictions = (study.ours, study.hockney.predicted_s, study.max_rate.predicted_s)
    return [Timed(row, *times) for row, *times in zip(study.rows, *(found.tolist() for found in predictions), strict=True)]


def _table(study: Study, size: int) -> Table[Timed]:
    number = study.table_of(size)
    caption = f"Table {number}: Shift (1-D) on {RANKS} nodes, blocks of {format_size(size)}; times in ns"
    timed = [one for one in _timed(study) if one.row.message_bytes == size]
    return Table(_TIMED, timed, name=f"table-{number}", caption=caption)


def raw_section(study: Study) -> Section:
    """The part of the page."""
    sizes = implied(study)
    slower = [s for s in sizes if s["ratio"] > 1.05]
    loudest = noisiest(study)
    named = len(set(loudest) & set(QUESTIONABLE))
    share = study.sigma / study.measured
    inside, above = within_bound(study), int(np.sum(study.published > study.measured))
    each = ", ".join(f"{format_size(s['message_bytes'])} ({s['ratio']:.2f} times T(m))" for s in slower)
    ratios = [found["ratio"] for found in sizes]
    largest = min(ratios[-2:]) > max(ratios[:-2])
    traffic = (
        f"More than 5 % slower: {each or 'none'}. The two largest blocks are {'' if largest else 'not '}slowed most, "
        f"{'as traffic would do' if largest else 'which does not speak for traffic'}"
    )
    return Section.of(
        "raw",
        "Traffic, and the smallest 20 %: what can be said without the samples",
        "Section 6.2.2 suspects that the Shift's own traffic slows large messages. The slope of the measured times in k "
        "tells what a message takes within the Shift, free of the start of a round: a fourth of it, beside the ping-pong "
        f"of two nodes. {traffic}; that it was traffic cannot be said, since no ping-pong beside traffic was "
        "published.",
        "Section 6.2.3 calls the means of "
        + _places(QUESTIONABLE)
        + f" questionable. Of the four rows of the largest deviation against the mean, {_places(loudest)}, {named} are "
        f"among them (over all rows {100 * share.min():.0f} to {100 * share.max():.0f} %).",
        "It reports that the smallest 20 % fit the model almost perfectly, and prints no figure of it. Whatever the "
        f"samples were, the mean of their smallest fifth lies between mean - 2 sigma and the mean: the published "
        f"prediction does in {inside} of {len(study.rows)} rows. In {above} it lies above the mean: there the smallest 20 "
        "% fit worse than the mean does unless alpha and beta are filtered, too. How well cannot be said.",
        f"The same experiment on this machine, with ping-pong free and beside traffic, mean and smallest 20 %: '{_COMMAND}'.",
        _raw_table(study),
    )


def _places(places: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{format_size(size)} at k = {k}" for size, k in places)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _raw_table(study: Study) -> Table[Any]:
    def share(found: Mapping[str, Any]) -> float:
        here = study.size_of == found["message_bytes"]
        return float(np.median(study.sigma[here] / study.measured[here]))

    columns: Sequence[Column[Mapping[str, Any]]] = (
        Column("block", "message_bytes", format_size),
        Column("T(m) of Table 1", "ping_pong_s", lambda time_s: f"{ns(time_s)} ns"),
        Column("a message in the Shift", "in_shift_s", lambda time_s: f"{ns(time_s)} ns"),
        Column("ratio", "ratio", "{:.2f}".format),
        Column("sigma / mean", share, _percent, "sigma_over_mean_median"),
        Column(
            "mean of the smallest 20 % / mean, at least", lambda found: max(0.0, 1 - 2 * share(found)), _percent,
            "smallest_fifth_over_mean_at_least",
        ),
    )  # fmt: skip
    caption = (
        "What a message takes in the Shift, beside the ping-pong; and what the deviation leaves open of the smallest 20 % "
        "(medians)."
    )
    return Table(columns, implied(study), name="raw", caption=caption)


def _shown(error: float) -> float:
    return max(-_SHOWN, min(_SHOWN, float(error)))


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
            shared = {"k": k, **stop_of(stops, words)}
            bars.append({**shared, "low": -_shown(deviation[i]), "high": _shown(deviation[i])})
            data += [{**shared, "model": name, "error": _shown(errors[name][i])} for name in names]
        x = field_of("k", "ordinal", axis={"labelAngle": 0, "title": "cutoff k", "labelOverlap": "parity"})
        scale: Spec = {"scale": {"domain": [-_SHOWN, _SHOWN]}, "axis": {"title": "predicted / measured − 1, %", "tickCount": 5}}
        drawn = Curves(x, field_of("error", **scale), names, "model", clip=False)
        layers = [
            layer("bar", {"x": x, **ranged("y", drawn.y, "low", "high")}, bars, color=RULE, width={"band": 0.8}),
            level("y", drawn.y, 0, color=INK),
            drawn.line(1.2, data),
            drawn.points(90, 22, data, opacity=1),
        ]
        panels.append({"title": format_size(size), "height": 200, "layer": layers})
    return Chart(
        "errors",
        "Error of the published prediction, of Hockney's two parameters and of max-rate",
        " ".join(f"{judged.name}: {judged.mape:.1f} % off on average over {len(study.rows)} rows." for judged in models),
        panels, stops, least_px=240, legend_px=260,
    )  # fmt: skip


def times_picture(study: Study) -> Chart:
    """Draw the printed times over k beside the published prediction and ours, a panel for each size."""
    names = ["measured", "published prediction", study.max_rate.name]
    panels: list[Spec] = []
    stops: list[str] = []
    for size in study.sizes:
        data, bars = [], []
        for one in (one for one in _timed(study) if one.row.message_bytes == size):
            times_us = [1e6 * time_s for time_s in (one.row.measured_s, one.row.predicted_s, one.max_rate_s)]
            said = ", ".join(f"{name} {time_us:.1f} us" for name, time_us in zip(names, times_us, strict=True))
            shared = {"k": one.row.cutoff, **stop_of(stops, f"{format_size(size)}, k = {one.row.cutoff}: {said}")}
            data += [{**shared, "model": name, "time": time_us} for name, time_us in zip(names, times_us, strict=True)]
            sigma_us = 1e6 * one.row.sigma_s
            bars.append({**shared, "low": max(0.0, times_us[0] - sigma_us), "high": times_us[0] + sigma_us})
        x = field_of("k", "ordinal", axis={"labelAngle": 0, "title": "k"})
        drawn = Curves(x, field_of("time", axis={"title": "time, us", "tickCount": 5}), names, "model", clip=False)
        layers = [
            layer("bar", {"x": x, **ranged("y", drawn.y, "low", "high")}, bars, color=RULE, width={"band": 0.8}),
            drawn.line(1.2, [row for row in data if row["model"] != names[0]]),
            drawn.points(90, 22, data, opacity=1),
        ]
        panels.append({"title": format_size(size), "height": 200, "layer": layers})
    title = "Measured times, the published prediction and max-rate"
    words = f"Bars are one standard deviation of the measurement, {len(study.rows)} rows."
    return Chart("times", title, words, panels, stops, least_px=240, legend_px=300)


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
        {"size": format_size(size), "model": name, "error": float(by_size[size]), "words": f"{by_size[size]:.1f}", "stop": i,
        "tip": stops[i]}
        for name, by_size in series
        for i, size in enumerate(study.sizes)
    ]  # fmt: skip
    places = {
        "x": field_of("size", "ordinal", sort=sizes, axis={"labelAngle": 0, "title": "bytes of each rank's block"}),
        "y": field_of("error", axis={"title": "mean absolute error, %", "tickCount": 5}),
        "xOffset": field_of("model", "nominal", sort=names),
    }
    colour = field_of("model", "nominal", scale=series_scale(names))
    layers = [
        layer("bar", {**places, "color": colour, "opacity": emphasised(1, 0.85)}),
        labels(places, "words", dy=-6, fontSize=10.5),
    ]
    panel = {"height": 210, "data": rows(data), "layer": layers}
    words = " ".join(
        f"{name}: " + ", ".join(f"{format_size(size)} {error:.1f} %" for size, error in by_size.items()) + "."
        for name, by_size in series
    )
    return Chart("by-size", "Mean absolute error by size", words, [panel], stops, legend_px=260)
