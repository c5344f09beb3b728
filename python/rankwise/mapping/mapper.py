"""Run mapping algorithms on one process grid and score what they give."""

from __future__ import annotations

import difflib
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankwise import _core
from rankwise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALL = "all"
GRAPH = "graph"
DEFAULT_EFFORT_S = 0.01

_MOST_CELLS = 2**45


@dataclass(frozen=True, eq=False)
class MapResult:
    """What one algorithm gives: its score, the time it took to map (not to score), and the map.

    ``j_sum`` counts the directed stencil edges between nodes, ``j_max`` those that leave the node with most of them.
    ``node_of_cell`` holds the node of every grid cell in row-major order (None: not kept). ``picked`` is the algorithm
    that auto has chosen.
    """

    algorithm: str
    j_sum: int
    j_max: int
    seconds: float
    node_of_cell: NDArray[np.int32] | None
    picked: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON; ``node_of_cell`` only where it was kept."""
        record: dict[str, Any] = {
            "algorithm": self.algorithm,
            "j_sum": self.j_sum,
            "j_max": self.j_max,
            "seconds": self.seconds,
        }
        if self.picked:
            record["picked"] = self.picked
        return record if self.node_of_cell is None else record | {"node_of_cell": self.node_of_cell.tolist()}


@dataclass(frozen=True)
class Skipped:
    """An algorithm of "all" that cannot handle the input, and why."""

    algorithm: str
    reason: str


@dataclass(frozen=True, eq=False)
class Mappings:
    """All results for one grid, in the order of the algorithms asked for; ``nodes`` holds the ranks of each node."""

    grid: tuple[int, ...]
    nodes: tuple[int, ...]
    stencil: str
    periodic: tuple[bool, ...]
    results: tuple[MapResult, ...]
    skipped: tuple[Skipped, ...]
    offsets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    objective: str
    bound: int
    bound_kind: str
    optimum: int | None = None

    @property
    def best(self) -> MapResult:
        """The result with the fewest edges between nodes; of equals, the one whose busiest node has fewer.

        With the objective j_max the other way round.
        """
        return best_of(self.results, self.objective)

    @property
    def least(self) -> int:
        """What no mapping's J_sum can fall below: the proven optimum where it is known, else the lower bound."""
        return self.bound if self.optimum is None else self.optimum

    def gap(self, result: MapResult) -> float | None:
        """How far a result's J_sum is above what is possible, relative to that; None where that is 0 and it is not."""
        if result.j_sum == self.least:
            return 0.0
        return result.j_sum / self.least - 1 if self.least else None

    def to_dict(self, with_maps: bool = True) -> dict[str, Any]:
        """The mappings as JSON, in the form that other programs rely on; ``with_maps``: with the maps that were kept."""
        return {
            "grid": list(self.grid),
            "nodes": list(self.nodes),
            "stencil": self.stencil,
            "periodic": list(self.periodic),
            "weights": list(self.weights),
            "objective": self.objective,
            "bound": self.bound,
            "bound_kind": self.bound_kind,
            "optimum": self.optimum,
            "results": [self._row(result, with_maps) for result in self.results],
            "skipped": [{"algorithm": skipped.algorithm, "reason": skipped.reason} for skipped in self.skipped],
        }


    def _row(self, result: MapResult, with_map: bool) -> dict[str, Any]:
        shown = result if with_map else replace(result, node_of_cell=None)
        return shown.to_dict() | {"gap": self.gap(result), "optimal": result.j_sum == self.least}


def best_of(results: Sequence[MapResult], objective: str = "j_sum") -> MapResult:
    """Return the result with the least J_sum, then the least J_max (or the reverse); of equals, the first."""
    if objective == "j_max":
        return min(results, key=lambda result: (result.j_max, result.j_sum))
    return min(results, key=lambda result: (result.j_sum, result.j_max))


def algorithm_names() -> list[str]:
    """The ids of all mapping algorithms."""
    return [*(algorithm.name for algorithm in _core.mapping_algorithms()), GRAPH]


