"""Lists of CPU numbers as Linux writes them: ``0-3,8,10-11``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rankwise.errors import InputError

# Eight times what Linux can be built for; a larger number is damage, and would fill the memory.
_MOST_CPUS = 65536
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def parse_cpu_list(text: str, what: str = "CPU list") -> tuple[int, ...]:
    """Read a list of CPU numbers, in rising order without repetition; an empty text is an empty list.

    Raises InputError, in which ``what`` names the list.
    """
    text = text.strip()
    cpus: set[int] = set()
    for part in text.split(",") if text else ():
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError(f"{what} '{text[:60]}' is not a list of CPU numbers: it should read like 0-3,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= _MOST_CPUS:
            raise InputError(f"{what} '{text[:60]}' has the impossible range '{part}': it should read like 0-3,8")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Write CPU numbers as a list of ranges, the inverse of parse_cpu_list."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
