"""An observed step as a schedule: phase after phase, in which ranks compute and then have messages in flight together."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from rankwise import _core
from rankwise.arrays import Array, connected
from rankwise.errors import InputError
from rankwise.files import write_whole
from rankwise.observe.collectives import Carried, Carrier, Member, Selected
from rankwise.observe.epochs import FENCES, GET, PUT, with_epochs
from rankwise.observe.needs import actual_receives
from rankwise.observe.periods import Span
from rankwise.observe.record import (
    BLOCKING_RECEIVE,
    BLOCKING_SEND,
    COLLECTIVE,
    COMPLETION,
    RECEIVE,
    SEND,
    TIME_ONLY,
    WINDOW_EVENTS,
    Record,
    begins_call,
)
from rankwise.observe.steps import Steps, common_steps

# Ways to cut a rank's calls into parts: a blocking send whose receiver answers next is one of its own, or a run of such sends,
# or each.
ANSWERED, RUNS, FINEST = 1, 2, 3
_STEPS_BEFORE = 3  # the representative one, from which its phases are counted
_MOST_SHOWN = 4  # collectives, with the algorithms that the library selects
_AT_ONCE = "the order of the step's messages differs between ranks: all are in flight at once"


@dataclass(frozen=True, eq=False)
class PhasedStep:
    """One step of an observed program.

    Message i goes from ``source[i]`` to ``dest[i]`` in ``phase[i]`` (ascending), ``bytes[i]`` long; ``compute_s`` (phases x
    ranks) is what each rank computes before its messages of a phase. ``notes``: what it leaves out; ``collective``: the phases
    in which collectives are carried out;
    ``row_bytes``: of each message the bytes of the rows of memory that it is gathered from and put back to, 0 for none;
    ``mode``: the way of sending, all receives of a phase posted before; ``others``: what else the step may be, where the
    library that carries out its collectives is not known; ``relay``: the step with its ranks elsewhere, where algorithms of
    collectives depend on who shares a node; ``selected``: by which algorithms collectives are carried out;
    ``observed``: it was seen of a program, which the cost model's interval knows.
    """

    phase: Array
    source: Array
    dest: Array
    bytes: Array
    compute_s: Array
    notes: tuple[str, ...] = ()
    collective: tuple[int, ...] = ()
    row_bytes: Array | None = None
    mode: str = "isend"
    others: tuple[PhasedStep, ...] = ()
    relay: Callable[[tuple[int, ...]], PhasedStep] | None = None
    selected: tuple[Selected, ...] = ()
    observed: bool = False

    kept: ClassVar[bool] = False  # by the judge: it may be large, and is seldom asked for again

    @classmethod
    def at_once(cls, source: Array, dest: Array, sizes: Array, ranks: int) -> PhasedStep:
        """Return a step in which all messages are in flight together, and nothing is computed."""
        return cls(np.zeros(len(sizes), np.int32), source, dest, sizes, np.zeros((1, ranks)))

    @property
    def ranks(self) -> int:
        return int(self.compute_s.shape[1])

    @property
    def phases(self) -> int:
        return len(self.compute_s)

    def judged(self, placement: _core.Placement) -> _core.Judged:
        """Return the step on a placement, to be priced with blocks of one byte. Raises ValueError."""
        if self.relay is not None:
            return self.on([placement.node(rank) for rank in range(placement.ranks)]).judged(placement)
        phase, source, dest = (np.ascontiguousarray(array, np.int32) for array in (self.phase, self.source, self.dest))
        compute_s = np.ascontiguousarray(self.compute_s, np.float64).reshape(-1)
        return _core.judge_phases(
            phase, source, dest, np.ascontiguousarray(self.bytes, np.int64), compute_s, placement, self.mode, self.observed
        )

    def on(self, node_of_rank: Sequence[int]) -> PhasedStep:
        """Return the step with its ranks on nodes, where the library may carry collectives out in another way."""
        if self.relay is None:
            return self
        there = self.relay(tuple(node_of_rank))
        return there if self.compute_s.any() else there.without_computing()

    def repeated(self, times: int) -> PhasedStep:
        """Return so many steps, one after the other, of ranks that stay where they are."""
        begins = np.repeat(np.arange(times) * self.phases, len(self.bytes))
        source, dest, sizes = (np.tile(column, times) for column in (self.source, self.dest, self.bytes))
        compute_s = np.tile(self.compute_s, (times, 1))
        return replace(
            self, phase=np.tile(self.phase, times) + begins, source=source, dest=dest, bytes=sizes, compute_s=compute_s,
            relay=None, others=(),
        )  # fmt: skip

    def without_computing(self) -> PhasedStep:
        """Return the messages alone."""
        others = tuple(one.without_computing() for one in self.others)
        return replace(self, compute_s=np.zeros_like(self.compute_s), others=others)

    @cached_property
    def text(self) -> str:
        """The step as the kernel that carries it out reads it (src/kernels/replay.cpp)."""
        lines = [f"rankwise-step {1 if self.row_bytes is None else 2} {self.ranks} {self.phases}"]
        columns = [self.source, self.dest, self.bytes, *(() if self.row_bytes is None else (self.row_bytes,))]
        borders = np.searchsorted(self.phase, np.arange(self.phases + 1))
        for number, compute_s in enumerate(self.compute_s):
            busy = np.nonzero(compute_s)[0].tolist()
            mine = slice(borders[number], borders[number + 1])
            lines.append(f"{len(busy)} {mine.stop - mine.start}")
            lines += [f"{rank} {compute_s[rank]:.9f}" for rank in busy]
            lines += [
                " ".join(map(str, message)) for message in zip(*(column[mine].tolist() for column in columns), strict=True)
            ]
        return "\n".join(lines) + "\n"

    def write_beside(self, record: Path) -> Path:
        """Write the step's file next to a record, under a name of its own content, and return where."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:8]
        path = record.resolve().with_name(f"{record.name}.{digest}.step")
        if not path.is_file():
            write_whole(path, self.text)
        return path


