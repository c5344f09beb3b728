"""Records and time lines in the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.observe.call_sites import NO_SITE, numbered_site, site_text
from rankwise.observe.phases import PhasedStep, observed_step
from rankwise.observe.record import KINDS, Record
from rankwise.observe.summary import crowded_host, senders
from rankwise.observe.timeline import Timeline

FORMATS = ("matrixmarket", "csv", "perfetto", "goal")
_PS = 1e12  # GOAL has whole numbers only: in ns a byte of a link faster than 1 GB/s would take 0


def exported(record: Record, form: str) -> Iterator[str]:
    """Yield a record as text of a format of ``FORMATS``."""
    traced = _traced(_of_record(record))
    yield from {"matrixmarket": _matrix_market(record), "csv": _csv(record), "perfetto": traced, "goal": _goal(record)}[form]


def timeline_json(line: Timeline, name: str) -> Iterator[str]:
    """Yield a time line in the JSON of traces."""
    yield from _traced(_of_timeline(line, name))


def _traced(events: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield events in the JSON that Perfetto and Chrome's tracing read."""
    yield '{"displayTimeUnit":"ns","traceEvents":[\n'
    yield from (json.dumps(event) + ",\n" for event in events)
    yield '{"name":"end","ph":"M","pid":0}\n]}\n'


def _of_timeline(line: Timeline, name: str) -> Iterator[dict[str, Any]]:
    """Yield a step: a thread for each rank and one for the critical path, messages as arrows."""
    yield {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": name}}
    path = max(line.spans, default=0) + 1
    for rank in [*sorted(line.spans), path]:
        args = {"name": "critical path" if rank == path else f"rank {rank}"}
        yield {"name": "thread_name", "ph": "M", "pid": 0, "tid": rank, "args": args}
    for tid, spans in [*sorted(line.spans.items()), (path, line.path)]:
        for span in spans:
            words = f"rank {span.rank}: {span.term or span.kind}" if tid == path else span.kind
            about = {"name": words, "cat": span.kind, "ph": "X", "pid": 0, "tid": tid}
            yield {**about, "ts": 1e6 * span.start_s, "dur": 1e6 * span.length_s}
    for number, message in enumerate(line.messages):
        arrow = {"name": f"{message.bytes} B", "cat": "message", "id": number, "pid": 0}
        yield {**arrow, "ph": "s", "tid": message.source, "ts": 1e6 * message.sent_s}
        yield {**arrow, "ph": "f", "bp": "e", "tid": message.dest, "ts": 1e6 * message.arrived_s}


def _goal(record: Record) -> Iterator[str]:
    if (crowded := crowded_host(record)) is not None:
        host, ranks, cores = crowded
        yield f"// calc times include waiting for a core: {ranks} ranks shared {cores} cores of {host}\n"
    yield from goal_lines(observed_step(record))


def _matrix_market(record: Record) -> Iterator[str]:
    """Yield the bytes from rank to rank, fetched ones included; both counted from 1."""
    yield "%%MatrixMarket matrix coordinate integer general\n% bytes from the rank of the row to that of the column\n"
    yield f"{record.ranks} {record.ranks} {len(record.peer)}\n"
    for source, dest, size in zip(senders(record), record.peer, record.bytes + record.pulled, strict=True):
        yield f"{source + 1} {dest + 1} {size}\n"


def _csv(record: Record) -> Iterator[str]:
    yield "source,dest,messages,bytes,pulled\n"
    for row in zip(senders(record), record.peer, record.messages, record.bytes, record.pulled, strict=True):
        yield ",".join(map(str, row)) + "\n"


def _of_record(record: Record) -> Iterator[dict[str, Any]]:
    """Yield what ranks called: a process for each host, a thread for each rank."""
    for node, host in enumerate(record.hosts):
        yield {"name": "process_name", "ph": "M", "pid": node, "args": {"name": host}}
    calls = record.header.get("calls", [])
    where = [site_text(numbered_site(record.header, number)) for number in range(len(record.header.get("sites", [])))]
    for rank, events in sorted(record.events.items()):
        place = {"pid": int(record.node_of_rank[rank]), "tid": rank}
        yield {"name": "thread_name", "ph": "M", **place, "args": {"name": f"rank {rank}"}}
        for event, site in zip(events, record.sites.get(rank, np.full(len(events), NO_SITE)).tolist(), strict=True):
            about: dict[str, int | str] = {name: int(event[name]) for name in ("peer", "tag", "bytes", "request", "comm")}
            about |= {"where": where[site]} if site < len(where) else {}
            line = {"name": calls[event["call"]], "cat": KINDS[event["kind"]], "ph": "X", **place, "args": about}
            yield {**line, "ts": int(event["start_ns"]) / 1000, "dur": int(event["end_ns"] - event["start_ns"]) / 1000}


def goal_lines(step: PhasedStep) -> Iterator[str]:
    """Yield a step in GOAL, the language of LogGOPSim's schedules (https://github.com/spcl/LogGOPSim), times in picoseconds.

    Of each phase of a rank: its computing (calc), its messages, which start when that has ended, and an empty calc that ends
    when all of them have. Collectives are written out as the messages of the library's algorithm.
    """
    yield f"// a step of {step.ranks} ranks; times in ps: give LogGOPSim L, o, g in ps, G and O in ps a byte\n"
    yield "// one rank a node: LogGOPSim knows no NIC that ranks share\n"
    yield f"num_ranks {step.ranks}\n"
    phase, source, dest = (np.asarray(column) for column in (step.phase, step.source, step.dest))
    sizes = np.asarray(step.bytes)
    for rank in range(step.ranks):
        yield f"\nrank {rank} {{\n"
        before = ""
        mine = np.flatnonzero((source == rank) | (dest == rank))
        for number in range(step.phases):
            there = mine[phase[mine] == number].tolist()
            compute_ps = round(float(step.compute_s[number, rank]) * _PS)
            if not there and not compute_ps:
                continue
            begin, names = f"c{number}", []
            yield f"{begin}: calc {compute_ps}\n"
            if before:
                yield f"{begin} requires {before}\n"
            for message in there:
                for kind, end, other in (("send", source, dest), ("recv", dest, source)):
                    if end[message] != rank:
                        continue
                    name = f"{kind[0]}{message}"
                    way = "to" if kind == "send" else "from"
                    yield f"{name}: {kind} {sizes[message]}b {way} {other[message]} tag {number}\n"
                    yield f"{name} requires {begin}\n"
                    names.append(name)
            before = begin
            if names:
                before = f"e{number}"
                yield f"{before}: calc 0\n"
                yield from (f"{before} requires {name}\n" for name in names)
        yield "}\n"
