"""The collectives that settings are chosen for: those of an observed program, or all of a machine's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwise.arrays import Array
from rankwise.collectives.selection import Call
from rankwise.observe.phases import first_events
from rankwise.observe.record import COLLECTIVE, Record
from rankwise.observe.steps import Steps
from rankwise.units import format_count
from rankwise.workloads.base import Span

KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block", "gather", "scatter")
MACHINE_KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter")
_LARGEST = 1 << 22


@dataclass(frozen=True)
class Called:
    """A collective that is called ``in_run`` times, ``in_step`` of them a step (None: no step is known).

    ``took``: how long a call of it took where the program was observed, from when its last rank came; None where unknown.
    """

    call: Call
    in_run: float = 0.0
    in_step: float | None = None
    took: Span | None = None

    @property
    def octave(self) -> tuple[int, int]:
        """The smallest and the largest size that has as many binary digits."""
        digits = self.call.size_bytes.bit_length()
        return 1 << max(0, digits - 1), (1 << digits) - 1


def of_machine(ranks: int, node_of_rank: Sequence[int]) -> list[Called]:
    """Return each collective of so many ranks at each power of two of bytes up to 4 MiB."""
    nodes = tuple(node_of_rank)
    sizes = [1 << digits for digits in range(_LARGEST.bit_length())]
    return [
        Called(Call(kind, ranks, size, nodes, element_bytes=1 if size < 4 else 4)) for kind in MACHINE_KINDS for size in sizes
    ]


def of_record(record: Record, steps: Steps | None, timed: bool = False) -> tuple[list[Called], list[str]]:
    """Return the collectives of a program, ``timed`` with how long each took, and what is not looked at and why, in words."""
    known = record.header.get("communicators", [])
    shapes = [shape for shape in record.header.get("shapes") or [] if shape]
    ordered = any(shape.get("commutative") is False for shape in shapes)
    element = max((int(shape.get("element_bytes") or 0) for shape in shapes), default=0) or 8
    per_step = Counter(_in_steps(record, steps)) if steps is not None else Counter[tuple[str, int, int]]()
    durations = _durations(record) if timed else {}
    found: dict[Call, list[float]] = defaultdict(lambda: [0.0, 0.0])
    took: dict[Call, list[Array]] = defaultdict(list)
    left: Counter[str] = Counter()
    for line in record.header.get("collectives", []):
        name, number = str(line["call"]).removeprefix("MPI_").lower(), int(line["comm"])
        comm = known[number] if number < len(known) else {}
        size = int(comm.get("size", 0))
        nodes = tuple(int(record.node_of_rank[rank]) for rank in comm.get("ranks") or range(record.ranks))
        why = ""
        if name not in KINDS:
            why = "nothing is set for it"
        elif not size or comm.get("inter"):
            why = "its communicator is unknown, or between two groups"
        elif ordered and "reduce" in name:
            why = "an operation of the program does not commute: libraries have other rules for it"
        elif size < 2 or line["bytes"] == 0:
            why = f"{line['bytes']} B among {format_count(size, 'rank')}: there is nothing to choose"
        elif len(nodes) != size or min(nodes) < 0:
            why = "where its ranks ran is unknown"
        if why:
            left[f"{line['call']}: {why}"] += line["calls"]
            continue
        each = line["bytes"] // size if name == "alltoall" else line["bytes"] * (size if name == "reduce_scatter_block" else 1)
        call = Call(name, size, int(each), nodes, element)
        entry = found[call]
        entry[0] += line["calls"] / size
        alike = (str(line["call"]), number, int(line["bytes"]))
        entry[1] += per_step.pop(alike, 0.0) / size
        if len(of_ranks := durations.get(alike, [])) == size:
            took[call].append(_from_the_last(of_ranks))
    called = [
        Called(call, in_run, None if steps is None else in_step, _span(took[call])) for call, (in_run, in_step) in found.items()
    ]
    return called, [f"{words} ({format_count(round(count), 'call')})" for words, count in left.items()]


def _in_steps(record: Record, steps: Steps) -> dict[tuple[str, int, int], float]:
    """Return how often a step has each collective, of all ranks together, by call, communicator and bytes."""
    events = {rank: of_rank for rank, of_rank in first_events(record).items() if len(of_rank)}
    names, count = record.header["calls"], len(steps.sample)
    found: dict[tuple[str, int, int], float] = defaultdict(float)
    for rank in events:
        window = steps.window(events, rank)
        inside = window[window["kind"] == COLLECTIVE]
        keys = np.stack([inside["call"].astype(np.int64), inside["comm"].astype(np.int64), inside["bytes"]])
        for (call, comm, size), times in zip(
            *(part.T.tolist() for part in np.unique(keys, axis=1, return_counts=True)), strict=True
        ):
            if call < len(names):
                found[names[call], comm, size] += times / count
    return found


def _durations(record: Record) -> dict[tuple[str, int, int], list[Array]]:
    """Return when each rank's blocking collectives began and ended (rows), by call, communicator and bytes."""
    names = record.header["calls"]
    found: dict[tuple[str, int, int], list[Array]] = defaultdict(list)
    for of_rank in first_events(record).values():
        inside = of_rank[(of_rank["kind"] == COLLECTIVE) & (of_rank["request"] == 0) & (of_rank["call"] < len(names))]
        keys = np.stack([inside["call"].astype(np.int64), inside["comm"].astype(np.int64), inside["bytes"].astype(np.int64)])
        times = np.stack([inside["start_ns"], inside["end_ns"]])
        rows, which = np.unique(keys, axis=1, return_inverse=True)
        for i, (call, comm, size) in enumerate(rows.T.tolist()):
            found[names[call], comm, size].append(times[:, which.reshape(-1) == i])
    return found


def _from_the_last(of_ranks: Sequence[Array]) -> Array:
    """Return how long calls took in seconds, each from when its last rank came until all had left: what cannot be waiting."""
    count = min(times.shape[1] for times in of_ranks)
    begun, ended = np.stack([times[:, :count].astype(np.int64) for times in of_ranks]).max(axis=0)
    return np.asarray((ended - begun) * 1e-9)


def _span(took: Sequence[Array]) -> Span | None:
    times_s = np.concatenate(took) if took else np.zeros(0)
    times_s = times_s[times_s > 0]  # clocks of hosts may be further apart than a short call takes
    return Span.of(times_s) if len(times_s) else None


def with_octaves(called: Sequence[Called]) -> Iterator[Called]:
    """Yield the calls, and at the ends of each one's octave of sizes the like that is called nowhere."""
    there = {(one.call.kind, one.call.ranks, one.call.node_of_rank, one.call.size_bytes) for one in called}
    for one in called:
        yield one
        for size in one.octave:
            key = (one.call.kind, one.call.ranks, one.call.node_of_rank, size)
            if key not in there:
                there.add(key)
                yield Called(replace(one.call, size_bytes=size))