def observed_step(record: Record) -> PhasedStep:
    """Return the representative step of a record. Raises InputError where it has no events of all ranks, or no common step."""
    events = first_events(record)
    if len(events) < record.ranks:
        raise InputError(f"{record.name} has the calls of {len(events)} of {record.ranks} ranks: observe the program again")
    steps = steps_of(record, events)
    if steps is None:
        raise InputError(f"{record.name} has no step that repeats on all ranks: observe more steps, or a shorter program")
    return phased(events, steps, record)


def first_events(record: Record) -> dict[int, Array]:
    """Return each rank's events from the beginning of the program on: those of the first window; see epochs for their kinds."""
    events = dict(record.events)
    for window in record.header.get("windows", []):
        if window["first_call"] == 0:
            first = window["first_event"]
            events[window["rank"]] = record.events[window["rank"]][first : first + window["events"]]
    return {rank: with_epochs(of_rank, record.header.get("calls", [])) for rank, of_rank in events.items()}


def listed_until_s(events: Mapping[int, Array]) -> float | None:
    """Return until when ``first_events`` have the calls of all ranks, as many as a window holds; None: to the end."""
    full = [of_rank for of_rank in events.values() if len(of_rank) >= WINDOW_EVENTS]
    return min((float(of_rank["end_ns"][-1]) * 1e-9 for of_rank in full), default=None)


def steps_of(record: Record, events: Mapping[int, Array], span_s: Span | None = None) -> Steps | None:
    """Return the steps in a record's ``first_events``, from when to when (default: while all calls are listed); None where it
    has no events of all ranks, or no common step. Raises TooLongError."""
    if len(events) < record.ranks:
        return None
    until_s = listed_until_s(events)
    span_s = span_s or (None if until_s is None else (0.0, until_s))
    return common_steps(events, span_s, float(record.header.get("seconds", 0.0)))


def phased(events: Mapping[int, Array], steps: Steps, record: Record | None = None) -> PhasedStep:
    """Return the representative step: messages that ranks wait for together are a phase, and so are the others' ends of them.

    Collectives are the messages of the algorithm that the record's library selects.
    """
    cut = _Cut(events, steps)
    carriers, why = ([Carrier("")], []) if record is None else Carrier.candidates(record)
    found: list[PhasedStep] = []
    for carrier in carriers:
        step = _laid(cut, carrier)
        if any(one.text == step.text for one in found):
            continue
        found.append(replace(step, notes=(*why, *step.notes)) if why and step.collective else step)
    return replace(found[0], others=tuple(found[1:]))


