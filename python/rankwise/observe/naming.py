"""The name that experts have for a program's communication: one table of rules, the first that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from rankwise.arrays import Array, connected
from rankwise.observe.grids import Grid, Pairs, Periodic, best_grid
from rankwise.observe.levels import NO_LEVELS, TURNS, Levels
from rankwise.records import Record, key, record
from rankwise.units import format_count, format_share, format_span, format_volume

Cart: TypeAlias = tuple[tuple[int, ...], tuple[bool, ...]]
_ALIKE, _ABOUT_ALIKE = 0.1, 0.25  # coefficients of variation of bytes that are the same, and that no grid explains
_FITS, _SWEEP_FITS = 0.95, 0.9  # share of pairs that are neighbours in a grid
_DENSE = 0.8  # of all pairs: above it pairs prove nothing, bytes must
_LEAST_APART = 0.01  # variance of the logarithms of bytes, for faces and corners to differ
_AS_LEAST = 1.02  # times the least bytes of a pair: as much
_FEW = 5  # ranks, of which many patterns have the same pairs; and messages, which may be the run's set-up
_SHORT = 1024  # bytes of what recursive doubling adds up
_MOSTLY = 0.8  # of the bytes
LEAST_HEAVY = 0.02  # of the heaviest pair: below it are the run's set-up and output
LEAST_OFTEN = 0.2  # of the messages of the pair with the most
_MOST_OTHERS, _MOST_OTHER_BYTES = 0.05, 0.01  # of a step's messages and bytes, between other ranks than its pattern's


@record
class Name(Record):
    """What experts call a program's communication. ``grid`` is the one in which its ranks are numbered row by row."""

    name: str = key(
        "what experts call it: halo, all-to-all, transpose, sweep, ring, master/worker, tree, recursive doubling, pairing, "
        "irregular, collectives or none"
    )
    confident: bool = key("whether no other name fits as well", default=True)
    grid: tuple[int, ...] = key("shape of the grid whose neighbours talk, or of rows and columns", default=())
    borders: Periodic = key("whether each axis of that grid wraps around; null: unknown", default=())
    stencil: int = key("neighbours of a rank inside a halo's grid, such as 4, 8, 6, 18 or 26; 0: no halo", default=0)
    reason: str = key("what tells it", default="")

    @property
    def words(self) -> str:
        """The name with its grid: ``3-D halo of 26 neighbours, grid 2x2x2, open``."""
        words = "" if self.confident else "perhaps "
        words += f"{len(self.grid)}-D halo of {format_count(self.stencil, 'neighbour')}" if self.name == "halo" else self.name
        if self.name == "transpose":
            words += " by rows and columns"
        if self.grid:
            words += f", grid {'x'.join(map(str, self.grid))}"
        return f"{words}, {_borders(self.borders)}" if self.name == "halo" else words


def _borders(periodic: Periodic) -> str:
    """Return ``open``, ``periodic``, ``open or periodic``, or along which axes a grid wraps around."""
    known = set(periodic)
    if len(known) == 1:
        return {True: "periodic", False: "open", None: "open or periodic"}[known.pop()]
    around = [str(axis + 1) for axis, wraps in enumerate(periodic) if wraps]
    untold = [str(axis + 1) for axis, wraps in enumerate(periodic) if wraps is None]
    parts = [f"periodic along axis {' and '.join(around)}"] if around else ["open"]
    return ", ".join(parts + ([f"open or periodic along axis {' and '.join(untold)}"] if untold else []))


