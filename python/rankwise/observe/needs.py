"""What must lie before a cut through all ranks if an event does, and the least cuts that fit: each event is looked at once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.arrays import Array, connected
from rankwise.errors import InputError
from rankwise.observe.epochs import exposures
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, RECEIVE, SEND

MOST_SECONDS = 20.0  # of a processor, for the search
_BEGINS = np.isin(np.arange(256), (SEND, RECEIVE, BLOCKING_SEND, BLOCKING_RECEIVE, COLLECTIVE))  # of kinds


class TooLongError(InputError):
    """A search that was given up."""


def actual_receives(events: Array) -> tuple[Array, Array, Array]:
    """Return the positions of a rank's receives, in the order of posting, and the peers and tags that they really had."""
    at = np.nonzero((events["kind"] == RECEIVE) | (events["kind"] == BLOCKING_RECEIVE))[0]
    peers, tags, ends = events["peer"][at].copy(), events["tag"][at].copy(), _ends(events, at)
    known = ends >= 0
    peers[known], tags[known] = events["peer"][ends[known]], events["tag"][ends[known]]
    return at, peers, tags


def completed(events: Array, at: Array) -> Array:
    """Return where the requests that some events posted are completed; -1 of none, and where the record has it not."""
    done = np.flatnonzero((events["kind"] == COMPLETION) & (events["request"] != 0))
    if not len(done):
        return np.full(len(at), -1)
    done = done[np.argsort(events["request"][done], kind="stable")]
    requests, posted = events["request"][done], events["request"][at]
    found = np.minimum(np.searchsorted(requests, posted), len(done) - 1)
    return np.where((requests[found] == posted) & (events["kind"][at] != COMPLETION), done[found], -1)


def met(sent: Array, received: Array) -> tuple[Array, Array, Array]:
    """Return which of sends and of receives (columns, first four rows: source, destination, tag, communicator) are of one
    message, ascending by these: the k-th of them meets the k-th. And of each whether there are as many of either."""
    (source, dest, tag, comm), count = np.concatenate([sent[:4], received[:4]], axis=1), sent.shape[1]
    tags = np.unique(tag, return_inverse=True)[1].reshape(-1)
    pair = source * (int(dest.max(initial=0)) + 1) + dest
    key = (pair * (int(tags.max(initial=0)) + 1) + tags) * (1 << 16) + comm
    orders = [np.argsort(of_side, kind="stable") for of_side in (key[:count], key[count:])]
    one, other = key[:count][orders[0]], key[count:][orders[1]]
    first, there = np.searchsorted(one, one), np.searchsorted(other, one)
    number = np.arange(count) - first
    of_one, of_other = np.searchsorted(one, one, "right") - first, np.searchsorted(other, one, "right") - there
    found = number < of_other
    return orders[0][found], orders[1][(there + number)[found]], (of_one == of_other)[found]


def _ends(events: Array, at: Array) -> Array:
    """Return where receives are completed; -1 of blocking ones, and where the record has it not."""
    return np.where(events["kind"][at] == RECEIVE, completed(events, at), -1)


def _arrived(events: Array, at: Array) -> Array:
    """Return where receives count: where they are posted, but those from any source where they end, for they may be standing
    ones, posted for whatever comes next."""
    ends = _ends(events, at)
    return np.where((events["peer"][at] < 0) & (ends >= 0), ends, at)


