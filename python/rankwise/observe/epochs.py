"""One-sided communication as events of a step: fences as collectives, the other ends of epochs and accesses as calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.record import COLLECTIVE, KINDS, TIME_ONLY

EPOCH, PUT, GET, EXPOSED = range(len(KINDS), len(KINDS) + 4)  # kinds of events that are in no file; the last: an exposure ends
FENCES = (1 << 16) - 2  # number of the communicator of all windows: their fences are counted together
_WRITES = ("Put", "Rput", "Accumulate", "Raccumulate", "Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap")
_READS = ("Get", "Rget")
_EPOCHS = ("start", "complete", "post", "lock", "unlock", "lock_all", "unlock_all")
_KIND_OF_CALL = {
    "MPI_Win_fence": COLLECTIVE,
    **{f"MPI_Win_{name}": EPOCH for name in _EPOCHS},
    **{f"MPI_Win_{name}": EXPOSED for name in ("wait", "test")},
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


def exposures(events: Mapping[int, Array]) -> list[tuple[tuple[int, int], dict[int, int]]]:
    """Return where exposures end (rank, place), and the place of the first access of each rank that they let in; -1: unknown.

    Groups are in no record: a rank that exposes its window as often as each of the others has an epoch with accesses to it lets
    all of them in each time; of one that does so more often nothing is known.
    """
    first: dict[tuple[int, int], Array] = {}  # places of (origin, target)
    for rank, of_rank in events.items():
        at = np.flatnonzero(((of_rank["kind"] == PUT) | (of_rank["kind"] == GET)) & (of_rank["peer"] >= 0))
        number = np.cumsum(of_rank["kind"] == EPOCH)[at]  # of the epoch
        for peer in np.unique(of_rank["peer"][at]).tolist():
            to_it = of_rank["peer"][at] == peer
            first[rank, peer] = at[to_it][np.unique(number[to_it], return_index=True)[1]]
    found = []
    for rank, of_rank in events.items():
        ends: list[int] = np.flatnonzero(of_rank["kind"] == EXPOSED).tolist()
        origins = {one: places for (one, target), places in first.items() if target == rank and one != rank}
        if ends and origins and all(abs(len(places) - len(ends)) <= 1 for places in origins.values()):
            for k, end in enumerate(ends):
                let_in = {one: int(places[k]) if k < len(places) else -1 for one, places in origins.items()}
                found.append(((rank, end), let_in))
    return found


def one_sided_untold(events: Mapping[int, Array]) -> bool:
    """Whether there are one-sided calls whose target is not recorded, as in older records."""
    return any(
        bool((((of_rank["kind"] == PUT) | (of_rank["kind"] == GET)) & (of_rank["peer"] < 0)).any())
        for of_rank in events.values()
    )
