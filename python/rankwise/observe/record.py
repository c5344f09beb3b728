"""What was observed of a program, and the file that holds it.

The file: 8 bytes of magic, the header's length (u64), the header (JSON), the arrays one after the other, all little-endian. The
header's ``arrays`` lists each as ``[name, dtype, items, stored bytes]``; one stored in fewer bytes than its items take is
deflated.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.errors import InputError, unreadable
from rankwise.files import kind_of, load_json, locked, plain, write_whole
from rankwise.observe.header import parts_of, require_header
from rankwise.units import format_count

MAGIC = b"RWcomm\r\n"
SCHEMA = 1
HISTOGRAM_BINS = 32  # bin i counts messages of 2^(i-1) to 2^i - 1 bytes, the first empty ones, the last all larger ones
KINDS = ("send", "receive", "blocking send", "blocking receive", "completion", "collective", "time only")
EVENT = np.dtype(
    [
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("bytes", "<i8"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("request", "<u4"),
        ("comm", "<u2"),
        ("call", "u1"),
        ("kind", "u1"),
    ]
)
SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION, COLLECTIVE, TIME_ONLY = range(7)  # the kinds of events
WINDOW_EVENTS = 65_536  # of a rank, at most
MOST_BYTES = 1 << 56  # of a message, or of all between two ranks
MOST_IN_ALL = 1 << 62  # bytes, messages, nanoseconds
MOST_EVENTS = 20_000_000  # of all ranks together are looked at: 5 GB of memory, half a minute
_MEND = "observe the program again"


def _none(dtype: str, *shape: int) -> Any:
    return field(default_factory=lambda: np.zeros(shape, dtype))


@dataclass(frozen=True)
class Record:
    """An observed program; ranks are those of MPI_COMM_WORLD.

    The messages are a CSR matrix with a row for each sender: its edges are ``pointer[rank]:pointer[rank + 1]`` of ``peer``
    (ascending), ``messages``, ``bytes`` (sent), ``pulled`` (bytes that ``peer`` fetched from the row's rank, one-sided) and
    ``histogram`` (messages by size, ``HISTOGRAM_BINS``).
    A collective's event has its root as ``peer`` and as ``tag`` its place in ``header["shapes"]`` (-1: not known), which say
    what a library's rules ask for besides the bytes: ``element_bytes`` and ``commutative`` of a reduction, ``in_place``, and
    ``counts``, the bytes for each rank where they may differ.
    ``sites`` holds for each event of a rank its place in ``header["sites"]`` (call_sites.py), 65535 where it has none.
    ``events`` holds by rank what it called within the windows of ``header["windows"]`` (``rank``, ``first_call``: how many
    calls the rank had made before, ``first_event`` and ``events``: the part of the array). ``call_counts`` and ``call_ns``
    (ranks x ``header["calls"]``) hold how often each call was made and, where it is timed, how long all of them took.
    ``name`` stands for the record in messages: its path, where it was read from a file.
    """

    header: dict[str, Any]
    ranks: int
    hosts: tuple[str, ...]
    node_of_rank: Array
    socket_of_rank: Array
    core_of_rank: Array
    pointer: Array
    peer: Array
    messages: Array
    bytes: Array
    pulled: Array
    histogram: Array
    events: dict[int, Array] = field(default_factory=dict)
    sites: dict[int, Array] = field(default_factory=dict)
    call_counts: Array = _none("<u8", 0, 0)
    call_ns: Array = _none("<i8", 0, 0)
    name: str = "the record"


_OF_RANKS = ("node_of_rank", "socket_of_rank", "core_of_rank")
_OF_EDGES = {"peer": "<u4", "messages": "<u8", "bytes": "<u8", "pulled": "<u8"}
_OF_EVENTS = {"events": EVENT, "sites": np.dtype("<u2")}  # by rank
_DTYPES = {
    **dict.fromkeys(_OF_RANKS, "<i4"),
    "pointer": "<i8",
    **_OF_EDGES,
    "histogram": "<u4",
    "call_counts": "<u8",
    "call_ns": "<i8",
}


def write_record(path: Path, record: Record) -> None:
    """Write a record as a whole file or not at all. Raises OSError, and InputError for a record that is none."""
    parts, listed = [], []
    for name, array in _arrays(record):
        plain = array.tobytes()
        packed = zlib.compress(plain, 1)
        parts.append(packed if len(packed) < len(plain) else plain)
        dtype = {"events": "event", "sites": "<u2"}.get(name.partition("/")[0]) or _DTYPES[name]
        listed.append([name, dtype, array.size, len(parts[-1])])
    header = {**record.header, "schema": SCHEMA, "ranks": record.ranks, "hosts": list(record.hosts), "arrays": listed}
    _check(record, str(path))
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    write_whole(path, b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *parts]))


def _arrays(record: Record) -> Iterator[tuple[str, Array]]:
    for name, dtype in _DTYPES.items():
        yield name, np.ascontiguousarray(getattr(record, name), dtype)
    for rank, events in sorted(record.events.items()):
        yield f"events/{rank}", np.ascontiguousarray(events, EVENT)
    for rank, sites in sorted(record.sites.items()):
        yield f"sites/{rank}", np.ascontiguousarray(sites, "<u2")


def record_of_events(
    events: Mapping[int, Array], header: dict[str, Any], hosts: Sequence[str], node_of_rank: Sequence[int]
) -> Record:
    """Return the record of a program of whose ranks all calls are listed; ``header`` has the names of its ``calls``."""
    ranks, names = len(node_of_rank), len(header["calls"])
    counts, times = np.zeros((ranks, names), "<u8"), np.zeros((ranks, names), "<i8")
    histogram: list[Array] = []
    pointer, rows = [0], []
    for rank in range(ranks):
        of_rank = events.get(rank, np.zeros(0, EVENT))
        calls = of_rank[begins_call(of_rank)]
        np.add.at(counts[rank], calls["call"], 1)
        np.add.at(times[rank], calls["call"], calls["end_ns"] - calls["start_ns"])
        sends = of_rank[np.isin(of_rank["kind"], (SEND, BLOCKING_SEND)) & (of_rank["peer"] >= 0)]
        for peer in np.unique(sends["peer"]).tolist():
            sizes = sends["bytes"][sends["peer"] == peer]
            rows.append((peer, len(sizes), int(sizes.sum()), 0))
            bins = [min(int(size).bit_length(), HISTOGRAM_BINS - 1) for size in sizes]
            histogram.append(np.bincount(bins, minlength=HISTOGRAM_BINS).astype("<u4"))
        pointer.append(len(rows))
    peer, messages, volume, pulled = np.array(rows, np.int64).reshape(-1, 4).T
    nowhere = np.full(ranks, -1, "<i4")
    return Record(
        header, ranks, tuple(hosts), np.array(node_of_rank, "<i4"), nowhere, nowhere, np.array(pointer, "<i8"),
        peer.astype("<u4"), messages.astype("<u8"), volume.astype("<u8"), pulled.astype("<u8"),
        np.array(histogram, "<u4").reshape(-1, HISTOGRAM_BINS), dict(events), {}, counts, times,
    )  # fmt: skip


def begins_call(events: Array) -> Array:
    """Return of each event whether it is the first of its call: several events of one share their times."""
    times = events[["start_ns", "end_ns"]]
    return np.append(True, times[1:] != times[:-1])[: len(times)]


def abandoned(path: Path) -> bool:
    """Whether ranks left something of which no record is going to be written."""
    folder = parts_of(path)
    if not any(folder.glob("*.node")):
        return False
    try:
        with (folder / "lock").open("rb") as lock:
            return locked(lock, shared=True)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def read_record(path: Path, most_events: int = MOST_EVENTS) -> Record:
    """Read a record, at most so many of its events. Raises InputError, in one line, for what is none or damaged."""
    where = str(path)
    left = "what ranks left whose 'rankwise observe' was killed" if abandoned(path) else ""
    try:
        content = plain(path).read_bytes()
    except OSError as error:
        if left:
            raise InputError(f"{where} is not there, but {left}: 'rankwise observe recover {where}' makes it") from None
        raise InputError(f"{where} {unreadable(error)}: name a file that 'rankwise observe' wrote") from None
    if content[:8] != MAGIC:
        kind = kind_of(path)
        made = f"make it: rankwise observe -- mpiexec -n 2 {where}" if kind == "a program" else "name a file that it wrote"
        raise InputError(f"{where} is {kind or 'something else'}, not a record of 'rankwise observe': {made}")
    end = 16 + int.from_bytes(content[8:16], "little")
    if len(content) < 16 or end > len(content):
        raise _damaged(where, "it ends within its header")
    try:
        header = load_json(content[16:end])
    except ValueError:
        raise _damaged(where, "its header is no JSON") from None
    if not isinstance(header, dict) or type(header.get("schema")) is not int:
        raise _damaged(where, "its header has no schema")
    if header["schema"] > SCHEMA:
        raise InputError(
            f"{where} has schema {header['schema']}, newer than this program's {SCHEMA}: update rankwise to read it"
        )
    ranks, hosts, listed = header.get("ranks"), header.get("hosts"), header.pop("arrays", None)
    if not isinstance(ranks, int) or not _count(ranks) or not isinstance(hosts, list) or not isinstance(listed, list):
        raise _damaged(where, "its header lacks ranks, hosts or arrays")
    arrays, lengths = _unpacked(listed, memoryview(content)[end:], where, most_events)
    if missing := _DTYPES.keys() - arrays.keys():
        raise _damaged(where, f"it lacks {min(missing)}")
    events, sites = (
        {int(name.removeprefix(which)): arrays.pop(name) for name in list(arrays) if name.startswith(which)}
        for which in ("events/", "sites/")
    )
    calls = header.get("calls", [])
    columns = len(calls) if isinstance(calls, list) else 0
    try:
        for name, shape in (("histogram", (-1, HISTOGRAM_BINS)), ("call_counts", (-1, columns)), ("call_ns", (-1, columns))):
            arrays[name] = arrays[name].reshape(shape if arrays[name].size else (0, shape[1]))
    except ValueError:
        raise _damaged(where, f"{name} has a wrong length") from None
    record = Record(header, ranks, tuple(map(str, hosts)), events=events, sites=sites, name=where, **arrays)
    _check(record, where, lengths)
    if left and isinstance(header.setdefault("notes", []), list):
        header["notes"].append(f"next to it lies {left}, later: 'rankwise observe recover {where}'")
    if (total := sum(lengths.values())) > (kept := sum(map(len, events.values()))):
        header.setdefault("notes", []).append(
            f"only the first {kept} of {format_count(total, 'event')} are analysed, as many of each rank"
        )
        for window in header.get("windows", []):
            window["events"] = min(window["events"], max(0, len(events[window["rank"]]) - window["first_event"]))
        header["windows"] = [window for window in header.get("windows", []) if window["events"]]
    return record


def _unpacked(listed: list[Any], rest: memoryview, where: str, most_events: int) -> tuple[dict[str, Array], dict[int, int]]:
    """Return the arrays by name, and how many events each rank has; those of no known name are left out.

    Of too many events each rank keeps as many of its first ones.
    """
    arrays: dict[str, Array] = {}
    lengths: dict[int, int] = {}
    for entry in listed:
        if not isinstance(entry, list) or len(entry) != 4 or not isinstance(entry[0], str) or not all(map(_count, entry[2:])):
            raise _damaged(where, "its list of arrays is none")
    of_ranks = [items for name, _, items, _ in listed if name.startswith("events/")]
    most = most_events // len(of_ranks) if sum(of_ranks) > most_events else sum(of_ranks)
    for name, _, items, stored in listed:
        part, rest = rest[:stored], rest[stored:]
        if len(part) < stored:
            raise _damaged(where, f"it ends within {name}")
        kind, _, rank = name.partition("/")
        of_a_rank = kind in _OF_EVENTS and rank.isdecimal() and rank.isascii() and len(rank) < 13
        if not of_a_rank and name not in _DTYPES:
            continue
        dtype = _OF_EVENTS[kind] if of_a_rank else np.dtype(_DTYPES[name])
        plain: bytes | memoryview = part
        size = (min(items, most) if of_a_rank else items) * dtype.itemsize
        if stored < items * dtype.itemsize:
            try:  # never more than is said, whatever it would inflate to
                plain = zlib.decompressobj().decompress(part, size + 1)
            except (zlib.error, OverflowError, MemoryError):
                raise _damaged(where, f"{name} cannot be inflated") from None
        if len(plain) < size or (len(plain) > size == items * dtype.itemsize):
            raise _damaged(where, f"{name} has a wrong length")
        arrays[name] = np.frombuffer(plain[:size], dtype)
        if kind == "events":
            lengths[int(rank)] = items
    return arrays, lengths


def _check(record: Record, where: str, counted: Mapping[int, int] | None = None) -> None:
    """Raise InputError where arrays do not fit each other, so that readers may index without a look."""
    ranks, edges, pointer = record.ranks, len(record.peer), record.pointer
    lengths = dict.fromkeys(_OF_RANKS, ranks) | dict.fromkeys((*_OF_EDGES, "histogram"), edges) | {"pointer": ranks + 1}
    for name, length in lengths.items():
        if len(getattr(record, name)) != length:
            raise _damaged(where, f"{name} has {len(getattr(record, name))} entries, not {length}")
    inside = ((pointer >= 0) & (pointer <= edges)).all()  # else differences may wrap around
    if pointer[0] != 0 or pointer[-1] != edges or not inside or (np.diff(pointer) < 0).any():
        raise _damaged(where, "pointer does not ascend from 0 to the number of edges")
    rows = np.repeat(np.arange(ranks), np.diff(pointer))
    ascending = (rows[1:] != rows[:-1]) | (record.peer[1:] > record.peer[:-1])
    if (record.peer >= ranks).any() or not ascending.all():
        raise _damaged(where, "peer does not ascend within the ranks")
    for name in ("messages", "bytes", "pulled"):
        if getattr(record, name).sum(dtype=float) >= MOST_IN_ALL:
            raise _damaged(where, f"{name} has counts that cannot be")
    nodes = record.node_of_rank
    if ((nodes < -1) | (nodes >= len(record.hosts))).any():
        raise _damaged(where, "node_of_rank names no host")
    calls = record.header.get("calls", [])
    for name in ("call_counts", "call_ns"):
        array = getattr(record, name)
        if array.size and array.shape != (ranks, len(calls)):
            raise _damaged(where, f"{name} is not a row of {len(calls)} calls for each rank")
    for rank, events in record.events.items():
        wrong = (
            (events["peer"] < -1) | (events["peer"] >= ranks) | (events["kind"] >= len(KINDS)) | (events["call"] >= len(calls))
        )
        if rank >= ranks or wrong.any():
            raise _damaged(where, f"the events of rank {rank} name no rank, call or kind")
        if len(events) and not 0 <= events["bytes"].min() <= events["bytes"].max() < MOST_BYTES:
            raise _damaged(where, f"the events of rank {rank} have sizes that cannot be")
        if len(events) and max(events["start_ns"].max(), events["end_ns"].max()) >= MOST_IN_ALL:
            raise _damaged(where, f"the events of rank {rank} have times that cannot be")
    if any(len(sites) != len(record.events.get(rank, ())) for rank, sites in record.sites.items()):
        raise _damaged(where, "sites are not one for each event")
    try:
        header = {**record.header, "hosts": list(record.hosts)}
        require_header(header, ranks, counted or {rank: len(events) for rank, events in record.events.items()})
    except KeyError as error:
        raise _damaged(where, f"its header lacks {error}") from None
    except ValueError as error:
        raise _damaged(where, str(error)) from None


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 48


def _damaged(where: str, why: str) -> InputError:
    return InputError(f"{where} is damaged ({why}): {_MEND}")