class Needs:
    """What must lie before a cut if an event does: a send's receive and a receive's send, a collective call of the next member,
    of an exposure its first accesses and of these its end.

    Events that need another one are numbered through all ranks; ``_partner`` is the number of that (-1: it is not in the
    record), ``_owner`` its rank's column. Every event is looked at once, whatever the number of cuts.
    """

    def __init__(self, events: Mapping[int, Array]) -> None:
        self._events, self._ranks = events, sorted(events)
        first = np.cumsum([0] + [len(events[rank]) for rank in self._ranks])
        partner, ranks = np.full(first[-1], -2), np.array(self._ranks)
        sides: tuple[list[Array], list[Array]] = ([], [])
        for column, rank in enumerate(self._ranks):
            of_rank = events[rank]
            sends = np.flatnonzero((of_rank["kind"] == SEND) | (of_rank["kind"] == BLOCKING_SEND))
            at, peers, tags = actual_receives(of_rank)
            ways = ((sends, of_rank["peer"][sends], of_rank["tag"][sends]), (_arrived(of_rank, at), peers, tags))
            for side, (at, peers, tags) in zip(sides, ways, strict=True):
                found = np.minimum(np.searchsorted(ranks, peers), len(ranks) - 1)
                known = (ranks[found] == peers) & (peers != rank)
                at, other = at[known], found[known]
                pair = (np.full(len(at), column), other)
                pair = pair if side is sides[0] else pair[::-1]
                side.append(np.stack([*pair, tags[known], of_rank["comm"][at], first[column] + at]))
        sent, received = (np.concatenate(side, axis=1) for side in sides)
        begins, ends, _ = met(sent, received)
        partner[sent[4]], partner[received[4]] = -1, -1
        partner[sent[4][begins]], partner[received[4][ends]] = received[4][ends], sent[4][begins]
        self._gather(partner, first)
        for (rank, end), accesses in exposures(events):
            places = {rank: end} | accesses
            ring = [int(first[self._ranks.index(one)]) + place if place >= 0 else -1 for one, place in places.items()]
            for one, other in zip(ring, ring[1:] + ring[:1], strict=True):
                if one >= 0:
                    partner[one] = other if min(ring) >= 0 else -1
        self._at = np.flatnonzero(partner != -2)
        number = np.full(first[-1] + 1, -1, np.int32)
        number[self._at] = np.arange(len(self._at))
        self._first, self._first_event = np.searchsorted(self._at, first), first
        self._partner = number[partner[self._at]]  # of none the last, -1
        self._owner = (np.searchsorted(first, partner[self._at], side="right") - 1).astype(np.int32)
        self.leads = self._find_leads()

    def _gather(self, partner: Array, first: Array) -> None:
        """Let each member's k-th collective of a communicator need the next member's."""
        members: dict[int, list[Array]] = {}
        for column, rank in enumerate(self._ranks):
            of_rank = self._events[rank]
            at = np.flatnonzero(of_rank["kind"] == COLLECTIVE)
            order = np.argsort(of_rank["comm"][at], kind="stable")
            comms, begins = np.unique(of_rank["comm"][at][order], return_index=True)
            for comm, places in zip(comms.tolist(), np.split(at[order], begins[1:]), strict=bool(len(at))):
                members.setdefault(comm, []).append(first[column] + places)
        for of_comm in members.values():
            count = min(map(len, of_comm))
            # Communicators of one number with different numbers of collectives are several, if no rank's record ends there.
            if len(of_comm) > 1 and (count == max(map(len, of_comm)) or self._ends_first(of_comm, first)):
                for one, other in zip(of_comm, of_comm[1:] + of_comm[:1], strict=True):
                    partner[one] = -1
                    partner[one[:count]] = other[:count]

    def _ends_first(self, of_comm: Sequence[Array], first: Array) -> bool:
        """Whether the record of the members with the fewest calls ends before others have ended their next one."""
        count = min(map(len, of_comm))

        def event(place: int) -> Any:
            column = int(np.searchsorted(first, place, side="right")) - 1
            return self._events[self._ranks[column]], place - int(first[column])

        ends = [int(event(int(one[0]))[0]["end_ns"].max()) for one in of_comm if len(one) == count]
        following = [event(int(one[count])) for one in of_comm if len(one) > count]
        return min(ends) <= max(int(of_rank["end_ns"][at]) for of_rank, at in following)

    def _find_leads(self) -> list[int]:
        """Return the first rank of each set of ranks that hear of each other."""
        count = len(self._ranks)
        own, heard = np.repeat(np.arange(count), np.diff(self._first)), self._partner >= 0
        pairs = np.divmod(np.unique(own[heard] * count + self._owner[heard]), count)
        return [self._ranks[column] for column in np.unique(connected(count, np.stack(pairs))).tolist()]

    def cuts(self, lead: int, places: Array, until_s: float) -> Array:
        """Return of each of a rank's places, ascending, the least cut of all ranks that fits and has all that lies before it.

        As far as the record tells; of ranks that never hear of it 0. Raises TooLongError.
        """
        column = self._ranks.index(lead)
        done, need = self._first[:-1].tolist(), self._first[:-1].tolist()
        owner, partner = self._owner.data, self._partner.data
        rows: list[list[int]] = []
        for place in np.searchsorted(self._at, self._first_event[column] + places).tolist():
            front = [column] if place > need[column] else []
            need[column] = max(place, need[column])
            while front:
                rank = front.pop()
                low, high = done[rank], need[rank]
                done[rank] = high
                for other, at in zip(owner[low:high], partner[low:high], strict=True):
                    if at >= need[other]:
                        if need[other] == done[other]:
                            front.append(other)
                        need[other] = at + 1
                    elif at < 0:
                        return self._in_events(rows, column, places)
            rows.append(done.copy())
            if time.process_time() > until_s:
                raise TooLongError(f"no step found within {MOST_SECONDS:.0f} s")
        return self._in_events(rows, column, places)

    def _in_events(self, rows: Sequence[Sequence[int]], lead: int, places: Array) -> Array:
        """Return cuts as numbers of each rank's events, at the first place from there on at which nothing is under way, if no
        message begins before it."""
        numbers = np.array(rows, int).reshape(-1, len(self._ranks))
        cuts = np.zeros_like(numbers)
        for column, rank in enumerate(self._ranks):
            reached = numbers[:, column] > self._first[column]
            cuts[reached, column] = self._at[numbers[reached, column] - 1] + 1 - self._first_event[column]
            if column == lead:
                cuts[:, column] = np.maximum(cuts[:, column], places[: len(rows)])
            of_rank = self._events[rank]
            idle = np.flatnonzero(idle_before(of_rank))
            begins = np.append(np.flatnonzero(_BEGINS[of_rank["kind"]]), len(of_rank))
            rest = idle[np.minimum(np.searchsorted(idle, cuts[:, column]), len(idle) - 1)]
            quiet = (
                (rest >= cuts[:, column]) & (rest <= begins[np.searchsorted(begins, cuts[:, column])]) & (cuts[:, column] > 0)
            )
            cuts[quiet, column] = rest[quiet]
        return cuts


def idle_before(events: Array) -> Array:
    """Return whether nothing is under way before each event, and after the last."""
    opened = ((events["kind"] == SEND) | (events["kind"] == RECEIVE)) & (events["request"] != 0)
    closed = (events["kind"] == COMPLETION) & (events["request"] != 0)
    closed[closed] = np.isin(events["request"][closed], events["request"][opened])
    under_way = np.cumsum(opened.astype(np.int64) - closed)
    return np.concatenate([[True], under_way <= 0])


def begun_ns(events: Array, cuts: Array) -> Array:
    """Return when what follows cuts began; of the last one, when the last call ended."""
    last = len(events) - 1
    return np.where(cuts > last, events["end_ns"][last], events["start_ns"][np.minimum(cuts, last)])
