"""Halos that a program saved: what ``rankwise_halo_save`` writes (docs/halo.md)."""

from __future__ import annotations

import math
from dataclasses import field
from pathlib import Path
from typing import Any

from rankwise.errors import InputError
from rankwise.files import read_json
from rankwise.json_record import JsonObject
from rankwise.records import Record, key, record

_MEND = "give a file that rankwise_halo_save wrote"
_MOST_RANKS = 2**24
_MOST_BYTES = 2**53


@record
class SavedHalo(Record):
    """Who sends how much to whom, of all ranks: one message a pair, all in flight together.

    ``pairs``: (source, dest, bytes, bytes of a row), ascending; ``has_rows``: whether the rows are known.
    """

    path: Path = key("name of the file of the saved pattern", name="pattern", kind=str, write=lambda path: path.name)
    ranks: int
    pairs: tuple[tuple[int, int, int, int], ...] = field(repr=False)
    has_rows: bool

    def keys(self) -> dict[str, Any]:
        return self.to_dict()

    def messages(self, route: str) -> list[tuple[int, int, int, int, int]]:
        """Return (phase, source, dest, bytes, bytes of a row) of each message, ascending."""
        assert route == "direct"
        return [(0, *pair) for pair in self.pairs]


def read_saved(path: Path) -> SavedHalo:
    """Read a saved pattern. Raises InputError."""
    file = JsonObject.top(read_json(path, "saved halo", _MEND), str(path), _MEND)
    if file.get("kind") != "halo":
        raise file.complaint("kind", 'is not "halo"')
    ranks = file.count("ranks", 1)
    if ranks > _MOST_RANKS:
        raise file.complaint("ranks", f"is {ranks}: at most {_MOST_RANKS} are served")
    if "grid" in file.value and (placed := math.prod(file.counts("grid", 1))) != ranks:
        raise file.complaint("grid", f"has {placed} ranks, but ranks is {ranks}")
    fields = len(file.counts("fields", 1)) if "fields" in file.value else None
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    has_rows = True
    for pair in file.records("pairs", empty=True):
        source, dest = pair.count("source"), pair.count("dest")
        for end, rank in (("source", source), ("dest", dest)):
            if rank >= ranks:
                raise pair.complaint(end, f"is {rank}, but the ranks are 0 to {ranks - 1}")
        if source == dest:
            raise pair.complaint("dest", f"is {dest}, the source itself, but nothing is sent to oneself")
        if (source, dest) in pairs:
            raise pair.complaint("dest", f"is {dest} again: what rank {source} sends there is one message")
        size = pair.counts("bytes")
        fields = len(size) if fields is None else fields
        if sum(size) > _MOST_BYTES:
            raise pair.complaint("bytes", f"are {sum(size)} in all: at most {_MOST_BYTES} are served")
        if len(size) != fields:
            raise pair.complaint("bytes", f"has {len(size)} numbers, but the fields are {fields}")
        has_rows = has_rows and "row_bytes" in pair.value
        pairs[source, dest] = sum(size), pair.count("row_bytes") if has_rows else 0
    if not pairs:
        raise InputError(f"{path} has no pairs: no rank sends to another, there is nothing to time")
    return SavedHalo(path, ranks, tuple((*ends, *size) for ends, size in sorted(pairs.items())), has_rows)