def map_grid(
    grid: Sequence[int],
    node_sizes: Sequence[int],
    stencil: str | Sequence[Sequence[int]],
    periodic: Sequence[bool] | None = None,
    algorithms: Sequence[str] = (ALL,),
    keep_maps: bool = True,
    weights: Sequence[int] | None = None,
    effort_s: float = DEFAULT_EFFORT_S,
    objective: str = "j_sum",
    seed: int = 1,
    prove: bool = False,
    given: Mapping[str, Sequence[int]] | None = None,
) -> Mappings:
    """Map the ranks of a process grid to nodes with one or several algorithms and score each map.

    The ranks fill the nodes in order: ranks 0 to ``node_sizes[0] - 1`` are on node 0, and so on; the grid must have as
    many cells as there are ranks. ``stencil`` is an id, offsets as text (``"1,0;-1,0*8"``) or a list of offsets;
    ``weights`` (one an offset) are instead of those in the text. ``periodic`` has one flag an axis (default: all axes
    open). ``algorithms`` names ids of :func:`algorithm_names` or ``"all"``; an algorithm that cannot handle the input
    is skipped where it comes from ``"all"`` and an error where it is named. Without ``keep_maps`` only the scores stay.

    ``effort_s`` bounds the search of refined, counted in steps that take about that long, so the map is the same on
    every machine; ``objective`` (``j_sum`` or ``j_max``) comes first for it. ``prove`` looks for the proven optimum of a
    tiny problem. ``given`` holds maps to score beside the others: the node of every cell, by name.

    Raises InputError for input that does not fit together.
    """
    import numpy as np  # the core imports it for its first array, which must not count as time to map

    dims, nodes = list(grid), list(node_sizes)
    flags = [False] * len(dims) if periodic is None else [bool(flag) for flag in periodic]
    chosen = _choose(algorithms)
    steps = _steps(effort_s)
    _check_sizes(dims, nodes)
    try:
        offsets, own_weights = _offsets(stencil, len(dims))
        heavy = own_weights if weights is None else list(weights)
        _core.check_mapping(dims, nodes, offsets, heavy)
        _check_memory(dims, nodes, len(chosen) if keep_maps else 1)
        if len(flags) != len(dims):
            raise InputError(f"{len(flags)} periodic flags for a grid of {len(dims)} axes: give one flag an axis")
        results: list[MapResult] = []
        skipped: list[Skipped] = []
        for algorithm, is_named in chosen.items():
            start_s = time.perf_counter()
            try:
                if algorithm == GRAPH:
                    from rankwise.mapping.graph import map_graph

                    node_of_cell, picked = map_graph(dims, nodes, offsets, heavy, flags, seed), ""
                else:
                    node_of_cell, picked = _core.map_grid(
                        algorithm, dims, nodes, offsets, heavy, flags, steps, objective, seed
                    )
            except (ValueError, InputError) as error:
                if is_named:
                    raise
                skipped.append(Skipped(algorithm, str(error)))
                continue
            seconds = time.perf_counter() - start_s
            j_sum, j_max = _core.score(dims, flags, offsets, node_of_cell, heavy)
            results.append(MapResult(algorithm, j_sum, j_max, seconds, node_of_cell if keep_maps else None, picked))
        for name, map_given in (given or {}).items():
            node_of_cell = np.array(map_given, dtype=np.int32)
            j_sum, j_max = _core.score(dims, flags, offsets, node_of_cell, heavy)
            results.append(MapResult(name, j_sum, j_max, 0.0, node_of_cell if keep_maps else None))
        bound, bound_kind = _core.lower_bound(dims, nodes, offsets, heavy, flags)
    except ValueError as error:
        raise InputError(str(error)) from None
    optimum = bound if min(result.j_sum for result in results) == bound else None
    if prove and optimum is None:
        optimum = _prove(dims, nodes, offsets, heavy, flags)
    return Mappings(
        grid=tuple(dims),
        nodes=tuple(nodes),
        stencil=_stencil_text(stencil),
        periodic=tuple(flags),
        results=tuple(results),
        skipped=tuple(skipped),
        offsets=tuple(tuple(offset) for offset in offsets),
        weights=tuple(heavy),
        objective=objective,
        bound=bound,
        bound_kind=bound_kind,
        optimum=optimum,
    )


