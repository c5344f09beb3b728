"""What the tracer (src/observe) leaves on each node, put together: a Record, however the program ended.

One clock for all hosts, from the messages themselves: none is there before it was sent.

The k-th send of a (source, destination, tag, communicator) meets the k-th receive. The quickest from host a to host b bounds
how far b's clock can be ahead of a's; along paths of hosts bounds add up (shortest paths). Of the bounds from the first host
and back to it an offset is the middle, known to half of their distance.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.errors import InputError
from rankwise.observe.call_sites import MAX_CALLS, MAX_MODULES, MAX_SITES, MODULE, SITE, merged_sites
from rankwise.observe.callers import CHAIN, MAX_CHAINS, add_callers
from rankwise.observe.needs import completed, met
from rankwise.observe.record import (
    BLOCKING_RECEIVE,
    BLOCKING_SEND,
    COLLECTIVE,
    EVENT,
    HISTOGRAM_BINS,
    RECEIVE,
    SEND,
    WINDOW_EVENTS,
    Record,
)
from rankwise.observe.sound import is_sound
from rankwise.units import format_count, format_volume, spans


def aligned(record: Record) -> Record:
    """Return a record whose events are in the clock of the first host; ``header["clock_uncertainty_ns"]`` tells how well by
    host.

    The uncertainty of a host that cannot be compared is None, and its events are left as its own clock had them.
    """
    offsets, uncertainty = host_offsets(record)
    record.header["clock_uncertainty_ns"] = [None if np.isinf(u) else round(u) for u in uncertainty]
    for rank, events in record.events.items():
        shift = np.int64(round(offsets[record.node_of_rank[rank]]))
        events["start_ns"] -= shift
        events["end_ns"] -= shift
    return record


def host_offsets(record: Record) -> tuple[Array, Array]:
    """Return for each host how many ns its clock is ahead of the first one's, and +-ns (infinite: cannot be told)."""
    least = _quickest(record)
    most, back = _shortest(least), _shortest(least.T)  # the offset is at most the one, and at least minus the other
    reached = np.isfinite(most) & np.isfinite(back)
    offsets = np.where(reached, np.where(reached, most, 0) - np.where(reached, back, 0), 0) / 2
    return offsets, np.where(reached, np.abs(most + back) / 2, np.inf)


def _shortest(length: Array) -> Array:
    """Return the lengths of the shortest paths from the first host (Bellman and Ford's way: lengths may be below 0)."""
    found = np.full(len(length), np.inf)
    found[:1] = 0
    for _ in length:
        through = np.minimum(found, (found[:, None] + length).min(axis=0))
        if (through == found).all():
            break
        found = through
    return found


def _quickest(record: Record) -> Array:
    """Return the least ns from a send's begin to its receive's end, by the hosts of the two; infinite where there is none."""
    hosts = len(record.hosts)
    least = np.full((hosts, hosts), np.inf)
    if hosts < 2:
        return least
    sends, receives = [], []
    for rank, events in record.events.items():
        window = next((w for w in record.header["windows"] if w["rank"] == rank and w["first_call"] == 0), None)
        if window is None:
            continue
        seen = events[window["first_event"] : window["first_event"] + window["events"]]
        sent, got = seen[np.isin(seen["kind"], (SEND, BLOCKING_SEND)) & (seen["peer"] >= 0)], _received(seen)
        own, from_rank = np.full(len(sent), rank), np.full(len(got), rank)
        sends.append(np.stack([own, sent["peer"], sent["tag"], sent["comm"], sent["start_ns"]]))
        receives.append(np.stack([got["peer"], from_rank, got["tag"], got["comm"], got["end_ns"]]))
    if not sends:
        return least
    sent, received = np.concatenate(sends, axis=1), np.concatenate(receives, axis=1)
    one, other, _ = met(sent, received)
    a, b = record.node_of_rank[sent[0][one]], record.node_of_rank[sent[1][one]]
    took = received[4][other] - sent[4][one]
    across = (a != b) & (a >= 0) & (b >= 0)
    np.minimum.at(least, (a[across], b[across]), took[across])
    return least


