"""The output of the Intel MPI Benchmarks (IMB-MPI1): PingPong, PingPing, Sendrecv, Exchange, Alltoall; also under ``-multi``.

PingPong prints half a round trip, which is the send curve. The others are variants of their own names: of N ranks in a ring
every one has one message going out and one coming in (Sendrecv), or two (Exchange). Under ``-multi`` several groups measure at
once: their mean stands for the row, least and greatest bound it. Other benchmarks in the same file are left aside and named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import RERUN, SEND, Column, Lines, Rows, Table, read_count, read_size

_VERSION = re.compile(r"#\s*Intel\s*\(R\) MPI Benchmarks?\s+(?P<version>.+?)(?:,.*)?")
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)\s*")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<count>\d+).*")
SIGNS = (_VERSION, _BENCHMARK)
_NO_FIGURE = r"\d+\s+(out-of-mem|time-out)\.;"
_GROUPS = re.compile(r"#\s*\(\s*(?P<groups>\d+) groups of (?P<ranks>\d+) processes each running simultaneous\s*\).*")
# The columns that a benchmark prints, and which of them is its time; of several groups at once all print ranges.
_ONE = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
_RANGE = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec")
_COLLECTIVE = _RANGE[:-1]
_MICRO = 1e-6


@dataclass(frozen=True)
class _Kind:
    """A benchmark: its columns, and among so many ranks the name of its curve and what it counts in words."""

    titles: tuple[str, ...]
    keeps_as: str
    what: str


_READ = {
    "PingPong": _Kind(_ONE, SEND, "a ping-pong"),
    "PingPing": _Kind(_ONE, "pingping", "a message while another one comes"),
    "Sendrecv": _Kind(_RANGE, "sendrecv-ranks-{}", "a ring of {} ranks that send and receive at once"),
    "Exchange": _Kind(_RANGE, "exchange-ranks-{}", "a ring of {} ranks that exchange with both neighbours"),
    "Alltoall": _Kind(_COLLECTIVE, "alltoall-ranks-{}", "an all-to-all of {} ranks"),
}


def read_imb(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read the tables of IMB output that a profile can hold. Raises InputError for what is damaged, or has none."""
    source, tables = Lines(path, lines), list[Table]()
    others: list[str] = []
    program, name, ranks, groups = "IMB", "", 2, 1
    for line in source:
        if version := _VERSION.fullmatch(line):
            program = f"IMB {version['version']}"
        elif benchmark := _BENCHMARK.fullmatch(line):
            name = benchmark["name"].removeprefix("Multi-")
            ranks, groups = 2, 1
            if name not in _READ:
                others.append(f"{name} (line {source.number})")
        elif processes := _PROCESSES.fullmatch(line):
            ranks = read_count(processes["count"], "#processes", source.where)
        elif several := _GROUPS.fullmatch(line):
            ranks, groups = (read_count(several[what], what, source.where) for what in ("ranks", "groups"))
        elif line.split()[:1] in (["#bytes"], ["Group"]) and name in _READ:
            tables.append(_read_table(source, line.split(), name, (ranks, groups), program))
            name = ""
    if name in _READ:
        raise source.missing(f"the table of {name}")
    if not tables:
        found = f"has only {', '.join(others)[:150]}" if others else "holds no benchmark"
        raise InputError(f"{path} {found}: give the output of {', '.join(_READ)}")
    if others:
        first, *rest = tables
        note = f"{path.name}: {', '.join(others)} left aside: they have no place in a profile"
        tables = [replace(first, notes=(*first.notes, note)), *rest]
    return tables


def _read_table(source: Lines, header: list[str], name: str, ranks_groups: tuple[int, int], program: str) -> Table:
    """Read the rows below the titles."""
    start, (ranks, groups), kind = source.number, ranks_groups, _READ[name]
    by_group = header[0] == "Group"  # -multi 1: a row for each group, else for all together
    titles = _RANGE if groups > 1 and not by_group and kind.titles is _ONE else kind.titles
    # A build that checks what arrived adds a column.
    titles += ("defects",) if header[-1] == "defects" else ()
    if tuple(header[by_group:]) != titles:
        raise InputError(f"{source.where}: {name} prints {' '.join(titles)}, not these columns: {RERUN}")
    columns, notes = [Column(title) for title in titles], list[str]()
    read: list[tuple[int, int, tuple[float, float, float], str]] = []  # size, repetitions, time and bounds in s, where
    for cells in source.rows(len(titles) + by_group, notes, empty=_NO_FIGURE):
        where = source.where
        if by_group and read_size(cells.pop(0), where) >= groups and groups > 1:
            raise InputError(f"{where}: a group beyond the {groups} that are told above: {RERUN}")
        size, repetitions = read_size(cells[0], where), max(1, read_size(cells[1], where))
        figures = {
            title: column.read(cell, where) for title, column, cell in zip(titles[2:], columns[2:], cells[2:], strict=True)
        }
        if "defects" in figures and figures["defects"].value > 0:
            raise InputError(f"{where}: wrong bytes arrived (defects), so this time means nothing: fix the MPI, run again")
        time = figures["t[usec]" if "t[usec]" in titles else "t_avg[usec]"]
        low, high = time.value, time.value  # of one group nothing is known but its mean
        if groups > 1 and "t_min[usec]" in titles:
            low, high = min(time.low, figures["t_min[usec]"].low), max(time.high, figures["t_max[usec]"].high)
        if time.value <= 0:
            notes.append(source.note(f"rounding left nothing of the time at {size} B: row left out"))
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
    points = rows.finish(source.at(start))
    keeps_as, what = kind.keeps_as.format(ranks), kind.what.format(ranks)
    if groups > 1:
        keeps_as = "latency-multi-pair" if keeps_as == SEND else f"{keeps_as}-groups-{groups}"
        what = f"{what}, the mean of {groups} groups at once"
    return Table(source.path, start, f"{program} {name}", keeps_as, what, "mean", points, tuple(notes))
