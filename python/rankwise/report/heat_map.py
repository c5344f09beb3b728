"""Matrices of pairs: how slow pairs of nodes are, how much pairs of ranks send."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.report.chart import BETTER, MUTED, SERIES, WORSE, Chart, Spec, field_of, rows
from rankwise.units import format_size, format_volume

if TYPE_CHECKING:
    from rankwise.measure.slow_nodes import Effects

_MOST_RATIO = 2.0  # of the colours; what is slower has the darkest
_SIDE_PX = 420
_MOST_STOPS = 2000  # what arrow keys step through


def heat_map(effects: Mapping[int, Effects], hosts: Sequence[str], words: Sequence[str]) -> Chart:
    """Draw a matrix for each size: rows send, columns receive, colours say how many times the usual time a pair takes."""
    panels: list[Spec] = []
    stops: list[str] = []
    for size, of_size in effects.items():
        ratio = np.exp(of_size.sends[:, None] + of_size.receives[None, :] + of_size.residual)
        cells = []
        # The slowest first, for who steps through them.
        order = [divmod(int(i), len(hosts)) for i in np.argsort(-ratio, axis=None, kind="stable")]
        for sender, receiver in order:
            if sender == receiver or not math.isfinite(ratio[sender, receiver]):
                continue
            times = float(ratio[sender, receiver])
            said = f"{hosts[sender]} to {hosts[receiver]}, streams of {format_size(size)}: {times:.2f} times the usual time"
            shade = min(1.0, abs(math.log(times)) / math.log(_MOST_RATIO))
            cells.append({
                "from": hosts[sender], "to": hosts[receiver], "kind": "slower" if times > 1 else "faster",
                "shade": 0.06 + 0.94 * shade,
                "tip": said, **({"stop": len(stops)} if len(stops) < _MOST_STOPS else {}),
            })  # fmt: skip
            if len(stops) < _MOST_STOPS:
                stops.append(said)
        names = list(hosts)
        panels.append({
            "title": f"streams of {format_size(size)}: rows send, columns receive", "height": _SIDE_PX, "data": rows(cells),
            "mark": {"type": "rect"},
            "encoding": {
                "x": field_of("to", "nominal", sort=names, title=None,
                    axis={"labelAngle": -90, "labelOverlap": "greedy", "orient": "top", "domain": False}),
                "y": field_of("from", "nominal", sort=names, title=None, axis={"labelOverlap": "greedy", "domain": False}),
                "color": field_of("kind", "nominal", scale={"domain": ["slower", "faster"], "range": [WORSE, BETTER]}),
                "opacity": field_of("shade", scale={"domain": [0, 1], "range": [0, 1]}, legend=None),
                **_outlined(),
            },
        })  # fmt: skip
    title = "Times as slow as usual; the full colour: 2 times and more, or half and less"
    return Chart(
        "slow-nodes", title, " ".join(words), panels, stops, {"title": title}, least_px=460, most_columns=2, label_px=80
    )


def traffic_map(matrix: NDArray[np.float64], words: Sequence[str], each: int = 1) -> Chart:
    """Draw who sends how many bytes to whom: rows send, columns receive, both in the order of ranks, ``each`` to a cell."""
    heaviest = max(float(matrix.max()), 1.0)
    least = float(matrix[matrix > 0].min()) if (matrix > 0).any() else 1.0
    least = min(least, heaviest / 10)

    def ranks(cell: int) -> str:
        return f"rank {cell}" if each == 1 else f"ranks {cell * each} to {(cell + 1) * each - 1}"

    found = []
    sources, peers = np.nonzero(matrix)
    for i, (source, peer) in enumerate(zip(sources.tolist(), peers.tolist(), strict=True)):
        sent = float(matrix[source, peer])
        found.append({
            "x": peer, "x2": peer + 1, "y": source, "y2": source + 1,
            "shade": 0.15 + 0.85 * math.log(sent / least) / math.log(heaviest / least),
            "tip": f"{ranks(source)} to {ranks(peer)}: {format_volume(int(sent))}", **({"stop": i} if i < _MOST_STOPS else {}),
        })  # fmt: skip
    panel = {
        "title": f"Darker: more bytes, {format_volume(int(least))} to {format_volume(int(heaviest))}", "height": _SIDE_PX,
        "data": rows(found), "mark": {"type": "rect", "color": SERIES[0]},
        "encoding": {
            **cell_axes(len(matrix), "rank that receives", "rank that sends", each),
            "opacity": field_of("shade", scale={"domain": [0, 1], "range": [0, 1]}, legend=None),
            **_outlined(),
        },
    }  # fmt: skip
    stops = [str(row["tip"]) for row in found[:_MOST_STOPS]]
    return Chart("traffic", "Who sends how many bytes to whom", " ".join(words), [panel], stops)


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


def _outlined() -> Spec:
    return {
        "stroke": {"condition": {"test": "datum.stop === stop", "value": MUTED}, "value": None},
        "strokeWidth": {"value": 2},
        "strokeOpacity": {"value": 1},
    }