def _received(events: Array) -> Array:
    """Return what a rank received, as it came, in the order in which receives were posted."""
    posted = np.flatnonzero(np.isin(events["kind"], (RECEIVE, BLOCKING_RECEIVE)))
    ends = np.where(events["kind"][posted] == BLOCKING_RECEIVE, posted, completed(events, posted))
    # One that has not come yet ends the order of its key; without its key it is left out, at the window's end.
    came = events[ends[ends >= 0]]
    return np.asarray(came[came["peer"] >= 0])


LAYOUT, _MOST_LAYOUTS = 6, 1000  # and all below as in src/observe/store.h
_MAX_EDGES, _MAX_COLLECTIVES, _MAX_COMMS, _MAX_CARTS, _MAX_DIMS, _MAX_WINDOWS = 8192, 1024, 1024, 16, 8, 3
_NAMES_AT, _REGIONS_AT, _REGION = 64, 16384, 9764864
_COLLECTIVES_AT, _EDGES_AT, _EVENTS_AT = 16384, 65536, 1441792
_SITES_AT, _MODULES_AT, _SHAPES_AT, _MAX_SHAPE_WORDS, _CHAINS_AT = 9306112, 9502720, 9568256, 16384, 9699328
_NOT_COMMUTATIVE, _IN_PLACE = 1, 2
_RUNNING, FINALIZED, ABORTED = 1, 2, 3
_LOST_EDGES, _LOST_EVENTS, _LOST_TABLES = 1, 2, 4
_NO_COMM = 2**16 - 1
_SET_NS = 50_000_000  # slewing (500 ppm) takes 100 s for as much
FAMILIES = ("MPICH", "Open MPI", "MPI ABI")
_THREAD_MULTIPLE = (3, 3, 4096)  # as families.c has it

_COLLECTIVE = np.dtype([("calls", "<u8"), ("bytes", "<u8"), ("root", "<i4"), ("call", "<u2"), ("comm", "<u2")])
_COMM = np.dtype([("id", "<u8"), ("size", "<u4"), ("leader", "<i4"), ("rank", "<i4"), ("inter", "<u4")])
_COMMS_AT = _COLLECTIVES_AT + _MAX_COLLECTIVES * _COLLECTIVE.itemsize
_CART = np.dtype([("dimensions", "<i4"), ("reorder", "<i4"), ("size", "<i4", _MAX_DIMS), ("periodic", "<i4", _MAX_DIMS)])
_WINDOW = np.dtype([("first_call", "<u8"), ("events", "<u4"), ("number", "<u4")])
_CLOCK = np.dtype([("ticks", "<u8"), ("ns", "<i8")])
_RAW_EVENT = np.dtype([*EVENT.descr[:-2], ("site_and_kind", "<u2")])
_KIND_BITS = 3
_EDGE = np.dtype(
    [*((name, "<u4") for name in ("peer", "unused")), *((name, "<u8") for name in ("messages", "bytes", "pulled"))]
    + [("histogram", "<u4", HISTOGRAM_BINS)]
)
_PARTNER = np.dtype([*((name, "<i4") for name in ("world", "rank", "comm", "tag")), ("kind", "<u4")])
_LIVE = np.dtype(
    [("now", _CLOCK), ("since", "<u8"), ("site", "<u2"), ("waits_for_any", "<u2"), ("partners", "<u4")]
    + [("partner", _PARTNER, 16)]
)
_PAGE = np.dtype(
    [("layout", "<u8")]
    + [(name, "<i4") for name in "rank ranks state family lost spawned core socket cores cores_allowed".split()]
    + [(name, "<u4") for name in "threads edges collectives comms carts windows sites modules shape_words unused".split()]
    + [("involuntary_switches", "<u8"), ("first", _CLOCK), ("last", _CLOCK)]
    + [("set_ns", "<i8"), ("begun", "<u8"), ("ended", "<u8")]
    + [("host", "S64"), ("library", "S192"), ("cart", _CART, _MAX_CARTS), ("window", _WINDOW, _MAX_WINDOWS)]
    + [("call", SITE, MAX_CALLS), ("live", _LIVE)]
)


