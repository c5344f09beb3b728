"""Hunold et al. (IEEE CLUSTER 2020), section VI-C: reductions over blocked on 432 instances, scores on two large grids.

The paper prints no score of Figures 6 to 8 as a number, so what is held against it are its sentences (hunold2020_claims).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from rankwise.blocks import Column, Picture, Table
from rankwise.papers import cited
from rankwise.papers import hunold2020_scores as scores
from rankwise.papers.claims import claims_section, judge
from rankwise.papers.hunold2020_claims import CLAIMS, Evidence
from rankwise.papers.hunold2020_scores import COMPARED, STENCILS
from rankwise.papers.hunold2020_simgrid import kept, kept_section, whole
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, MUTED, SERIES, SURFACE, Chart, Spec, field_of, rows, stop_of
from rankwise.report.layers import by_name, emphasised, labels, layer, level, ranged
from rankwise.report.reproduction import Reproduction, Section

_WHISKER = 1.5  # at most so many interquartile ranges beyond the box, as Tukey drew them
_MOST = 2.2  # of blocked, that is drawn; what lies beyond is counted at the edge


@record
class Figures(Record):
    """Mapping ranks to nodes for stencils: the paper's sentences, scores and times beside ours."""

    boxes: Sequence[scores.Distribution] = key(
        "Figure 8: by stencil, objective and mapper, relative to blocked", name="reduction"
    )
    results: Sequence[scores.Scored] = key("the instances of Figure 8", name="instances")
    large: Sequence[scores.Scored] = key("the two throughput grids of Figures 6 and 7", name="throughput_grids")
    lines: Sequence[scores.Line] = key("the law of J_max by machine")
    instantiation_s: Mapping[str, float] = key("mean time of computing a mapping, by mapper")
    kept = computed("simulated times that the package keeps", int, lambda _: len(kept()))
    campaign = computed("simulated times that the whole campaign has", int, lambda _: whole())


def reproduce() -> Reproduction:
    """Compute everything anew (some seconds) and put it beside the paper's sentences."""
    results = [scores.scored(instance) for instance in scores.instances()]
    large = [scores.scored(instance) for instance in scores.throughput_instances()]
    boxes = scores.distributions(results)
    times, seconds = scores.published_times(), scores.instantiation()
    lines = {machine: scores.fit_line(machine, times) for machine in scores.MACHINES}
    verdicts = judge(CLAIMS, Evidence(results, large, times), "rankwise reproduce hunold2020")
    below = sum(
        row.scores["refined"][0] <= min(row.scores[mapper][0] for mapper in scores.SHOWN if mapper != "refined")
        for row in results
    )
    grids = len({(row.instance.grid, row.instance.nodes) for row in results})
    answer = [
        f"refined (about {scores.EFFORT_S * 1e3:.0f} ms a grid) sends no more between nodes than any other mapper, the general "
        f"ones included, in {below} of {len(results)} instances."
    ]
    return Reproduction(
        paper="hunold2020",
        title="hunold2020: mapping ranks to nodes for stencils",
        answer=answer,
        sections=[
            claims_section(verdicts),
            Section.of(
                "reduction",
                "Reduction over blocked (Figure 8)",
                f"{grids} grids with each stencil; lower is better. The box spans the quartiles, its notch the 95 % "
                "interval of the median. VieM, KaHIP and Scotch are general mappers, measured; refined is ours.",
                Picture("figure8", "Messages between nodes relative to blocked.", lambda: _draw(boxes)),
                _box_table(boxes),
            ),
            Section.of(
                "bound",
                "How near to what is possible",
                "The sum of J_sum over the grids of each kind, relative to the sum of the lower bounds.",
                _bound_table(results),
            ),
            Section.of(
                "scores",
                "Scores on the two throughput grids (Figures 6 and 7)",
                "J_sum and J_max on 50x48 (N = 50) and 75x64 (N = 100), 48 ranks a node.",
                _score_table(large),
            ),
            *scores.sections(times, lines, seconds),
            kept_section(),
        ],
        claims=verdicts,
        figures=Figures(
            list(boxes.values()), results, large, list(lines.values()), {name: fmean(of) for name, of in seconds.items()}
        ),
        sources=[
            cited("hunold2020"),
            "Readings of its pseudo-code: docs/mapping.md. The public VieM, KaHIP 3 and Scotch 7.0.3, measured.",
        ],
        next_command="rankwise map --grid 50x48 --nodes 50 --ppn 48 --effort 1s",
    )


