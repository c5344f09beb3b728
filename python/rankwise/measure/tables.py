"""Importing a published or foreign table of message times as a profile.

The table is CSV with a header; its columns' units stand in their names: ``message_bytes`` (or ``size_bytes``), and one
of ``latency_s``, ``latency_ms``, ``latency_us``, ``latency_ns`` (or ``time_...``), the one-way time of a message. A column
``sigma_...`` in the same unit, where there is one, gives the 95 % interval.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.link import LEAST_SIZES, Point
from rankwise.machine.profile import Link, Profile
from rankwise.measure.campaign import now
from rankwise.models.curve import curve_from_table

_SIZE_COLUMNS = ("message_bytes", "size_bytes")
_TIME_COLUMN = re.compile(r"(?:latency|time)_(s|ms|us|ns)")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def profile_from_table(path: Path, link: str, name: str) -> Profile:
    """Read a table as the send curve of one link class. Raises InputError with the line that is wrong and the mend."""
    points = read_points(path)
    return Profile(
        machine={"hostname": name},
        links={link: Link(curve_from_table(points, "as published"))},
        created=now(),
        source={"kind": "imported", "table": path.name},
    )


def read_points(path: Path) -> list[Point]:
    """Read the rows of a table in order of size. Raises InputError with the line that is wrong and the mend."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"table {path} cannot be read ({error}): give a CSV file") from None
    header = [cell.strip() for cell in lines[0]] if lines else []
    size_column = next((header.index(column) for column in _SIZE_COLUMNS if column in header), None)
    times = [(i, match[1]) for i, column in enumerate(header) if (match := _TIME_COLUMN.fullmatch(column))]
    if size_column is None or len(times) != 1:
        raise InputError(
            f"table {path}, line 1: the header needs message_bytes and one of latency_s, latency_ms, latency_us, "
            f"latency_ns, and has: {','.join(header) or 'nothing'}"
        )
    time_column, unit = times[0]
    sigma_column = header.index(f"sigma_{unit}") if f"sigma_{unit}" in header else None
    foreign = next((column for column in header if re.fullmatch(r"sigma_(s|ms|us|ns)", column)), None)
    if sigma_column is None and foreign is not None:
        raise InputError(
            f"table {path}, line 1: {foreign} is in another unit than {header[time_column]}: write both in one unit"
        )
    points: dict[int, Point] = {}
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"table {path}, line {number}"
        size = _number(cells, size_column, f"{where}: message_bytes")
        time_s = _number(cells, time_column, f"{where}: {header[time_column]}") * _UNITS[unit]
        if size < 0 or size != int(size):
            raise InputError(f"{where}: message_bytes {cells[size_column]} is not a size: give whole bytes, at least 0")
        if time_s <= 0:
            raise InputError(f"{where}: {header[time_column]} {cells[time_column]} is not a time: give one above 0")
        if int(size) in points:
            raise InputError(f"{where}: size {int(size)} B stands there twice: keep one row a size")
        half_width_s = 0.0
        if sigma_column is not None:
            half_width_s = 1.96 * _number(cells, sigma_column, f"{where}: sigma_{unit}") * _UNITS[unit]
            if half_width_s < 0:
                raise InputError(f"{where}: sigma_{unit} {cells[sigma_column]} is negative: give at least 0")
        points[int(size)] = Point(int(size), time_s, max(0.0, time_s - half_width_s), time_s + half_width_s, 1)
    if len(points) < LEAST_SIZES:
        raise InputError(
            f"table {path} ends at line {len(lines)} with {len(points)} size(s): a model of two parameters needs at least "
            f"{LEAST_SIZES}, or nothing is left to test it; add sizes"
        )
    return [points[size] for size in sorted(points)]


def _number(cells: list[str], column: int, where: str) -> float:
    text = cells[column].strip() if column < len(cells) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where} '{text}' is not a number: correct or remove the line")
    return value
