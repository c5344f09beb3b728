"""A chart: Vega-Lite specs of its panels, what it says value by value, and how all charts look.

One spec gives the static picture, which stands without a script and on paper, and the live one (page.js), which is drawn again
at the width that there is.
"""

from __future__ import annotations

import copy
import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankwise.units import format_size

_TITLE_LETTER_PX = 7.6

Spec = dict[str, Any]

# Colours that the page replaces by its own light or dark ones; spelt so that nothing else looks like them.
INK, MUTED, RULE, SURFACE, IDLE = "#1b1b1f", "#5f6069", "#d7d8dd", "#fefefe", "#e9edf1"
CRITICAL, MOVING, WAITING, COMPUTING = "#c04f00", "#0072b1", "#e69f01", "#aab4be"
BETTER, WORSE = "#1171aa", "#c2510f"
SERIES = ("#0072b2", "#d55e00", "#0f8a68", "#a8437f", "#7a6a00")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [10, 4])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_TOKENS = {
    INK: "--ink", MUTED: "--muted", RULE: "--line", SURFACE: "--bg", IDLE: "--idle", CRITICAL: "--critical", MOVING: "--moving",
    WAITING: "--waiting", COMPUTING: "--computing", BETTER: "--better", WORSE: "--worse",
    **{colour: f"--c{i}" for i, colour in enumerate(SERIES, 1)},
}  # fmt: skip

WIDTH_PX = 1040  # of static pictures: as wide as the page's column
LINES: Spec = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolSize": 320}  # the legend of lines
WIDE = "$WIDE"  # in a panel's expressions: its width in pixels
FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif"
CONFIG: Spec = {
    "aria": False,
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "labelFontSize": 12, "titleColor": INK, "titleFontSize": 12, "titleFontWeight": "normal",
        "gridColor": RULE, "domainColor": MUTED, "tickColor": MUTED, "labelOverlap": "parity", "labelLimit": 170,
        "titlePadding": 8,
    },
    "title": {"anchor": "start", "color": INK, "fontSize": 13, "fontWeight": 600, "offset": 6},
    "header": {"labelColor": INK, "titleColor": INK},
    "legend": {
        "orient": "top", "direction": "horizontal", "title": None, "labelColor": INK, "labelFontSize": 12, "symbolSize": 90,
        "symbolStrokeWidth": 2, "labelLimit": 320, "symbolOpacity": 1, "columnPadding": 28, "rowPadding": 3, "offset": 8,
    },
    "text": {"color": INK, "fontSize": 12, "font": FONT},
    "rule": {"color": MUTED},
    "concat": {"spacing": 24},
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A picture of data: panels side by side (Vega-Lite unit or layer specs without a width), each at least ``least_px`` wide.

    ``stops`` are the sentences that arrow keys step through; rows of data name theirs by ``stop``, and have what stands next to
    the pointer as ``tip``. ``base`` is what all panels share (datasets, resolve). ``label_px``: the room that a panel's labels
    at its left take.
    """

    name: str
    title: str
    description: str
    panels: Sequence[Spec]
    stops: Sequence[str] = ()
    base: Mapping[str, Any] = field(default_factory=dict)
    least_px: int = 300
    most_columns: int = 4
    label_px: int = 62
    legend_px: int = 190

    def fitted(self, width_px: float) -> Spec:
        """Return the whole spec at a width; page.js does the same."""
        columns = max(1, min(len(self.panels), self.most_columns, int(width_px // self.least_px)))
        inner_px = math.floor((width_px - 10 - 24 * (columns - 1)) / columns - self.label_px)
        panels = json.loads(json.dumps(self.panels).replace(WIDE, str(inner_px)))
        config = copy.deepcopy(CONFIG)
        config["legend"]["columns"] = max(1, int(width_px // self.legend_px))
        whole: Spec = {**copy.deepcopy(dict(self.base)), "config": config, "padding": 2}
        whole["params"] = [{"name": "stop", "value": -1}, *whole.get("params", [])]
        if len(panels) == 1:
            _break_title(panels[0], width_px)
            whole["params"] += panels[0].pop("params", [])
            whole.pop("resolve", None)  # of panels to each other
            return {**whole, **panels[0], "width": width_px - 6, "autosize": {"type": "fit-x", "contains": "padding"}}
        for panel in panels:
            _break_title(panel, inner_px + self.label_px)
            panel["width"] = inner_px
        return {**whole, "concat": panels, "columns": columns}

    def svg(self, width_px: float = WIDTH_PX) -> str:
        """Draw it as one ``<svg>`` in the colours of a light page, transparent. The same figures give the same bytes."""
        from rankwise.report.vega import svg_of

        still = replace(self, panels=[_without_pointer(panel) for panel in self.panels])
        return svg_of(still.fitted(width_px), self.name, self.title, self.description)

    def file(self, width_px: float = 780) -> str:
        """Draw it as a file of its own, on white."""
        svg = self.svg(width_px)
        inside = svg.index(">") + 1
        return f'{svg[:inside]}<rect x="-12" width="100%" height="100%" fill="#ffffff"/>{svg[inside:]}\n'

    def live(self) -> str:
        """Return as JSON what page.js draws."""
        value = {
            "panels": self.panels, "base": self.base, "config": CONFIG, "stops": list(self.stops), "least": self.least_px,
            "columns": self.most_columns, "label": self.label_px, "legend": self.legend_px, "letter": _TITLE_LETTER_PX,
        }  # fmt: skip
        # What ends a script, or begins a comment in one, cannot stand in it.
        return themed(json.dumps(value, separators=(",", ":"), allow_nan=False)).replace("<", "\\u003c").replace("&", "\\u0026")


def _without_pointer(panel: Spec) -> Spec:
    """Return a panel without what only follows a pointer."""
    return {**panel, "layer": [layer for layer in panel["layer"] if "name" not in layer]} if "layer" in panel else panel


def themed(text: str) -> str:
    """Let a picture take the page's colours, which differ by day, by night and on paper."""
    for colour, name in _TOKENS.items():
        text = text.replace(colour, f"var({name})")
    return text


