"""Time in collective calls: by call, communicator, bytes and call site; and what stands before and behind each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.needs import begun_ns
from rankwise.observe.record import COLLECTIVE, Record
from rankwise.observe.steps import Steps
from rankwise.observe.wait_causes import Place, labels_of, place_of
from rankwise.observe.waits import Waits
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record


@record
class CollectiveTime(JsonRecord):
    """Collective calls of a place that are alike: the mean over ranks and over the steps that are looked at."""

    call: str = key("name of the function of MPI")
    ranks: int | None = key("size of the communicator; null: unknown")
    bytes: int = key("bytes that a rank contributes in a call; of bcast and scatter, its share")
    at: Place = key("where it is called")
    calls: float = key("calls of a rank in a step")
    time_s: float = key("time of a rank in these calls in a step; of non-blocking ones without their completion")
    wait_s: float | None = key("part of it for a rank that comes late; null: unknown")
    share: float = key("share of a step")


@dataclass(frozen=True)
class Called:
    """The collective calls of a rank in the steps that are looked at, as arrays; ``at``: their labels; ``behind_ns``: what it
    computes up to the next call; ``follows``: whether the next call is the next of these."""

    call: Array
    comm: Array
    bytes: Array
    at: Array
    blocks: Array
    time_ns: Array
    wait_ns: Array
    behind_ns: Array
    follows: Array


def called(steps: Steps, events: Mapping[int, Array], labels: Mapping[int, Array], waits: Waits) -> list[Called]:
    """Return each rank's collective calls in the steps that are looked at."""
    found = []
    for column, rank in enumerate(sorted(events)):
        window, positions = steps.window(events, rank), steps.positions(column)
        at = np.flatnonzero(window["kind"] == COLLECTIVE)
        mine = window[at]
        first, late_s = waits.of_calls[rank]
        place = np.minimum(np.searchsorted(first, at), max(len(first) - 1, 0))
        late_ns = late_s[place] * (first[place] == at) * 1e9 if len(first) else np.zeros(len(at))
        # The call behind the last one of a step is of the next step, or of none.
        ended = np.maximum.accumulate(events[rank]["end_ns"])[positions[at]]
        behind = np.maximum(begun_ns(events[rank], positions[at] + 1) - ended, 0)
        found.append(
            Called(
                mine["call"].astype(int), mine["comm"], mine["bytes"], labels[rank][at], mine["request"] == 0,
                (mine["end_ns"] - mine["start_ns"]).astype(float), late_ns, behind.astype(float),
                np.append(at[1:] == at[:-1] + 1, False)[: len(at)],
            )
        )  # fmt: skip
    return found


def collective_times(record: Record, steps: Steps, events: Mapping[int, Array], waits: Waits) -> list[CollectiveTime]:
    """Return the time in collective calls, the longest first."""
    sums: dict[tuple[int, int, int, int], Array] = {}
    for of_rank in called(steps, events, labels_of(record, steps, events), waits):
        columns = np.stack([of_rank.call, of_rank.comm, of_rank.bytes, of_rank.at], axis=1).astype(np.int64)
        rows, which = np.unique(columns, axis=0, return_inverse=True)
        values = np.stack([
            np.bincount(which.reshape(-1), of, len(rows)) for of in (np.ones(len(columns)), of_rank.time_ns, of_rank.wait_ns)
        ], axis=1)  # fmt: skip
        for (call, comm, size, label), own in zip(rows.tolist(), values, strict=True):
            sums[call, comm, size, label] = sums.get((call, comm, size, label), 0) + own
    known = record.header.get("communicators", [])
    found: dict[tuple[Any, ...], tuple[Place, Array]] = {}
    for (call, comm, size, label), total in sums.items():
        place = place_of(record, label)
        alike = (record.header["calls"][call], known[comm]["size"] if comm < len(known) else None, size, place.place)
        found[alike] = (place, found[alike][1] + total if alike in found else total)
    each, step_s = record.ranks * len(steps.sample), float(steps.spans_s(events).mean()) / len(steps.sample)
    return sorted(
        (
            CollectiveTime(
                call, ranks, size, place, float(total[0]) / each, float(total[1]) * 1e-9 / each,
                float(total[2]) * 1e-9 / each if waits.why_not is None else None, float(total[1]) * 1e-9 / each / step_s,
            )
            for (call, ranks, size, _), (place, total) in found.items()
        ),
        key=lambda one: -one.time_s,
    )  # fmt: skip
