"""One-sided communication as events of a step: fences as collectives, the other ends of epochs and accesses as calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankwise.observe.record import COLLECTIVE, KINDS, TIME_ONLY

Array: TypeAlias = NDArray[Any]
EPOCH, PUT, GET = range(len(KINDS), len(KINDS) + 3)  # kinds of events that are in no file
FENCES = (1 << 16) - 2  # number of the communicator of all windows: their fences are counted together
_WRITES = ("Put", "Rput", "Accumulate", "Raccumulate", "Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap")
_READS = ("Get", "Rget")
_EPOCHS = ("start", "complete", "post", "wait", "test", "lock", "unlock", "lock_all", "unlock_all")
_KIND_OF_CALL = {
    "MPI_Win_fence": COLLECTIVE,
    **{f"MPI_Win_{name}": EPOCH for name in _EPOCHS},
    **{f"MPI_{name}": PUT for name in _WRITES},
    **{f"MPI_{name}": GET for name in _READS},
}


def with_epochs(events: Array, calls: Sequence[str]) -> Array:
    """Return a rank's events in which one-sided calls have kinds of their own, if there are any."""
    kinds = np.array([_KIND_OF_CALL.get(call, TIME_ONLY) for call in calls] or [TIME_ONLY], np.uint8)
    if (kinds == TIME_ONLY).all():
        return events
    mine = (events["kind"] == TIME_ONLY) & (kinds[np.minimum(events["call"], len(kinds) - 1)] != TIME_ONLY)
    changed = events.copy()
    changed["kind"][mine] = kinds[events["call"][mine]]
    changed["comm"][mine & (changed["kind"] == COLLECTIVE)] = FENCES
    return changed


def accesses(rank: int, events: Array) -> tuple[Array, Array, Array]:
    """Return who sends how much to whom by a rank's one-sided calls: source, destination, bytes."""
    of_rank = events[((events["kind"] == PUT) | (events["kind"] == GET)) & (events["peer"] >= 0)]
    reads = of_rank["kind"] == GET
    return np.where(reads, of_rank["peer"], rank), np.where(reads, rank, of_rank["peer"]), of_rank["bytes"]


def one_sided_untold(events: Mapping[int, Array]) -> bool:
    """Whether there are one-sided calls whose target is not recorded, as in older records."""
    return any(
        bool((((of_rank["kind"] == PUT) | (of_rank["kind"] == GET)) & (of_rank["peer"] < 0)).any())
        for of_rank in events.values()
    )
