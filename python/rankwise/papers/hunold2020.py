"""Hunold et al. (IEEE CLUSTER 2020), section VI-C: reductions over blocked on 432 instances, scores on two large grids.

The paper prints no score of Figures 6 to 8 as a number, so what is held against it are its sentences. Its algorithms run
here anew; the general mappers were measured (hunold2020_peers.csv). Its list of node counts ends in 33 where it says 144
instances: 144 = 8 * 9 * 2 needs eight counts, 10 to 31.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rankwise.blocks import Column, Picture, Table, yes_or_no
from rankwise.mapping import How, map_grid
from rankwise.mapping.dims import balanced_dims
from rankwise.mapping.mapper import steps_of
from rankwise.papers import cited, printed
from rankwise.papers import hunold2020_times as measured
from rankwise.papers.claims import Tally
from rankwise.papers.hunold2020_simgrid import kept, kept_section, whole
from rankwise.papers.hunold2020_times import GRIDS, STENCILS, published_times
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, MUTED, SERIES, SURFACE, Chart, Spec, emphasised, field_of, rows, stop_of
from rankwise.report.layers import by_name, labels, layer, level, ranged
from rankwise.report.reproduction import Reproduction, Section

NODES = tuple(range(10, 32, 3))
RANKS_PER_NODE = (*range(10, 32, 3), 32)
PAPERS_ALGORITHMS = ("hyperplane", "kd-tree", "stencil-strips", "nodecart")
OURS = ("refined",)
GENERAL = ("viem", "kahip", "scotch")
SHOWN = ("blocked", *PAPERS_ALGORITHMS, *GENERAL, *OURS)
COMPARED = SHOWN[1:]
EFFORT_S = 0.01
_WHISKER = 1.5  # at most so many interquartile ranges beyond the box, as Tukey drew them
_MOST = 2.2  # of blocked, that is drawn; what lies beyond is counted at the edge

Scores = dict[str, tuple[int, int]]  # J_sum and J_max by mapper


@record
class Instance(Record):
    """One process grid on so many nodes with one stencil."""

    nodes: int = key("nodes that the grid is placed on")
    ranks_per_node: int = key("ranks on each node")
    grid: tuple[int, ...] = key("ranks along each axis", shape=Sequence[int])
    stencil: str = key("stencil that is mapped")


@record
class Score(Record):
    """What a mapping sends between nodes."""

    j_sum: int = key("messages between nodes, in all")
    j_max: int = key("those of the node that sends most")


def _scores(scores: Scores) -> dict[str, Score]:
    return {mapper: Score(*scores[mapper]) for mapper in SHOWN}


@record
class Scored(Record):
    """An instance with the scores of all mappers and the lower bound of J_sum."""

    instance: Instance = key(inline=True)
    scores: Scores = key("J_sum and J_max of each mapper", write=_scores, shape=Mapping[str, Score], after="bound")
    bound: int = key("messages between nodes that no mapping falls below, in all")


def instances() -> list[Instance]:
    """The 144 grids of section VI-C with each of the three stencils."""
    return [
        Instance(nodes, ppn, balanced_dims(nodes * ppn, ndim), stencil)
        for stencil in STENCILS
        for ndim in (2, 3)
        for nodes in NODES
        for ppn in RANKS_PER_NODE
    ]


def throughput_instances() -> list[Instance]:
    """The two grids of section VI-D with each of the three stencils."""
    return [Instance(nodes, 48, grid, stencil) for nodes, grid in GRIDS.items() for stencil in STENCILS]


@cache
def peers() -> dict[Instance, Scores]:
    """What the general mappers reach."""
    found: dict[Instance, Scores] = {}
    for row in printed("hunold2020_peers"):
        instance = Instance(row["nodes"], row["ranks_per_node"], row["grid"], row["stencil"])
        found.setdefault(instance, {})[row["mapper"]] = (row["j_sum"], row["j_max"])
    return found


def scored(instance: Instance, effort_s: float = EFFORT_S) -> Scored:
    """Run the paper's algorithms and ours on an instance, and look up the general mappers."""
    mappings = map_grid(
        instance.grid,
        [instance.ranks_per_node] * instance.nodes,
        instance.stencil,
        algorithms=["blocked", *PAPERS_ALGORITHMS, *OURS],
        how=How(keep_maps=False, steps=steps_of(effort_s)),
    )
    own = {result.algorithm: (result.j_sum, result.j_max) for result in mappings.results}
    return Scored(instance, own | peers()[instance], mappings.bound)


