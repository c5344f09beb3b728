"""Pictures of exchanges: measured and predicted time with the error of each pair; and which is fastest for every size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rankwise.decide.choice import MOST_CUTOFF, Crossover, MapRow, Question, WinnerMap
from rankwise.report.chart import INK, TIME, WIDE, Chart, SizeAxis, Spec, field_of, log_axis
from rankwise.report.layers import emphasised, kinds, labels, layer, ranged
from rankwise.report.words import timing
from rankwise.units import format_size, format_time, format_volume
from rankwise.workloads.comparison import Comparison

_BOTH = ("measured", "predicted")
# Okabe and Ito's colours that carry dark text, told apart by all kinds of colour vision.
_COLOURS = ("#56b4e9", "#e69f00", "#f0e442", "#cc79a7", "#b8906a", "#59c9a5", "#e0895a", "#8fa6d8")
_LEAST_BYTES, _MOST_BYTES = 8, 2**20
_ROW_PX = 38
_TEXT = "#000000"


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
    ascending = sorted(group, key=lambda row: (row.exchange.message_bytes, row.exchange.cutoff))
    places = list(dict.fromkeys(_place(row, by_size) for row in ascending))
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
            {"place": _place(row, by_size), "time": max(_times(row)), "words": f"{100 * row.error:+.0f} %", "stop": i,
            "tip": stops[i]}
            for i, row in of_mode
        ]  # fmt: skip
        title = "bytes of each rank's block" if by_size else "cutoff k (layers of neighbours)"
        x = field_of("place", "ordinal", sort=places, scale={"domain": places}, axis={"labelAngle": 0, "title": title})
        y, shift = field_of("time", **axis), field_of("kind", "nominal", scale={"domain": list(_BOTH)})
        of_kind = {"x": x, "color": kinds("kind", _BOTH), "xOffset": shift}
        shape = field_of("kind", "nominal", scale={"domain": list(_BOTH), "range": ["circle", "square"]})
        points = {**of_kind, "y": y, "size": emphasised(140, 55), "shape": shape}
        layers = [
            layer("rule", {**of_kind, **ranged("y", y, "low", "high")}, data, strokeWidth=2, clip=True),
            layer("point", points, data, filled=True, opacity=1, clip=True),
            labels({"x": x, "y": y}, "words", errors, dy=-9, fontSize=11.5),
        ]
        panels.append({"title": mode, "height": 210, "layer": layers})
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


def _times(row: Comparison) -> list[float]:
    """All times of a pair, their intervals' ends included where those are above 0."""
    timings = (row.measured, row.predicted)
    return [*(timing.time_s for timing in timings), *(end for timing in timings for end in timing.interval_s or () if end > 0)]


def _setting(row: Comparison) -> tuple[object, ...]:
    return (row.exchange.algorithm, len(row.exchange.grid), row.exchange.grid, row.exchange.replication, row.exchange.ranks)


def _by_size(row: Comparison, rows: Sequence[Comparison]) -> bool:
    alike = [other for other in rows if _setting(other) == _setting(row)]
    return len({other.exchange.cutoff for other in alike}) == 1 and len({other.exchange.message_bytes for other in alike}) > 1


def map_places(question: Question) -> tuple[int, int, list[int]]:
    """Return the least and the largest size, and the cutoffs, of the map around a question."""
    least, most = min(_LEAST_BYTES, max(1, question.block_bytes)), max(_MOST_BYTES, question.block_bytes)
    if question.shell == "all-pairs":
        return least, most, [question.cutoff]
    return least, most, list(range(1, max(MOST_CUTOFF, question.cutoff) + 1))


def _bands(winners: WinnerMap, row: MapRow) -> list[tuple[int, int, list[Crossover]]]:
    """Return the sizes at which intervals of two neighbours overlap, with their borders: those that meet are one."""
    found: list[tuple[int, int, list[Crossover]]] = []
    for border in row.borders:
        low, high, borders = border.low or winners.least_bytes, border.high or winners.most_bytes, [border]
        while found and low < found[-1][1]:
            before = found.pop()
            low, high, borders = min(low, before[0]), max(high, before[1]), [*before[2], *borders]
        found.append((low, high, borders))
    return found


