"""How much of a matrix is tested: in CI what tells its kinds apart, with RANKWISE_TEST_TIMES (``make nightly``) all of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

ALL = "RANKWISE_TEST_TIMES" in os.environ
Value = TypeVar("Value")


def some(values: Sequence[Value], *places: int) -> list[Value]:
    """Return all values, or those at some places where not everything is asked for."""
    return list(values) if ALL else [values[place] for place in places]