@dataclass
class Part:
    """What one rank left."""

    page: Any
    edges: Array
    collectives: Array
    comms: Array
    windows: list[tuple[Any, Array]]  # by time
    names: list[str]
    sites: Array  # those of the page first: what calls have no line of their own
    modules: Array
    shapes: Array  # words
    chains: Array

    def by_call(self, column: str) -> Array:
        """Return a column of the sites, summed by call."""
        sums = np.zeros(MAX_CALLS, "<u8")
        np.add.at(sums, self.sites["call"], self.sites[column])
        return sums

    @property
    def rank(self) -> int:
        return int(self.page["rank"])

    @property
    def host(self) -> str:
        return str(self.page["host"].decode("utf-8", "replace"))

    @property
    def end_tick(self) -> int:
        """The last tick that is known of it."""
        ends = [int(events["end_ns"].max()) for _, events in self.windows if len(events)]
        return int(self.page["ended"]) or max([int(self.page["last"]["ticks"]), *ends])


def merged(folder: Path, header: dict[str, Any]) -> Record | None:
    """Return what the ranks left in a folder, as a record with ``header`` and more; None where there is nothing."""
    notes: list[str] = []
    parts = world_of(folder, notes)
    return record_of(parts, header, notes) if parts else None


def world_of(folder: Path, notes: list[str]) -> list[Part]:
    """Return what the ranks of a command's last world left in a folder, one part each; what is left out is noted."""
    return one_world(parts_of_nodes(folder, notes), notes)


def record_of(parts: Sequence[Part], header: dict[str, Any], notes: list[str]) -> Record:
    """Return the record of a world's parts, with ``header`` and more; its notes are ``notes`` and what the parts lack."""
    ranks = int(parts[0].page["ranks"])
    hosts = list(dict.fromkeys(part.host for part in parts))
    clocks = {host: _clock([part for part in parts if part.host == host]) for host in hosts}
    begun = {part.rank: clocks[part.host](part.page["begun"]) for part in parts}
    origin = min(begun.values())
    seconds = {part.rank: max(0.0, (clocks[part.host](part.end_tick) - begun[part.rank]) * 1e-9) for part in parts}
    last = max(clocks[part.host](part.end_tick) for part in parts)
    numbers, communicators = _communicators(parts, ranks)
    used = np.flatnonzero(sum(part.by_call("calls") for part in parts))
    column = np.zeros(MAX_CALLS, np.uint8)
    column[used] = np.arange(len(used))
    calls = [parts[0].names[i] for i in used]
    _tell_ends(parts, ranks, notes)
    sites, modules, site_of_number, places_of_modules = merged_sites(
        {part.rank: (part.sites, part.modules, clocks[part.host].ns_per_tick) for part in parts}, parts[0].names
    )
    frames = add_callers(
        sites, [module["path"] for module in modules],
        {part.rank: (part.chains, places_of_modules[part.rank], site_of_number[part.rank]) for part in parts},
    )  # fmt: skip
    events, windows = _events(parts, clocks, origin, numbers, column)
    number_of_shape, shapes = _shapes(parts)
    for rank, (of_rank, _) in events.items():
        collective = of_rank["kind"] == COLLECTIVE
        of_rank["tag"][collective] = [number_of_shape[rank].get(tag, -1) for tag in of_rank["tag"][collective].tolist()]
    counts, ns, sampled = np.zeros((ranks, len(used)), "<u8"), np.zeros((ranks, len(used)), "<i8"), np.zeros(len(used), bool)
    places = {name: np.full(ranks, -1, "<i4") for name in ("node", "socket", "core")}
    for part in parts:
        page, rank = part.page, part.rank
        counts[rank], timed = part.by_call("calls")[used], part.by_call("timed")[used]
        sampled |= timed < counts[rank]
        ns[rank] = part.by_call("ticks")[used] * clocks[part.host].ns_per_tick * (counts[rank] / np.maximum(timed, 1))
        for name, place in (("node", hosts.index(part.host)), ("socket", page["socket"]), ("core", page["core"])):
            places[name][rank] = place
    record = Record(
        header={
            **header,
            "mpi": parts[0].page["library"].decode("utf-8", "replace").split("\n")[0].strip(),
            "family": FAMILIES[int(parts[0].page["family"]) % len(FAMILIES)],
            "seconds": (last - origin) * 1e-9,
            "seconds_of_rank": [round(seconds.get(rank, 0.0), 9) for rank in range(ranks)],
            "threaded": any(
                part.page["threads"] >= _THREAD_MULTIPLE[int(part.page["family"]) % len(FAMILIES)] for part in parts
            ),
            "complete": len(parts) == ranks and all(part.page["state"] == FINALIZED for part in parts),
            "notes": notes,
            "calls": calls,
            "sampled_calls": [name for name, some in zip(calls, sampled, strict=True) if some],
            "communicators": communicators,
            "shapes": shapes,
            "collectives": _collectives(parts, numbers, calls, column),
            "carts": _carts(parts),
            "others": _others(parts),
            "windows": windows,
            "modules": modules,
            "sites": sites,
            "frames": frames,
            "cores_of_host": [max(int(part.page["cores"]) for part in parts if part.host == host) for host in hosts],
            "involuntary_switches": [int(part.page["involuntary_switches"]) for part in parts],
        },
        ranks=ranks,
        hosts=tuple(hosts),
        node_of_rank=places["node"],
        socket_of_rank=places["socket"],
        core_of_rank=places["core"],
        **_matrix(parts, ranks),
        events={rank: listed for rank, (listed, _) in events.items()},
        sites={rank: site_of_number[rank][number] for rank, (_, number) in events.items()},
        call_counts=counts,
        call_ns=ns,
    )
    return aligned(record)


