"""Matrices of pairs: how slow pairs of nodes are, how much pairs of ranks send, and what of that crosses between nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.report.chart import BETTER, COMPUTING, MUTED, SERIES, WORSE, Chart, Spec, looked_up
from rankwise.report.layers import by_name, cell_axes, kinds, layer, shaded
from rankwise.units import format_size, format_volume

if TYPE_CHECKING:
    from rankwise.mapping.traffic import Traffic
    from rankwise.measure.slow_nodes import Effects

_MOST_RATIO = 2.0  # of the colours; what is slower has the darkest
_SIDE_PX, _MATRIX_PX = 420, 400
_MOST_STOPS, _MATRIX_STOPS = 2000, 1000  # what arrow keys step through
_MOST_CELLS = 128  # of the matrix by placement: more ranks are drawn together


def heat_map(effects: Mapping[int, Effects], hosts: Sequence[str], words: Sequence[str]) -> Chart:
    """Draw a matrix for each size: rows send, columns receive, colours say how many times the median time a pair takes."""
    panels: list[Spec] = []
    stops: list[str] = []
    for size, of_size in effects.items():
        ratio = np.exp(of_size.sends[:, None] + of_size.receives[None, :] + of_size.residual)
        found = []
        # The slowest first, for who steps through them.
        order = [divmod(int(i), len(hosts)) for i in np.argsort(-ratio, axis=None, kind="stable")]
        for sender, receiver in order:
            if sender == receiver or not math.isfinite(ratio[sender, receiver]):
                continue
            times = float(ratio[sender, receiver])
            said = f"{hosts[sender]} to {hosts[receiver]}, streams of {format_size(size)}: {times:.2f} times the median time"
            shade = min(1.0, abs(math.log(times)) / math.log(_MOST_RATIO))
            found.append({
                "from": hosts[sender], "to": hosts[receiver], "kind": "slower" if times > 1 else "faster",
                "shade": 0.06 + 0.94 * shade,
                "tip": said, **({"stop": len(stops)} if len(stops) < _MOST_STOPS else {}),
            })  # fmt: skip
            if len(stops) < _MOST_STOPS:
                stops.append(said)
        names = list(hosts)
        axes = {
            "x": by_name("to", names, labelAngle=-90, labelOverlap="greedy", orient="top", domain=False),
            "y": by_name("from", names, labelOverlap="greedy", domain=False),
        }
        colour = kinds("kind", ["slower", "faster"], [WORSE, BETTER])
        title = f"streams of {format_size(size)}: rows send, columns receive"
        panels.append({"title": title, "height": _SIDE_PX, **layer("rect", {**axes, "color": colour, **_outlined()}, found)})
    title = "Times as slow as usual; the full colour: 2 times and more, or half and less"
    return Chart(
        "slow-nodes", title, " ".join(words), panels, stops, {"title": title}, least_px=460, most_columns=2, label_px=80
    )


def traffic_map(matrix: Floats, words: Sequence[str], each: int = 1) -> Chart:
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
    title = f"Darker: more bytes, {format_volume(int(least))} to {format_volume(int(heaviest))}"
    encoding = {**cell_axes(len(matrix), "rank that receives", "rank that sends", each), **_outlined()}
    panel = {"title": title, "height": _SIDE_PX, **layer("rect", encoding, found, color=SERIES[0])}
    stops = [str(row["tip"]) for row in found[:_MOST_STOPS]]
    return Chart("traffic", "Who sends how many bytes to whom", " ".join(words), [panel], stops)


def _outlined() -> Spec:
    return {**shaded(), "strokeOpacity": {"value": 1}}


def matrix_picture(traffic: Traffic, shown: Sequence[tuple[str, Any]], hosts: Sequence[str], caption: str) -> Chart:
    """Draw the bytes of each pair of ranks by placement (words, node of each
    rank): those between nodes apart; a frame is a node."""
    stops: list[str] = []
    panels = [_matrix(words, traffic, node_of_rank, hosts, stops) for words, node_of_rank in shown]
    return Chart("matrix", "Who sends to whom", caption, panels, stops, least_px=380, most_columns=2, label_px=52)


def _matrix(words: str, traffic: Traffic, node_of_rank: Any, hosts: Sequence[str], stops: list[str]) -> Spec:
    order = np.argsort(node_of_rank, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cells = min(len(order), _MOST_CELLS)
    cell_of, cut = place * cells // len(order), traffic.crossing(node_of_rank)
    found = []
    for kind, of_kind in (("inside a node", ~cut), ("between nodes", cut)):
        matrix = np.zeros((cells, cells))
        np.add.at(matrix, (cell_of[traffic.source[of_kind]], cell_of[traffic.peer[of_kind]]), traffic.bytes[of_kind])
        most = float(matrix.max()) or 1.0
        for y, x in zip(*(found_at.tolist() for found_at in np.nonzero(matrix)), strict=True):
            shade = 0.3 + 0.7 * float(matrix[y, x]) / most
            row: Spec = {"x": x, "x2": x + 1, "y": y, "y2": y + 1, "kind": kind, "shade": shade}
            if cells == len(order):
                sender, receiver = int(order[y]), int(order[x])
                places = f"{hosts[int(node_of_rank[sender])]} to {hosts[int(node_of_rank[receiver])]}"
                row["tip"] = f"{words}: rank {sender} to rank {receiver}, {places}: {format_volume(int(matrix[y, x]))}"
                if len(stops) < _MATRIX_STOPS:
                    row["stop"] = len(stops)
                    stops.append(row["tip"])
            else:
                row["tip"] = f"{words}: {format_volume(int(matrix[y, x]))}, {kind}"
            found.append(row)
    borders = np.flatnonzero(np.diff(node_of_rank[order])) + 1
    edges = (np.concatenate(([0], borders, [len(order)])) * cells / len(order)).tolist()
    frames = [{"x": low, "x2": high, "y": low, "y2": high} for low, high in zip(edges, edges[1:], strict=False)]
    axes = cell_axes(cells, "", "")
    if len(edges) <= 17:
        names = [hosts[node] for node in dict.fromkeys(node_of_rank[order].tolist())]
        middles = {f"{(low + high) / 2:.4f}": name for low, high, name in zip(edges, edges[1:], names, strict=False)}
        axis: Spec = {
            "values": [float(middle) for middle in middles], "labelExpr": looked_up(middles, "datum.value", 4), "title": None,
            "domain": False, "grid": False, "ticks": False, "labelLimit": 70,
        }  # fmt: skip
        axes["x"] = {**axes["x"], "axis": {**axis, "orient": "top", "labelOverlap": "greedy"}}
        axes["y"] = {**axes["y"], "axis": {**axis, "labelAngle": -90, "labelOverlap": "greedy"}}
    colour = kinds("kind", ["between nodes", "inside a node"], [SERIES[1], COMPUTING])
    layers = [
        layer("rect", {**axes, "color": colour, **shaded(3)}, found),
        layer("rect", axes, frames, filled=False, stroke=MUTED, strokeWidth=1),
    ]
    return {"title": words, "height": _MATRIX_PX, "layer": layers}
