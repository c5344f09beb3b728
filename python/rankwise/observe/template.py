"""One text of guarded calls that all ranks of a program run in a step: learnt from what each rank does, on a guessed grid.

Each send becomes a call and an offset in the grid, each receive the opposite of its send's, each collective the axes along
which its members differ, each wait those operations that it completes. The sequences of all ranks are merged into one order. A
template is admitted only if every rank's own sequence comes back from it: those operations whose partner exists. How to play
it on other grids: ``playing``.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.factors import balanced_grid, factorisations
from rankwise.observe.grids import without_ones
from rankwise.observe.operations import RECEIVES, SENDS, NoTemplateError, Operation, Operations
from rankwise.observe.record import BLOCKING_RECEIVE, COLLECTIVE, COMPLETION

_MOST_AXES, _FARTHEST = 3, 2  # axes of a grid; cells along an axis to a partner
_UNEVEN = 1.02  # sizes of one message by so much are no longer of one size


@dataclass(frozen=True)
class Topology:
    """Who is whose partner: in a grid, ``dims`` and ``periodic`` by axis, at an offset; in a hypercube (``bits``), where a bit
    of the rank differs."""

    dims: tuple[int, ...]
    periodic: tuple[bool, ...] = ()
    bits: bool = False

    @property
    def ranks(self) -> int:
        return math.prod(self.dims)

    @cached_property
    def at(self) -> Array:
        """Each rank's place, axes x ranks."""
        return np.stack(np.unravel_index(np.arange(self.ranks), self.dims))

    def partner(self, offset: Sequence[int]) -> Array:
        """Return of each rank its partner; -1 where there is none."""
        if self.bits:
            other = np.arange(self.ranks) ^ (1 << offset[0])
            return np.where(other < self.ranks, other, -1)
        there = self.at + np.array(offset)[:, None]
        size = np.array(self.dims)[:, None]
        around = np.array(self.periodic)[:, None]
        inside = (around | ((there >= 0) & (there < size))).all(axis=0)
        found = np.ravel_multi_index(tuple(np.where(inside, there % size, 0)), self.dims)
        return np.where(inside & (found != np.arange(self.ranks)), found, -1)


@dataclass(frozen=True)
class Node:
    """An operation of the template: a message to or from the partner at an ``offset``, a collective along ``axes``, or a wait
    for the nodes that it ``completes``. ``match``: the other end of a message; ``joined``: the next node of the same call (-1:
    none); ``root``: place of the root among the members, -1 where there is none."""

    kind: int
    call: int
    offset: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    completes: tuple[int, ...] = ()
    match: int = -1
    joined: int = -1
    root: int = -1
    shape: int = -1


@dataclass(frozen=True, eq=False)
class Template:
    """Nodes in order, and of each (nodes x ranks) whether the rank has it, its bytes and what is computed before it."""

    topology: Topology
    nodes: tuple[Node, ...]
    has: Array
    bytes: Array
    before_s: Array

    @property
    def offsets(self) -> set[tuple[int, ...]]:
        """Where partners are."""
        return {node.offset for node in self.nodes if node.offset}

    @property
    def sends_each(self) -> Counter[tuple[int, ...]]:
        """How many messages go to each partner."""
        return Counter(self.nodes[place].offset for place in self.sends)

    @property
    def sends(self) -> list[int]:
        return [place for place, node in enumerate(self.nodes) if node.kind in SENDS]


def learn(
    operations: Operations, carts: Sequence[tuple[tuple[int, ...], tuple[bool, ...]]] = (), alone: bool = True
) -> list[Template]:
    """Return the templates that all ranks' operations admit, the likeliest first: several where the step does not tell them
    apart. ``carts``: grids (dims, periodic) that the program asked for; ``alone``: no other recording tells more. Raises
    NoTemplateError."""
    step = _Step(operations)
    if step.ranks < 2:
        raise NoTemplateError("one rank says nothing of several: record 12 or 18 ranks")
    if not any(one.kind != COMPLETION for of_rank in operations.values() for one in of_rank):
        raise NoTemplateError("the step has no calls")
    told = [without_ones(*cart) for cart in carts if math.prod(cart[0]) == step.ranks]
    admitted = [one for topology in _topologies(step.ranks) if (one := step.template(topology)) is not None]
    cube = step.template(Topology((step.ranks,), (), bits=True)) if step.ranks >= 4 and len(step.pairs) else None
    if not admitted and cube is not None and _one_by_one(cube):
        admitted = [cube]
    if not admitted:
        raise NoTemplateError(step.why())
    offsets = min(len(one.offsets) for one in admitted)
    fewest = [one for one in admitted if len(one.offsets) == offsets]
    best = min(fewest, key=lambda one: (len(one.nodes), len(one.topology.dims)))
    # On axes of two cells either way around is the same partner; programs send as often one way as another.
    readings = [best, *(one for one in fewest if one is not best and one.topology.dims == best.topology.dims)]
    readings = readings if best.offsets else [best]
    kinds = [len(set(one.sends_each.values())) for one in readings]
    found = [one for one, count in zip(readings, kinds, strict=True) if count == min(kinds)]
    if told and best.topology.dims in [dims for dims, _ in told]:
        around = next(periodic for dims, periodic in told if dims == best.topology.dims)
        found = [one for one in found if one.topology.periodic == around] or found
    elif cube is not None and _one_by_one(cube):
        if alone and best is not cube:
            raise NoTemplateError(
                "every axis has two ranks, and partners follow each other: neighbours in a grid and recursive doubling look "
                "alike: record 12 or 16 ranks"
            )
        found = [cube] if best is cube else [*found, cube]
    if alone and not told:
        step.check(found[0])
    return found


