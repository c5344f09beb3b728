"""From streams of many pairs at once to what they share: how much of it there is, of bytes and of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rankwise.machine.link import Interval, Point
from rankwise.machine.profile import OTHER_NODE
from rankwise.machine.shared import Resource

_STREAM = re.compile(r"bandwidth(?:-pairs-(?P<pairs>\d+))?(?P<both>-bidirectional)?-window-\d+")
_LARGEST_SMALL_BYTES = 64  # of messages whose number is what counts
# What pairs of a link class fill where nothing else is said of them.
FILLED = {OTHER_NODE: "card", "other-socket": "sockets", "same-socket": "memory"}


@dataclass(frozen=True)
class Stream:
    """So many pairs at once, one way or both, each with a window of messages in flight."""

    pairs: int
    both_ways: bool


def stream_of(operation: str, single: bool = False) -> Stream | None:
    """Return the stream that an operation is; of one that names no number of pairs only if a ``single`` one is asked for."""
    match = _STREAM.fullmatch(operation)
    if match is None or (match["pairs"] is None and not single):
        return None
    return Stream(int(match["pairs"] or 1), match["both"] is not None)


def resource_of(streams: Mapping[Stream, Mapping[int, Point]]) -> Resource | None:
    """Return what streams fill, from the times of one message of one pair, by size; None where nothing moved one way."""
    one_way = {
        (stream.pairs, size): point for stream, by_size in streams.items() for size, point in by_size.items()
        if size > 0 and not stream.both_ways
    }  # fmt: skip
    if not one_way:
        return None
    most = max(pairs for pairs, _ in one_way)
    size = max(size for pairs, size in one_way if pairs == most)
    filling = max((pairs for pairs, of in one_way if of == size), key=lambda pairs: pairs / one_way[pairs, size].time_s)
    # Fewer pairs both ways than fill it one way tell nothing.
    both = {
        stream.pairs: by_size[size] for stream, by_size in streams.items()
        if stream.both_ways and stream.pairs >= filling and size in by_size
    }  # fmt: skip
    smallest = min(of for pairs, of in one_way if pairs == most)
    return Resource(
        _rate(filling, size, one_way[filling, size].time_s),
        most / one_way[most, smallest].time_s if smallest <= _LARGEST_SMALL_BYTES else None,
        max((2 * _rate(pairs, size, point.time_s) for pairs, point in both.items()), default=None),
        tuple((pairs, of, _rate(pairs, of, point.time_s)) for (pairs, of), point in sorted(one_way.items())),
        _interval(filling, size, one_way[filling, size]),
    )


def _rate(pairs: int, size_bytes: int, time_s: float) -> float:
    return pairs * size_bytes / time_s


def _interval(pairs: int, size_bytes: int, point: Point) -> Interval | None:
    if point.interval_s is None or point.interval_s[0] <= 0:
        return None
    return _rate(pairs, size_bytes, point.interval_s[1]), _rate(pairs, size_bytes, point.interval_s[0])
