"""Time lines of one round by each engine: what the judge walked, what was simulated, what was traced; all by one mechanism.

Each gives the events of a tracer (observe/record.py), and those become a time line as an observed step's do.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.arrays import Array
from rankwise.engines.judge import judged
from rankwise.engines.step import Priced
from rankwise.errors import InputError
from rankwise.launch.smpi import Trace
from rankwise.observe.phases import PhasedStep, first_events
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, EVENT, RECEIVE, SEND, Record
from rankwise.observe.template import Topology
from rankwise.observe.timeline import Sent, Span, Timeline, timeline_of_window
from rankwise.units import format_count, format_size, format_time
from rankwise.workloads.base import Case, Halo, Program, Row, Transpose

MOST_RANKS = 1024
_TICK_S = 1e-12  # of events that were computed
_BETWEEN = ("Barrier", "Bcast", "Reduce", "Allreduce", "Gather")  # collectives by which kernels part their repetitions
_COMPUTING = ("fft3d", "observed")  # workloads that do more in a round than send
_WAITS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Recv", "Sendrecv")
Events = dict[int, list[tuple[Any, ...]]]


def predicted(model: Priced, case: Case, placement: _core.Placement) -> Timeline:
    """Return the time line of a round as the judge walks it, every rank at its
    place. Raises InputError for what it cannot walk."""
    require_few(placement.ranks)
    program, block_bytes = _program(case), case.block_bytes or 0
    walk, scale = _of_all(program, placement)
    try:
        cost, columns, times, steps, ends = walk.history(block_bytes if scale else 1, model.machine)
    except ValueError as error:
        raise InputError(str(error)) from None
    events: Events = {rank: [] for rank in range(placement.ranks)}
    request = 0
    bounds: dict[int, list[tuple[float, int, int]]] = {}  # of each rank's steps: the end, the term, the messages
    for (rank, first, count, term), (begin_s, *_, end_s) in zip(steps, ends, strict=True):
        messages = list(zip(columns[first : first + count], times[first : first + count], strict=True))
        forwards = any(posted_s > begin_s and not blocking for (*_, blocking, _), (posted_s, _) in messages)
        open_ones: list[tuple[float, int, int, int, int]] = []  # when they are waited for until, and what they are
        call_s = begin_s
        for (_, peer, tag, sends, blocking, size), (posted_s, done_s) in messages:
            if blocking:
                events[rank].append(_event(posted_s, done_s, size, peer, tag, 0, BLOCKING_SEND))
                call_s = max(call_s, done_s)
                continue
            request += 1
            open_ones.append((done_s if forwards and not sends else end_s, size, peer, tag, request))
            events[rank].append(_event(posted_s, posted_s, size, peer, tag, request, SEND if sends else RECEIVE))
        # What is forwarded is waited for message after message, all else at once.
        for until_s, size, peer, tag, open_one in sorted(open_ones):
            until_s = min(max(call_s, until_s), end_s)
            events[rank].append(_event(min(call_s, until_s), until_s, size, peer, tag, open_one, COMPLETION))
            call_s = until_s if forwards else call_s
        if count:
            bounds.setdefault(rank, []).append((end_s, term, count))
    line = _line(events, dict.fromkeys(events, 0), _TICK_S)
    resource, _, held_s, _ = cost.busiest

    def term_of(span: Span, messages: Sequence[Sent]) -> str:
        end_s, term, count = min(bounds[span.rank], key=lambda step: (step[0] < span.end_s * (1 - 1e-9), step[0]))
        words = _message_words(placement, model.machine, span.rank, messages)
        if term == 1:
            return f"{words}, with {format_count(count - 1, 'other')} at once"
        if term == 2:
            return f"{words}, shared with others ({resource.replace('card', 'NIC')})"
        return f"the processor's share of {count} messages" if term == 3 else words

    line = line.named(term_of)
    if held_s > line.length_s * (1 + 1e-6):
        line = replace(line, note=f"No round takes less than {resource} is held: {format_time(held_s)}.")
    return line


def simulated(trace: Trace, placement: _core.Placement, machine: _core.Machine, row: Row) -> Timeline:
    """Return the time line of the repetition that a row is of, of a simulation that was traced.

    Raises InputError for persistent requests, whose messages SimGrid does not trace.
    """
    if any(call.name.startswith("MPI_Start") for call in trace.calls):
        raise InputError("SimGrid traces no message of persistent requests: ask for --mode isend, which takes as long there")
    events: Events = {rank: [] for rank in range(placement.ranks)}
    names: list[str] = []
    calls: dict[int, list[tuple[float, float, str]]] = {rank: [] for rank in events}
    for call in trace.calls:
        name = call.name.removeprefix("MPI_")
        calls[call.rank].append((call.start_s, call.end_s, name))
        if name in _BETWEEN or name.startswith(("Alltoall", "Allgather", "Scatter")):
            names += [name] * (name not in names)
            events[call.rank].append(
                (*_event(call.start_s, call.end_s, 0, -1, 0, 0, COLLECTIVE)[:7], names.index(name), COLLECTIVE)
            )
    for request, message in enumerate(trace.messages, 1):
        # One call after another posts a message when it begins; what arrives ends the call that waits for it.
        start_s, end_s, name = _call_at(calls[message.source], message.sent_s, ("Send", "Ssend", "Sendrecv"), last=True)
        blocking = name in ("Send", "Ssend", "Sendrecv")
        posted = (start_s, end_s) if blocking else (message.sent_s, message.sent_s)
        how = (0, BLOCKING_SEND) if blocking else (request, SEND)
        events[message.source].append(_event(*posted, message.bytes, message.dest, message.tag, *how))
        start_s, end_s, name = _call_at(calls[message.dest], message.arrived_s, _WAITS)
        peer_and_tag = (message.bytes, message.source, message.tag)
        if name in ("Recv", "Sendrecv"):
            events[message.dest].append(_event(start_s, end_s, *peer_and_tag, 0, BLOCKING_RECEIVE))
        else:
            posted_s = min(start_s, message.sent_s)
            events[message.dest].append(_event(posted_s, posted_s, *peer_and_tag, request, RECEIVE))
            events[message.dest].append(_event(start_s, end_s, *peer_and_tag, request, COMPLETION))
    line = _line(_round(_arrays(events), names, row, _TICK_S), None, _TICK_S)
    return line.named(lambda span, messages: _message_words(placement, machine, span.rank, messages))


def traced(record: Record, placement: _core.Placement, row: Row) -> Timeline:
    """Return the time line of a repetition that took about as long as a row, of a real run that was traced."""
    names = [str(name).removeprefix("MPI_") for name in record.header.get("calls", [])]
    events = _round(first_events(record), names, row, 1e-9)
    if row.case.workload not in _COMPUTING:
        events = {rank: _polled(of_rank) for rank, of_rank in events.items()}
    line = _line(events, None, 1e-9)
    return line.named(lambda span, messages: _message_words(placement, None, span.rank, messages))


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
    grid = Topology(tuple(halo.grid), tuple(halo.periodic))
    source, dest, blocks = [], [], []
    for offset, weight in zip(halo.offsets, halo.weights or (1,) * len(halo.offsets), strict=True):
        partner = grid.partner(offset)
        source.append(np.flatnonzero(partner >= 0))
        dest.append(partner[source[-1]])
        blocks.append(np.full(source[-1].size, weight))
    return PhasedStep.at_once(np.concatenate(source), np.concatenate(dest), np.concatenate(blocks), grid.ranks)


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


def _round(events: Mapping[int, Array], names: Sequence[str], row: Row, unit_s: float) -> dict[int, Array]:
    """Cut out of all ranks' events the repetition that sends what a row says and whose length is nearest to the row's time.

    Collectives part repetitions.
    """
    parting = np.array([name in _BETWEEN for name in names] + [False])
    pieces: dict[int, list[Array]] = {}
    for rank, of_rank in events.items():
        at = np.nonzero((of_rank["kind"] == COLLECTIVE) & parting[np.minimum(of_rank["call"], len(names))])[0]
        pieces[rank] = [of_rank[a + 1 : b] for a, b in zip(at, at[1:], strict=False) if b > a + 1]
    # Some ranks take part in more than the repetitions (ping-pongs, clocks): all ranks' pieces that meet one of the last
    # rank's.
    ends = {
        rank: np.array([(p["start_ns"].min(), p["end_ns"].max()) for p in of_rank])
        for rank, of_rank in pieces.items()
        if of_rank
    }
    found: list[tuple[bool, float, dict[int, Array]]] = []
    for start, end in ends[max(ends)].tolist() if ends else ():
        piece = {}
        for rank, of_pieces in ends.items():
            common = np.minimum(of_pieces[:, 1], end) - np.maximum(of_pieces[:, 0], start)
            if common.max() >= 0:
                piece[rank] = pieces[rank][int(common.argmax())]
        if len(piece) < min(2, len(events)):
            continue
        length_s = unit_s * (
            max(int(p["end_ns"].max()) for p in piece.values()) - min(int(p["start_ns"].min()) for p in piece.values())
        )
        sent = [rows["bytes"][np.isin(rows["kind"], (SEND, BLOCKING_SEND))] for rows in piece.values()]
        most = max(map(len, sent)), max(int(sizes.sum()) for sizes in sent)
        found.append(
            (most != (row.messages_per_rank, row.bytes_per_rank), abs(math.log(max(length_s, unit_s) / row.time_s)), piece)
        )
    if not found:
        raise InputError("no repetition was found in what was traced: ask for one case, and a longer run")
    return min(found, key=lambda one: one[:2])[2]


def _polled(events: Array) -> Array:
    """Return a rank's events with calls that wait from the call before on: in between it only asked whether they are over."""
    waits = np.isin(events["kind"], (COMPLETION,))
    before = np.maximum.accumulate(np.where(waits, 0, events["end_ns"]))
    polled = events.copy()
    polled["start_ns"] = np.where(
        waits & (before > 0), np.minimum(events["start_ns"], np.maximum(before, 0)), events["start_ns"]
    )
    return polled


