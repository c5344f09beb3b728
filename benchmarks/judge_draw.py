"""What judge.py asks: machines of published links, and questions drawn at random."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from rankwise import _core
from rankwise.papers.wagner2024 import published
from rankwise.papers.werner2023_study import published_ping_pong
from rankwise.workloads.base import Case
from rankwise.workloads.exchange import ExchangeCase
from rankwise.workloads.stencil import StencilCase

# What simulated plain sends wait for their receivers from, in bytes.
RENDEZVOUS = [(0, 65536.0, 0.0)]
CANDIDATES = [(algorithm, mode, 1) for algorithm in ("direct", "shift", "comb") for mode in ("isend", "ssend", "send")]
_MOST_BYTES = 2e9  # of all messages of an exchange

Lines = list[tuple[int, float, float]]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Cases that answer the same question, on ranks that sit somewhere, on a machine."""

    cases: Sequence[Case]
    placement: _core.Placement
    machine: _core.Machine


def _lines(points: Sequence[tuple[int, float]]) -> Lines:
    """Return straight lines through points (bytes, seconds)."""
    lines = []
    for (small, first_s), (large, second_s) in zip(points, points[1:], strict=False):
        slope = (second_s - first_s) / (large - small)
        lines.append((small, first_s - slope * small, slope))
    return lines


@cache
def links(name: str) -> tuple[Lines, Lines, float | None]:
    """Return the lines inside a node and between nodes, and how many times one message's rate the card's is (None: unknown)."""
    if name == "wagner":
        inside, outside = (_lines(list(zip(one.sizes.tolist(), one.latency_s.tolist(), strict=True)))
                           for one in published() if one.name in ("same-socket", "other-node"))  # fmt: skip
        return inside, outside, None
    outside = _lines([(row.message_bytes, row.latency_s) for row in published_ping_pong()])
    return [(size, alpha_s / 4, beta / 3) for size, alpha_s, beta in outside], outside, 2.5


def machine_of(name: str, nodes_a_leaf: int = 0, links_up: int = 0, rendezvous: Lines = RENDEZVOUS) -> _core.Machine:
    """Return a machine; with leaf switches of so many nodes and so many links up, each as fast as a card, where given."""
    inside, outside, lanes = links(name)
    known = {
        "same-socket": {"send": inside, "rendezvous": rendezvous}, "other-node": {"send": outside, "rendezvous": rendezvous},
    }  # fmt: skip
    lane = _core.Machine(known).lane("other-node")
    shared = {} if lanes is None else {"card": {"bytes_per_s": lanes * lane}}
    levels = [(nodes_a_leaf, links_up * (lanes or 1.0) * lane)] if nodes_a_leaf else []
    return _core.Machine(known, shared, levels)


MACHINES = {name: machine_of(name) for name in ("wagner", "werner")}


def exchange_of(case: Case) -> _core.Exchange:
    assert isinstance(case, ExchangeCase)
    return case.schedules()


def drawn_bytes(rng: random.Random, most: float = 1e6) -> int:
    """Draw a size from 8 B on, as likely from one octave as from another."""
    return round(8 * (most / 8) ** rng.random())