def _topologies(ranks: int) -> Iterator[Topology]:
    for axes in range(1, _MOST_AXES + 1):
        for dims in factorisations(ranks, axes, 2):
            for around in itertools.product((False, True), repeat=axes):
                yield Topology(dims, around)


def _one_by_one(cube: Template) -> bool:
    """Whether ranks exchange once with one partner after the other, with sizes that are the same or change by one factor."""
    bits = [cube.nodes[place].offset[0] for place in cube.sends]
    if sorted(bits) not in (bits, bits[::-1]) or sorted(bits) != list(range((cube.topology.ranks - 1).bit_length())):
        return False
    starts = [min(place for place, node in enumerate(cube.nodes) if node.offset == (bit,)) for bit in bits]
    ends = [place for place, node in enumerate(cube.nodes) if node.kind in (COMPLETION, BLOCKING_RECEIVE)]
    if any(not any(start <= end < after for end in ends) for start, after in itertools.pairwise(starts)):
        return False
    sizes = np.array([cube.bytes[place][cube.has[place]].mean() for place in cube.sends]).reshape(len(bits), -1)
    ratios = sizes[1:] / np.maximum(sizes[:-1], 1)
    return bool((np.abs(ratios / ratios[0] - 1) < 0.01).all()) if len(ratios) else True


