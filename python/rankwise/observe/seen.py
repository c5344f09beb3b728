"""What is seen of a program's communication: of its step where there is one with most of its messages, else of the run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.levels import NO_LEVELS, levels_of
from rankwise.observe.naming import Seen, cart_of, heavy
from rankwise.observe.pattern import Traffic, pairs_of
from rankwise.observe.record import BLOCKING_SEND, COLLECTIVE, SEND, Record
from rankwise.observe.steps import Steps

_LEAST_SHARE = 0.5  # of the messages' bytes that the steps have, for them to stand for the program
_LEAST_HEAVY = 0.02  # of the heaviest pair: below it are the run's set-up and output
_LEAST_OFTEN = 0.2  # of the messages of the pair with the most
_MOST_EVENTS = 400_000  # whose levels are looked at
_MOST_APART = 0.05  # of a step's messages are of other pairs than in most steps, for their order to tell anything


def seen_of(record: Record, whole: Traffic, step: Traffic | None, steps: Steps | None, events: Mapping[int, Array]) -> Seen:
    """Return what is seen: ``whole`` is the run's traffic, ``step`` that of a step, ``events`` all ranks' first window."""
    carts = tuple(cart_of(entry) for entry in record.header.get("carts", []))
    if step is not None and steps is not None:
        window = {rank: steps.events(events, rank) for rank in events}
        in_steps = float(np.sum(step.bytes)) * len(steps.durations_s)
        if in_steps >= _LEAST_SHARE * _sent(events) or not _sent(events):
            pairs = pairs_of(step.pointer, step.peer, step.messages, step.bytes)
            if len(pairs.source) or not np.sum(whole.bytes):
                levels = levels_of(window) if _shares_apart(steps, events) <= _MOST_APART else NO_LEVELS
                return Seen(pairs, levels, *_in_events(record, window, float(np.sum(pairs.bytes))), carts)
    pairs = heavy(pairs_of(whole.pointer, whole.peer, whole.messages, whole.bytes), _LEAST_HEAVY, _LEAST_OFTEN)
    most = _MOST_EVENTS // max(1, len(events))
    levels = levels_of({rank: of_rank[:most] for rank, of_rank in events.items()})
    return Seen(pairs, levels, *_in_header(record, float(np.sum(pairs.bytes))), carts)


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
        if comm < len(known) and moved >= _LEAST_HEAVY * heaviest
    )
    moved = sum(volume.values())
    return members, moved / (moved + sent) if moved else 0.0


def _all_to_all(call: str) -> bool:
    return "lltoall" in call and "eighbor" not in call
