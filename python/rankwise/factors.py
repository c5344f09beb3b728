"""Shapes of grids: the ways to write a number of cells as a product."""

from __future__ import annotations

import math
from collections.abc import Iterator


def divisors(number: int) -> list[int]:
    """The divisors of a number, ascending."""
    low = [size for size in range(1, math.isqrt(number) + 1) if number % size == 0]
    return low + [number // size for size in reversed(low) if size * size != number]


def factorisations(number: int, count: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as an ordered product of so many factors, none below ``least``, ascending."""
    if count == 1:
        if number >= least:
            yield (number,)
        return
    for size in divisors(number):
        if size >= least:
            for others in factorisations(number // size, count - 1, least):
                yield (size, *others)


def balanced_grid(ranks: int, ndim: int) -> tuple[int, ...]:
    """Return axis sizes that multiply up to ``ranks``, as close to each other as possible, not increasing, as MPI_Dims_create
    has them."""
    shapes = (dims for dims in factorisations(ranks, ndim) if list(dims) == sorted(dims, reverse=True))
    return min(shapes, key=lambda dims: (dims[0] - dims[-1], dims))
