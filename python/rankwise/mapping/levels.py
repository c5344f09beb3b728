"""Levels of a machine: messages between nodes, between a node's sockets or NUMA domains, between cores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping.problem import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankwise.machine.profile import Profile

INNER = ("socket", "numa")


@dataclass(frozen=True)
class Inner:
    """A level below the node: each part of the level above it holds ``ways`` of these (``socket`` or ``numa``)."""

    name: str
    ways: int


@dataclass(frozen=True)
class Above:
    """A level above the node (``switch``, ``group``): the unit of each node, and what a byte between its units costs.

    A byte between nodes of one unit of the innermost level costs 1; costs do not fall outwards.
    """

    name: str
    unit_of_node: tuple[int, ...]
    cost: int


@dataclass(frozen=True)
class LevelScore:
    """The messages that cross the parts of this level but stay within one part of the level above it.

    ``edges`` counts directed edges, each once, ``bytes`` what they carry.
    """

    level: str
    edges: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return {"level": self.level, "edges": self.edges, "bytes": self.bytes}


def parse_levels(text: str) -> list[Inner]:
    """Read levels below the node, the outer first: ``socket:2``, ``numa:4``, ``socket:2,numa:4``. Raises InputError."""
    levels = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-z]+)\s*:\s*(\d{1,6})\s*", part)
        if match is None or match[1] not in INNER or int(match[2]) < 1:
            raise InputError(f"--levels '{text}' is not understood: write it as socket:2, numa:4 or socket:2,numa:4")
        levels.append(Inner(match[1], int(match[2])))
    if [level.name for level in levels] not in (["socket"], ["numa"], ["socket", "numa"]):
        raise InputError(f"--levels '{text}' has its levels twice or inside out: write socket:2,numa:4")
    return levels


def levels_of(profile: Profile) -> list[Inner]:
    """Return the levels below the node that a profile tells apart: its sockets, where it has measured between them."""
    sockets = int(profile.machine.get("sockets") or 1)
    return [Inner("socket", sockets)] if sockets > 1 and "other-socket" in profile.links else []


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
        found.append(Above(("switch", "group")[min(number, 1)], tuple(node // each for node in range(nodes)), cost))
    return found


def divide_levels(
    problem: Problem, node_of_cell: NDArray[np.int32], levels: Sequence[Inner], steps: int, seed: int
) -> list[NDArray[np.int32]]:
    """Return the part of every cell at each level below the node; ``steps`` of search are shared by the levels."""
    parts, sizes = node_of_cell, problem.nodes
    found = []
    for level in levels:
        parts, sizes = _core.divide_level(
            problem.dims, problem.periodic, problem.offsets, problem.weights, parts, sizes, level.ways,
            steps // len(levels), seed,
        )  # fmt: skip
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
        alike = problem.with_offsets(weight)
        beyond = 0
        for i, name in enumerate(names):
            if name == "core":
                crossing = _core.total_edges(alike.dims, alike.periodic, alike.offsets)
            else:
                crossing = _core.score(alike.dims, alike.periodic, alike.offsets, [node_of_cell, *inner][i])[0]
            here, beyond = crossing - beyond, crossing
            edges[i] += here
            volume[i] += here * weight * message_bytes
    return tuple(LevelScore(name, edges[i], volume[i]) for i, name in enumerate(names))
