"""Records of programs whose truth is known, and a machine to judge them by."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.machine.profile import Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.observe.record import Record
from straight import link
from synthetic_events import Op, recorded

RANKS, STEPS, SIZE = 8, 30, 100_000
HOSTS = tuple(f"n{i}" for i in range(1, 9))


PROFILE = Profile(
    {}, {"same-socket": link(1e-6, 1e-10), "other-node": link(2e-5, 1e-8)}, "", {}, shared=Shared(card=Resource(1e8))
)


def record_of(
    programs: Sequence[Sequence[Op]], node_of_rank: Sequence[int], command: Sequence[str] = ("mpiexec", "-n", "8", "./a b")
) -> Record:
    """Return what the tracer would have written of programs that were simulated."""
    found, hosts = recorded(programs, node_of_rank, calls=[f"call {i}" for i in range(20)]), max(node_of_rank) + 1
    seconds = [float(of_rank["end_ns"][-1]) * 1e-9 for of_rank in found.events.values()]
    found.header.update(
        seconds=max(seconds), seconds_of_rank=seconds, command=list(command),
        cores_of_host=[len(programs)] * hosts, clock_uncertainty_ns=[0] * hosts,
    )  # fmt: skip
    return found
