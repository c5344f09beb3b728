"""Run mapping algorithms on one process grid and score what they give."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.floor import SPECTRUM, spectral_bound
from rankwise.mapping.graph import map_graph
from rankwise.mapping.levels import Above, Crossing, Inner, LevelScore, crossings, divide_levels, score_levels, seat_nodes
from rankwise.mapping.optimum import MOST_CELLS, is_tiny
from rankwise.mapping.problem import Problem, problem_of
from rankwise.records import Record, computed, key, printable, record, told

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ran = TypeVar("Ran")
ALL = "all"
GRAPH = "graph"
DEFAULT_EFFORT_S = 0.01
DEFAULT_BYTES = 8
LEAST_GAIN = 0.01  # a share below which there is nothing to gain
_MOST_THREADS = 1024
_BYTES_OF_A_CELL = 4
_BYTES_OF_A_PLACED_CELL = 40


@dataclass(frozen=True)
class StepTime:
    """How long one step of messages, all sent at once, takes on a machine, with its 95 % interval.

    Of what ranks share, ``resource`` (card-out, memory, uplink-0, ...) is held longest: for ``held_s``, by ``bytes``.
    ``judge_s`` is the interval by the judge's own error alone, as if the machine were known.
    """

    time_s: float
    low_s: float
    high_s: float
    resource: str
    held_s: float
    bytes: int
    judge_s: tuple[float, float]
    notes: tuple[str, ...] = ()

    @property
    def spread_s(self) -> tuple[float, float] | tuple[None, None]:
        """Both ends of the interval; None where nothing is known of it."""
        return (self.low_s, self.high_s) if self.low_s < self.high_s else (None, None)

    @property
    def busiest(self) -> Held | None:
        return Held(self.resource, self.held_s, self.bytes) if self.held_s > 0 else None


@record
class Held(Record):
    """What ranks share and is held longest."""

    resource: str = key("what ranks share: socket, sockets, memory, card-out, card-in, card, uplink-0, downlink-0 and so on")
    held_s: float = key("how long the resource is held")
    bytes: int = key("bytes that pass through the resource")


if TYPE_CHECKING:
    # Prices a map of a Problem, or of a Traffic: the node of every cell, and its part at each level below the node.
    StepPricer = Callable[[Any, NDArray[np.int32], Mapping[str, NDArray[np.int32]]], StepTime]
    # Returns the least J_sum of a tiny problem, or None and why it is not known.
    Prover = Callable[[Problem], tuple[int | None, str]]


@record
class MapResult(Record):
    """What one algorithm gives: its score, the time it took to map (not to score), and the map.

    ``j_sum`` counts the directed stencil edges between nodes, ``j_max`` those that leave the node with most of them.
    ``node_of_cell`` holds the node of every grid cell in row-major order (None: not kept), ``parts`` its part at each
    level below the node by the level's name, numbered node by node (empty: no such level, or not kept). ``levels`` counts the
    messages between nodes, between the parts of each level below, and between cores; ``above`` what crosses each level above
    the node, the inner first (empty: none asked for). ``step`` is what the messages take on a machine (None: on none).
    ``picked`` is the algorithm that auto has chosen, ``steps`` the length of a search that gives about the same without a clock
    (0: none).
    """

    algorithm: str = key("id of the mapping")
    j_sum: int = key("messages or bytes between nodes, in all")
    j_max: int = key("messages or bytes of the node that sends most")
    seconds: float = key("how long finding the mapping took")
    node_of_cell: NDArray[np.int32] | None = key(
        "node of each cell, row by row", kind="list[int] | None", omit=True, after="levels", compare=False
    )
    picked: str = key("of auto, the mapping that was taken", omit=True, after="seconds")
    levels: tuple[LevelScore, ...] = key("by level", after="busiest")
    parts: Mapping[str, NDArray[np.int32]] = key(
        "part of each cell, numbered node by node, by level below the node", kind="dict[str, list[int]]", factory=dict,
        compare=False, omit=True, after="node_of_cell",
    )  # fmt: skip
    step: StepTime | None = None
    steps: int = key(
        "length of a search that gives about the same without a clock", default=0, omit=True, after="picked",
        write=lambda steps: steps or None,
    )  # fmt: skip
    above: tuple[Crossing, ...] = ()

    bytes_between_nodes = computed("bytes that cross nodes", int, lambda of: of.levels[0].bytes, after="steps")
    time_lo_s = computed("", "float | None", lambda of: of.step and of.step.spread_s[0], after="time_s")
    time_hi_s = computed("", "float | None", lambda of: of.step and of.step.spread_s[1], after="time_lo_s")
    busiest = computed(
        "the resource that is held longest", "Held | None", lambda of: of.step and of.step.busiest, after="time_hi_s"
    )

    @property
    def cost(self) -> int:
        """J_sum, with what crosses switches by the costs of the levels above the node."""
        cost, inner = self.j_sum, 1
        for crossing in self.above:
            cost += (crossing.level.cost - inner) * crossing.sent
            inner = crossing.level.cost
        return cost

    @property
    @told("time of a step; null: on no machine", after="bytes_between_nodes")
    def time_s(self) -> float | None:
        return None if self.step is None else self.step.time_s


@record
class Scored(Record):
    """A placement."""

    result: MapResult = key(inline=True)
    gap: float | None = key("j_sum above what is possible, as a fraction; null: that is 0, and j_sum is not")
    optimal: bool = key("whether nothing is better")


@record
class Crossed(Record):
    """A level of switches above the node."""

    level: str = key("name of the level")
    units: int = key("how many switches or groups")
    cost: int = key("what a byte counts that leaves a unit")
    bytes: Mapping[str, int] = key("bytes between the units, by mapping")


@record
class Skipped(Record):
    """An algorithm of "all" that cannot handle the input, and why."""

    algorithm: str = key("id of the mapping", read=printable)
    reason: str = key("why it cannot handle the input")


@record
class Mappings(Record):
    """All placements of one grid, or of one program.

    In the order of the algorithms asked for; ``nodes`` holds the ranks of each node.
    """

    grid: tuple[int, ...] = key("ranks along each axis")
    nodes: tuple[int, ...] = key("ranks of each node")
    stencil: str = key("name of the stencil")
    periodic: tuple[bool, ...] = key("whether each axis wraps around")
    results: tuple[MapResult, ...]
    skipped: tuple[Skipped, ...] = key("what was not done, and why", after="of_front")
    offsets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...] = key("weight of each offset")
    objective: str = key("what is made small")
    bound: int = key("what no placement falls below")
    bound_kind: str = key("how the bound is known: isoperimetric, lines, components, projections, spectrum or none")
    optimum: int | None = key("the least j_sum; null: not known", default=None)
    unproved: str = ""  # why the optimum that was asked for is not known
    message_bytes: int = key("size of a message of weight 1", default=DEFAULT_BYTES)
    levels: tuple[Inner, ...] = key("levels below the node", default=())
    front: tuple[MapResult, ...] = ()
    above: tuple[Above, ...] = ()

    recommended = computed("the placement to take", str, lambda of: of.best.algorithm)
    scored = computed("by placement", "tuple[Scored, ...]", lambda of: of.scores(of.results), name="results", after="notes")
    crossed = computed(
        "levels of switches above the node, the inner first", "tuple[Crossed, ...]", lambda of: of.crossings(), name="above",
        omit=True, after="scored",
    )  # fmt: skip
    of_front = computed(
        "mappings of refined between the least j_sum and the least j_max", "tuple[Scored, ...]",
        lambda of: of.scores(of.front), name="front", omit=True, after="crossed",
    )  # fmt: skip

    @property
    def best(self) -> MapResult:
        """The result to take: see :func:`best_of`."""
        return best_of(self.results, self.objective)

    @property
    @told("what weakens the figures, in words", after="recommended")
    def notes(self) -> list[str]:
        """What weakens the times, and that no optimum was proved where that was asked for."""
        notes = dict.fromkeys(note for result in self.results if result.step for note in result.step.notes)
        return [*notes, *([f"the optimum is not proved: {self.unproved}"] if self.unproved else [])]

    @property
    def least(self) -> int:
        """What no mapping's J_sum can fall below: the proven optimum where it is known, else the lower bound."""
        return self.bound if self.optimum is None else self.optimum

    def gap(self, result: MapResult) -> float | None:
        """How far a result's J_sum is above what is possible, relative to that; None where that is 0 and it is not."""
        if result.j_sum == self.least:
            return 0.0
        return result.j_sum / self.least - 1 if self.least else None

    def scores(self, results: Iterable[MapResult]) -> tuple[Scored, ...]:
        """Return results with what tells how good they are."""
        return tuple(Scored(result, self.gap(result), result.j_sum == self.least) for result in results)

    def crossings(self) -> tuple[Crossed, ...]:
        """Return what crosses the levels above the node."""
        return tuple(
            Crossed(level.name, len(set(level.unit_of_node)), level.cost, {
                result.algorithm: self.message_bytes * result.above[number].sent for result in self.results
            })
            for number, level in enumerate(self.above)
        )  # fmt: skip

    def without_maps(self) -> Mappings:
        """Return the same without the maps that were kept."""

        def bare(results: Iterable[MapResult]) -> tuple[MapResult, ...]:
            return tuple(replace(result, node_of_cell=None, parts={}) for result in results)

        return replace(self, results=bare(self.results), front=bare(self.front))


