"""Time lines of one round by each engine: what the judge walked, what was simulated, what was traced; all by one mechanism.

Each gives the events of a tracer (observe/record.py), and those become a time line as an observed step's do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.engines.judge import judged
from rankwise.engines.model import Model
from rankwise.errors import InputError
from rankwise.launch.paje import Trace
from rankwise.observe.phases import PhasedStep, first_events
from rankwise.observe.record import (
    BLOCKING_RECEIVE,
    BLOCKING_SEND,
    COLLECTIVE,
    COMPLETION,
    EVENT,
    RECEIVE,
    SEND,
    Array,
    Record,
)
from rankwise.observe.timeline import Sent, Span, Timeline, timeline_of_window
from rankwise.units import format_size, format_time
from rankwise.workloads.base import Case, Halo, Program, Transpose

MOST_RANKS = 1024
_TICK_S = 1e-12  # of events that were computed
_BETWEEN = ("Barrier", "Bcast", "Reduce", "Allreduce", "Gather")  # collectives by which kernels part their repetitions
_WAITS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Recv", "Sendrecv")
Events = dict[int, list[tuple[Any, ...]]]


def predicted(model: Model, case: Case, placement: _core.Placement) -> Timeline:
    """Return the time line of a round as the judge walks it, every rank at its place. Raises InputError for what it cannot walk."""
    _few(placement.ranks)
    program, block_bytes = _program(case), case.block_bytes or 0
    walk, scale = _of_all(program, placement)
    try:
        cost, columns, times, steps, ends = walk.history(block_bytes if scale else 1, model.machine)
    except ValueError as error:
        raise InputError(str(error)) from None
    events: Events = {rank: [] for rank in range(placement.ranks)}
    request = 0
    bounds: dict[int, list[tuple[float, int, int]]] = {}  # of each rank's steps: the end, the term, the messages
    for (rank, first, count, term), (begin_s, computed_s, end_s) in zip(steps, ends, strict=True):
        call_s, open_ones = max(begin_s, computed_s), []
        for (_, peer, tag, sends, blocking, size), (posted_s, done_s) in zip(
            columns[first : first + count], times[first : first + count], strict=True
        ):
            if blocking:
                events[rank].append(_event(posted_s, done_s, size, peer, tag, 0, BLOCKING_SEND))
                call_s = max(call_s, done_s)
                continue
            request += 1
            open_ones.append((peer, tag, size, request))
            events[rank].append(_event(posted_s, posted_s, size, peer, tag, request, SEND if sends else RECEIVE))
        call_s = min(call_s, end_s)
        events[rank] += [_event(call_s, end_s, size, peer, tag, open_one, COMPLETION) for peer, tag, size, open_one in open_ones]
        if count:
            bounds.setdefault(rank, []).append((end_s, term, count))
    line = _line(events, dict.fromkeys(events, 0), _TICK_S)
    resource, _, held_s, _ = cost.busiest

    def term_of(span: Span, message: Sent | None) -> str:
        end_s, term, count = min(bounds[span.rank], key=lambda step: (step[0] < span.end_s * (1 - 1e-9), step[0]))
        words = _message_words(placement, model.machine, span.rank, message)
        if term == 1:
            return f"{words}, beside {count - 1} others"
        if term == 2:
            return f"{words}, shared with others ({resource})"
        return f"the processor's share of {count} messages" if term == 3 else words

    line = line.named(term_of)
    if held_s > line.length_s * (1 + 1e-6):
        line = replace(line, note=f"No round takes less than {resource} is held: {format_time(held_s)}.")
    return line


def simulated(trace: Trace, placement: _core.Placement, machine: _core.Machine, time_s: float) -> Timeline:
    """Return the time line of the repetition that took ``time_s``, of a simulation that was traced."""
    events: Events = {rank: [] for rank in range(placement.ranks)}
    names: list[str] = []
    calls: dict[int, list[tuple[float, float, str]]] = {rank: [] for rank in events}
    for call in trace.calls:
        name = call.name.removeprefix("MPI_")
        calls[call.rank].append((call.start_s, call.end_s, name))
        if name in _BETWEEN or name.startswith(("Alltoall", "Allgather", "Scatter")):
            names += [name] * (name not in names)
            events[call.rank].append((*_event(call.start_s, call.end_s, 0, -1, 0, 0, COLLECTIVE)[:7], names.index(name), COLLECTIVE))
    for request, message in enumerate(trace.messages, 1):
        start_s, end_s, name = _call_at(calls[message.source], message.sent_s, ("Send", "Ssend", "Sendrecv"))
        blocking = name in ("Send", "Ssend", "Sendrecv")
        posted = (start_s, end_s) if blocking else (message.sent_s, message.sent_s)
        events[message.source].append(
            _event(*posted, message.bytes, message.dest, message.tag, 0 if blocking else request, BLOCKING_SEND if blocking else SEND)
        )
        start_s, end_s, name = _call_at(calls[message.dest], message.arrived_s, _WAITS)
        peer_and_tag = (message.bytes, message.source, message.tag)
        if name in ("Recv", "Sendrecv"):
            events[message.dest].append(_event(start_s, end_s, *peer_and_tag, 0, BLOCKING_RECEIVE))
        else:
            posted_s = min(start_s, message.sent_s)
            events[message.dest].append(_event(posted_s, posted_s, *peer_and_tag, request, RECEIVE))
            events[message.dest].append(_event(start_s, end_s, *peer_and_tag, request, COMPLETION))
    line = _line(_round(_arrays(events), names, time_s, _TICK_S), None, _TICK_S)
    return line.named(lambda span, message: _message_words(placement, machine, span.rank, message))


def traced(record: Record, placement: _core.Placement, time_s: float) -> Timeline:
    """Return the time line of a repetition that took about ``time_s``, of a real run that was traced."""
    names = [str(name).removeprefix("MPI_") for name in record.header.get("calls", [])]
    line = _line(_round(first_events(record), names, time_s, 1e-9), None, 1e-9)
    return line.named(lambda span, message: _message_words(placement, None, span.rank, message))


def _program(case: Case) -> Program:
    try:
        return case.program()
    except NotImplementedError:
        raise InputError(f"the model has no time line of {case.workload}: take that of a simulation or a run") from None


def _of_all(program: Program, placement: _core.Placement) -> tuple[_core.Judged, bool]:
    """Return a program with every rank at its place, and whether its blocks are still to be scaled."""
    schedules = program.schedules
    try:
        if isinstance(schedules, _core.Exchange):
            return schedules.of_all(placement), True
        if isinstance(schedules, Halo):
            return _halo(schedules).judged(placement), True
        if isinstance(schedules, Transpose):
            return _transpose(schedules).judged(placement), True
    except ValueError as error:
        raise InputError(str(error)) from None
    return judged(program, placement), False


def _halo(halo: Halo) -> PhasedStep:
    """Return a stencil's messages, all at once, in blocks."""
    ranks = math.prod(halo.grid)
    cells = np.stack(np.unravel_index(np.arange(ranks), halo.grid), axis=1)
    source, dest, blocks = [], [], []
    for offset, weight in zip(halo.offsets, halo.weights or (1,) * len(halo.offsets), strict=True):
        there = cells + np.array(offset)
        wraps = np.array(halo.periodic)
        inside = np.all(wraps | ((there >= 0) & (there < halo.grid)), axis=1)
        to = np.ravel_multi_index(tuple((there % halo.grid).T), halo.grid)
        apart = inside & (to != np.arange(ranks))
        source.append(np.arange(ranks)[apart])
        dest.append(to[apart])
        blocks.append(np.full(int(apart.sum()), weight))
    return PhasedStep.at_once(np.concatenate(source), np.concatenate(dest), np.concatenate(blocks), ranks)


