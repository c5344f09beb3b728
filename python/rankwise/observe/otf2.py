"""Traces of Score-P (OTF2) as records: what ranks called, sent and received, on the first of each process's locations."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.observe.record import (
    BLOCKING_RECEIVE,
    BLOCKING_SEND,
    COLLECTIVE,
    COMPLETION,
    EVENT,
    RECEIVE,
    SEND,
    TIME_ONLY,
    WINDOW_EVENTS,
    Record,
    record_of_events,
)

_MOST_READ = 4_000_000  # of all: this reader takes a minute for a million
_LEAST_TRAVEL_NS = -1000  # a message that arrives earlier than it was sent by more than clocks may differ
_ROOTED = ("Bcast", "Reduce", "Gather", "Scatter")


def read_otf2(path: Path) -> Record:
    """Read a trace (traces.otf2); ``header["clocks_disagree"]``: messages arrive before they are sent. Raises InputError for
    what is no trace, and UnusableEnvironmentError without the package otf2."""
    try:
        import _otf2  # type: ignore[import-untyped]
        import otf2  # type: ignore[import-untyped]
    except ImportError:
        raise UnusableEnvironmentError("reading OTF2 needs the package otf2: pip install 'rankwise[otf2]'") from None
    if not path.is_file():
        raise InputError(f"{path} is not there: name the anchor file of a trace, traces.otf2")
    with path.open("rb") as stream:
        if stream.read(6)[2:] != b"OTF2":
            raise InputError(f"{path} is no OTF2 trace: name its anchor file, traces.otf2")
    try:
        with otf2.reader.open(str(path)) as trace:
            return _Reader(trace, path).record()
    except (_otf2.Error, otf2.error.TraceReaderError, RuntimeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no OTF2 trace that can be read ({str(error).splitlines()[0][:80]}): trace again") from None


class _Reader:
    """A trace that is read from its beginning."""

    def __init__(self, trace: Any, path: Path) -> None:
        self._path, self._trace = path, trace
        self._per_ns = 1e9 / trace.timer_resolution
        self._rank_of, self._hosts, self._node_of_rank = _places(trace, path)
        self._calls: dict[str, int] = {}
        self._comms: dict[Any, int] = {}
        self._events: dict[int, list[tuple[int, int, list[int], int]]] = {rank: [] for rank in range(len(self._node_of_rank))}
        self._notes: list[str] = []
        self._cut: set[int] = set()
        # By rank and request under way: its serial number, which are of sends, and the rows of receives.
        self._numbers, self._serials = itertools.count(1), dict[tuple[int, int], int]()
        self._sends: set[tuple[int, int]] = set()
        self._receives: dict[tuple[int, int], list[int]] = {}

    def record(self) -> Record:
        origin, read, last = None, 0, 0
        open_calls: dict[int, list[_Call]] = defaultdict(list)
        names = {}
        for location, event in self._trace.events:
            rank = self._rank_of.get(location)
            if rank is None:
                continue
            read += 1
            if read > _MOST_READ:
                raise InputError(f"{self._path} has more than {_MOST_READ:,} events: trace fewer steps, or filter all but MPI")
            kind = type(event).__name__
            if kind not in names:
                names[kind] = kind.startswith("Mpi") or kind in ("Enter", "Leave", "MeasurementOnOff")
            if not names[kind]:
                continue
            origin = event.time if origin is None else origin
            at = round((event.time - origin) * self._per_ns)
            last = max(last, at)
            if kind == "MeasurementOnOff":
                self._note("recording was switched off for a while: what ranks did then counts as computing")
            elif kind == "Enter":
                if event.region.name.startswith("MPI_"):
                    open_calls[rank].append(_Call(event.region.name, at))
            elif kind == "Leave":
                if event.region.name.startswith("MPI_") and open_calls[rank]:
                    self._ended(rank, open_calls[rank].pop(), at)
            elif open_calls[rank]:
                self._in_call(rank, open_calls[rank][-1], kind, event)
        if not any(self._events.values()):
            raise InputError(f"{self._path} has no calls of MPI: trace with 'scorep --mpp=mpi', and do not filter MPI out")
        events = {
            rank: np.array([(start, end, *row[:5], call, row[5]) for start, end, row, call in listed], EVENT)
            for rank, listed in self._events.items() if listed
        }  # fmt: skip
        if self._cut:
            self._note(f"of {len(self._cut)} ranks the first {WINDOW_EVENTS:,} calls are kept")
        if (early := _earliest_arrival(events)) < _LEAST_TRAVEL_NS:
            self._note(f"clocks of the trace disagree: a message arrives {-early} ns before it is sent; times mean little")
        everyone = len(self._node_of_rank)
        known = []
        for comm in self._comms:
            members = self._members(comm)
            known.append({"size": len(members), "ranks": None if members == list(range(everyone)) else members})
        header = {
            "calls": list(self._calls), "communicators": known, "seconds": last * 1e-9, "complete": True, "notes": self._notes,
            "clocks_disagree": early < _LEAST_TRAVEL_NS, "command": [str(self._path)],
        }  # fmt: skip
        return record_of_events(events, header, self._hosts, self._node_of_rank)

    def _note(self, words: str) -> None:
        if words not in self._notes:
            self._notes.append(words)

    def _members(self, comm: Any) -> list[int]:
        return [self._rank_of[location] for location in comm.group.members if location in self._rank_of]

    def _comm(self, comm: Any) -> int:
        return self._comms.setdefault(comm, len(self._comms))

    def _world(self, rank: int, comm: Any) -> int:
        return self._rank_of.get(comm.location(rank), -1)

    def _in_call(self, rank: int, call: _Call, kind: str, event: Any) -> None:
        """Add what an event says to the call around it."""
        request: int | None = getattr(event, "request_id", None)
        if request is not None and (rank, request) not in self._serials:
            self._serials[rank, request] = next(self._numbers)
        serial = 0 if request is None else self._serials[rank, request]
        if kind in ("MpiSend", "MpiIsend"):
            peer, comm = self._world(event.receiver, event.communicator), self._comm(event.communicator)
            way = BLOCKING_SEND if kind == "MpiSend" else SEND
            call.rows.append([event.msg_length, peer, event.msg_tag, serial, comm, way])
            if request is not None:
                self._sends.add((rank, request))
        elif kind == "MpiIrecvRequest":
            call.rows.append([0, -1, -1, serial, 0, RECEIVE])
            self._receives[rank, event.request_id] = call.rows[-1]
        elif kind in ("MpiRecv", "MpiIrecv"):
            peer, comm = self._world(event.sender, event.communicator), self._comm(event.communicator)
            done = BLOCKING_RECEIVE if kind == "MpiRecv" else COMPLETION
            call.rows.append([event.msg_length, peer, event.msg_tag, serial, comm, done])
            if request is not None:
                # The trace has peer, tag and communicator of a receive at its completion.
                if (posted := self._receives.pop((rank, request), None)) is not None:
                    posted[1], posted[2], posted[4] = peer, event.msg_tag, comm
                self._serials.pop((rank, request), None)
        elif kind == "MpiIsendComplete" and request is not None and (rank, request) in self._sends:
            call.rows.append([0, -1, -1, serial, 0, COMPLETION])
            self._sends.discard((rank, request))
            self._serials.pop((rank, request), None)
        elif kind == "MpiCollectiveEnd":
            comm = event.communicator
            name = call.name.removeprefix("MPI_").removeprefix("I").capitalize()
            rooted = name in _ROOTED and 0 <= event.root < len(comm.group.members)
            size = event.size_received if name in ("Bcast", "Scatter") else event.size_sent
            call.rows.append([size, self._world(event.root, comm) if rooted else -1, -1, 0, self._comm(comm), COLLECTIVE])

    def _ended(self, rank: int, call: _Call, at: int) -> None:
        """A call has ended: its rows become events, with a tick of their own."""
        listed, number = self._events[rank], self._calls.setdefault(call.name, len(self._calls))
        if len(listed) >= WINDOW_EVENTS:
            self._cut.add(rank)
            return
        start = max(call.start, listed[-1][1] + 1 if listed else 0)
        end = max(at, start + 1)
        listed += [(start, end, row, number) for row in call.rows or [[0, -1, -1, 0, 0, TIME_ONLY]]]


class _Call:
    """A call of MPI that has begun, and what it does: (bytes, peer, tag, request, communicator, kind)."""

    def __init__(self, name: str, start: int) -> None:
        self.name, self.start = name, start
        self.rows: list[list[int]] = []


def _places(trace: Any, path: Path) -> tuple[Mapping[Any, int], tuple[str, ...], list[int]]:
    """Return the rank of each location that is one, the hosts, and the place of each rank's among them."""
    from otf2.enums import GroupType, Paradigm  # type: ignore[import-untyped]

    groups = [group for group in trace.definitions.groups if group.group_type == GroupType.COMM_LOCATIONS]
    groups = [group for group in groups if group.paradigm == Paradigm.MPI] or groups
    if groups:
        locations = list(groups[0].members)
    else:
        locations = max((list(comm.group.members) for comm in trace.definitions.comms), key=len, default=[])
    if not locations:
        raise InputError(f"{path} has no ranks of MPI: trace a program of MPI, with 'scorep --mpp=mpi'")
    hosts: dict[str, int] = {}
    nodes = []
    for location in locations:
        parent = getattr(location.group, "system_tree_parent", None)
        nodes.append(hosts.setdefault(str(parent.name) if parent is not None else "unknown", len(hosts)))
    return {location: rank for rank, location in enumerate(locations)}, tuple(hosts), nodes


def _earliest_arrival(events: Mapping[int, Array]) -> int:
    """Return the least time from a message's send to the end of the call that received it, in ns; below 0: clocks disagree."""
    sent: dict[tuple[int, ...], list[int]] = defaultdict(list)
    came: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for rank, listed in events.items():
        for row in listed.tolist():
            start, end, _, peer, tag, request, comm, _, kind = row
            if kind in (SEND, BLOCKING_SEND):
                sent[rank, peer, tag, comm].append(start)
            elif kind == BLOCKING_RECEIVE or (kind == COMPLETION and peer >= 0):
                came[peer, rank, tag, comm].append(end)
    return min((end - start for key, ends in came.items() for start, end in zip(sent[key], ends, strict=False)), default=0)
