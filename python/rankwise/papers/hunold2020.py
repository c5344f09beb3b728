"""Hunold et al. (IEEE CLUSTER 2020), section VI-C: reductions over blocked on 432 instances, scores on two large grids.

The paper prints no score of Figures 6 to 8 as a number, so what is held against it are its sentences. Its algorithms run
here anew; the general mappers were measured (hunold2020_peers.csv). Its list of node counts ends in 33 where it says 144
instances: 144 = 8 * 9 * 2 needs eight counts, 10 to 31.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from rankwise.mapping import How, map_grid
from rankwise.mapping.dims import balanced_dims
from rankwise.mapping.mapper import steps_of
from rankwise.papers import hunold2020_measured as measured
from rankwise.papers.hunold2020_simgrid import kept, kept_section, whole
from rankwise.papers.hunold2020_times import published_times
from rankwise.report.chart import Chart
from rankwise.report.reproduction import Cell, Picture, Reproduction, Section, Table

NODES = tuple(range(10, 32, 3))
RANKS_PER_NODE = (*range(10, 32, 3), 32)
STENCILS = ("nearest-neighbor", "nearest-neighbor-with-hops", "component")
PAPERS_ALGORITHMS = ("hyperplane", "kd-tree", "stencil-strips", "nodecart")
OURS = ("refined",)
GENERAL = ("viem", "kahip", "scotch")
SHOWN = ("blocked", *PAPERS_ALGORITHMS, *GENERAL, *OURS)
COMPARED = SHOWN[1:]
THROUGHPUT_GRIDS = {50: (50, 48), 100: (75, 64)}  # section VI-D, figures 6 and 7
EFFORT_S = 0.01

Scores = dict[str, tuple[int, int]]  # J_sum and J_max by mapper


@dataclass(frozen=True)
class Instance:
    """One process grid on so many nodes with one stencil."""

    nodes: int
    ranks_per_node: int
    grid: tuple[int, ...]
    stencil: str


@dataclass(frozen=True)
class Scored:
    """An instance with the scores of all mappers and the lower bound of J_sum."""

    instance: Instance
    scores: Scores
    bound: int


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
    return [Instance(nodes, 48, grid, stencil) for nodes, grid in THROUGHPUT_GRIDS.items() for stencil in STENCILS]


@cache
def peers() -> dict[Instance, Scores]:
    """What the general mappers reach."""
    text = resources.files("rankwise.papers").joinpath("hunold2020_peers.csv").read_text(encoding="utf-8")
    found: dict[Instance, Scores] = {}
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        grid = tuple(int(size) for size in row["grid"].split("x"))
        instance = Instance(int(row["nodes"]), int(row["ranks_per_node"]), grid, row["stencil"])
        found.setdefault(instance, {})[row["mapper"]] = (int(row["j_sum"]), int(row["j_max"]))
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


@dataclass(frozen=True)
class Distribution:
    """Reductions over blocked of one mapper with one stencil: the median with its 95 % notch, and the quartiles."""

    stencil: str
    objective: str  # j_sum or j_max
    mapper: str
    reductions: tuple[float, ...]
    median: float
    notch: tuple[float, float]
    quartiles: tuple[float, float]

    @staticmethod
    def of(stencil: str, objective: str, mapper: str, reductions: Sequence[float]) -> Distribution:
        import numpy as np

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


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it holds here, and the numbers."""

    key: str
    section: str
    says: str
    holds: bool
    numbers: str


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

    found = []
    for mapper in ("hyperplane", "stencil-strips"):
        found.append(
            Claim(
                f"{mapper}-beats-nodecart",
                "VI-C",
                f"The median reduction of {mapper} is better than Nodecart's in all patterns (notches apart).",
                all(box(stencil, mapper).clearly_below(box(stencil, "nodecart")) for stencil in STENCILS),
                "; ".join(f"{stencil}: {notches(stencil, (mapper, 'nodecart'))}" for stencil in STENCILS),
            )
        )
    found.append(
        Claim(
            "kd-tree-like-nodecart-with-hops",
            "VI-C",
            "Only with hops there is no statistical difference between k-d tree and Nodecart.",
            [box(stencil, "kd-tree").overlaps(box(stencil, "nodecart")) for stencil in STENCILS] == [False, True, False],
            "; ".join(f"{stencil}: {notches(stencil, ('kd-tree', 'nodecart'))}" for stencil in STENCILS),
        )
    )
    for stencil in (near, component):
        found.append(
            Claim(
                f"strips-like-viem-{stencil}",
                "VI-C",
                f"With {stencil} there is no statistical difference in the medians of stencil strips and VieM.",
                box(stencil, "stencil-strips").overlaps(box(stencil, "viem")),
                notches(stencil, ("stencil-strips", "viem")),
            )
        )
    for nodes in THROUGHPUT_GRIDS:
        scores = by_grid[nodes, component]
        found.append(
            Claim(
                f"two-edges-a-node-{nodes}",
                "VI-D",
                f"Component, N = {nodes}: k-d tree and stencil strips leave each node two outgoing edges, and only they.",
                all(scores[mapper][1] == 2 for mapper in ("kd-tree", "stencil-strips"))
                and all(scores[mapper][1] > 2 for mapper in ("hyperplane", "nodecart", "viem")),
                pairs(nodes, component, COMPARED),
            )
        )
    scores = by_grid[50, near]
    found.append(
        Claim(
            "all-beat-nodecart-50",
            "VI-D",
            "Nearest neighbour, N = 50: all three algorithms beat Nodecart in J_sum and J_max.",
            all(
                scores[mapper][0] < scores["nodecart"][0] and scores[mapper][1] < scores["nodecart"][1]
                for mapper in PAPERS_ALGORITHMS[:3]
            ),
            pairs(50, near, PAPERS_ALGORITHMS),
        )
    )
    found.append(
        Claim(
            "strips-beat-viem-50",
            "VI-D",
            "Nearest neighbour, N = 50: stencil strips outperforms VieM (judged by J_sum and J_max).",
            scores["stencil-strips"][0] < scores["viem"][0] and scores["stencil-strips"][1] <= scores["viem"][1],
            pairs(50, near, ("stencil-strips", "viem")),
        )
    )
    scores = by_grid[50, hops]
    found.append(
        Claim(
            "viem-wins-hops-50",
            "VI-D",
            "With hops, N = 50: VieM outperforms the presented algorithms (judged by J_sum).",
            all(scores["viem"][0] < scores[mapper][0] for mapper in PAPERS_ALGORITHMS[:3]),
            pairs(50, hops, (*PAPERS_ALGORITHMS[:3], "viem")),
        )
    )
    scores = by_grid[100, component]
    sums, peaks = (scores["viem"][i] / scores["stencil-strips"][i] for i in (0, 1))
    found.append(
        Claim(
            "viem-factors-100",
            "VI-D",
            "Component, N = 100: VieM has 1.6 times the J_sum and 8.5 times the J_max of the optimum.",
            abs(sums - 1.6) < 0.05 and abs(peaks - 8.5) < 0.05,
            f"the public VieM: {sums:.2f} times and {peaks:.1f} times",
        )
    )
    return found


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
    held = sum(claim.holds for claim in judged)
    grids = len({(row.instance.grid, row.instance.nodes) for row in results})
    answer = [
        f"{held} of {len(judged)} sentences of the paper about scores hold.",
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
                [_claims_table(judged)],
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
        record={
            "claims": [vars(claim) for claim in judged],
            "reduction": [
                {
                    "stencil": box.stencil,
                    "objective": box.objective,
                    "mapper": box.mapper,
                    "median": box.median,
                    "notch": list(box.notch),
                    "quartiles": list(box.quartiles),
                    "instances": len(box.reductions),
                }
                for box in boxes.values()
            ],
            "instances": [_instance_record(row) for row in results],
            "throughput_grids": [_instance_record(row) for row in large],
            **measured.record(times, seconds),
            "kept": len(kept()),
            "campaign": whole(),
        },
        sources=[
            "S. Hunold, K. von Kirchbach, M. Lehr, C. Schulz, J. L. Traeff: Efficient Process-to-Node Mapping Algorithms for "
            "Stencil Computations, IEEE CLUSTER 2020",
            "Readings of its pseudo-code: docs/mapping.md. The public VieM, KaHIP 3 and Scotch 7.0.3, measured.",
        ],
        next_command="rankwise map --grid 50x48 --nodes 50 --ppn 48 --effort 1s",
    )


