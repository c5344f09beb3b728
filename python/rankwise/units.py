"""Sizes, ranges and times as people write and read them; files and code hold SI base units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from rankwise.errors import InputError

_WIDEST = 1000.0
_LEAST_S = 5e-12  # less than this is written as 0
_PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SIZE = re.compile(r"(\d{1,18})\s*([kmg]i?)?b?", re.IGNORECASE | re.ASCII)


def parse_size(text: str, what: str = "size") -> int:
    """Read a size in bytes: ``1000``, ``1kB`` (1000), ``4MiB`` (4194304). Raises InputError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{what} '{text}' is not a size in bytes: write it as 1000, 1kB or 4MiB")
    return int(match[1]) * _PREFIXES[(match[2] or "").lower()]


def parse_sizes(text: str, what: str = "size") -> list[int]:
    """Read a comma-separated list of sizes in bytes. Raises InputError."""
    return [parse_size(part, what) for part in text.split(",")]


def parse_ints(text: str, what: str, least: int = 1) -> list[int]:
    """Read integers: ``3``, a list ``1,2,4``, a range ``1:10`` (both ends), or a mixture. Raises InputError."""
    values: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(-?\d{1,18})\s*(?::\s*(-?\d{1,18})\s*)?", part, re.ASCII)
        if match is None:
            raise InputError(f"{what} '{text}' is not a number, a list or a range: write it as 3, 1,2,4 or 1:10")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"{what} '{part}' is an empty range: write the smaller end first")
        if last - first > 100_000:
            raise InputError(f"{what} '{part}' has more than 100000 values: shorten the range")
        values.extend(range(first, last + 1))
    if min(values) < least:
        raise InputError(f"{what} {min(values)} is too small: it must be at least {least}")
    return values


def parse_shape(text: str, what: str = "grid") -> list[int]:
    """Read the sizes of a grid's axes: ``50x48``. Raises InputError."""
    if not text.strip():
        raise InputError(f"{what} is missing: write it as {what} 50x48")
    if not re.fullmatch(r"\s*\d{1,18}(\s*x\s*\d{1,18})*\s*", text, re.IGNORECASE | re.ASCII):
        raise InputError(f"{what} '{text}' is not a list of axis sizes: write it as 50x48")
    sizes = [int(part) for part in re.split("x", text, flags=re.IGNORECASE)]
    if min(sizes) < 1:
        raise InputError(f"{what} '{text}' has an axis of size 0: every axis needs at least 1")
    return sizes


def parse_periodic(text: str, ndim: int) -> list[bool]:
    """Read which axes wrap around: ``all``, ``none``, or a 0 or 1 for each axis: ``1,0``. Raises InputError."""
    if text in ("all", "none"):
        return [text == "all"] * ndim
    flags = [flag.strip() for flag in text.split(",")]
    if len(flags) != ndim or any(flag not in ("0", "1") for flag in flags):
        raise InputError(f"--periodic '{text}' does not fit {ndim} axes: give all, none, or a 0 or 1 for each axis")
    return [flag == "1" for flag in flags]


def parse_seconds(text: str, what: str = "time") -> float:
    """Read a time: ``10ms``, ``1s``, ``2min`` or ``2m``, ``1h``, ``0.5`` (seconds). Raises InputError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(us|ms|s|min|m|h|)", text.strip(), re.ASCII)
    if match is None:
        raise InputError(f"{what} '{text}' is not a time: write it as 10ms, 1s or 2min")
    return float(match[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "": 1.0}[match[2]]


def parse_share(text: str, what: str = "share") -> float:
    """Read a share: ``20%``, ``20 %`` or ``0.2``. Raises InputError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(%?)", text.strip(), re.ASCII)
    if match is None:
        raise InputError(f"{what} '{text}' is not a share: write it as 20% or 0.2")
    if not match[2] and float(match[1]) > 1:
        percent = float(match[1])
        raise InputError(f"{what} {text} would be {100 * percent:g} %: write it as {text}% or {percent / 100:g}")
    return float(match[1]) / (100 if match[2] else 1)


def format_time(time_s: float) -> str:
    """Write a time with three significant digits and a fitting unit: ``1.23 us``."""
    if not math.isfinite(time_s):
        return "–"
    if time_s == 0:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(time_s) >= scale:
            return f"{_three(time_s / scale)} {unit}"
    return f"{_three(time_s / 1e-9)} ns"


