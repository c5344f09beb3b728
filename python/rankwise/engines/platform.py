"""The platform that SimGrid simulates: nodes, their links and what is between them, as a file that a person can read.

The file is read by src/simgrid/platform.cpp: a key and its values on each line, ``#`` before a comment. A message takes
alpha + beta * bytes of the ``segment`` that its size falls into while it has its links to itself; messages that meet
share the bandwidth of a node's card (each way), of the links between switches, and of a node's memory. All figures are
those of the machine that the model asks (``_core.Machine``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.engines.network import Network

if TYPE_CHECKING:
    from rankwise import _core

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

    def text(self) -> str:
        """Return the platform file."""
        machine = self.machine
        lane = self._lane("other-node")
        card = _WIDER * max(machine.card_bytes_per_s or 0.0, lane)
        lines = [
            f"# {self.name}: {self.network.label()}, {self.network.nodes} nodes of {self.sockets} sockets.",
            f"# Written by rankwise for SimGrid; times in seconds, bandwidths in bytes/s, each times {_WIDER:g}.",
            *self.network.lines(),
            f"nearest_links {self.network.nearest_links}  # between two neighbouring nodes, their lanes and cards included",
            f"hop_latency_s {self.hop_latency_s:.9g}  # for each link beyond these",
            f"sockets {self.sockets}",
            f"card_bytes_per_s {card:.9g}  # of a node, each way",
            f"card_is_half_duplex {int(machine.card_is_half_duplex)}  # 1: both ways together",
            f"link_bytes_per_s {card:.9g}  # of each link between switches, each way",
            f"lane_bytes_per_s {_WIDER * lane:.9g}  # of one message between nodes",
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
