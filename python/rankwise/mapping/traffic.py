"""Placing any program: who sends how much to whom, and on which node each rank is to be.

Any program's traffic from files: what ``rankwise observe`` wrote, MatrixMarket, METIS, CSV.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise import _core
from rankwise.errors import InputError
from rankwise.files import plain, read_text
from rankwise.mapping.graph import divided_by_kahip
from rankwise.mapping.levels import Above, LevelScore, crossings
from rankwise.mapping.mapper import ALL, GRAPH, USUAL, Effort, How, Mappings, MapResult, best_of, choose, results_of, steps_of
from rankwise.observe.record import MAGIC, Record, read_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Nodes: TypeAlias = NDArray[np.int32]

OBSERVED, BLOCKED, CYCLIC, REFINED = "observed", "blocked", "cyclic", "refined"
_HEAVIEST = 2**30  # the search adds up weights in 32 bits
_WORTH_SWEEPS = 10_000  # of all pairs: a search that nobody limits comes to an end of its first rounds,
_MOST_S = 2.0  # but takes no more than about this
_MOST_THREADS = 16
_MOST_FOR_PEAK = 50_000  # ranks of a search for the bytes of the busiest node, which looks at all pairs of nodes


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
        reached = np.cumsum(self.bytes[order], dtype=float)
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


class UnsuitedError(InputError):
    """An algorithm has no placement for this input, whatever the options: where it comes from "all" it is left out."""


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
        scale = 2 * float(sent.sum(dtype=float)) / _HEAVIEST
        if scale > 1:
            sent = np.maximum(1, np.floor(sent / scale)).astype(np.int64)
        count = len(among)
        keys, inverse = np.unique(np.concatenate((a * count + b, b * count + a)), return_inverse=True)
        out, into = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        np.add.at(out, inverse[: len(a)], sent)
        np.add.at(into, inverse[len(a) :], sent)
        first = np.searchsorted(keys, np.arange(count + 1) * count)
        return cls(first.astype(np.int32), (keys % count).astype(np.int32), out.astype(np.int32), into.astype(np.int32))

    def divide(self, sizes: Sequence[int], starts: Sequence[Nodes], objective: str, effort: Effort, seed: int) -> Nodes:
        search = (effort.steps, seed, effort.seconds, effort.threads)
        return _core.divide_graph(self.first, self.others, self.out, self.into, list(sizes), list(starts), objective, search)

    def map(self, sizes: Sequence[int], above: Sequence[Above], effort: Effort, seed: int) -> Nodes:
        """Return the node of each rank: little between nodes, and less between units of ``above`` by their costs."""
        units = [list(level.unit_of_node) for level in above]
        costs = [1, *(level.cost for level in above)]
        search = (effort.steps, seed, effort.seconds, effort.threads)
        return _core.map_graph(self.first, self.others, self.out + self.into, list(sizes), units, costs, search)


def blocked(sizes: Sequence[int]) -> Nodes:
    """Return the node of each rank where one node is filled after the other."""
    return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def cyclic(sizes: Sequence[int]) -> Nodes:
    """Return the node of each rank where they are dealt out one by one, as long as a node has room."""
    turn = np.concatenate([np.arange(size) for size in sizes])
    return np.asarray(blocked(sizes)[np.lexsort((blocked(sizes), turn))])


def place_traffic(
    traffic: Traffic, node_sizes: Sequence[int], algorithms: Sequence[str] = (ALL,), how: How = USUAL
) -> Mappings:
    """Place the ranks of a program on nodes of these sizes by one or several algorithms; the cells of the result are ranks.

    ``observed`` is where they were, ``blocked`` and ``cyclic`` are what launchers do, ``refined`` searches (where ``price``
    tells what a placement costs: for the bytes in all, with and without the levels above the node, and for those of the busiest
    node, and takes what costs least), ``graph`` is KaHIP. J_sum and J_max count bytes. Raises InputError.
    """
    sizes = [int(size) for size in node_sizes]
    if sum(sizes) != traffic.ranks or min(sizes, default=0) < 1:
        raise InputError(
            f"{traffic.name} has {traffic.ranks} ranks and the nodes hold {sum(sizes)}: give as many with --nodes and --ppn, "
            "or --node-sizes"
        )
    known = (OBSERVED, BLOCKED, CYCLIC, REFINED)
    chosen = choose(algorithms, known, (*known, GRAPH), "--algorithm '{}' is not for a program's traffic")
    graph = _Graph.of(traffic)
    work = _Work(traffic, sizes, how, graph, _effort_of(graph, how))
    results, skipped = results_of(chosen, work.run, work.scored, UnsuitedError)
    results += [work.scored(name, np.array(nodes, dtype=np.int32)) for name, nodes in (how.given or {}).items()]
    return Mappings(
        grid=(traffic.ranks,), nodes=tuple(sizes), stencil=traffic.name, periodic=(False,), results=tuple(results),
        skipped=tuple(skipped), offsets=(), weights=(), objective=how.objective, bound=0, bound_kind="none",
        message_bytes=1, levels=tuple(how.levels), above=tuple(how.above),
    )  # fmt: skip


def _effort_of(graph: _Graph, how: How) -> Effort:
    """Return how long all searches together may be. Raises InputError."""
    steps, threads = how.steps, how.threads
    if steps is None and how.effort_s is None:
        steps = min(_WORTH_SWEEPS * (len(graph.others) // 2 + len(graph.first) - 1), steps_of(_MOST_S))
    if threads is None:
        threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    return Effort.of(how.effort_s, steps, threads)


def unchosen(results: Sequence[MapResult]) -> MapResult | None:
    """Return where the ranks are when nobody chooses: where they were, else blocked (None: neither is among them)."""
    return next((result for name in (OBSERVED, BLOCKED) for result in results if result.algorithm == name), None)


def unplaced(traffic: Traffic, node_sizes: Sequence[int], how: How) -> MapResult:
    """Score where the ranks are when nobody chooses. Raises InputError."""
    try:
        return place_traffic(traffic, node_sizes, [OBSERVED], how).results[0]
    except UnsuitedError:
        return place_traffic(traffic, node_sizes, [BLOCKED], how).results[0]


@dataclass
class _Work:
    """Placements of one program while they are made and scored."""

    traffic: Traffic
    sizes: list[int]
    how: How
    graph: _Graph
    effort: Effort  # of all searches together
    inner: Effort | None = None  # for the levels below the node

    def shares(self) -> Iterator[Effort]:
        """Yield what each search may take, one after the other: by the clock an equal part of what is left."""
        effort = self.effort
        end_s = time.perf_counter() + effort.seconds
        count = 1 + self.for_peak + (self.how.price is not None and bool(self.how.above)) + bool(self.how.levels)
        for left in range(count, 0, -1):
            seconds = max(1e-6, (end_s - time.perf_counter()) / left) if effort.seconds else 0.0
            yield Effort(effort.steps // count, seconds, effort.threads)

    @property
    def for_peak(self) -> bool:
        return (self.how.price is not None or self.how.objective == "j_max") and self.traffic.ranks <= _MOST_FOR_PEAK

    def run(self, name: str) -> Nodes:
        if name == BLOCKED:
            return blocked(self.sizes)
        if name == CYCLIC:
            return cyclic(self.sizes)
        if name == OBSERVED:
            return self._observed()
        if name == GRAPH:
            graph, heavy = self.graph, self.graph.out + self.graph.into
            rough = divided_by_kahip(graph.first, graph.others, heavy, self.sizes, self.how.seed)
            return _core.balance_graph(graph.first, graph.others, heavy, self.sizes, rough)
        shares = self.shares()
        nodes = self._refined(shares)
        self.inner = next(shares, None)
        return nodes

    def _observed(self) -> Nodes:
        nodes = self.traffic.node_of_rank
        if nodes is None or (nodes < 0).any():
            raise UnsuitedError(f"{self.traffic.name} does not tell where its ranks were")
        if np.bincount(nodes, minlength=len(self.sizes)).tolist() != self.sizes:
            raise UnsuitedError("it ran on other nodes than those asked for")
        return nodes.astype(np.int32)

    def _refined(self, shares: Iterator[Effort]) -> Nodes:
        objective, seed, graph = self.how.objective, self.how.seed, self.graph
        found = [graph.map(self.sizes, self.how.above, next(shares), seed)]
        if self.for_peak:
            found.append(graph.divide(self.sizes, found[:1], "j_max", next(shares), seed))
        if self.how.price is not None:
            found += [graph.map(self.sizes, (), next(shares), seed)] if self.how.above else []
            found += [blocked(self.sizes), cyclic(self.sizes)]
            with suppress(UnsuitedError):
                found.append(self._observed())
        best = best_of([self.scored("", nodes) for nodes in found], objective)
        assert best.node_of_cell is not None
        return best.node_of_cell

    def _divided(self, ranks: NDArray[np.int64], sizes: Sequence[int], effort: Effort | None) -> Nodes:
        """Divide some ranks among parts of these sizes, with the share of the effort that they are of all ranks."""
        plain = blocked(sizes)
        if len(sizes) == 1 or effort is None:
            return plain
        part = len(ranks) / self.traffic.ranks
        share = Effort(max(1, int(effort.steps * part)), effort.seconds * part, effort.threads)
        return _Graph.of(self.traffic, ranks).map(sizes, (), share, self.how.seed)

    def _parts(self, nodes: Nodes, effort: Effort | None) -> dict[str, Nodes]:
        """Divide each node's ranks among its sockets, and these among theirs; without effort in the order of ranks."""
        parts: dict[str, Nodes] = {}
        outer = nodes
        for level in self.how.levels:
            inner = np.empty(len(nodes), np.int32)
            begun = 0
            for part in range(int(outer.max()) + 1):
                ranks = np.flatnonzero(outer == part)
                ways = min(level.ways, len(ranks))
                each, more = divmod(len(ranks), max(1, ways))
                inner[ranks] = begun + self._divided(ranks, [each + (i < more) for i in range(ways)], effort)
                begun += ways
            parts[level.name] = outer = inner
        return parts

    def scored(self, name: str, nodes: Nodes, begun_s: float | None = None) -> MapResult:
        parts = self._parts(nodes, self.inner if name == REFINED else None)
        seconds = 0.0 if begun_s is None else time.perf_counter() - begun_s
        step = None if self.how.price is None else self.how.price(self.traffic, nodes, parts)
        farther = crossings(self.how.above, nodes, lambda unit: self.traffic.score(unit)[0])
        levels = self._levels(nodes, parts)
        return MapResult(name, *self.traffic.score(nodes), seconds, nodes, "", levels, parts, step, above=farther)

    def _levels(self, nodes: Nodes, parts: Mapping[str, Nodes]) -> tuple[LevelScore, ...]:
        scores, counted = [], np.zeros(len(self.traffic.bytes), bool)
        for name, part in (("node", nodes), *parts.items(), ("core", None)):
            here = ~counted if part is None else self.traffic.crossing(part) & ~counted
            scores.append(LevelScore(name, int(here.sum()), int(self.traffic.bytes[here].sum())))
            counted |= here
        return tuple(scores)


