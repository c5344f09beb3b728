"""The output of the Intel MPI Benchmarks (IMB-MPI1): PingPong and Sendrecv.

PingPong prints half a round trip, which is the send curve. Sendrecv of N ranks in a ring is a variant of its own name:
every rank has one message going out and one coming in. Other benchmarks in the same file are left aside and named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import RERUN, SEND, Column, Rows, Table, is_other_text, read_size

_VERSION = re.compile(r"#\s*Intel\s*\(R\) MPI Benchmarks?\s+(?P<version>.+?)(?:,.*)?")
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)\s*")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<count>\d+).*")
_NO_FIGURE = re.compile(r"\d+\s+(?:out-of-mem|time-out)\.;.*", re.IGNORECASE)
# The columns that a benchmark prints, and which of them is its time.
_PINGPONG = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
_SENDRECV = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec")
_READ = {"PingPong": (_PINGPONG, "t[usec]"), "Sendrecv": (_SENDRECV, "t_avg[usec]")}
_MICRO = 1e-6


def recognises_imb(lines: Sequence[str]) -> bool:
    """Tell whether an Intel MPI benchmark wrote these lines."""
    return any(_VERSION.fullmatch(line.strip()) or _BENCHMARK.fullmatch(line.strip()) for line in lines)


def read_imb(path: Path, lines: Sequence[str]) -> list[Table]:
    """Read the PingPong and Sendrecv tables of IMB output. Raises InputError for what is damaged, or has neither."""
    tables: list[Table] = []
    others: list[str] = []
    program, name, ranks = "IMB", "", 2
    number = 0
    while number < len(lines):
        line = lines[number].strip()
        number += 1
        if version := _VERSION.fullmatch(line):
            program = f"IMB {version['version']}"
        elif benchmark := _BENCHMARK.fullmatch(line):
            name = benchmark["name"]
            ranks = 2
            if name not in _READ:
                others.append(f"{name} (line {number})")
        elif processes := _PROCESSES.fullmatch(line):
            ranks = int(processes["count"])
        elif line.startswith("#bytes") and name in _READ:
            number, table = _read_table(path, lines, number - 1, name, ranks, program)
            tables.append(table)
            name = ""
    if name in _READ:
        raise InputError(f"{path}, line {len(lines)}: the file ends before the table of {name} begins: {RERUN}")
    if not tables:
        found = f"has only {', '.join(others)[:150]}" if others else "holds no benchmark"
        raise InputError(f"{path} {found}: not point to point between two ranks: give the output of PingPong or Sendrecv")
    if others:
        first, *rest = tables
        note = f"{path.name}: {', '.join(others)} left aside: no point-to-point time between two ranks"
        tables = [replace(first, notes=(*first.notes, note)), *rest]
    return tables


def _read_table(
    path: Path, lines: Sequence[str], start: int, name: str, ranks: int, program: str
) -> tuple[int, Table]:
    titles, chosen = _READ[name]
    # A build that checks what arrived adds a column.
    titles += ("defects",) if lines[start].split()[-1] == "defects" else ()
    if tuple(lines[start].split()) != titles:
        raise InputError(f"{path}, line {start + 1}: {name} prints {' '.join(titles)}, not these columns: {RERUN}")
    columns = [Column(title) for title in titles]
    rows, notes, number = Rows(), list[str](), start + 1
    while number < len(lines) and not lines[number].lstrip().startswith("#"):
        line, where = lines[number].strip(), f"{path}, line {number + 1}"
        number += 1
        if not line:
            continue
        if _NO_FIGURE.fullmatch(line):
            notes.append(f"{path.name}, line {number}: no figure at {line.split()[0]} B ({line.split()[1].rstrip('.;')}): row left out")
            continue
        if is_other_text(line):
            notes.append(f"{path.name}, line {number}: other text inside the table skipped")
            continue
        cells = line.split()
        if len(cells) != len(titles):
            raise InputError(
                f"{where}: {len(cells)} columns where the header has {len(titles)}: the line is cut off, or two "
                f"programs wrote into it: {RERUN}"
            )
        size, repetitions = read_size(cells[0], where), max(1, read_size(cells[1], where))
        figures = {
            title: column.read(cell, where)
            for title, column, cell in zip(titles[2:], columns[2:], cells[2:], strict=True)
        }
        if "defects" in figures and figures["defects"].value > 0:
            raise InputError(f"{where}: wrong bytes arrived (defects), so this time means nothing: mend the MPI, run again")
        time = figures[chosen]
        rows.add(size, time.value * _MICRO, time.low * _MICRO, time.high * _MICRO, repetitions, where)
    points = rows.finish(f"{path}, line {start + 1}")
    pingpong = name == "PingPong"
    return number, Table(
        path,
        start + 1,
        f"{program} {name}",
        SEND if pingpong else f"sendrecv-ranks-{ranks}",
        "a ping-pong" if pingpong else f"a ring of {ranks} ranks that send and receive at once",
        "mean",
        points,
        tuple(notes),
    )
