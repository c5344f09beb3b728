"""What functions are given and return: arrays of numpy, of any type and shape, or of seconds and other real figures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]


def connected(count: int, pairs: Array) -> Array:
    """Return of each of so many things the least of those that ``pairs`` (2 x pairs) connect it with."""
    least = np.arange(count)
    while True:
        ends = least[pairs]
        lower = least.copy()
        np.minimum.at(lower, ends.reshape(-1), np.tile(ends.min(axis=0), 2))
        while (lower != lower[lower]).any():
            lower = lower[lower]
        if np.array_equal(lower, least):
            return least
        least = lower
