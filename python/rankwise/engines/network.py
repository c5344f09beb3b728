"""The network between simulated nodes: its topology, as it is asked for and as SimGrid builds it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from rankwise.errors import InputError
from rankwise.workloads.exchange import balanced_grid

TOPOLOGIES = ("crossbar", "fat-tree", "torus", "dragonfly")
_MEND = "write crossbar, fat-tree:16x4:2 (nodes a leaf x leaves : taper), torus:4x4x4 or dragonfly:4x4x4"
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
        """Links between two nodes that are as near as can be, with the card and the lane that SimGrid has of each node."""
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
        raise InputError(f"--topology '{text}' is none that is known: {_MEND}")
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
        raise InputError(f"--topology '{text}' does not have the sizes of a {network.topology}: {_MEND}")
    if network.nodes > _MOST_NODES:
        raise InputError(f"--topology {text} has {network.nodes} nodes: stay below {_MOST_NODES}")
    if network.taper < 1 or (network.topology != "fat-tree" and network.taper != 1):
        raise InputError(f"--topology '{text}': only a fat tree is tapered, by 1 or more: {_MEND}")
    if network.sizes[0] % network.taper:
        raise InputError(
            f"--topology {text}: {network.sizes[0]} nodes a leaf switch are no multiple of the taper {network.taper}"
        )
    if network.topology == "dragonfly" and network.sizes[0] > network.sizes[1]:
        raise InputError(
            f"--topology {text}: {network.sizes[0]} groups need as many routers in each, not {network.sizes[1]}, so that "
            "every group has a link to every other"
        )