def parts_of_nodes(folder: Path, notes: list[str]) -> list[Part]:
    """Return what the ranks of all nodes left; what cannot be theirs is left out, with a note.

    Raises InputError for what another version's tracer left.
    """
    paths = sorted(folder.glob("*.node"))
    found = [part for path in paths for part in _parts_in(path)]
    others = {path.stem: layout for path in paths if (layout := _layout_of(path)) != LAYOUT and 0 < layout < _MOST_LAYOUTS}
    for host, layout in others.items():
        words = f"the tracer on {host} is of another version of rankwise (it writes layout {layout}, this one reads {LAYOUT})"
        if not found:
            raise InputError(f"{words}: install the same rankwise on all nodes")
        notes.append(f"{words}: its ranks are not in the record")
    sound = [part for part in found if is_sound(part)]
    if found and not sound:
        raise InputError(f"what all {format_count(len(found), 'rank')} left is damaged: observe the program again")
    if len(sound) < len(found):
        notes.append(f"what {format_count(len(found) - len(sound), 'rank')} left is damaged and is not in the record")
    return sound


def _layout_of(path: Path) -> int:
    """Return the layout of what the first rank left; 0: none."""
    with path.open("rb") as stream:
        stream.seek(_REGIONS_AT)
        return int.from_bytes(stream.read(8), "little")


