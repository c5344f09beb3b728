"""A template played on a process grid, as a step in phases that can be priced: all ranks at once, in arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.collectives import Carried, Carrier, Member
from rankwise.observe.operations import SENDS
from rankwise.observe.phases import ANSWERED, FINEST, RUNS, PhasedStep, phases_of, step_of
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, COMPLETION, RECEIVE, SEND
from rankwise.observe.template import Node, Template, Topology, exists

_WHOLE = frozenset("alltoall alltoallv alltoallw allgather allgatherv gather gatherv scatter scatterv".split())
_UNEVEN = 1.3  # sizes of a message by place differ by more: each rank has those of the nearest


@dataclass(frozen=True, eq=False)
class Laws:
    """What grows how: ``compute`` and ``volume`` are factors of what a rank computes, and of its share of the data;
    ``surface``: by axis, of the length of a rank's block; ``with_ghosts``: of that length with the ghosts at both ends, where
    faces are sent axis after axis (``order``) and carry those of the axes before."""

    compute: float
    volume: float
    surface: tuple[float, ...]
    with_ghosts: tuple[float, ...] = ()
    order: tuple[int, ...] = ()

    @classmethod
    def of(cls, own: Topology, there: Topology, weak: bool, compute: float | None = None) -> Laws:
        """Return the laws of strong or weak scaling from one grid to another."""
        lengths = tuple(a / b for a, b in zip(own.dims, there.dims, strict=True)) if not own.bits else ()
        volume = 1.0 if weak else own.ranks / there.ranks
        surface = (1.0,) * len(own.dims) if weak or own.bits else lengths
        return cls(volume if compute is None else compute, volume, surface)


def play(template: Template, topology: Topology, laws: Laws, calls: tuple[str, ...]) -> Template:
    """Return the template with the operations that ranks of another grid have, their sizes and computing."""
    own = template.topology
    has = exists(template.nodes, topology)
    like = _nearest(own, topology)
    size = np.zeros(has.shape)
    for place, node in enumerate(template.nodes):
        if node.kind in SENDS or node.kind == COLLECTIVE:
            size[place] = _sizes(template, place, like) * _growth(node, own, laws, calls)
    return Template(topology, template.nodes, has, np.round(size), laws.compute * _computing(template, has, like))


def _growth(node: Node, own: Topology, laws: Laws, calls: tuple[str, ...]) -> float:
    if node.kind == COLLECTIVE:
        name = calls[node.call].removeprefix("MPI_").lower() if node.call < len(calls) else ""
        return laws.volume if name in _WHOLE or name.removeprefix("i") in _WHOLE else 1.0
    if own.bits:
        return 1.0
    lengths = list(laws.surface)
    for axis in laws.order[: laws.order.index(int(np.flatnonzero(node.offset)[0]))] if laws.order else ():
        lengths[axis] = laws.with_ghosts[axis]
    return float(np.prod([length for length, step in zip(lengths, node.offset, strict=True) if not step]))


def _sizes(template: Template, place: int, like: Array) -> Array:
    known = template.bytes[place][template.has[place]]
    if known.max() <= _UNEVEN * max(1, known.min()) or not template.has[place].all():
        return np.full(len(like), known.mean())
    return np.asarray(template.bytes[place][like])


def _nearest(own: Topology, there: Topology) -> Array:
    """Return of each rank of a grid the recorded one that is nearest to its place: at the same borders."""
    if own.bits or len(own.dims) != len(there.dims):
        return np.arange(there.ranks) % own.ranks
    at = []
    for place, size, mine, around in zip(there.at, there.dims, own.dims, own.periodic, strict=True):
        near = (2 * place + 1) * mine // (2 * size)
        if not around and mine > 2 and size > 2:
            inside = (place > 0) & (place < size - 1)
            near = np.where(inside, np.clip(near, 1, mine - 2), np.where(place == 0, 0, mine - 1))
        elif not around:
            near = np.where(place == 0, 0, np.where(place == size - 1, mine - 1, near))
        at.append(near)
    return np.asarray(np.ravel_multi_index(tuple(at), own.dims))


def _computing(template: Template, has: Array, like: Array) -> Array:
    """Return what each rank computes before each node: that of the nearest rank that does the same, or what all ranks' gaps
    imply, times the nearest rank's own total."""
    recorded = template.before_s[:, like]
    same = (has == template.has[:, like]).all(axis=0)
    if same.all():
        return np.asarray(recorded)
    usual = _usual_gaps(template)
    factor = template.before_s.sum(axis=0) / max(float(usual.sum()), 1e-300)
    return np.where(same, recorded, usual[:, None] * factor[like])