def rows(values: Iterable[Mapping[str, Any]]) -> Spec:
    """Return data of a spec."""
    return {"values": [dict(value) for value in values]}


def _break_title(panel: Spec, width_px: float) -> None:
    """Break the title of a panel into lines that fit its width."""
    if title := panel.get("title"):
        whole = title if isinstance(title, dict) else {"text": title}
        panel["title"] = {**whole, "text": textwrap.wrap(whole["text"], max(12, int(width_px / _TITLE_LETTER_PX)))}


def stop_of(stops: list[str], words: str) -> Spec:
    """Add a sentence to those that arrow keys step through; return what rows of data have of it."""
    stops.append(words)
    return {"stop": len(stops) - 1, "tip": words}


def field_of(name: str, kind: str = "quantitative", **more: Any) -> Spec:
    """Return the encoding of a field; ``kind``: quantitative, nominal, ordinal, temporal."""
    return {"field": name, "type": kind, **more}


def series_scale(names: Sequence[str], what: str = "colour") -> Spec:
    """Return the scale that gives each series its colour, dash or shape, so that they differ in grey print, too."""
    values: Sequence[Any] = {"colour": SERIES, "dash": DASHES, "shape": SHAPES}[what]
    return {"domain": list(names), "range": [values[i % len(values)] for i in range(len(names))]}


def log_axis(values: Iterable[float], label: str, title: str, margin: float = 1.25) -> Spec:
    """Return the logarithmic scale and axis that hold all ``values`` above 0; ``label``: a Vega expression of a tick's text."""
    known = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
    low, high = min(known) / margin, max(known) * margin
    steps: tuple[float, ...] = (1,) if high / low > 300 else (1, 3) if high / low > 30 else (1, 2, 5)
    if high / low < 4:
        steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    return {
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"values": ticks, "labelExpr": label, "title": title},
    }


