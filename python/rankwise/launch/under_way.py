"""What all that start kernels have in common: what they refuse, and what they say when they are interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rankwise.errors import InputError, InterruptedWorkError
from rankwise.progress import Meter, meter

_MOST_RANKS_PER_CPU = 64


def require_room(ranks: int, cpus: int, mend: str) -> None:
    """Raise InputError for more ranks on a node than its CPUs can share in any useful time; ``mend`` says what else helps."""
    if ranks > _MOST_RANKS_PER_CPU * cpus:
        raise InputError(f"{ranks} ranks are too many for {cpus} CPUs: give at most {_MOST_RANKS_PER_CPU} for each, or {mend}")


def require_seconds(seconds: float) -> None:
    """Raise InputError for a time that cannot be spent."""
    if not 0 < seconds < 1e6:
        raise InputError(f"--seconds {seconds:g} is not a time to spend: give one above 0 s, below 1e6 s")


@contextmanager
def under_way(doing: str, steps: int, kept: str) -> Iterator[Meter]:
    """Show how far work is; on Ctrl-C raise InterruptedWorkError that says what is ``kept``."""
    try:
        with meter(doing, steps) as progress:
            yield progress
    except KeyboardInterrupt:
        raise InterruptedWorkError(f"interrupted: {kept}") from None