def _steps(effort_s: float) -> int:
    if not 0 <= effort_s <= 86_400:
        raise InputError(f"an effort of {effort_s} s is out of range: give 0 to 86400 s, as in 10ms or 1s")
    return round(effort_s * _core.STEPS_PER_SECOND)


def _prove(
    dims: list[int], nodes: list[int], offsets: list[list[int]], weights: list[int], periodic: list[bool]
) -> int | None:
    from rankwise.mapping.optimum import MOST_CELLS, is_tiny, proven_optimum

    if not is_tiny(math.prod(dims), len(nodes), len(offsets)):
        raise InputError(
            f"the optimum of {math.prod(dims)} cells on {len(nodes)} nodes cannot be proved in reasonable time: leave "
            f"--prove out, or give a grid of at most {MOST_CELLS} cells and fewer nodes"
        )
    return proven_optimum(dims, nodes, offsets, weights, periodic)


def _choose(algorithms: Iterable[str]) -> dict[str, bool]:
    """Return the ids to run, in order, each with whether it was named itself and not only through "all"."""
    names = algorithm_names()
    chosen: dict[str, bool] = {}
    for algorithm in algorithms:
        if algorithm == ALL:
            for entry in _core.mapping_algorithms():
                if entry.in_all:
                    chosen.setdefault(entry.name, False)
        elif algorithm in names:
            chosen[algorithm] = True
        else:
            near = difflib.get_close_matches(algorithm, [ALL, *names], n=1, cutoff=0.4)
            mend = f"did you mean {near[0]}?" if near else f"take {ALL}, or some of {', '.join(names)}"
            raise InputError(f"mapping algorithm '{algorithm}' is unknown: {mend}")
    if not chosen:
        raise InputError(f"no mapping algorithm is given: take {ALL}, or some of {', '.join(names)}")
    return chosen


def _check_sizes(dims: Sequence[int], nodes: Sequence[int]) -> None:
    """Refuse sizes that the core's 64-bit integers cannot hold, and what can be said more plainly here."""
    for what, sizes in (("grid axis", dims), ("node size", nodes)):
        for size in sizes:
            if not 1 <= size <= _MOST_CELLS:
                raise InputError(f"{what} {size} is out of range: it must be at least 1 and at most 2^45")
    if dims and len(nodes) > (cells := math.prod(dims)):
        raise InputError(f"there are {len(nodes)} nodes for {cells} ranks: give at most one node a rank")


def _check_memory(dims: Sequence[int], nodes: Sequence[int], maps: int) -> None:
    """Refuse what this machine cannot hold rather than be killed half-way."""
    needed = 4 * math.prod(dims) * maps + 8 * len(nodes)
    present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > present:
        raise InputError(
            f"mapping {math.prod(dims)} cells needs {needed / 2**30:.1f} GiB and this machine has "
            f"{present / 2**30:.1f} GiB of memory: make the grid smaller or name fewer algorithms"
        )


def _offsets(stencil: str | Sequence[Sequence[int]], ndim: int) -> tuple[list[list[int]], list[int]]:
    """Return the offsets and their weights."""
    if isinstance(stencil, str):
        # Ids and offsets are ASCII; what is not cannot be a stencil, and a stray byte must not be a TypeError.
        return _core.parse_stencil(stencil.encode("ascii", "replace").decode(), ndim)
    offsets = [list(offset) for offset in stencil]
    for offset in offsets:
        if any(abs(component) > 2**31 for component in offset):
            raise InputError(f"stencil offset {offset} is too far: components go up to 2^31")
    return offsets, [1] * len(offsets)


def _stencil_text(stencil: str | Sequence[Sequence[int]]) -> str:
    if isinstance(stencil, str):
        return stencil.strip()
    return ";".join(",".join(str(component) for component in offset) for offset in stencil)