def _scaled(units: Sequence[tuple[float, str]], value: str = "datum.value") -> str:
    *larger, (least, least_unit) = units
    expression = f"format({value}/{least!r},'.3~g')+' {least_unit}'"
    for scale, unit in reversed(larger):
        expression = f"abs({value})>={scale * 0.999!r}?format({value}/{scale!r},'.3~g')+' {unit}':{expression}"
    return f"{value}==0?'0':{expression}"


TIME = _scaled([(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
RATE = _scaled([(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
VOLUME = _scaled([(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
NUMBER = "format(datum.value,'~g')"


def looked_up(labels: Mapping[str, str], value: str, digits: int) -> str:
    """Return the Vega expression that gives the label of a value, by what it is with so many digits."""
    return f"({json.dumps(labels)})[replace(format({value},'.{digits}f'),'−','-')]||''"


@dataclass(frozen=True)
class SizeAxis:
    """A logarithmic axis of sizes in bytes; 0 B, where it was measured, has a place of its own beyond a break."""

    first: int
    last: int
    zero: float | None

    @staticmethod
    def of(sizes: Iterable[int]) -> SizeAxis:
        """Make the axis for some sizes, of which at least one must be above 0."""
        sizes = set(sizes)
        positive = sorted(sizes - {0})
        octaves = math.log2(positive[-1] / positive[0])
        gap = max(1.0, 0.09 * octaves)
        return SizeAxis(positive[0], positive[-1], math.log2(positive[0]) - gap if 0 in sizes else None)

    def place(self, size_bytes: float) -> float:
        """Return where a size lies on the axis. Raises ValueError for 0 B when the axis has no place for it."""
        if size_bytes > 0:
            return math.log2(size_bytes)
        if self.zero is None:
            raise ValueError("this axis has no place for 0 B")
        return self.zero

    def ticks(self) -> list[int]:
        """Return the sizes to label: 0 B, and powers of two, every other where there are many; or both ends."""
        low, high = math.ceil(math.log2(self.first)), math.floor(math.log2(self.last))
        powers = [2**power for power in range(low, high + 1)]
        step = 4 if len(powers) > 16 else 2 if len(powers) > 7 else 1
        known = [size for size in powers if (size.bit_length() - 1) % step == 0] or sorted({self.first, self.last})
        if self.zero is not None:
            known = [size for size in known if math.log2(size) - self.zero > 0.07 * (math.log2(self.last) - self.zero)]
        return [*([0] if self.zero is not None else []), *known]

    def encoding(self, title: str = "size of the message") -> Spec:
        """Return the encoding of an x axis: a field of places, with labels."""
        left = self.place(self.first) if self.zero is None else self.zero
        margin = max(0.3, 0.03 * (self.place(self.last) - left))
        ticks = self.ticks()
        labels = {f"{self.place(size):.6f}": format_size(size) for size in ticks}
        return {
            "field": "place", "type": "quantitative",
            "scale": {"domain": [left - margin, self.place(self.last) + margin], "nice": False, "zero": False},
            "axis": {
                "values": [self.place(size) for size in ticks], "grid": False, "title": title,
                "labelExpr": looked_up(labels, "datum.value", 6),
            },
        }  # fmt: skip

    def break_marks(self) -> list[Spec]:
        """Return the layer that marks the break before 0 B; none where the axis has no such place."""
        if self.zero is None:
            return []
        middle = (self.zero + self.place(self.first)) / 2
        return [{
            "data": {"values": [{"place": middle}]},
            "mark": {"type": "text", "text": "//", "fontSize": 13, "color": MUTED, "baseline": "middle"},
            "encoding": {"x": {"field": "place", "type": "quantitative"}, "y": {"value": "height"}},
        }]  # fmt: skip
