"""The output of mpi4py's own benchmark, ``python -m mpi4py.bench pingpong``: mean and deviation of one-way times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import RERUN, SEND, Lines, Rows, Table, read_size

_TITLE = re.compile(r"# MPI PingPong Test\s*")
_HEADER = re.compile(r"# Size \[B\]\s+Bandwidth \[MB/s\](\s+\| Time Mean \[s\] \S+ StdDev \[s\]\s+Samples)?\s*")
SIGNS = (_TITLE,)
_COLUMNS = {
    "Size [B]": r"\d+", "Bandwidth [MB/s]": r"\d+\.\d{2}", "|": r"\|", "Time Mean [s]": r"\d\.\d{7}e[+-]\d{2}", "±": r"\S+",
    "StdDev [s]": r"\d\.\d{4}e[+-]\d{2}", "Samples": r"\d+",
}  # fmt: skip


def read_mpi4py(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read the ping-pong table of mpi4py's benchmark. Raises InputError."""
    source = Lines(path, lines)
    header = next((match for line in source if (match := _HEADER.fullmatch(line))), None)
    if header is None:
        raise source.missing("the table of mpi4py.bench")
    if header[1] is None:
        raise InputError(f"{source.where}: without times (--no-stats) there is only a rounded bandwidth: run it without")
    start, rows, notes = source.number, Rows(), list[str]()
    for cells in source.rows(len(_COLUMNS), notes):
        where = source.where
        for cell, (name, pattern) in zip(cells, _COLUMNS.items(), strict=True):
            if re.fullmatch(pattern, cell) is None:
                raise InputError(f"{where}: {name} is not as mpi4py.bench prints it: the line is cut off or edited: {RERUN}")
        mean_s, deviation_s, samples = float(cells[3]), float(cells[5]), max(1, read_size(cells[6], where))
        half_s = 1.96 * deviation_s / math.sqrt(samples)
        rows.add(read_size(cells[0], where), mean_s, max(0.0, mean_s - half_s), mean_s + half_s, samples, where)
    points = rows.finish(source.at(start))
    return [Table(path, start, "mpi4py.bench pingpong", SEND, "a ping-pong", "mean", points, tuple(notes))]
