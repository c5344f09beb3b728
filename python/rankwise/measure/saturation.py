"""From streams of many pairs at once to what they share: how much of it there is, of bytes and of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rankwise.machine.link import Point
from rankwise.machine.profile import OTHER_NODE
from rankwise.machine.shared import FULL_DUPLEX, Resource
from rankwise.measure.samples import Campaign
from rankwise.measure.workloads import STREAM
from rankwise.models.measured import Way
from rankwise.records import Interval

_LARGEST_SMALL_BYTES = 64  # of messages whose number is what counts
_SMALLEST_LARGE_BYTES = 4096  # a window of smaller ones may pass in a burst, faster than the link
_COUNTED_SHARE = 0.1  # of what was sent: interfaces that counted less are not those that it went over
# What pairs of a link class fill where nothing else is said of them.
FILLED = {OTHER_NODE: "card", "other-socket": "sockets", "same-socket": "memory"}


@dataclass(frozen=True)
class Stream:
    """So many pairs at once, one way or both, each with a window of messages in flight."""

    pairs: int
    both_ways: bool


def stream_of(operation: str, single: bool = False) -> Stream | None:
    """Return the stream that an operation is; of one that names no number of pairs only if a ``single`` one is asked for."""
    match = STREAM.fullmatch(operation)
    if match is None or (match["pairs"] is None and not single):
        return None
    return Stream(int(match["pairs"] or 1), match["both"] is not None)


def streams_in(tables: Mapping[str, Iterable[Point]], single: bool = False) -> dict[Stream, dict[int, Point]]:
    """Return the times of one message in streams of pairs at once, by size, of what was measured by name of the operation."""
    streams: dict[Stream, dict[int, Point]] = {}
    for operation, points in tables.items():
        if (stream := stream_of(operation, single)) is not None:
            streams.setdefault(stream, {}).update({point.size_bytes: point for point in points})
    return streams


def resource_of(streams: Mapping[Stream, Mapping[int, Point]]) -> Resource | None:
    """Return what streams fill, from the times of one message of one pair, by size; None where nothing large moved one way."""
    one_way = {
        (stream.pairs, size): point for stream, by_size in streams.items() for size, point in by_size.items()
        if size > 0 and not stream.both_ways
    }  # fmt: skip
    if max((size for _, size in one_way), default=0) < _SMALLEST_LARGE_BYTES:
        return None
    most = max(pairs for pairs, size in one_way if size >= _SMALLEST_LARGE_BYTES)
    size = max(size for pairs, size in one_way if pairs == most)
    filling = max((pairs for pairs, of in one_way if of == size), key=lambda pairs: pairs / one_way[pairs, size].time_s)
    rate = _rate(filling, size, one_way[filling, size].time_s)
    smallest = min(of for pairs, of in one_way if pairs == most)
    return Resource(
        rate,
        most / one_way[most, smallest].time_s if smallest <= _LARGEST_SMALL_BYTES else None,
        _both_ways(streams, filling, rate),
        tuple((pairs, of, _rate(pairs, of, point.time_s)) for (pairs, of), point in sorted(one_way.items())),
        _interval(filling, size, one_way[filling, size]),
    )


def _both_ways(streams: Mapping[Stream, Mapping[int, Point]], filling: int, rate: float) -> float | None:
    """Return the rate of both directions together; None where too few pairs ran both ways.

    The largest messages that there was time for tell most. Where these say that both ways share the rate of one, and smaller
    ones do not, it is not the resource that they share: over TCP a large message's handshake waits behind data.
    """
    found: dict[int, float] = {}
    for stream, by_size in streams.items():
        if stream.both_ways and stream.pairs >= filling:  # fewer than fill it one way tell nothing
            for size, point in by_size.items():
                if size >= _SMALLEST_LARGE_BYTES:
                    found[size] = max(found.get(size, 0.0), 2 * _rate(stream.pairs, size, point.time_s))
    if not found:
        return None
    largest = found[max(found)]
    return largest if largest >= FULL_DUPLEX * rate or max(found.values()) < FULL_DUPLEX * rate else max(found.values())


def with_exchange(card: Resource, rings: Mapping[tuple[int, int], Way], send: Way) -> Resource:
    """Return a NIC with what it sends in rings of nodes (nodes and ranks of each), where that is more its rate, too.

    Where it sends and receives more there than both ways share in streams, that was a handshake's and not the NIC's.

    Each rank sends two messages, one to the node before and one to the node after; none arrives before the latency is over.
    """
    latency_s = float(send.times_s[0])
    largest = max((int(way.sizes[-1]) for way in rings.values()), default=0)  # smaller ones may pass in a burst
    rows = []
    for (nodes, ranks), way in sorted(rings.items()):
        for point in way.points():
            if point.time_s <= 2 * latency_s:
                continue
            messages, size = 2 * ranks, point.size_bytes
            rate = _rate(messages, size, point.time_s - latency_s)
            rows.append((nodes, ranks, size, rate))
            if size == largest and rate > card.bytes_per_s and not card.half_duplex:
                card = replace(card, bytes_per_s=rate, ci=_interval(messages, size, point))
    both = 2 * min(card.bytes_per_s, max((rate for *_, rate in rows), default=0.0))
    if card.half_duplex and both >= FULL_DUPLEX * card.bytes_per_s:
        card = replace(card, both_ways_bytes_per_s=both)
    return replace(card, exchange=tuple(rows))


def uncarried(campaign: Campaign) -> set[tuple[int, int]]:
    """Return those launches (part, launch) of streams between nodes of which the interfaces counted less than was sent.

    Their rates are not those of the NIC. Where interfaces counted next to nothing they do not tell: it was another network.
    """
    sent: Counter[tuple[int, int]] = Counter()
    for sample in campaign.samples:
        if sample.get("kernel") == "bandwidth" and sample["class"] == OTHER_NODE and "part" in sample:
            window_bytes = int(sample["pairs"]) * float(sample["parts"]) * int(sample["size_bytes"])
            sent[int(sample["part"]), int(sample["launch"])] += int(window_bytes * len(sample["time_s"]))
    found = set()
    for witness in campaign.witnesses:
        key = int(witness.get("part", -1)), int(witness["launch"])
        if witness["class"] == OTHER_NODE and key in sent:
            hosts = witness.get("network_bytes", {}).values()
            counted = min((sum(max(counts) for counts in interfaces.values()) for interfaces in hosts), default=0)
            if _COUNTED_SHARE * sent[key] < counted < sent[key]:
                found.add(key)
    return found


def _rate(pairs: int, size_bytes: int, time_s: float) -> float:
    return pairs * size_bytes / time_s


def _interval(pairs: int, size_bytes: int, point: Point) -> Interval | None:
    if point.interval_s is None or point.interval_s[0] <= 0:
        return None
    return _rate(pairs, size_bytes, point.interval_s[1]), _rate(pairs, size_bytes, point.interval_s[0])
