"""The platform that SimGrid simulates: nodes, their links and what is between them, as a file that a person can read.

The file is read by src/simgrid/platform_file.hpp: a key and its values on each line, ``#`` before a comment. A message takes
alpha + beta * bytes of the ``segment`` that its size falls into while it has its links to itself; messages that meet
share the bandwidth of a node's card (each way), of the links between switches, and of a node's memory. All figures are
those of the machine that the model asks (``_core.Machine``).

What is simulated: a measured profile, a described machine, or the nodes of one behind the network of the other.

The network between simulated nodes: its topology, as it is asked for and as SimGrid builds it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern

from rankwise import _core
from rankwise.engines.machines import machine_of_description, machine_of_profile
from rankwise.engines.placement import Placement, Seats, placement_of, profile_placement, sockets_of
from rankwise.errors import InputError
from rankwise.factors import balanced_grid
from rankwise.launch.smpi import SMPI_EAGER_BYTES, Simulation
from rankwise.machine.description import Description
from rankwise.machine.profile import LACKING, OTHER_NODE, Profile, open_profile

TOPOLOGIES = ("crossbar", "fat-tree", "torus", "dragonfly")
_FIX = "choose one of crossbar, fat-tree:16x4:2 (nodes a leaf x leaves : taper), torus:4x4x4 or dragonfly:4x4x4"
_MOST_NODES = 100_000


@dataclass(frozen=True)
class Network:
    """A topology with its sizes, which multiply up to its nodes.

    crossbar: one switch. fat-tree: (nodes a leaf switch, leaf switches), and for ``taper`` nodes of a leaf one link up.
    torus: its axes. dragonfly: (groups, routers a group, nodes a router).
    """

    topology: str
    sizes: tuple[int, ...]
    taper: int = 1

    @property
    def nodes(self) -> int:
        return math.prod(self.sizes)

    @property
    def nearest_links(self) -> int:
        """Links between two nodes that are as near as can be, with the NIC and the lane that SimGrid has of each node."""
        return {"torus": 5}.get(self.topology, 6)

    def label(self) -> str:
        """Write it as it is asked for."""
        sizes = "x".join(map(str, self.sizes))
        return f"{self.topology}:{sizes}" + (f":{self.taper}" if self.topology == "fat-tree" else "")

    def lines(self) -> list[str]:
        """Return its lines of a platform file."""
        if self.nodes == 1:  # no links, which SimGrid refuses of a torus: a crossbar's
            return ["topology fat-tree", "down 1", "up 1"]
        if self.topology in ("torus", "dragonfly"):
            return [f"topology {self.topology}", f"sizes {' '.join(map(str, self.sizes))}"]
        # For SimGrid a crossbar is a fat tree of one level. From the bottom: so many below each switch, so many above.
        if self.topology == "crossbar":
            return ["topology fat-tree", f"down {self.nodes}", "up 1"]
        leaf, leaves = self.sizes
        return ["topology fat-tree", f"down {leaf} {leaves}", f"up 1 {leaf // self.taper}"]


def parse_network(text: str, nodes: int | None, needed: int) -> Network:
    """Read a topology such as ``fat-tree:16x4:2``; without sizes it is made for ``nodes``, or else for those needed.

    Raises InputError where the sizes do not multiply up to ``nodes``, or are too few for those needed.
    """
    match = re.fullmatch(r"([a-z-]+)(?::(\d{1,9}(?:x\d{1,9})*))?(?::(\d{1,9}))?", text.strip().lower())
    if match is None or match[1] not in TOPOLOGIES:
        raise InputError(f"--topology '{text}' is none that is known: {_FIX}")
    name, taper = match[1], int(match[3] or 1)
    wanted = nodes if nodes is not None else needed
    if match[2] is None:
        network = Network(name, _default_sizes(name, wanted))
    else:
        network = Network(name, tuple(int(size) for size in match[2].split("x")), taper)
    _check(network, text)
    if match[2] is not None and nodes is not None and network.nodes != nodes:
        raise InputError(
            f"--topology {text} has {'x'.join(map(str, network.sizes))} = {network.nodes} nodes but --nodes is {nodes}: "
            "make them equal or leave --nodes out"
        )
    if network.nodes < needed or (nodes is not None and nodes < needed):
        raise InputError(
            f"the platform has {min(network.nodes, nodes or network.nodes)} nodes but the ranks need {needed}: "
            "give it more nodes, or more ranks a node"
        )
    return network


def _default_sizes(name: str, nodes: int) -> tuple[int, ...]:
    if name == "crossbar":
        return (nodes,)
    if name == "torus":
        return balanced_grid(nodes, 3)
    if name == "fat-tree":
        leaf = math.isqrt(nodes - 1) + 1
        return leaf, -(-nodes // leaf)
    # As many routers in a group as there are groups, so that each router leads to one of them.
    side = max(2, round(nodes ** (1 / 3)))
    return side, side, -(-nodes // side**2)


def _check(network: Network, text: str) -> None:
    axes = {"crossbar": (1,), "fat-tree": (2,), "torus": (1, 2, 3, 4, 5, 6), "dragonfly": (3,)}[network.topology]
    if len(network.sizes) not in axes or min(network.sizes) < 1:
        raise InputError(f"--topology '{text}' does not have the sizes of a {network.topology}: {_FIX}")
    if network.nodes > _MOST_NODES:
        raise InputError(f"--topology {text} has {network.nodes} nodes: give at most {_MOST_NODES}")
    if network.taper < 1 or (network.topology != "fat-tree" and network.taper != 1):
        raise InputError(f"--topology '{text}': only a fat tree is tapered, by 1 or more: {_FIX}")
    if network.sizes[0] % network.taper:
        raise InputError(
            f"--topology {text}: {network.sizes[0]} nodes a leaf switch are no multiple of the taper {network.taper}"
        )
    if network.topology == "dragonfly" and network.sizes[0] > network.sizes[1]:
        raise InputError(
            f"--topology {text}: {network.sizes[0]} groups need as many routers in each, not {network.sizes[1]}, so that "
            "every group has a link to every other"
        )


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
    # SimGrid's message alone takes as long on a slower NIC: it cannot be given the rate of exchanges as the model is.
    slower = profile.shared.exchange_note()
    notes = (
        *([LACKING["card"]] if "card" in profile.lacks else []),
        *([f"{slower}; simulated with the rate between two nodes"] if slower else []),
    )
    return System(" ".join(name.split()), machine_of_profile(profile), profile, None, hop_latency_s, notes)


# What SimGrid tells apart: hosts are sockets.
_CLASSES = ("same-socket", "other-socket", "other-node")
# SimGrid lets a message hold a link for its time at the rate of the narrowest of them. So that this is the time that a
# message holds it in the model, a lane is wider than the rate of one message by as much as its latency may be, and what
# is shared by as much.
_WIDER = 1000.0


@dataclass(frozen=True)
class Platform:
    """Nodes of so many sockets behind a network; ``hop_latency_s`` is added for each switch beyond the nearest."""

    name: str
    network: Network
    sockets: int
    machine: _core.Machine
    hop_latency_s: float = 0.0
    notes: tuple[str, ...] = ()

    def host(self, node: int, socket: int) -> str:
        """Return SimGrid's name of the socket that holds a rank."""
        return f"n{node}s{socket % self.sockets}"

    def simulation(
        self, places: _core.Placement, arguments: Sequence[str], folds_memory: bool = False, buffers_sends: bool = True
    ) -> Simulation:
        """Return a run of a kernel whose ranks are at these places."""
        hosts = [intern(self.host(*places.location(rank)[:2])) for rank in range(places.ranks)]
        limit = self.machine.rendezvous_from_bytes
        eager_bytes = 0 if not buffers_sends else SMPI_EAGER_BYTES if limit is None else limit
        return Simulation(self.text(), hosts, arguments, folds_memory, eager_bytes)

    def text(self) -> str:
        """Return the platform file."""
        machine = self.machine
        lane = self._lane("other-node")
        card = machine.card_bytes_per_s or lane
        lines = [
            f"# {self.name}: {self.network.label()}, {self.network.nodes} nodes of {self.sockets} sockets.",
            f"# Written by rankwise for SimGrid; times in seconds, bandwidths in bytes/s, each times {_WIDER:g}.",
            *self.network.lines(),
            f"nearest_links {self.network.nearest_links}  # between two neighbouring nodes, their lanes and NICs included",
            f"hop_latency_s {self.hop_latency_s:.9g}  # for each link beyond these",
            f"sockets {self.sockets}",
            f"card_bytes_per_s {_WIDER * card:.9g}  # of a node, each way",
            f"card_is_half_duplex {int(machine.card_is_half_duplex)}  # 1: both ways together",
            f"passes_bytes_per_s {machine.card_bytes_per_s or 0:.9g}  # of a node, however quick one message is; 0: not known",
            f"link_bytes_per_s {_WIDER * card:.9g}  # of each link between switches, each way",
            f"lane_bytes_per_s {_WIDER * min(lane, card):.9g}  # of one message between nodes",
            f"inside_bytes_per_s {_WIDER * self._lane('same-socket'):.9g}  # of one message inside a socket",
            f"across_bytes_per_s {_WIDER * self._lane('other-socket'):.9g}  # of one message between sockets of a node",
            f"memory_bytes_per_s {_WIDER * self._memory():.9g}  # of a node's ranks among themselves; 0: no limit",
        ]
        lines.append("# segment CLASS FROM_BYTES ALPHA_S BETA_S_PER_BYTE")
        lines += [line for name in _CLASSES for line in self._segments(name)]
        return "\n".join(lines) + "\n"

    def _lane(self, name: str) -> float:
        """Return the rate of one message over a class; where there is none at all, that of the other side of the node."""
        return self.machine.lane(name) or self.machine.lane("same-socket") or self.machine.lane("other-node")

    def _memory(self) -> float:
        known = self.machine.memory_bytes_per_s
        return 0.0 if known is None else max(known, *(self._lane(name) for name in _CLASSES[:2]))

    def _segments(self, name: str) -> Iterator[str]:
        lines = self.machine.lines(name) or self.machine.lines("same-socket") or self.machine.lines("other-node")
        for from_bytes, alpha_s, beta_s_per_byte in lines:
            yield f"segment {name} {from_bytes} {alpha_s:.12g} {beta_s_per_byte:.12g}"
