"""What each rank does in one step, call by call: messages with their partners, collectives with their members, waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rankwise.arrays import Array
from rankwise.errors import InputError
from rankwise.observe.collectives import Carrier
from rankwise.observe.epochs import EPOCH
from rankwise.observe.needs import actual_receives
from rankwise.observe.phases import aligned
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, RECEIVE, SEND, TIME_ONLY
from rankwise.observe.steps import Steps

SENDS, RECEIVES = (SEND, BLOCKING_SEND), (RECEIVE, BLOCKING_RECEIVE)
# Whichever request is done first: completions of such calls that follow each other are one wait for all of them.
_FREE = frozenset(f"MPI_{name}" for name in ("Waitany", "Waitsome", "Test", "Testany", "Testsome", "Testall"))


class NoTemplateError(InputError):
    """A program of which it cannot be said what it does on other numbers of ranks: why, and what to record instead."""


@dataclass
class Operation:
    """A call of a rank: a message (``peer``), a collective (``members``), or a wait for what ``completes`` names.

    ``before_s``: what is computed before it; ``match``: rank and place of the other end of a message; ``with_next``: whether
    the next operation is of the same call.
    """

    kind: int
    call: int
    peer: int = -1
    tag: int = -1
    comm: int = 0
    bytes: int = 0
    before_s: float = 0.0
    completes: list[int] = field(default_factory=list)
    match: tuple[int, int] = (-1, -1)
    members: tuple[int, ...] = ()
    with_next: bool = False


Operations = dict[int, list[Operation]]  # by rank


def operations_of(events: Mapping[int, Array], steps: Steps, calls: Sequence[str], carrier: Carrier) -> Iterable[Operations]:
    """Yield what all ranks do in the representative step, cut in one way and in another: between the same phases, and behind
    the last collective of all ranks. Raises NoTemplateError where a cut leaves one end of something outside."""
    refused = None
    for places in (aligned(events, steps, carrier), _behind_collectives(events, steps)):
        if places is None:
            continue
        try:
            found = {rank: _of_rank(rank, events[rank], *places[rank], calls) for rank in sorted(events)}
            _match(found)
            _gather(found)
        except NoTemplateError as error:
            refused = error
            continue
        yield found
    if refused is not None:
        raise refused


def _behind_collectives(events: Mapping[int, Array], steps: Steps) -> dict[int, tuple[int, int]] | None:
    """Return the places from behind the last collective before the step's beginning up to behind the step's own last one."""
    found, number = {}, steps.representative
    for column, rank in enumerate(sorted(events)):
        of_rank = events[rank]
        everywhere = [i for i in range(len(of_rank)) if of_rank["kind"][i] == COLLECTIVE and of_rank["comm"][i] == 0]
        before = [i + 1 for i in everywhere if i < steps.begins[number, column]]
        within = [i + 1 for i in everywhere if i < steps.ends[number, column]]
        if not before or len(within) == len(before):
            return None
        found[rank] = (before[-1], within[-1])
    return found


def _of_rank(rank: int, events: Array, first: int, after: int, calls: Sequence[str]) -> list[Operation]:
    near = events[first : after + 2 * (after - first) + 64]
    places, peers, tags = actual_receives(near)
    received = {int(place): (int(peer), int(tag)) for place, peer, tag in zip(places, peers, tags, strict=True)}
    earlier = events[max(0, first - 4096) : first]
    before = set(earlier["request"][(earlier["kind"] <= RECEIVE) & (earlier["peer"] >= 0)].tolist()) - {0}
    found: list[Operation] = []
    posted: dict[int, int] = {}
    until = int(events["end_ns"][first - 1]) if first else int(events["start_ns"][0] if len(events) else 0)
    gap_s, last_wait = 0.0, None
    rows = events[first:after]
    names = ("start_ns", "end_ns", "bytes", "peer", "tag", "request", "comm", "call", "kind")
    columns = [rows[name].tolist() for name in names]
    last_span = None
    for place, (start, end, size, peer, tag, request, comm, call, kind) in enumerate(zip(*columns, strict=True)):
        gap_s += max(0, start - until) * 1e-9
        until = max(until, end)
        if kind == TIME_ONLY or (kind in (*SENDS, *RECEIVES) and peer < 0 and received.get(place, (-1,))[0] < 0):
            continue
        if kind >= EPOCH:
            raise NoTemplateError(
                "the step has one-sided calls, of which no template is learnt: ask for the same number of ranks"
            )
        span = (start, end, call)
        if kind == COMPLETION:
            if request in before:
                raise NoTemplateError(
                    "calls of one step are completed in the next, so that it has no beginning: ask for the same number of ranks"
                )
            if request not in posted:
                continue
            free = call < len(calls) and calls[call] in _FREE
            if last_wait is None or not (last_span == span or (free and last_wait)):
                found.append(Operation(kind, call, before_s=gap_s))
            else:
                found[-1].before_s += gap_s
            found[-1].completes.append(posted.pop(request))
            gap_s, last_wait, last_span = 0.0, free, span
            continue
        if found and last_wait is None and last_span == span:
            found[-1].with_next = True
        if kind in RECEIVES:
            peer, tag = received[place]
        found.append(Operation(kind, call, peer, tag, comm, size, gap_s))
        gap_s, last_wait, last_span = 0.0, None, span
        if request:
            posted[request] = len(found) - 1
            before.discard(request)
    if any(found[place].kind != COLLECTIVE for place in posted.values()):
        raise NoTemplateError(
            "calls of one step are completed in the next, so that it has no end: ask for the same number of ranks"
        )
    return found


def _match(found: Operations) -> None:
    """Tell both ends of each message where the other one is."""
    sides: tuple[dict[tuple[int, ...], list[tuple[int, int]]], ...] = (defaultdict(list), defaultdict(list))
    for rank, of_rank in found.items():
        for place, one in enumerate(of_rank):
            if one.kind in SENDS:
                sides[0][rank, one.peer, one.tag, one.comm].append((rank, place))
            elif one.kind in RECEIVES:
                sides[1][one.peer, rank, one.tag, one.comm].append((rank, place))
    for key in sides[0].keys() | sides[1].keys():
        if len(sides[0][key]) != len(sides[1][key]):
            raise NoTemplateError(
                f"a message from rank {key[0]} to rank {key[1]} is sent in one step and received in another: "
                "ask for the same number of ranks"
            )
        for send, receive in zip(sides[0][key], sides[1][key], strict=True):
            found[send[0]][send[1]].match, found[receive[0]][receive[1]].match = receive, send


def _gather(found: Operations) -> None:
    """Tell collectives who takes part: the k-th calls of a communicator belong together."""
    together: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for rank, of_rank in found.items():
        seen: dict[int, int] = defaultdict(int)
        for one in of_rank:
            if one.kind == COLLECTIVE:
                together[one.comm, seen[one.comm]].append(one)
                members[one.comm, seen[one.comm]].append(rank)
                seen[one.comm] += 1
    for key, calls in together.items():
        for one in calls:
            one.members = tuple(members[key])
        if len({one.call for one in calls}) > 1:
            raise NoTemplateError("ranks call different collectives at the same place: ask for the same number of ranks")
