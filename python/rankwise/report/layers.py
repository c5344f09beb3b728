"""What charts are drawn of: one way to write a layer, and curves, ranges and cells as all charts have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.report.chart import INK, LINES, MUTED, SERIES, Spec, field_of, rows, series_scale

Rows = Iterable[Mapping[str, Any]]


def layer(kind: str, encoding: Spec, data: Rows | None = None, where: str = "", **look: Any) -> Spec:
    """Return a layer of marks of a ``kind`` with their ``look``.

    ``data``: its own rows (None: the panel's); ``where``: a Vega expression that its rows must fulfil.
    """
    drawn: Spec = {} if data is None else {"data": rows(data)}
    if where:
        drawn["transform"] = [{"filter": where}]
    return {**drawn, "mark": {"type": kind, **look}, "encoding": encoding}


def labels(encoding: Spec, name: str = "words", data: Rows | None = None, where: str = "", **look: Any) -> Spec:
    """Return the layer that writes a field's text."""
    return layer("text", {**encoding, "text": {"field": name}}, data, where, **look)


def level(axis: str, encoding: Spec, value: float, **look: Any) -> Spec:
    """Return the layer of one line across the panel, where ``axis`` (x or y) has a value."""
    return layer("rule", {axis: encoding}, [{encoding["field"]: value}], **look)


def ranged(axis: str, encoding: Spec, low: str, high: str) -> Spec:
    """Return the encoding of a range on an axis: from one field to another."""
    return {axis: {**encoding, "field": low}, f"{axis}2": {"field": high}}


def kinds(name: str, values: Sequence[str], colours: Sequence[str] = SERIES[:2], **more: Any) -> Spec:
    """Return the encoding of a few kinds by their colours."""
    return field_of(name, "nominal", scale={"domain": list(values), "range": list(colours)}, **more)


def by_name(name: str, names: Sequence[str], **axis: Any) -> Spec:
    """Return the encoding of an axis of names without a title, in their order."""
    return field_of(name, "nominal", sort=list(names), title=None, axis=axis)


@dataclass(frozen=True)
class Curves:
    """Curves against an x axis, a colour and a dash for each series: the encodings of both axes, and what tells series apart.

    ``part``: a field by which a line is broken; rows have the ends of their intervals as ``low`` and ``high``.
    """

    x: Spec
    y: Spec
    names: Sequence[str]
    by: str = "series"
    part: str = ""
    clip: bool = True

    @property
    def colour(self) -> Spec:
        return field_of(self.by, "nominal", scale=series_scale(self.names), legend=LINES)

    def line(self, width: float, data: Rows | None = None) -> Spec:
        """Return the layer of lines, dashed so that they differ in grey print, too; ``data``: other rows than the panel's."""
        dash = field_of(self.by, "nominal", scale=series_scale(self.names, "dash"))
        encoding = {"x": self.x, "y": self.y, "color": self.colour, "strokeDash": dash, **self._parts()}
        return layer("line", encoding, data, strokeWidth=width, **self._clip())

    def band(self, low: str = "low", high: str = "high") -> Spec:
        """Return the layer of tinted intervals."""
        encoding = {"x": self.x, **ranged("y", self.y, low, high), "color": self.colour, **self._parts()}
        return layer("area", encoding, opacity=0.18, **self._clip())

    def intervals(self, **look: Any) -> Spec:
        """Return the layer of intervals as bars."""
        return layer("rule", {"x": self.x, **ranged("y", self.y, "low", "high"), "color": self.colour}, **look, **self._clip())

    def points(self, shown: float, usual: float, data: Rows | None = None, **look: Any) -> Spec:
        """Return the layer of points, larger (``shown``) at the stop that is shown."""
        encoding = {"x": self.x, "y": self.y, "color": self.colour, "size": emphasised(shown, usual)}
        return layer("point", encoding, data, filled=True, **look, **self._clip())

    def _parts(self) -> Spec:
        return {"detail": {"field": self.part}} if self.part else {}

    def _clip(self) -> Spec:
        return {"clip": True} if self.clip else {}


def zoomed(layers: Sequence[Spec], name: str = "zoom", axes: Sequence[str] = ("x",)) -> list[Spec]:
    """Let the first of some layers zoom the panel (wheel with Ctrl, or a pinch), and draw it aside."""
    select = {
        "type": "interval", "encodings": list(axes), "zoom": "wheel![event.ctrlKey]",
        "translate": "[pointerdown, window:pointerup] > window:pointermove!",
    }  # fmt: skip
    return [{"params": [{"name": name, "select": select, "bind": "scales"}], **layers[0]}, *layers[1:]]


def shapes(name: str, names: Sequence[str]) -> Spec:
    """Return the encoding that gives each series its shape."""
    return field_of(name, "nominal", scale=series_scale(names, "shape"))


def shaded(outline: float = 2) -> Spec:
    """Return the encodings of a matrix's cells: their ``shade`` from 0 to 1, and an outline around the one that is shown."""
    return {
        "opacity": field_of("shade", scale={"domain": [0, 1], "range": [0, 1]}, legend=None),
        "stroke": {"condition": {"test": "datum.stop === stop", "value": MUTED}, "value": None},
        "strokeWidth": {"value": outline},
    }


def cell_axes(cells: int, across: str, down: str, each: int = 1) -> Spec:
    """Return the encodings of rectangles x to x2, y to y2 in a square of so many cells; each stands for ``each`` ranks."""
    axis: dict[str, Any] = {"grid": False, "tickMinStep": 1, "labelExpr": f"format(datum.value*{each},'d')", "domain": False}
    scale = {"domain": [0, cells], "nice": False}
    return {
        "x": field_of("x", scale=scale, axis={**axis, "title": across}),
        "x2": {"field": "x2"},
        "y": field_of("y", scale={**scale, "reverse": True}, axis={**axis, "title": down}),
        "y2": {"field": "y2"},
    }


def cursor(name: str = "place") -> Spec:
    """Return the layer of a line at the stop that is shown; its data are those of the panel."""
    return {
        "transform": [{"filter": "datum.stop === stop"}, {"aggregate": [], "groupby": [name]}],
        "mark": {"type": "rule", "color": INK, "strokeDash": [2, 2]},
        "encoding": {"x": {"field": name, "type": "quantitative"}},
    }


def nearest(x: str, y: str, name: str = "near", x_kind: str = "quantitative") -> Spec:
    """Return the layer that finds the point nearest to the pointer, wherever in the panel that is."""
    return {
        "name": f"{name}_points",
        "params": [{"name": name, "select": {"type": "point", "nearest": True, "on": "pointermove", "fields": ["stop"]}}],
        "mark": {"type": "point", "size": 120, "opacity": 0},
        "encoding": {"x": field_of(x, x_kind), "y": field_of(y)},
    }


def emphasised(shown: Any, usual: Any) -> Spec:
    """Return a value that differs for the rows of the stop that is shown."""
    return {"condition": {"test": "datum.stop === stop", "value": shown}, "value": usual}