def _instance_record(row: Scored) -> dict[str, Any]:
    return {
        "nodes": row.instance.nodes,
        "ranks_per_node": row.instance.ranks_per_node,
        "grid": list(row.instance.grid),
        "stencil": row.instance.stencil,
        "bound": row.bound,
        "scores": {mapper: {"j_sum": row.scores[mapper][0], "j_max": row.scores[mapper][1]} for mapper in SHOWN},
    }


def _claims_table(judged: Sequence[Claim]) -> Table:
    header = ("claim", "section", "says", "holds", "numbers")
    rows: list[list[Cell]] = [[claim.key, claim.section, claim.says, claim.holds, claim.numbers] for claim in judged]
    shown = [["section", "the paper says", "holds", "here"]]
    shown += [[claim.section, claim.says, "yes" if claim.holds else "no", claim.numbers] for claim in judged]
    return Table("claims", "Sentences of the paper about scores.", header, rows, shown)


def _box_table(boxes: Mapping[tuple[str, str, str], Distribution]) -> Table:
    header = ("stencil", "objective", "mapper", "median", "notch_low", "notch_high", "quartile_low", "quartile_high")
    rows: list[list[Cell]] = [
        [box.stencil, box.objective, box.mapper, box.median, *box.notch, *box.quartiles] for box in boxes.values()
    ]
    shown = [["mapper", *(f"{stencil}, {objective}" for stencil in STENCILS for objective in ("J_sum", "J_max"))]]
    for mapper in COMPARED:
        cells = [boxes[stencil, objective, mapper] for stencil in STENCILS for objective in ("j_sum", "j_max")]
        shown.append([mapper, *(f"{box.median:.3f} ± {box.notch[1] - box.median:.3f}" for box in cells)])
    return Table("reduction", "Median reduction over blocked, with half the notch.", header, rows, shown)