def aligned(events: Mapping[int, Array], steps: Steps, carrier: Carrier) -> dict[int, tuple[int, int]]:
    """Return where each rank's events of the representative step begin and end, cut between the same phases on all ranks."""
    parts, _ = _Cut(events, steps).step(carrier.carried)
    return {rank: (of_rank[0].first, of_rank[-1].after) if of_rank else (0, 0) for rank, of_rank in parts.items()}


def _laid(cut: _Cut, carrier: Carrier) -> PhasedStep:
    """Return the step with its collectives carried out."""

    @cache
    def carried(comm: int, members: tuple[Member, ...]) -> Carried:
        return carrier.carried(comm, members)

    parts, levels = cut.step(carried)
    rows: list[Array] = [np.empty((0, 4), np.int64)]
    compute: dict[tuple[int, int], float] = defaultdict(float)
    collectives: dict[tuple[int, ...], list[Member]] = defaultdict(list)
    begins: dict[tuple[int, ...], int] = {}
    for rank, of_rank in parts.items():
        for number, part in enumerate(of_rank):
            level = 0 if levels is None else levels[rank, number]
            compute[level, rank] += part.compute_s
            if part.sends:
                rows.append(np.array([(level, key[0], key[1], size) for key, size in part.sends], np.int64))
            if part.collective is not None and part.member is not None:
                collectives[part.collective].append(part.member)
                begins[part.collective] = level
    used = [(key, carried(key[0], tuple(members))) for key, members in collectives.items()]
    compute_s = np.zeros((max((level for level, _ in compute), default=0) + 1, cut.ranks))
    for (level, rank), seconds in compute.items():
        compute_s[level, rank] = seconds
    step = step_of(np.concatenate(rows), [(begins[key], one) for key, one in used], compute_s, levels is None)
    if words := list(dict.fromkeys(one.words for one in step.selected)):
        more = f" and {len(words) - _MOST_SHOWN} others" if len(words) > _MOST_SHOWN else ""
        step = replace(step, notes=(*step.notes, f"{carrier.library} selects: {', '.join(words[:_MOST_SHOWN])}{more}"))
    if not used or not carrier.library:
        return step

    @cache
    def relay(node_of_rank: tuple[int, ...]) -> PhasedStep:
        there = carrier.on(node_of_rank)
        if all(there.carried(key[0], collectives[key]).listed is one.listed for key, one in used):
            return step
        return replace(_laid(cut, there), relay=None)

    return replace(step, relay=relay)


def step_of(messages: Array, carried: Sequence[tuple[int, Carried]], compute_s: Array, at_once: bool) -> PhasedStep:
    """Return the step of messages (rows: phase, source, dest, bytes) and of collectives, each from a phase on.

    ``compute_s``: up to the last phase with messages or computing; ``at_once``: phases contradict each other, so that there is
    one alone.
    """
    rows = np.concatenate([messages, *(one.messages + np.array([level, 0, 0, 0]) for level, one in carried)])
    phase, source, dest, sizes = rows[np.lexsort(rows.T[::-1])].T
    inside = sorted({level + turn for level, one in carried for turn in range(one.rounds)})
    whole_s = np.zeros((max([len(compute_s), *(level + 1 for level in inside)]), compute_s.shape[1]))
    whole_s[: len(compute_s)] = compute_s
    notes = [*([_AT_ONCE] if at_once else []), *(note for _, one in carried for note in one.notes)]
    selected = Counter(one.selected for _, one in carried if one.selected is not None)
    return PhasedStep(
        phase, source, dest, sizes, whole_s, tuple(dict.fromkeys(notes)), tuple(inside),
        selected=tuple(replace(one, calls=count) for one, count in selected.items()), observed=True,
    )  # fmt: skip


@dataclass
class _Part:
    """What a rank does from an event on until it has waited for all that it began."""

    first: int
    compute_s: float
    sends: list[tuple[tuple[int, ...], int]]
    receives: list[tuple[int, ...]]
    collective: tuple[int, ...] | None = None
    member: Member | None = None
    after: int = 0  # the first event behind it


_Levels = dict[tuple[int, int], int]
_Carries = Callable[[int, tuple[Member, ...]], Carried]


