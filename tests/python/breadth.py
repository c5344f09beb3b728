"""How much of a matrix is tested: in CI what tells its kinds apart, with RANKWISE_TEST_TIMES (``make nightly``) all of it."""

from __future__ import annotations

import functools
import os
import random
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]
ALL = "RANKWISE_TEST_TIMES" in os.environ
TIMES = int(os.environ.get("RANKWISE_TEST_TIMES", "1"))
Value = TypeVar("Value")


def some(values: Sequence[Value], *places: int) -> list[Value]:
    """Return all values, or those at some places where not everything is asked for."""
    return list(values) if ALL else [values[place] for place in places]


@functools.cache
def fresh_seed() -> int:
    """Return a seed that is another one for each version of the sources, the same on all machines; with ALL in each process."""
    if ALL:
        return random.randrange(1 << 30)
    paths = sorted((ROOT / "python/rankwise").glob("**/*.py"))
    return zlib.crc32(b"".join(path.read_bytes() for path in paths)) >> 2