def _bound_table(results: Sequence[Scored]) -> Table:
    kinds = [(stencil, ndim) for stencil in STENCILS for ndim in (2, 3)]
    rows: list[list[Cell]] = []
    for mapper in SHOWN:
        ratios = []
        for stencil, ndim in kinds:
            group = [row for row in results if row.instance.stencil == stencil and len(row.instance.grid) == ndim]
            ratios.append(sum(row.scores[mapper][0] for row in group) / sum(row.bound for row in group))
        rows.append([mapper, *ratios])
    header = ["mapper", *(f"{stencil}_{ndim}d" for stencil, ndim in kinds)]
    shown = [["mapper", *(f"{stencil} {ndim}-D" for stencil, ndim in kinds)]]
    shown += [[str(row[0]), *(f"{value:.3f}" for value in row[1:])] for row in rows]
    return Table("bound", "J_sum over the lower bound, summed over 72 grids each.", header, rows, shown)


def _score_table(large: Sequence[Scored]) -> Table:
    header = ("nodes", "grid", "stencil", "mapper", "j_sum", "j_max", "j_sum_bound")
    rows: list[list[Cell]] = []
    for row in large:
        at = row.instance
        for mapper in SHOWN:
            rows.append([at.nodes, "x".join(map(str, at.grid)), at.stencil, mapper, *row.scores[mapper], row.bound])
    shown = [["mapper", *(f"N={row.instance.nodes}, {row.instance.stencil}" for row in large)]]
    shown += [[mapper, *("{}/{}".format(*row.scores[mapper]) for row in large)] for mapper in SHOWN]
    shown.append(["lower bound", *(str(row.bound) for row in large)])
    return Table("scores", "J_sum/J_max on the throughput grids.", header, rows, shown)


def _draw(boxes: Mapping[tuple[str, str, str], Distribution]) -> Chart:
    from rankwise.report.boxes import reduction_picture

    columns: dict[str, Callable[[str], Sequence[float]]] = {
        objective: (lambda key: lambda mapper: boxes[key[0], key[1], mapper].reductions)((stencil, name))
        for stencil in STENCILS
        for name, objective in (("j_sum", f"{stencil}, J_sum"), ("j_max", f"{stencil}, J_max"))
    }
    return reduction_picture({title: {mapper: of(mapper) for mapper in COMPARED} for title, of in columns.items()})
