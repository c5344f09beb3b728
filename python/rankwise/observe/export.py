"""Records in the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rankwise.observe.record import KINDS, Record
from rankwise.observe.summary import senders
from rankwise.observe.timeline import Timeline

FORMATS = ("matrixmarket", "csv", "perfetto")


def exported(record: Record, form: str) -> Iterator[str]:
    """Yield a record as text of a format of ``FORMATS``."""
    yield from {"matrixmarket": _matrix_market, "csv": _csv, "perfetto": _perfetto}[form](record)


def timeline_json(line: Timeline, name: str) -> Iterator[str]:
    """Yield a time line in the same JSON: a thread for each rank and one for the critical path, messages as arrows."""
    yield '{"displayTimeUnit":"ns","traceEvents":[\n'
    yield json.dumps({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": name}}) + ",\n"
    path = max(line.spans, default=0) + 1
    for rank in [*sorted(line.spans), path]:
        args = {"name": "critical path" if rank == path else f"rank {rank}"}
        yield json.dumps({"name": "thread_name", "ph": "M", "pid": 0, "tid": rank, "args": args}) + ",\n"
    for tid, spans in [*sorted(line.spans.items()), (path, line.path)]:
        for span in spans:
            words = f"rank {span.rank}: {span.term or span.kind}" if tid == path else span.kind
            about = {"name": words, "cat": span.kind, "ph": "X", "pid": 0, "tid": tid}
            yield json.dumps({**about, "ts": 1e6 * span.start_s, "dur": 1e6 * span.length_s}) + ",\n"
    for number, message in enumerate(line.messages):
        arrow = {"name": f"{message.bytes} B", "cat": "message", "id": number, "pid": 0}
        yield json.dumps({**arrow, "ph": "s", "tid": message.source, "ts": 1e6 * message.sent_s}) + ",\n"
        yield json.dumps({**arrow, "ph": "f", "bp": "e", "tid": message.dest, "ts": 1e6 * message.arrived_s}) + ",\n"
    yield '{"name":"end","ph":"M","pid":0}\n]}\n'


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


def _perfetto(record: Record) -> Iterator[str]:
    """Yield the events in the JSON that Perfetto and Chrome's tracing read: a process for each host, a thread for each rank."""
    yield '{"displayTimeUnit":"ns","traceEvents":[\n'
    for node, host in enumerate(record.hosts):
        yield json.dumps({"name": "process_name", "ph": "M", "pid": node, "args": {"name": host}}) + ",\n"
    calls = record.header.get("calls", [])
    for rank, events in sorted(record.events.items()):
        place = {"pid": int(record.node_of_rank[rank]), "tid": rank}
        yield json.dumps({"name": "thread_name", "ph": "M", **place, "args": {"name": f"rank {rank}"}}) + ",\n"
        for event in events:
            about = {name: int(event[name]) for name in ("peer", "tag", "bytes", "request", "comm")}
            line = {"name": calls[event["call"]], "cat": KINDS[event["kind"]], "ph": "X", **place, "args": about}
            line["ts"], line["dur"] = int(event["start_ns"]) / 1000, int(event["end_ns"] - event["start_ns"]) / 1000
            yield json.dumps(line) + ",\n"
    yield '{"name":"end","ph":"M","pid":0}\n]}\n'
