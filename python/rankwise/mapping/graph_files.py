"""Any program's traffic from files: what ``rankwise observe`` wrote, MatrixMarket, METIS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankwise.errors import InputError
from rankwise.files import read_text
from rankwise.mapping.traffic import Traffic

if TYPE_CHECKING:
    from rankwise.observe.record import Record

_MEND = "give a square MatrixMarket coordinate matrix (row sends to column) or a METIS graph"
_MOST_RANKS = 10_000_000


def traffic_of(record: Record, name: str) -> Traffic:
    """Return what an observed program sent; what was fetched from a rank counts as sent by it."""
    source = np.repeat(np.arange(record.ranks), np.diff(record.pointer))
    sent = record.bytes.astype(np.int64) + record.pulled.astype(np.int64)
    messages = np.maximum(record.messages.astype(np.int64), record.pulled > 0)
    nodes = np.asarray(record.node_of_rank, dtype=np.int32)
    known = {} if (nodes < 0).any() else {"node_of_rank": nodes, "hosts": record.hosts}
    return Traffic.of_pairs(name, record.ranks, (source, record.peer, sent), messages, **known)


def read_graph(path: Path) -> Traffic:
    """Read a graph whose weights are bytes. Raises InputError."""
    text = read_text(path, "--graph", _MEND)
    lines = text.splitlines()
    if not lines:
        raise InputError(f"--graph {path} is empty: {_MEND}")
    try:
        triples, ranks = (_matrix_market if lines[0].lower().startswith("%%matrixmarket") else _metis)(lines)
        source, dest, weight = (np.array(values) for values in triples)
        ends = np.concatenate((source, dest))
        if not 1 <= ranks <= _MOST_RANKS or ((ends < 0) | (ends >= ranks)).any():
            raise ValueError
        if not (np.isfinite(weight) & (weight >= 0)).all() or weight.sum() >= 2**53:
            raise ValueError
    except (ValueError, IndexError, OverflowError):
        raise InputError(f"--graph {path} is no graph that is understood: {_MEND}") from None
    return Traffic.of_pairs(path.name, ranks, (source, dest, np.ceil(weight)))


_Triples = tuple[list[int], list[int], list[float]]


def _matrix_market(lines: list[str]) -> tuple[_Triples, int]:
    _, kind, layout, values, symmetry = lines[0].lower().split()
    known = values in ("real", "integer", "pattern") and symmetry in ("general", "symmetric")
    if (kind, layout) != ("matrix", "coordinate") or not known:
        raise ValueError
    rows = [line.split() for line in lines[1:] if line.strip() and not line.startswith("%")]
    ranks, columns, entries = map(int, rows[0])
    if ranks != columns or entries != len(rows) - 1:
        raise ValueError
    source: list[int] = []
    dest: list[int] = []
    weight: list[float] = []
    for row in rows[1:]:
        i, j, value = int(row[0]) - 1, int(row[1]) - 1, 1.0 if values == "pattern" else float(row[2])
        for a, b in ((i, j), (j, i)) if symmetry == "symmetric" and i != j else ((i, j),):
            source.append(a)
            dest.append(b)
            weight.append(value)
    return (source, dest, weight), ranks


def _metis(lines: list[str]) -> tuple[_Triples, int]:
    rows = [line.split() for line in lines if not line.startswith("%")]
    header = rows[0]
    ranks, edges = int(header[0]), int(header[1])
    form = (header[2] if len(header) > 2 else "0").zfill(3)
    of_edges = form[2] == "1"
    constraints = int(header[3]) if len(header) > 3 else 1
    skip = (form[0] == "1") + (constraints if form[1] == "1" else 0)
    del rows[ranks + 1 :]
    if len(rows) != ranks + 1 or set(form) - {"0", "1"}:
        raise ValueError
    source: list[int] = []
    dest: list[int] = []
    weight: list[float] = []
    for rank, row in enumerate(rows[1:]):
        words = row[skip:]
        if of_edges and len(words) % 2:
            raise ValueError
        source += [rank] * len(words[:: 1 + of_edges])
        dest += [int(word) - 1 for word in words[:: 1 + of_edges]]
        weight += map(float, words[1::2]) if of_edges else [1.0] * len(words)
    if len(source) != 2 * edges:
        raise ValueError
    return (source, dest, weight), ranks
