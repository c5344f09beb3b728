"""Other ways of sending what an observed step sends: merged, at once, by nodes. Each is a schedule like the step's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.mapping.traffic import Traffic
from rankwise.observe.phases import PhasedStep, first_events
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COMPLETION

if TYPE_CHECKING:
    from rankwise.advise.evidence import Evidence
    from rankwise.mapping.traffic import Nodes

_APART = 0.1  # of a step's computing, or
_APART_OF_STEP = 0.02  # of its time, which between two phases is work, not packing


@dataclass(frozen=True)
class Way:
    """A way of sending: ``steps`` follow one another; ``why`` it is quicker if
    it is; ``command``: what does it, or the change."""

    what: str
    steps: tuple[PhasedStep, ...]
    why: str
    command: str


def ways_of_sending(evidence: Evidence, schedule: PhasedStep, node_of_rank: Nodes) -> Iterator[Way]:
    """Yield the ways that differ from the step's own.

    What is sent in an order may depend on what came before: messages are merged within a phase, or of phases between the same
    pairs in a row (fields sent one after the other), and by nodes where all is sent at once. Whether phases one after the other
    may be one is the program's to know.
    """
    traffic = evidence.traffic
    merged = _merged(schedule)
    sizes = f"--bytes {max(1, int(np.median(traffic.bytes)))}"
    command = f"rankwise choose --dims {max(1, len(evidence.pattern.dims))} --cutoff 1 {sizes}"
    if len(merged.bytes) < len(schedule.bytes):
        yield Way("Merge the messages to each neighbour into one", (merged,), "fewer latencies", command)
    group, count = _in_a_row(schedule, evidence.time_s)
    if int(group.max()) + 1 < schedule.phases:
        calls = _waiting_calls(evidence)
        yield Way(
            f"Send {count} exchanges at once that follow one another", (_grouped(schedule, group),),
            "none waits for the one before it. Only where no message carries on what came in an earlier one of these exchanges "
            "(as corners do in halos axis by axis: send those to the diagonal neighbours)",
            f"MPI_Irecv of all, MPI_Isend of all, one MPI_Waitall{f', instead of {calls}' if calls else ''}",
        )  # fmt: skip
    if schedule.phases == 1 and (steps := _node_aware(traffic, node_of_rank)):
        yield Way("Send between nodes one message for all ranks of a node", steps, "fewer latencies", command)


def _in_a_row(schedule: PhasedStep, time_s: float) -> tuple[Any, int]:
    """Return the group of each phase, of phases between which next to nothing is computed, and the most phases of one."""
    computing_s = schedule.compute_s.mean(axis=1)
    apart = computing_s > max(_APART * float(computing_s.sum()), _APART_OF_STEP * time_s)
    fixed = np.isin(np.arange(schedule.phases), schedule.collective)
    apart |= fixed
    apart[1:] |= fixed[:-1]
    apart[0] = False
    group = np.cumsum(apart)
    return group, int(np.bincount(group[np.unique(schedule.phase)]).max(initial=0))


def _waiting_calls(evidence: Evidence) -> str:
    """Return which calls rank 0 waits in during a step, each once."""
    steps, names = evidence.steps, evidence.record.header.get("calls", [])
    if steps is None:
        return ""
    of_rank = first_events(evidence.record)
    events = steps.events(of_rank, min(of_rank))
    calls = events["call"][np.isin(events["kind"], (BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION))]
    return " and ".join(names[call] for call in dict.fromkeys(calls.tolist()) if call < len(names))


def _merged(schedule: PhasedStep) -> PhasedStep:
    """Return the schedule with one message of each pair in each phase, phases between the same pairs in a row taken as one."""
    ends = np.searchsorted(schedule.phase, np.arange(schedule.phases + 1))
    group, last = np.zeros(schedule.phases, np.int64), b""
    for phase in range(schedule.phases):
        rows = slice(ends[phase], ends[phase + 1])
        pairs = np.unique(np.stack([schedule.source[rows], schedule.dest[rows]]), axis=1).tobytes()
        group[phase] = (group[phase - 1] if phase else -1) + (pairs != last)
        last = pairs
    columns = np.stack([group[schedule.phase], schedule.source, schedule.dest])
    keys, inverse = np.unique(columns, axis=1, return_inverse=True)
    volume = np.zeros(keys.shape[1], schedule.bytes.dtype)
    np.add.at(volume, inverse.reshape(-1), schedule.bytes)
    phases, source, dest = (np.ascontiguousarray(row) for row in keys)
    compute_s = np.zeros((int(group.max(initial=0)) + 1, schedule.ranks))
    return replace(schedule, phase=phases, source=source, dest=dest, bytes=volume, compute_s=compute_s, collective=())


def _grouped(schedule: PhasedStep, group: Any) -> PhasedStep:
    """Return the schedule with the phases of each group as one."""
    compute_s = np.zeros((int(group.max()) + 1, schedule.ranks))
    return replace(schedule, phase=group[schedule.phase], compute_s=compute_s, collective=())


def _node_aware(traffic: Traffic, node_of_rank: Nodes) -> tuple[PhasedStep, ...]:
    """Return three steps: to the rank of a node that speaks with another one, between nodes, and on from there."""
    cut = traffic.crossing(node_of_rank)
    if not cut.any():
        return ()
    members = [np.flatnonzero(node_of_rank == node) for node in range(int(node_of_rank.max()) + 1)]
    a, b = node_of_rank[traffic.source], node_of_rank[traffic.peer]

    def speaker(own: Nodes, other: Nodes) -> Any:
        return np.array([members[i][j % len(members[i])] for i, j in zip(own, other, strict=True)])

    out, into, sent = speaker(a[cut], b[cut]), speaker(b[cut], a[cut]), traffic.bytes[cut]
    inside = traffic.bytes[~cut]
    ends = ((traffic.source[cut], out), (out, into), (into, traffic.peer[cut]))
    first = (
        np.concatenate((ends[0][0], traffic.source[~cut])),
        np.concatenate((ends[0][1], traffic.peer[~cut])),
        np.concatenate((sent, inside)),
    )
    return tuple(_one_each(one, traffic.ranks) for one in (first, (*ends[1], sent), (*ends[2], sent)))


def _one_each(columns: tuple[Any, Any, Any], ranks: int) -> PhasedStep:
    """Return a step with one message of each pair, all at once; without those of a rank to itself."""
    of = Traffic.of_pairs("", ranks, columns)
    return PhasedStep.at_once(of.source, of.peer, of.bytes, ranks)