def best_of(results: Sequence[MapResult], objective: str = "j_sum") -> MapResult:
    """Return the result with the least J_sum, then the least J_max, then least at each level below; of equals, the first.

    Where there are levels above the node, what crosses them counts in J_sum by their costs.
    On a machine it is the best of those that take least time: of the quickest and all that the judge cannot tell from it,
    whose intervals meet its own. So nothing more is sent between nodes for a gain within the judge's error. With the objective
    ``j_max`` the least J_max comes before all.
    """
    if objective == "j_max":
        least = min(result.j_max for result in results)
        results = [result for result in results if result.j_max == least]
    quickest = min(results, key=lambda result: result.time_s or 0.0)
    alike = [result for result in results if not quicker(quickest, result)]
    slower = [result for result in results if quicker(quickest, result)]
    sound = [one for one in alike if all(one.cost <= other.cost or quicker(one, other) for other in slower)]
    return min(sound, key=lambda one: (one.cost, one.j_max, *(level.bytes for level in one.levels[1:]), one.time_s or 0.0))


def quicker(one: MapResult, other: MapResult) -> bool:
    """Tell whether one takes less time than another on a machine by more than can be an error: their intervals are apart.

    Where both are held up by the same thing, what is not known of the machine is the same of both, and the judge's own error
    counts.
    """
    if one.step is None or other.step is None:
        return False
    if one.step.resource == other.step.resource:
        return one.step.judge_s[1] < other.step.judge_s[0]
    return one.step.high_s < other.step.low_s