def _parts_in(path: Path) -> Iterator[Part]:
    with path.open("rb") as stream:
        start, size = stream.read(_REGIONS_AT), os.fstat(stream.fileno()).st_size
        if len(start) < _REGIONS_AT:
            return
        names = start[_NAMES_AT:].partition(b"\0")[0].decode(errors="replace").splitlines()

        def array(at: int, dtype: np.dtype[Any], items: int) -> Array:
            stream.seek(at)
            content = stream.read(items * dtype.itemsize)
            return np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype)

        for slot in range(min(int.from_bytes(start[:8], "little"), (size - _REGIONS_AT) // _REGION + 1)):
            at = _REGIONS_AT + slot * _REGION
            pages = array(at, _PAGE, 1)
            if not len(pages) or pages[0]["layout"] != LAYOUT or not names:
                continue
            page = pages[0]
            edges = array(at + _EDGES_AT, _EDGE, min(int(page["edges"]), _MAX_EDGES + 1))
            collectives = array(at + _COLLECTIVES_AT, _COLLECTIVE, _MAX_COLLECTIVES)
            windows = []
            for i in range(min(int(page["windows"]), _MAX_WINDOWS)):
                count = min(int(page["window"][i]["events"]), WINDOW_EVENTS)
                events = array(at + _EVENTS_AT + i * WINDOW_EVENTS * EVENT.itemsize, _RAW_EVENT, count)
                windows.append(
                    (page["window"][i], events[events["end_ns"] > 0])
                )  # of one being written at the end there is none
            comms = array(at + _COMMS_AT, _COMM, min(int(page["comms"]), _MAX_COMMS) * (not page["lost"] & _LOST_TABLES))
            windows.sort(key=lambda window: int(window[0]["number"]))
            sites = np.zeros(MAX_CALLS + MAX_SITES, SITE)
            for first, lines in ((0, page["call"]), (MAX_CALLS, array(at + _SITES_AT, SITE, MAX_SITES))):
                sites[first : first + len(lines)] = lines
            modules = array(at + _MODULES_AT, MODULE, min(int(page["modules"]), MAX_MODULES))
            shapes = array(at + _SHAPES_AT, np.dtype("<u8"), min(int(page["shape_words"]), _MAX_SHAPE_WORDS))
            chains = array(at + _CHAINS_AT, CHAIN, MAX_CHAINS)
            yield Part(
                page, edges, collectives[collectives["calls"] > 0], comms, windows, names, sites, modules, shapes,
                chains[chains["key"] > 0],
            )  # fmt: skip


def one_world(parts: Sequence[Part], notes: list[str]) -> list[Part]:
    """Return one part for each rank, in order: of the last world that the command made."""
    spawned = sum(bool(part.page["spawned"]) for part in parts)
    if spawned:
        notes.append(f"{spawned} ranks that the program spawned are not in the record")
    own = [part for part in parts if not part.page["spawned"]]
    if not own:
        return []
    latest = max(own, key=lambda part: int(part.page["last"]["ns"]))
    newest: dict[int, Part] = {}
    for part in sorted(own, key=lambda part: int(part.page["first"]["ns"])):
        if part.page["ranks"] == latest.page["ranks"]:
            newest[part.rank] = part
    if len(newest) < len(own):
        notes.append(
            f"the command ran several programs with MPI: {len(own) - len(newest)} ranks of those before the last are left out"
        )
    return [newest[rank] for rank in sorted(newest)]


@dataclass(frozen=True)
class _Clock:
    """Ticks of a node to ns of its clock."""

    ticks: int
    ns: int
    ns_per_tick: float

    def __call__(self, tick: int) -> int:
        return self.ns + round((int(tick) - self.ticks) * self.ns_per_tick)


def _clock(parts: Sequence[Part]) -> _Clock:
    """Return a node's clock: of the rank that could compare for longest, since all share their ticks."""
    page = max((part.page for part in parts), key=lambda page: int(page["last"]["ns"]) - int(page["first"]["ns"]))
    first, last = page["first"], page["last"]
    ticks, ns = int(last["ticks"]) - int(first["ticks"]), int(last["ns"]) - int(first["ns"])
    return _Clock(int(last["ticks"]), int(last["ns"]), ns / ticks if ticks > 0 and ns > 0 else 1.0)


def _tell_ends(parts: Sequence[Part], ranks: int, notes: list[str]) -> None:
    def tell(which: Sequence[int], words: str) -> None:
        if which:
            notes.append(f"rank{'s' * (len(which) > 1)} {ranges(which)} {words}")

    for host in dict.fromkeys(part.host for part in parts):
        set_ns = max((int(part.page["set_ns"]) for part in parts if part.host == host), key=abs)
        if abs(set_ns) >= _SET_NS:
            notes.append(
                f"the time of day of {host} was set by {set_ns * 1e-9:+.3g} s while the program ran: the record's times are "
                "right, but what the program timed itself may be wrong"
            )
    tell(sorted(set(range(ranks)) - {part.rank for part in parts}), "left no record")
    for state, words in ((_RUNNING, "ended without Finalize; counts up to the last call"), (ABORTED, "called MPI_Abort")):
        tell([part.rank for part in parts if part.page["state"] == state], words)
    lacking = {
        _LOST_EDGES: "found the disk full: later partners are counted together",
        _LOST_EVENTS: "found the disk full: later calls are counted, not listed",
        _LOST_TABLES: "found the disk nearly full: calls and partners are counted, collectives and communicators are not "
        "distinguished",
    }
    for flag, words in lacking.items():
        tell([part.rank for part in parts if part.page["lost"] & flag], words)
    beyond = [part for part in parts if part.edges[0]["messages"] and not part.page["lost"] & _LOST_EDGES]
    outside = [part for part in beyond if part.page["edges"] <= _MAX_EDGES]
    messages, volume = (sum(int(part.edges[0][name]) for part in outside) for name in ("messages", "bytes"))
    tell(
        [part.rank for part in outside],
        f"sent {format_count(messages, 'message')}, {format_volume(volume)}, to ranks outside the world, such as spawned ones",
    )
    crowded = [part.rank for part in beyond if part.page["edges"] > _MAX_EDGES]
    tell(crowded, f"sent to more than {_MAX_EDGES} partners: further ones are counted together")
    full = MAX_SITES * 3 // 4  # call_sites.c leaves the rest of its table free
    tell(
        [part.rank for part in parts if full <= part.page["sites"] < MAX_SITES],
        f"called MPI from more than {full} call sites: further ones are counted together",
    )


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as a person writes them: 1-3, 7."""
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans(numbers))


def _communicators(parts: Sequence[Part], ranks: int) -> tuple[dict[int, Array], list[dict[str, Any]]]:
    """Return for each rank the common numbers of its communicators, and what is known of each."""
    lines: dict[int, list[Any]] = {}  # id: first use, size, ranks, whether it is an inter-communicator
    place: dict[tuple[int, int], int] = {}
    for part in parts:
        for i, line in enumerate(part.comms):
            entry = lines.setdefault(int(line["id"]), [i, int(line["size"]), [], bool(line["inter"])])
            entry[0] = min(entry[0], i)
            if part.rank not in entry[2][-1:]:  # a communicator made anew may have the identity of one that was freed
                entry[2].append(part.rank)
            place[int(line["id"]), part.rank] = int(line["rank"])
    order = sorted(lines, key=lambda key: (lines[key][0], lines[key][2][0], key))
    for key, (_, _, members, inter) in lines.items():
        if not inter:
            members.sort(key=lambda rank: place[key, rank])
    number = {key: min(i, _NO_COMM) for i, key in enumerate(order)}
    of_rank = {}
    for part in parts:
        of_rank[part.rank] = np.full(_NO_COMM + 1, _NO_COMM, "<u2")
        of_rank[part.rank][: len(part.comms)] = [number[int(key)] for key in part.comms["id"]]
    known = [
        {
            "size": lines[key][1],
            "ranks": None if lines[key][2] == list(range(ranks)) else lines[key][2],
            **({"inter": True} if lines[key][3] else {}),
        }
        for key in order
    ]
    return of_rank, known


def _shapes(parts: Sequence[Part]) -> tuple[dict[int, dict[int, int]], list[dict[str, Any]]]:
    """Return for each rank the common numbers of its collectives' shapes, and what these are (see store.h), each once."""
    common: dict[bytes, int] = {}
    of_rank: dict[int, dict[int, int]] = {}
    listed: list[dict[str, Any]] = []
    for part in parts:
        numbers = of_rank.setdefault(part.rank, {})
        at, words = 0, part.shapes
        while at + 3 <= len(words) and at + 3 + int(words[at + 2]) <= len(words):
            element_bytes, flags, count = (int(word) for word in words[at : at + 3])
            content = words[at : at + 3 + count].tobytes()
            if content not in common:
                common[content] = len(listed)
                counts = {"counts": words[at + 3 : at + 3 + count].tolist()} if count else {}
                commutative, in_place = not flags & _NOT_COMMUTATIVE, bool(flags & _IN_PLACE)
                listed.append({"element_bytes": element_bytes, "commutative": commutative, "in_place": in_place, **counts})
            numbers[at] = common[content]
            at += 3 + count
    return of_rank, listed


def _events(
    parts: Sequence[Part], clocks: dict[str, _Clock], origin: int, numbers: dict[int, Array], column: Array
) -> tuple[dict[int, tuple[Array, Array]], list[dict[str, int]]]:
    """Return the events of each rank in ns since the common begin with the numbers of their sites, and their windows."""
    events, windows = {}, []
    for part in parts:
        clock, first = clocks[part.host], 0
        for window, listed in part.windows:
            place = {"rank": part.rank, "first_call": int(window["first_call"]), "first_event": first, "events": len(listed)}
            windows.append(place)
            first += len(listed)
        if not first:
            continue
        raw = np.concatenate([listed for _, listed in part.windows])
        number, kind = raw["site_and_kind"] >> _KIND_BITS, raw["site_and_kind"] & (1 << _KIND_BITS) - 1
        joined = raw.view(EVENT)
        joined["kind"] = kind
        for name in ("start_ns", "end_ns"):
            ticks = joined[name] - np.int64(clock.ticks)
            joined[name] = np.round(ticks * clock.ns_per_tick).astype(np.int64) + (clock.ns - origin)
        joined["comm"] = numbers[part.rank][joined["comm"]]
        joined["call"] = column[part.sites["call"][np.minimum(number, len(part.sites) - 1)]]
        events[part.rank] = joined, number
    return events, [window for window in windows if window["events"]]


def _collectives(parts: Sequence[Part], numbers: dict[int, Array], calls: list[str], column: Array) -> list[dict[str, Any]]:
    """Return the collectives: ``bytes`` of a call and rank, ``calls`` of all ranks together, how many ``ranks`` made some."""
    table: dict[tuple[str, int, int, int], list[int]] = {}
    for part in parts:
        for line in part.collectives:
            key = (calls[column[line["call"]]], int(numbers[part.rank][line["comm"]]), int(line["bytes"]), int(line["root"]))
            entry = table.setdefault(key, [0, 0])
            entry[0] += int(line["calls"])
            entry[1] += 1
    return [
        {"call": call, "comm": comm, "bytes": size, "root": None if root < 0 else root, "calls": calls, "ranks": ranks}
        for (call, comm, size, root), (calls, ranks) in sorted(table.items())
    ]


def _carts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return the Cartesian communicators that were asked for, each once."""
    found: dict[tuple[Any, ...], None] = {}
    for part in parts:
        for cart in part.page["cart"][: min(int(part.page["carts"]), _MAX_CARTS)]:
            d = int(cart["dimensions"])
            found[tuple(cart["size"][:d].tolist()), tuple((cart["periodic"][:d] != 0).tolist()), bool(cart["reorder"])] = None
    return [{"dims": list(dims), "periodic": list(periodic), "reorder": reorder} for dims, periodic, reorder in found]


def _others(parts: Sequence[Part]) -> list[dict[str, int]]:
    """Return what was sent to partners that have no edge of their own."""
    return [
        {"rank": part.rank, "messages": int(part.edges[0]["messages"]), "bytes": int(part.edges[0]["bytes"])}
        for part in parts
        if part.edges[0]["messages"]
    ]


def _matrix(parts: Sequence[Part], ranks: int) -> dict[str, Any]:
    """Return the messages as CSR; what a rank pulled goes to the row of the rank that had it."""
    edges = np.concatenate([part.edges[1:] for part in parts])
    source = np.repeat([part.rank for part in parts], [len(part.edges) - 1 for part in parts]).astype(np.int64)
    peer = edges["peer"].astype(np.int64)
    sent, pulled = (edges["messages"] > 0) & (peer < ranks), (edges["pulled"] > 0) & (peer < ranks)
    keys = np.concatenate([source[sent] * ranks + peer[sent], peer[pulled] * ranks + source[pulled]])
    cells, cell = np.unique(keys, return_inverse=True)
    at_sent, at_pulled = cell[: sent.sum()], cell[sent.sum() :]
    matrix: dict[str, Array] = {name: np.zeros(len(cells), "<u8") for name in ("messages", "bytes", "pulled")}
    histogram = np.zeros((len(cells), HISTOGRAM_BINS), "<u4")
    for name in ("messages", "bytes"):
        np.add.at(matrix[name], at_sent, edges[name][sent])
    np.add.at(histogram, at_sent, edges["histogram"][sent])
    np.add.at(matrix["pulled"], at_pulled, edges["pulled"][pulled])
    pointer = np.searchsorted(cells, np.arange(ranks + 1) * ranks).astype("<i8")
    return {**matrix, "histogram": histogram, "peer": (cells % ranks).astype("<u4"), "pointer": pointer}
