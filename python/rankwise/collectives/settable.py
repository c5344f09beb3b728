"""What an MPI library can be set to for a collective: its own names of algorithms, as ``settable`` of its rules lists them.

Only algorithms whose messages are known exactly are there: the gain of a setting is predicted from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rankwise.collectives.selection import Call, algorithms_of, pieces_of, resolved, rules_of

SEGMENTS = (8192, 32768, 131072, 262144)
_MOST_PIECES = 1024


@dataclass(frozen=True)
class Setting:
    """An algorithm that a library can be set to; ``parameters``: what else its leaf of a selection file says."""

    name: str
    algorithm: str
    radix: int = 2
    segment_bytes: int = 0
    parameters: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The library's name, with what is set next to it."""
        from rankwise.units import format_size

        chains = f", {self.radix} chains" if self.algorithm == "chain" else ""
        return self.name + chains + (f", {format_size(self.segment_bytes)}" if self.segment_bytes else "")


def settable(library: str, call: Call) -> Iterator[Setting]:
    """Yield what a library (of ``settable_libraries``) can be set to for a call; nothing where it has no choice."""
    rules = rules_of(library.partition("-")[0])
    known = algorithms_of(rules, call.kind)
    for name, more in rules.get("settable", {}).get(call.kind, {}).items():
        if "needs" in more and not call.holds(more["needs"]):
            continue
        entry = resolved(call, {**known.get(name, {}), **more})[0]
        if not entry.get("exact", True):
            continue
        pieces = pieces_of(entry["as"], call.ranks, call.size_bytes, SEGMENTS, _MOST_PIECES) if "segments" in entry else []
        for radix in entry.get("radices", (entry.get("radix", 2),)):
            if radix >= call.ranks and "radices" in entry:
                continue
            for size in (*(() if entry["as"] == "segmented-ring" else (0,)), *pieces):
                yield Setting(name, entry["as"], radix, size, tuple(entry.get("parameters", ())))