def format_size(size_bytes: int) -> str:
    """Write a size: ``8 B``, ``1000 B``, ``64 kB``, ``4 MiB``; from 100 kB on with three digits where no unit is exact."""
    if size_bytes >= 10_000 and size_bytes % 1000 == 0:
        return format_volume(size_bytes)
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if scale <= size_bytes < 2**10 * scale and size_bytes % scale == 0:
            return f"{size_bytes // scale} {unit}"
    return format_volume(size_bytes) if size_bytes >= 100_000 else f"{size_bytes} B"


def format_volume(size_bytes: int) -> str:
    """Write bytes with three digits, in powers of ten."""
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.3g} {unit}" if size_bytes < 1000 * scale else f"{size_bytes / scale:.0f} {unit}"
    return f"{size_bytes} B"


def format_bandwidth(bytes_per_s: float) -> str:
    """Write a bandwidth with three significant digits: ``11.2 GB/s``."""
    for unit, scale in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_s >= scale:
            return f"{_three(bytes_per_s / scale)} {unit}"
    return f"{_three(bytes_per_s)} B/s"


def format_inverse(beta_s_per_byte: float) -> str:
    """Write the bandwidth that a time a byte is the inverse of."""
    return format_bandwidth(1 / beta_s_per_byte) if beta_s_per_byte > 0 else "∞"


def format_ends(ends: tuple[float, float] | None, write: Callable[[float], str]) -> str:
    """Write an interval: ``2.28–2.35 us``, ``980 ns–1.02 us``; ``–`` where nothing is known of the spread.

    One whose ends are a factor of a thousand apart says nothing: ``unknown``.
    """
    if ends is None:
        return "–"
    if 0 < _WIDEST * ends[0] < ends[1]:
        return "unknown"
    low, high = map(write, ends)
    number, _, unit = low.partition(" ")
    to = " to " if low[0] in "+-" or high[0] in "+-" else "–"
    return f"{number if unit == high.partition(' ')[2] else low}{to}{high}"


def spans(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of ascending numbers without a gap."""
    for _, run in groupby(enumerate(numbers), lambda at: at[1] - at[0]):
        first, *rest = (number for _, number in run)
        yield first, rest[-1] if rest else first


def format_ranges(numbers: Iterable[int], to: str = "-", between: str = ", ") -> str:
    """Write ascending numbers as ranges: ``0-3, 8``."""
    return between.join(str(first) if first == last else f"{first}{to}{last}" for first, last in spans(numbers))


def format_span(values: Sequence[float], write: Callable[[Any], str] = str) -> str:
    """Write the least and the greatest of some values: ``40 to 48``; ``48`` where both read alike."""
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"


def format_day(at: str) -> str:
    """Write the day of a time in ISO 8601: ``17 Nov 2026``; nothing where it is none."""
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return ""
    return f"{when.day} {when:%b %Y}"


def format_count(number: int, what: str) -> str:
    """Write how many: ``1 rank``, ``3 ranks``, ``no rank``."""
    return f"{number} {what}{'s' * (number != 1)}" if number else f"no {what}"


def format_interval(ends: tuple[float, float] | None) -> str:
    """Write an interval of times."""
    if ends is not None and 0 <= ends[0] < _LEAST_S and ends[1] > _WIDEST * _LEAST_S:
        return "unknown"
    return format_ends(ends, format_time)


def format_number(value: float) -> str:
    """Write a plain number with three significant digits, never in powers of ten: ``1.22``, ``1090``, ``0.031``."""
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}" if value == 0 or abs(value) >= 1e-4 else f"{value:.7f}"


def format_share(share: float) -> str:
    """Write a share: ``37 %``; ``0.4 %`` where it is small, but not 0."""
    return f"{100 * share:.1f} %" if 0 < share < 0.00995 else f"{100 * share:.0f} %"


def format_percent(fraction: float) -> str:
    """Write a signed relative difference: ``+3.1 %``."""
    return f"{round(100 * fraction, 1) + 0.0:+.1f} %"  # + 0.0: of what is next to nothing, no sign


def format_parameter(name: str, value: float) -> str:
    """Write a figure whose name ends in its unit, as those of link models do: ``overhead_s``, ``gap_s_per_byte``."""
    if name.endswith("_bytes_per_s"):
        return format_bandwidth(value)
    if name.endswith("_s_per_byte"):
        return f"{1e9 * value:.4g} ns/B"
    if name.endswith("_bytes"):
        return format_size(int(value))
    return format_time(value) if name.endswith("_s") else f"{value:.3g}"


def _three(value: float) -> str:
    magnitude = abs(value)
    return f"{value:.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.2f}"
