"""The pattern of observed traffic, in words and figures: a grid with the offsets along which ranks talk, or a general graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

import numpy as np

from rankwise import _core
from rankwise.arrays import Array
from rankwise.errors import InputError
from rankwise.observe.grids import Pairs
from rankwise.observe.levels import NO_LEVELS, levels_of
from rankwise.observe.naming import LEAST_HEAVY, LEAST_OFTEN, Name, Seen, cart_of, heavy, name_of
from rankwise.observe.record import BLOCKING_SEND, COLLECTIVE, SEND, Record
from rankwise.observe.steps import Steps
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record, told
from rankwise.units import format_span, format_volume

_MOST_DENSE = 3  # ranks for each offset of a halo, at least
_EXPLAINED = 0.95  # share of the bytes along the offsets
_LEAST_SHARE = 0.5  # of the messages' bytes that the steps have, for them to stand for the program
_MORE_COLLECTIVES = 2  # collective calls of steps for each message of the run, where steps have no messages
_MOST_EVENTS = 400_000  # whose levels are looked at
_MOST_APART = 0.05  # of a step's messages are of other pairs than in most steps, for their order to tell anything


class Traffic(Protocol):
    """A matrix by rows, a row a sender: of each pair the receiver, messages and bytes."""

    @property
    def pointer(self) -> Array: ...
    @property
    def peer(self) -> Array: ...
    @property
    def messages(self) -> Array: ...
    @property
    def bytes(self) -> Array: ...


@record
class Pattern(JsonRecord):
    """What describes traffic shortest.

    ``kind``: ``grid``; ``graph``, where no grid describes it: then ``dims``, ``periodic``, ``offsets`` and ``cell_of_rank``
    are empty; or ``uncertain``, where a grid does, but too poorly to build on. ``weights``: of each offset the mean bytes that
    a pair of ranks sent along it; ``message_bytes`` the mean size of one of its messages. ``explained``: the share of all bytes
    between ranks that follow the offsets. ``naming``: what experts call it.
    """

    kind: str = key("grid, graph (there is no grid) or uncertain")
    dims: tuple[int, ...] = key("shape of the grid", default=())
    periodic: tuple[bool, ...] = key("whether each axis wraps around", default=())
    offsets: tuple[tuple[int, ...], ...] = key("places of the neighbours relative to a rank", default=())
    weights: tuple[float, ...] = key("mean bytes of a pair, by offset", default=())
    message_bytes: tuple[float, ...] = key("size of the messages along each offset", default=())
    explained: float = key("share of the bytes along the offsets", default=0.0)
    cell_of_rank: Sequence[int] | Array = field(default=(), compare=False, repr=False)
    naming: Name = key("", default=Name("none"), inline=True)

    @property
    def natural(self) -> bool:
        """Whether ranks are numbered row by row."""
        return bool(self.dims) and all(cell == rank for rank, cell in enumerate(self.cell_of_rank))

    @property
    @told("the pattern in a sentence")
    def words(self) -> str:
        """The pattern in a line: ``3-D halo of 6 neighbours, grid 4x2x2, periodic: faces of 49.0 kB to 100 kB``."""
        if self.naming.name == "none":
            return "no messages between ranks"
        return self.naming.words + (f": {self.naming.reason}" if self.naming.reason else "")


def find_pattern(traffic: Traffic, seen: Seen | None = None) -> Pattern:
    """Find the grid in a traffic matrix, whatever the ranks' numbering, and name what was seen, or else the matrix alone.

    Raises InputError on arrays that do not fit.
    """
    pointer = np.ascontiguousarray(traffic.pointer, np.int64)
    peer = np.ascontiguousarray(traffic.peer, np.uint32)
    counts = [np.ascontiguousarray(array, np.uint64) for array in (traffic.messages, traffic.bytes)]
    try:
        found = _core.find_grid(pointer, peer, *counts)
    except ValueError as error:
        raise InputError(str(error)) from None
    offsets, weights, sizes = [], [], []
    for offset, pairs, messages, volume in found.offsets:
        # Halfway around a periodic axis both ways lead to the same rank: each has half of what the pair sends.
        both_ways = 1
        for step, dim, wraps in zip(offset, found.dims, found.periodic, strict=True):
            both_ways *= 2 if wraps and 2 * abs(step) == dim else 1
        offsets.append(tuple(offset))
        weights.append(volume / pairs / both_ways)
        sizes.append(volume / messages)
    grid = Pattern(
        found.kind, tuple(found.dims), tuple(found.periodic), tuple(offsets), tuple(weights), tuple(sizes),
        found.explained, np.array(found.cell_of_rank, np.int64),
    )  # fmt: skip
    seen = seen or Seen(pairs_of(traffic))
    return replace(grid, naming=name_of(replace(seen, found=_halo_of(grid, seen.ranks))))


def pairs_of(traffic: Traffic) -> Pairs:
    """Return the pairs of ranks of a matrix by rows, without messages of a rank to itself."""
    pointer, peer, messages, volume = map(np.asarray, (traffic.pointer, traffic.peer, traffic.messages, traffic.bytes))
    source = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))
    apart = (source != peer) & (messages > 0)
    columns = (of[apart].astype(kind) for of, kind in ((peer, int), (messages, float), (volume, float)))
    return Pairs(len(pointer) - 1, source[apart], *columns)


def _halo_of(grid: Pattern, ranks: int) -> Name | None:
    """Return the halo that a grid of any numbering makes, if few enough neighbours talk to make one."""
    if grid.kind != "grid" or not grid.offsets or len(grid.offsets) > ranks / _MOST_DENSE:
        return None
    how = "" if grid.natural else ", ranks not numbered row by row"
    far = max(max(map(abs, offset)) for offset in grid.offsets)
    how += f", up to {far} cells away" if far > 1 else ""
    sizes = format_span(sorted(grid.message_bytes), lambda size: format_volume(round(size)))
    return Name("halo", grid.explained > _EXPLAINED, grid.dims, grid.periodic, len(grid.offsets), f"messages of {sizes}{how}")


def seen_of(record: Record, whole: Traffic, step: Traffic | None, steps: Steps | None, events: Mapping[int, Array]) -> Seen:
    """Return what is seen, of the step where there is one with most of the messages, else of the run: ``whole`` is the run's
    traffic, ``step`` that of a step, ``events`` all ranks' first window."""
    carts = tuple(cart_of(entry) for entry in record.header.get("carts", []))
    if step is not None and steps is not None:
        window = {rank: steps.events(events, rank) for rank in events}
        pairs = pairs_of(step)
        stands = float(np.sum(step.bytes)) * len(steps.durations_s) >= _LEAST_SHARE * _sent(events)
        if not len(pairs.source):
            more_collectives = _collectives(window, steps) >= _MORE_COLLECTIVES * np.sum(whole.messages)
            stands = stands and not np.sum(whole.bytes) or more_collectives
        if stands:
            levels = levels_of(window) if _shares_apart(steps, events) <= _MOST_APART else NO_LEVELS
            in_events = _in_events(record, window, float(np.sum(pairs.bytes)))
            return Seen(pairs, levels, *in_events, carts, run_has_messages=bool(np.sum(whole.messages)))
    pairs = heavy(pairs_of(whole), LEAST_HEAVY, LEAST_OFTEN)
    most = _MOST_EVENTS // max(1, len(events))
    levels = levels_of({rank: of_rank[:most] for rank, of_rank in events.items()})
    return Seen(pairs, levels, *_in_header(record, float(np.sum(pairs.bytes))), carts)


