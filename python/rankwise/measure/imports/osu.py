"""The output of the OSU micro-benchmarks, versions 5 to 7: point to point, one-sided, all-to-all and neighbourhood collectives.

osu_latency is a ping-pong: its one-way times are the send curve. What the others count has a place of its own, as the time of
one message: of a stream with so many in flight (osu_bw, osu_mbw_mr), of one direction while both stream (osu_bibw), of a
ping-pong beside others (osu_multi_lat), of a put; or as the time of one call of a collective. Further datatypes of one run, and
buffers on an accelerator, are told apart by names of their own. Other collectives are refused.

Times are printed in microseconds and bandwidths in 1e6 bytes/s with two decimals, as a rule: the rounding is the
interval, since the output says nothing of the spread. Where percentiles were printed, the median stands for the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankwise.errors import InputError
from rankwise.measure.imports.table import RERUN, SEND, Column, Printed, Rows, Table, is_other_text, read_count, read_size

DEFAULT_WINDOW = 64
_TITLE = re.compile(r"#\s*OSU (?P<api>\S+) (?P<name>.+?) Test(?:\s+v(?P<version>[\w.]+))?\s*")
_PAIRS = re.compile(r"#\s*\[ pairs: (?P<pairs>\d+) \](?: \[ window size: (?P<window>\S+) \])?.*")
_DATATYPE = re.compile(r"#\s*Datatype:\s*(?P<name>\S+?)\.?\s*")
_THREADS = re.compile(
    r"#\s*(Number of (?:Sender|Receiver) threads|Number of forked processes in (?:sender|receiver)): (\d+)\s*"
)
_BUFFERS = re.compile(r"#\s*Send Buffer on (\w+) .*Receive Buffer on (\w+) .*")
_USAGE = re.compile(r"Usage: osu_\w+.*")
# The columns that hold the mean, and the one that holds the median.
_WANTED = {
    "latency": (("Latency (us)", "Avg Latency(us)", "Avg Latency (us)", "Avg Lat(us)", "Pure Comm.(us)"), "P50 Tail Lat(us)"),
    "bandwidth": (("Bandwidth (MB/s)", "MB/s"), "P50 Tail BW(MB/s)"),
}
# Column titles, longest first; the rest of a header after these is unknown.
_COLUMNS = re.compile(
    r"P\d+(?:\.\d+)? Tail (?:Lat|BW)\((?:us|MB/s)\)|(?:Avg |Min |Max )?(?:Latency|Lat) "
    r"?\(us\)|Overall\(us\)|Compute\(us\)|Coll\. Init\(us\)|MPI_Test\(us\)|MPI_Wait\(us\)|Pure "
    r"Comm\.\(us\)|Overlap\(%\)|Bandwidth \(MB/s\)|MB/s"
    r"|Messages/s|Min(?:imum)?(?: BW)? ?\(MB/s\)|Max(?:imum)?(?: BW)? ?\(MB/s\)|Iterations|Validation|Transmit Size"
)
_MICRO, _MEGA = 1e-6, 1e6


@dataclass(frozen=True)
class _Context:
    """What the lines above a table say about it."""

    program: str
    window: int
    pairs: int = 1
    notes: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()  # what tells this table from the send curve or another one: a datatype, where buffers lie


@dataclass(frozen=True)
class _Benchmark:
    command: str
    quantity: str  # of the column that counts: latency or bandwidth
    keeps_as: Callable[[_Context], str]
    what: Callable[[_Context], str]
    messages: Callable[[_Context], int]  # that a bandwidth counts while one pair sends one message one way


_BENCHMARKS = {
    "Latency": _Benchmark("osu_latency", "latency", lambda c: SEND, lambda c: "a ping-pong", lambda c: 1),
    "Multi Latency": _Benchmark(
        "osu_multi_lat",
        "latency",
        lambda c: "latency-multi-pair",
        lambda c: "the mean of ping-pongs of several pairs at once",
        lambda c: 1,
    ),
    "Bandwidth": _Benchmark(
        "osu_bw",
        "bandwidth",
        lambda c: f"bandwidth-window-{c.window}",
        lambda c: f"a bandwidth with {c.window} messages in flight",
        lambda c: 1,
    ),
    "Bi-Directional Bandwidth": _Benchmark(
        "osu_bibw",
        "bandwidth",
        lambda c: f"bandwidth-bidirectional-window-{c.window}",
        lambda c: f"a bandwidth of both directions together with {c.window} messages in flight each",
        lambda c: 2,
    ),
    "Multiple Bandwidth / Message Rate": _Benchmark(
        "osu_mbw_mr",
        "bandwidth",
        lambda c: f"bandwidth-pairs-{c.pairs}-window-{c.window}",
        lambda c: f"a bandwidth and message rate of {c.pairs} pair(s) with {c.window} messages in flight",
        lambda c: c.pairs,
    ),
}


def _latency(command: str, name: str, what: str) -> _Benchmark:
    return _Benchmark(command, "latency", lambda c: name, lambda c: what, lambda c: 1)


def _window(command: str, name: str, what: str, messages: int = 1) -> _Benchmark:
    return _Benchmark(
        command, "bandwidth", lambda c: f"{name}-window-{c.window}", lambda c: f"{what} with {c.window} messages in flight",
        lambda c: messages,
    )  # fmt: skip


_BENCHMARKS |= {
    "Latency Persistent": _latency("osu_latency_persistent", "persistent-latency", "a ping-pong of persistent requests"),
    "Bandwidth Persistent": _window("osu_bw_persistent", "persistent-bandwidth", "a bandwidth of persistent requests"),
    "Bi-Directional Bandwidth Persistent": _window(
        "osu_bibw_persistent", "persistent-bandwidth-bidirectional", "a bandwidth of both directions by persistent requests", 2
    ),
    "Multi-threaded Latency": _latency("osu_latency_mt", "multi-threaded-latency", "a ping-pong between several threads"),
    "Multi-process Latency": _latency("osu_latency_mp", "multi-process-latency", "a ping-pong of processes that were forked"),
}
_ONE_SIDED = {
    "Put Latency": _latency("osu_put_latency", "put-latency", "the time of a put and its synchronisation"),
    "Get latency": _latency("osu_get_latency", "get-latency", "the time of a get and its synchronisation"),
    "Accumulate latency": _latency("osu_acc_latency", "accumulate-latency", "the time of an accumulate"),
    "Get_accumulate latency": _latency("osu_get_acc_latency", "get-accumulate-latency", "the time of a get-accumulate"),
    "Put Bandwidth": _window("osu_put_bw", "put-bandwidth", "a bandwidth of puts"),
    "Get Bandwidth": _window("osu_get_bw", "get-bandwidth", "a bandwidth of gets"),
    "Put Bi-directional Bandwidth": _window(
        "osu_put_bibw", "put-bandwidth-bidirectional", "a bandwidth of puts of both directions", 2
    ),
}
_COLLECTIVE = re.compile(
    r"(?P<nonblocking>Non-[Bb]locking )?(?P<neighbour>Neighborhood )?(?P<kind>All-to-All[vw]?|Allgatherv?)"
    r"(?: Personalized Exchange)? Latency"
)


def _collective(match: re.Match[str]) -> _Benchmark:
    kind = match["kind"].replace("-to-All", "toall").replace("-", "").lower()
    name = f"neighbor-{kind}" if match["neighbour"] else kind
    command = f"osu_{'i' if match['nonblocking'] else ''}{name.replace('-', '_')}"
    if match["nonblocking"]:
        return _latency(command, f"i{name}", f"the time of one {name} begun and waited for")
    return _latency(command, name, f"the time of one {name}")


def recognises_osu(lines: Sequence[str]) -> bool:
    """Tell whether an OSU benchmark wrote these lines."""
    return any(_TITLE.fullmatch(line) or _USAGE.fullmatch(line) for line in lines)


def read_osu(path: Path, lines: Sequence[str], window: int | None) -> list[Table]:
    """Read all tables of an OSU benchmark's output; ``window`` is what ``-W`` was, where the output does not say it.

    Raises InputError for what is damaged or is not point to point.
    """
    tables: list[Table] = []
    benchmark: _Benchmark | None = None
    context = _Context("", window or DEFAULT_WINDOW)
    datatype = first_datatype = ""
    header: int | None = None  # the line of the titles
    above = _Context("", 0)  # what stands above a title that is about it
    number = 0
    while number < len(lines):
        line, where = lines[number].strip(), f"{path}, line {number + 1}"
        number += 1
        if _USAGE.fullmatch(line):
            reason = next((f" ({x.strip()})" for x in lines[number:] if re.match(r"\s*(Invalid|Unknown)", x)), "")
            raise InputError(f"{where}: the benchmark printed its usage instead of a table{reason}: run it again")
        if title := _TITLE.fullmatch(line):
            benchmark, device = _benchmark(title, where)
            version = f" {title['version']}" if title["version"] else ""
            context = _Context(benchmark.command + version, window or DEFAULT_WINDOW, notes=above.notes, aside=device)
            datatype, first_datatype, header, above = "", "", None, _Context("", 0)
        elif threads := _THREADS.fullmatch(line):
            above = _with_note(above, f"{path.name}: {threads[1].lower()}: {threads[2]}")
        elif benchmark is None:
            continue  # a launcher's words before the title
        elif buffers := _BUFFERS.fullmatch(line):
            sides = tuple(side.lower() for side in buffers.groups())
            context = replace(context, aside=() if set(sides) == {"host"} else (f"{sides[0]}-to-{sides[1]}",))
        elif pairs := _PAIRS.fullmatch(line):
            if pairs["window"] is not None and not pairs["window"].isdigit():
                raise InputError(f"{where}: window size '{pairs['window']}' is not one number: run it without -V")
            window = read_count(pairs["window"] or str(context.window), "window size", where)
            context = replace(context, window=window, pairs=read_count(pairs["pairs"], "pairs", where))
            if context.pairs < 1 or context.window < 1:
                raise InputError(f"{where}: pairs and window size must be at least 1: {RERUN}")
        elif (named := _DATATYPE.fullmatch(line)) or (line.startswith("#") and "Size" in line.split()):
            if named:
                datatype = named["name"]
            else:
                header = number - 1
            behind = next((text.strip() for text in lines[number:] if text.strip()), "")
            if header is None or (behind.startswith("#") if named else _DATATYPE.fullmatch(behind)):
                continue  # the type stands above the titles, or (until 7.2) between them and the rows
            first_datatype = first_datatype or datatype
            other = () if datatype == first_datatype else (datatype.lower().replace("_", "-"),)  # -T all
            told = replace(context, aside=(*context.aside, *other))
            number, table = _read_table(path, lines, (header, number), benchmark, told)
            tables.append(table)
    if benchmark is not None and not tables:
        raise InputError(f"{path}, line {len(lines)}: the file ends before the table of {benchmark.command} begins: {RERUN}")
    return tables


def _benchmark(title: re.Match[str], where: str) -> tuple[_Benchmark, tuple[str, ...]]:
    """Return what a title tells of, and what sets it apart where its buffers are on an accelerator."""
    api, device = (
        re.sub(r"-(CUDA|ROCM|OPENACC|SYCL)\b", "", title["api"]),
        re.search(r"-(CUDA|ROCM|OPENACC|SYCL)\b", title["api"]),
    )
    found = _BENCHMARKS.get(title["name"]) if api == "MPI" else None
    if api.startswith("MPI_"):
        found = _ONE_SIDED.get(f"{api.removeprefix('MPI_')} {title['name']}") or _ONE_SIDED.get(
            f"{api.removeprefix('MPI_')} {title['name'].replace('Latency', 'latency')}"
        )
    elif api == "MPI" and (collective := _COLLECTIVE.fullmatch(title["name"])):
        found = _collective(collective)
    if found is None:
        name = title["name"] if api == "MPI" else f"{title['api']} {title['name']}"
        raise InputError(
            f"{where}: OSU's '{name}' test has no place in a profile: give the output of "
            f"{', '.join(b.command for b in list(_BENCHMARKS.values())[:5])}, of their persistent and multi-threaded kin, of "
            "puts and gets, or of all-to-all and neighbourhood collectives"
        )
    return found, (device[1].lower(),) if device else ()


def _read_table(
    path: Path, lines: Sequence[str], start_first: tuple[int, int], benchmark: _Benchmark, context: _Context
) -> tuple[int, Table]:
    """Read the table whose header and first row are these lines (from 0); return the index of the line after it, and it."""
    start, number = start_first
    titles = _titles(lines[start], f"{path}, line {start + 1}")
    chosen = _chosen(titles, benchmark, f"{path}, line {start + 1}")
    columns = [Column(title) for title in titles]
    rows, skipped = Rows(), list[int]()
    while number < len(lines) and not lines[number].lstrip().startswith("#"):
        line, where = lines[number], f"{path}, line {number + 1}"
        number += 1
        if not line.strip():
            continue
        if is_other_text(line):
            skipped.append(number)
            continue
        cells = line.split()
        if len(cells) != 1 + len(titles):
            raise InputError(
                f"{where}: {len(cells)} columns where the header has {1 + len(titles)}: the line is cut off, or two "
                f"programs wrote into it: {RERUN}"
            )
        size = read_size(cells[0], where)
        samples, figure = 1, None
        for title, column, cell in zip(titles, columns, cells[1:], strict=True):
            if title == "Validation":
                if cell != "Pass":
                    raise InputError(
                        f"{where}: '{cell}' stands under Validation: wrong bytes arrived, so this time means nothing: "
                        "mend the MPI and run it again"
                    )
            elif title == "Transmit Size":
                if read_size(cell, where) != size:
                    raise InputError(
                        f"{where}: {cell} of {size} B travel (a derived datatype, -D): no plain message: run it without -D"
                    )
            elif title == "Iterations":
                samples = max(1, read_size(cell, where))
            elif title == "Overlap(%)":
                continue
            else:
                printed = column.read(cell, where)
                figure = printed if title == chosen else figure
        assert figure is not None  # the header has the chosen column
        if (time_s := _time_s(figure, chosen, size, benchmark.messages(context))) is None:
            context = _with_note(
                context, f"{path.name}, line {number}: rounding left nothing of the figure at {size} B: row left out"
            )
            continue
        rows.add(size, time_s, None, None, samples, where)
    points = rows.finish(f"{path}, line {start + 1}")
    notes = list(context.notes)
    if skipped:
        notes.append(f"{path.name}, line {skipped[0]}: {len(skipped)} line(s) of other text inside the table skipped")
    if benchmark.quantity == "bandwidth" and benchmark.command != "osu_mbw_mr":
        notes.append(f"{path.name}: the output does not say how many messages were in flight: {context.window} assumed")
    return number, Table(
        path,
        start + 1,
        context.program,
        _name(benchmark.keeps_as(context), context.aside),
        benchmark.what(context) + (f" ({', '.join(context.aside)})" if context.aside else ""),
        "median" if chosen.startswith("P50 ") else "mean",
        points,
        tuple(notes),
    )


def _with_note(context: _Context, note: str) -> _Context:
    return replace(context, notes=(*context.notes, note))


def _name(name: str, aside: Sequence[str]) -> str:
    """Return a name for what was counted; a ping-pong of another datatype, or between devices, is not the send curve."""
    return "-".join(["latency" if name == SEND else name, *aside]) if aside else name


def _titles(header: str, where: str) -> list[str]:
    """Split a header into the titles of its columns, without the size."""
    rest = header.lstrip("# \t").removeprefix("Size").strip()
    titles = _COLUMNS.findall(rest)
    if "".join("".join(titles).split()) != "".join(rest.split()) or len(set(titles)) != len(titles):
        raise InputError(f"{where}: the columns '{' '.join(rest.split())[:100]}' are not OSU's: {RERUN}")
    return titles


def _chosen(titles: list[str], benchmark: _Benchmark, where: str) -> str:
    """Return the column that counts: the median where there is one, else the mean; the message rate has most digits."""
    wanted, median = _WANTED[benchmark.quantity]
    if median in titles:
        return median
    if "Messages/s" in titles:
        return "Messages/s"
    found = [title for title in titles if title in wanted]
    if len(found) != 1:
        raise InputError(f"{where}: no column of {benchmark.quantity} in the header of {benchmark.command}: {RERUN}")
    return found[0]


def _time_s(figure: Printed, title: str, size: int, messages: int) -> float | None:
    """Return the time of one message; None where the rounding leaves no time."""
    if title.endswith("(us)"):
        return None if figure.value <= 0 else figure.value * _MICRO
    per_message = messages if title == "Messages/s" else messages * size / _MEGA
    if figure.low <= 0 or per_message <= 0:
        return None
    return per_message / figure.value
