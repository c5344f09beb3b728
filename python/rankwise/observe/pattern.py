"""The pattern of observed traffic, in words and figures: a grid with the offsets along which ranks talk, or a general graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

from rankwise import _core
from rankwise.errors import InputError
from rankwise.observe.grids import Pairs
from rankwise.observe.naming import Name, Seen, name_of
from rankwise.records import Record, key, record, told
from rankwise.units import format_span, format_volume

if TYPE_CHECKING:
    from rankwise.arrays import Array
else:
    Array = Any

_MOST_DENSE = 3  # ranks for each offset of a halo, at least
_EXPLAINED = 0.95  # share of the bytes along the offsets


class Traffic(Protocol):
    """A matrix by rows, a row a sender: of each pair the receiver, messages and bytes."""

    @property
    def pointer(self) -> Array: ...
    @property
    def peer(self) -> Array: ...
    @property
    def messages(self) -> Array: ...
    @property
    def bytes(self) -> Array: ...


@record
class Pattern(Record):
    """What describes traffic shortest.

    ``kind``: ``grid``; ``graph``, where no grid describes it: then ``dims``, ``periodic``, ``offsets`` and ``cell_of_rank``
    are empty; or ``uncertain``, where a grid does, but too poorly to build on. ``weights``: of each offset the mean bytes that
    a pair of ranks sent along it; ``message_bytes`` the mean size of one of its messages. ``explained``: the share of all bytes
    between ranks that follow the offsets. ``naming``: what experts call it.
    """

    kind: str = key("grid, graph (there is no grid) or uncertain")
    dims: tuple[int, ...] = key("shape of the grid", default=())
    periodic: tuple[bool, ...] = key("whether each axis wraps around", default=())
    offsets: tuple[tuple[int, ...], ...] = key("places of the neighbours relative to a rank", default=())
    weights: tuple[float, ...] = key("mean bytes of a pair, by offset", default=())
    message_bytes: tuple[float, ...] = key("size of the messages along each offset", default=())
    explained: float = key("share of the bytes along the offsets", default=0.0)
    cell_of_rank: Sequence[int] | Array = field(default=(), compare=False, repr=False)
    naming: Name = key("", default=Name("none"), inline=True)

    @property
    def natural(self) -> bool:
        """Whether ranks are numbered row by row."""
        return bool(self.dims) and all(cell == rank for rank, cell in enumerate(self.cell_of_rank))

    @property
    @told("the pattern in a sentence")
    def words(self) -> str:
        """The pattern in a line: ``3-D halo of 6 neighbours, grid 4x2x2, periodic: faces of 49.0 kB to 100 kB``."""
        if self.naming.name == "none":
            return "no messages between ranks"
        return self.naming.words + (f": {self.naming.reason}" if self.naming.reason else "")


def find_pattern(traffic: Traffic, seen: Seen | None = None) -> Pattern:
    """Find the grid in a traffic matrix, whatever the ranks' numbering, and name what was seen, or else the matrix alone.

    Raises InputError on arrays that do not fit.
    """
    import numpy as np

    pointer = np.ascontiguousarray(traffic.pointer, np.int64)
    peer = np.ascontiguousarray(traffic.peer, np.uint32)
    counts = [np.ascontiguousarray(array, np.uint64) for array in (traffic.messages, traffic.bytes)]
    try:
        found = _core.find_grid(pointer, peer, *counts)
    except ValueError as error:
        raise InputError(str(error)) from None
    offsets, weights, sizes = [], [], []
    for offset, pairs, messages, volume in found.offsets:
        # Halfway around a periodic axis both ways lead to the same rank: each has half of what the pair sends.
        both_ways = 1
        for step, dim, wraps in zip(offset, found.dims, found.periodic, strict=True):
            both_ways *= 2 if wraps and 2 * abs(step) == dim else 1
        offsets.append(tuple(offset))
        weights.append(volume / pairs / both_ways)
        sizes.append(volume / messages)
    grid = Pattern(
        found.kind, tuple(found.dims), tuple(found.periodic), tuple(offsets), tuple(weights), tuple(sizes),
        found.explained, np.array(found.cell_of_rank, np.int64),
    )  # fmt: skip
    seen = seen or Seen(pairs_of(pointer, peer, *counts))
    return replace(grid, naming=name_of(replace(seen, found=_halo_of(grid, seen.ranks))))


def pairs_of(pointer: Array, peer: Array, messages: Array, volume: Array) -> Pairs:
    """Return the pairs of ranks of a matrix by rows, without messages of a rank to itself."""
    import numpy as np

    source = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))
    apart = (source != peer) & (np.asarray(messages) > 0)
    columns = (np.asarray(of)[apart].astype(kind) for of, kind in ((peer, int), (messages, float), (volume, float)))
    return Pairs(len(pointer) - 1, source[apart], *columns)


def _halo_of(grid: Pattern, ranks: int) -> Name | None:
    """Return the halo that a grid of any numbering makes, if few enough neighbours talk to make one."""
    if grid.kind != "grid" or not grid.offsets or len(grid.offsets) > ranks / _MOST_DENSE:
        return None
    how = "" if grid.natural else ", ranks not numbered row by row"
    far = max(max(map(abs, offset)) for offset in grid.offsets)
    how += f", up to {far} cells away" if far > 1 else ""
    sizes = format_span(sorted(grid.message_bytes), lambda size: format_volume(round(size)))
    return Name("halo", grid.explained > _EXPLAINED, grid.dims, grid.periodic, len(grid.offsets), f"messages of {sizes}{how}")