def _call_at(
    calls: Sequence[tuple[float, float, str]], time_s: float, names: Sequence[str], last: bool = False
) -> tuple[float, float, str]:
    """Return the call in which a rank is at a time, one of ``names``; else none, at that time.

    At a time at which one call ends and the next begins it is the former, or (``last``) the latter.
    """
    until = bisect.bisect_right(calls, time_s * (1 + 1e-12) + 1e-15, key=lambda call: call[0])
    there = [call for call in calls[max(0, until - 8) : until] if call[0] <= time_s <= call[1] * (1 + 1e-12) + 1e-15]
    return next((call for call in (reversed(there) if last else there) if call[2] in names), (time_s, time_s, ""))


def _message_words(placement: _core.Placement, machine: _core.Machine | None, rank: int, messages: Sequence[Sent]) -> str:
    """Say what the longest of some messages waits for: its start or its bytes, over which link."""
    if not messages:
        return "passing a message on"

    def line_of(message: Sent) -> tuple[float, float]:
        lines = [] if machine is None else machine.lines(placement.link_between(message.source, message.dest))
        known = [line for line in lines if line[0] <= message.bytes]
        return known[-1][1:] if known else (0.0, 0.0)

    def longest(message: Sent) -> tuple[float, int]:
        alpha_s, beta_s_per_byte = line_of(message)
        return alpha_s + beta_s_per_byte * message.bytes, message.bytes

    message = max(messages, key=longest)
    where = f"from rank {message.source}" if message.dest == rank else f"to rank {message.dest}"
    about = f"{format_size(message.bytes)} {where} over {placement.link_between(message.source, message.dest)}"
    alpha_s, beta_s_per_byte = line_of(message)
    if alpha_s == beta_s_per_byte == 0:
        return about
    return f"{'latency' if alpha_s > beta_s_per_byte * message.bytes else 'bytes'} of {about}"


def require_few(ranks: int) -> None:
    """Raise InputError for more ranks than a time line has room for."""
    if ranks > MOST_RANKS:
        raise InputError(f"{ranks} ranks are too many for a time line: give at most {MOST_RANKS}")
