"""The pattern of observed traffic, in words and figures: a grid with the offsets along which ranks talk, or a general graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from rankwise import _core
from rankwise.errors import InputError
from rankwise.records import Record, key, record, told

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = Any


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
    between ranks that follow the offsets. ``neighbours``: the least, the median and the most receivers of a rank.
    """

    kind: str = key("grid, graph (there is no grid) or uncertain")
    dims: tuple[int, ...] = key("shape of the grid", default=())
    periodic: tuple[bool, ...] = key("whether each axis wraps around", default=())
    offsets: tuple[tuple[int, ...], ...] = key("places of the neighbours relative to a rank", default=())
    weights: tuple[float, ...] = key("mean bytes of a pair, by offset", default=())
    message_bytes: tuple[float, ...] = key("size of the messages along each offset", default=())
    explained: float = key("share of the bytes along the offsets", default=0.0)
    neighbours: tuple[int, int, int] = (0, 0, 0)
    cell_of_rank: Sequence[int] | Array = field(default=(), compare=False, repr=False)

    @property
    def natural(self) -> bool:
        """Whether ranks are numbered row by row."""
        return bool(self.dims) and all(cell == rank for rank, cell in enumerate(self.cell_of_rank))

    @property
    @told("the pattern in a sentence")
    def words(self) -> str:
        """The pattern in a line: ``3-D halo, 6 neighbours, 4x2x2, periodic, faces of 49, 70 and 100 kB``."""
        least, middle, most = self.neighbours
        if most == 0:
            return "no messages between ranks"
        if self.kind != "grid":
            span = str(most) if least == most else f"{least}-{most}"
            doubt = f"grid uncertain (perhaps {'x'.join(map(str, self.dims))})" if self.kind == "uncertain" else "no grid"
            return f"{doubt}; {span} neighbour{'s' * (span != '1')}, general graph"
        axes = len(self.dims)
        around = [f"{axis + 1}" for axis, wraps in enumerate(self.periodic) if wraps]
        if len(around) == axes:
            borders = "periodic"
        else:
            borders = f"periodic along axis {_listed(around)}" if around else "open"
        order = "" if self.natural else ", ranks not numbered row by row"
        return (
            f"{axes}-D halo, {most} neighbour{'s' * (most != 1)}, {'x'.join(map(str, self.dims))}, {borders}, "
            f"{'; '.join(self._sizes())}{order}"
        )

    def _sizes(self) -> list[str]:
        """Return what the messages of faces, edges, corners and hops weigh: each size once, those along axes first."""
        sizes: dict[str, list[float]] = {}
        for offset, size in zip(self.offsets, self.message_bytes, strict=True):
            axes = sum(step != 0 for step in offset)
            far = max(map(abs, offset)) > 1
            name = (
                "hops"
                if far
                else {1: "faces", 2: "edges" if len(self.dims) > 2 else "corners", 3: "corners"}.get(axes, "corners")
            )
            sizes.setdefault(name, []).append(size)
        return [f"{name} of {_sizes_listed(of_kind)}" for name, of_kind in sizes.items()]


def find_pattern(traffic: Traffic) -> Pattern:
    """Find the grid in a traffic matrix, whatever the ranks' numbering. Raises InputError on arrays that do not fit."""
    import numpy as np

    pointer = np.ascontiguousarray(traffic.pointer, np.int64)
    peer = np.ascontiguousarray(traffic.peer, np.uint32)
    counts = [np.ascontiguousarray(array, np.uint64) for array in (traffic.messages, traffic.bytes)]
    try:
        found = _core.find_grid(pointer, peer, *counts)
    except ValueError as error:
        raise InputError(str(error)) from None
    own = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer)) == peer
    receivers = np.diff(pointer) - np.add.reduceat(np.append(own, False), pointer[:-1]) * (np.diff(pointer) > 0)
    neighbours = (int(receivers.min()), int(np.median(receivers)), int(receivers.max()))
    offsets, weights, sizes = [], [], []
    for offset, pairs, messages, volume in found.offsets:
        # Halfway around a periodic axis both ways lead to the same rank: each has half of what the pair sends.
        both_ways = 1
        for step, dim, wraps in zip(offset, found.dims, found.periodic, strict=True):
            both_ways *= 2 if wraps and 2 * abs(step) == dim else 1
        offsets.append(tuple(offset))
        weights.append(volume / pairs / both_ways)
        sizes.append(volume / messages)
    return Pattern(
        found.kind, tuple(found.dims), tuple(found.periodic), tuple(offsets), tuple(weights), tuple(sizes),
        found.explained, neighbours, np.array(found.cell_of_rank, np.int64),
    )  # fmt: skip


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _sizes_listed(sizes: Sequence[float]) -> str:
    """Return sizes in a unit that suits the greatest, those that read alike once, at most four."""
    scale, unit = next((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")) if max(sizes) >= s or s == 1)
    texts = dict.fromkeys(f"{size / scale:.3g}" for size in sorted(sizes))
    if len(texts) > 4:
        return f"{next(iter(texts))} to {list(texts)[-1]} {unit}"
    return f"{_listed(list(texts))} {unit}"
