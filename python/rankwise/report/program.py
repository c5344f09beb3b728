"""Tables and pictures of an observed program: where a step goes, its time line, how far its placement is from the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.blocks import Column
from rankwise.report.chart import COMPUTING, CRITICAL, IDLE, INK, MOVING, MUTED, TIME, VOLUME, Chart, Spec, field_of, looked_up
from rankwise.report.layers import by_name, emphasised, kinds, labels, layer, ranged, zoomed
from rankwise.units import format_number, format_share, format_size, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.advise.evidence import Evidence
    from rankwise.advise.findings import Advice
    from rankwise.observe.collective_times import CollectiveTime
    from rankwise.observe.efficiency import RankTime
    from rankwise.observe.timeline import Span, Timeline
    from rankwise.observe.wait_causes import WaitCause

OF_RANKS: Sequence[Column[RankTime]] = (
    Column("rank", "rank"), Column("compute", "compute_s", format_time), Column("MPI", "mpi_s", format_time),
    Column("wait", "wait_s", format_time), Column("messages", "messages", format_number),
    Column("sent", "bytes", lambda size: format_volume(round(size))), Column("host", "host"),
)  # fmt: skip


OF_COLLECTIVES: Sequence[Column[CollectiveTime]] = (
    Column("call", "call"), Column("ranks", "ranks"), Column("size", "bytes", format_size),
    Column("calls", "calls", format_number), Column("time", "time_s", format_time), Column("share", "share", format_share),
    Column("wait", lambda row: None if row.wait_s is None else row.wait_s / max(row.time_s, 1e-30), format_share),
    Column("where", lambda row: row.at.text),
)  # fmt: skip

OF_WAITS: Sequence[Column[WaitCause]] = (
    Column("share", lambda row: row.of.share, format_share), Column("kind", lambda row: row.of.kind),
    Column("waits at", lambda row: str(row.at)), Column("for rank", "rank"),
    Column("its part", "rank_share", format_share), Column("late at", lambda row: str(row.before)),
)  # fmt: skip

_MOST_RANKS = 64  # of the picture of a step
_MOST_ROWS, _MOST_ARROWS, _MOST_SPANS = 16, 160, 2000  # of a time line
_ROW_PX = 26
_WORDS = {"computing": "compute", "moving": "transfer and other MPI", "waiting": "wait for another rank"}
_CRITICAL = "critical path"
_WAITS = "url(#waits)"


def step_picture(evidence: Evidence, title: str, caption: str) -> Chart:
    """Draw of each rank how long a step computes, moves bytes and waits."""
    shares = evidence.shares
    order = np.arange(len(shares.total_s))
    if len(order) > _MOST_RANKS:  # those that make others wait, and some of all
        worst = np.argsort(-shares.blamed_s, kind="stable")[: _MOST_RANKS // 4]
        order = np.unique(np.concatenate((worst, np.linspace(0, len(order) - 1, _MOST_RANKS - len(worst)).astype(int))))
    moving = "transfer and other MPI" if shares.split else "in MPI"
    parts: list[tuple[str, Any, str]] = [("compute", shares.computing_s, COMPUTING), (moving, shares.moving_s, MOVING)]
    if shares.split:
        parts.append(("wait (late sender/receiver)", shares.waiting_s, _WAITS))
    stops = [
        f"rank {rank}: " + ", ".join(f"{format_time(float(seconds[rank]))} {name}" for name, seconds, _ in parts)
        for rank in order
    ]
    data = []
    for i, rank in enumerate(order):
        begun = 0.0
        for name, seconds, _ in parts:
            end = begun + float(seconds[rank])
            data.append({"rank": f"rank {rank}", "part": name, "start": begun, "end": end, "stop": i, "tip": stops[i]})
            begun = end
    y = by_name("rank", [f"rank {rank}" for rank in order], labelOverlap="greedy", domain=False, ticks=False)
    last = {"condition": {"test": f"datum.part==='{parts[-1][0]}'", "value": "#e69f01" if shares.split else None}}
    start = field_of("start", axis={"labelExpr": TIME, "tickCount": 5, "title": None}, scale={"nice": False})
    encoding = {
        "y": y, **ranged("x", start, "start", "end"), "opacity": emphasised(1, 0.9), "stroke": {**last, "value": None},
        "color": kinds("part", [name for name, _, _ in parts], [colour for *_, colour in parts]),
    }  # fmt: skip
    few = len(order) <= 32
    panel = layer("bar", encoding, data, height=12 if few else 9)
    return Chart("step", title, caption, [{"height": (17 if few else 12) * len(order), **panel}], stops)


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


def timeline_picture(line: Timeline, per: str) -> Chart:
    """Draw a step (a ``per``); of many ranks those of the critical path, and some of the rest. Its title and description say
    what bounds it."""
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
    names = {f"{i + 0.5:.1f}": f"rank {rank}" for i, rank in enumerate(ranks)}
    y: Spec = {
        "axis": {"values": [i + 0.5 for i in range(len(ranks))], "labelExpr": looked_up(names, "datum.value", 1),
            "title": None, "grid": False, "domain": False, "ticks": False, "labelOverlap": False},
        "scale": {"domain": [0, len(ranks)], "reverse": True, "nice": False},
    }  # fmt: skip
    drawn = kinds("kind", [_CRITICAL, *_WORDS.values()], [CRITICAL, COMPUTING, MOVING, _WAITS])
    waiting = {"test": f"datum.kind==='{_WORDS['waiting']}'", "value": "#e69f01"}
    start, row = field_of("start", **x), field_of("row", **y)
    bars = {
        **ranged("x", start, "start", "end"), **ranged("y", row, "top", "bottom"), "color": drawn,
        "stroke": {"condition": waiting, "value": None}, "opacity": emphasised(1, 0.88),
    }  # fmt: skip
    ways = {**ranged("x", start, "start", "end"), **ranged("y", row, "row", "to")}
    heads = {"condition": {"test": "datum.down", "value": "triangle-down"}, "value": "triangle-up"}
    tips = {"x": field_of("end", **x), "y": field_of("to", **y), "shape": heads}
    layers = [
        *zoomed([layer("rect", bars, data, clip=True, strokeWidth=0.7)]),
        layer("rule", ways, arrows, color=MUTED, strokeWidth=1, clip=True),
        layer("point", tips, arrows, filled=True, size=45, color=MUTED, opacity=1, clip=True),
    ]
    panel: Spec = {"height": _ROW_PX * len(ranks), "layer": layers}
    return Chart("timeline", timeline_title(line, per), path_words(line), [panel], stops, label_px=70)


def _bar(span: Span, row: int, kind: str, stop: int, tip: str | None = None) -> Spec:
    bar: Spec = {"start": span.start_s, "end": span.end_s, "top": row + 0.14, "bottom": row + 0.86, "kind": kind, "stop": stop}
    return bar if tip is None else {**bar, "tip": tip}


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
    size, row = field_of("size", **axis), {"field": "row", "type": "quantitative"}
    row_axis = {**row, "axis": None, "scale": {"domain": [-0.6, 5], "reverse": True}}
    bars: list[Spec] = [
        {"low": room.best_bytes, "high": room.now_bytes, "part": "to gain by another placement"},
        {"low": room.now_bytes, "high": room.worst_bytes, "part": "could be lost by a bad placement"},
    ]
    parts = kinds("part", [bar["part"] for bar in bars], [MOVING, IDLE])
    across = {"y": {"value": 96}, **ranged("x", size, "low", "high"), "color": parts}
    begin, look = f"{0.6 * most!r}", {"dy": 4, "color": INK}
    layers = [
        layer("bar", across, (bar for bar in bars if bar["high"] > bar["low"]), height=18),
        layer("rule", {"x": size, "y": row_axis, "y2": {"value": 106}}, data, color=INK, strokeWidth=2),
        labels({"x": size, "y": row}, "words", data, f"datum.size<{begin}", align="left", dx=4, **look),
        labels({"x": size, "y": row}, "words", data, f"datum.size>={begin}", align="right", dx=-4, **look),
    ]
    return Chart("headroom", title, "; ".join(stops), [{"height": 120, "layer": layers}], stops, legend_px=260)
