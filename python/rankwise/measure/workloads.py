"""What can be measured: the kernels that a measurement starts, their operations, sizes and ranks."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from rankwise.launch.launchers import filled
from rankwise.measure.places import Places

PINGPONG_OPERATIONS = ("send", "ssend", "exchange", "burst")
LOADED = "send-loaded"
BURST = 4  # messages in flight of a burst
WINDOW = 64
COMPLETE = ("pingpong", "pairs", "loggp")  # these measure all that link models are fitted to
OF_ALL_HOSTS = ("one-to-all", "alltoall")  # a rank on each; all else is between two hosts at a time
WHAT = ("pingpong", "bandwidth", "pairs", "one-to-all", "alltoall", "loggp")

HEALTH = "health"  # a few cells in a launch of their own, for sessions that are compared over weeks
_HEALTH_CELLS = (("send", 0), ("exchange", 8192), ("send", 1 << 20))

_LARGEST_BYTES = {
    "exchange": 1 << 20,  # several messages in flight still fit in a cache of today
    "burst": 1 << 20,
    "send-overhead": 1 << 16,
    "receive-overhead": 1 << 16,
    "gap": 1 << 16,
}
_LARGEST_IN_WINDOW_BYTES = 1 << 18
# Sizes and windows of pairs at once with a ping-pong, those first that tell most: a large message and a small one, then those
# before and after most protocols change. A window holds about a megabyte, so that a slow link is not kept busy for long.
_AT_ONCE = (((_LARGEST_IN_WINDOW_BYTES, 4), (8, WINDOW)), ((64_000, 16), (8000, WINDOW)))
# Rings of nodes: a size below the eager limit of MPIs over TCP, and one above it, of which neither stands for the other. What a
# round's beginning and end cost is little against the large one; links that need too long for it do without.
_RING_BYTES = ((100_000, 1_000_000), (30_000,))
_LONG_ROUND_S = 1.0
_LEAST_RING, _MOST_RING = 3, 8  # nodes
_LIMITS_UP_TO_BYTES, _LIMITS_S = 1 << 22, 5.0  # of protocols: up to where they are sought, and for how long on slow links
_LONG_WINDOW_S = 0.33  # of all messages that pairs at once have in flight with a ping-pong
_LARGE_BYTES = 4096
_RING = re.compile(r"ring-nodes-(?P<nodes>\d+)-ranks-(?P<ranks>\d+)")
STREAM = re.compile(r"bandwidth(?:-pairs-(?P<pairs>\d+))?(?P<both>-bidirectional)?-window-(?P<window>\d+)")

Cell = tuple[str, int]  # operation and size


@dataclass(frozen=True)
class Part:
    """What one launch measures: a kernel, its operations, and the CPUs of its ranks.

    A part that is ``aside`` has cells of its own, those first that matter most. It visits them in a share of the time that is
    its own, and nothing is measured for their precision.
    """

    kernel: str
    operations: tuple[str, ...]
    cpus: tuple[int, ...]
    hosts: tuple[str, ...] = ()
    aside: tuple[Cell, ...] = ()

    @property
    def host_of_rank(self) -> tuple[str, ...]:
        """The host of each rank: as many on each, one filled after the other; empty where all run on this node."""
        return tuple(filled(self.hosts, len(self.cpus))) if self.hosts else ()

    @property
    def shared_cpus(self) -> bool:
        """Whether ranks of a host share a CPU."""
        on_host = len(self.cpus) // max(1, len(self.hosts))
        hosts = [self.cpus[i : i + on_host] for i in range(0, len(self.cpus), on_host)]
        return any(len(set(cpus)) < len(cpus) for cpus in hosts)


def parts_of(what: str, places: Places, background: int, pairs_aside: bool = False) -> list[Part]:
    """Return what a launch consists of for one link class; a plain send is always among it, as what all compares with.

    With ``pairs_aside`` a ping-pong comes with how much the pairs move that fill a resource, and both with rings of nodes.
    """
    pair, two = tuple(places.cpus_of_pairs(1)), places.hosts[:2]
    if what == HEALTH:
        return [Part("pingpong", ("send", "exchange"), pair, two, aside=_HEALTH_CELLS)]
    parts = [Part("pingpong", PINGPONG_OPERATIONS if what in COMPLETE else ("send",), pair, two)]
    window = f"window-{WINDOW}"
    match what:
        case "loggp":
            parts.append(Part(what, ("send-overhead", "receive-overhead", "gap"), pair, two))
        case "bandwidth":
            parts.append(Part("bandwidth", (f"bandwidth-{window}", f"bandwidth-bidirectional-{window}"), pair, two))
        case "pairs":
            parts.append(
                _pairs_at_once(places, tuple(f"{stream}-{window}" for streams in _streams(places) for stream in streams))
            )
        case "pingpong" if pairs_aside and places.fills is not None:
            cells = tuple(
                (f"{stream}-window-{held}", size)
                for streams in _streams(places)
                for some in _AT_ONCE
                for stream in streams
                for size, held in some
            )
            parts.append(_pairs_at_once(places, tuple(dict.fromkeys(name for name, _ in cells)), cells))
        case "one-to-all":
            peers = range(1, len(places.star))
            parts.append(Part(what, tuple(f"one-to-all-peer-{k}" for k in peers), places.star, places.hosts))
        case "alltoall":
            parts.append(Part(what, (f"alltoall-ranks-{len(places.star)}",), places.star, places.hosts))
    if background:
        parts.append(Part("pingpong", (LOADED,), tuple(places.cpus_of_pairs(1 + background)), two))
    if pairs_aside and what in ("pingpong", "pairs"):
        parts += _rings(places)
    return parts


def limits_words(seconds: float = math.inf) -> tuple[str, ...]:
    """Return the words by which a ping-pong of so many seconds also finds up to which sizes sends wait for no receiver."""
    return "--limits-up-to", str(_LIMITS_UP_TO_BYTES), "--limits-s", f"{min(_LIMITS_S, seconds / 8):.3f}"


@cache
def bytes_in_a_row(operation: str, size_bytes: int) -> int:
    """Return about how many bytes cross a link one after the other in one round of an operation."""
    if (stream := STREAM.fullmatch(operation)) is not None:
        return int(stream["pairs"] or 1) * int(stream["window"]) * size_bytes
    if operation.startswith("alltoall-"):
        return int(operation.rpartition("-")[2]) * size_bytes
    if (ring := _RING.fullmatch(operation)) is not None:
        return 2 * int(ring["ranks"]) * size_bytes
    return {"exchange": 1, "burst": BURST}.get(operation, 2) * size_bytes


def fitted_stream(cell: Cell, byte_s: float, between_nodes: bool) -> Cell | None:
    """Return a stream with as many messages in flight as a link of so many seconds a byte carries in some tenths of a second.

    That keeps a slow one not busy for long; ``between_nodes`` it also makes windows long enough that how ranks start and end
    is little against them. None where a single message takes longer, or a ring's round of large ones.
    """
    operation, size = cell
    if ring_of(operation) is not None and size > _RING_BYTES[0][0]:
        return None if bytes_in_a_row(*cell) * byte_s > _LONG_ROUND_S else cell
    stream = STREAM.fullmatch(operation)
    if stream is None or byte_s <= 0 or size < _LARGE_BYTES:
        return cell
    message_s = int(stream["pairs"] or 1) * size * byte_s
    if message_s > _LONG_WINDOW_S:
        return None
    most = WINDOW if between_nodes else int(stream["window"])
    return f"{operation.rpartition('-')[0]}-{max(1, min(most, int(_LONG_WINDOW_S / message_s)))}", size


def largest_bytes(operation: str) -> int | None:
    """Return the largest size that an operation is measured at; None: as large as asked."""
    if operation.startswith(("bandwidth-", "alltoall-")):
        return _LARGEST_IN_WINDOW_BYTES
    return _LARGEST_BYTES.get(operation)


def _pairs_at_once(places: Places, operations: tuple[str, ...], aside: tuple[Cell, ...] = ()) -> Part:
    return Part("bandwidth", operations, tuple(places.cpus_of_pairs(places.most_at_once)), places.hosts[:2], aside=aside)


def _rings(places: Places) -> list[Part]:
    """Return exchanges of the ranks of several nodes with those of the nodes before and after: with all ranks, and with two.

    Pairs between two nodes do not show what more nodes and more messages do to each other.
    """
    hosts = places.hosts[:_MOST_RING]
    if len(hosts) < _LEAST_RING:
        return []
    parts = []
    for ranks in sorted({places.most_at_once, min(2, places.most_at_once)}, reverse=True):
        name = f"ring-nodes-{len(hosts)}-ranks-{ranks}"
        cpus = places.cpus_of_pairs(ranks)[:ranks] * len(hosts)
        for sizes in _RING_BYTES:
            parts.append(Part("ring", (name,), tuple(cpus), hosts, aside=tuple((name, size) for size in sizes)))
    return parts


def ring_of(operation: str) -> tuple[int, int] | None:
    """Return how many nodes are in the ring that an operation is, and the ranks of each; None: it is none."""
    ring = _RING.fullmatch(operation)
    return None if ring is None else (int(ring["nodes"]), int(ring["ranks"]))


def _streams(places: Places) -> tuple[list[str], list[str]]:
    """Return the streams of as many pairs as fill a resource, one way and both, and those of growing numbers of pairs."""
    most, inside = places.most_at_once, places.in_one_socket
    filling = [count for count in (most, inside) if count > 0]
    growing = {*_growing(most), *_growing(max(1, inside))}.difference(filling)
    return (
        [f"bandwidth-pairs-{count}{ways}" for count in filling for ways in ("", "-bidirectional")],
        [f"bandwidth-pairs-{count}" for count in sorted(growing, reverse=True)],
    )


def _growing(most: int) -> list[int]:
    """Return 1, 2, 4, ... and the most."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts if most <= 1 else [*counts, most]
