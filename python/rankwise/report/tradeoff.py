"""The trade-off map: which exchange is fastest for every size of a block and every cutoff."""

from __future__ import annotations

from rankwise.decide.choice import MOST_CUTOFF, Question, WinnerMap
from rankwise.report.chart import INK, WIDE, Chart, SizeAxis, Spec, emphasised, field_of, rows
from rankwise.units import format_size, format_volume

# Okabe and Ito's colours that carry dark text, told apart by all kinds of colour vision.
_COLOURS = ("#56b4e9", "#e69f00", "#f0e442", "#cc79a7", "#cfd3d8", "#59c9a5", "#e0895a", "#8fa6d8")
_LEAST_BYTES, _MOST_BYTES = 8, 2**20
_ROW_PX = 38
_TEXT = "#000000"


def map_places(question: Question) -> tuple[int, int, list[int]]:
    """Return the least and the largest size, and the cutoffs, of the map around a question."""
    least, most = min(_LEAST_BYTES, max(1, question.block_bytes)), max(_MOST_BYTES, question.block_bytes)
    if question.shell == "all-pairs":
        return least, most, [question.cutoff]
    return least, most, list(range(1, max(MOST_CUTOFF, question.cutoff) + 1))


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
            words = f"cutoff {row.cutoff}, {format_size(from_bytes)} to {format_size(end)}: {name}"
            bars.append({
                "cutoff": str(row.cutoff), "place": axis.place(from_bytes), "end": axis.place(end), "name": name,
                "stop": len(stops),
                "tip": words, "border": "" if from_bytes <= winners.least_bytes else f"{format_size(from_bytes)} →",
            })  # fmt: skip
            stops.append(words)
        for border in row.borders:
            low, high = border.low or winners.least_bytes, border.high or winners.most_bytes
            words = (
                f"cutoff {row.cutoff}, {format_volume(low)} to {format_volume(high)}: {border.before} and {border.after} "
                "cannot be told apart"
            )
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
    layers: list[Spec] = [
        {
            "data": rows(bars), "mark": {"type": "bar", "height": _ROW_PX - 2, "stroke": "#ffffff"},
            "encoding": {
                "x": x, "x2": {"field": "end"}, "y": y, "opacity": emphasised(1, 0.86),
                "color": field_of("name", "nominal", scale={"domain": names,
                    "range": [_COLOURS[i % len(_COLOURS)] for i in range(len(names))]}),
            },
        },
        {
            "data": rows(unmeasured), "mark": {"type": "bar", "height": _ROW_PX, "color": "#ffffff", "opacity": 0.45},
            "encoding": {"x": x, "x2": {"field": "end"}, "y": y},
        },
        {
            "data": rows(bands),
            "mark": {"type": "bar", "height": _ROW_PX - 2, "color": "#6b6b6b", "opacity": 0.3},
            "encoding": {"x": x, "x2": {"field": "end"}, "y": y},
        },
        {
            "data": rows(bars), "transform": [{"filter": f"datum.border!=''&&{room}>62"}],
            "mark": {"type": "text", "align": "left", "dx": 4, "dy": -9, "fontSize": 11, "color": _TEXT},
            "encoding": {"x": x, "y": y, "text": {"field": "border"}},
        },
        {
            "data": rows(bars), "transform": [{"calculate": "(datum.place+datum.end)/2", "as": "place"},
                {"filter": f"2*{room}>7*length(datum.name)"}],
            "mark": {"type": "text", "dy": 6, "color": _TEXT}, "encoding": {"x": x, "y": y, "text": {"field": "name"}},
        },
    ]  # fmt: skip
    asked = ""
    if question.block_bytes > 0:
        asked = f"; the triangle is what was asked for, {format_size(question.block_bytes)} at cutoff {question.cutoff}"
        layers.append({
            "data": {"values": [{"cutoff": str(question.cutoff), "place": axis.place(question.block_bytes)}]},
            "mark": {"type": "point", "shape": "triangle-down", "filled": True, "size": 150, "color": INK, "opacity": 1,
                "stroke": "#ffffff", "yOffset": -6},
            "encoding": {"x": x, "y": y},
        })  # fmt: skip
    grid = "x".join(map(str, question.grid))
    title = f"Fastest exchange on grid {grid}, {question.shell} shell"
    told = "grey: two cannot be told apart with this profile" if bands else ""
    below = [line for line in (asked.removeprefix("; "), told) if line]
    return Chart(
        "tradeoff",
        f"Fastest exchange by size of a block and cutoff, {grid} ranks",
        f"A row for each cutoff from {cutoffs[0]} to {cutoffs[-1]}; along it blocks grow from "
        f"{format_size(winners.least_bytes)} to {format_size(winners.most_bytes)}. Winners: {'; '.join(names)}{asked}.",
        [{"title": {"text": title, "subtitle": below}, "height": _ROW_PX * len(cutoffs), "layer": layers}],
        stops, legend_px=240,
    )  # fmt: skip
