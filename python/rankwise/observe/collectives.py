"""The collectives of an observed program, carried out by the algorithms that the program's own MPI library selects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.arrays import Array
from rankwise.collectives.selection import SQUARE, Call, Selection, libraries_of, select
from rankwise.errors import InputError
from rankwise.observe.record import Record
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_size

_NAME = re.compile(r"MPI_(I(?=[a-z]))?(\w+?)(_init)?")
_VECTORS = frozenset({"bcast", "reduce", "allreduce", "reduce_scatter", "scan", "exscan"})  # bytes are the vector's
_UNEVEN = frozenset({"allgatherv", "gatherv", "scatterv"})  # every rank tells the bytes of its own block
_AS = {"exscan": "scan", "alltoallw": "alltoallv"}  # whose messages they send, and rules they have
_MOST_MESSAGES = 2_000_000  # of a collective; above, a dissemination stands for it


@dataclass(frozen=True)
class Member:
    """A rank's part in a collective: its event, its place in the window of the record aside."""

    rank: int
    call: int
    bytes: int
    root: int
    shape: int


@record
class Selected(JsonRecord):
    """What a library selects for collective calls that are alike."""

    call: str = key("name of the function of MPI")
    ranks: int = key("size of the communicator")
    nodes: int = key("nodes that its ranks are on")
    bytes: int = key("bytes of the vector, or of one rank's block (to one other, alltoall; the mean where they differ)")
    calls: int = key("how many in a step, each of all ranks together")
    library: str = key("whose rules select")
    algorithm: str = key("what the library calls the algorithm")
    schedule: str = key("the schedule by which it is predicted")
    exact: bool = key("whether that is the library's message for message; false: of the same kind")
    why: str = key("the library's rule, in words")

    @property
    def words(self) -> str:
        return f"{self.call} {format_size(self.bytes)} by {self.algorithm}"


@dataclass(frozen=True, eq=False)
class Carried:
    """A collective's messages: (round, from, to, bytes) of each, by round, ranks being the world's.

    ``listed``: the same array for the same messages among the same number of ranks.
    """

    messages: Array
    rounds: int
    notes: tuple[str, ...] = ()
    listed: Array | None = None
    selected: Selected | None = None


@dataclass(frozen=True, eq=False)
class Carrier:
    """Who carries out the collectives of a record: a library, with the ranks on nodes.

    ``linear``: what an inter-communicator does is taken as messages from each rank to each, else as the library's algorithm for
    all ranks of both groups.
    """

    library: str
    header: Mapping[str, Any] = field(default_factory=dict)
    node_of_rank: tuple[int, ...] = ()
    linear: bool = False

    @classmethod
    def candidates(cls, record: Record) -> tuple[list[Carrier], list[str]]:
        """Return what may carry out a record's collectives, the likeliest first, and why they are several."""
        libraries, unknown = libraries_of(str(record.header.get("mpi") or ""))
        nodes = tuple(record.node_of_rank.tolist())
        if min(nodes, default=0) < 0:
            nodes = ()
        found = [cls(library, record.header, nodes) for library in libraries]
        why = [] if unknown is None else [f"{unknown}: predicted between what {libraries[0]} to {libraries[-1]} select"]
        if any(line.get("inter") for line in record.header.get("communicators") or ()):
            found += [replace(one, linear=True) for one in found]
        return found, why

    def on(self, node_of_rank: Sequence[int]) -> Carrier:
        """Return the same with ranks elsewhere."""
        return replace(self, node_of_rank=tuple(node_of_rank))

    def carried(self, comm: int, members: Sequence[Member]) -> Carried:
        """Return the messages of a collective on a communicator."""
        ordered = self._ordered(comm, members)
        names = self.header.get("calls", [])
        name = str(names[ordered[0].call]) if ordered[0].call < len(names) else ""
        match = _NAME.fullmatch(name)
        asked = None if match is None else self._call(match[2].lower(), ordered)
        if match is None or asked is None:
            return _dissemination(ordered, name)
        call, counts, notes = asked
        if match[1] or match[3]:
            notes.append(f"{name}: predicted as the blocking call, where it is started: libraries have other rules for it")
        root = next((i for i, one in enumerate(ordered) if one.rank == ordered[0].root), 0)
        if self._is_inter(comm):
            notes.append(f"{name} on an inter-communicator: predicted between each to each and one communicator of both groups")
        try:
            selection = _selected(self.library, call)
            if self._is_inter(comm) and self.linear:
                selection = replace(selection, algorithm="linear", radix=2, segment_bytes=0)
            messages = _messages(selection, call, counts, root)
        except (InputError, ValueError):
            return _dissemination(ordered, name)
        if messages is None:
            return _dissemination(ordered, name)
        if not selection.exact:
            notes.append(f"{name} by {selection.name}: predicted by {selection.algorithm}, which is of the same kind")
        selection = replace(selection, exact=selection.exact and not self._is_inter(comm))
        ranks = np.array([one.rank for one in ordered], np.int64)
        mine = messages.copy()
        mine[:, 1:3] = ranks[messages[:, 1:3]]
        rounds = int(messages[-1, 0]) + 1 if len(messages) else 1
        chosen = Selected(
            name, call.ranks, call.nodes[0], call.size_bytes, 1, selection.library, selection.name,
            " ".join(filter(None, (selection.algorithm, selection.between))), selection.exact, selection.why,
        )  # fmt: skip
        return Carried(mine, rounds, tuple(notes), messages, chosen)

    def _is_inter(self, comm: int) -> bool:
        known = self.header.get("communicators") or []
        return comm < len(known) and bool(known[comm].get("inter"))

    def _ordered(self, comm: int, members: Sequence[Member]) -> list[Member]:
        """Return members in the order of their ranks in the communicator."""
        known = self.header.get("communicators") or []
        order = known[comm].get("ranks") if comm < len(known) else None
        place = {rank: i for i, rank in enumerate(order or ())}
        return sorted(members, key=lambda one: (place.get(one.rank, one.rank), one.rank))

    def _call(self, kind: str, members: Sequence[Member]) -> tuple[Call, bytes | None, list[str]] | None:
        """Return what the library is asked for, and the bytes of blocks that differ; None for what is no collective of MPI."""
        ranks, size, notes = len(members), members[0].bytes, list[str]()
        shapes = [self._shape(one.shape) for one in members]
        first = shapes[0]
        counts: Array | None = None
        if kind in ("alltoall", "alltoallv", "alltoallw"):
            own = [one["counts"] for one in shapes if one and len(one.get("counts") or ()) == ranks]
            if kind != "alltoall" and len(own) == ranks:
                counts = np.array(own, np.int64).reshape(-1)
            elif kind != "alltoall":
                notes.append(f"MPI_{kind.capitalize()}: the record has no counts of each pair: blocks are taken as even")
            size = round(sum(one.bytes for one in members) / ranks**2)
        elif kind in _UNEVEN:
            counts = np.array([one.bytes for one in members], np.int64)
            size = round(float(counts.mean()))
        elif kind == "reduce_scatter" and first and len(first.get("counts") or ()) == ranks:
            counts = np.array(first["counts"], np.int64)
        elif kind == "reduce_scatter_block":
            size *= ranks
        elif kind not in _VECTORS and kind not in ("barrier", "allgather", "gather", "scatter"):
            return None
        if first is None and kind in ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"):
            notes.append(
                "the record does not say on what reductions work: taken as a commuting operation on 8 B: observe again"
            )
        if first is not None and not first["commutative"]:
            notes.append(f"MPI_{kind.capitalize()} with an operation that does not commute: the library's rule for such")
        nodes = self.node_of_rank
        _, of_member = np.unique([nodes[one.rank] for one in members], return_inverse=True) if nodes else (None, None)
        call = Call(
            kind, ranks, size, () if of_member is None else tuple(of_member.reshape(-1).tolist()),
            (first or {}).get("element_bytes") or 8, first is None or bool(first["commutative"]),
            any(bool(one and one["in_place"]) for one in shapes),
        )  # fmt: skip
        even = counts is None or (counts == size).all()
        return call, None if even or counts is None else counts.tobytes(), notes

    def _shape(self, number: int) -> Mapping[str, Any] | None:
        known = self.header.get("shapes") or []
        return known[number] if 0 <= number < len(known) else None


