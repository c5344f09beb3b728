"""Whether what a rank left in the file of its node can be what the tracer wrote: it may be cut off, or lie on a broken disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.record import KINDS, MOST_BYTES

_MOST_RANKS = 1 << 20
_MOST_TICKS, _MOST_CALLS = 1 << 62, 1 << 48
_KIND_BITS = 3


def is_sound(part: Any) -> bool:
    """Whether all numbers of a ``Part`` (parts.py) are within what they index, and none is larger than a sum of them may be."""
    ranks = int(part.page["ranks"])
    return 0 <= part.rank < ranks <= _MOST_RANKS and len(part.edges) > 0 and all(map(np.all, _conditions(part, ranks)))


def _conditions(part: Any, ranks: int) -> Iterator[Array | bool]:
    page, sites, live, names = part.page, part.sites, part.page["live"], len(part.names)
    for name in ("first", "last"):
        yield page[name]["ticks"] < _MOST_TICKS
        yield abs(int(page[name]["ns"])) < _MOST_TICKS
    yield page["begun"] < _MOST_TICKS
    yield page["ended"] < _MOST_TICKS
    yield page["window"]["first_call"] < _MOST_CALLS
    used = sites["calls"] > 0
    yield sites["call"] < np.where(used, names, len(part.page["call"]))
    for name, most in (("calls", _MOST_CALLS), ("timed", _MOST_CALLS), ("offset", _MOST_CALLS), ("ticks", MOST_BYTES)):
        yield sites[name] < most
    yield part.modules["build_id_bytes"] <= part.modules["build_id"].itemsize
    for name, most in (("messages", _MOST_CALLS), ("bytes", MOST_BYTES), ("pulled", MOST_BYTES)):
        yield part.edges[name] < most
    yield np.isin(part.collectives["call"], sites["call"][used])
    yield part.collectives["calls"] < _MOST_CALLS
    yield part.collectives["bytes"] < _MOST_CALLS
    yield part.shapes < _MOST_CALLS
    for cart in page["cart"][: page["carts"]]:
        yield 0 <= cart["dimensions"] <= len(cart["size"])
        yield cart["size"][: cart["dimensions"]] > 0
    for _, events in part.windows:
        yield (events["bytes"] >= 0) & (events["bytes"] < MOST_BYTES)
        yield (events["peer"] >= -1) & (events["peer"] < ranks)
        yield (events["site_and_kind"] & (1 << _KIND_BITS) - 1) < len(KINDS)
        yield events["site_and_kind"] >> _KIND_BITS < len(sites)
        yield (events["start_ns"] >= 0) & (events["start_ns"] < _MOST_TICKS) & (events["end_ns"] < _MOST_TICKS)
        yield used.any() | (len(events) == 0)
    if int(live["since"]):
        yield live["site"] < len(sites) and sites["call"][live["site"]] < names
        yield live["partner"]["world"][: live["partners"]] < ranks
