"""Process grids, numbered row by row, that pairs of ranks may be neighbours in: how well each fits, and the best of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rankwise.arrays import Array
from rankwise.factors import factorisations

Periodic: TypeAlias = tuple[bool | None, ...]  # None: an axis of two cells, whose borders no pair tells
_MOST_AXES = 3
_MOST_RANKS = 384  # whose partners decide between grids
_MOST_TRIED = 24  # grids that fit so many ranks, whose weights are looked at with all
_FACES_TWICE, _EDGES_TWICE = 1.8, 1.5  # messages of a pair that is two neighbours at once, in those of one


@dataclass(frozen=True)
class Pairs:
    """Which ranks send to which: ``messages`` and ``bytes`` of each pair."""

    ranks: int
    source: Array
    dest: Array
    messages: Array
    bytes: Array

    def of(self, which: Array) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.ranks, *(of[which] for of in (self.source, self.dest, self.messages, self.bytes)))


@dataclass(frozen=True)
class Grid:
    """A grid, and which neighbours talk: along up to ``reach`` axes at once.

    ``fit``: pairs that are such neighbours, of all pairs that talk or are (Jaccard). ``within``, ``whole``: variance of the
    logarithms of pairs' bytes, within classes of pairs along the same axes and in all. ``axes``: of each pair how many axes it
    goes along, 0 for no neighbours.
    """

    dims: tuple[int, ...]
    periodic: Periodic
    reach: int
    fit: float
    within: float
    whole: float
    classes: int
    axes: Array

    @property
    def neighbours(self) -> int:
        """Neighbours of a rank inside."""
        ways = len(self.dims)
        return sum(math.comb(ways, along) * 2**along for along in range(1, self.reach + 1))

    def cost(self) -> float:
        """Return how long the pairs' bytes are to describe, class by class: the least of grids that fit alike is the one."""
        return len(self.axes) * math.log(self.within + 0.001) + self.classes * math.log(max(2, len(self.axes)))


def best_grid(pairs: Pairs, carts: Sequence[tuple[tuple[int, ...], tuple[bool, ...]]] = ()) -> Grid | None:
    """Return the grid in which the pairs fit best; one of ``carts`` (dims, periodic), which the program made, wins a tie."""
    if not len(pairs.source) or pairs.ranks < 2:
        return None
    told = [cart for cart in carts if math.prod(cart[0]) == pairs.ranks]
    some, senders = pairs, np.unique(pairs.source)
    if len(senders) > _MOST_RANKS:
        chosen = np.random.default_rng(0).choice(senders, _MOST_RANKS, replace=False)
        some = pairs.of(np.isin(pairs.source, chosen))
    shapes = list(_shapes(pairs.ranks))
    if some is not pairs and len(shapes) > _MOST_TRIED:
        shapes.sort(key=lambda shape: -_fit(some, *shape).fit)
        shapes = shapes[:_MOST_TRIED]
    grids = [_fit(pairs, dims, periodic) for dims, periodic in shapes]
    most = max(grid.fit for grid in grids)
    own = [(without_ones(*cart), cart) for cart in told]
    tied = [grid for grid in grids if grid.fit >= most - 1e-9]
    best = min(tied, key=lambda grid: (not any(_agrees(grid, *cart) for cart, _ in own), grid.cost(), grid.reach))
    around = next((cart[1] for cart, _ in own if _agrees(best, *cart)), None)
    return _with_borders(pairs, best, around)


