"""The output of the Intel MPI Benchmarks (IMB-MPI1): PingPong, PingPing, Sendrecv, Exchange, Alltoall; also under ``-multi``.

PingPong prints half a round trip, which is the send curve. The others are variants of their own names: of N ranks in a ring
every one has one message going out and one coming in (Sendrecv), or two (Exchange). Under ``-multi`` several groups measure at
once: their mean stands for the row, least and greatest bound it. Other benchmarks in the same file are left aside and named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import RERUN, SEND, Column, Rows, Table, is_other_text, read_count, read_size

_VERSION = re.compile(r"#\s*Intel\s*\(R\) MPI Benchmarks?\s+(?P<version>.+?)(?:,.*)?")
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)\s*")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<count>\d+).*")
_NO_FIGURE = re.compile(r"\d+\s+(?:out-of-mem|time-out)\.;.*", re.IGNORECASE)
_GROUPS = re.compile(r"#\s*\(\s*(?P<groups>\d+) groups of (?P<ranks>\d+) processes each running simultaneous\s*\).*")
# The columns that a benchmark prints, and which of them is its time; of several groups at once all print ranges.
_ONE = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
_RANGE = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec")
_COLLECTIVE = _RANGE[:-1]
_MICRO = 1e-6


@dataclass(frozen=True)
class _Kind:
    """A benchmark: its columns, the name of its curve among so many ranks, and what it counts in words."""

    titles: tuple[str, ...]
    keeps_as: Callable[[int], str]
    what: Callable[[int], str]


_READ = {
    "PingPong": _Kind(_ONE, lambda ranks: SEND, lambda ranks: "a ping-pong"),
    "PingPing": _Kind(_ONE, lambda ranks: "pingping", lambda ranks: "a message while another one comes"),
    "Sendrecv": _Kind(
        _RANGE, lambda ranks: f"sendrecv-ranks-{ranks}", lambda ranks: f"a ring of {ranks} ranks that send and receive at once"
    ),
    "Exchange": _Kind(
        _RANGE,
        lambda ranks: f"exchange-ranks-{ranks}",
        lambda ranks: f"a ring of {ranks} ranks that exchange with both neighbours",
    ),
    "Alltoall": _Kind(_COLLECTIVE, lambda ranks: f"alltoall-ranks-{ranks}", lambda ranks: f"an all-to-all of {ranks} ranks"),
}


def recognises_imb(lines: Sequence[str]) -> bool:
    """Tell whether an Intel MPI benchmark wrote these lines."""
    return any(_VERSION.fullmatch(line.strip()) or _BENCHMARK.fullmatch(line.strip()) for line in lines)


def read_imb(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read the tables of IMB output that a profile can hold. Raises InputError for what is damaged, or has none."""
    tables: list[Table] = []
    others: list[str] = []
    program, name, ranks, groups = "IMB", "", 2, 1
    number = 0
    while number < len(lines):
        line = lines[number].strip()
        number += 1
        if version := _VERSION.fullmatch(line):
            program = f"IMB {version['version']}"
        elif benchmark := _BENCHMARK.fullmatch(line):
            name = benchmark["name"].removeprefix("Multi-")
            ranks, groups = 2, 1
            if name not in _READ:
                others.append(f"{name} (line {number})")
        elif processes := _PROCESSES.fullmatch(line):
            ranks = read_count(processes["count"], "#processes", f"{path}, line {number}")
        elif several := _GROUPS.fullmatch(line):
            ranks, groups = (read_count(several[what], what, f"{path}, line {number}") for what in ("ranks", "groups"))
        elif line.split()[:1] in (["#bytes"], ["Group"]) and name in _READ:
            number, table = _read_table(path, lines, number - 1, name, (ranks, groups), program)
            tables.append(table)
            name = ""
    if name in _READ:
        raise InputError(f"{path}, line {len(lines)}: the file ends before the table of {name} begins: {RERUN}")
    if not tables:
        found = f"has only {', '.join(others)[:150]}" if others else "holds no benchmark"
        raise InputError(f"{path} {found}: give the output of {', '.join(_READ)}")
    if others:
        first, *rest = tables
        note = f"{path.name}: {', '.join(others)} left aside: they have no place in a profile"
        tables = [replace(first, notes=(*first.notes, note)), *rest]
    return tables