def _transpose(asked: Transpose) -> PhasedStep:
    """Return the messages of a transpose: all at once, or partner after partner."""
    ranks = math.prod(asked.dims)
    number = np.arange(ranks).reshape(asked.dims)
    others = [axis for axis in range(len(asked.dims)) if axis not in asked.axes]
    groups = number.transpose(*others, *asked.axes).reshape(-1, math.prod(asked.dims[axis] for axis in asked.axes))
    size = groups.shape[1]
    phase, source, dest = [], [], []
    for shift in range(1, size):
        source.append(groups.reshape(-1))
        dest.append(np.roll(groups, -shift, axis=1).reshape(-1))
        phase.append(np.full(ranks, shift - 1 if asked.pairwise else 0))
    phases = max(1, size - 1) if asked.pairwise else 1
    count = ranks * (size - 1)
    empty = np.zeros(0, np.int64)
    return PhasedStep(
        np.concatenate(phase or [empty]), np.concatenate(source or [empty]), np.concatenate(dest or [empty]),
        np.ones(count, np.int64), np.zeros((phases, ranks)),
    )  # fmt: skip


def _event(start_s: float, end_s: float, size: int, peer: int, tag: int, request: int, kind: int) -> tuple[Any, ...]:
    return (round(start_s / _TICK_S), round(end_s / _TICK_S), size, peer, tag, request, 0, 0, kind)


