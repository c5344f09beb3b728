"""What gathering a message from rows of memory takes a rank, or putting it
back: part of a profile, a curve a length of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rankwise.records import Record, finite, key, record, whole


def _curves(value: Any, _: str) -> dict[int, list[tuple[int, float]]]:
    """Read the curves back. Raises ValueError for what is none."""
    if not isinstance(value, Mapping) or not all(str(rows).isdigit() for rows in value):
        raise ValueError("packing is no curves by the bytes of a row")
    curves: dict[int, list[tuple[int, float]]] = {}
    for rows, curve in sorted(value.items(), key=lambda item: int(item[0])):
        points = sorted((whole(size, f"packing {rows}"), finite(time_s, f"packing {rows}")) for size, time_s in curve)
        if int(rows) < 1 or not points or points[0][0] < 1 or min(time_s for _, time_s in points) <= 0:
            raise ValueError(f"packing: rows of {rows} B have a size or time that is not positive")
        curves[int(rows)] = points
    if not curves:
        raise ValueError("packing: it has no curve")
    return curves


@record
class Packing(Record):
    """``curves``: by the bytes of a row, ascending, (bytes of the message, seconds) of one copy, ascending."""

    curves: Mapping[int, Sequence[tuple[int, float]]] = key(
        "by the bytes of a row: bytes of the message, seconds of one copy", inline=True, read=_curves
    )

    def time_s(self, size_bytes: int, row_bytes: int) -> float:
        """Return the seconds of one copy; between lengths and between sizes
        straight in the logarithms, beyond them the nearest rate."""
        if size_bytes <= 0:
            return 0.0
        rates = [(rows, _at(curve, size_bytes)) for rows, curve in self.curves.items()]
        return size_bytes * _between(rates, row_bytes)


def _at(curve: Sequence[tuple[int, float]], size_bytes: int) -> float:
    """Return seconds a byte at a size."""
    return _between([(size, time_s / size) for size, time_s in curve], size_bytes)


def _between(points: Sequence[tuple[int, float]], at: int) -> float:
    for (low, first), (high, second) in pairwise(points):
        if low <= at <= high:
            share = math.log(at / low) / math.log(high / low)
            return math.exp((1 - share) * math.log(first) + share * math.log(second))
    return points[0][1] if at < points[0][0] else points[-1][1]
