"""Where ranks sit, as the model sees it: (node, socket, core) of each rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rankwise.errors import InputError
from rankwise.machine.profile import Profile

Location = tuple[int, int, int]


def locations_on_cpus(cpus: Sequence[int], place_of_cpu: Mapping[int, tuple[int, int]]) -> list[Location]:
    """Return locations on one node for ranks bound to CPUs; ``place_of_cpu`` gives (socket, core) of each."""
    return [(0, *place_of_cpu[cpu]) for cpu in cpus]


def blocked_locations(ranks: int, profile: Profile, ranks_per_node: int | None) -> list[Location]:
    """Return the scheduler's default: nodes filled one after the other, sockets of a node likewise.

    A profile without links inside a node (a published table, say) has every rank on a node of its own; one without
    links between nodes has them all on one. Raises InputError for a wrong number of ranks per node.
    """
    if ranks_per_node is not None and ranks_per_node < 1:
        raise InputError(f"ranks per node {ranks_per_node} is too small: it must be at least 1")
    if ranks_per_node is None:
        ranks_per_node = 1 if "other-node" in profile.links else ranks
    return locations_on_nodes([rank // ranks_per_node for rank in range(ranks)], profile)


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
