"""What collective calls of a step could do without: barriers next to other collectives, sums one by one, waiting in them; and
what settings of the MPI library gain.

A gain of a change is a part of the time in these calls that is no waiting: who waits for a rank that comes late waits elsewhere
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.advise.evidence import Evidence
from rankwise.arrays import Array
from rankwise.collectives.selection import library_to_set, publishes_rules
from rankwise.collectives.settings import Library
from rankwise.engines.model import Model
from rankwise.observe.collective_times import Called, called
from rankwise.observe.record import Record
from rankwise.observe.steps import Steps
from rankwise.observe.wait_causes import labels_of, place_of
from rankwise.tune.calls import of_record
from rankwise.tune.choice import Gain, together
from rankwise.tune.protocol import chooser_of, words_of
from rankwise.units import format_size, format_time

_SMALL_BYTES = 4096  # of calls that may be one
_AT_ONCE_NS = 10_000  # computing between two calls below which the second hardly needs what the first gives
_FUSED = ("MPI_Allreduce", "MPI_Reduce", "MPI_Bcast")
_OVERLAPPED = ("MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Allgatherv", "MPI_Reduce_scatter")
Change = tuple[str, str, float, bool, str]  # what, why, gain of a step in seconds, whether it is sure, what does it


def changes(evidence: Evidence) -> Iterator[Change]:
    """Yield what could be changed in the collectives of a step."""
    steps, waits, names = evidence.steps, evidence.waits, evidence.record.header.get("calls", [])
    if steps is None or waits is None or waits.why_not is not None:
        return
    ranks = called(steps, evidence.events, labels_of(evidence.record, steps, evidence.events), waits)
    each = 1e-9 / (len(ranks) * len(steps.sample))

    def found(which: Callable[[Called], tuple[Array, Array]]) -> tuple[float, str]:
        """Return the gain of some calls of all ranks, and where most of it is."""
        at: dict[int, float] = {}
        for rank in ranks:
            mask, gain_ns = which(rank)
            labels, where = np.unique(rank.at[mask], return_inverse=True)
            for label, gain in zip(labels.tolist(), np.bincount(where.reshape(-1), gain_ns[mask]).tolist(), strict=True):
                at[label] = at.get(label, 0.0) + gain * each
        return sum(at.values()), str(place_of(evidence.record, max(at, key=lambda one: at[one]))) if at else ""

    def of(*wanted: str) -> Array:
        return np.array([name in wanted for name in names], bool)

    def transfer(rank: Called) -> Array:
        return np.asarray(np.maximum(rank.time_ns - rank.wait_ns, 0))

    def next_to(rank: Called) -> Array:
        """Whether the call before is a collective of the same communicator, with next to nothing computed between both."""
        same = (rank.comm[1:] == rank.comm[:-1]) & rank.follows[:-1] & (rank.behind_ns[:-1] < _AT_ONCE_NS)
        return np.append(False, same)[: len(rank.call)]

    barrier, fused, overlapped = of("MPI_Barrier"), of(*_FUSED), of(*_OVERLAPPED)

    def at_collectives(rank: Called) -> tuple[Array, Array]:
        joined = next_to(rank)
        return barrier[rank.call] & (joined | np.append(joined[1:], False)), transfer(rank)

    def in_a_row(rank: Called) -> tuple[Array, Array]:
        small = fused[rank.call] & (rank.bytes <= _SMALL_BYTES) & rank.blocks
        same = np.append(False, (rank.call[1:] == rank.call[:-1]) & small[:-1])[: len(small)]
        return small & same & next_to(rank), transfer(rank)

    def before_computing(rank: Called) -> tuple[Array, Array]:
        return overlapped[rank.call] & rank.blocks & (rank.behind_ns > 0), np.minimum(transfer(rank), rank.behind_ns)

    gain_s, where = found(at_collectives)
    yield (
        "Leave out barriers next to another collective", f"most in {where}; all ranks meet there anyway", gain_s, True,
        "delete MPI_Barrier where no file, one-sided access or timer needs it",
    )  # fmt: skip
    gain_s, where = found(lambda rank: (barrier[rank.call] & ~at_collectives(rank)[0], transfer(rank)))
    yield (
        "Leave out barriers", f"most in {where}; messages need none", gain_s, False,
        "delete MPI_Barrier where no file, one-sided access or timer needs it",
    )  # fmt: skip
    gain_s, where = found(in_a_row)
    why = f"most in {where}; only where a call does not need what the one before gives"
    one = "one MPI_Allreduce of an array, in place of one for each value"
    yield "Fuse small collectives in a row into one", why, gain_s, False, one
    gain_s, where = found(before_computing)
    yield (
        "Overlap collectives with the computing behind them",
        f"most in {where}; only where that computing does not need the result, and the MPI goes on meanwhile", gain_s, False,
        "MPI_Iallreduce before, MPI_Wait behind the computing",
    )  # fmt: skip


@dataclass(frozen=True)
class Recommended:
    """The gain of all settings, of a step (or the run, where no step is known), and the collective that gains most."""

    gain: Gain
    why: str


def recommended(record: Record, steps: Steps | None, model: Model) -> Recommended | None:
    """Return what settings gain; None where no collective is called, or the library's rules are not known."""
    library, _ = library_to_set(str(record.header.get("mpi") or ""))
    if library is None:
        return None
    calls, _ = of_record(record, steps, timed=not publishes_rules(library))
    if not calls:
        return None
    choices = [one for one in chooser_of(Library(library), model.profile).choose(calls) if not one.is_left]
    each = [(one, one.gain.times(one.in_run if one.in_step is None else one.in_step)) for one in choices]
    each = [(one, gain) for one, gain in each if gain.s > 0]
    if not each:
        return Recommended(Gain(0.0, 0.0, 0.0), "")
    best, _ = max(each, key=lambda pair: pair[1].s)
    return Recommended(
        together(gain for _, gain in each),
        f"a {best.kind} of {format_size(best.size_bytes)} takes {format_time(best.now_s)} as {library} selects "
        f"({best.selected.name}); {words_of(best)} takes {format_time(best.new_s)}",
    )  # fmt: skip