@dataclass(eq=False)
class _Cut:
    """The parts of each rank's representative step, and of some steps around it."""

    events: Mapping[int, Array]
    steps: Steps
    _kept: dict[tuple[int, bool], dict[int, list[_Part]]] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return max(self.events) + 1

    def _parts(self, fine: int, around: bool) -> dict[int, list[_Part]]:
        if (fine, around) not in self._kept:
            number = self.steps.representative
            begin, end = self.steps.around(_STEPS_BEFORE, 1) if around else (self.steps.begins[number], self.steps.ends[number])
            self._kept[fine, around] = {
                rank: _parts(rank, of_rank, int(begin[rank]), int(end[rank]), fine) for rank, of_rank in self.events.items()
            }
        return self._kept[fine, around]

    def step(self, carried: _Carries) -> tuple[dict[int, list[_Part]], _Levels | None]:
        """Return the parts of each rank's step and their phases (None: these contradict each other).

        A cut that fits may lie some phases earlier on one rank than on another, and the step would have more phases than it has
        when the program goes on. So the phases of some steps are found together, and those between two cuts of the first rank
        are the step's.
        """
        lead, number = min(self.events), self.steps.representative
        cuts = (int(self.steps.begins[number][lead]), int(self.steps.ends[number][lead]))
        for fine in range(FINEST + 1):
            alone = self._parts(fine, around=False)
            levels = _levels(alone, carried)
            if levels is None:
                continue
            parts = self._parts(fine, around=True)
            whole = _levels(parts, carried)
            if whole is None:
                return alone, levels
            starts = [
                next((whole[lead, i] for i, part in enumerate(parts[lead]) if part.first >= cut), 1 + max(whole.values()))
                for cut in cuts
            ]
            places = {rank: [i for i in range(len(parts[rank])) if starts[0] <= whole[rank, i] < starts[1]] for rank in parts}
            step = {rank: [parts[rank][i] for i in places[rank]] for rank in parts}
            if any(_calls(step[rank]) != _calls(alone[rank]) for rank in parts):
                return alone, levels
            return step, {(rank, i): whole[rank, at] - starts[0] for rank in parts for i, at in enumerate(places[rank])}
        return self._parts(FINEST, around=False), None


def _calls(parts: Sequence[_Part]) -> tuple[int, ...]:
    """Return how many messages are sent and received, and how many collectives called."""
    return tuple(
        sum(counts)
        for counts in zip(*((len(part.sends), len(part.receives), part.collective is not None) for part in parts), strict=True)
    )


def _parts(rank: int, events: Array, first: int, after: int, fine: int) -> list[_Part]:
    """Return the parts of some of a rank's events; ``fine``: which blocking sends are parts of their own (0: none)."""
    near = events[: after + 2 * (after - first) + 64]  # what is posted in between is completed soon
    places, peers, tags = actual_receives(near[first:])
    received = {
        first + place: (peer, tag) for place, peer, tag in zip(places.tolist(), peers.tolist(), tags.tolist(), strict=True)
    }
    parts = [_Part(first, 0.0, [], [])]
    under_way = 0
    seen: dict[int, int] = defaultdict(int)
    until = int(events["end_ns"][first - 1]) if first else int(events["start_ns"][first])
    window = events[first : after + 1]
    same_call = np.append(~begins_call(window)[1:], False).tolist()  # as the next event
    upcoming = _next_calls(window["kind"][: after - first])
    for i, (start_ns, end_ns, size, peer, tag, request, comm, call, kind) in enumerate(window[: after - first].tolist()):
        place, part = first + i, parts[-1]
        part.compute_s += max(0, start_ns - until) * 1e-9
        until = max(until, end_ns)
        if kind == TIME_ONLY:
            continue
        if kind in (SEND, BLOCKING_SEND) and peer >= 0:
            part.sends.append(((rank, peer, tag, comm), size))
        elif kind in (PUT, GET) and peer >= 0:
            ends_of = (rank, peer) if kind == PUT else (peer, rank)
            part.sends.append(((*ends_of, -1, FENCES), size))
        elif kind in (RECEIVE, BLOCKING_RECEIVE) and received[place][0] >= 0:
            part.receives.append((received[place][0], rank, received[place][1], comm))
        under_way += (kind in (SEND, RECEIVE)) - (kind == COMPLETION) if request else 0
        under_way = max(under_way, 0)
        ends = kind in (BLOCKING_RECEIVE, COMPLETION)
        if kind == COLLECTIVE:
            if part.sends or part.receives:
                parts.append(_Part(place, 0.0, [], []))
            parts[-1].collective = (comm, seen[comm])
            parts[-1].member = Member(rank, call, size, peer, tag)
            seen[comm] += 1
            ends = True
        follows = place + 1 < after
        if kind == BLOCKING_SEND and fine:
            then = upcoming[i]
            kind_then = window["kind"][then] if then >= 0 else TIME_ONLY
            answers = kind_then == BLOCKING_RECEIVE and received[first + then][0] == peer
            ends = fine == FINEST or answers or fine == RUNS and kind_then != BLOCKING_SEND
        if ends and under_way == 0 and not (follows and same_call[i]):
            parts.append(_Part(place + 1, 0.0, [], []))
    for part, behind in zip(parts, [*(part.first for part in parts[1:]), after], strict=True):
        part.after = behind
    return parts