_BOXES: Sequence[Column[scores.Distribution]] = (
    Column(None, "stencil"),
    Column(None, "objective"),
    Column(None, "mapper"),
    Column(None, "median"),
    Column(None, lambda box: box.notch[0], key="notch_low"),
    Column(None, lambda box: box.notch[1], key="notch_high"),
    Column(None, lambda box: box.quartiles[0], key="quartile_low"),
    Column(None, lambda box: box.quartiles[1], key="quartile_high"),
)


def _box_table(boxes: Mapping[tuple[str, str, str], scores.Distribution]) -> Table[scores.Distribution]:
    def of(stencil: str, objective: str) -> Column[str]:
        head = f"{stencil}, {objective.replace('j', 'J')}"
        return Column(
            head, lambda mapper: boxes[stencil, objective, mapper],
            lambda box: f"{box.median:.3f} ± {box.notch[1] - box.median:.3f}",
        )  # fmt: skip

    columns: list[Column[str]] = [Column("mapper", str)]
    columns += [of(stencil, objective) for stencil in STENCILS for objective in ("j_sum", "j_max")]
    caption = "Median reduction over blocked, with half the notch."
    return Table(_BOXES, list(boxes.values()), name="reduction", caption=caption, readers=Table(columns, COMPARED))


def _bound_table(results: Sequence[scores.Scored]) -> Table[str]:
    def of(stencil: str, ndim: int) -> Column[str]:
        group = [row for row in results if row.instance.stencil == stencil and len(row.instance.grid) == ndim]
        bound = sum(row.bound for row in group)
        return Column(
            f"{stencil} {ndim}-D", lambda mapper: sum(row.scores[mapper][0] for row in group) / bound, "{:.3f}".format,
            f"{stencil}_{ndim}d",
        )  # fmt: skip

    columns: list[Column[str]] = [Column("mapper", str, key="mapper")]
    columns += [of(stencil, ndim) for stencil in STENCILS for ndim in (2, 3)]
    return Table(columns, scores.SHOWN, name="bound", caption="J_sum over the lower bound, summed over 72 grids each.")


def _score_table(large: Sequence[scores.Scored]) -> Table[Any]:
    def of(row: scores.Scored) -> Column[str]:
        head = f"N={row.instance.nodes}, {row.instance.stencil}"
        return Column(head, lambda mapper: "{}/{}".format(*row.scores[mapper]) if mapper in scores.SHOWN else row.bound)

    columns: list[Column[tuple[scores.Scored, str]]] = [
        Column(None, lambda found: found[0].instance.nodes, key="nodes"),
        Column(None, lambda found: "x".join(map(str, found[0].instance.grid)), key="grid"),
        Column(None, lambda found: found[0].instance.stencil, key="stencil"),
        Column(None, lambda found: found[1], key="mapper"),
        Column(None, lambda found: found[0].scores[found[1]][0], key="j_sum"),
        Column(None, lambda found: found[0].scores[found[1]][1], key="j_max"),
        Column(None, lambda found: found[0].bound, key="j_sum_bound"),
    ]
    readers = Table([Column("mapper", str), *map(of, large)], (*scores.SHOWN, "lower bound"))
    every = [(row, mapper) for row in large for mapper in scores.SHOWN]
    return Table(columns, every, name="scores", caption="J_sum/J_max on the throughput grids.", readers=readers)


