"""The output of mpi4py's own benchmark, ``python -m mpi4py.bench pingpong``: mean and deviation of one-way times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import RERUN, SEND, Rows, Table, is_other_text, read_size

_TITLE = re.compile(r"# MPI PingPong Test\s*")
_HEADER = re.compile(r"# Size \[B\]\s+Bandwidth \[MB/s\](\s+\| Time Mean \[s\] \S+ StdDev \[s\]\s+Samples)?\s*")
_COLUMNS = {
    "Size [B]": r"\s*(\d+)\s+", "Bandwidth [MB/s]": r"\d+\.\d{2} \| ", "Time Mean [s]": r"(\d\.\d{7}e[+-]\d{2}) \S+ ",
    "StdDev [s]": r"(\d\.\d{4}e[+-]\d{2})\s+", "Samples": r"(\d+)\s*",
}  # fmt: skip
_ROW = re.compile("".join(_COLUMNS.values()))


def recognises_mpi4py(lines: Sequence[str]) -> bool:
    """Tell whether mpi4py's benchmark wrote these lines."""
    return any(_TITLE.fullmatch(line) for line in lines)


def read_mpi4py(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read the ping-pong table of mpi4py's benchmark. Raises InputError."""
    start = next((number for number, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if start is None:
        raise InputError(f"{path}, line {len(lines)}: the file ends before the table of mpi4py.bench begins: {RERUN}")
    match = _HEADER.fullmatch(lines[start])
    if match is None or match[1] is None:
        raise InputError(
            f"{path}, line {start + 1}: without times (--no-stats) there is only a rounded bandwidth: run it without"
        )
    rows = Rows()
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        if not line.strip() or line.startswith("#") or is_other_text(line):
            continue
        where = f"{path}, line {number}"
        row = _ROW.fullmatch(line)
        if row is None:
            raise InputError(
                f"{where}: {_wrong_in(line)} is not as mpi4py.bench prints it: the line is cut off or edited: {RERUN}"
            )
        mean_s, deviation_s, samples = float(row[2]), float(row[3]), max(1, read_size(row[4], where))
        half_s = 1.96 * deviation_s / math.sqrt(samples)
        rows.add(read_size(row[1], where), mean_s, max(0.0, mean_s - half_s), mean_s + half_s, samples, where)
    points = rows.finish(f"{path}, line {start + 1}")
    return [Table(path, start + 1, "mpi4py.bench pingpong", SEND, "a ping-pong", "mean", points)]


def _wrong_in(line: str) -> str:
    """Return the first column that is not as it should be."""
    columns = list(_COLUMNS)
    return next(
        (name for i, name in enumerate(columns) if not re.match("".join(_COLUMNS[one] for one in columns[: i + 1]), line)),
        columns[-1],
    )
