"""Figures of a record: shares of the time, the heaviest calls and pairs, the matrix as text."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np

from rankwise.observe.record import Array, Record

_SHADES = " .:-=+*#%@"


def mpi_seconds(record: Record) -> Array:
    """Return for each rank the time in MPI, in seconds; of calls that are timed
    in windows only, as much as their share there says."""
    if not record.call_ns.size:
        return np.zeros(record.ranks)
    return np.asarray(record.call_ns.sum(axis=1) * 1e-9)


def mpi_share(record: Record) -> float | None:
    """Return the share of all ranks' time between Init and Finalize that they were in MPI; None where that is not known."""
    total = float(np.sum(record.header.get("seconds_of_rank", [])))
    return min(1.0, float(mpi_seconds(record).sum()) / total) if total > 0 and record.call_ns.size else None


class Pair(TypedDict):
    """What one rank sent to another."""

    source: Annotated[int, "sender"]
    dest: Annotated[int, "receiver"]
    messages: Annotated[int, "number of messages"]
    bytes: Annotated[int, "bytes in all"]
    pulled: NotRequired[Annotated[int, "bytes that the receiver fetched"]]


class CallTime(TypedDict):
    """A function of MPI."""

    call: Annotated[str, "name of the function"]
    calls: Annotated[int, "how many calls, of all ranks together"]
    seconds: Annotated[float, "time in it, of all ranks"]
    sampled: Annotated[bool, "whether its time is scaled from windows"]


class CollectiveCalls(TypedDict):
    """Collective calls that are alike."""

    call: Annotated[str, "name of the function"]
    comm: Annotated[int, "place in communicators; 65535: a further one"]
    bytes: Annotated[int, "bytes that a rank contributes in a call; of bcast and scatter, its share"]
    root: Annotated[int | None, "root; null: none"]
    calls: Annotated[int, "how many calls, of all ranks together"]
    ranks: Annotated[int, "how many ranks made such calls"]
    seconds: NotRequired[Annotated[float | None, "time in these calls"]]


class Communicator(TypedDict):
    """A communicator."""

    size: Annotated[int, "number of its ranks"]
    ranks: Annotated[list[int] | None, "ranks that used it; null: all"]


class Cart(TypedDict):
    """A call of MPI_Cart_create."""

    dims: Annotated[list[int], "shape of the grid"]
    periodic: Annotated[list[bool], "whether each axis wraps around"]
    reorder: Annotated[bool, "whether ranks may be reordered"]


def call_table(record: Record) -> list[dict[str, Any]]:
    """Return the calls by their time, the longest first: ``call``, ``calls``, ``seconds`` of all ranks, ``sampled``."""
    if not record.call_counts.size:
        return []
    counts, seconds = record.call_counts.sum(axis=0), record.call_ns.sum(axis=0) * 1e-9
    sampled = set(record.header.get("sampled_calls", []))
    order = sorted(range(len(counts)), key=lambda i: (-seconds[i], record.header["calls"][i]))
    names = record.header["calls"]
    return [
        {"call": names[i], "calls": int(counts[i]), "seconds": float(seconds[i]), "sampled": names[i] in sampled} for i in order
    ]


def senders(record: Record) -> Array:
    """Return the sending rank of each edge."""
    return np.repeat(np.arange(record.ranks), np.diff(record.pointer))


def pairs(record: Record) -> list[dict[str, int]]:
    """Return the edges: ``source``, ``dest``, ``messages``, ``bytes``, and ``pulled`` where ``dest`` fetched some."""
    columns = zip(senders(record), record.peer, record.messages, record.bytes, record.pulled, strict=True)
    return [
        {"source": int(a), "dest": int(b), "messages": int(m), "bytes": int(n)} | ({"pulled": int(p)} if p else {})
        for a, b, m, n, p in columns
    ]


def bytes_between_hosts(record: Record) -> int:
    """Return the bytes that went from one host to another, those fetched included; of ranks whose host is known."""
    source, dest = record.node_of_rank[senders(record)], record.node_of_rank[record.peer]
    across = (source != dest) & (source >= 0) & (dest >= 0)
    return int((record.bytes + record.pulled)[across].sum())


def matrix_lines(record: Record, most: int = 64) -> list[str]:
    """Return the matrix of bytes as text: a character for each pair, by powers of
    10 below the heaviest; none beyond ``most`` ranks."""
    if record.ranks > most or not len(record.peer):
        return []
    matrix, _ = coarse_matrix(record, most)
    heaviest = matrix.max()
    if heaviest == 0:
        return []
    with np.errstate(divide="ignore"):
        depth = np.where(matrix > 0, np.clip(9 + 2 * np.log10(matrix / heaviest), 1, 9), 0).round().astype(int)
    width = len(str(record.ranks - 1))
    return [f"{rank:>{width}} |" + "".join(_SHADES[i] for i in row) + "|" for rank, row in enumerate(depth)]


def coarse_matrix(record: Record, most: int = 512) -> tuple[Array, int]:
    """Return the matrix of bytes for at most ``most`` rows, and how many ranks stand behind each."""
    each = -(-record.ranks // most)
    matrix = np.zeros((-(-record.ranks // each),) * 2)
    np.add.at(matrix, (senders(record) // each, record.peer // each), (record.bytes + record.pulled).astype(float))
    return matrix, each
