"""The platform that SimGrid simulates: nodes, their links and what is between them, as a file that a person can read.

The file is read by src/simgrid/platform.cpp: a key and its values on each line, ``#`` before a comment. A message takes
alpha + beta * bytes of the ``segment`` that its size falls into while it has its links to itself; messages that meet
share the bandwidth of a node's card (each way), of the links between switches, and of a node's memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankwise.engines.network import Network
from rankwise.engines.placement import Location
from rankwise.machine.description import Description
from rankwise.machine.link import Segment
from rankwise.machine.profile import Profile

# What SimGrid tells apart: hosts are sockets.
_CLASSES = ("same-socket", "other-socket", "other-node")


@dataclass(frozen=True)
class Links:
    """The links of a platform: the segments of each class, and what limits them together.

    ``card_bytes_per_s``: what a node can send, and receive, of all its ranks. ``memory_bytes_per_s``: what its ranks can
    send to each other (None: each pair as fast as alone). ``hop_latency_s`` is added for each switch beyond the nearest.
    """

    segments: Mapping[str, Sequence[Segment]]
    card_bytes_per_s: float
    memory_bytes_per_s: float | None = None
    hop_latency_s: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Platform:
    """Nodes of so many sockets behind a network."""

    name: str
    network: Network
    sockets: int
    links: Links

    def host(self, location: Location) -> str:
        """Return SimGrid's name of the socket that holds a rank."""
        node, socket, _ = location
        return f"n{node}s{socket % self.sockets}"

    def text(self) -> str:
        """Return the platform file."""
        lines = [
            f"# {self.name}: {self.network.label()}, {self.network.nodes} nodes of {self.sockets} sockets.",
            "# Written by rankwise for SimGrid; bandwidths in bytes/s, times in seconds.",
            *self.network.lines(),
            f"nearest_links {self.network.nearest_links}  # between two neighbouring nodes, their cards included",
            f"hop_latency_s {self.links.hop_latency_s:.9g}  # for each link beyond these",
            f"sockets {self.sockets}",
            f"card_bytes_per_s {self.links.card_bytes_per_s:.9g}  # of a node, each way",
            f"link_bytes_per_s {self.links.card_bytes_per_s:.9g}  # of each link between switches, each way",
            f"memory_bytes_per_s {self.links.memory_bytes_per_s or 0:.9g}  # of a node's ranks among themselves; 0: no limit",
            f"inside_bytes_per_s {self._fastest_inside():.9g}  # of one message inside a node, at most",
            "# segment CLASS FROM_BYTES ALPHA_S BETA_S_PER_BYTE",
        ]
        for name in _CLASSES:
            lines += [
                f"segment {name} {s.from_bytes} {s.alpha_s:.12g} {s.beta_s_per_byte:.12g}" for s in self.links.segments[name]
            ]
        return "\n".join(lines) + "\n"

    def _fastest_inside(self) -> float:
        return max(_fastest(self.links.segments[name]) for name in _CLASSES[:2])


def _fastest(segments: Sequence[Segment]) -> float:
    """Return the bandwidth of the fastest segment; what takes no time for a byte is taken as 10 TB/s."""
    return max(1 / max(segment.beta_s_per_byte, 1e-13) for segment in segments)


def links_of_profile(profile: Profile) -> Links:
    """Return the links of a profile by their piecewise fit; a class that it lacks is that of the next nearer pair.

    A node's card carries what the max-rate model says, or else what one message reaches.
    """
    segments: dict[str, Sequence[Segment]] = {}
    notes = []
    for name, link in profile.links.items():
        model = link.send.models.get("piecewise", link.send.chosen())
        segments["same-socket" if name == "same-core" and "same-socket" not in profile.links else name] = model.segments
    inside = segments.get("same-socket", segments.get("other-socket"))
    outside = segments.get("other-node")
    if outside is None:
        outside = inside or []
    if inside is None:
        inside = outside
    card = _fastest(outside)
    if "other-node" in profile.links:
        max_rate = profile.links["other-node"].send.models.get("max-rate")
        rate = max_rate.parameters.get("injection_bytes_per_s") if max_rate is not None else None
        if rate is not None:
            card = max(card, rate.value)
        else:
            notes.append("a node sends no faster than one of its messages: the profile has no injection rate")
    return Links(
        {"same-socket": inside, "other-socket": segments.get("other-socket", inside), "other-node": outside},
        card,
        notes=tuple(notes),
    )


def links_of_description(machine: Description, inside: Links | None = None) -> Links:
    """Return the links of a described machine; those inside a node are a profile's, or come from its memory bandwidth.

    Raises InputError where the description has no latency or no bandwidth.
    """
    latency_s = machine.need("latency", "a message between nodes").value
    card = machine.injection() or machine.need("link_bandwidth", "a message between nodes").value
    link = min(card, machine.get("link_bandwidth") or card)
    outside = [Segment(0, None, latency_s, 1 / link)]
    memory = machine.get("memory_bandwidth")
    if inside is not None:
        segments = {**inside.segments, "other-node": outside}
        return Links(segments, card, inside.memory_bytes_per_s or memory, notes=inside.notes)
    notes = ["inside a node a message takes half the latency between nodes: the description says nothing of it"]
    near = [Segment(0, None, latency_s / 2, 1 / max(link, (memory or 0) / 8))]
    return Links({"same-socket": near, "other-socket": near, "other-node": outside}, card, memory, notes=tuple(notes))


def sockets_of(locations: Sequence[Location]) -> int:
    """Return the most sockets that any node uses."""
    used: dict[int, set[int]] = {}
    for node, socket, _ in locations:
        used.setdefault(node, set()).add(socket)
    return max(len(sockets) for sockets in used.values())
