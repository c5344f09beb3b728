"""One step as a time line: what each rank does when, who sends to whom, and the critical path through it.

The critical path is followed back from the rank that ends last: where a call waited, to the rank that it waited for, at the
time when that one came; so its pieces follow each other without a gap, and what they take adds up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.steps import Steps
from rankwise.observe.waits import waits_of_calls

Kind = Literal["computing", "moving", "waiting"]
_MOST_PIECES = 10_000


@dataclass(frozen=True)
class Span:
    """What a rank does from ``start_s`` to ``end_s`` after the step's beginning;
    ``term``: what bounds it, in words, where that is known."""

    rank: int
    start_s: float
    end_s: float
    kind: Kind
    term: str = ""

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    def within(self, start_s: float, end_s: float) -> Span | None:
        """Return what of it lies between two times; None where nothing does."""
        low, high = max(self.start_s, start_s), min(self.end_s, end_s)
        return Span(self.rank, low, high, self.kind) if high > low else None


@dataclass(frozen=True)
class Sent:
    """A message: when its send was posted, and when the call ended in which it arrived."""

    source: int
    dest: int
    sent_s: float
    arrived_s: float
    bytes: int


@dataclass(frozen=True)
class Timeline:
    """A step: ``spans`` of each rank in order, its ``messages``, and ``path``, the critical path, in order of time. ``note``:
    what else bounds it, in words."""

    spans: Mapping[int, tuple[Span, ...]]
    messages: tuple[Sent, ...]
    path: tuple[Span, ...]
    note: str = ""

    @property
    def length_s(self) -> float:
        """How long the critical path takes: what its pieces add up to."""
        return sum(span.length_s for span in self.path)

    def terms(self) -> dict[tuple[int, Kind], float]:
        """Return the seconds of the critical path by rank and by what that did, the largest first."""
        found: dict[tuple[int, Kind], float] = {}
        for span in self.path:
            found[span.rank, span.kind] = found.get((span.rank, span.kind), 0.0) + span.length_s
        return dict(sorted(found.items(), key=lambda term: -term[1]))

    def named(self, term_of: Callable[[Span, Sequence[Sent]], str]) -> Timeline:
        """Return it with the term that bounds each piece of the critical path in which bytes move; the messages are those that
        end it, or that are sent meanwhile."""
        received: dict[int, list[Sent]] = {}
        sent: dict[int, list[Sent]] = {}
        for message in self.messages:
            received.setdefault(message.dest, []).append(message)
            sent.setdefault(message.source, []).append(message)

        def name(span: Span) -> Span:
            low_s, high_s = span.start_s * (1 - 1e-9), span.end_s * (1 + 1e-9)
            there = [m for m in received.get(span.rank, []) if span.start_s < m.arrived_s <= high_s]
            there = there or [m for m in sent.get(span.rank, []) if low_s <= m.sent_s < span.end_s]
            last_s = max((m.arrived_s for m in there), default=0.0)
            last = [m for m in there if m.arrived_s >= last_s * (1 - 1e-9)]
            return replace(span, term=term_of(span, last)) if span.kind == "moving" else span

        return replace(self, path=tuple(name(span) for span in self.path))


def timeline_of(events: Mapping[int, Array], steps: Steps) -> Timeline:
    """Return the time line of the step whose duration is the median, from the events of all ranks."""
    columns = {rank: column for column, rank in enumerate(sorted(events))}
    window, began = {}, {}
    for rank, of_rank in events.items():
        begin, end = (int(cuts[steps.representative, columns[rank]]) for cuts in (steps.begins, steps.ends))
        window[rank] = of_rank[begin:end]
        # What is computed before the first call belongs to the step.
        began[rank] = int(of_rank["end_ns"][:begin].max()) if begin else int(window[rank]["start_ns"][0])
    return timeline_of_window(window, began)


def timeline_of_window(window: Mapping[int, Array], began: Mapping[int, int], unit_s: float = 1e-9) -> Timeline:
    """Return the time line of all ranks' events of one step; ``began``: when
    each rank began, ``unit_s``: what their times count."""
    zero = min(began.values())
    found = waits_of_calls(window)

    def seconds(ticks: float) -> float:
        return unit_s * float(ticks - zero)

    spans: dict[int, tuple[Span, ...]] = {}
    for rank, call in found.calls.items():
        done: list[Span] = []
        at = seconds(began[rank])
        for start, end, late in zip(call.start, call.end, found.latest[rank].late, strict=True):
            pieces: tuple[tuple[Kind, float], ...] = (
                ("computing", seconds(start)),
                ("waiting", seconds(start + late)),
                ("moving", seconds(end)),
            )
            for kind, until in pieces:
                if until > at:
                    done.append(Span(rank, at, until, kind))
                    at = until
        spans[rank] = tuple(done)
    messages = []
    for i, (source, dest) in enumerate(zip(found.sends.rank.tolist(), found.receives.rank.tolist(), strict=True)):
        call = found.calls[dest]
        where = call.waits_in[found.receives.position[i]]
        arrived = call.end[where] if where >= 0 else found.receives.done[i]
        size = int(window[source]["bytes"][found.sends.position[i]])
        messages.append(Sent(source, dest, seconds(found.sends.posted[i]), seconds(arrived), size))
    return Timeline(spans, tuple(messages), _path(spans, found, zero, unit_s))


def _path(spans: Mapping[int, tuple[Span, ...]], found: Any, zero: int, unit_s: float) -> tuple[Span, ...]:
    """Follow the critical path back from the end."""
    ends = {rank: of_rank[-1].end_s for rank, of_rank in spans.items() if of_rank}
    if not ends:
        return ()
    rank = max(ends, key=lambda one: ends[one])
    until = ends[rank]
    path: list[Span] = []
    for _ in range(_MOST_PIECES):
        call, latest = found.calls[rank], found.latest[rank]
        over = unit_s * (call.start + latest.late - zero)
        waited = np.nonzero((latest.late > 0) & (over <= until + 1e-3 * unit_s) & (latest.other >= 0))[0]
        since = float(over[waited[-1]]) if len(waited) else -1.0
        path += [piece for span in reversed(spans[rank]) if span.kind != "waiting" and (piece := span.within(since, until))]
        if not len(waited) or int(latest.other[waited[-1]]) not in spans:
            break
        rank, until = int(latest.other[waited[-1]]), since
    return tuple(reversed(path))
