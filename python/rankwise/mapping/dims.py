"""The process grid for a mesh: how many ranks along each axis, chosen together with the mapping.

A mesh cut into blocks sends a halo over each face of a block, so the shape of the grid sets how much every rank sends,
and along which axes; the mapping then hides what it can inside the nodes. The best grid for one is not the best for the
other, so both are chosen at once: each grid's lower bound (weighted by the bytes of its halos) says whether it is worth
mapping at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rankwise.errors import InputError
from rankwise.factors import factorisations
from rankwise.mapping.problem import Problem, offsets_of, problem_of
from rankwise.progress import SILENT, Meter
from rankwise.records import Record, key, record

_MOST_GRIDS = 50_000
_FINALISTS = 8


@record
class GridChoice(Record):
    """A process grid for a mesh: the largest block of mesh cells, and what the best mapping found sends.

    ``weights`` are the mesh cells in each offset's halo; ``j_sum``, ``j_max`` and ``bound`` count such cells between
    nodes, ``total`` all of them; ``imbalance`` is the largest block over the mean one, less 1.
    """

    grid: tuple[int, ...] = key("ranks along each axis")
    block: tuple[int, ...] = key("mesh cells of the largest block along each axis")
    weights: tuple[int, ...] = key("cells in the halo of each offset")
    bound: int = key("what no placement falls below")
    total: int = key("cells that are sent, in all")
    imbalance: float = key("largest block by the mean minus 1")
    j_sum: int | None = key("cells that cross nodes, in all", default=None)
    j_max: int | None = key("cells of the node that sends most", default=None)


@record
class GridChoices(Record):
    """All grids that were mapped, the best first, how many were ruled out by their bound alone, how many have blocks thinner
    than the halo, and the most cubic one of the others, which is usual."""

    mesh: tuple[int, ...] = key("cells of the mesh along each axis")
    halo: int = key("layers of the halo")
    candidates: tuple[GridChoice, ...] = key("all that were mapped, the best first")
    ruled_out: int = key("grids that their bound alone ruled out")
    too_thin: int = key("grids with blocks thinner than the halo")
    usual: GridChoice = key("the most cubic of the grids")

    @property
    def best(self) -> GridChoice:
        return self.candidates[0]


def count_factorisations(ranks: int, ndim: int) -> int:
    """How many ordered products of so many factors there are."""
    count, rest, prime = 1, ranks, 2
    while rest > 1:
        if prime * prime > rest:
            prime = rest
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        count *= math.comb(power + ndim - 1, ndim - 1)
        prime += 1
    return count


@dataclass(frozen=True)
class MeshQuestion:
    """A mesh (cells an axis), the ranks of each node, who is whose neighbour, axes that wrap around (None: none), and how many
    cells a halo is deep."""

    mesh: Sequence[int]
    node_sizes: Sequence[int]
    stencil: str | Sequence[Sequence[int]]
    periodic: Sequence[bool] | None = None
    halo: int = 1


def choose_grid(
    asked: MeshQuestion, steps: int = 1_800_000, objective: str = "j_sum", seed: int = 1, bar: Meter = SILENT
) -> GridChoices:
    """Choose the process grid for a mesh together with its mapping by refined.

    A message along an offset holds, along each axis, ``halo`` mesh cells where the offset leads somewhere and the whole
    block where it does not; a stencil's own weights multiply that. Blocks must be as thick as that: a deeper halo would reach
    beyond the neighbour. The grid with the fewest such cells between nodes is best, of equals the one that sends least in all,
    then the most balanced one. Raises InputError.
    """
    mesh, halo = asked.mesh, asked.halo
    ranks, ndim = sum(asked.node_sizes), len(mesh)
    if halo < 1:
        raise InputError(f"--halo {halo} is too small: it must be at least 1")
    if ranks > math.prod(mesh):
        raise InputError(f"--mesh has {math.prod(mesh)} cells for {ranks} ranks: give at least one cell a rank")
    if (ways := count_factorisations(ranks, ndim)) > _MOST_GRIDS:
        raise InputError(f"{ranks} ranks make {ways} grids of {ndim} axes, too many to try: name one with --grid and --weights")
    possible = [grid for grid in factorisations(ranks, ndim) if _thinnest(grid, mesh) >= 1]
    if not possible:
        raise InputError(f"no grid of {ranks} ranks has at most one rank a cell along each axis of --mesh")
    offsets, _ = offsets_of(asked.stencil, ndim)
    axes = [any(offset[axis] for offset in offsets) for axis in range(ndim)]  # along which any message goes
    grids = [grid for grid in possible if _thinnest(grid, mesh, axes) >= halo]
    if not grids:
        most = max(_thinnest(grid, mesh, axes) for grid in possible)
        raise InputError(
            f"--halo {halo} is deeper than the blocks of every grid of {ranks} ranks: give at most {most}, a larger --mesh or "
            "fewer --ranks"
        )
    choices = [_unmapped(grid, asked) for grid in grids]
    even = min(grids, key=lambda grid: (max(grid) - min(grid), list(grid) != sorted(grid, reverse=True), grid))
    choices.sort(key=lambda choice: (choice[0].bound, choice[0].total, choice[0].imbalance, choice[0].grid))

    def value(choice: GridChoice) -> tuple[float, ...]:
        assert choice.j_sum is not None and choice.j_max is not None
        score = (choice.j_max, choice.j_sum) if objective == "j_max" else (choice.j_sum, choice.j_max)
        return (*score[:1], choice.total, choice.imbalance, *score[1:])

    def mapped(choice: GridChoice, problem: Problem, effort: int) -> GridChoice:
        nodes, *_ = problem.core.map_grid("refined", effort, objective, seed)
        j_sum, j_max = problem.core.score(nodes)
        return replace(choice, j_sum=j_sum, j_max=j_max)

    def can_win(choice: GridChoice, best: GridChoice | None) -> bool:
        if best is None or best.j_sum is None or best.j_max is None:
            return True
        # The busiest node sends at least the mean.
        return choice.bound <= best.j_sum if objective == "j_sum" else choice.bound <= best.j_max * len(asked.node_sizes)

    quick: list[tuple[GridChoice, Problem]] = []
    best: GridChoice | None = None
    for choice, problem in choices:
        if can_win(choice, best):
            found = mapped(choice, problem, min(steps, 50_000))
            quick.append((found, problem))
            best = found if best is None else min(best, found, key=value)
        bar.advance()
    quick.sort(key=lambda entry: value(entry[0]))
    final = [mapped(choice, problem, steps) for choice, problem in quick[:_FINALISTS]]
    usual, problem = _unmapped(even, asked)
    return GridChoices(
        mesh=tuple(mesh),
        halo=halo,
        candidates=(*sorted(final, key=value), *(choice for choice, _ in quick[_FINALISTS:])),
        ruled_out=len(choices) - len(quick),
        too_thin=len(possible) - len(grids),
        usual=mapped(usual, problem, steps),
    )


def _thinnest(grid: Sequence[int], mesh: Sequence[int], axes: Sequence[bool] | None = None) -> float:
    """Return the cells along the shortest side of a block, of the axes that are divided and, where given, among ``axes``."""
    sides = [cells // size for cells, size in zip(mesh, grid, strict=True)]
    sent = [size > 1 and (axes is None or axes[axis]) for axis, size in enumerate(grid)]
    return min((side for side, counts in zip(sides, sent, strict=True) if counts), default=math.inf)


def _unmapped(grid: tuple[int, ...], asked: MeshQuestion) -> tuple[GridChoice, Problem]:
    """A grid's halos and bound, and its mapping problem."""
    block = tuple(-(-cells // size) for cells, size in zip(asked.mesh, grid, strict=True))
    offsets, own = offsets_of(asked.stencil, len(grid))
    weights = [
        weight * math.prod(min(asked.halo, cells) if step else cells for step, cells in zip(offset, block, strict=True))
        for offset, weight in zip(offsets, own, strict=True)
    ]
    problem = problem_of(grid, asked.node_sizes, offsets, asked.periodic, weights)
    bound, _ = problem.core.lower_bound()
    imbalance = math.prod(block) * math.prod(grid) / math.prod(asked.mesh) - 1
    return GridChoice(grid, block, tuple(weights), bound, problem.core.total_edges(), imbalance), problem