_FIX = (
    "give a MatrixMarket coordinate matrix, a METIS graph, a CSV of bytes with a line a rank, or what 'rankwise observe' wrote"
)
_MOST_RANKS = 10_000_000
_MOST_BYTES = 2**53  # of all weights together


def traffic_of(record: Record, name: str) -> Traffic:
    """Return what an observed program sent; what was fetched from a rank counts as sent by it."""
    source = np.repeat(np.arange(record.ranks), np.diff(record.pointer))
    sent = record.bytes.astype(np.int64) + record.pulled.astype(np.int64)
    messages = np.maximum(record.messages.astype(np.int64), record.pulled > 0)
    nodes = np.asarray(record.node_of_rank, dtype=np.int32)
    known = {} if (nodes < 0).any() else {"node_of_rank": nodes, "hosts": record.hosts}
    return Traffic.of_pairs(name, record.ranks, (source, record.peer, sent), messages, **known)


def read_graph(path: Path) -> Traffic:
    """Read a graph whose vertices are ranks and whose weights are bytes.

    MatrixMarket (the rank of the row sends to that of the column), METIS (each edge is sent once each way), CSV (a line of
    bytes for each rank), or a record of ``rankwise observe``. Raises InputError, with the line, for ranks that send to
    themselves, edges that are missing or stand at one end only, and weights that are negative or no whole numbers.
    """
    try:
        with plain(path).open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return traffic_of(read_record(path), path.name)
    except OSError:
        pass  # the next reader says it
    text = _Text(path, read_text(path, "--graph", _FIX).splitlines())
    first = next((line for line in text.lines if line.strip()), "")
    if not first:
        raise InputError(f"--graph {path} is empty: {_FIX}")
    read = _matrix_market if first.lower().startswith("%%matrixmarket") else _csv if "," in first else _metis
    ranks, sent = read(text)
    if sum(weight for *_, weight in sent) >= _MOST_BYTES:
        raise InputError(f"--graph {path}: its weights come to 2^53 or more: give them in larger units")
    return Traffic.of_pairs(path.name, ranks, tuple(np.array(sent, np.int64).reshape(-1, 3).T))


