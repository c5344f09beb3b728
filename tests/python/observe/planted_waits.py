"""Programs in which ranks wait in one way (planted_waits.c), and how long they did by the times that they wrote themselves."""

from __future__ import annotations

from pathlib import Path

from rankwise.observe.waits import BARRIER, EARLY_REDUCE, KINDS, LATE_BROADCAST, LATE_RECEIVER, LATE_SENDER, N_TO_N

# The kind of waiting that is planted; the line of the call that comes late, by what it says.
MODES = {
    "late-sender": (LATE_SENDER, "MPI_Send("), "late-receiver": (LATE_RECEIVER, "MPI_Recv(block, sizeof block"),
    "barrier": (BARRIER, "MPI_Barrier("), "n-to-n": (N_TO_N, "MPI_Allreduce("), "sweep": (LATE_SENDER, "rank + 1, MPI_Send("),
    "imbalance": (LATE_SENDER, "MPI_Irecv("), "late-broadcast": (LATE_BROADCAST, "MPI_Bcast("),
    "early-reduce": (EARLY_REDUCE, "MPI_Reduce("),
}  # fmt: skip


def planted_s(times: Path, ranks: int) -> dict[str, list[float]]:
    """Return how long calls waited by kind, as Scalasca defines it, from each rank's own times of its calls."""
    calls: dict[tuple[str, str], dict[int, tuple[int, float, float]]] = {}  # step and call: by rank, and partner
    waited: dict[str, list[float]] = {kind: [] for kind in KINDS}
    sends: dict[tuple[str, int, int], tuple[float, float]] = {}
    receives: dict[tuple[str, int, int], tuple[float, float]] = {}
    for rank in range(ranks):
        for line in Path(f"{times}.{rank}").read_text().splitlines():
            step, call, partner, begun, ended = line.split()
            ends = (float(begun), float(ended))
            if call.endswith("send"):
                sends[step, rank, int(partner)] = ends
            elif call == "receive":
                receives[step, int(partner), rank] = ends
            else:
                calls.setdefault((step, call), {})[rank] = (int(partner), *ends)
            if call == "ssend":
                sends[f"{step} ssend", rank, int(partner)] = ends
    for (step, *pair), (begun, ended) in receives.items():
        waited[LATE_SENDER].append(min(max(0.0, sends[step, pair[0], pair[1]][0] - begun), ended - begun))
        if ssend := sends.get((f"{step} ssend", pair[0], pair[1])):
            waited[LATE_RECEIVER].append(min(max(0.0, begun - ssend[0]), ssend[1] - ssend[0]))
    for (_, call), of_rank in calls.items():
        root = next(iter(of_rank.values()))[0]
        for rank, (_, begun, ended) in of_rank.items():
            if call == "bcast":
                kind, came = LATE_BROADCAST, of_rank[root][1]
            elif call == "reduce":
                others = [of_rank[other][1] for other in of_rank if other != root]
                kind, came = EARLY_REDUCE, max(others) if rank == root else begun
            else:
                kind, came = BARRIER if call == "barrier" else N_TO_N, max(one[1] for one in of_rank.values())
            waited[kind].append(min(max(0.0, came - begun), ended - begun))
    return waited