@record
class Distribution(Record):
    """Reductions over blocked of one mapper with one stencil: the median with its 95 % notch, and the quartiles."""

    stencil: str = key("stencil of the instances")
    objective: str = key("what is reduced: j_sum or j_max")
    mapper: str = key("mapper that reduces it")
    reductions: tuple[float, ...]
    median: float = key("median of the objective relative to blocked")
    notch: tuple[float, float] = key("95 % interval of the median")
    quartiles: tuple[float, float] = key("lower and upper quartile of the objective relative to blocked")
    instances = computed("instances that the distribution is of", int, lambda of: len(of.reductions))

    @staticmethod
    def of(stencil: str, objective: str, mapper: str, reductions: Sequence[float]) -> Distribution:
        low, median, high = (float(value) for value in np.percentile(reductions, [25, 50, 75]))
        # The notch of a box plot (McGill, Tukey, Larsen 1978): a Gaussian approximation from the quartiles.
        half = 1.57 * (high - low) / math.sqrt(len(reductions))
        return Distribution(stencil, objective, mapper, tuple(reductions), median, (median - half, median + half), (low, high))

    def overlaps(self, other: Distribution) -> bool:
        return self.notch[0] <= other.notch[1] and other.notch[0] <= self.notch[1]

    def clearly_below(self, other: Distribution) -> bool:
        return self.notch[1] < other.notch[0]


def distributions(results: Sequence[Scored]) -> dict[tuple[str, str, str], Distribution]:
    """Figure 8: for each stencil, objective and mapper the reductions over blocked.

    An instance in which blocked sends nothing has no reduction and is left out.
    """
    found = {}
    for stencil in STENCILS:
        rows = [row for row in results if row.instance.stencil == stencil]
        for index, objective in enumerate(("j_sum", "j_max")):
            for mapper in COMPARED:
                values = [
                    row.scores[mapper][index] / row.scores["blocked"][index] for row in rows if row.scores["blocked"][index] > 0
                ]
                found[stencil, objective, mapper] = Distribution.of(stencil, objective, mapper, values)
    return found


@record
class Claim(Record):
    """A sentence of the paper, held against what was computed."""

    name: str = key("short name of the sentence, the same in all versions", name="key")
    section: str = key("section of the paper that says it")
    says: str = key("what the paper says")
    holds: bool = key("whether that is so here")
    numbers: str = key("figures of ours that it is about, in words")


