"""What the ranks of a node share, and the nodes of a machine: the NIC, the memory, the links between sockets and above nodes.

A resource carries so many bytes a second, each way, and so many messages, however many pairs of ranks are at it: what is
measured is that of as many pairs as there are, at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from rankwise.records import Interval, Record, key, record
from rankwise.units import format_bandwidth, format_share, format_size

KINDS = ("card", "memory", "socket", "sockets")
# Both ways together at least so many times one way. What sends or receives comes to 1 at most; over links that do both, TCP's
# acknowledgements behind data leave 1.4 to 1.75.
FULL_DUPLEX = 1.25


@record
class Resource(Record):
    """One shared resource; ``pairs`` is the table under it, one way: so many pairs, of messages of a size, bytes/s together.

    ``bytes_per_s`` is one way, of large messages, ``messages_per_s`` of small ones (None: not known).
    """

    bytes_per_s: float = key("rate one way, of large messages", above=0)
    messages_per_s: float | None = key(
        "rate of the smallest messages by the most pairs; null: not measured at 64 B or below", above=0, default=None
    )
    both_ways_bytes_per_s: float | None = key(
        "rate of both directions together while pairs run both ways; of a memory that of all, where it is greater", above=0,
        default=None,
    )  # fmt: skip
    pairs: tuple[tuple[int, int, float], ...] = key(
        "the table under these, one way: pairs, size in bytes, bytes/s of all pairs together", least=1, above=0, default=()
    )
    ci: Interval | None = key("95 % interval of bytes_per_s", above=0, default=None)
    exchange: tuple[tuple[int, int, int, float], ...] = key(
        "what a NIC sends while the ranks of several nodes exchange messages in a ring: nodes, ranks of each, size in bytes, "
        "bytes/s", above=0, default=(), omit=True,
    )  # fmt: skip

    @property
    def half_duplex(self) -> bool:
        """Whether both ways together are hardly more than one: then they share it, too."""
        both = self.both_ways_bytes_per_s
        return both is not None and both < FULL_DUPLEX * self.bytes_per_s

    @property
    def in_exchange_bytes_per_s(self) -> float | None:
        """The least rate of a NIC in exchanges of several nodes; None: not measured."""
        return min((rate for *_, rate in self.exchange), default=None)

    @property
    def most_pairs(self) -> int | None:
        """The most pairs that were measured at once; None where there is no table."""
        return max((pairs for pairs, _, _ in self.pairs), default=None)


@record
class Level(Record):
    """Switches above the node: how many nodes are below one, and what leaves it upwards, together."""

    nodes: int = key("nodes below one switch", least=1)
    up_bytes_per_s: float = key("rate upwards of the nodes together", above=0)


@record
class Shared(Record):
    """What is known of each kind of resource (None: nothing); ``levels`` go from the innermost switches outwards."""

    card: Resource | None = key("the NIC of a node, each direction", default=None, omit=True)
    memory: Resource | None = key("memory of a node, for messages that stay in it", default=None, omit=True)
    socket: Resource | None = key("memory of one socket, where a node has several", default=None, omit=True)
    sockets: Resource | None = key("the link between the sockets of a node", default=None, omit=True)
    levels: tuple[Level, ...] = key("switches above the nodes, the innermost first", default=(), omit=True)

    def resources(self) -> Iterator[tuple[str, Resource]]:
        """Yield the kinds that are known."""
        for kind in KINDS:
            if (resource := getattr(self, kind)) is not None:
                yield kind, resource

    def notes(self) -> list[str]:
        """Say which resources were hardly tested."""
        named = {kind: "NIC" if kind == "card" else kind for kind, _ in self.resources()}
        hardly = [kind for kind, one in self.resources() if one.most_pairs == 1]
        return [
            *(f"{named[kind]} bandwidth: tested with 1 pair, for want of cores or nodes" for kind in hardly),
            *([note] if (note := self.exchange_note()) else []),
        ]

    def exchange_note(self) -> str | None:
        """Say how much less a NIC sends in exchanges of several nodes than between two; None: hardly less, or unknown."""
        from rankwise import _core

        if self.card is None or not self.card.exchange:
            return None
        nodes, ranks, size, rate = min(self.card.exchange, key=lambda row: row[-1])
        share = (2 if self.card.half_duplex else 1) * rate / self.card.bytes_per_s
        if share >= _core.SOUND_SHARE:
            return None
        return (
            f"while {nodes} nodes of {ranks} rank{'s' * (ranks > 1)} exchange messages of {format_size(size)}, a NIC sends "
            f"{format_bandwidth(rate)}, {format_share(share)} of its rate between two nodes"
        )

    @classmethod
    def from_dict(cls, value: Any, what: str = "shared") -> Self:
        if not isinstance(value, Mapping):
            raise ValueError("shared is not an object of resources")
        for name in value:
            if name not in (*KINDS, "levels"):
                raise ValueError(f"shared.{name} is no resource ({', '.join(KINDS)}, levels)")
        shared = super().from_dict(value, what)
        if [level.nodes for level in shared.levels] != sorted({level.nodes for level in shared.levels}):
            raise ValueError("shared.levels are not in order, those of fewer nodes first")
        return shared
