"""Efficiencies of the whole run with the names and definitions of TALP (DLB): every moment outside MPI is useful."""

from __future__ import annotations

import numpy as np

from rankwise.observe.record import Record
from rankwise.observe.summary import mpi_seconds
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record


@record
class Talp(JsonRecord):
    """What TALP tells of the region "Global", from MPI_Init to MPI_Finalize; a rank counts as a processor. Times are in ns."""

    ranks: int = key("number of ranks", name="numMpiRanks")
    cpus: int = key("processors: the ranks", name="numCpus")
    nodes: int = key("number of nodes", name="numNodes")
    calls: int = key("calls of MPI, of all ranks together", name="numMpiCalls")
    elapsed: int = key("time from MPI_Init to MPI_Finalize of the longest rank", name="elapsedTime")
    useful: int = key("time outside MPI, of all ranks together", name="usefulTime")
    mpi: int = key("time in MPI, of all ranks together", name="mpiTime")
    parallel: float = key("mean useful time over the elapsed time", name="parallelEfficiency")
    mpi_parallel: float = key("parallelEfficiency, since only MPI is counted", name="mpiParallelEfficiency")
    communication: float = key("greatest useful time over the elapsed time", name="mpiCommunicationEfficiency")
    load_balance: float = key("mean useful time over the greatest", name="mpiLoadBalance")
    load_balance_in: float = key("greatest mean useful time of a node over the greatest of a rank", name="mpiLoadBalanceIn")
    load_balance_out: float = key("mean useful time over the greatest mean of a node", name="mpiLoadBalanceOut")


def talp_of(record: Record) -> Talp | None:
    """Return TALP's figures; None where the time in MPI is not known."""
    total_s = np.asarray(record.header.get("seconds_of_rank", []), float)
    if len(total_s) != record.ranks or not record.call_ns.size:
        return None
    mpi_s = np.minimum(mpi_seconds(record), total_s)
    useful_s, elapsed_s = total_s - mpi_s, float(total_s.max())
    if elapsed_s <= 0 or not useful_s.any():
        return None
    nodes = np.unique(record.node_of_rank, return_inverse=True)[1].reshape(-1)
    of_node = float((np.bincount(nodes, useful_s) / np.bincount(nodes)).max())
    mean, most = float(useful_s.mean()), float(useful_s.max())
    elapsed, useful, mpi = (round(1e9 * float(seconds)) for seconds in (elapsed_s, useful_s.sum(), mpi_s.sum()))
    return Talp(
        record.ranks, record.ranks, int(nodes.max()) + 1, int(record.call_counts.sum()), elapsed, useful, mpi,
        mean / elapsed_s, mean / elapsed_s, most / elapsed_s, mean / most, of_node / most, mean / of_node,
    )  # fmt: skip