@dataclass(frozen=True)
class Seen:
    """What is seen of a program's communication, in a step where there is one.

    ``pairs``: who sends to whom; ``levels``: which messages follow which; ``collectives``: of each communicator on which
    all-to-alls were called its ranks; ``collective_share``: these all-to-alls' share of all bytes; ``carts``: grids that the
    program made; ``found``: a halo that was found whatever the numbering; ``run_has_messages``: of any
    ranks, if not in a step.
    """

    pairs: Pairs
    levels: Levels = NO_LEVELS
    collectives: tuple[tuple[int, ...], ...] = ()
    collective_share: float = 0.0
    calls_collectives: bool = False
    carts: tuple[Cart, ...] = ()
    found: Name | None = None
    run_has_messages: bool = False

    @property
    def ranks(self) -> int:
        return self.pairs.ranks

    @cached_property
    def both(self) -> set[tuple[int, int]]:
        """Pairs with a message in one direction at least, the lower rank first."""
        low, high = np.minimum(self.pairs.source, self.pairs.dest), np.maximum(self.pairs.source, self.pairs.dest)
        return set(zip(low.tolist(), high.tolist(), strict=True))

    @cached_property
    def partners(self) -> Array:
        """How many others each rank talks to."""
        return np.bincount(np.array(list(self.both), int).reshape(-1), minlength=self.ranks)

    @cached_property
    def grid(self) -> Grid | None:
        return best_grid(self.pairs, self.carts)

    @cached_property
    def both_ways(self) -> Seen:
        """The same with as many messages both ways between ranks with messages in one direction at least."""
        ends = np.array(sorted(self.both), int).reshape(-1, 2).T
        source, dest = np.concatenate([ends, ends[::-1]], axis=1)
        same = np.ones(len(source))
        return replace(self, pairs=Pairs(self.ranks, source, dest, same, same))

    @property
    def dense(self) -> bool:
        return len(self.both) >= _DENSE * self.ranks * (self.ranks - 1) / 2

    @property
    def alike(self) -> bool:
        """Whether all pairs get about as many bytes."""
        return bool(self.pairs.bytes.std() < _ALIKE * max(self.pairs.bytes.mean(), 1e-300))

    @property
    def connected(self) -> bool:
        return not connected(self.ranks, np.array(list(self.both), int).reshape(-1, 2).T).any()


Rule: TypeAlias = Callable[[Seen], Name | None]


def name_of(seen: Seen) -> Name:
    """Return the name of what was seen, by the first rule that fits."""
    return next(name for rule in _RULES if (name := rule(seen)) is not None)