def hardly_better(one: MapResult, other: MapResult) -> bool:
    """Tell whether one result gains less than LEAST_GAIN of another's J_sum, J_max, cost by switches
    and time: to move ranks for it is not worth while."""
    return all(mine >= (1 - LEAST_GAIN) * its for mine, its in zip(_figures(one), _figures(other), strict=True))


def alike(one: MapResult, other: MapResult) -> bool:
    """Tell whether nothing tells two results apart but their levels below the node."""
    return _figures(one) == _figures(other)


def _figures(one: MapResult) -> tuple[float, ...]:
    return (one.j_sum, one.j_max, one.cost, one.time_s or 0.0)


def algorithm_names() -> list[str]:
    """The ids of all mapping algorithms."""
    return [*(algorithm.name for algorithm in _core.mapping_algorithms()), GRAPH]


@dataclass(frozen=True)
class How:
    """How a grid, or a program's ranks, are mapped and scored. Of grids alone are ``keep_maps``, ``weights``, ``prove``,
    ``front``, ``int64`` and ``sharp``.

    Without ``keep_maps`` only the scores stay. ``weights`` (one an offset) are instead of those in a stencil's text.

    ``effort_s`` ends the search of refined after that time. Otherwise it takes ``steps`` steps (by default about
    DEFAULT_EFFORT_S's worth; of a program what its graph is worth), and the map is the same on every machine and for any number
    of ``threads`` (None: 1 for a grid, all cores for a program). ``objective``
    (``j_sum`` or ``j_max``) comes first for it. ``prove`` looks for the proven optimum of a
    tiny problem (None: nobody does). ``given`` holds maps to score next to the others: the node of every cell, by name.

    ``front``, or ``price``, gives half of refined's search to a small J_max and keeps the maps of which none is better than
    another in both J_sum and J_max; refined is the best of them. With ``front`` they are the result's ``front``, the least
    J_sum first.

    ``levels`` are those below the node, the outer first: each map's nodes are divided among them (blocked in the order
    of ranks, the others by a search of the same effort). ``above`` are those above it, the inner first: what crosses them
    counts by their costs, and whole nodes change places for that, but not those of blocked or of ``given``.
    ``message_bytes`` is the size of a message of weight 1; ``price`` says how long one step of messages takes on a machine, by
    which results are then compared (see engines/step.py).
    ``int64`` allows more than 2^31 - 1 ranks.

    ``sharp`` takes eigenvalues for the bound, too, where that may help: on small grids, some 100 ms.
    """

    keep_maps: bool = True
    weights: Sequence[int] | None = None
    effort_s: float | None = None
    objective: str = "j_sum"
    seed: int = 1
    prove: Prover | None = None
    given: Mapping[str, Sequence[int]] | None = None
    levels: Sequence[Inner] = ()
    message_bytes: int = DEFAULT_BYTES
    price: StepPricer | None = None
    int64: bool = False
    steps: int | None = None
    threads: int | None = None
    front: bool = False
    sharp: bool = False
    above: Sequence[Above] = ()