def _collectives(step: Mapping[int, Array], steps: Steps) -> int:
    """Return how many collective calls all steps have, of those of one."""
    return sum(int((of_rank["kind"] == COLLECTIVE).sum()) for of_rank in step.values()) * len(steps.durations_s)


def _sent(events: Mapping[int, Array]) -> float:
    """Return the bytes of all messages that are sent in events."""
    return float(sum(of_rank["bytes"][np.isin(of_rank["kind"], (SEND, BLOCKING_SEND))].sum() for of_rank in events.values()))


def _shares_apart(steps: Steps, events: Mapping[int, Array]) -> float:
    """Return the share of a step's messages that are of other pairs than in most steps, the median of all steps."""
    rows = []
    for column, (rank, of_rank) in enumerate(sorted(events.items())):
        at = steps.positions(column)
        at = at[np.isin(of_rank["kind"][at], (SEND, BLOCKING_SEND))]
        step = np.searchsorted(steps.begins[steps.sample, column], at, side="right") - 1
        rows.append(np.stack([step, np.full(len(at), rank), of_rank["peer"][at]]))
    step, source, dest = np.concatenate(rows, axis=1)
    pair = np.unique(np.stack([source, dest]), axis=1, return_inverse=True)[1].reshape(-1)
    messages = np.zeros((len(steps.sample), int(pair.max(initial=0)) + 1))
    np.add.at(messages, (step, pair), 1)
    messages /= np.maximum(messages.sum(axis=1, keepdims=True), 1)
    return float(np.median(np.abs(messages - np.median(messages, axis=0)).sum(axis=1))) / 2


def _in_events(record: Record, events: Mapping[int, Array], sent: float) -> tuple[tuple[tuple[int, ...], ...], float, bool]:
    """Return the members of communicators with all-to-alls, these all-to-alls' share of the bytes, and whether there are any
    collectives."""
    volume: dict[int, float] = {}
    others = False
    for of_rank in events.values():
        called = of_rank[of_rank["kind"] == COLLECTIVE]
        names = np.array([_all_to_all(name) for name in record.header["calls"]], bool)[called["call"]]
        others |= bool(len(called))
        for comm in np.unique(called["comm"][names]).tolist():
            volume[comm] = volume.get(comm, 0.0) + float(called["bytes"][names & (called["comm"] == comm)].sum())
    return *_communicators(record, volume, sent), others


def _in_header(record: Record, sent: float) -> tuple[tuple[tuple[int, ...], ...], float, bool]:
    """Return the same of the whole run."""
    volume: dict[int, float] = {}
    lines = record.header.get("collectives", [])
    for line in lines:
        if _all_to_all(line["call"]):
            volume[line["comm"]] = volume.get(line["comm"], 0.0) + float(line["bytes"]) * line["calls"]
    return *_communicators(record, volume, sent), bool(lines)


def _communicators(record: Record, volume: Mapping[int, float], sent: float) -> tuple[tuple[tuple[int, ...], ...], float]:
    known = record.header.get("communicators", [])
    heaviest = max(volume.values(), default=0.0)
    members = tuple(
        tuple(sorted(known[comm]["ranks"] or range(record.ranks)))
        for comm, moved in sorted(volume.items())
        if comm < len(known) and moved >= LEAST_HEAVY * heaviest
    )
    moved = sum(volume.values())
    return members, moved / (moved + sent) if moved else 0.0


def _all_to_all(call: str) -> bool:
    return "lltoall" in call and "eighbor" not in call