def claims(results: Sequence[Scored], large: Sequence[Scored]) -> list[Claim]:
    """Hold the paper's sentences about scores against what was computed."""
    boxes = distributions(results)
    by_grid = {(row.instance.nodes, row.instance.stencil): row.scores for row in large}
    near, hops, component = STENCILS

    def box(stencil: str, mapper: str) -> Distribution:
        return boxes[stencil, "j_sum", mapper]

    def notches(stencil: str, mappers: Sequence[str]) -> str:
        return ", ".join(
            f"{mapper} {box(stencil, mapper).median:.3f} [{box(stencil, mapper).notch[0]:.3f}, "
            f"{box(stencil, mapper).notch[1]:.3f}]"
            for mapper in mappers
        )

    def pairs(nodes: int, stencil: str, mappers: Sequence[str]) -> str:
        scores = by_grid[nodes, stencil]
        return ", ".join(f"{mapper} {scores[mapper][0]}/{scores[mapper][1]}" for mapper in mappers)

    def each(mappers: Sequence[str]) -> str:
        return "; ".join(f"{stencil}: {notches(stencil, mappers)}" for stencil in STENCILS)

    near_50, hops_50, component_100 = by_grid[50, near], by_grid[50, hops], by_grid[100, component]
    sums, peaks = (component_100["viem"][i] / component_100["stencil-strips"][i] for i in (0, 1))
    strips, viem = "stencil-strips", "viem"
    return [
        *(
            Claim(
                f"{mapper}-beats-nodecart", "VI-C",
                f"The median reduction of {mapper} is better than Nodecart's in all patterns (notches apart).",
                all(box(stencil, mapper).clearly_below(box(stencil, "nodecart")) for stencil in STENCILS),
                each((mapper, "nodecart")),
            )
            for mapper in ("hyperplane", strips)
        ),
        Claim(
            "kd-tree-like-nodecart-with-hops", "VI-C",
            "Only with hops there is no statistical difference between k-d tree and Nodecart.",
            [box(stencil, "kd-tree").overlaps(box(stencil, "nodecart")) for stencil in STENCILS] == [False, True, False],
            each(("kd-tree", "nodecart")),
        ),
        *(
            Claim(
                f"strips-like-viem-{stencil}", "VI-C",
                f"With {stencil} there is no statistical difference in the medians of stencil strips and VieM.",
                box(stencil, strips).overlaps(box(stencil, viem)), notches(stencil, (strips, viem)),
            )
            for stencil in (near, component)
        ),
        *(
            Claim(
                f"two-edges-a-node-{nodes}", "VI-D",
                f"Component, N = {nodes}: k-d tree and stencil strips leave each node two outgoing edges, and only they.",
                all(by_grid[nodes, component][mapper][1] == 2 for mapper in ("kd-tree", strips))
                and all(by_grid[nodes, component][mapper][1] > 2 for mapper in ("hyperplane", "nodecart", viem)),
                pairs(nodes, component, COMPARED),
            )
            for nodes in GRIDS
        ),
        Claim(
            "all-beat-nodecart-50", "VI-D",
            "Nearest neighbour, N = 50: all three algorithms beat Nodecart in J_sum and J_max.",
            all(near_50[mapper][i] < near_50["nodecart"][i] for mapper in PAPERS_ALGORITHMS[:3] for i in (0, 1)),
            pairs(50, near, PAPERS_ALGORITHMS),
        ),
        Claim(
            "strips-beat-viem-50", "VI-D",
            "Nearest neighbour, N = 50: stencil strips outperforms VieM (judged by J_sum and J_max).",
            near_50[strips][0] < near_50[viem][0] and near_50[strips][1] <= near_50[viem][1], pairs(50, near, (strips, viem)),
        ),
        Claim(
            "viem-wins-hops-50", "VI-D",
            "With hops, N = 50: VieM outperforms the presented algorithms (judged by J_sum).",
            all(hops_50[viem][0] < hops_50[mapper][0] for mapper in PAPERS_ALGORITHMS[:3]),
            pairs(50, hops, (*PAPERS_ALGORITHMS[:3], viem)),
        ),
        Claim(
            "viem-factors-100", "VI-D",
            "Component, N = 100: VieM has 1.6 times the J_sum and 8.5 times the J_max of the optimum.",
            abs(sums - 1.6) < 0.05 and abs(peaks - 8.5) < 0.05,
            f"the public VieM: {sums:.2f} times and {peaks:.1f} times",
        ),
    ]  # fmt: skip


@record
class Figures(Record):
    """Mapping ranks to nodes for stencils: the paper's sentences, scores and times beside ours."""

    claims: Sequence[Claim] = key("sentences of the paper about scores")
    boxes: Sequence[Distribution] = key("Figure 8: by stencil, objective and mapper, relative to blocked", name="reduction")
    results: Sequence[Scored] = key("the instances of Figure 8", name="instances")
    large: Sequence[Scored] = key("the two throughput grids of Figures 6 and 7", name="throughput_grids")
    lines: Sequence[measured.Line] = key("the law of J_max by machine")
    up_to: Sequence[measured.UpTo] = key("speed-ups that the text prints", name="speedups_said")
    instantiation_s: Mapping[str, float] = key("mean time of computing a mapping, by mapper")
    kept = computed("simulated times that the package keeps", int, lambda _: len(kept()))
    campaign = computed("simulated times that the whole campaign has", int, lambda _: whole())


def reproduce() -> Reproduction:
    """Compute everything anew (some seconds) and put it beside the paper's sentences."""
    results = [scored(instance) for instance in instances()]
    large = [scored(instance) for instance in throughput_instances()]
    boxes = distributions(results)
    judged = claims(results, large)
    times, seconds = published_times(), measured.instantiation()
    below = sum(
        row.scores["refined"][0] <= min(row.scores[mapper][0] for mapper in SHOWN if mapper != "refined") for row in results
    )
    grids = len({(row.instance.grid, row.instance.nodes) for row in results})
    answer = [
        f"{Tally(judged)} sentences of the paper about scores hold.",
        f"refined (about {EFFORT_S * 1e3:.0f} ms a grid) sends no more between nodes than any other mapper, the general "
        f"ones included, in {below} of {len(results)} instances.",
    ]
    return Reproduction(
        paper="hunold2020",
        title="hunold2020: mapping ranks to nodes for stencils",
        answer=answer,
        sections=[
            Section(
                "claims",
                "The paper's sentences",
                ["Each sentence about scores, and what the same algorithms give here. Pairs are J_sum/J_max."],
                [Table(_CLAIMS, judged, name="claims", caption="Sentences of the paper about scores.")],
            ),
            Section(
                "reduction",
                "Reduction over blocked (Figure 8)",
                [
                    f"{grids} grids with each stencil; lower is better. The box spans the quartiles, its notch the 95 % "
                    "interval of the median. VieM, KaHIP and Scotch are general mappers, measured; refined is ours.",
                ],
                [Picture("figure8", "Messages between nodes relative to blocked.", lambda: _draw(boxes)), _box_table(boxes)],
            ),
            Section(
                "bound",
                "How near to what is possible",
                ["The sum of J_sum over the grids of each kind, relative to the sum of the lower bounds."],
                [_bound_table(results)],
            ),
            Section(
                "scores",
                "Scores on the two throughput grids (Figures 6 and 7)",
                ["J_sum and J_max on 50x48 (N = 50) and 75x64 (N = 100), 48 ranks a node."],
                [_score_table(large)],
            ),
            *measured.sections(times, seconds),
            kept_section(),
        ],
        figures=Figures(judged, list(boxes.values()), results, large, *measured.figures(times, seconds)),
        sources=[
            cited("hunold2020"),
            "Readings of its pseudo-code: docs/mapping.md. The public VieM, KaHIP 3 and Scotch 7.0.3, measured.",
        ],
        next_command="rankwise map --grid 50x48 --nodes 50 --ppn 48 --effort 1s",
    )


