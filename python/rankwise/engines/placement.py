"""Where ranks sit, as the model sees it: (node, socket, core) of each rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.workloads.base import Case

Location = tuple[int, int, int]


@dataclass(frozen=True)
class Placement:
    """Where the ranks of a case sit: as the case says whose cells are mapped to nodes, else as so many ranks are placed."""

    of_ranks: Callable[[int], Sequence[Location]]
    of_nodes: Callable[[Sequence[int]], Sequence[Location]]

    def of(self, case: Case) -> Sequence[Location]:
        return self.of_ranks(case.ranks) if case.nodes is None else self.of_nodes(case.nodes)


def placement_of(
    of_nodes: Callable[[Sequence[int]], Sequence[Location]], ranks_per_node: Callable[[int], int], placed: str = "blocked"
) -> Placement:
    """Return a placement from what places ranks whose nodes are known, and how many a node has; ``placed`` as the option."""
    return Placement(
        lru_cache(maxsize=64)(
            lambda ranks: of_nodes(node_of_each_rank(placed, ranks, ranks_per_node(ranks)))
        ),
        lru_cache(maxsize=64)(of_nodes),
    )


def node_of_each_rank(placed: str, ranks: int, ranks_per_node: int) -> tuple[int, ...]:
    """Return the node of each rank: blocked, cyclic, or as a file says. Raises InputError."""
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

    path = Path(placed)
    if not path.exists():
        raise InputError(f"--placement {placed} is neither blocked nor cyclic nor a file: write one with 'rankwise map --format'")
    found = read_mapping(path, [ranks_per_node] * nodes, "--placement")
    if len(found) != 1:
        raise InputError(f"--placement {placed} holds {len(found)} mappings ({', '.join(found)}): give a file with one")
    (nodes_of_cells,) = found.values()
    return tuple(nodes_of_cells)


def profile_placement(profile: Profile, ranks_per_node: int | None = None, placed: str = "blocked") -> Placement:
    """Return where a scheduler puts ranks: nodes filled one after the other, or as ``placed`` says; sockets likewise.

    A profile without links inside a node (a published table, say) has every rank on a node of its own; one without
    links between nodes has them all on one. Raises InputError for a placement that does not say how many a node has.
    """
    if placed != "blocked" and ranks_per_node is None:
        raise InputError(f"--placement {placed} needs --ranks-per-node")

    def each(ranks: int) -> int:
        return ranks_per_node if ranks_per_node is not None else 1 if "other-node" in profile.links else ranks

    return placement_of(lambda nodes: locations_on_nodes(nodes, profile), each, placed)


def locations_on_cpus(cpus: Sequence[int], place_of_cpu: Mapping[int, tuple[int, int]]) -> list[Location]:
    """Return locations on one node for ranks bound to CPUs; ``place_of_cpu`` gives (socket, core) of each."""
    return [(0, *place_of_cpu[cpu]) for cpu in cpus]


def blocked_locations(ranks: int, profile: Profile, ranks_per_node: int | None) -> list[Location]:
    """Return the scheduler's default for so many ranks. Raises InputError for a wrong number of ranks per node."""
    return list(profile_placement(profile, ranks_per_node).of_ranks(ranks))


def locations_on_nodes(node_of_rank: Sequence[int], profile: Profile) -> list[Location]:
    """Return the location of each rank on its node, where ranks fill one socket after the other, each a core of its own."""
    sockets = max(1, int(profile.machine.get("sockets") or 1)) if "other-socket" in profile.links else 1
    most = max(Counter(node_of_rank).values())
    per_socket = max(1, -(-min(most, int(profile.machine.get("cores") or most)) // sockets))
    seen: Counter[int] = Counter()
    locations = []
    for rank, node in enumerate(node_of_rank):
        locations.append((node, node * sockets + seen[node] // per_socket % sockets, rank))
        seen[node] += 1
    return locations