USUAL = How()


def map_grid(
    grid: Sequence[int],
    node_sizes: Sequence[int],
    stencil: str | Sequence[Sequence[int]],
    periodic: Sequence[bool] | None = None,
    algorithms: Sequence[str] = (ALL,),
    how: How = USUAL,
) -> Mappings:
    """Map the ranks of a process grid to nodes with one or several algorithms and score each map.

    The ranks fill the nodes in order: ranks 0 to ``node_sizes[0] - 1`` are on node 0, and so on; the grid must have as
    many cells as there are ranks. ``stencil`` is an id, offsets as text (``"1,0;-1,0*8"``) or a list of offsets.
    ``periodic`` has one flag an axis (default: all axes open). ``algorithms`` names ids of :func:`algorithm_names` or
    ``"all"``; an algorithm that cannot handle the input is skipped where it comes from ``"all"`` and an error where it is
    named.

    Raises InputError for input that does not fit together.
    """
    in_all = [entry.name for entry in _core.mapping_algorithms() if entry.in_all]
    chosen = choose(algorithms, in_all, algorithm_names(), "mapping algorithm '{}' is unknown")
    if how.front and (how.objective != "j_sum" or "refined" not in chosen):
        raise InputError(
            "--front shows what refined finds between the least J_sum and the least J_max: name refined with --algorithm and "
            "leave --objective out"
        )
    search = Effort.of(how.effort_s, how.steps, 1 if how.threads is None else how.threads)
    problem = problem_of(grid, node_sizes, stencil, periodic, how.weights, how.int64)
    if how.above and len(set(problem.nodes)) > 1:  # whose nodes cannot change their places, as a host's slots are its own
        raise InputError(
            "a grid's nodes are ordered by switches where all are of one size: leave --topology and the levels above the node "
            "out"
        )
    maps = (len(chosen) if how.keep_maps else 1) * (1 + len(how.levels))
    _check_memory(problem, maps * _BYTES_OF_A_CELL + (0 if how.price is None else _BYTES_OF_A_PLACED_CELL))
    between: list[MapResult] = []

    def sent_between(part_of_cell: NDArray[np.int32]) -> int:
        return problem.core.score(part_of_cell)[0]

    def scored(
        name: str, node_of_cell: NDArray[np.int32], picked: str, start_s: float | None, inner_steps: int, taken: int = 0
    ) -> MapResult:
        inner = divide_levels(problem, node_of_cell, how.levels, inner_steps, how.seed)
        seconds = 0.0 if start_s is None else time.perf_counter() - start_s
        j_sum, j_max = problem.core.score(node_of_cell)
        scores = score_levels(problem, node_of_cell, inner, how.levels, how.message_bytes)
        parts = {level.name: part for level, part in zip(how.levels, inner, strict=True)}
        step = None if how.price is None else how.price(problem, node_of_cell, parts)
        kept, kept_parts = (node_of_cell, parts) if how.keep_maps else (None, {})
        farther = crossings(how.above, node_of_cell, sent_between)
        return MapResult(name, j_sum, j_max, seconds, kept, picked, scores, kept_parts, step, taken, farther)

    def best_scored(algorithm: str, ran: tuple[list[NDArray[np.int32]], str, int], start_s: float) -> MapResult:
        found, picked, taken = ran
        inner_steps = 0 if algorithm == "blocked" else search.steps
        made = [scored(algorithm, map_found, picked, start_s, inner_steps, taken) for map_found in found]
        between.extend(made if algorithm == "refined" else ())
        return best_of(made, how.objective)

    try:
        run = partial(_run, problem=problem, search=search, how=how)
        results, skipped = results_of(chosen, run, best_scored, ValueError)
        for name, map_given in (how.given or {}).items():
            results.append(scored(name, np.array(map_given, dtype=np.int32), "", None, 0))
        bound, bound_kind = problem.core.lower_bound()
        if how.sharp and min(result.j_sum for result in results) > 1.1 * bound:  # nearer to it eigenvalues tell nothing more
            bound, bound_kind = max((bound, bound_kind), (spectral_bound(problem), SPECTRUM), key=lambda found: found[0])
    except ValueError as error:
        raise InputError(str(error)) from None
    optimum = bound if min(result.j_sum for result in results) == bound else None
    unproved = ""
    if how.prove is not None and optimum is None:
        _require_tiny(problem)
        optimum, unproved = how.prove(problem)
    return Mappings(
        grid=tuple(problem.dims),
        nodes=tuple(problem.nodes),
        stencil=_stencil_text(stencil),
        periodic=tuple(problem.periodic),
        results=tuple(results),
        skipped=tuple(skipped),
        offsets=tuple(tuple(offset) for offset in problem.offsets),
        weights=tuple(problem.weights),
        objective=how.objective,
        bound=bound,
        bound_kind=bound_kind,
        optimum=optimum,
        unproved=unproved,
        message_bytes=how.message_bytes,
        levels=tuple(how.levels),
        front=tuple(between) if how.front else (),
        above=tuple(how.above),
    )