_Sent = list[tuple[int, int, int]]  # sender, receiver, bytes


@dataclass
class _Text:
    """A file's lines; what is wrong with one is told with its number."""

    path: Path
    lines: list[str]

    def wrong(self, number: int, what: str) -> InputError:
        return InputError(f"--graph {self.path}, line {number}: {what}")

    def rows(self, comment: str, blank: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Return the words of each line and its number, without comments and, unless ``blank``, empty lines."""
        for number, line in enumerate(self.lines, 1):
            if not line.startswith(comment) and (blank or line.strip()):
                yield number, line.split()

    def whole(self, number: int, word: str, what: str) -> int:
        try:
            value = float(word)
            if not value.is_integer():
                raise self.wrong(number, f"{what} {word} is no whole number: give bytes")
        except (ValueError, OverflowError):
            raise self.wrong(number, f"'{word[:20]}' is no number: {what} is missing") from None
        if value < 0:
            raise self.wrong(number, f"{what} {word} is negative: give 0 or more")
        return int(value)

    def rank(self, number: int, word: str, ranks: int, own: int | None = None) -> int:
        """Return the rank, from 0, of a word that counts from 1; ``own`` is the one that must not be named."""
        value = self.whole(number, word, "the rank")
        if not 1 <= value <= ranks:
            raise self.wrong(number, f"rank {word} does not exist: ranks count from 1 to {ranks}")
        if value - 1 == own:
            raise self.wrong(number, f"rank {word} sends to itself: leave that out")
        return value - 1

    def ranks(self, number: int, word: str) -> int:
        value = self.whole(number, word, "the number of ranks")
        if not 1 <= value <= _MOST_RANKS:
            raise self.wrong(number, f"{word} ranks: give 1 to {_MOST_RANKS}")
        return value


def _matrix_market(text: _Text) -> tuple[int, _Sent]:
    words = text.lines[0].lower().split()
    known = len(words) == 5 and words[3] in ("real", "integer", "pattern") and words[4] in ("general", "symmetric")
    if not known or words[1:3] != ["matrix", "coordinate"]:
        raise text.wrong(1, "it is no 'matrix coordinate', 'real', 'integer' or 'pattern', 'general' or 'symmetric'")
    with_values, mirrored = words[3] != "pattern", words[4] == "symmetric"
    rows = text.rows("%")
    at, size = next(rows, (len(text.lines), []))
    if len(size) != 3:
        raise text.wrong(at, "rows, columns and entries are missing")
    if size[0] != size[1]:
        raise text.wrong(at, f"{size[0]} rows and {size[1]} columns are no square: give a row and a column for each rank")
    ranks, entries = text.ranks(at, size[0]), text.whole(at, size[2], "the number of entries")
    pairs: _Sent = []
    found = 0
    for at, row in rows:
        found += 1
        if len(row) != 2 + with_values:
            raise text.wrong(at, f"{len(row)} words, not {2 + with_values}")
        a = text.rank(at, row[0], ranks)
        b = text.rank(at, row[1], ranks, own=a)
        sent = text.whole(at, row[2], "the weight") if with_values else 1
        pairs += [(a, b, sent), (b, a, sent)] if mirrored else [(a, b, sent)]
    if found != entries:
        raise text.wrong(at, f"the last of {found} entries, and the head promises {entries}")
    return ranks, pairs


def _metis(text: _Text) -> tuple[int, _Sent]:
    rows = text.rows("%", blank=True)
    at, head = next(rows, (1, []))
    if not 2 <= len(head) <= 4:
        raise text.wrong(at, f"it is no graph that is understood: {_FIX}")
    ranks, edges = text.ranks(at, head[0]), text.whole(at, head[1], "the number of edges")
    form = (head[2] if len(head) > 2 else "0").zfill(3)
    if len(form) > 3 or set(form) - {"0", "1"}:
        raise text.wrong(at, f"the format {head[2]} is unknown: give 0, 1, 10, 11, 100 or so")
    constraints = text.whole(at, head[3], "the number of weights") if len(head) > 3 else 1
    skip = (form[0] == "1") + (constraints if form[1] == "1" else 0)
    stride = 1 + (form[2] == "1")
    pairs: dict[tuple[int, int], int] = {}
    own = 0
    line_of: list[int] = []
    for at, words in rows:
        line_of.append(at)
        if own == ranks:
            if words:
                raise text.wrong(at, f"a line more than the {ranks} vertices of the head")
            continue
        others, sent = words[skip::stride], words[skip + 1 :: stride] if stride == 2 else []
        if stride == 2 and len(sent) != len(others):
            raise text.wrong(at, "the last edge has no weight")
        for i, word in enumerate(others):
            other = text.rank(at, word, ranks, own)
            pairs[own, other] = pairs.get((own, other), 0) + (text.whole(at, sent[i], "the weight") if sent else 1)
            if other < own and pairs.get((other, own)) is None:
                raise text.wrong(at, f"the edge to vertex {word} does not stand there: name it at both ends")
        own += 1
    if own < ranks:
        raise text.wrong(at, f"the last of {own} vertices, and the head promises {ranks}")
    for (a, b), sent_there in pairs.items():
        if pairs.get((b, a)) != sent_there:
            raise text.wrong(line_of[a], f"the edge from {a + 1} to {b + 1} does not weigh the same at both: fix one end")
    if len(pairs) != 2 * edges:
        raise InputError(f"--graph {text.path}: it has {len(pairs) // 2} edges, and its head promises {edges}: fix the head")
    return ranks, [(*ends, sent) for ends, sent in pairs.items()]


def _csv(text: _Text) -> tuple[int, _Sent]:
    pairs: _Sent = []
    rows = [(at, line.split(",")) for at, line in enumerate(text.lines, 1) if line.strip() and not line.startswith("#")]
    for own, (at, words) in enumerate(rows):
        if len(words) != len(rows):
            raise text.wrong(at, f"{len(words)} columns and {len(rows)} lines are no square: give each rank both")
        for other, word in enumerate(words):
            sent = text.whole(at, word.strip(), f"column {other + 1}")
            if sent and other == own:
                raise text.wrong(at, f"rank {own + 1} sends to itself: write 0 in column {own + 1}")
            if sent:
                pairs.append((own, other, sent))
    return len(rows), pairs
