"""Placing any program: who sends how much to whom, and on which node each rank is to be."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.levels import Inner, LevelScore
from rankwise.mapping.mapper import ALL, DEFAULT_EFFORT_S, GRAPH, Mappings, MapResult, Skipped, StepTime, best_of, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Nodes: TypeAlias = NDArray[np.int32]
    Pricer: TypeAlias = Callable[["Traffic", Nodes, Mapping[str, Nodes]], StepTime]

OBSERVED, BLOCKED, CYCLIC, REFINED = "observed", "blocked", "cyclic", "refined"
_HEAVIEST = 2**30  # the search adds up weights in 32 bits
_LEAST_SWEEPS = 2000  # of all pairs, so that a search of many ranks comes to an end of its first rounds


@dataclass(frozen=True, eq=False)
class Traffic:
    """What ranks sent to each other: a CSR matrix with a row for each sender, without messages of a rank to itself.

    ``pointer`` (ranks + 1), ``peer``, ``messages`` and ``bytes`` are int64. ``node_of_rank`` (int32) says where the ranks were,
    by the numbers of ``hosts``; None where that is not known.
    """

    name: str
    pointer: NDArray[np.int64]
    peer: NDArray[np.int64]
    messages: NDArray[np.int64]
    bytes: NDArray[np.int64]
    node_of_rank: Nodes | None = None
    hosts: tuple[str, ...] = ()

    @classmethod
    def of_pairs(cls, name: str, ranks: int, triples: Sequence[Any], messages: Any = None, **known: Any) -> Traffic:
        """Make it of (senders, receivers, bytes), three arrays in any order; pairs that stand twice are added up.

        ``messages``: how many each pair sent (None: one).
        """
        source, dest, sent = (np.asarray(values, dtype=np.int64) for values in triples)
        counts = np.ones_like(sent) if messages is None else np.asarray(messages, dtype=np.int64)
        apart = (source != dest) & ((sent > 0) | (counts > 0))
        keys, inverse = np.unique(source[apart] * ranks + dest[apart], return_inverse=True)
        sums = np.zeros((2, len(keys)), np.int64)
        np.add.at(sums[0], inverse, counts[apart])
        np.add.at(sums[1], inverse, sent[apart])
        pointer = np.searchsorted(keys, np.arange(ranks + 1) * ranks)
        return cls(name, pointer.astype(np.int64), keys % ranks, sums[0], sums[1], **known)

    @property
    def ranks(self) -> int:
        return len(self.pointer) - 1

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """The sender of each pair."""
        return np.repeat(np.arange(self.ranks), np.diff(self.pointer))

    @cached_property
    def rounds(self) -> int:
        """How many messages the pairs sent, by which one step is told from the whole: the median pair's, by its bytes."""
        if not len(self.bytes):
            return 1
        order = np.argsort(self.messages, kind="stable")
        reached = np.cumsum(self.bytes[order])
        return max(1, int(self.messages[order[np.searchsorted(reached, reached[-1] / 2)]]))

    @property
    def step_bytes(self) -> NDArray[np.int64]:
        """What each pair sends in one of the ``rounds``."""
        return -(-self.bytes // self.rounds)

    def crossing(self, part: Nodes) -> NDArray[np.bool_]:
        """Tell which pairs are in two parts."""
        return np.asarray(part[self.source] != part[self.peer])

    def score(self, node_of_rank: Nodes) -> tuple[int, int]:
        """Return the bytes between nodes, and those that leave the node with most of them."""
        cut = self.crossing(node_of_rank)
        out = np.zeros(int(node_of_rank.max()) + 1, np.int64)
        np.add.at(out, node_of_rank[self.source[cut]], self.bytes[cut])
        return int(out.sum()), int(out.max())


@dataclass(frozen=True)
class Search:
    """How placements are looked for; ``units``: nodes of a unit of each level of switches, the inner first."""

    effort_s: float = DEFAULT_EFFORT_S
    objective: str = "j_sum"
    seed: int = 1
    levels: Sequence[Inner] = ()
    units: Sequence[int] = ()


@dataclass
class _Graph:
    """The traffic among some ranks as the core's search takes it: both directions of each pair at both of its ranks."""

    first: Nodes
    others: Nodes
    out: Nodes
    into: Nodes

    @classmethod
    def of(cls, traffic: Traffic, among: NDArray[np.int64] | None = None) -> _Graph:
        number = np.full(traffic.ranks, -1, np.int64)
        among = np.arange(traffic.ranks) if among is None else among
        number[among] = np.arange(len(among))
        a, b = number[traffic.source], number[traffic.peer]
        kept = (a >= 0) & (b >= 0)
        a, b, sent = a[kept], b[kept], traffic.bytes[kept]
        scale = 2 * float(sent.sum()) / _HEAVIEST
        if scale > 1:
            sent = np.maximum(1, np.floor(sent / scale)).astype(np.int64)
        count = len(among)
        keys, inverse = np.unique(np.concatenate((a * count + b, b * count + a)), return_inverse=True)
        out, into = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        np.add.at(out, inverse[: len(a)], sent)
        np.add.at(into, inverse[len(a) :], sent)
        first = np.searchsorted(keys, np.arange(count + 1) * count)
        return cls(first.astype(np.int32), (keys % count).astype(np.int32), out.astype(np.int32), into.astype(np.int32))

    def divide(self, sizes: Sequence[int], starts: Sequence[Nodes], steps: int, objective: str, seed: int) -> Nodes:
        return _core.divide_graph(
            self.first, self.others, self.out, self.into, list(sizes), list(starts), steps, objective, seed
        )

    def spread(self) -> NDArray[np.int64]:
        """Return the ranks in the order in which they are reached from one of the fewest partners."""
        count = len(self.first) - 1
        degree = np.diff(self.first)
        seen, order = np.zeros(count, bool), []
        for start in np.argsort(degree, kind="stable"):
            if seen[start]:
                continue
            front = np.array([start])
            seen[start] = True
            while len(front):
                order.append(front)
                lengths = degree[front]
                at = np.repeat(self.first[front] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
                found = self.others[at + np.arange(int(lengths.sum()))]
                _, at_first = np.unique(found, return_index=True)
                front = found[np.sort(at_first)]
                front = front[~seen[front]]
                seen[front] = True
        return np.concatenate(order)


def blocked(sizes: Sequence[int]) -> Nodes:
    """Return the node of each rank where one node is filled after the other."""
    return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def cyclic(sizes: Sequence[int]) -> Nodes:
    """Return the node of each rank where they are dealt out one by one, as long as a node has room."""
    turn = np.concatenate([np.arange(size) for size in sizes])
    return np.asarray(blocked(sizes)[np.lexsort((blocked(sizes), turn))])


def place_traffic(
    traffic: Traffic,
    node_sizes: Sequence[int],
    algorithms: Sequence[str] = (ALL,),
    search: Search | None = None,
    price: Pricer | None = None,
    given: Mapping[str, Sequence[int]] | None = None,
) -> Mappings:
    """Place the ranks of a program on nodes of these sizes by one or several algorithms; the cells of the result are ranks.

    ``observed`` is where they were, ``blocked`` and ``cyclic`` are what launchers do, ``refined`` searches (where ``price`` tells
    what a placement costs: for the bytes in all, for those of the busiest node, and switch by switch, and takes what costs
    least), ``graph`` is KaHIP. J_sum and J_max count bytes. Raises InputError.
    """
    search = search or Search()
    sizes = [int(size) for size in node_sizes]
    if sum(sizes) != traffic.ranks or min(sizes, default=0) < 1:
        raise InputError(
            f"{traffic.name} has {traffic.ranks} ranks and the nodes hold {sum(sizes)}: give as many with --nodes and --ppn, or "
            "--node-sizes"
        )
    graph = _Graph.of(traffic)
    work = _Work(traffic, sizes, search, graph, price)
    skipped: list[Skipped] = []
    for name, named in _chosen(algorithms).items():
        begun_s = time.perf_counter()
        try:
            found = work.run(name)
        except InputError as error:
            if named:
                raise
            skipped.append(Skipped(name, str(error)))
            continue
        work.add(name, found, begun_s)
    for name, nodes in (given or {}).items():
        work.add(name, np.array(nodes, dtype=np.int32), None)
    return Mappings(
        grid=(traffic.ranks,), nodes=tuple(sizes), stencil=traffic.name, periodic=(False,), results=tuple(work.results),
        skipped=tuple(skipped), offsets=(), weights=(), objective=search.objective, bound=0, bound_kind="none",
        message_bytes=1, levels=tuple(search.levels),
    )  # fmt: skip


@dataclass
class _Work:
    """Placements of one program while they are made and scored."""

    traffic: Traffic
    sizes: list[int]
    search: Search
    graph: _Graph
    price: Pricer | None
    results: list[MapResult] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return max(steps_of(self.search.effort_s), _LEAST_SWEEPS * (len(self.graph.others) // 2 + self.traffic.ranks))

    def run(self, name: str) -> Nodes:
        if name == BLOCKED:
            return blocked(self.sizes)
        if name == CYCLIC:
            return cyclic(self.sizes)
        if name == OBSERVED:
            return self._observed()
        if name == GRAPH:
            from rankwise.mapping.graph import divided_by_kahip

            graph = self.graph
            rough = divided_by_kahip(graph.first, graph.others, graph.out + graph.into, self.sizes, self.search.seed)
            return graph.divide(self.sizes, [_filled(rough, self.sizes)], 1, self.search.objective, self.search.seed)
        return self._refined()

    def _observed(self) -> Nodes:
        nodes = self.traffic.node_of_rank
        if nodes is None or (nodes < 0).any():
            raise InputError(f"{self.traffic.name} does not tell where its ranks were")
        if np.bincount(nodes, minlength=len(self.sizes)).tolist() != self.sizes:
            raise InputError("it ran on other nodes than those asked for")
        return nodes.astype(np.int32)

    def _starts(self) -> list[Nodes]:
        starts = [blocked(self.sizes), cyclic(self.sizes)]
        by_reach = np.empty(self.traffic.ranks, np.int32)
        by_reach[self.graph.spread()] = starts[0]
        starts.append(by_reach)
        try:
            starts.append(self._observed())
        except InputError:
            pass
        return starts

    def _refined(self) -> Nodes:
        starts = self._starts()
        ways = [self.search.objective]
        if self.price is not None:
            ways += [way for way in ("j_sum", "j_max") if way not in ways]
        share = self.steps // len(ways)
        seed = self.search.seed
        found = [self.graph.divide(self.sizes, starts, share, way, seed) for way in ways]
        if self.search.units:
            found.append(self._by_switches(share))
        scored = [self._result("", nodes, self._parts(nodes, 0), 0.0) for nodes in (*found, *(starts if self.price else ()))]
        best = best_of(scored, self.search.objective)
        assert best.node_of_cell is not None
        return best.node_of_cell

    def _by_switches(self, steps: int) -> Nodes:
        """Divide ranks among the outermost units of switches, each among the next ones, the last among nodes."""
        unit_of_node = [[node // unit for node in range(len(self.sizes))] for unit in reversed(self.search.units)]
        nodes_of: list[list[int]] = [list(range(len(self.sizes)))]
        ranks_of: list[NDArray[np.int64]] = [np.arange(self.traffic.ranks)]
        for unit in (*unit_of_node, list(range(len(self.sizes)))):
            inner_nodes, inner_ranks = [], []
            for nodes, ranks in zip(nodes_of, ranks_of, strict=True):
                groups = [[node for node in nodes if unit[node] == own] for own in dict.fromkeys(unit[node] for node in nodes)]
                parts = self._divided(ranks, [sum(self.sizes[node] for node in group) for group in groups], steps)
                inner_nodes += groups
                inner_ranks += [ranks[parts == part] for part in range(len(groups))]
            nodes_of, ranks_of = inner_nodes, inner_ranks
        result = np.empty(self.traffic.ranks, np.int32)
        for nodes, ranks in zip(nodes_of, ranks_of, strict=True):
            result[ranks] = nodes[0]
        return result

    def _divided(self, ranks: NDArray[np.int64], sizes: Sequence[int], steps: int) -> Nodes:
        """Divide some ranks among parts of these sizes, with the share of the effort that they are of all ranks."""
        plain = blocked(sizes)
        if len(sizes) == 1 or steps <= 0:
            return plain
        graph = _Graph.of(self.traffic, ranks)
        reach = np.empty(len(ranks), np.int32)
        reach[graph.spread()] = plain
        share = max(1, steps * len(ranks) // self.traffic.ranks)
        return graph.divide(sizes, [plain, reach], share, "j_sum", self.search.seed)

    def _parts(self, nodes: Nodes, steps: int) -> dict[str, Nodes]:
        """Divide each node's ranks among its sockets, and these among theirs; without steps in the order of ranks."""
        parts: dict[str, Nodes] = {}
        outer = nodes
        for level in self.search.levels:
            inner = np.empty(len(nodes), np.int32)
            begun = 0
            for part in range(int(outer.max()) + 1):
                ranks = np.flatnonzero(outer == part)
                ways = min(level.ways, len(ranks))
                each, more = divmod(len(ranks), max(1, ways))
                inner[ranks] = begun + self._divided(ranks, [each + (i < more) for i in range(ways)], steps)
                begun += ways
            parts[level.name] = outer = inner
        return parts

    def add(self, name: str, nodes: Nodes, begun_s: float | None) -> None:
        parts = self._parts(nodes, self.steps if name == REFINED else 0)
        self.results.append(self._result(name, nodes, parts, 0.0 if begun_s is None else time.perf_counter() - begun_s))

    def _result(self, name: str, nodes: Nodes, parts: dict[str, Nodes], seconds: float) -> MapResult:
        step = None if self.price is None else self.price(self.traffic, nodes, parts)
        return MapResult(name, *self.traffic.score(nodes), seconds, nodes, "", self._levels(nodes, parts), parts, step)

    def _levels(self, nodes: Nodes, parts: Mapping[str, Nodes]) -> tuple[LevelScore, ...]:
        scores, counted = [], np.zeros(len(self.traffic.bytes), bool)
        for name, part in (("node", nodes), *parts.items(), ("core", None)):
            here = ~counted if part is None else self.traffic.crossing(part) & ~counted
            scores.append(LevelScore(name, int(here.sum()), int(self.traffic.bytes[here].sum())))
            counted |= here
        return tuple(scores)


def _filled(parts: Nodes, sizes: Sequence[int]) -> Nodes:
    """Give what a part has too many to the next ones that have room."""
    result = parts.copy()
    held = np.bincount(parts, minlength=len(sizes))
    spare = np.concatenate([np.flatnonzero(parts == part)[sizes[part] :] for part in range(len(sizes))])
    result[spare] = np.repeat(np.arange(len(sizes)), np.maximum(0, np.array(sizes) - held))
    return result


def _chosen(algorithms: Sequence[str]) -> dict[str, bool]:
    """Return the algorithms to run, each with whether it was named itself. Raises InputError."""
    known = (OBSERVED, BLOCKED, CYCLIC, REFINED)
    chosen: dict[str, bool] = {}
    for name in algorithms:
        if name == ALL:
            chosen |= {own: chosen.get(own, False) for own in known}
        elif name in (*known, GRAPH):
            chosen[name] = True
        else:
            near = difflib.get_close_matches(name, [ALL, *known, GRAPH], n=1, cutoff=0.4)
            mend = f"did you mean {near[0]}?" if near else f"take {ALL}, or some of {', '.join((*known, GRAPH))}"
            raise InputError(f"--algorithm '{name}' is not for a program's traffic: {mend}")
    return chosen
