"""The output of nccl-tests, and of rccl-tests, which print alike: sendrecv_perf, alltoall_perf and all_gather_perf.

Buffers lie on devices, and NCCL is no MPI: nothing here is the send curve. In sendrecv_perf each rank sends to the next one and
receives from the one before, at once. The sizes that the others print are those of a whole buffer, with as much for each rank:
one rank's part is the message. Of the two figures of a row the one of buffers apart (out-of-place) counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import DEVICE, RERUN, Lines, Rows, Table, is_other_text, read_count, read_size

_VERSION = re.compile(r"#\s*(?P<name>[nr]ccl-tests) version (?P<version>[\w.]+)\b.*", re.IGNORECASE)
_HEADER = re.compile(r"#\s+size\s+count\s+type\b.*\b(?:time|cputime)\s+algbw\s+busbw\b.*")
SIGNS = (_VERSION, _HEADER)
_UNITS = r"#\s+\(B\)\s+\(elements\)\s"
_RUN = re.compile(r"#.*\bwarmup iters: \d+ iters: (?P<iterations>\d+)\b.*")
_WRONG = re.compile(r"#\s*Out of bounds values\s*:\s*(?=\S)(?!0\s).*")
_STARTED = re.compile(r"\b(?P<test>[a-z_]+)_perf(?:_mpi)?\b")
_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,2})?(?:e[+]?\d{1,2})?")
_MICRO, _GIGA = 1e-6, 1e9
_NEARLY = 0.05  # how far a time and the bandwidth next to it may be apart, beyond what either is rounded by


@dataclass(frozen=True)
class _Test:
    """A test: the name of its curve, what it counts in words, and whether each rank has but a part of the size."""

    keeps_as: str
    what: str
    is_shared_out: bool


_READ = {
    "sendrecv": _Test("sendrecv", "a ring of {} devices that send and receive at once", False),
    "alltoall": _Test("alltoall", "an all-to-all of {} devices", True),
    "all_gather": _Test("allgather", "an allgather of {} devices", True),
}


def read_nccl(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read the tables of nccl-tests that a profile can hold. Raises InputError for what is damaged, or has none."""
    source, tables = Lines(path, lines), list[Table]()
    program, test, ranks, iterations = "nccl-tests", "", set[int](), 1
    for line in source:
        if line == "# Using devices":
            ranks = set()
        elif device := DEVICE.fullmatch(line):
            rank = read_count(device[1], "rank", source.where)
            if rank in ranks:
                twice = f"rank {rank} stands there twice: each process ran a test of its own: build nccl-tests with MPI=1"
                raise InputError(f"{source.where}: {twice}")
            ranks.add(rank)
        elif version := _VERSION.fullmatch(line):
            program = f"{version['name'].lower()} {version['version']}"
        elif run := _RUN.fullmatch(line):
            iterations = max(1, read_count(run["iterations"], "iters", source.where))
        elif _HEADER.fullmatch(line):
            tables.append(_read_table(source, line.lstrip("# \t").split(), test, len(ranks), (program, iterations)))
        elif _WRONG.fullmatch(line):
            raise _wrong_values(source.where)
        elif started := _STARTED.search(line):
            test = started["test"]
    if not tables:
        raise source.missing("a table of nccl-tests")
    return tables


def _read_table(source: Lines, titles: list[str], name: str, ranks: int, run: tuple[str, int]) -> Table:
    """Read the rows below the titles."""
    start, where = source.number, source.where
    known = ", ".join(f"{test}_perf" for test in _READ)
    if name not in _READ:
        what = f"{name}_perf has no place in a profile" if name else "nothing above the table says which test it was"
        fix = f"give the output of {known}" if name else f"write the command above it ({known})"
        raise InputError(f"{where}: {what}: {fix}")
    if ranks < 2:
        raise InputError(
            f"{where}: {ranks} device(s) stand under '# Using devices', and a message needs two: give all of its output"
        )
    if "cputime" in titles:
        raise InputError(f"{where}: cputime is how long the calls took, not the messages: run it without -C")
    test, (program, iterations) = _READ[name], run
    cells_of_row = len(titles) + (titles[-1] == "timestamp")  # a date and a time
    time_at, rate_at, wrong_at = titles.index("time"), titles.index("algbw"), titles.index("busbw") + 1
    rows, notes = Rows(), list[str]()
    for cells in source.rows(cells_of_row, notes, _is_other_text, units=_UNITS):
        where, size = source.where, read_size(cells[0], source.where)
        time_us, rate = (_figure(cells[at], titles[at], where) for at in (time_at, rate_at))
        if titles[wrong_at] == "#wrong" and cells[wrong_at] not in ("0", "N/A"):
            raise _wrong_values(where)
        if size < (ranks if test.is_shared_out else 1):
            notes.append(source.note(f"nothing was sent at {size} B: row left out"))
            continue
        if test.is_shared_out and size % ranks:
            raise InputError(f"{where}: {size} B do not go round among {ranks} devices: are all of them listed above? {RERUN}")
        if not _agree(size, time_us, rate):
            raise InputError(f"{where}: {size} B in {time_us:g} us are not {rate:g} GB/s: the line is damaged: {RERUN}")
        rows.add(size // ranks if test.is_shared_out else size, time_us * _MICRO, None, None, iterations, where)
    keeps_as, points = f"{test.keeps_as}-ranks-{ranks}-nccl", rows.finish(source.at(start))
    return Table(source.path, start, f"{program} {name}_perf", keeps_as, test.what.format(ranks), "mean", points, tuple(notes))


def _is_other_text(line: str) -> bool:
    return is_other_text(line) or ":" in line.split()[0]  # NCCL's own log begins with a host and a process


def _wrong_values(where: str) -> InputError:
    return InputError(f"{where}: wrong values arrived, so these times mean nothing: fix NCCL or the devices, run again")


def _figure(text: str, title: str, where: str) -> float:
    """Return a number as NCCL's tests print it: as many decimals as there is room for. Raises InputError."""
    if _FIGURE.fullmatch(text) is None:
        raise InputError(f"{where}: {title} '{text:.40}' is not a number as the test prints it: {RERUN}")
    return float(text)


def _agree(size: int, time_us: float, rate: float) -> bool:
    """Tell whether a bandwidth is that of a size and a time, as far as all are rounded (GB/s to two decimals, at worst)."""
    if time_us <= 0:
        return False
    said = size / (time_us * _MICRO) / _GIGA
    return abs(said - rate) <= 0.0051 + _NEARLY * max(said, rate)