def tradeoff_picture(winners: WinnerMap, question: Question) -> Chart:
    """Draw the map: a row a cutoff, a colour a winner, its borders labelled with their sizes."""
    names = list(dict.fromkeys(name for row in winners.rows for _, name in row.winners))
    cutoffs = [row.cutoff for row in winners.rows]
    axis = SizeAxis.of((winners.least_bytes, winners.most_bytes))
    stops: list[str] = []
    bars, unmeasured, bands = [], [], []
    for row in winners.rows:
        ends = [*(at for at, _ in row.winners[1:]), winners.most_bytes]
        for (from_bytes, name), end in zip(row.winners, ends, strict=True):
            border = min(format_volume(from_bytes), format_size(from_bytes), key=len)  # exact below the pointer
            words = f"cutoff {row.cutoff}, {format_size(from_bytes)} to {format_size(end)}: {name}"
            bars.append({
                "cutoff": str(row.cutoff), "place": axis.place(from_bytes), "end": axis.place(end), "name": name,
                "stop": len(stops),
                "tip": words, "border": "" if from_bytes <= winners.least_bytes else f"{border} →",
            })  # fmt: skip
            stops.append(words)
        for low, high, borders in _bands(winners, row):
            who = (
                f"{borders[0].before} and {borders[0].after}"
                if len(borders) == 1
                else f"the fastest on either side of {len(borders)} crossovers"
            )
            words = f"cutoff {row.cutoff}, {format_volume(low)} to {format_volume(high)}: {who} overlap"
            bands.append({
                "cutoff": str(row.cutoff), "place": axis.place(low), "end": axis.place(high), "tip": words, "stop": len(stops),
            })  # fmt: skip
            stops.append(words)
        if row.measured_to_bytes < winners.most_bytes:
            unmeasured.append({
                "cutoff": str(row.cutoff), "place": axis.place(row.measured_to_bytes), "end": axis.place(winners.most_bytes),
            })  # fmt: skip
    x = axis.encoding("size of a block; paler: not measured so large" if unmeasured else "size of a block")
    y = field_of("cutoff", "ordinal", sort=[str(k) for k in reversed(cutoffs)], title="cutoff in layers of neighbours")
    octaves = axis.place(winners.most_bytes) - axis.place(winners.least_bytes)
    room = f"(datum.end-datum.place)*{WIDE}/{octaves!r}"
    cell = {"x": x, "x2": {"field": "end"}, "y": y}
    colour = kinds("name", names, [_COLOURS[n % len(_COLOURS)] for n in range(len(names))])
    names_at = labels({"x": x, "y": y}, "name", bars, dy=6, color=_TEXT)
    names_at["transform"] = [
        {"calculate": "(datum.place+datum.end)/2", "as": "place"},
        {"filter": f"2*{room}>7*length(datum.name)"},
    ]
    wide = f"datum.border!=''&&{room}>62"
    layers = [
        layer("bar", {**cell, "opacity": emphasised(1, 0.86), "color": colour}, bars, height=_ROW_PX - 2, stroke="#ffffff"),
        layer("bar", cell, unmeasured, height=_ROW_PX, color="#ffffff", opacity=0.45),
        layer("bar", cell, bands, height=_ROW_PX - 2, color="#6b6b6b", opacity=0.3),
        labels({"x": x, "y": y}, "border", bars, wide, align="left", dx=4, dy=-9, fontSize=11, color=_TEXT),
        names_at,
    ]
    asked = ""
    if question.block_bytes > 0:
        asked = f"; the triangle is what was asked for, {format_size(question.block_bytes)} at cutoff {question.cutoff}"
        at = [{"cutoff": str(question.cutoff), "place": axis.place(question.block_bytes)}]
        look: Spec = {"shape": "triangle-down", "filled": True, "size": 150, "color": INK, "opacity": 1, "stroke": "#ffffff"}
        layers.append(layer("point", {"x": x, "y": y}, at, yOffset=-6, **look))
    grid = "x".join(map(str, question.grid))
    title = f"Fastest exchange on grid {grid}, {question.shell} shell"
    told = "grey: the intervals of two overlap" if bands else ""
    below = [line for line in (asked.removeprefix("; "), told) if line]
    return Chart(
        "tradeoff",
        f"Fastest exchange by size of a block and cutoff, {grid} ranks",
        f"A row for each cutoff from {cutoffs[0]} to {cutoffs[-1]}; along it blocks grow from "
        f"{format_size(winners.least_bytes)} to {format_size(winners.most_bytes)}. Winners: {'; '.join(names)}{asked}.",
        [{"title": {"text": title, "subtitle": below}, "height": _ROW_PX * len(cutoffs), "layer": layers}],
        stops, legend_px=240,
    )  # fmt: skip