def without_ones(dims: Sequence[int], periodic: Sequence[bool]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Return a grid without its axes of one cell."""
    kept = [axis for axis, dim in enumerate(dims) if dim > 1]
    return tuple(dims[axis] for axis in kept), tuple(periodic[axis] for axis in kept)


def _agrees(grid: Grid, dims: tuple[int, ...], periodic: tuple[bool, ...]) -> bool:
    return grid.dims == dims and all(own in (None, other) for own, other in zip(grid.periodic, periodic, strict=True))


def _shapes(ranks: int) -> Iterator[tuple[tuple[int, ...], Periodic]]:
    for axes in range(1, _MOST_AXES + 1):
        for dims in factorisations(ranks, axes, 2):
            for around in itertools.product(*(((None,) if dim == 2 else (False, True)) for dim in dims)):
                yield dims, around


def _fit(pairs: Pairs, dims: tuple[int, ...], periodic: Periodic) -> Grid:
    """Return a grid with how well the pairs fit in it, with the reach that fits best."""
    at = [np.array(np.unravel_index(rank, dims)) for rank in (pairs.source, pairs.dest)]
    apart = np.abs(at[1] - at[0])
    size = np.array(dims)[:, None]
    apart = np.where(np.array([bool(wraps) for wraps in periodic])[:, None], np.minimum(apart, size - apart), apart)
    axes = np.where((apart <= 1).all(axis=0), (apart > 0).sum(axis=0), 0)
    expected = _neighbours(np.unique(pairs.source), dims, periodic)
    fits = []
    for reach in range(1, len(dims) + 1):
        there = int(((axes > 0) & (axes <= reach)).sum())
        fits.append(there / (len(axes) + int(expected[:reach].sum()) - there))
    reach = int(np.argmax(fits)) + 1
    axes = np.where(axes <= reach, axes, 0)
    kind = ((apart > 0) * (1 << np.arange(len(dims)))[:, None]).sum(axis=0)
    weight = np.log(np.maximum(pairs.bytes, 1.0))
    inside = axes > 0
    kinds = np.unique(kind[inside])
    within = sum(float(((weight[kind == one] - weight[kind == one].mean()) ** 2).sum()) for one in kinds.tolist())
    return Grid(
        dims, periodic, reach, fits[reach - 1], within / max(1, int(inside.sum())), float(weight.var()), len(kinds), axes
    )


def _neighbours(ranks: Array, dims: tuple[int, ...], periodic: Periodic) -> Array:
    """Return how many neighbours the ranks have together that lie along one axis, along two, and so on."""
    at = np.array(np.unravel_index(ranks, dims))
    ways = np.array(
        [
            (2 - (where == 0).astype(int) - (where == dim - 1)) if not wraps else np.full(len(where), 2)
            for where, dim, wraps in zip(at, dims, periodic, strict=True)
        ]
    )
    return np.array(
        [
            sum(int(np.prod(ways[list(axes)], axis=0).sum()) for axes in itertools.combinations(range(len(dims)), along))
            for along in range(1, len(dims) + 1)
        ]
    )


def _with_borders(pairs: Pairs, grid: Grid, around: Sequence[bool | None] | None) -> Grid:
    """Return the grid with the borders of axes of two cells told, by the program or by messages a pair, where these tell."""
    if None not in grid.periodic:
        return grid
    if around is None:
        around = [_around(pairs, grid, axis) if wraps is None else wraps for axis, wraps in enumerate(grid.periodic)]
    periodic = tuple(told if own is None else own for own, told in zip(grid.periodic, around, strict=True))
    return Grid(grid.dims, periodic, grid.reach, grid.fit, grid.within, grid.whole, grid.classes, grid.axes)


def _around(pairs: Pairs, grid: Grid, axis: int) -> bool | None:
    """Return whether pairs along an axis of two cells are neighbours both ways: they have twice the messages then."""
    at = [np.array(np.unravel_index(rank, grid.dims)) for rank in (pairs.source, pairs.dest)]
    along = (at[0] != at[1]) & (grid.axes > 0)

    def usual(*axes: int) -> float:
        which = (along.sum(axis=0) == len(axes)) & along[list(axes)].all(axis=0)
        return float(np.median(pairs.messages[which])) if which.any() else 0.0

    others = [other for other in range(len(grid.dims)) if other != axis]
    if long := [usual(other) for other in others if grid.dims[other] > 2]:
        return bool(usual(axis) >= _FACES_TWICE * np.median(long))
    if edges := [(usual(axis, other), usual(other)) for other in others if usual(axis, other) and usual(other)]:
        return bool(np.median([edge / face for edge, face in edges]) >= _EDGES_TWICE)
    return None