def _next_calls(kinds: Array) -> list[int]:
    """Return the place of the next event that communicates behind each one; -1: none."""
    places = np.flatnonzero(kinds != TIME_ONLY)
    behind = np.searchsorted(places, np.arange(len(kinds)), side="right")
    following: list[int] = np.append(places, -1)[behind].tolist()
    return following


def _levels(parts: Mapping[int, Sequence[_Part]], carried: _Carries) -> _Levels | None:
    """Return the phase of each rank's parts, the same for both ends of a message; None where these contradict each other."""
    sends: dict[tuple[int, ...], list[int]] = defaultdict(list)
    receives: dict[tuple[int, ...], list[int]] = defaultdict(list)
    calls: dict[tuple[int, ...], list[int]] = defaultdict(list)
    places = [(rank, i) for rank, of_rank in parts.items() for i in range(len(of_rank))]
    for number, (rank, i) in enumerate(places):
        for key, _ in parts[rank][i].sends:
            sends[key].append(number)
        for key in parts[rank][i].receives:
            receives[key].append(number)
        if (called := parts[rank][i].collective) is not None:
            calls[called].append(number)
    together = [ends for key, of_key in sends.items() for ends in zip(of_key, receives[key], strict=False)]
    together += [ends for members in calls.values() for ends in itertools.pairwise(members)]
    of = [parts[rank][i].member for rank, i in places]
    rounds = {
        members[0]: carried(key[0], tuple(of[number] for number in members)).rounds  # type: ignore[misc]
        for key, members in calls.items()
    }
    later = np.array([number for number, (_, i) in enumerate(places) if i], int)
    found = phases_of(len(places), np.array(together, int).reshape(-1, 2).T, np.stack([later - 1, later]), rounds)
    return None if found is None else dict(zip(places, found.tolist(), strict=True))


def phases_of(parts: int, together: Array, follows: Array, rounds: Mapping[int, int]) -> Array | None:
    """Return the phase of each of so many parts: the same for those that are ``together`` (2 x pairs), a later one for what
    ``follows`` (2 x pairs: a part and the next of its rank), by the ``rounds`` of the part before (else 1). None where these
    contradict each other."""
    numbers, group = np.unique(connected(parts, together), return_inverse=True)
    groups = len(numbers)
    takes = np.ones(groups, np.int64)
    for part, number in rounds.items():
        takes[group[part]] = max(1, number)
    before, behind = group[follows]
    if (before == behind).any():
        return None
    edges = np.unique(before.astype(np.int64) * groups + behind)
    before, behind = edges // groups, edges % groups
    first = np.searchsorted(before, np.arange(groups + 1))
    waits = np.bincount(behind, minlength=groups)
    level = np.zeros(groups, np.int64)
    ready, seen = np.flatnonzero(waits == 0), 0
    while len(ready):
        seen += len(ready)
        lengths = first[ready + 1] - first[ready]
        at = np.repeat(first[ready] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        nexts = behind[at]
        np.maximum.at(level, nexts, np.repeat(level[ready] + takes[ready], lengths))
        np.subtract.at(waits, nexts, 1)
        ready = np.unique(nexts[waits[nexts] == 0])
    return level[group] if seen == groups else None