_CLAIMS: Sequence[Column[Claim]] = (
    Column(None, "name", key="claim"),
    Column("section", "section"),
    Column("the paper says", "says"),
    Column("holds", "holds", yes_or_no),
    Column("here", "numbers"),
)
_BOXES: Sequence[Column[Distribution]] = (
    Column(None, "stencil"),
    Column(None, "objective"),
    Column(None, "mapper"),
    Column(None, "median"),
    Column(None, lambda box: box.notch[0], key="notch_low"),
    Column(None, lambda box: box.notch[1], key="notch_high"),
    Column(None, lambda box: box.quartiles[0], key="quartile_low"),
    Column(None, lambda box: box.quartiles[1], key="quartile_high"),
)


def _box_table(boxes: Mapping[tuple[str, str, str], Distribution]) -> Table[Distribution]:
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


def _bound_table(results: Sequence[Scored]) -> Table[str]:
    def of(stencil: str, ndim: int) -> Column[str]:
        group = [row for row in results if row.instance.stencil == stencil and len(row.instance.grid) == ndim]
        bound = sum(row.bound for row in group)
        return Column(
            f"{stencil} {ndim}-D", lambda mapper: sum(row.scores[mapper][0] for row in group) / bound, "{:.3f}".format,
            f"{stencil}_{ndim}d",
        )  # fmt: skip

    columns: list[Column[str]] = [Column("mapper", str, key="mapper")]
    columns += [of(stencil, ndim) for stencil in STENCILS for ndim in (2, 3)]
    return Table(columns, SHOWN, name="bound", caption="J_sum over the lower bound, summed over 72 grids each.")


def _score_table(large: Sequence[Scored]) -> Table[Any]:
    def of(row: Scored) -> Column[str]:
        head = f"N={row.instance.nodes}, {row.instance.stencil}"
        return Column(head, lambda mapper: "{}/{}".format(*row.scores[mapper]) if mapper in SHOWN else row.bound)

    columns: list[Column[tuple[Scored, str]]] = [
        Column(None, lambda found: found[0].instance.nodes, key="nodes"),
        Column(None, lambda found: "x".join(map(str, found[0].instance.grid)), key="grid"),
        Column(None, lambda found: found[0].instance.stencil, key="stencil"),
        Column(None, lambda found: found[1], key="mapper"),
        Column(None, lambda found: found[0].scores[found[1]][0], key="j_sum"),
        Column(None, lambda found: found[0].scores[found[1]][1], key="j_max"),
        Column(None, lambda found: found[0].bound, key="j_sum_bound"),
    ]
    readers = Table([Column("mapper", str), *map(of, large)], (*SHOWN, "lower bound"))
    every = [(row, mapper) for row in large for mapper in SHOWN]
    return Table(columns, every, name="scores", caption="J_sum/J_max on the throughput grids.", readers=readers)


def _draw(boxes: Mapping[tuple[str, str, str], Distribution]) -> Chart:
    return reduction_picture({
        f"{stencil}, {objective.replace('j', 'J')}": [boxes[stencil, objective, mapper] for mapper in COMPARED]
        for stencil in STENCILS
        for objective in ("j_sum", "j_max")
    })  # fmt: skip


def reduction_picture(panels: Mapping[str, Sequence[Distribution]]) -> Chart:
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
