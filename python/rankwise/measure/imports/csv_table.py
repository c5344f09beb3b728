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
from collections.abc import Sequence
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
    header = _Header(path, [cell.strip() for cell in rows[0]] if rows else [])
    points: dict[tuple[str | None, str, str], dict[int, Point]] = {}
    starts: dict[tuple[str | None, str, str], int] = {}
    ends: dict[tuple[str | None, str, str], int] = {}
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"table {path}, line {number}"
        key = header.key(cells, where)
        starts.setdefault(key, number)
        ends[key] = number
        point = header.point(cells, where)
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
    """Where the columns stand and in which units."""

    def __init__(self, path: Path, header: list[str]) -> None:
        self._header = header
        size = next((header.index(column) for column in _SIZE_COLUMNS if column in header), None)
        times = [match for column in header if (match := _TIME_COLUMN.fullmatch(column))]
        if size is None or len(times) != 1:
            raise InputError(
                f"table {path}, line 1: the header needs message_bytes and one of latency_s, latency_ms, latency_us, "
                f"latency_ns, and has: {' '.join(','.join(header).split())[:200] or 'nothing'}; output of OSU benchmarks, "
                "IMB, nccl-tests and mpi4py.bench is read too"
            )
        name, unit = times[0].groups()
        self._scale = _UNITS[unit]
        self._size = size
        self._time = header.index(times[0][0])
        self._low, self._high = self._index(f"{name}_lo_{unit}"), self._index(f"{name}_hi_{unit}")
        self._sigma = self._index(f"sigma_{unit}")
        for column in header:
            if (other := _INTERVAL_COLUMN.fullmatch(column)) and f"{other[1]}_{unit}" not in header:
                raise InputError(
                    f"table {path}, line 1: {column} is in another unit than {times[0][0]}: write both in one unit"
                )
        self._samples = self._index("samples")
        self._link, self._sending, self._statistic = (self._index(c) for c in ("link", "sending", "statistic"))

    def _index(self, column: str) -> int | None:
        return self._header.index(column) if column in self._header else None

    def key(self, cells: list[str], where: str) -> tuple[str | None, str, str]:
        """Return link class (None where the file names none), way of sending and statistic of a row."""
        link = None if self._link is None else _text(cells, self._link)
        if link is not None and link not in LINK_CLASSES:
            raise InputError(f"{where}: link '{link}' is no link class: give one of {', '.join(LINK_CLASSES)}")
        sending = SEND if self._sending is None else _text(cells, self._sending)
        if not _NAME.fullmatch(sending):
            raise InputError(f"{where}: sending '{sending}' is no name: give send or a variant such as ssend")
        return link, sending, _AS_PUBLISHED if self._statistic is None else _text(cells, self._statistic) or _AS_PUBLISHED

    def point(self, cells: list[str], where: str) -> Point:
        size = self._number(cells, self._size, where)
        time_s = self._number(cells, self._time, where) * self._scale
        if not 0 <= size <= MOST_BYTES or size != int(size):
            raise InputError(f"{where}: message_bytes {cells[self._size]} is not a size: give whole bytes, at least 0")
        if not LEAST_TIME_S <= time_s <= MOST_TIME_S:
            name = self._header[self._time]
            raise InputError(f"{where}: {name} {cells[self._time]} is not a time: give one above 0")
        low_s = high_s = time_s
        if self._low is not None and self._high is not None and (_text(cells, self._low) or _text(cells, self._high)):
            low_s = self._number(cells, self._low, where) * self._scale
            high_s = self._number(cells, self._high, where) * self._scale
            if not 0 <= low_s <= high_s or high_s > MOST_TIME_S:
                raise InputError(
                    f"{where}: the interval {low_s:g} to {high_s:g} s is upside down, or no time: give low, then high"
                )
        elif self._sigma is not None:
            half_width_s = 1.96 * self._number(cells, self._sigma, where) * self._scale
            if not 0 <= half_width_s <= MOST_TIME_S:
                name = self._header[self._sigma]
                raise InputError(f"{where}: {name} {cells[self._sigma]} is negative, or no time: give at least 0")
            low_s, high_s = max(0.0, time_s - half_width_s), time_s + half_width_s
        samples = 1.0 if self._samples is None else self._number(cells, self._samples, where)
        if not 1 <= samples <= MOST_BYTES or samples != int(samples):
            raise InputError(f"{where}: samples {samples:g} is not a count: give whole numbers, at least 1")
        return Point(int(size), time_s, low_s, high_s, int(samples))

    def _number(self, cells: list[str], column: int, where: str) -> float:
        text = _text(cells, column)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{where}: {self._header[column]} '{text}' is not a number: correct or remove the line")
        return value


def _text(cells: list[str], column: int) -> str:
    return cells[column].strip() if column < len(cells) else ""
