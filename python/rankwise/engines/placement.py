"""Where ranks sit, for the engines: the core's placements, made as a scheduler, a map, or a file says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rankwise import _core
from rankwise.errors import InputError
from rankwise.machine.profile import OTHER_NODE, Profile
from rankwise.workloads.base import Case


@dataclass(frozen=True)
class Placement:
    """Where the ranks of a case sit: as the case says whose cells are mapped to nodes, else as so many ranks are placed."""

    of_ranks: Callable[[int], _core.Placement]
    of_nodes: Callable[[Sequence[int]], _core.Placement]

    def of(self, case: Case) -> _core.Placement:
        return self.of_ranks(case.ranks) if case.nodes is None else self.of_nodes(case.nodes)


@dataclass(frozen=True)
class Seats:
    """How ranks fill a node: its sockets one after the other, each with as many; ``levels``: nodes in a unit of switches."""

    sockets: int = 1
    levels: tuple[int, ...] = ()

    @staticmethod
    def of_profile(profile: Profile) -> Seats:
        """Return the seats of a profile's nodes: sockets where it has measured between them."""
        sockets = int(profile.machine.get("sockets") or 1) if "other-socket" in profile.links else 1
        return Seats(max(1, sockets), tuple(level.nodes for level in profile.shared.levels))

    def blocked(self, ranks: int, ranks_per_node: int) -> _core.Placement:
        """Return nodes filled one after the other; the same one when asked again, where that is no burden."""
        return (_kept if ranks <= MOST_KEPT else Seats._blocked)(self, ranks, ranks_per_node)

    def _blocked(self, ranks: int, ranks_per_node: int) -> _core.Placement:
        most = min(ranks, ranks_per_node)
        per_socket = -(-most // self.sockets) if self.sockets > 1 else 0
        return self._with_levels(_core.Placement.blocked(ranks, most, per_socket))

    def on_nodes(self, node_of_rank: Sequence[int]) -> _core.Placement:
        """Return each rank on its node, on the sockets in the order of ranks."""
        if self.sockets == 1:
            import numpy as np

            return self._with_levels(_core.Placement.on_nodes(np.asarray(node_of_rank, dtype=np.int32)))
        ranks_on = Counter(node_of_rank)
        seen: Counter[int] = Counter()
        places = []
        for rank, node in enumerate(node_of_rank):
            per_socket = -(-ranks_on[node] // self.sockets)
            places.append((node, node * self.sockets + seen[node] // per_socket, -1, rank))
            seen[node] += 1
        return self._with_levels(_core.Placement.at(places))

    def _with_levels(self, placement: _core.Placement) -> _core.Placement:
        return placement.with_levels(list(self.levels)) if self.levels else placement


MOST_KEPT = 2**16  # ranks: a placement of more would take the memory that its map needs
# What is judged is kept by its placement: one made anew each time would never be met again.
_kept = lru_cache(maxsize=64)(Seats._blocked)


def placement_of(seats: Seats, ranks_per_node: Callable[[int], int], placed: str = "blocked") -> Placement:
    """Return a placement of any number of ranks, so many a node; ``placed`` as the option. Raises InputError when asked."""

    def of_ranks(ranks: int) -> _core.Placement:
        each = ranks_per_node(ranks)
        try:
            if placed == "blocked":
                return seats.blocked(ranks, each)
            return seats.on_nodes(node_of_each_rank(placed, ranks, each))
        except ValueError as error:
            raise InputError(str(error)) from None

    return Placement(lru_cache(maxsize=64)(of_ranks), lru_cache(maxsize=64)(seats.on_nodes))


def node_of_each_rank(placed: str, ranks: int, ranks_per_node: int, hosts: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the node of each rank: blocked, cyclic, or as a file says, whose ``hosts`` are the nodes where it names these.

    Raises InputError.
    """
    if ranks_per_node < 1:
        raise InputError(f"ranks per node {ranks_per_node} is too small: it must be at least 1")
    if placed == "blocked":
        return tuple(rank // ranks_per_node for rank in range(ranks))
    if ranks % ranks_per_node:
        raise InputError(f"{ranks} ranks are no multiple of {ranks_per_node} a node: give each node as many")
    nodes = ranks // ranks_per_node
    if placed == "cyclic":
        return tuple(rank % nodes for rank in range(ranks))
    from rankwise.mapping.reading import read_mapping

    _require_known(placed)
    path, name = _file_and_name(placed)
    held = read_mapping(path, [ranks_per_node] * nodes, "--placement", hosts[:nodes])
    found = {key: nodes_of_cells for key, nodes_of_cells in held.items() if key.endswith(name)}
    if len(found) != 1:
        raise InputError(f"--placement {placed} is not one of the mappings of {path}: give one of {', '.join(held)}")
    (nodes_of_cells,) = found.values()
    return tuple(nodes_of_cells)


def _file_and_name(placed: str) -> tuple[Path, str]:
    """Of ``FILE:NAME``, one of the mappings of a file, the file and ``:NAME``; of a file alone no name."""
    file, colon, name = placed.rpartition(":")
    return (Path(placed), "") if Path(placed).exists() or not colon else (Path(file), colon + name)


def _require_known(placed: str) -> None:
    if placed not in ("blocked", "cyclic") and not _file_and_name(placed)[0].exists():
        raise InputError(
            f"--placement {placed} is neither blocked nor cyclic nor a file: write one with 'rankwise map --format'"
        )


def profile_placement(profile: Profile, ranks_per_node: int | None = None, placed: str = "blocked") -> Placement:
    """Return where a scheduler puts ranks: nodes filled one after the other, or as ``placed`` says; sockets likewise.

    A profile without links inside a node (a published table, say) has every rank on a node of its own; one without
    links between nodes has them all on one. Raises InputError for a placement that does not say how many a node has.
    """
    if placed != "blocked" and ranks_per_node is None:
        _require_known(placed)
        raise InputError(f"--placement {placed} needs --ranks-per-node")

    def each(ranks: int) -> int:
        return ranks_per_node if ranks_per_node is not None else 1 if OTHER_NODE in profile.links else ranks

    return placement_of(Seats.of_profile(profile), each, placed)


def nodes_of(placement: _core.Placement) -> list[int]:
    """Return the node of every rank."""
    return [placement.node(rank) for rank in range(placement.ranks)]


def sockets_of(placement: _core.Placement) -> int:
    """Return the most sockets that any node uses."""
    used: dict[int, set[int]] = {}
    for rank in range(placement.ranks):
        node, socket, _, _ = placement.location(rank)
        used.setdefault(node, set()).add(socket)
    return max(len(sockets) for sockets in used.values())