def steps_of(effort_s: float) -> int:
    """The steps of a search that take about that long. Raises InputError."""
    if not 0 <= effort_s <= 86_400:
        raise InputError(f"an effort of {effort_s} s is out of range: give 0 to 86400 s, as in 10ms or 1s")
    return round(effort_s * _core.STEPS_PER_SECOND)


@dataclass(frozen=True)
class Effort:
    """How long a search may be: so many steps, or where seconds is not 0 until that time is over."""

    steps: int
    seconds: float = 0.0
    threads: int = 1

    @classmethod
    def of(cls, effort_s: float | None, steps: int | None, threads: int) -> Effort:
        """Raises InputError."""
        if not 1 <= threads <= _MOST_THREADS:
            raise InputError(f"{threads} threads are out of range: give 1 to {_MOST_THREADS}")
        if effort_s is not None:
            if steps is not None:
                raise InputError("a search ends by its effort or by its steps: give one of them")
            return cls(steps_of(effort_s), effort_s, threads)
        if steps is None:
            steps = steps_of(DEFAULT_EFFORT_S)
        if not 0 <= steps < 2**62:
            raise InputError(f"{steps} steps are out of range: give 0 to 2^62 - 1")
        return cls(steps, 0.0, threads)


def _run(algorithm: str, problem: Problem, search: Effort, how: How) -> tuple[list[NDArray[np.int32]], str, int]:
    """Return maps, of which the best is to be taken, what auto picked, and the steps of a search that a clock has ended."""
    picked, taken = "", 0
    if algorithm == GRAPH:
        found = [map_graph(problem, how.seed)]
    elif algorithm == "refined" and how.objective == "j_sum" and (how.front or how.price is not None):
        found = problem.core.map_front(search.steps, how.seed, search.seconds)
    else:
        one, picked, taken = problem.core.map_grid(
            algorithm, search.steps, how.objective, how.seed, search.seconds, search.threads
        )
        found = [one]
    if how.above and algorithm != "blocked":
        if algorithm == "refined" and not how.front:
            found = [*found, *_run("blocked", problem, search, how)[0]]
        found = [seat_nodes(problem, one, how.above) for one in found]
    return found, picked, taken