def _usual_gaps(template: Template) -> Array:
    """Return what is computed before each node, had a rank all of them.

    What a rank computes between two of its nodes may belong before any of those in between that it lacks: ranks that have more
    of them tell where.
    """
    intervals: dict[tuple[int, int], list[float]] = {}
    for rank in range(template.topology.ranks):
        before = -1
        for node in np.flatnonzero(template.has[:, rank]).tolist():
            intervals.setdefault((before + 1, node), []).append(float(template.before_s[node, rank]))
            before = node
    usual = np.full(len(template.nodes), np.nan)
    mean = {ends: float(np.mean(gaps)) for ends, gaps in intervals.items()}
    for (first, last), gap in mean.items():
        if first == last:
            usual[first] = gap
    while np.isnan(usual).any():
        best, value = (len(usual) + 1, -1), 0.0
        for (first, last), gap in mean.items():
            unknown = np.flatnonzero(np.isnan(usual[first : last + 1])) + first
            if len(unknown) and (len(unknown), int(unknown[0])) < best:
                best, value = (len(unknown), int(unknown[0])), max(0.0, gap - float(np.nansum(usual[first : last + 1])))
        if best[1] < 0:
            break
        usual[best[1]] = value
    return np.asarray(np.nan_to_num(usual))


def laid(played: Template, carrier: Carrier) -> PhasedStep:
    """Return a played template as a step: phases are found as in recorded steps (``phases``), collectives carried out."""
    for fine in range(FINEST + 1):
        parts = _Parts(played, fine)
        if (step := parts.step(carrier)) is not None:
            return step
    return parts.step(carrier, at_once=True)  # type: ignore[return-value]