_selected = lru_cache(maxsize=4096)(select)


def _messages(selection: Selection, call: Call, counts: bytes | None, root: int) -> Array | None:
    """Return (round, from, to, bytes) of each message, ranks being those in the communicator; None where they are too many."""
    in_nodes = selection.algorithm == "node-aware"
    squared = call.kind.startswith("alltoall") or not {selection.algorithm, selection.within, selection.between}.isdisjoint(
        SQUARE
    )
    if call.ranks * (call.ranks if squared else 4 * call.ranks.bit_length()) > _MOST_MESSAGES:
        return None
    kind = _AS.get(call.kind, call.kind).removesuffix("v")
    way = replace(selection, library="", name="", why="")
    return _listed(way, kind, call.ranks, call.size_bytes, counts, root, call.node_of_rank if in_nodes else ())


@lru_cache(maxsize=512)
def _listed(way: Selection, kind: str, ranks: int, size: int, counts: bytes | None, root: int, nodes: tuple[int, ...]) -> Array:
    sizes = [] if counts is None else np.frombuffer(counts, np.int64).tolist()
    segment = way.segment_bytes if way.segment_bytes < size else 0
    asked = _core.Collective(kind, way.algorithm, ranks, size, segment, way.radix, (way.within, way.between), sizes, root)
    placement = _core.Placement.on_nodes(np.array(nodes or range(ranks), np.int32))
    messages = np.array(asked.messages(placement), np.int64).reshape(-1, 4)
    # What is sent to each on its own is not sent where it is empty.
    return messages if counts is None or not way.algorithm.startswith("linear") else messages[messages[:, 3] > 0]


def _dissemination(members: Sequence[Member], name: str) -> Carried:
    """Return messages to ranks twice as far each time, of what each rank contributes."""
    count = len(members)
    rows = [
        (turn, one.rank, members[(place + 2**turn) % count].rank, one.bytes)
        for turn in range(max(0, count - 1).bit_length())
        for place, one in enumerate(members)
    ]
    note = f"{name or 'collectives'}: taken as a dissemination of the bytes: the library's rule is not known"
    return Carried(np.array(rows, np.int64).reshape(-1, 4), max(1, max(0, count - 1).bit_length()), (note,))