def _draw(boxes: Mapping[tuple[str, str, str], scores.Distribution]) -> Chart:
    return reduction_picture({
        f"{stencil}, {objective.replace('j', 'J')}": [boxes[stencil, objective, mapper] for mapper in COMPARED]
        for stencil in STENCILS
        for objective in ("j_sum", "j_max")
    })  # fmt: skip


def reduction_picture(panels: Mapping[str, Sequence[scores.Distribution]]) -> Chart:
    """Draw one panel a title: for each mapper the distribution of its reductions, whiskers and outliers inside the axis."""
    drawn: list[Spec] = []
    stops: list[str] = []
    for title, distributed in panels.items():
        mappers = [box.mapper for box in distributed]
        colour = SERIES[0] if "J_sum" in title else SERIES[1]
        edge = min(_MOST, 1.05 * max(1.0, *(max(box.reductions) for box in distributed)))
        boxes, outliers = [], []
        for box in distributed:
            data = np.sort(np.asarray(box.reductions))
            low, high = box.quartiles
            reach = _WHISKER * (high - low)
            inside = data[(data >= low - reach) & (data <= high + reach)]
            beyond = int((data > edge).sum())
            words = (
                f"{title}, {box.mapper}: median {box.median:.3f} ({box.notch[0]:.3f} to {box.notch[1]:.3f}), half of all from "
                f"{low:.3f} to {high:.3f}, {len(data)} instances from {data[0]:.3f} to {data[-1]:.3f}"
            )
            ends = {
                "least": inside[0], "low": low, "notch_low": box.notch[0], "middle": box.median, "notch_high": box.notch[1],
                "high": high, "most": inside[-1],
            }  # fmt: skip
            boxes.append({
                "mapper": box.mapper, **{name: min(float(end), edge) for name, end in ends.items()}, **stop_of(stops, words),
                "beyond": f"{beyond} beyond →" if beyond else "", "edge": edge,
            })  # fmt: skip
            outliers += [
                {"mapper": box.mapper, "value": float(value)}
                for value in data[(data < inside[0]) | (data > inside[-1])]
                if value <= edge
            ]
        y = by_name("mapper", mappers, labelLimit=110)
        x: Spec = {"scale": {"domain": [0, edge], "nice": False}, "title": "relative to blocked"}

        def over(low: str, high: str, x: Spec = x, y: Spec = y) -> Spec:
            return {"y": y, **ranged("x", field_of(low, **x), low, high)}

        def at(name: str, x: Spec = x, y: Spec = y) -> Spec:
            return {"y": y, "x": field_of(name, **x)}

        layers = [
            level("x", field_of("one", **x), 1, strokeDash=[2, 3]),
            layer("point", at("value"), outliers, filled=True, size=7, color=MUTED, opacity=0.7),
            layer("rule", over("least", "most")),
            layer("bar", {**over("low", "high"), "strokeWidth": emphasised(2.5, 1.2)}, height=13, fill=SURFACE, stroke=colour),
            layer("bar", over("notch_low", "notch_high"), height=7, color=colour, opacity=0.4),
            layer("tick", at("middle"), color=INK, thickness=2, height=13),
            labels(at("edge"), "beyond", align="right", dx=-2, fontSize=10.5, stroke=SURFACE, strokeWidth=5),
            labels(at("edge"), "beyond", align="right", dx=-2, fontSize=10.5),
        ]
        drawn.append({"title": title, "height": {"step": 21}, "data": rows(boxes), "layer": layers})
    return Chart(
        "reduction",
        "Messages between nodes of each mapper, relative to blocked",
        "Box plots: the line is the median, the tint in the box its 95 % interval, the box half of all instances, whiskers "
        "what lies within 1.5 times the box, points the rest.",
        drawn, stops, least_px=330, most_columns=2, label_px=110,
    )  # fmt: skip
