"""One clock for all hosts, from the messages themselves: none is there before it was sent.

The k-th send of a (source, destination, tag, communicator) meets the k-th receive. The quickest from host a to host b bounds
how far b's clock can be ahead of a's; along paths of hosts bounds add up (shortest paths). Of the bounds from the first host
and back to it an offset is the middle, known to half of their distance.
"""

from __future__ import annotations

import numpy as np

from rankwise.observe.record import Array, Record


def aligned(record: Record) -> Record:
    """Return a record whose events are in the clock of the first host; ``header["clock_uncertainty_ns"]`` tells how well by
    host.

    The uncertainty of a host that cannot be compared is None, and its events are left as its own clock had them.
    """
    offsets, uncertainty = host_offsets(record)
    record.header["clock_uncertainty_ns"] = [None if np.isinf(u) else round(u) for u in uncertainty]
    for rank, events in record.events.items():
        shift = np.int64(round(offsets[record.node_of_rank[rank]]))
        events["start_ns"] -= shift
        events["end_ns"] -= shift
    return record


def host_offsets(record: Record) -> tuple[Array, Array]:
    """Return for each host how many ns its clock is ahead of the first one's, and +-ns (infinite: cannot be told)."""
    least = _quickest(record)
    most, back = _shortest(least), _shortest(least.T)  # the offset is at most the one, and at least minus the other
    reached = np.isfinite(most) & np.isfinite(back)
    offsets = np.where(reached, np.where(reached, most, 0) - np.where(reached, back, 0), 0) / 2
    return offsets, np.where(reached, np.abs(most + back) / 2, np.inf)


def _shortest(length: Array) -> Array:
    """Return the lengths of the shortest paths from the first host (Bellman and Ford's way: lengths may be below 0)."""
    found = np.full(len(length), np.inf)
    found[:1] = 0
    for _ in length:
        through = np.minimum(found, (found[:, None] + length).min(axis=0))
        if (through == found).all():
            break
        found = through
    return found


def _quickest(record: Record) -> Array:
    """Return the least ns from a send's begin to its receive's end, by the hosts of the two; infinite where there is none."""
    hosts = len(record.hosts)
    least = np.full((hosts, hosts), np.inf)
    if hosts < 2:
        return least
    sends, receives = [], []
    for rank, events in record.events.items():
        window = next((w for w in record.header["windows"] if w["rank"] == rank and w["first_call"] == 0), None)
        if window is None:
            continue
        seen = events[window["first_event"] : window["first_event"] + window["events"]]
        sent, got = seen[np.isin(seen["kind"], (0, 2)) & (seen["peer"] >= 0)], _received(seen)
        own, from_rank = np.full(len(sent), rank), np.full(len(got), rank)
        sends.append(np.stack([own, sent["peer"], sent["tag"], sent["comm"], sent["start_ns"]]))
        receives.append(np.stack([got["peer"], from_rank, got["tag"], got["comm"], got["end_ns"]]))
    if not sends:
        return least
    one, other = _numbered(np.concatenate(sends, axis=1)), _numbered(np.concatenate(receives, axis=1))
    keys, which = np.unique(np.concatenate([one[:5], other[:5]], axis=1), axis=1, return_inverse=True)
    times = np.full((2, keys.shape[1]), np.nan)
    which = which.reshape(-1)
    times[0, which[: one.shape[1]]], times[1, which[one.shape[1] :]] = one[5], other[5]
    a, b = record.node_of_rank[keys[0]], record.node_of_rank[keys[1]]
    took = times[1] - times[0]
    across = np.isfinite(took) & (a != b) & (a >= 0) & (b >= 0)
    np.minimum.at(least, (a[across], b[across]), took[across])
    return least


def _received(events: Array) -> Array:
    """Return what a rank received, as it came, in the order in which receives were posted."""
    order = np.flatnonzero((events["kind"] == 1) | (events["kind"] == 3))
    came = events[order].copy()
    ends = np.flatnonzero((events["kind"] == 4) & (events["request"] > 0))
    by_request = ends[np.argsort(events["request"][ends], kind="stable")]
    place = np.searchsorted(events["request"][by_request], came["request"])
    completion = by_request[np.minimum(place, max(len(by_request) - 1, 0))] if len(by_request) else np.zeros(len(came), int)
    has = (came["kind"] == 1) & (events["request"][completion] == came["request"]) & (events["kind"][completion] == 4)
    came[has] = events[completion[has]]
    # One that has not come yet ends the order of its key; without its key it is left out, at the window's end.
    return np.asarray(came[((came["kind"] == 3) | has) & (came["peer"] >= 0)])


def _numbered(lines: Array) -> Array:
    """Return lines (rows source, destination, tag, communicator, time) with
    their number within the first four as the fifth row."""
    order = np.lexsort(lines[3::-1])
    ordered = lines[:, order]
    first = np.ones(ordered.shape[1], bool)
    first[1:] = (ordered[:4, 1:] != ordered[:4, :-1]).any(axis=0)
    begins = np.flatnonzero(first)
    number = np.arange(ordered.shape[1]) - np.repeat(begins, np.diff(np.append(begins, ordered.shape[1])))
    return np.vstack([ordered[:4], number, ordered[4]])
