"""Pictures of an observed program: where a step of each rank goes, and who sends to whom, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.report.chart import COMPUTING, MOVING, MUTED, SERIES, TIME, Chart, Spec, emphasised, field_of, looked_up, rows
from rankwise.report.heat_map import cell_axes
from rankwise.units import format_time, format_volume

if TYPE_CHECKING:
    from rankwise.advise.evidence import Evidence
    from rankwise.mapping.traffic import Traffic

_MOST_ROWS = 64  # of the picture of ranks
_MOST_CELLS = 128  # of the matrix: more ranks are drawn together
_SIDE_PX = 400
_MOST_STOPS = 1000
WAITS = "url(#waits)"


def step_picture(evidence: Evidence, title: str, caption: str) -> Chart:
    """Draw of each rank how long a step computes, moves bytes and waits."""
    shares = evidence.shares
    order = np.arange(len(shares.total_s))
    if len(order) > _MOST_ROWS:  # those that make others wait, and some of all
        worst = np.argsort(-shares.blamed_s, kind="stable")[: _MOST_ROWS // 4]
        order = np.unique(np.concatenate((worst, np.linspace(0, len(order) - 1, _MOST_ROWS - len(worst)).astype(int))))
    moving = "moving bytes" if shares.split else "in MPI"
    parts: list[tuple[str, Any, str]] = [("computing", shares.computing_s, COMPUTING), (moving, shares.moving_s, MOVING)]
    if shares.split:
        parts.append(("waiting for a late partner", shares.waiting_s, WAITS))
    stops = [
        f"rank {rank}: " + ", ".join(f"{format_time(float(seconds[rank]))} {name}" for name, seconds, _ in parts)
        for rank in order
    ]
    data = []
    for i, rank in enumerate(order):
        start = 0.0
        for name, seconds, _ in parts:
            end = start + float(seconds[rank])
            data.append({"rank": f"rank {rank}", "part": name, "start": start, "end": end, "stop": i, "tip": stops[i]})
            start = end
    names = [f"rank {rank}" for rank in order]
    panel: Spec = {
        "height": (17 if len(order) <= 32 else 12) * len(order), "data": rows(data),
        "mark": {"type": "bar", "height": 12 if len(order) <= 32 else 9},
        "encoding": {
            "y": field_of("rank", "nominal", sort=names, title=None,
                axis={"labelOverlap": "greedy", "domain": False, "ticks": False}),
            "x": field_of("start", axis={"labelExpr": TIME, "tickCount": 5, "title": None}, scale={"nice": False}),
            "x2": {"field": "end"},
            "color": field_of("part", "nominal", scale={"domain": [name for name, _, _ in parts],
                "range": [colour for *_, colour in parts]}),
            "stroke": {"condition": {"test": f"datum.part==='{parts[-1][0]}'", "value": "#e69f01" if shares.split else None},
                "value": None},
            "opacity": emphasised(1, 0.9),
        },
    }  # fmt: skip
    return Chart("step", title, caption, [panel], stops)


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
            row: Spec = {
                "x": x,
                "x2": x + 1,
                "y": y,
                "y2": y + 1,
                "kind": kind,
                "shade": 0.3 + 0.7 * float(matrix[y, x]) / most,
            }
            if cells == len(order):
                sender, receiver = int(order[y]), int(order[x])
                places = f"{hosts[int(node_of_rank[sender])]} to {hosts[int(node_of_rank[receiver])]}"
                row["tip"] = f"{words}: rank {sender} to rank {receiver}, {places}: {format_volume(int(matrix[y, x]))}"
                if len(stops) < _MOST_STOPS:
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
    return {
        "title": words, "height": _SIDE_PX,
        "layer": [
            {
                "data": rows(found), "mark": {"type": "rect"},
                "encoding": {
                    **axes, "opacity": field_of("shade", scale={"domain": [0, 1], "range": [0, 1]}, legend=None),
                    "color": field_of("kind", "nominal", scale={"domain": ["between nodes", "inside a node"],
                        "range": [SERIES[1], COMPUTING]}),
                    "stroke": {"condition": {"test": "datum.stop === stop", "value": MUTED}, "value": None},
                    "strokeWidth": {"value": 3},
                },
            },
            {"data": rows(frames), "mark": {"type": "rect", "filled": False, "stroke": MUTED, "strokeWidth": 1},
                "encoding": axes},
        ],
    }  # fmt: skip