def _require_tiny(problem: Problem) -> None:
    if not is_tiny(problem.cells, len(problem.nodes), len(problem.offsets)):
        raise InputError(
            f"the optimum of {problem.cells} cells on {len(problem.nodes)} nodes cannot be proved in reasonable time: "
            f"leave --prove out, or give a grid of at most {MOST_CELLS} cells and fewer nodes"
        )


def choose(algorithms: Iterable[str], in_all: Sequence[str], known: Sequence[str], refusal: str) -> dict[str, bool]:
    """Return the ids to run, in order, each with whether it was named itself and not only through "all".

    ``refusal`` says of an id in its braces that it is none of those ``known``. Raises InputError.
    """
    offered = f"take {ALL}, or some of {', '.join(known)}"
    chosen: dict[str, bool] = {}
    for algorithm in algorithms:
        if algorithm == ALL:
            chosen |= {own: chosen.get(own, False) for own in in_all}
        elif algorithm in known:
            chosen[algorithm] = True
        else:
            raise InputError(f"{refusal.format(algorithm)}: {offered}")
    if not chosen:
        raise InputError(f"no mapping algorithm is given: {offered}")
    return chosen


def results_of(
    chosen: Mapping[str, bool], run: Callable[[str], Ran], score: Callable[[str, Ran, float], MapResult],
    refusal: type[Exception],
) -> tuple[list[MapResult], list[Skipped]]:  # fmt: skip
    """Return what each of the algorithms gives, scored from when it began, and those that a refusal leaves out: what nobody
    named itself."""
    results, skipped = list[MapResult](), list[Skipped]()
    for algorithm, is_named in chosen.items():
        start_s = time.perf_counter()
        try:
            found = run(algorithm)
        except refusal as error:
            if is_named:
                raise
            skipped.append(Skipped(algorithm, str(error)))
            continue
        results.append(score(algorithm, found, start_s))
    return results, skipped


def _check_memory(problem: Problem, cell_bytes: int) -> None:
    """Refuse what this machine cannot hold rather than be killed half-way."""
    needed = cell_bytes * problem.cells + 8 * len(problem.nodes)
    present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > present:
        raise InputError(
            f"mapping {problem.cells} cells needs {needed / 2**30:.1f} GiB and this machine has "
            f"{present / 2**30:.1f} GiB of memory: make the grid smaller or name fewer algorithms"
        )


def _stencil_text(stencil: str | Sequence[Sequence[int]]) -> str:
    if isinstance(stencil, str):
        return stencil.strip()
    return ";".join(",".join(str(component) for component in offset) for offset in stencil)