def _read_table(
    path: Path, lines: Sequence[str], start: int, name: str, ranks_groups: tuple[int, int], program: str
) -> tuple[int, Table]:
    ranks, groups = ranks_groups
    kind = _READ[name]
    header = lines[start].split()
    by_group = header[0] == "Group"  # -multi 1: a row for each group, else for all together
    titles = _RANGE if groups > 1 and not by_group and kind.titles is _ONE else kind.titles
    # A build that checks what arrived adds a column.
    titles += ("defects",) if header[-1] == "defects" else ()
    if tuple(header[by_group:]) != titles:
        raise InputError(f"{path}, line {start + 1}: {name} prints {' '.join(titles)}, not these columns: {RERUN}")
    columns = [Column(title) for title in titles]
    notes, number = list[str](), start + 1
    read: list[tuple[int, int, tuple[float, float, float], str]] = []  # size, repetitions, time and bounds in s, where
    while number < len(lines) and not lines[number].lstrip().startswith("#"):
        line, where = lines[number].strip(), f"{path}, line {number + 1}"
        number += 1
        if not line:
            continue
        if _NO_FIGURE.fullmatch(line):
            notes.append(
                f"{path.name}, line {number}: no figure at {line.split()[0]} B ({line.split()[1].rstrip('.;')}): row left out"
            )
            continue
        if is_other_text(line):
            notes.append(f"{path.name}, line {number}: other text inside the table skipped")
            continue
        cells = line.split()
        if len(cells) != len(titles) + by_group:
            raise InputError(
                f"{where}: {len(cells)} columns where the header has {len(titles) + by_group}: the line is cut off, or two "
                f"programs wrote into it: {RERUN}"
            )
        if by_group and read_size(cells.pop(0), where) >= groups and groups > 1:
            raise InputError(f"{where}: a group beyond the {groups} that are told above: {RERUN}")
        size, repetitions = read_size(cells[0], where), max(1, read_size(cells[1], where))
        figures = {
            title: column.read(cell, where) for title, column, cell in zip(titles[2:], columns[2:], cells[2:], strict=True)
        }
        if "defects" in figures and figures["defects"].value > 0:
            raise InputError(f"{where}: wrong bytes arrived (defects), so this time means nothing: mend the MPI, run again")
        time = figures["t[usec]" if "t[usec]" in titles else "t_avg[usec]"]
        low, high = time.value, time.value  # of one group nothing is known but its mean
        if groups > 1 and "t_min[usec]" in titles:
            low, high = min(time.low, figures["t_min[usec]"].low), max(time.high, figures["t_max[usec]"].high)
        if time.value <= 0:
            notes.append(f"{path.name}, line {number}: rounding left nothing of the time at {size} B: row left out")
            continue
        read.append((size, repetitions, (time.value * _MICRO, low * _MICRO, high * _MICRO), where))
    rows = Rows()
    for size, of_size in groupby(read, key=lambda row: row[0]):
        together = list(of_size)
        if len(together) > (groups if by_group else 1):
            raise InputError(
                f"{together[-1][3]}: size {size} B stands there twice: is the file edited, or two runs in one? {RERUN}"
            )
        low_s, high_s = min(row[2][1] for row in together), max(row[2][2] for row in together)
        mean_s = sum(row[2][0] for row in together) / len(together)
        rows.add(size, mean_s, low_s, high_s, sum(row[1] for row in together), together[-1][3])
    points = rows.finish(f"{path}, line {start + 1}")
    keeps_as, what = kind.keeps_as(ranks), kind.what(ranks)
    if groups > 1:
        keeps_as = "latency-multi-pair" if keeps_as == SEND else f"{keeps_as}-groups-{groups}"
        what = f"{what}, the mean of {groups} groups at once"
    return number, Table(path, start + 1, f"{program} {name}", keeps_as, what, "mean", points, tuple(notes))
