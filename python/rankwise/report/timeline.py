"""A picture of one step: ranks down, time across, messages as arrows, the critical path in a colour of its own."""

from __future__ import annotations

from rankwise.observe.timeline import Span, Timeline
from rankwise.report.chart import (
    COMPUTING,
    CRITICAL,
    MOVING,
    MUTED,
    TIME,
    Chart,
    Spec,
    emphasised,
    field_of,
    looked_up,
    rows,
    zoom,
)
from rankwise.report.steps import WAITS
from rankwise.units import format_time, format_volume

_MOST_ROWS, _MOST_ARROWS, _MOST_SPANS = 16, 160, 2000
_ROW_PX = 26
_WORDS = {"computing": "computing", "moving": "moving bytes", "waiting": "waiting for another rank"}
_CRITICAL = "critical path"


def _moment(seconds: float) -> str:
    """Write a time since the beginning, which is 0."""
    return format_time(seconds) if seconds > 0 else "0"


def path_words(line: Timeline) -> str:
    """Say what bounds the step: the terms of the critical path, which add up to it."""
    terms = _terms(line)
    named = [f"{what} on rank {rank} {format_time(seconds)}" for (rank, what), seconds in terms[:4]]
    if len(terms) > 4:
        named.append(f"{len(terms) - 4} shorter terms {format_time(sum(seconds for _, seconds in terms[4:]))}")
    return f"Critical path: {' + '.join(named)} = {format_time(line.length_s)}." + (f" {line.note}" if line.note else "")


def _terms(line: Timeline) -> list[tuple[tuple[int, str], float]]:
    """Return the seconds of the critical path by rank and by what bounds that, the largest first."""
    found: dict[tuple[int, str], float] = {}
    for span in line.path:
        what = span.term or _WORDS[span.kind]
        found[span.rank, what] = found.get((span.rank, what), 0.0) + span.length_s
    return sorted(found.items(), key=lambda term: -term[1])


def timeline_title(line: Timeline, per: str) -> str:
    """Name the largest term of the critical path, in a few words; ``path_words`` has the whole of it."""
    (rank, what), seconds = _terms(line)[0]
    short = what.partition(" of ")[0].partition(",")[0]
    short = {"bytes": _WORDS["moving"]}.get(short, short)
    return f"{short[:1].upper()}{short[1:]} at rank {rank} is {100 * seconds / line.length_s:.0f} % of a {per}"


def timeline_picture(line: Timeline, title: str) -> Chart:
    """Draw a step; of many ranks those of the critical path, and some of the rest."""
    on_path = list(dict.fromkeys(span.rank for span in line.path))
    ranks = sorted(line.spans)
    if len(ranks) > _MOST_ROWS:
        others = [rank for rank in ranks if rank not in on_path]
        kept = max(2, _MOST_ROWS - len(on_path[:_MOST_ROWS]))
        ranks = sorted({*on_path[:_MOST_ROWS], *others[:: max(1, len(others) // kept)][:kept]})
    row_of = {rank: i for i, rank in enumerate(ranks)}
    stops = [
        f"critical path, {i + 1} of {len(line.path)}: rank {span.rank}, {_moment(span.start_s)} to "
        f"{format_time(span.end_s)}: {span.term or _WORDS[span.kind]} {format_time(span.length_s)}"
        for i, span in enumerate(line.path)
    ]
    data = [_bar(span, row_of[span.rank], _CRITICAL, i) for i, span in enumerate(line.path) if span.rank in row_of]
    for rank in ranks:
        spans = line.spans[rank]
        totals = {kind: sum(span.length_s for span in spans if span.kind == kind) for kind in _WORDS}
        said = ", ".join(f"{_WORDS[kind]} {format_time(seconds)}" for kind, seconds in totals.items() if seconds > 0)
        data += [
            _bar(span, row_of[rank], _WORDS[span.kind], len(stops),
                f"rank {rank}, {_moment(span.start_s)} to {format_time(span.end_s)}: {_WORDS[span.kind]}")
            for span in spans[:_MOST_SPANS]
        ]  # fmt: skip
        stops.append(f"rank {rank} in all: {said}")
    # What is critical lies over the rest.
    data.sort(key=lambda row: row["kind"] == _CRITICAL)
    shown = [
        message
        for message in line.messages
        if message.source in row_of and message.dest in row_of and message.source != message.dest
    ]
    arrows = [
        {
            "start": m.sent_s, "end": m.arrived_s, "row": row_of[m.source] + 0.5, "to": row_of[m.dest] + 0.5,
            "down": m.dest > m.source,
            "tip": f"{format_volume(m.bytes)} from rank {m.source}, {_moment(m.sent_s)}, to rank {m.dest}, "
                   f"{format_time(m.arrived_s)}",
        }
        for m in shown[:_MOST_ARROWS]
    ]  # fmt: skip
    last = max((span.end_s for spans in line.spans.values() for span in spans), default=1.0)
    x: Spec = {"axis": {"labelExpr": TIME, "tickCount": 6, "title": None}, "scale": {"domain": [0, last], "nice": False}}
    labels = {f"{i + 0.5:.1f}": f"rank {rank}" for i, rank in enumerate(ranks)}
    y: Spec = {
        "axis": {"values": [i + 0.5 for i in range(len(ranks))], "labelExpr": looked_up(labels, "datum.value", 1),
            "title": None, "grid": False, "domain": False, "ticks": False, "labelOverlap": False},
        "scale": {"domain": [0, len(ranks)], "reverse": True, "nice": False},
    }  # fmt: skip
    kinds = [_CRITICAL, *_WORDS.values()]
    arrow_end = {"x": field_of("end", **x), "y": field_of("to", **y)}
    panel: Spec = {
        "height": _ROW_PX * len(ranks),
        "layer": [
            {
                "params": [zoom()], "data": rows(data), "mark": {"type": "rect", "clip": True, "strokeWidth": 0.7},
                "encoding": {
                    "x": field_of("start", **x), "x2": {"field": "end"}, "y": field_of("top", **y), "y2": {"field": "bottom"},
                    "color": field_of("kind", "nominal", scale={"domain": kinds,
                        "range": [CRITICAL, COMPUTING, MOVING, WAITS]}),
                    "stroke": {"condition": {"test": f"datum.kind==='{_WORDS['waiting']}'", "value": "#e69f01"}, "value": None},
                    "opacity": emphasised(1, 0.88),
                },
            },
            {
                "data": rows(arrows), "mark": {"type": "rule", "color": MUTED, "strokeWidth": 1, "clip": True},
                "encoding": {"x": field_of("start", **x), "x2": {"field": "end"}, "y": field_of("row", **y),
                    "y2": {"field": "to"}},
            },
            {
                "data": rows(arrows), "mark": {"type": "point", "filled": True, "size": 45, "color": MUTED, "opacity": 1,
                    "clip": True},
                "encoding": {**arrow_end, "shape": {"condition": {"test": "datum.down", "value": "triangle-down"},
                    "value": "triangle-up"}},
            },
        ],
    }  # fmt: skip
    return Chart("timeline", title, path_words(line), [panel], stops, label_px=70)


def _bar(span: Span, row: int, kind: str, stop: int, tip: str | None = None) -> Spec:
    bar: Spec = {"start": span.start_s, "end": span.end_s, "top": row + 0.14, "bottom": row + 0.86, "kind": kind, "stop": stop}
    return bar if tip is None else {**bar, "tip": tip}