def placed(ranks: int, ranks_per_node: int, cyclic: bool) -> _core.Placement:
    if not cyclic:
        return _core.Placement.blocked(ranks, ranks_per_node)
    return _core.Placement.on_nodes(np.arange(ranks, dtype=np.int32) % -(-ranks // ranks_per_node))


def cases_of(
    grid: tuple[int, ...], periodic: bool, cutoff: int, size_bytes: int, candidates: Sequence[tuple[str, str, int]]
) -> list[Case]:
    """Return the candidates that fit."""
    cases: list[Case] = []
    for algorithm, mode, replication in candidates:
        case = ExchangeCase(algorithm, mode, grid, (periodic,) * len(grid), cutoff, size_bytes, "full", replication)
        try:
            _core.Exchange(
                algorithm, mode, list(grid), list(case.periodic), [cutoff] * len(grid), "full", replication, "pooled"
            )
        except ValueError:
            continue  # teams that the grid cannot be dealt to
        cases.append(case)
    return cases


def _grid(rng: random.Random, least: int, most: int, periodic: bool) -> tuple[tuple[int, ...], int, int]:
    """Draw a grid of ranks, a cutoff, and a size of blocks."""
    while True:
        axes = rng.choice([1, 2, 3])
        grid = tuple(rng.randint(2, 12 if axes > 1 else most) for _ in range(axes))
        cutoff, size_bytes = rng.choice([1, 1, 2, 3]), drawn_bytes(rng)
        partners = (2 * cutoff + 1) ** axes
        if not least <= math.prod(grid) <= most or partners > 130 or partners * math.prod(grid) * size_bytes > _MOST_BYTES:
            continue
        if not periodic or all(2 * cutoff + 1 <= length for length in grid):
            return grid, cutoff, size_bytes


def draw_exchange(rng: random.Random, periodic: bool | None = None) -> Drawn:
    """16 to 216 ranks, 1 to 24 a node, blocked or cyclic, periodic or open, in 1-D to 3-D, blocks of 8 B to 1 MB."""
    wraps = rng.random() < 0.5 if periodic is None else periodic
    grid, cutoff, size_bytes = _grid(rng, 16, 216, wraps)
    placement = placed(math.prod(grid), rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 24]), rng.random() < 0.3)
    cases = cases_of(grid, wraps, cutoff, size_bytes, [*CANDIDATES, ("team-shift", "isend", 2)])
    return Drawn(cases, placement, MACHINES[rng.choice(list(MACHINES))])


def draw_large(rng: random.Random, periodic: bool) -> Drawn:
    """256 to 600 ranks on nodes that are filled one after the other."""
    grid, cutoff, size_bytes = _grid(rng, 256, 600, periodic)
    placement = placed(math.prod(grid), rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 24]), False)
    cases = cases_of(grid, periodic, cutoff, size_bytes, [*CANDIDATES, ("team-shift", "isend", 2)])
    return Drawn(cases, placement, MACHINES[rng.choice(list(MACHINES))])


