"""What is to be mapped, as the core takes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rankwise import _core
from rankwise.errors import InputError

MOST_CELLS = 2**45
MOST_RANKS = 2**31 - 1


@dataclass(frozen=True)
class Problem:
    """A process grid, the ranks of each node, and what each rank sends where: weights[i] along offsets[i]."""

    dims: list[int]
    nodes: list[int]
    offsets: list[list[int]]
    weights: list[int]
    periodic: list[bool]

    @property
    def cells(self) -> int:
        return math.prod(self.dims)

    @cached_property
    def core(self) -> _core.Problem:
        return _core.Problem(self.dims, self.nodes, self.offsets, self.weights, self.periodic)

    def with_offsets(self, weight: int) -> Problem:
        """The problem with only the offsets of this weight, each of weight 1."""
        kept = [offset for offset, own in zip(self.offsets, self.weights, strict=True) if own == weight]
        return replace(self, offsets=kept, weights=[1] * len(kept))


def problem_of(
    grid: Sequence[int],
    node_sizes: Sequence[int],
    stencil: str | Sequence[Sequence[int]],
    periodic: Sequence[bool] | None,
    weights: Sequence[int] | None,
    int64: bool = False,
) -> Problem:
    """Check that everything fits together. Raises InputError.

    ``weights`` (one an offset) are instead of those in the stencil's text. ``int64`` allows more ranks than the 32-bit
    integers of MPI can number.
    """
    dims, nodes = list(grid), list(node_sizes)
    for what, sizes in (("grid axis", dims), ("node size", nodes)):
        for size in sizes:
            if not 1 <= size <= MOST_CELLS:
                raise InputError(f"{what} {size} is out of range: it must be at least 1 and at most 2^45")
    if dims and len(nodes) > (cells := math.prod(dims)):
        raise InputError(f"there are {len(nodes)} nodes for {cells} ranks: give at most one node a rank")
    flags = [False] * len(dims) if periodic is None else [bool(flag) for flag in periodic]
    offsets, own_weights = offsets_of(stencil, len(dims))
    heavy = own_weights if weights is None else list(weights)
    try:
        _core.Problem(dims, nodes, offsets, heavy)
    except ValueError as error:
        raise InputError(str(error)) from None
    if len(flags) != len(dims):
        raise InputError(f"{len(flags)} periodic flags for a grid of {len(dims)} axes: give one flag an axis")
    if math.prod(dims) > MOST_RANKS and not int64:
        raise InputError(
            f"the grid has {math.prod(dims)} cells, more than the 2^31 - 1 ranks that MPI can number: make it smaller, "
            "or allow 64-bit ranks (--int64, int64=True)"
        )
    return Problem(dims, nodes, offsets, heavy, flags)


def offsets_of(stencil: str | Sequence[Sequence[int]], ndim: int) -> tuple[list[list[int]], list[int]]:
    """Return a stencil's offsets and their weights. Raises InputError."""
    if isinstance(stencil, str):
        # Ids and offsets are ASCII; what is not cannot be a stencil, and a stray byte must not be a TypeError.
        try:
            return _core.parse_stencil(stencil.encode("ascii", "replace").decode(), ndim)
        except ValueError as error:
            raise InputError(str(error)) from None
    offsets = [list(offset) for offset in stencil]
    for offset in offsets:
        if any(abs(component) > 2**31 for component in offset):
            raise InputError(f"stencil offset {offset} is too far: components go up to 2^31")
    return offsets, [1] * len(offsets)
