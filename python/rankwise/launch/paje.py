"""What SimGrid traces of a simulation (the Paje format): each rank's calls of MPI and its messages, with their times.

Lines of a trace that count here: 5 names a state, 6 makes a container, 12 and 13 push and pop a state, 15 and 16 begin and end
a message.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """A call of a rank, from its beginning to its end."""

    rank: int
    name: str  # MPI_Waitall
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Message:
    """A message, from its posting to its arrival; those of a pair and tag are in order."""

    source: int
    dest: int
    tag: int
    bytes: int
    sent_s: float
    arrived_s: float


@dataclass(frozen=True)
class Trace:
    """All calls, rank by rank in order of time, and all messages, in order of their arrival."""

    calls: tuple[Call, ...]
    messages: tuple[Message, ...]


def read_trace(lines: Iterable[str]) -> Trace:
    """Read a trace; what is not known of it is passed over."""
    return Trace(*_read(lines))


def _read(lines: Iterable[str]) -> tuple[tuple[Call, ...], tuple[Message, ...]]:
    names: dict[str, str] = {}
    rank_of: dict[str, int] = {}
    begun: dict[int, list[tuple[str, float]]] = {}
    under_way: dict[str, tuple[float, int]] = {}
    calls: list[Call] = []
    messages: list[Message] = []
    for kind, fields in _records(lines):
        if kind == "5":
            names[fields[0]] = fields[2].removeprefix("P")
        elif kind == "6" and fields[-1].startswith("rank-"):
            rank_of[fields[1]] = int(fields[-1].removeprefix("rank-"))
        elif kind == "12" and fields[2] in rank_of:
            begun.setdefault(rank_of[fields[2]], []).append((names.get(fields[3], "?"), float(fields[0])))
        elif kind == "13" and begun.get(rank := rank_of.get(fields[2], -1)):
            name, start_s = begun[rank].pop()
            calls.append(Call(rank, name, start_s, float(fields[0])))
        elif kind == "15" and len(fields) > 6:
            under_way[fields[5]] = float(fields[0]), int(float(fields[6]))
        elif kind == "16" and fields[5] in under_way:
            sent_s, size = under_way.pop(fields[5])
            source, dest, tag, _ = (int(part) for part in fields[5].split("_"))
            messages.append(Message(source - 1, dest - 1, tag, size, sent_s, float(fields[0])))
    return tuple(sorted(calls, key=lambda call: (call.rank, call.start_s, call.end_s))), tuple(messages)


def _records(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        if line[:1].isdigit():
            kind, *fields = shlex.split(line) if '"' in line else line.split()
            yield kind, fields