def _all_to_alls(seen: Seen) -> Name | None:
    if not seen.collectives or seen.collective_share < _MOSTLY:
        return None
    sizes = [len(members) for members in seen.collectives]
    if max(sizes) == seen.ranks:
        return Name("all-to-all", reason="MPI_Alltoall of all ranks")
    apart = [
        {frozenset(members) for members in seen.collectives if len(members) == size}
        for size in sorted(set(sizes), reverse=True)
    ]
    divided = [sets for sets in apart if sum(map(len, sets)) >= seen.ranks]
    if len(divided) == 1 and sum(map(len, divided[0])) == 2 * seen.ranks:  # as many rows as columns
        side = max(sizes)
        return Name("transpose", grid=(seen.ranks // side, side), reason="MPI_Alltoall of rows, and of columns")
    if len(divided) >= 2:
        rows, columns = (len(next(iter(sets))) for sets in divided[:2])
        if rows * columns == seen.ranks:
            return Name("transpose", grid=_as_numbered(divided[:2]), reason="MPI_Alltoall of rows, and of columns")
    return Name("all-to-all", False, reason=f"MPI_Alltoall of {format_span(sizes)} ranks")


def _as_numbered(divided: Sequence[set[frozenset[int]]]) -> tuple[int, int]:
    """Return rows and columns so that a row has ranks one after the other."""
    rows = next((sets for sets in divided if all(max(one) - min(one) == len(one) - 1 for one in sets)), divided[0])
    columns = next(sets for sets in divided if sets is not rows)
    return len(next(iter(columns))), len(next(iter(rows)))


def _nothing(seen: Seen) -> Name | None:
    if seen.both:
        return None
    where = " in a step" if seen.run_has_messages else ""
    return Name("collectives", reason=f"no messages between ranks{where}") if seen.calls_collectives else Name("none")


def _pairing(seen: Seen) -> Name | None:
    if not (seen.partners == 1).all() or len(seen.pairs.source) != seen.ranks or (seen.ranks == 2 and seen.carts):
        return None
    return Name("pairing", seen.ranks > 2, reason="every rank has one partner")


def _star(seen: Seen) -> Name | None:
    if seen.ranks < 4 or len(seen.both) != seen.ranks - 1 or seen.partners.max() != seen.ranks - 1:
        return None
    return Name("master/worker", seen.ranks > 4, reason=f"all others talk to rank {int(seen.partners.argmax())} only")


def _tree(seen: Seen) -> Name | None:
    if len(seen.both) != seen.ranks - 1 or seen.partners.max() <= 2 or not seen.connected:
        return None
    binomial = all((rank & (rank - 1), rank) in seen.both for rank in range(1, seen.ranks))
    return Name("tree", seen.ranks > _FEW, reason=("binomial, " if binomial else "") + "no way from rank to rank but one")


def _ring(seen: Seen) -> Name | None:
    source, dest = seen.pairs.source, seen.pairs.dest
    one_way = (
        np.array_equal(np.sort(source), np.arange(seen.ranks)) and np.array_equal(np.sort(dest), np.arange(seen.ranks))
    )  # fmt: skip
    if seen.ranks < 3 or not one_way or not seen.connected:
        return None
    if seen.levels.take_turns and seen.pairs.messages.max() > 2 * seen.pairs.messages.min():
        return None  # a pipeline whose last rank tells the first that it is done
    shift = set(((dest - source) % seen.ranks).tolist())
    by = f"to rank + {shift.pop()}" if len(shift) == 1 else "in a cycle"
    even = bool(seen.pairs.messages.max() <= 2 * seen.pairs.messages.min())
    return Name("ring", seen.ranks > 3 and even, reason=f"each rank sends {by}")


def _sweep(seen: Seen) -> Name | None:
    if not seen.levels.take_turns or seen.dense and seen.alike:
        return None
    grid = seen.both_ways.grid
    if grid is not None and grid.fit >= _SWEEP_FITS and grid.reach == 1:
        turns = f"ranks wait up to {seen.levels.fill} messages for their turn" if seen.levels.fill >= TURNS else "in turn"
        return Name("sweep", grid=grid.dims, reason=turns)
    if seen.partners.max() <= 2 and seen.connected:
        return Name("sweep", grid=(seen.ranks,), reason=f"a pipeline of {seen.levels.fill + 1} ranks")
    return None


def _hypercube(seen: Seen) -> Name | None:
    """Every rank with all whose number differs in one bit: a grid of two cells an axis, too, if there are up to three."""
    bits = seen.ranks.bit_length() - 1
    if (
        2**bits != seen.ranks
        or bits < 3
        or seen.both != {(i, i | 1 << k) for k in range(bits) for i in range(seen.ranks) if not i >> k & 1}
    ):
        return None
    each = seen.pairs.messages
    if not seen.alike or each.min() != each.max() or seen.levels.depth != bits * int(each.min()):
        return None
    ambiguous = bits == 3
    if ambiguous and (seen.carts or seen.pairs.bytes.max() > _SHORT * seen.pairs.messages.max()):
        return None
    return Name("recursive doubling", not ambiguous, reason="partners differ in one bit, one bit after the other")


def _all_pairs(seen: Seen) -> Name | None:
    if len(seen.pairs.source) != seen.ranks * (seen.ranks - 1) or seen.ranks < 3:
        return None
    about = seen.ranks > _FEW and seen.pairs.bytes.std() < _ABOUT_ALIKE * seen.pairs.bytes.mean()
    if not seen.alike and not (about and seen.grid is not None and seen.grid.within > seen.grid.whole / 2):
        return None
    much = "as much" if seen.alike else "about as much"
    return Name("all-to-all", seen.ranks > _FEW, reason=f"every rank sends {much} to every other")


def _rows_and_columns(seen: Seen) -> Name | None:
    if seen.levels.depth < 2:
        return None
    for rows in range(2, seen.ranks // 2 + 1):
        columns = seen.ranks // rows
        if rows * columns != seen.ranks or max(rows, columns) <= 2 or len(seen.both) != seen.ranks * (rows + columns - 2) // 2:
            continue
        if all(a // columns == b // columns or a % columns == b % columns for a, b in seen.both):
            return Name("transpose", max(rows, columns) > 3, (rows, columns), reason="messages in rows and in columns")
    return None


def _halo(seen: Seen) -> Name | None:
    grid = seen.grid
    if grid is None or grid.fit < _FITS:
        return None
    if seen.dense and seen.ranks > 3 and (len(grid.dims) == 1 or grid.within > grid.whole / 4 or grid.whole < _LEAST_APART):
        return None
    sure = seen.ranks > 3 and grid.fit > 1 - 1e-9
    return Name("halo", sure, grid.dims, grid.periodic, grid.neighbours, _sizes(seen.pairs, grid))


def _one_way_halo(seen: Seen) -> Name | None:
    """Particles or values that move to one side only, up to now."""
    halo = _halo(seen.both_ways)
    return halo and replace(halo, confident=False, reason="some neighbours talk one way only")


def _halo_and_gather(seen: Seen) -> Name | None:
    """A halo, and one rank that all others talk to."""
    hub = int(seen.partners.argmax())
    others = np.delete(seen.partners, hub)
    if seen.ranks < 6 or seen.partners[hub] < seen.ranks - 1 or np.median(others) >= 0.75 * (seen.ranks - 1):
        return None
    with_hub = (seen.pairs.source == hub) | (seen.pairs.dest == hub)
    grid = seen.grid
    if grid is None:
        return None
    far = with_hub & (grid.axes == 0)
    halo = _halo(Seen(seen.pairs.of(~far), seen.levels, carts=seen.carts))
    if halo is None:
        return None
    reason = f"{halo.reason}; and all ranks with rank {hub}"
    return Name("halo", halo.confident, halo.grid, halo.borders, halo.stencil, reason)


def _partial_doubling(seen: Seen) -> Name | None:
    """Recursive doubling in rows of a power of two, and one more partner at most, as of a transposed matrix."""
    bits = [
        k
        for k in range(seen.ranks.bit_length())
        if all((min(i, i ^ 1 << k), max(i, i ^ 1 << k)) in seen.both for i in range(seen.ranks))
    ]
    rest = seen.both - {(min(i, i ^ 1 << k), max(i, i ^ 1 << k)) for k in bits for i in range(seen.ranks)}
    ends = [end for pair in rest for end in pair]
    if len(bits) < 2 or len(ends) != len(set(ends)) or seen.levels.depth < len(bits):
        return None
    within = f"in groups of {2 ** len(bits)}" if rest or 2 ** len(bits) < seen.ranks else "of all ranks"
    return Name("recursive doubling", seen.ranks > 8, reason=f"{within}" + (", and one more partner" if rest else ""))


def _wide_ring(seen: Seen) -> Name | None:
    """Every rank with every other, the less the farther away it is around the ring: a halo as wide as its only axis."""
    if len(seen.pairs.source) != seen.ranks * (seen.ranks - 1) or seen.ranks < _FEW:
        return None
    ahead = (seen.pairs.dest - seen.pairs.source) % seen.ranks
    distance = np.minimum(ahead, seen.ranks - ahead)
    by_distance = [seen.pairs.bytes[distance == away] for away in range(1, seen.ranks // 2 + 1)]
    means = [float(sent.mean()) for sent in by_distance]
    alike = all(sent.std() < _ALIKE * mean for sent, mean in zip(by_distance, means, strict=True))
    if not alike or any(far > (1 - _ALIKE) * near for near, far in zip(means, means[1:], strict=False)):
        return None
    near, far = (format_volume(round(mean)) for mean in (means[0], means[-1]))
    reason = f"every rank sends {near} to its neighbours, and less with distance: {far} to the farthest"
    return Name("halo", False, (seen.ranks,), (True,), seen.ranks - 1, reason)


def _all_pairs_and_more(seen: Seen) -> Name | None:
    """Every rank sends as much to every other, and more to some: transposes with a halo, or with particles."""
    sent = seen.pairs.bytes
    if (
        len(seen.pairs.source) != seen.ranks * (seen.ranks - 1)
        or seen.ranks <= _FEW
        or np.median(sent) > _AS_LEAST * sent.min()
    ):
        return None
    return Name("all-to-all", False, reason=f"every rank sends {format_volume(int(sent.min()))} to every other, more to some")


def _mostly_another(seen: Seen) -> Name | None:
    """What has a name but for a few short messages, such as a halo with sums that travel along a tree of messages."""
    main = heavy(seen.pairs, LEAST_HEAVY, LEAST_OFTEN)
    others = 1 - float(main.messages.sum() / max(seen.pairs.messages.sum(), 1))
    volume = 1 - float(main.bytes.sum() / max(seen.pairs.bytes.sum(), 1))
    if others == 0 or others > _MOST_OTHERS or volume > _MOST_OTHER_BYTES:
        return None
    name = name_of(replace(seen, pairs=main))
    if name.name == "irregular" or not name.confident:
        return None
    return replace(name, reason=f"{name.reason}; {format_share(others)} of the messages go to other ranks")


def _irregular(seen: Seen) -> Name | None:
    received = np.bincount(seen.pairs.dest, seen.pairs.bytes, minlength=seen.ranks)
    hot = int(received.argmax())
    times = received[hot] / max(received.mean(), 1e-300)
    median = f"{format_span(seen.partners.tolist())} partners, {np.median(seen.partners):g} in the median"
    unequal = bool(seen.partners.min() < seen.partners.max())  # else it may be a pattern that no rule knows
    return Name("irregular", unequal, reason=f"{median}; rank {hot} receives {times:.1f} times the mean")


_RULES: tuple[Rule, ...] = (
    _all_to_alls,
    _nothing,
    _pairing,
    _star,
    _tree,
    _ring,
    _hypercube,
    _all_pairs,
    _sweep,
    _rows_and_columns,
    _halo,
    _halo_and_gather,
    _one_way_halo,
    _partial_doubling,
    lambda seen: seen.found,  # of any numbering
    _wide_ring,
    _all_pairs_and_more,
    _mostly_another,
    _irregular,
)


def _sizes(pairs: Pairs, grid: Grid) -> str:
    """Return how large the messages to neighbours along one, two and three axes are: ``faces of 1.72 to 2.44 kB``."""
    names = {1: "faces", 2: "edges" if len(grid.dims) > 2 else "corners", 3: "corners"}
    mean = pairs.bytes / np.maximum(pairs.messages, 1)
    words = []
    for along, name in names.items():
        sizes = mean[grid.axes == along]
        if len(sizes):
            texts = list(dict.fromkeys(format_volume(round(float(size))) for size in (sizes.min(), sizes.max())))
            words.append(f"{name} of {' to '.join(texts)}")
    return ", ".join(words)


def cart_of(entry: Any) -> Cart:
    """Return shape and borders of an MPI_Cart_create of a record's header."""
    return tuple(map(int, entry["dims"])), tuple(map(bool, entry["periodic"]))


def heavy(pairs: Pairs, share: float, often: float) -> Pairs:
    """Return the pairs that have, one way or the other, at least so large a share of the bytes of the heaviest pair of either
    rank, or ``often`` of the messages of the pair with the most."""
    if not len(pairs.source):
        return pairs
    low, high = np.minimum(pairs.source, pairs.dest), np.maximum(pairs.source, pairs.dest)
    both = np.unique(low * pairs.ranks + high, return_inverse=True)[1].reshape(-1)
    weight = np.zeros(both.max() + 1)
    np.maximum.at(weight, both, pairs.bytes)
    heaviest = np.zeros(pairs.ranks)
    for ranks in (low, high):
        np.maximum.at(heaviest, ranks, weight[both])
    large = weight[both] >= share * np.minimum(heaviest[low], heaviest[high])
    many = pairs.messages >= max(_FEW, often * pairs.messages.max())
    return pairs.of((large | many) & ((pairs.bytes > 0) | (weight[both] == 0)))