def _arrays(events: Events) -> dict[int, Array]:
    arrays = {}
    for rank, rows in events.items():
        array = np.array(rows, EVENT)
        arrays[rank] = array[np.argsort(array["start_ns"], kind="stable")]
    return arrays


def _line(events: Events | Mapping[int, Array], began: Mapping[int, int] | None, unit_s: float) -> Timeline:
    arrays = {rank: rows if isinstance(rows, np.ndarray) else _arrays({rank: rows})[rank] for rank, rows in events.items()}
    arrays = {rank: rows for rank, rows in arrays.items() if len(rows)}
    if not arrays:
        raise InputError("no message is sent in a round: there is no time line of it")
    first = min(int(rows["start_ns"].min()) for rows in arrays.values())
    starts = {rank: first if began is None else began[rank] for rank in arrays}
    return timeline_of_window(arrays, starts, unit_s)


def _round(events: Mapping[int, Array], names: Sequence[str], time_s: float, unit_s: float) -> dict[int, Array]:
    """Cut out of all ranks' events that repetition whose length is nearest to ``time_s``; collectives part repetitions."""
    parting = np.array([name in _BETWEEN for name in names] + [False])
    pieces = {}
    for rank, of_rank in events.items():
        at = np.nonzero((of_rank["kind"] == COLLECTIVE) & parting[np.minimum(of_rank["call"], len(names))])[0]
        pieces[rank] = [of_rank[a + 1 : b] for a, b in zip(at, at[1:], strict=False)]
    count = min(map(len, pieces.values()), default=0)
    best, found = math.inf, None
    for number in range(count):
        piece = {rank: of_rank[number] for rank, of_rank in pieces.items()}
        there = [rows for rows in piece.values() if len(rows)]
        if len(there) < min(2, len(piece)):
            continue
        length_s = unit_s * (max(int(r["end_ns"].max()) for r in there) - min(int(r["start_ns"].min()) for r in there))
        away = abs(math.log(max(length_s, unit_s) / time_s)) - 0.5 * (len(there) == len(piece))
        if away < best:
            best, found = away, piece
    if found is None:
        raise InputError("no repetition was found in what was traced: ask for one case, and a longer run")
    return found


def _call_at(calls: Sequence[tuple[float, float, str]], time_s: float, names: Sequence[str]) -> tuple[float, float, str]:
    """Return the call in which a rank is at a time, one of ``names`` where there are several; else none, at that time."""
    import bisect

    last = bisect.bisect_right(calls, time_s * (1 + 1e-12) + 1e-15, key=lambda call: call[0])
    there = [call for call in calls[max(0, last - 8) : last] if call[0] <= time_s <= call[1] * (1 + 1e-12) + 1e-15]
    return next((call for call in there if call[2] in names), (time_s, time_s, ""))


def _message_words(placement: _core.Placement, machine: _core.Machine | None, rank: int, message: Sent | None) -> str:
    """Say what a message waits for: its start or its bytes, over which link."""
    if message is None:
        return "sending"
    link = placement.link_between(message.source, rank)
    about = f"{format_size(message.bytes)} from rank {message.source} over {link}"
    lines = [] if machine is None else machine.lines(link)
    known = [line for line in lines if line[0] <= message.bytes]
    if not known:
        return about
    _, alpha_s, beta_s_per_byte = known[-1]
    return f"{'latency' if alpha_s > beta_s_per_byte * message.bytes else 'bytes'} of {about}"


def _few(ranks: int) -> None:
    if ranks > MOST_RANKS:
        raise InputError(f"{ranks} ranks are too many for a time line: stay below {MOST_RANKS}")
