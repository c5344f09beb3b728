"""Stencils on grids drawn at random, and peers' maps of them: what 'mapping_quality.py --families' compares."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from graph_quality import PEERS, Rows, write_files

from rankwise.mapping import How, map_grid
from rankwise.mapping.problem import problem_of

FAMILIES = ("even", "diagonal", "skew", "fcc", "short and long", "moore", "weighted", "nearest-neighbor", "hops")
# Beyond these a peer takes minutes, or more memory than there is.
MOST_RANKS = {"KaHIP": 3_000, "Scotch": 30_000, "KaMinPar": 30_000, "METIS": 100_000}


@dataclass(frozen=True)
class Drawn:
    """A problem; ``offsets`` hold each with its opposite."""

    family: str
    grid: list[int]
    sizes: list[int]
    offsets: list[tuple[int, ...]]
    weights: list[int]
    periodic: list[bool]

    def __str__(self) -> str:
        most = max(self.sizes)
        around = "".join("p" if flag else "o" for flag in self.periodic)
        return f"{self.family}: {'x'.join(map(str, self.grid))} ({around}) on {len(self.sizes)} of {most}, {self.offsets[::2]}"


def drawn(seed: int, number: int, most_ranks: int) -> Drawn:
    """Draw a problem: 1 to 6 axes, 100 to most_ranks ranks, each half of the
    time periodic axes and unequal nodes at one in four."""
    rng = np.random.default_rng([seed, number])
    family = FAMILIES[number % len(FAMILIES)]
    least, most = (3, 3) if family == "fcc" else (2, 2) if family == "skew" else (2, 4) if family == "diagonal" else (1, 6)
    axes = min(int(rng.integers(least, most + 1)), 3 if family == "moore" else 6)
    per_node = int(rng.choice([12, 16, 24, 25, 32, 36, 48, 60, 64, 96, 128]))
    ranks = 10 ** rng.uniform(2, math.log10(most_ranks))
    side = ranks ** (1 / axes)
    grid = [max(2, round(side * rng.uniform(0.6, 1.5))) for _ in range(axes)]
    cells = math.prod(grid)
    nodes = max(2, cells // per_node)
    sizes = [cells // nodes + (node < cells % nodes) for node in range(nodes)]
    if rng.random() < 0.25:
        for node in range(0, nodes - 1, 2):
            moved = int(rng.integers(0, min(sizes[node + 1], sizes[node]) // 3 + 1))
            sizes[node], sizes[node + 1] = sizes[node] + moved, sizes[node + 1] - moved
    periodic = [bool(flag) for flag in rng.integers(0, 2, axes)] if rng.random() < 0.5 else [False] * axes
    half = list(dict.fromkeys(_half(family, axes, rng)))
    weights = [int(rng.integers(1, 9)) if family == "weighted" else 1 for _ in half]
    both = [offset for one in half for offset in (one, tuple(-c for c in one))]
    return Drawn(family, grid, sizes, both, [weight for weight in weights for _ in range(2)], periodic)


def tiny(seed: int, number: int) -> Drawn:
    """Draw a problem whose optimum can be proved: a family's stencil on up to 16 ranks and 2 to 4 nodes of any sizes."""
    problem = drawn(seed, number, 200)
    rng = np.random.default_rng([seed, number, 1])
    axes = len(problem.grid)
    grid = [1] * axes
    while math.prod(grid) < 4 or rng.random() < 0.7:
        axis = int(rng.integers(axes))
        if math.prod(grid) // grid[axis] * (grid[axis] + 1) > 16:
            break
        grid[axis] += 1
    cells = math.prod(grid)
    cuts = sorted(rng.choice(np.arange(1, cells), size=int(rng.integers(1, min(4, cells))), replace=False).tolist())
    sizes = [end - begin for begin, end in zip([0, *cuts], [*cuts, cells], strict=True)]
    return Drawn(problem.family, grid, sizes, problem.offsets, problem.weights, problem.periodic)


def _half(family: str, axes: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """One offset of each pair."""
    unit = [tuple(int(i == axis) for i in range(axes)) for axis in range(axes)]

    def times(factor: int) -> list[tuple[int, ...]]:
        return [tuple(factor * c for c in offset) for offset in unit]

    if family == "even":
        return times(int(rng.integers(2, 4)))
    if family == "diagonal":
        ones = (1,) * axes
        return [ones] if rng.random() < 0.5 else [ones, (1,) * (axes - 1) + (-1,)]
    if family == "skew":
        a, b = (int(c) for c in rng.integers(1, 4, 2))
        return [(a, b), (-b, a + int(rng.integers(0, 2)))]
    if family == "fcc":
        return [(1, 1, 0), (0, 1, 1), (1, 0, 1)]
    if family == "short and long":
        return unit + times(int(rng.integers(4, 10)))
    if family == "hops":
        return unit + [tuple(factor * c for c in unit[0]) for factor in (2, 3)]
    if family == "moore":
        return [offset for offset in itertools.product((-1, 0, 1), repeat=axes) if offset > (0,) * axes]
    return unit


def peers_maps(problem: Drawn, seed: int) -> Iterator[tuple[str, int, int]]:
    """Yield each installed peer's J_sum and J_max, the better of what it is asked for, made exact by cheap moves."""
    given = problem_of(problem.grid, problem.sizes, problem.offsets, problem.periodic, problem.weights)
    try:
        first, others, both = given.core.stencil_graph()
    except ValueError:  # more edges than a graph of ours holds, and no peer would end in the time
        return
    source = np.repeat(np.arange(len(first) - 1), np.diff(first))
    one_way = source < others
    graph = Rows(len(first) - 1, source[one_way], others[one_way].astype(np.int64), both[one_way].astype(np.int64))
    with tempfile.TemporaryDirectory() as folder:
        write_files(graph, Path(folder))
        for name, peer in PEERS.items():
            if graph.vertices > MOST_RANKS[name]:
                continue
            try:
                maps = list(peer(graph, len(problem.sizes), seed, Path(folder)))
            except ImportError:
                continue
            scores = []
            for parts in maps:
                exact = given.core.balance_map(_by_size(parts, problem.sizes))
                scores.append(given.core.score(exact))
            if scores:
                yield name, *min(scores)


def _by_size(parts: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Number the parts so that the largest is the largest node."""
    held = np.bincount(parts, minlength=len(sizes))
    node_of_part = np.empty(len(sizes), dtype=np.int32)
    node_of_part[np.argsort(-held, kind="stable")] = np.argsort(-np.array(sizes), kind="stable")
    return node_of_part[parts]


def own_map(problem: Drawn, effort_s: float) -> tuple[int, int, int]:
    """Return J_sum and J_max of auto, ended by the clock, and the bound."""
    found = map_grid(
        problem.grid, problem.sizes, problem.offsets, problem.periodic, ["auto"],
        how=How(keep_maps=False, weights=problem.weights,
        effort_s=effort_s, sharp=True),
    )  # fmt: skip
    return found.best.j_sum, found.best.j_max, found.bound
