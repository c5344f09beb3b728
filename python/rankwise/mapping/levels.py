"""Levels of a machine: messages between nodes, between a node's sockets or NUMA domains, between cores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.problem import Problem
from rankwise.records import Record, key, record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankwise.machine.profile import Profile
    from rankwise.machine.switches import Switches

INNER = ("socket", "numa", "l3")
ABOVE = ("switch", "group")
_COSTS = (5, 10)  # of a byte that leaves a switch, a group, where nobody says more; between nodes of a switch it costs 1


@record
class Inner(Record):
    """A level below the node: each part of the level above it holds ``ways`` of these (``socket``, ``numa`` or ``l3``)."""

    name: str = key("name of the level: node, those below, or core", name="level")
    ways: int = key("parts of this level in each part of the level above")


@dataclass(frozen=True)
class Above:
    """A level above the node (``switch``, ``group``): the unit of each node, and what a byte between its units costs.

    A byte between nodes of one unit of the innermost level costs 1; costs do not fall outwards.
    """

    name: str
    unit_of_node: tuple[int, ...]
    cost: int


def between(level: str) -> str:
    """Say between what messages go that cross a level, by its name."""
    return f"between {_PLURALS.get(level, f'{level}s')}"


_PLURALS = {"numa": "NUMA domains", "switch": "switches"}


@dataclass(frozen=True)
class Crossing:
    """What a placement sends between the units of a level above the node, in the unit of J_sum."""

    level: Above
    sent: int


@record
class LevelScore(Record):
    """The messages that cross the parts of this level but stay within one part of the level above it.

    ``edges`` counts directed edges, each once, ``bytes`` what they carry.
    """

    level: str = key("name of the level: node, those below, or core")
    edges: int = key("messages that cross there and at no level above")
    bytes: int = key("bytes of those messages")


@dataclass(frozen=True)
class Unit:
    """A level above the node as it was asked for: how many of the level below it holds (None: a topology says it), its cost."""

    name: str
    each: int | None
    cost: int | None


def parse_levels(text: str) -> tuple[list[Inner], list[Unit]]:
    """Read levels below and above the node.

    Below, the outer first: ``socket:2``, ``numa:4``, ``l3:8``, ``socket:2,l3:4``: how many a part of the level above has.
    Above, the inner first: ``switch:16`` (nodes), ``group:4`` (switches), each with what a byte costs that leaves it:
    ``switch:16*5``. Raises InputError.
    """
    inner: list[Inner] = []
    above: list[Unit] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-z0-9]+)\s*(?::\s*(\d{1,6}))?\s*(?:\*\s*(\d{1,4}))?\s*", part)
        name = "" if match is None else match[1]
        count = None if match is None or match[2] is None else int(match[2])
        if match is None or count == 0 or not (name in ABOVE or (name in INNER and count and match[3] is None)):
            raise InputError(f"--levels '{text}' is not understood: write it as socket:2,l3:4 or switch:16*5,group:4")
        if name in ABOVE:
            above.append(Unit(name, count, None if match[3] is None else int(match[3])))
        else:
            inner.append(Inner(name, count or 1))
    for names, known in (([level.name for level in inner], INNER), ([unit.name for unit in above], ABOVE)):
        if names != [name for name in known if name in names]:
            raise InputError(
                f"--levels '{text}' has its levels twice or in another order: write socket:2,numa:4 or switch:16,group:4"
            )
    return inner, above


def levels_asked(units: Sequence[Unit], nodes: int) -> list[Above]:
    """Return the levels of units that are filled one after the other. Raises InputError where they do not divide the nodes."""
    each = 1
    found = []
    for unit in units:
        if unit.each is None:
            raise InputError(f"--levels {unit.name} needs a number: write {unit.name}:4, or give --topology")
        each *= unit.each
        if nodes % each:
            raise InputError(
                f"--levels {unit.name}:{unit.each} does not divide the {nodes} nodes: give --topology for uneven ones"
            )
        found.append((unit.name, tuple(node // each for node in range(nodes))))
    return _priced(found, [unit.cost for unit in units])


def levels_read(switches: Switches, hosts: Sequence[str], units: Sequence[Unit]) -> list[Above]:
    """Return the levels above these hosts; ``units`` may say what they cost. Raises InputError."""
    if any(unit.each is not None for unit in units):
        raise InputError("--topology says how many nodes a switch has: leave the numbers of --levels above the node out")
    costs = {unit.name: unit.cost for unit in units}
    names = (*ABOVE, *(f"level {i}" for i in range(3, 100)))
    found = [(names[i], unit) for i, unit in enumerate(switches.of_hosts(hosts))]
    return _priced(found, [costs.get(name) for name, _ in found])


def _priced(found: Sequence[tuple[str, tuple[int, ...]]], costs: Sequence[int | None]) -> list[Above]:
    above: list[Above] = []
    for i, (name, unit) in enumerate(found):
        least = above[-1].cost if above else 1
        cost = costs[i]
        if cost is not None and not least <= cost <= 1024:
            raise InputError(f"--levels {name} costs {cost}: give {least} to 1024, what lies farther out costs no less")
        above.append(Above(name, unit, max(least, _COSTS[min(i, 1)]) if cost is None else cost))
    return above


def crossings(
    above: Sequence[Above], node_of_cell: NDArray[np.int32], sent_between: Callable[[NDArray[np.int32]], int]
) -> tuple[Crossing, ...]:
    """Return what a placement sends between the units of each level; ``sent_between`` tells it by the part of every cell."""
    return tuple(Crossing(level, sent_between(np.array(level.unit_of_node, dtype=np.int32)[node_of_cell])) for level in above)


def seats(above: Sequence[Above], widths: Sequence[int]) -> list[int]:
    """Return each node's number on a machine whose units hold so many nodes (the inner first): units stand apart, filled in
    order.

    Raises InputError where a unit has more nodes than that, or there are other levels.
    """
    if len(above) != len(widths):
        raise InputError(
            f"the machine has {len(widths)} levels of switches and the nodes have {len(above)}: describe both alike"
        )
    count, each = len(above[0].unit_of_node), 1
    seat, inside = [0] * count, tuple(range(count))
    outer = [*(level.unit_of_node for level in above), (0,) * count]
    for i, unit_of_node in enumerate(outer):
        place: dict[int, int] = {}  # of each unit (at first: node) within the unit around it
        begun = Counter[int]()
        for unit, around in dict.fromkeys(zip(inside, unit_of_node, strict=True)):
            place[unit] = begun[around]
            begun[around] += 1
        seat = [own + each * place[unit] for own, unit in zip(seat, inside, strict=True)]
        if i < len(above) and max(seat) >= widths[i]:
            raise InputError(
                f"a {above[i].name} of the nodes holds more than the {widths[i]} of the machine: describe both alike"
            )
        inside, each = unit_of_node, widths[min(i, len(above) - 1)]
    return seat


def levels_of(profile: Profile) -> list[Inner]:
    """Return the levels below the node that a profile tells apart: where it has measured between its sockets, or within and
    outside the largest caches, of which hwloc has told how many there are."""
    sockets = int(profile.machine.get("sockets") or 1)
    found = [Inner("socket", sockets)] if sockets > 1 and "other-socket" in profile.links else []
    caches = [cache["count"] for cache in profile.machine.get("caches") or () if cache["level"] == 3]
    if len(caches) == 1 and {"shared-cache", "same-socket"} <= set(profile.links):
        each, more = divmod(caches[0], sockets if found else 1)
        found += [Inner("l3", each)] if each > 1 and not more else []
    return found


def levels_above(machine: _core.Machine, nodes: int) -> list[Above]:
    """Return the levels of switches of a machine whose units are filled one after the other.

    A byte that leaves a unit costs 1 more for each time that the links up are slower than the cards of the unit's nodes.
    """
    found: list[Above] = []
    cost = 1
    for number, (each, up_bytes_per_s) in enumerate(machine.levels):
        card = machine.card_bytes_per_s
        taper = each * card / up_bytes_per_s if card else 1.0
        cost = min(1024, cost + max(1, round(taper)))
        found.append(Above(ABOVE[min(number, 1)], tuple(node // each for node in range(nodes)), cost))
    return found


def divide_levels(
    problem: Problem, node_of_cell: NDArray[np.int32], levels: Sequence[Inner], steps: int, seed: int
) -> list[NDArray[np.int32]]:
    """Return the part of every cell at each level below the node; ``steps`` of search are shared by the levels."""
    parts, sizes = node_of_cell, problem.nodes
    found = []
    for level in levels:
        parts, sizes = problem.core.divide_level(parts, sizes, level.ways, steps // len(levels), seed)
        found.append(parts)
    return found


def score_levels(
    problem: Problem,
    node_of_cell: NDArray[np.int32],
    inner: Sequence[NDArray[np.int32]],
    levels: Sequence[Inner],
    message_bytes: int,
) -> tuple[LevelScore, ...]:
    """Count the messages at each level: ``node``, those of ``levels``, and ``core`` for what is left."""
    names = ["node", *(level.name for level in levels), "core"]
    edges = [0] * len(names)
    volume = [0] * len(names)
    for weight in sorted(set(problem.weights)):
        alike = problem.with_offsets(weight).core
        beyond = 0
        for i, name in enumerate(names):
            crossing = alike.total_edges() if name == "core" else alike.score([node_of_cell, *inner][i])[0]
            here, beyond = crossing - beyond, crossing
            edges[i] += here
            volume[i] += here * weight * message_bytes
    return tuple(LevelScore(name, edges[i], volume[i]) for i, name in enumerate(names))


_STEPS = 20_000_000
_WORTH_SWEEPS = 10_000  # of all pairs of nodes that talk


def seat_nodes(problem: Problem, node_of_cell: NDArray[np.int32], above: Sequence[Above]) -> NDArray[np.int32]:
    """Return a map with its nodes, all of one size, renumbered so that little goes between the units of ``above`` (at least one
    level). Only whole nodes change their places.
    """
    first, others, weights = problem.core.stencil_graph()
    count = len(problem.nodes)
    own, other = node_of_cell[np.repeat(np.arange(len(first) - 1), np.diff(first))].astype(np.int64), node_of_cell[others]
    apart = own != other
    keys, inverse = np.unique(own[apart] * count + other[apart], return_inverse=True)
    sums = np.bincount(inverse, weights[apart], len(keys))
    sums = np.maximum(1, np.floor(sums / max(1.0, float(sums.sum()) / 2**30)))
    pointer = np.searchsorted(keys, np.arange(count + 1) * count).astype(np.int32)
    units = np.array(above[0].unit_of_node)
    room = np.bincount(units).tolist()
    outer = [[level.unit_of_node[int(np.flatnonzero(units == unit)[0])] for unit in range(len(room))] for level in above[1:]]
    costs = [level.cost for level in above]
    steps = min(_STEPS, _WORTH_SWEEPS * (len(keys) + count))
    unit_of_node = _core.map_graph(
        pointer, (keys % count).astype(np.int32), sums.astype(np.int32), room, outer, costs, (steps, 1, 0.0, 1)
    )
    seat = np.empty(count, np.int32)
    for unit in range(len(room)):
        seat[np.flatnonzero(unit_of_node == unit)] = np.flatnonzero(units == unit)
    return seat[node_of_cell]
