"""The page of settings for an MPI: what a call takes by default and tuned, what is set, and what is left as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankwise.blocks import Picture, Table
from rankwise.report.chart import MUTED, TIME, Chart, Spec, field_of, log_axis, rows
from rankwise.report.document import Document, Section
from rankwise.report.layers import by_name, emphasised, kinds, layer, ranged
from rankwise.units import format_count, format_number, format_time

MOST_DRAWN = 24
_DEFAULT, _TUNED = "default", "tuned"


@dataclass(frozen=True)
class Speedup:
    """Calls with a setting of their own, in words, and the time of one by default and tuned."""

    words: str
    time_s: float
    new_time_s: float


def speedup_picture(found: Sequence[Speedup]) -> Chart:
    """Draw the time of a call by default and tuned, a row for each setting."""
    shown = found[:MOST_DRAWN]
    stops = [
        f"{one.words}: {format_time(one.time_s)} by default, {format_time(one.new_time_s)} tuned, "
        f"{format_number(one.time_s / one.new_time_s)} times as fast"
        for one in shown
    ]
    ends: list[Spec] = [
        {"name": one.words, "time": time_s, "kind": kind, "old": one.time_s, "new": one.new_time_s, "stop": i, "tip": stops[i]}
        for i, one in enumerate(shown)
        for kind, time_s in ((_DEFAULT, one.time_s), (_TUNED, one.new_time_s))
    ]
    x = field_of("time", **log_axis([row["time"] for row in ends], TIME, "time of a call"))
    y = by_name("name", [one.words for one in shown], labelLimit=330)
    layers = [
        layer("rule", {"y": y, **ranged("x", x, "new", "old")}, color=MUTED, strokeWidth=2),
        layer(
            "point",
            {"x": x, "y": y, "color": kinds("kind", (_DEFAULT, _TUNED)), "size": emphasised(130, 80)},
            filled=True,
            opacity=1,
        ),
    ]
    title = "Time of a call: default and tuned"
    panel: Spec = {"title": title, "height": 26 * len(shown) + 20, "data": rows(ends), "layer": layers}
    return Chart("tuned", title, ". ".join(stops), [panel], stops)


def render(page: Document, found: Sequence[Speedup], settings: Table[Any], left: Table[Any]) -> str:
    """Return the page, of which ``page`` has the words, ``settings`` what is set, ``left`` what is left as it is, and why."""
    sections = []
    if found:
        more = f"The {MOST_DRAWN} that gain most." if len(found) > MOST_DRAWN else ""
        sections.append(Section("times", "What a call takes", [], [Picture("tuned", more, lambda: speedup_picture(found))]))
        sections.append(Section("settings", "What is set", [], [settings]))
    sections.append(
        Section("left", "What is left as it is", [], [left], format_count(len(left.items), "row")) if left.items
        else Section("left", "What is left as it is", ["Nothing."])
    )  # fmt: skip
    return replace(page, sections=[*sections, *page.sections]).html()