def draw_tapered(rng: random.Random) -> Drawn:
    """On 8 to 16 nodes, four a leaf, two links up."""
    while True:
        wraps = rng.random() < 0.5
        grid, cutoff, size_bytes = _grid(rng, 16, 128, wraps)
        ranks_per_node = rng.choice([1, 2, 4, 8])
        if 8 <= -(-math.prod(grid) // ranks_per_node) <= 16:
            break
    placement = _core.Placement.blocked(math.prod(grid), ranks_per_node).with_levels([4])
    cases = cases_of(grid, wraps, cutoff, size_bytes, [*CANDIDATES, ("team-shift", "isend", 2)])
    return Drawn(cases, placement, machine_of(rng.choice(list(MACHINES)), 4, 2))


def draw_stencils(rng: random.Random, count: int) -> Iterator[Drawn]:
    """Random grids, mapped blocked, cyclic, at random and by two algorithms, each with one size: so many maps in all."""
    from rankwise.mapping import map_grid

    while count > 0:
        axes = rng.choice([2, 3])
        grid = tuple(rng.randint(3, 12 if axes == 2 else 6) for _ in range(axes))
        ranks = math.prod(grid)
        fitting = [n for n in (2, 3, 4, 6, 8, 9, 12, 16, 24) if ranks % n == 0 and ranks > n]
        if not fitting:
            continue
        ranks_per_node = rng.choice(fitting)
        stencil = rng.choice(["nearest-neighbor", "nearest-neighbor-with-hops", "component", "moore:1"])
        wraps = (rng.random() < 0.5,) * axes
        nodes = [rank // ranks_per_node for rank in range(ranks)]
        maps = {"random": rng.sample(nodes, ranks), "cyclic": [rank % (ranks // ranks_per_node) for rank in range(ranks)]}
        found = map_grid(
            grid, [ranks_per_node] * (ranks // ranks_per_node), stencil, list(wraps), ["blocked", "hyperplane", "refined"]
        )
        maps |= {result.algorithm: result.node_of_cell.tolist() for result in found.results if result.node_of_cell is not None}
        size_bytes, machine = drawn_bytes(rng, 262144), MACHINES[rng.choice(list(MACHINES))]
        for name, node_of_cell in list(maps.items())[:count]:
            case = StencilCase(grid, wraps, stencil, name, tuple(node_of_cell), 0, 0, size_bytes)
            yield Drawn([case], _core.Placement.on_nodes(np.asarray(node_of_cell, dtype=np.int32)), machine)
            count -= 1


def boxes(nodes: Sequence[int], box: Sequence[int]) -> tuple[tuple[int, ...], _core.Placement]:
    """Return a grid of ranks whose nodes hold boxes of it."""
    grid = tuple(n * b for n, b in zip(nodes, box, strict=True))
    at = [np.arange(length) // b for length, b in zip(grid, box, strict=True)]
    node_of_rank = np.ravel_multi_index(np.meshgrid(*at, indexing="ij"), tuple(nodes)).ravel()
    return grid, _core.Placement.on_nodes(node_of_rank.astype(np.int32))


def box_question(rng: random.Random) -> Drawn:
    """Boxes of ranks on 8 to 27 nodes of a periodic grid, exchanges that know nodes among the candidates."""
    nodes = rng.choice([(3, 3, 3), (2, 3, 3), (3, 3), (4, 4), (8,)])
    box = tuple(rng.choice([1, 2, 2, 3] if len(nodes) < 3 else [1, 2, 2]) for _ in nodes)
    if len(nodes) == 1:
        box = (rng.choice([4, 8]),)
    grid, placement = boxes(nodes, box)
    candidates = [(name, "isend", 1) for name in ("direct", "shift", "comb", "striped", "leader", "two-step")]
    return Drawn(cases_of_nodes(grid, drawn_bytes(rng, 65536), candidates), placement, MACHINES[rng.choice(list(MACHINES))])


def cases_of_nodes(grid: tuple[int, ...], size_bytes: int, candidates: Sequence[tuple[str, str, int]]) -> list[Case]:
    cutoff = 1
    return [ExchangeCase(name, mode, grid, (True,) * len(grid), cutoff, size_bytes) for name, mode, _ in candidates]


def wide_machines() -> dict[str, _core.Machine]:
    """Three machines on which exchanges differ: links in us, GB/s, a sender's
    gap in us, cards in GB/s and millions a second."""

    def machine(alpha_us: float, gb_per_s: float, gap_us: float, card_gb_per_s: float, card_millions: float) -> _core.Machine:
        send = [(0, alpha_us * 1e-6, 1e-9 / gb_per_s)]
        gap = [(0, gap_us * 1e-6, 0.0), (int(gap_us * gb_per_s * 1e3), 0.0, 1e-9 / gb_per_s)]
        inside = {
            "send": [(0, 1e-6, 1 / 8.5e9)],
            "exchange-gap": [(0, 0.15e-6, 0.0), (1275, 0.0, 1 / 8.5e9)],
            "overhead": [(0, 0.0, 0.0)],
        }
        card = {"bytes_per_s": card_gb_per_s * 1e9, "messages_per_s": card_millions * 1e6}
        between = {"send": send, "exchange-gap": gap, "overhead": [(0, 0.0, 0.0)]}
        return _core.Machine({"same-socket": inside, "other-node": between}, {"card": card})

    return {"A": machine(1.7, 3.4, 0.5, 3.4, 20), "B": machine(1.5, 12, 0.3, 24, 50), "C": machine(10, 1.2, 2, 1.2, 1)}


# Of each machine (ranks along each edge of a node's box, bytes): who wins.
_WINNERS = {
    "A": {(2, 8): "comb", (2, 512): "striped", (4, 8): "comb", (4, 512): "striped", (4, 4096): "striped"},
    "B": {(2, 8): "comb", (4, 512): "comb", (4, 4096): "comb"},
    "C": {(2, 8): "striped", (4, 8): "striped", (4, 4096): "striped"},
}


def node_aware_table() -> Iterator[tuple[str, _core.Machine, Drawn, tuple[str, ...]]]:
    """Yield (name, machine, question, winners) for machines on which messages, bytes, or neither decides."""
    for name, machine in wide_machines().items():
        for (edge, size_bytes), winner in _WINNERS[name].items():
            grid, placement = boxes((3, 3, 3), (edge,) * 3)
            cases = cases_of_nodes(grid, size_bytes, [("direct", "isend", 1)])
            yield name, machine, Drawn(cases, placement, machine), (winner,)