class _Parts:
    """Which part of its rank each node is in: what a rank does until it has waited for all that it began."""

    def __init__(self, played: Template, fine: int) -> None:
        self.played, ranks = played, played.topology.ranks
        self.alone = self._alone(fine)
        part, busy, under_way = np.zeros(ranks, np.int64), np.zeros(ranks, bool), np.zeros(ranks, np.int64)
        self.of = np.zeros(played.has.shape, np.int64)
        self.compute: list[tuple[Array, Array]] = []
        waited = {place for node in played.nodes for place in node.completes}
        for place, node in enumerate(played.nodes):
            has = played.has[place]
            self.compute.append((part.copy(), played.before_s[place]))
            ends = np.zeros(ranks, bool)
            if node.kind == COLLECTIVE:
                part, busy, ends = part + (has & busy), busy & ~has, has.copy()
            elif node.kind == COMPLETION:
                done = [one for one in node.completes if played.nodes[one].kind in (SEND, RECEIVE)]
                under_way = np.maximum(0, under_way - np.where(has, played.has[done].sum(axis=0), 0))
                ends = has.copy()
            else:
                busy = busy | has
                if node.kind in (SEND, RECEIVE):
                    under_way = under_way + (has & (place in waited))
                elif node.kind == BLOCKING_RECEIVE or fine:
                    ends = has.copy()
                    if node.kind == BLOCKING_SEND:
                        ends &= self.alone[place]
                    if node.kind == BLOCKING_SEND and node.joined >= 0:
                        ends &= ~played.has[node.joined]
            self.of[place] = part
            ends &= under_way == 0
            part, busy = part + ends, busy & ~ends
        self.count = int(part.max()) + 1

    def _alone(self, fine: int) -> Array:
        """Return (nodes x ranks) whether a rank's blocking send is the last of a part."""
        found = np.full(self.played.has.shape, fine == FINEST)
        if fine not in (ANSWERED, RUNS):
            return found
        played, ranks = self.played, np.arange(self.played.topology.ranks)
        partner = np.stack([played.topology.partner(one.offset) if one.offset else ranks for one in played.nodes])
        kinds, after = np.array([one.kind for one in played.nodes]), np.full(len(ranks), -1)
        for place in reversed(range(len(played.nodes))):
            answered = (after >= 0) & (kinds[after] == BLOCKING_RECEIVE) & (partner[after, ranks] == partner[place])
            found[place] = answered | (fine == RUNS) & ((after < 0) | (kinds[after] != BLOCKING_SEND))
            after = np.where(played.has[place], place, after)
        return found

    def step(self, carrier: Carrier, at_once: bool = False) -> PhasedStep | None:
        """Return the step; None where the phases of ranks contradict each other."""
        played, ranks, count = self.played, self.played.topology.ranks, self.count
        everyone = np.arange(ranks)
        sent: list[Array] = []
        for place in played.sends:
            node = played.nodes[place]
            mine = np.flatnonzero(played.has[place])
            there = played.topology.partner(node.offset)[mine]
            ends = self.of[place, mine] * ranks + mine, self.of[node.match, there] * ranks + there
            sent.append(np.stack([mine, there, played.bytes[place, mine].astype(np.int64), *ends]))
        messages = np.concatenate(sent, axis=1) if sent else np.zeros((5, 0), np.int64)
        used: list[tuple[int, Carried]] = []
        together = [messages[3:5]]
        for place, node in enumerate(played.nodes):
            if node.kind == COLLECTIVE:
                groups = _groups(played.topology, node.axes)
                for number, members in enumerate(groups):
                    root = int(members[min(node.root, len(members) - 1)]) if node.root >= 0 else -1
                    sizes = played.bytes[place, members].astype(np.int64).tolist()
                    ranked = zip(members.tolist(), sizes, strict=True)
                    called = [Member(rank, node.call, size, root, node.shape) for rank, size in ranked]
                    one = carrier.carried(place * ranks + number, called)
                    used.append((int(self.of[place, members[0]] * ranks + members[0]), one))
                    parts = self.of[place, members] * ranks + members
                    together.append(np.stack([parts[1:], parts[:-1]]))
        level = np.zeros(count * ranks, np.int64)
        if not at_once:
            rounds, total = {at: one.rounds for at, one in used}, count * ranks
            follows = np.stack([np.arange(total - ranks), np.arange(ranks, total)])
            found = phases_of(total, np.concatenate(together, axis=1), follows, rounds)
            if found is None:
                return None
            level = found
        rows = np.stack([level[messages[3]], messages[0], messages[1], messages[2]], axis=1)
        compute_s = np.zeros((int(level.max()) + 1, ranks))
        for part, before_s in self.compute:
            np.add.at(compute_s, (level[part * ranks + everyone], everyone), before_s)
        last = max(rows[:, 0].max(initial=0), np.flatnonzero(compute_s.any(axis=1)).max(initial=0))
        return step_of(rows, [(int(level[at]), one) for at, one in used], compute_s[: last + 1], at_once)


def _groups(topology: Topology, axes: tuple[int, ...]) -> list[Array]:
    """Return the ranks that differ along some axes alone, group by group."""
    if topology.bits or len(axes) == len(topology.dims):
        return [np.arange(topology.ranks)]
    ranks = np.arange(topology.ranks).reshape(topology.dims)
    others = [axis for axis in range(len(topology.dims)) if axis not in axes]
    rows = ranks.transpose(*others, *axes).reshape(-1, int(np.prod([topology.dims[axis] for axis in axes])))
    return [row for row in rows if len(row) > 1]
