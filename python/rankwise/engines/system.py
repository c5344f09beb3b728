"""What is simulated: a measured profile, a described machine, or the nodes of one behind the network of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.engines.network import parse_network
from rankwise.engines.placement import Location, blocked_locations
from rankwise.engines.platform import Links, Platform, links_of_description, links_of_profile, sockets_of
from rankwise.errors import InputError
from rankwise.machine.description import Description
from rankwise.machine.profile import Profile


@dataclass(frozen=True)
class System:
    """Nodes and their links; how many there are and how they are connected is asked for each time."""

    name: str
    links: Links
    profile: Profile | None
    machine: Description | None

    def locations(self, ranks: int, ranks_per_node: int | None) -> list[Location]:
        """Return where the scheduler puts ranks: nodes filled one after the other. Raises InputError."""
        if self.profile is None or (self.machine is not None and "other-node" not in self.profile.links):
            cores = self.profile.machine.get("cores") if self.profile else self.machine.get("cores") if self.machine else None
            ranks_per_node = ranks_per_node or (int(cores) if cores else 1)
        if self.profile is not None:
            locations = blocked_locations(ranks, self.profile, ranks_per_node)
        else:
            if ranks_per_node is None or ranks_per_node < 1:
                raise InputError(f"ranks per node {ranks_per_node} is too small: it must be at least 1")
            locations = [(rank // ranks_per_node, rank // ranks_per_node, rank) for rank in range(ranks)]
        self._require_links(locations)
        return locations

    def platform(self, locations: Sequence[Location], topology: str, nodes: int | None) -> Platform:
        """Return a platform on which all these ranks have their place. Raises InputError where it is too small."""
        needed = max(node for node, _, _ in locations) + 1
        return Platform(self.name, parse_network(topology, nodes, needed), sockets_of(locations), self.links)

    def _require_links(self, locations: Sequence[Location]) -> None:
        """Raise InputError where ranks stand to each other as no link of the profile does."""
        if self.profile is None:
            return
        nodes = len({node for node, _, _ in locations})
        if nodes > 1 and "other-node" not in self.profile.links and self.machine is None:
            raise InputError(
                "the profile has no link between nodes: leave --ranks-per-node out for one node, give --machine for the "
                "network, or a table of one by 'rankwise profile import --link other-node'"
            )
        if nodes < len(locations) and set(self.profile.links) == {"other-node"}:
            raise InputError(
                "the profile has no link inside a node: leave --ranks-per-node out, so that each rank has a node of its own"
            )


def make_system(profile_path: Path | None, machine: Description | None, hop_latency_s: float = 0.0) -> System:
    """Put together what is simulated. Raises InputError where neither is given, or a figure is missing."""
    if profile_path is None and machine is None:
        raise InputError(
            "what is to be simulated is missing: give --profile machine.json (see 'rankwise measure') or --machine NAME "
            "(see 'rankwise machines list')"
        )
    profile = Profile.load(profile_path) if profile_path is not None else None
    inside = links_of_profile(profile) if profile is not None else None
    if machine is None:
        assert inside is not None and profile is not None
        links, name = inside, str(profile.machine.get("hostname") or profile_path)
    else:
        links, name = links_of_description(machine, inside), machine.title
        if profile is not None:
            name = f"nodes of {profile.machine.get('hostname') or profile_path} in the network of {machine.title}"
    if not 0 <= hop_latency_s < 1:
        raise InputError(f"--hop-latency {hop_latency_s} is not a latency: write it as 100ns")
    return System(" ".join(name.split()), Links(**{**links.__dict__, "hop_latency_s": hop_latency_s}), profile, machine)