class _Step:
    """The operations of all ranks, and templates of them."""

    def __init__(self, operations: Operations) -> None:
        self.of = operations
        self.ranks = len(operations)
        rows: list[tuple[int, int, int, int]] = []
        for rank, of_rank in operations.items():
            seen: Counter[int] = Counter()
            for place, one in enumerate(of_rank):
                if one.kind in SENDS:
                    rows.append((rank, place, one.peer, seen[one.peer]))
                    seen[one.peer] += 1
        self.rank, self.place, self.peer, self.turn = np.array(rows, np.int64).reshape(-1, 4).T
        self.pairs, self.per_pair = np.unique(self.rank * self.ranks + self.peer, return_counts=True)
        self.at = {(rank, place): number for number, (rank, place, _, _) in enumerate(rows)}
        self.groups = {one.members for of_rank in operations.values() for one in of_rank if one.members}

    def why(self) -> str:
        """Say why no template is admitted, and what to record instead."""
        partners = [len({one.peer for one in of_rank if one.kind in (*SENDS, *RECEIVES)}) for of_rank in self.of.values()]
        most = max(partners)
        if self.ranks > 3 and most >= self.ranks - 1 and sorted(partners)[-2] <= most / 2:
            who = partners.index(most)
            return (f"ranks do not all run one sequence: rank {who} exchanges with all others (a master and workers): "
                    "ask for the same number of ranks")  # fmt: skip
        if self.ranks < 8:
            return f"{self.ranks} ranks fit no grid: record 12 or 18 ranks"
        return (
            "the partners of ranks are no neighbours in a grid of 1 to 3 axes (irregular, adaptive, or numbered otherwise): "
            "ask for the same number of ranks, or record 12 or 18 ranks"
        )

    def check(self, best: Template) -> None:
        """Refuse what a template of one recording says nothing of. Raises NoTemplateError."""
        everyone = self.ranks > 3 and len(self.pairs) == self.ranks * (self.ranks - 1)
        sizes = best.bytes[best.sends][best.has[best.sends]]
        if everyone and len(sizes) and sizes.max() <= _UNEVEN * max(1, sizes.min()):
            raise NoTemplateError(
                "every rank sends as much to every other: neighbours in a small grid and an exchange of all with all look "
                "alike: record 18 or 27 ranks"
            )
        dims = best.topology.dims
        hidden = [balanced_grid(self.ranks, axes) for axes in range(len(dims) + 1, _MOST_AXES + 1)]
        unseen = [whole for whole in hidden if without_ones(whole, (False,) * len(whole))[0] == dims]
        if best.offsets and not best.topology.bits and unseen:
            raise NoTemplateError(
                f"{self.ranks} ranks may be {'x'.join(map(str, unseen[-1]))}, too, and an axis of one rank shows nothing: "
                "record 12 or 18 ranks"
            )
        for offset, count in best.sends_each.items():
            if best.topology.bits:
                continue
            along = [size for size, step in zip(best.topology.dims, offset, strict=True) if step]
            if any(size >= 4 and count in (size - 1, size) for size in along):
                raise NoTemplateError(
                    f"ranks send {count} messages one way along an axis of {max(along)}: whether their number grows with the "
                    "ranks one recording cannot tell: record a second number of ranks"
                )

    def _offsets(self, topology: Topology) -> Array | None:
        """Return the offset of each send; None where the partners do not fit."""
        if topology.bits:
            differ = self.rank ^ self.peer
            if (differ & (differ - 1)).any() or not differ.all():
                return None
            bits: Array = np.round(np.log2(np.maximum(differ, 1))).astype(np.int64)[:, None]
            return bits
        offset = topology.at[:, self.peer] - topology.at[:, self.rank]
        twos = [i for i, size in enumerate(topology.dims) if size == 2 and topology.periodic[i]]
        two = np.count_nonzero(offset[twos], axis=0)
        left = two.copy()
        for axis, (size, around) in enumerate(zip(topology.dims, topology.periodic, strict=True)):
            if axis in twos:  # both ways lead to one rank: of its messages the first goes down along all axes, the last up
                apart = offset[axis] != 0
                left -= apart
                offset[axis] = np.where(apart, np.where(self.turn >> left & 1, 1, -1), 0)
            elif around:
                offset[axis] = (offset[axis] + size // 2) % size - size // 2
                if (2 * np.abs(offset[axis]) == size).any():
                    return None
        if (np.abs(offset) > _FARTHEST).any() or not np.abs(offset).any(axis=0).all():
            return None
        if two.any():
            number = np.searchsorted(self.pairs, self.rank * self.ranks + self.peer)
            if (self.per_pair[number] % (1 << two)).any():
                return None
        return offset.T

    def template(self, topology: Topology) -> Template | None:
        """Return the template on a grid, if it gives back what every rank does; else None."""
        offsets = self._offsets(topology)
        if offsets is None:
            return None
        kinds = np.unique(offsets, axis=0)
        for offset in kinds:
            senders = np.unique(self.rank[(offsets == offset).all(axis=1)])
            if not np.array_equal(senders, np.flatnonzero(topology.partner(offset) >= 0)):
                return None
        if not topology.bits and not _has_faces({tuple(one) for one in kinds.tolist()}):
            return None
        axes_of = {members: _axes(topology, members) for members in self.groups}
        if any(axes is None for axes in axes_of.values()):
            return None
        listed = [tuple(one) for one in offsets.tolist()]
        sequences: list[list[tuple[Any, ...]]] = []
        for rank, of_rank in self.of.items():
            seen: Counter[tuple[Any, ...]] = Counter()
            keys: list[tuple[Any, ...]] = []
            for place, one in enumerate(of_rank):
                key: tuple[Any, ...] = (one.kind, one.call)
                if one.kind in SENDS:
                    key += (listed[self.at[rank, place]],)
                elif one.kind in RECEIVES:
                    sent = listed[self.at[one.match]]
                    key += (sent if topology.bits else tuple(-step for step in sent),)
                elif one.kind == COLLECTIVE:
                    key += (axes_of[one.members],)
                else:
                    keys.append(("wait",))
                    continue
                keys.append((*key, seen[key]))
                seen[key] += 1
            sequences.append(keys)
        if not self._name_waits(sequences):
            return None
        order = _merged(sequences, self._before(sequences))
        return None if order is None else self._admitted(topology, order, sequences)

    def _name_waits(self, sequences: list[list[tuple[Any, ...]]]) -> bool:
        """Give waits the same key on all ranks: that of the operations that any of them completes."""
        group: dict[tuple[Any, ...], tuple[Any, ...]] = {}

        def root(key: tuple[Any, ...]) -> tuple[Any, ...]:
            while group.setdefault(key, key) != key:
                group[key] = group[group[key]]
                key = group[key]
            return key

        waits = [
            (number, place, [keys[done] for done in one.completes])
            for number, (of_rank, keys) in enumerate(zip(self.of.values(), sequences, strict=True))
            for place, one in enumerate(of_rank)
            if one.kind == COMPLETION
        ]
        for _, _, done in waits:
            for key in done[1:]:
                group[root(key)] = root(done[0])
        names = set()
        for number, place, done in waits:
            key = ("wait", root(done[0]))
            if (number, key) in names:
                return False
            names.add((number, key))
            sequences[number][place] = key
        self._done: dict[tuple[Any, ...], set[tuple[Any, ...]]] = defaultdict(set)
        for _, _, done in waits:
            self._done["wait", root(done[0])].update(done)
        return True

    def _before(self, sequences: list[list[tuple[Any, ...]]]) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Return sends, and what waits for their messages: to be behind them in the template where no rank has it before."""
        found: dict[tuple[tuple[Any, ...], tuple[Any, ...]], None] = {}
        ends = [{done: place for place, one in enumerate(of_rank) for done in one.completes} for of_rank in self.of.values()]
        for rank, place in zip(self.rank.tolist(), self.place.tolist(), strict=True):
            other, there = self.of[rank][place].match
            found[sequences[rank][place], sequences[other][ends[other].get(there, there)]] = None
        return list(found)

    def _admitted(
        self, topology: Topology, order: list[tuple[Any, ...]], sequences: list[list[tuple[Any, ...]]]
    ) -> Template | None:
        number = {key: place for place, key in enumerate(order)}
        shape = (len(order), self.ranks)
        has, size, before_s = np.zeros(shape, bool), np.zeros(shape), np.zeros(shape)
        first: dict[int, Operation] = {}
        match: dict[int, set[int]] = defaultdict(set)
        joined = np.full(shape, -1)
        for rank, (of_rank, keys) in enumerate(zip(self.of.values(), sequences, strict=True)):
            at = [number[key] for key in keys]
            for place, (one, node) in enumerate(zip(of_rank, at, strict=True)):
                has[node, rank], size[node, rank], before_s[node, rank] = True, one.bytes, one.before_s
                first.setdefault(node, one)
                if one.kind in SENDS:
                    match[node].add(number[sequences[one.match[0]][one.match[1]]])
                if one.with_next:
                    joined[node, rank] = at[place + 1]
        if any(len(others) > 1 for others in match.values()):
            return None
        partner_of = {next(iter(other)): node for node, other in match.items()}
        nodes: list[Node] = []
        for node, key in enumerate(order):
            one = first[node]
            if key[0] == "wait":
                nodes.append(Node(COMPLETION, one.call, completes=tuple(sorted(number[done] for done in self._done[key]))))
            elif one.kind == COLLECTIVE:
                root = one.members.index(one.peer) if one.peer in one.members else -1
                nodes.append(Node(one.kind, one.call, axes=key[2], root=root, shape=one.tag))
            else:
                other = next(iter(match[node])) if one.kind in SENDS else partner_of[node]
                nodes.append(Node(one.kind, one.call, key[2], match=other, joined=int(joined[node].max())))
        found = Template(topology, tuple(nodes), has, size, before_s)
        return found if np.array_equal(exists(found.nodes, topology), has) else None


def exists(nodes: Sequence[Node], topology: Topology) -> Array:
    """Return which ranks have which nodes (nodes x ranks): those whose partner exists."""
    has = np.ones((len(nodes), topology.ranks), bool)
    for place, node in enumerate(nodes):
        if node.offset:
            has[place] = topology.partner(node.offset) >= 0
    for place, node in enumerate(nodes):
        if node.completes:
            has[place] = has[list(node.completes)].any(axis=0)
        elif node.kind == COMPLETION:
            has[place] = False
    return has


def _has_faces(offsets: set[tuple[int, ...]]) -> bool:
    """Whether partners at a corner have those along its axes beside them: without that, axes of two ranks fit anything."""
    alone = {axis for offset in offsets for axis, step in enumerate(offset) if step and np.count_nonzero(offset) == 1}
    return all(axis in alone for offset in offsets for axis, step in enumerate(offset) if step)


def _axes(topology: Topology, members: Sequence[int]) -> tuple[int, ...] | None:
    """Return the axes along which members differ: all ranks there are; None where it is another set."""
    if topology.bits:
        return (0,) if len(members) == topology.ranks else None
    at = topology.at[:, list(members)]
    axes = tuple(axis for axis, places in enumerate(at) if (places != places[0]).any())
    return axes if math.prod(topology.dims[axis] for axis in axes) == len(set(members)) else None


def _merged(
    sequences: Sequence[Sequence[tuple[Any, ...]]], better: Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]]
) -> list[tuple[Any, ...]] | None:
    """Return one order of which all sequences are parts; None where they contradict each other. ``better``: what is to be
    before what, where that contradicts nothing."""
    following: dict[tuple[Any, ...], set[tuple[Any, ...]]] = defaultdict(set)
    waits: dict[tuple[Any, ...], int] = {}
    share: dict[tuple[Any, ...], float] = {}
    for keys in sequences:
        for place, key in enumerate(keys):
            waits.setdefault(key, 0)
            share.setdefault(key, place / len(keys))
        for one, other in itertools.pairwise(keys):
            following[one].add(other)
    for one, other in better:
        seen, going = {other}, [other]
        while going and one not in seen:
            going += [key for key in following[going.pop()] if key not in seen and not seen.add(key)]  # type: ignore[func-returns-value]
        if one not in seen:
            following[one].add(other)
    for others in following.values():
        for other in others:
            waits[other] += 1
    number = {key: place for place, key in enumerate(waits)}
    ready = [(share[key], number[key], key) for key, count in waits.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        key = heapq.heappop(ready)[2]
        order.append(key)
        for other in following[key]:
            waits[other] -= 1
            if waits[other] == 0:
                heapq.heappush(ready, (share[other], number[other], other))
    return order if len(order) == len(waits) else None


def grown(cube: Template, ranks: int) -> Template:
    """Return a hypercube's template with the exchanges of another number of ranks, a power of two; sizes go on as they do.

    Raises NoTemplateError."""
    want, bits = (ranks - 1).bit_length(), sorted({offset[0] for offset in cube.offsets})
    if ranks & (ranks - 1):
        raise NoTemplateError(f"ranks exchange with those whose number differs in a bit: ask for powers of two, not {ranks}")
    places = [place for place, node in enumerate(cube.nodes) if node.offset]
    up = cube.nodes[places[0]].offset == (0,)
    starts = [min(place for place in places if cube.nodes[place].offset == (bit,)) for bit in (bits if up else bits[::-1])]
    length = starts[1] - starts[0]
    last = starts[-1] + length
    blocks = [cube.nodes[start : start + length] for start in starts]
    alike = {tuple((node.kind, node.call) for node in block) for block in blocks}
    if any(b - a != length for a, b in itertools.pairwise(starts)) or len(alike) > 1:
        raise NoTemplateError("ranks exchange with those whose number differs in a bit, each time otherwise: record more ranks")
    mean = np.where(cube.has, cube.bytes, 0).sum(axis=1) / np.maximum(cube.has.sum(axis=1), 1)
    rows: list[tuple[Node, float, Array]] = [(n, mean[i], cube.before_s[i]) for i, n in enumerate(cube.nodes[: starts[0]])]
    origin: list[int] = []
    for turn in range(want):
        bit = turn if up else want - 1 - turn
        like = min(turn, len(bits) - 1)
        for step, node in enumerate(blocks[0]):
            place, start = starts[0] + step, starts[0] + turn * length
            ratio = mean[starts[1] + step] / mean[place] if mean[place] else 1.0
            size = mean[place] * ratio**turn
            moved = replace(
                node, offset=(bit,) if node.offset else (), match=_moved(node.match, starts[0], start),
                joined=_moved(node.joined, starts[0], start),
                completes=tuple(_moved(done, starts[0], start) for done in node.completes),
            )  # fmt: skip
            rows.append((moved, size, cube.before_s[starts[like] + step]))
            origin.append(place)
    shift = len(rows) - last
    for i, node in enumerate(cube.nodes[last:], last):
        completes = tuple(done + shift if done >= last else done for done in node.completes)
        rows.append((replace(node, completes=completes), mean[i], cube.before_s[i]))
    nodes = tuple(node for node, _, _ in rows)
    topology = Topology((ranks,), (), bits=True)
    like_rank = np.arange(ranks) % cube.topology.ranks
    before = np.stack([gaps[like_rank] for _, _, gaps in rows])
    sizes = np.repeat(np.array([size for _, size, _ in rows])[:, None], ranks, axis=1)
    return Template(topology, nodes, exists(nodes, topology), sizes, before)


def _moved(place: int, first: int, start: int) -> int:
    return place if place < 0 else place - first + start
