"""What the ranks of a node share, and the nodes of a machine: the card, the memory, the links between sockets and above nodes.

A resource carries so many bytes a second, each way, and so many messages, however many pairs of ranks are at it: what is
measured is that of as many pairs as there are, at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from rankwise.machine.link import Interval, finite, interval

KINDS = ("card", "memory", "socket", "sockets")
# Both ways together at least so many times one way. What sends or receives comes to 1 at most; over links that do both, TCP's
# acknowledgements behind data leave 1.4 to 1.75.
_FULL_DUPLEX = 1.25


@dataclass(frozen=True)
class Resource:
    """One shared resource; ``pairs`` is the table under it, one way: so many pairs, of messages of a size, bytes/s together.

    ``bytes_per_s`` is one way, of large messages, ``messages_per_s`` of small ones (None: not known).
    """

    bytes_per_s: float
    messages_per_s: float | None = None
    both_ways_bytes_per_s: float | None = None
    pairs: tuple[tuple[int, int, float], ...] = ()
    ci: Interval | None = None

    @property
    def half_duplex(self) -> bool:
        """Whether both ways together are hardly more than one: then they share it, too."""
        both = self.both_ways_bytes_per_s
        return both is not None and both < _FULL_DUPLEX * self.bytes_per_s

    @property
    def most_pairs(self) -> int | None:
        """The most pairs that were measured at once; None where there is no table."""
        return max((pairs for pairs, _, _ in self.pairs), default=None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "bytes_per_s": self.bytes_per_s,
            "messages_per_s": self.messages_per_s,
            "both_ways_bytes_per_s": self.both_ways_bytes_per_s,
            "pairs": [list(row) for row in self.pairs],
            "ci": None if self.ci is None else list(self.ci),
        }

    @staticmethod
    def from_dict(record: Any, what: str) -> Resource:
        """Read back a resource. Raises ValueError that names the key under ``what``."""
        if not isinstance(record, Mapping) or "bytes_per_s" not in record:
            raise ValueError(f"{what} has no bytes_per_s")

        def optional(key: str) -> float | None:
            return None if record.get(key) is None else _positive(record[key], f"{what}.{key}")

        ci = interval(record.get("ci"), f"{what}.ci")
        if ci is not None:
            _positive(ci[0], f"{what}.ci")
        return Resource(
            _positive(record["bytes_per_s"], f"{what}.bytes_per_s"),
            optional("messages_per_s"),
            optional("both_ways_bytes_per_s"),
            tuple(_pairs_row(row, f"{what}.pairs") for row in record.get("pairs") or ()),
            ci,
        )


@dataclass(frozen=True)
class Level:
    """Switches above the node: how many nodes are below one, and what leaves it upwards, together."""

    nodes: int
    up_bytes_per_s: float


@dataclass(frozen=True)
class Shared:
    """What is known of each kind of resource (None: nothing); ``levels`` go from the innermost switches outwards."""

    card: Resource | None = None  # of a node, each direction
    memory: Resource | None = None  # of a node, for messages that stay in it
    socket: Resource | None = None  # of one socket's memory, where a node has several
    sockets: Resource | None = None  # the link between the sockets of a node
    levels: tuple[Level, ...] = ()

    def resources(self) -> Iterator[tuple[str, Resource]]:
        """Yield the kinds that are known."""
        for kind in KINDS:
            if (resource := getattr(self, kind)) is not None:
                yield kind, resource

    def updated_by(self, newer: Shared) -> Shared:
        """Return all of ``newer`` and of this what that lacks."""
        known = {field.name: value for field in fields(newer) if (value := getattr(newer, field.name))}
        return replace(self, **known)

    def notes(self) -> list[str]:
        """Say what is to be known of these figures before one builds on them."""
        return [f"{kind}: of one pair: more were not measurable there" for kind, one in self.resources() if one.most_pairs == 1]

    def to_dict(self) -> dict[str, Any]:
        levels = [{"nodes": level.nodes, "up_bytes_per_s": level.up_bytes_per_s} for level in self.levels]
        return {**{kind: one.to_dict() for kind, one in self.resources()}, **({"levels": levels} if levels else {})}

    @staticmethod
    def from_dict(record: Any) -> Shared:
        """Read back what is shared. Raises ValueError that names the key."""
        if not isinstance(record, Mapping):
            raise ValueError("shared is not an object of resources")
        for key in record:
            if key not in (*KINDS, "levels"):
                raise ValueError(f"shared.{key} is no resource ({', '.join(KINDS)}, levels)")
        levels = tuple(_level(level) for level in record.get("levels") or ())
        if [level.nodes for level in levels] != sorted({level.nodes for level in levels}):
            raise ValueError("shared.levels are not in order, those of fewer nodes first")
        return Shared(
            levels=levels,
            **{kind: Resource.from_dict(record[kind], f"shared.{kind}") for kind in KINDS if record.get(kind) is not None},
        )


def _level(record: Any) -> Level:
    return Level(
        _count(record["nodes"], 1, "shared.levels.nodes"), _positive(record["up_bytes_per_s"], "shared.levels.up_bytes_per_s")
    )


def _pairs_row(row: Any, what: str) -> tuple[int, int, float]:
    if not isinstance(row, list | tuple) or len(row) != 3:
        raise ValueError(f"{what} {row!r} is not [pairs, size_bytes, bytes_per_s]")
    # An empty message moves nothing, and so many of them no bytes a second.
    return _count(row[0], 1, what), _count(row[1], 1, what), _positive(row[2], what)


def _count(value: Any, least: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what} {value!r} is not a whole number of at least {least}")
    return value


def _positive(value: Any, what: str) -> float:
    if (number := finite(value, what)) <= 0:
        raise ValueError(f"{what} {value!r} is not above 0")
    return number
