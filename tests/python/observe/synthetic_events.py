"""A small discrete-event simulation of MPI programs, which writes the events that a tracer would: the truth is known."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwise.observe.record import EVENT, Record, record_of_events

LATENCY_NS = 2_000
NS_PER_BYTE = 0.1
MS = 1_000_000  # in nanoseconds
CALL_NS = 500
# By the number that an event has.
CALLS = ["MPI_Init", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Send", "MPI_Sendrecv", "MPI_Recv", "MPI_Allreduce"]
Op = tuple[Any, ...]


def simulate(programs: Sequence[Sequence[Op]], rendezvous_bytes: int = 1 << 60) -> dict[int, Any]:
    """Run a program a rank and return its events.

    Operations: ``("compute", ns)``, ``("isend", peer, tag, bytes)``, ``("irecv", peer, tag)`` (peer -1: any), ``("waitall",)``,
    ``("send", peer, tag, bytes)``, ``("recv", peer, tag)``, ``("sendrecv", to, from, tag, bytes)``, ``("allreduce", bytes)``.
    A send of ``rendezvous_bytes`` or more ends when its receive was posted and the bytes have come.
    """
    count = len(programs)
    clock = [0] * count
    position = [0] * count
    events: list[list[tuple[Any, ...]]] = [[] for _ in programs]
    serial = [0] * count
    mail: dict[tuple[int, int, int], deque[dict[str, int]]] = defaultdict(deque)  # sent: (from, to, tag)
    open_requests: list[list[dict[str, Any]]] = [[] for _ in programs]
    arrived: dict[int, dict[int, int]] = defaultdict(dict)
    collectives = [0] * count

    def add(rank: int, start: int, end: int, size: int, peer: int, tag: int, request: int, kind: int, call: int) -> None:
        events[rank].append((start, end, size, peer, tag, request, 0, call, kind))

    def post_send(rank: int, peer: int, tag: int, size: int) -> dict[str, int]:
        message = {"sent": clock[rank], "bytes": size, "tag": tag, "from": rank}
        mail[rank, peer, tag].append(message)
        return message

    def arrival(message: dict[str, int], receive_posted: int) -> int:
        begin = message["sent"] if message["bytes"] < rendezvous_bytes else max(message["sent"], receive_posted)
        return int(begin + LATENCY_NS + NS_PER_BYTE * message["bytes"])

    def take(rank: int, peer: int, tag: int, receive_posted: int) -> dict[str, int] | None:
        """The message that a receive gets; None where none has been sent yet."""
        keys = [(peer, rank, tag)] if peer >= 0 else [key for key in mail if key[1:] == (rank, tag) and mail[key]]
        keys = [key for key in keys if mail[key]]
        if not keys:
            return None
        message = mail[min(keys, key=lambda key: mail[key][0]["sent"])].popleft()
        message["posted"] = receive_posted
        return message

    def advance(rank: int) -> bool:
        """Carry out the next operation; False where it has to wait for another rank."""
        op = programs[rank][position[rank]]
        now = clock[rank]
        if op[0] == "compute":
            clock[rank] += int(op[1])
        elif op[0] in ("isend", "irecv"):
            serial[rank] += 1
            size = op[3] if op[0] == "isend" else 0
            request: dict[str, Any] = {
                "kind": op[0],
                "peer": op[1],
                "tag": op[2],
                "posted": now,
                "serial": serial[rank],
                "bytes": size,
            }
            if op[0] == "isend":
                request["message"] = post_send(rank, op[1], op[2], size)
            open_requests[rank].append(request)
            clock[rank] += CALL_NS
            add(rank, now, clock[rank], size, op[1], op[2], serial[rank], int(op[0] == "irecv"), 1 + (op[0] == "irecv"))
        elif op[0] == "waitall":
            ends = [now + CALL_NS]
            for request in open_requests[rank]:
                message = request.get("message")
                if request["kind"] == "irecv" and message is None:
                    message = request["message"] = take(rank, request["peer"], request["tag"], request["posted"])
                if message is None:
                    return False
                if request["kind"] == "irecv":
                    ends.append(arrival(message, request["posted"]))
                elif message["bytes"] >= rendezvous_bytes:
                    if "posted" not in message:
                        return False
                    ends.append(arrival(message, message["posted"]))
            for request in open_requests[rank]:
                message = request["message"]
                peer = message["from"] if request["kind"] == "irecv" else request["peer"]
                add(rank, now, max(ends), message["bytes"], peer, request["tag"], request["serial"], 4, 3)
            open_requests[rank].clear()
            clock[rank] = max(ends)
        elif op[0] == "send":
            if (rank, position[rank]) not in begun:
                begun[rank, position[rank]] = post_send(rank, op[1], op[2], op[3])
            message = begun[rank, position[rank]]
            if op[3] >= rendezvous_bytes:
                if "posted" not in message:
                    return False
                clock[rank] = arrival(message, message["posted"])
            else:
                clock[rank] += CALL_NS
            add(rank, now, clock[rank], op[3], op[1], op[2], 0, 2, 4)
        elif op[0] in ("recv", "sendrecv"):
            to, source, tag, size = (op[1], op[2], op[3], op[4]) if op[0] == "sendrecv" else (None, op[1], op[2], 0)
            if to is not None and (rank, position[rank]) not in begun:
                begun[rank, position[rank]] = post_send(rank, to, tag, size)
            message = take(rank, source, tag, now)
            if message is None:
                return False
            clock[rank] = max(now + CALL_NS, arrival(message, now))
            if to is not None:
                add(rank, now, clock[rank], size, to, tag, 0, 2, 5)
            add(rank, now, clock[rank], message["bytes"], message["from"], tag, 0, 3, 5 if to is not None else 6)
        else:
            number = collectives[rank]
            arrived[number][rank] = now
            if len(arrived[number]) < count:
                return False
            collectives[rank] += 1
            clock[rank] = max(arrived[number].values()) + LATENCY_NS
            add(rank, now, clock[rank], op[1], -1, 0, 0, 5, 7)
        position[rank] += 1
        return True

    begun: dict[tuple[int, int], dict[str, int]] = {}
    moved = True
    while moved:
        moved = False
        for rank in range(count):
            while position[rank] < len(programs[rank]) and advance(rank):
                moved = True
    assert all(position[rank] == len(programs[rank]) for rank in range(count)), "the programs wait for each other"
    return {rank: np.array(of_rank, EVENT) for rank, of_rank in enumerate(events)}


def recorded(programs: Sequence[Sequence[Op]], node_of_rank: Sequence[int] | None = None, **header: Any) -> Record:
    """Simulate programs and return their record, as the tracer would write it: a rank a node where nothing else is said."""
    nodes = range(len(programs)) if node_of_rank is None else node_of_rank
    hosts = [f"n{node + 1}" for node in range(max(nodes) + 1)]
    return record_of_events(simulate(programs), {"calls": CALLS, **header}, hosts, list(nodes))


def ring(ranks: int, steps: int, compute_ns: Any, size: int = 1000, reduce_every: int = 0) -> list[list[Op]]:
    """Return a halo along a ring; ``compute_ns``: a number, or a function of rank and step."""
    programs: list[list[Op]] = []
    for rank in range(ranks):
        ops: list[Op] = []
        left, right = (rank - 1) % ranks, (rank + 1) % ranks
        for step in range(steps):
            ops += [("irecv", left, 1), ("irecv", right, 2), ("isend", right, 1, size), ("isend", left, 2, size), ("waitall",)]
            ops.append(("compute", compute_ns(rank, step) if callable(compute_ns) else compute_ns))
            if reduce_every and (step + 1) % reduce_every == 0:
                ops.append(("allreduce", 8))
        programs.append(ops)
    return programs


def ring_of(ranks: int, compute_ns: Callable[[int, int], int]) -> Record:
    """A ring of so many ranks, 30 steps with a sum at the end of each, on a host with enough cores."""
    found = recorded(ring(ranks, 30, compute_ns, 1000, reduce_every=1), [0] * ranks, cores_of_host=[ranks])
    seconds = max(int(of_rank["end_ns"].max()) for of_rank in found.events.values()) * 1e-9
    found.header.update(seconds=seconds, seconds_of_rank=[seconds] * ranks)
    return found


def wavefront(ranks: int, steps: int, rows: int) -> list[list[Op]]:
    """Return a pipeline row after row, each with a tag of its own, and a message back to the beginning."""
    programs: list[list[Op]] = []
    for rank in range(ranks):
        ops: list[Op] = []
        for _ in range(steps):
            for row in range(rows):
                ops += (
                    [("recv", rank - 1, row)] * (rank > 0)
                    + [("compute", 900)]
                    + [("send", rank + 1, row, 8)] * (rank < ranks - 1)
                )
            ops += [("send", 0, rows, 8)] * (rank == ranks - 1) + [("recv", ranks - 1, rows)] * (rank == 0)
        programs.append(ops)
    return programs
