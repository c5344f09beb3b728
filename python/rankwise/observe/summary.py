"""Figures of a record: shares of the time, the heaviest calls and pairs, the matrix as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.record import Record
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record

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


@record
class Pair(JsonRecord):
    """What one rank sent to another."""

    source: int = key("sender")
    dest: int = key("receiver")
    messages: int = key("number of messages")
    bytes: int = key("bytes in all")
    pulled: int = key("bytes that the receiver fetched", optional=True)


@record
class CallTime(JsonRecord):
    """A function of MPI."""

    call: str = key("name of the function")
    calls: int = key("how many calls, of all ranks together")
    seconds: float = key("time in it, of all ranks")
    sampled: bool = key("whether its time is scaled from windows")


def crowded_host(record: Record) -> tuple[str, int, int] | None:
    """Return the host that had most ranks for a core, more than one, with its ranks and cores; None where none had."""
    cores = record.header.get("cores_of_host", [])
    ranks = np.bincount(record.node_of_rank[record.node_of_rank >= 0], minlength=len(record.hosts)).tolist()
    crowded = [(host, own, of) for host, own, of in zip(record.hosts, ranks, cores, strict=False) if of and own > of]
    return max(crowded, key=lambda one: one[1] / one[2], default=None)


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
