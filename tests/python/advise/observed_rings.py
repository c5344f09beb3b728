"""Records of programs whose truth is known, and a machine to judge them by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.machine.profile import Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.observe.record import HISTOGRAM_BINS, Record
from straight import link
from synthetic_events import Op, simulate

RANKS, STEPS, SIZE = 8, 30, 100_000
HOSTS = tuple(f"n{i}" for i in range(1, 9))


PROFILE = Profile(
    {}, {"same-socket": link(1e-6, 1e-10), "other-node": link(2e-5, 1e-8)}, "", {}, shared=Shared(card=Resource(1e8))
)


def record_of(
    programs: Sequence[Sequence[Op]], node_of_rank: Sequence[int], command: Sequence[str] = ("mpiexec", "-n", "8", "./a b")
) -> Record:
    """Return what the tracer would have written of programs that were simulated."""
    events = simulate(programs)
    ranks = len(programs)
    matrix = np.zeros((2, ranks, ranks), np.int64)
    for rank, of_rank in events.items():
        sent = of_rank[np.isin(of_rank["kind"], (0, 2))]
        np.add.at(matrix[0], (rank, sent["peer"]), 1)
        np.add.at(matrix[1], (rank, sent["peer"]), sent["bytes"])
    source, peer = np.nonzero(matrix[0])
    nodes = np.array(node_of_rank, np.int32)
    seconds = [float(of_rank["end_ns"][-1]) * 1e-9 for of_rank in events.values()]
    header = {
        "calls": [f"call {i}" for i in range(20)],
        "seconds": max(seconds),
        "seconds_of_rank": seconds,
        "command": list(command),
    }
    header |= {"cores_of_host": [ranks] * (nodes.max() + 1), "clock_uncertainty_ns": [0] * (nodes.max() + 1)}
    none = np.full(ranks, -1, np.int32)
    pointer = np.searchsorted(source, np.arange(ranks + 1))
    counts = [matrix[i][source, peer].astype(np.uint64) for i in (0, 1)]
    return Record(
        header, ranks, HOSTS[: nodes.max() + 1], nodes, none, none, pointer, peer.astype(np.uint32), *counts,
        np.zeros(len(peer), np.uint64), np.zeros((len(peer), HISTOGRAM_BINS), np.uint32), events,
    )  # fmt: skip
