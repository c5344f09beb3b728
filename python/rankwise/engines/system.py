"""What is simulated: a measured profile, a described machine, or the nodes of one behind the network of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise import _core
from rankwise.engines.machines import machine_of_description, machine_of_profile
from rankwise.engines.network import parse_network
from rankwise.engines.placement import Placement, Seats, placement_of, profile_placement, sockets_of
from rankwise.engines.platform import Platform
from rankwise.errors import InputError
from rankwise.machine.description import Description
from rankwise.machine.profile import LACKING, OTHER_NODE, Profile, open_profile


@dataclass(frozen=True)
class System:
    """Nodes and their links; how many there are and how they are connected is asked for each time."""

    name: str
    links: _core.Machine
    profile: Profile | None
    machine: Description | None
    hop_latency_s: float = 0.0
    notes: tuple[str, ...] = ()

    def placement(self, ranks_per_node: int | None = None, placed: str = "blocked") -> Placement:
        """Return where the scheduler puts ranks: nodes filled one after the other, or as the option says. Raises InputError."""
        if self.profile is not None and (self.machine is None or OTHER_NODE in self.profile.links):
            return profile_placement(self.profile, ranks_per_node, placed)
        cores = self.profile.machine.get("cores") if self.profile else self.machine.get("cores") if self.machine else None
        each = ranks_per_node if ranks_per_node is not None else int(cores) if cores else 1
        seats = Seats.of_profile(self.profile) if self.profile is not None else Seats()
        return placement_of(seats, lambda ranks: each, placed)

    def platform(self, placements: Sequence[_core.Placement], topology: str, nodes: int | None) -> Platform:
        """Return a platform on which all these ranks have their place. Raises InputError where it is too small."""
        needed = max(placement.nodes for placement in placements)
        sockets = max(sockets_of(placement) for placement in placements)
        return Platform(self.name, parse_network(topology, nodes, needed), sockets, self.links, self.hop_latency_s, self.notes)

    def require_links(self, placement: _core.Placement) -> None:
        """Raise InputError where ranks stand to each other as no link of the profile does."""
        if self.profile is None:
            return
        if placement.nodes > 1 and OTHER_NODE not in self.profile.links and self.machine is None:
            raise InputError(
                "the profile has no link between nodes: leave --ranks-per-node out for one node, give --machine for the "
                "network, or a table of one by 'rankwise profile import --link other-node'"
            )
        if placement.most_on_a_node > 1 and set(self.profile.links) == {OTHER_NODE}:
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
    if not 0 <= hop_latency_s < 1:
        raise InputError(f"--hop-latency {hop_latency_s} is not a latency: write it as 100ns")
    profile = open_profile(profile_path) if profile_path is not None else None
    if machine is None:
        assert profile is not None
        return system_of_profile(profile, str(profile.machine.get("hostname") or profile_path), hop_latency_s)
    links, notes = machine_of_description(machine, None if profile is None else machine_of_profile(profile))
    name = machine.title
    if profile is not None:
        name = f"nodes of {profile.machine.get('hostname') or profile_path} in the network of {machine.title}"
    return System(" ".join(name.split()), links, profile, machine, hop_latency_s, tuple(notes))


def system_of_profile(profile: Profile, name: str, hop_latency_s: float = 0.0) -> System:
    """Return the nodes that a profile knows."""
    notes = (LACKING["card"],) if "card" in profile.lacks else ()
    return System(" ".join(name.split()), machine_of_profile(profile), profile, None, hop_latency_s, notes)
