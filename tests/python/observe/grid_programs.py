"""Programs whose ranks exchange with neighbours in a grid, for any number of ranks: what a template must give back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from synthetic_events import Op

Offset = tuple[int, ...]


def faces(axes: int) -> list[Offset]:
    return [tuple(way * (at == axis) for at in range(axes)) for axis in range(axes) for way in (-1, 1)]


def around(axes: int) -> list[Offset]:
    return [offset for offset in itertools.product((-1, 0, 1), repeat=axes) if any(offset)]


def halo(
    dims: Sequence[int],
    periodic: Sequence[bool],
    offsets: Sequence[Offset],
    size: Callable[[Offset], int],
    style: str = "at once",
    steps: int = 12,
) -> list[list[Op]]:
    """Return a program a rank: all neighbours at once, or one direction after the other ("by axis", "blocking")."""
    programs: list[list[Op]] = []
    grid = tuple(dims)
    for rank in range(int(np.prod(grid))):

        def partner(offset: Offset, at: tuple[int, ...] = tuple(map(int, np.unravel_index(rank, grid)))) -> int:
            there = [a + b for a, b in zip(at, offset, strict=True)]
            if all(around or 0 <= a < n for a, n, around in zip(there, grid, periodic, strict=True)):
                return int(np.ravel_multi_index([a % n for a, n in zip(there, grid, strict=True)], grid))
            return -1

        ops: list[Op] = [("compute", 50_000 + 10 * rank)]
        tag = {offset: number for number, offset in enumerate(offsets)}
        for group in [list(offsets)] if style == "at once" else [[offset] for offset in offsets]:
            for offset in group:
                back = tuple(-step for step in offset)
                if (there := partner(back)) >= 0 and style != "blocking":
                    ops.append(("irecv", there, tag[offset]))
            for offset in group:
                if (there := partner(offset)) >= 0:
                    ops.append(("send" if style == "blocking" else "isend", there, tag[offset], size(offset)))
            for offset in group:
                if style == "blocking" and (there := partner(tuple(-step for step in offset))) >= 0:
                    ops.append(("recv", there, tag[offset]))
            if style != "blocking" and any(op[0] in ("isend", "irecv") for op in ops):
                ops.append(("waitall",))
        ops.append(("allreduce", 8))
        programs.append(ops * steps)
    return programs
