"""CSV with a header; the columns' units stand in their names.

``message_bytes`` (or ``size_bytes``), and one of ``latency_s``, ``latency_ms``, ``latency_us``, ``latency_ns`` (or
``time_...``), the one-way time of a message. The 95 % interval comes from columns ``..._lo_...`` and ``..._hi_...``
(``time_lo_s``, ``time_hi_s``; both empty: not known), else from ``sigma_...`` in the same unit; ``samples`` counts what a row
stands for. With ``link`` and ``sending`` columns one file holds all tables of a profile.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.link import LEAST_SIZES, LEAST_TIME_S, MOST_BYTES, MOST_TIME_S, Point
from rankwise.machine.profile import LINK_CLASSES
from rankwise.measure.imports.table import SEND, Table

_SIZE_COLUMNS = ("message_bytes", "size_bytes")
_TIME_COLUMN = re.compile(r"(latency|time)_(s|ms|us|ns)")
_INTERVAL_COLUMN = re.compile(r"(sigma|(?:latency|time)_(?:lo|hi))_(s|ms|us|ns)")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_AS_PUBLISHED = "as published"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def read_csv(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read all tables of a CSV file. Raises InputError with the line that is wrong and the fix."""
    try:
        rows = list(csv.reader(line + "\n" for line in lines))
    except csv.Error as error:
        raise InputError(f"table {path} cannot be read ({error}): give a CSV file") from None
    columns = [cell.strip() for cell in rows[0]] if rows else []
    header = _Header(path, columns)
    points: dict[tuple[str | None, str, str], dict[int, Point]] = {}
    starts: dict[tuple[str | None, str, str], int] = {}
    ends: dict[tuple[str | None, str, str], int] = {}
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"table {path}, line {number}"
        row = {name: cell.strip() for name, cell in zip_longest(columns, cells[: len(columns)], fillvalue="")}
        key = header.key(row, where)
        starts.setdefault(key, number)
        ends[key] = number
        point = header.point(row, where)
        if point.size_bytes in points.setdefault(key, {}):
            raise InputError(f"{where}: size {point.size_bytes} B stands there twice: keep one row a size")
        points[key][point.size_bytes] = point
    if not points:
        raise InputError(_too_few(f"table {path}", len(rows), 0))
    tables = []
    for key, by_size in points.items():
        link, sending, statistic = key
        if len(by_size) < LEAST_SIZES:
            what = f"table {path}" if len(points) == 1 else f"table {path}, line {starts[key]}: {link or 'the table'} {sending}"
            raise InputError(_too_few(what, ends[key], len(by_size)))
        rows_in_order = tuple(by_size[size] for size in sorted(by_size))
        tables.append(Table(path, starts[key], "CSV", sending, sending, statistic, rows_in_order, link=link))
    return tables


def _too_few(what: str, last_line: int, count: int) -> str:
    return (
        f"{what} ends at line {last_line} with {count} size(s): a model of two parameters needs at least {LEAST_SIZES}, or "
        "nothing is left to test it; add sizes"
    )


class _Header:
    """What the columns are called, and in which unit times stand."""

    def __init__(self, path: Path, header: list[str]) -> None:
        size = next((column for column in _SIZE_COLUMNS if column in header), None)
        times = [match for column in header if (match := _TIME_COLUMN.fullmatch(column))]
        if size is None or len(times) != 1:
            raise InputError(
                f"table {path}, line 1: the header needs message_bytes and one of latency_s, latency_ms, latency_us, "
                f"latency_ns, and has: {' '.join(','.join(header).split())[:200] or 'nothing'}; output of OSU benchmarks, "
                "IMB, nccl-tests and mpi4py.bench is read too"
            )
        name, unit = times[0].groups()
        self._size, self._time, self._scale = size, times[0][0], _UNITS[unit]
        self._ends, self._sigma = [f"{name}_{end}_{unit}" for end in ("lo", "hi")], f"sigma_{unit}"
        for column in header:
            if (other := _INTERVAL_COLUMN.fullmatch(column)) and f"{other[1]}_{unit}" not in header:
                raise InputError(
                    f"table {path}, line 1: {column} is in another unit than {times[0][0]}: write both in one unit"
                )

    def key(self, row: Mapping[str, str], where: str) -> tuple[str | None, str, str]:
        """Return link class (None where the file names none), way of sending and statistic of a row."""
        link, sending = row.get("link"), row.get("sending", SEND)
        if link is not None and link not in LINK_CLASSES:
            raise InputError(f"{where}: link '{link}' is no link class: give one of {', '.join(LINK_CLASSES)}")
        if not _NAME.fullmatch(sending):
            raise InputError(f"{where}: sending '{sending}' is no name: give send or a variant such as ssend")
        return link, sending, row.get("statistic") or _AS_PUBLISHED

    def point(self, row: Mapping[str, str], where: str) -> Point:
        size, time_s = _number(row, self._size, where), _number(row, self._time, where) * self._scale
        if not 0 <= size <= MOST_BYTES or size != int(size):
            raise InputError(f"{where}: message_bytes {row[self._size]} is not a size: give whole bytes, at least 0")
        if not LEAST_TIME_S <= time_s <= MOST_TIME_S:
            raise InputError(f"{where}: {self._time} {row[self._time]} is not a time: give one above 0")
        low_s = high_s = time_s
        if all(end in row for end in self._ends) and any(row[end] for end in self._ends):
            low_s, high_s = (_number(row, end, where) * self._scale for end in self._ends)
            if not 0 <= low_s <= high_s or high_s > MOST_TIME_S:
                raise InputError(
                    f"{where}: the interval {low_s:g} to {high_s:g} s is upside down, or no time: give low, then high"
                )
        elif self._sigma in row:
            half_width_s = 1.96 * _number(row, self._sigma, where) * self._scale
            if not 0 <= half_width_s <= MOST_TIME_S:
                raise InputError(f"{where}: {self._sigma} {row[self._sigma]} is negative, or no time: give at least 0")
            low_s, high_s = max(0.0, time_s - half_width_s), time_s + half_width_s
        samples = _number(row, "samples", where) if "samples" in row else 1.0
        if not 1 <= samples <= MOST_BYTES or samples != int(samples):
            raise InputError(f"{where}: samples {samples:g} is not a count: give whole numbers, at least 1")
        return Point(int(size), time_s, low_s, high_s, int(samples))


def _number(row: Mapping[str, str], column: str, where: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {column} '{row[column]}' is not a number: correct or remove the line")
    return value
