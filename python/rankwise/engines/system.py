"""What is simulated: a measured profile, a described machine, or the nodes of one behind the network of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.engines.network import parse_network
from rankwise.engines.placement import Location, Placement, locations_on_nodes, placement_of, profile_placement
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

    def placement(self, ranks_per_node: int | None = None, placed: str = "blocked") -> Placement:
        """Return where the scheduler puts ranks: nodes filled one after the other, or as the option says. Raises InputError."""
        if self.profile is not None and (self.machine is None or "other-node" in self.profile.links):
            return profile_placement(self.profile, ranks_per_node, placed)
        cores = self.profile.machine.get("cores") if self.profile else self.machine.get("cores") if self.machine else None
        each = ranks_per_node if ranks_per_node is not None else int(cores) if cores else 1

        def of_nodes(nodes: Sequence[int]) -> list[Location]:
            if self.profile is not None:
                return locations_on_nodes(nodes, self.profile)
            return [(node, node, rank) for rank, node in enumerate(nodes)]

        return placement_of(of_nodes, lambda ranks: each, placed)

    def platform(
        self, locations: Sequence[Location], topology: str, nodes: int | None, least_nodes: int = 1
    ) -> Platform:
        """Return a platform on which all these ranks have their place. Raises InputError where it is too small."""
        needed = max(least_nodes, max(node for node, _, _ in locations) + 1)
        return Platform(self.name, parse_network(topology, nodes, needed), sockets_of(locations), self.links)

    def require_links(self, locations: Sequence[Location]) -> None:
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
