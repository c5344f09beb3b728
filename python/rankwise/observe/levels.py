"""Which messages of a step follow which: levels, and whether ranks take turns, as in a sweep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.epochs import FENCES, exposures
from rankwise.observe.needs import actual_receives, completed
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, SEND

TURNS = 2  # levels between a message and its answer, of ranks that take turns
_MOST_UNEQUAL = 0.1  # of the messages of a pair, for the k-th one to be answered by the k-th


class Levels(NamedTuple):
    """Levels of a step's messages: one more than the highest that the sender received before.

    ``depth``: the highest level. ``fill``: the highest level that a rank receives before it sends anything. ``gap``: by how
    many levels the k-th messages of the two directions of a pair differ, the median of all messages; of an exchange 0 or 1.
    ``answered``: the share of messages to which there is one the other way. ``late``: the share of ranks that receive before
    they send anything.
    """

    depth: int
    fill: int
    gap: float
    answered: float
    late: float = 0.0

    @property
    def take_turns(self) -> bool:
        """Whether ranks wait for each other in a row, and answer only when the last one had its turn.

        Sweeps that start at several corners at once answer sooner, but all ranks between the corners wait for the first.
        """
        in_line = self.fill >= TURNS
        if self.answered < 0.5:
            return in_line
        return self.gap >= TURNS or in_line and self.late >= 0.5 and self.gap >= 1


NO_LEVELS = Levels(0, 0, 0.0, 0.0)


def levels_of(events: Mapping[int, Array]) -> Levels:
    """Return the levels of the messages in each rank's events, between two cuts that fit."""
    levels: dict[tuple[int, int], list[int]] = defaultdict(list)
    fill: dict[int, int] = {}
    reached: dict[int, int] = defaultdict(int)
    for source, dest, level in _replayed(events):
        levels[source, dest].append(level)
        fill.setdefault(source, level - 1)
        reached[dest] = max(reached[dest], level)
    waits = [fill.get(rank, height) for rank, height in reached.items()]
    gaps: list[int] = []
    for (a, b), there in levels.items():
        back = levels.get((b, a), [])
        if abs(len(there) - len(back)) <= _MOST_UNEQUAL * len(there):
            gaps += [abs(one - other) for one, other in zip(there, back, strict=False)]
    messages = sum(map(len, levels.values()))
    if not messages:
        return NO_LEVELS
    depth = max(max(of_pair) for of_pair in levels.values())
    late = sum(wait > 0 for wait in waits) / len(events)
    return Levels(depth, max(waits), float(np.median(gaps)) if gaps else 0.0, len(gaps) / messages, late)


def _replayed(events: Mapping[int, Array]) -> list[tuple[int, int, int]]:
    """Return source, destination and level of all messages, ranks going on in turn as far as what they wait for was sent."""
    actions = {rank: actions_of(rank, of_rank) for rank, of_rank in events.items()}
    for number, ((rank, end), accesses) in enumerate(exposures(events)):
        for origin, place in accesses.items():
            if place >= 0:
                key: tuple[int, ...] = (origin, rank, FENCES, -number)
                actions[rank].append((end, False, key, 0))
                actions[origin].append((place, True, key, 0))
    for of_rank in actions.values():
        of_rank.sort(key=lambda one: one[0])
    at, height = dict.fromkeys(actions, 0), dict.fromkeys(actions, 0)
    sent: dict[tuple[int, ...], list[int]] = defaultdict(list)  # levels, by key
    waiting: dict[tuple[int, ...], int] = {}
    rows: list[tuple[int, int, int]] = []
    going = list(actions)
    while going:
        rank = going.pop()
        while at[rank] < len(actions[rank]):
            _, is_send, key, number = actions[rank][at[rank]]
            if is_send:
                rows.append((key[0], key[1], height[rank] + 1))
                sent[key].append(height[rank] + 1)
                if key in waiting:
                    going.append(waiting.pop(key))
            elif number < len(sent[key]):
                height[rank] = max(height[rank], sent[key][number])
            else:
                waiting[key] = rank
                break
            at[rank] += 1
    return rows


def actions_of(rank: int, events: Array) -> list[tuple[int, bool, tuple[int, ...], int]]:
    """Return a rank's sends and the ends of its receives, in order: place in the events, whether it is a send, the message's
    key (source, destination, communicator, tag), and of a receive its number among those of the key."""
    kind = events["kind"]
    sends = np.flatnonzero(((kind == SEND) | (kind == BLOCKING_SEND)) & (events["peer"] >= 0))
    posted, peers, tags = actual_receives(events)
    ends = np.where(kind[posted] == BLOCKING_RECEIVE, posted, completed(events, posted))
    found: list[tuple[int, bool, tuple[int, ...], int]] = [
        (place, True, (rank, peer, comm, tag), 0)
        for place, peer, comm, tag in zip(
            sends.tolist(), *(events[name][sends].tolist() for name in ("peer", "comm", "tag")), strict=True
        )
    ]
    count: dict[tuple[int, ...], int] = defaultdict(int)
    columns = (peers, events["comm"][posted], tags, ends)
    for peer, comm, tag, end in zip(*(column.tolist() for column in columns), strict=True):
        key = (peer, rank, comm, tag)
        if end >= 0 and peer >= 0:
            found.append((end, False, key, count[key]))
        count[key] += 1
    found.sort(key=lambda one: one[0])
    return found
