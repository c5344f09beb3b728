"""The output of the OSU micro-benchmarks, versions 5 to 7: point to point, one-sided, collectives of MPI.

osu_latency is a ping-pong: its one-way times are the send curve. What the others count has a place of its own, as the time of
one message: of a stream with so many in flight (osu_bw, osu_mbw_mr), of one direction while both stream (osu_bibw), of a
ping-pong with others (osu_multi_lat), of a put; or as the time of one call of a collective. Further datatypes of one run, and
buffers on an accelerator, are told apart by names of their own. Other collectives have no place in a profile: what they took is
held against predictions (``read_collective``).

Times are printed in microseconds and bandwidths in 1e6 bytes/s with two decimals, as a rule: the rounding is the
interval, since the output says nothing of the spread. Where percentiles were printed, the median stands for the row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.link import LEAST_SIZES, Point
from rankwise.measure.imports.table import RERUN, SEND, Column, Lines, Printed, Rows, Table, have, read_count, read_size

DEFAULT_WINDOW = 64
_TITLE = re.compile(r"#\s*OSU (?P<api>\S+) (?P<name>.+?) Test(?:\s+v(?P<version>[\w.]+))?\s*")
_PAIRS = re.compile(r"#\s*\[ pairs: (?P<pairs>\d+) \](?: \[ window size: (?P<window>\S+) \])?.*")
_DATATYPE = re.compile(r"#\s*Datatype:\s*(?P<name>\S+?)\.?\s*")
_THREADS = re.compile(
    r"#\s*(Number of (?:Sender|Receiver) threads|Number of forked processes in (?:sender|receiver)): (\d+)\s*"
)
_BUFFERS = re.compile(r"#\s*Send Buffer on (\w+) .*Receive Buffer on (\w+) .*")
_USAGE = re.compile(r"Usage: osu_\w+.*")
SIGNS = (_TITLE, _USAGE)
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
    of_last: bool = False  # the slowest rank's figure counts, where it is printed (-f)


@dataclass(frozen=True)
class _Benchmark:
    """A benchmark: its command, the name of its curve, and what it counts; ``messages``: those that a bandwidth counts while
    one pair sends one message one way (None: it is a latency; 0: as many as there are pairs)."""

    command: str
    keeps_as: str
    what: str
    messages: int | None = None
    least: int = LEAST_SIZES  # how many sizes there must be

    def in_words(self, context: _Context) -> str:
        """Say what was counted."""
        flight = "" if self.messages is None else f" with {context.window} messages in flight{' each' * (self.messages == 2)}"
        return self.what.format(pairs=context.pairs) + flight + (f" ({', '.join(context.aside)})" if context.aside else "")

    def name(self, context: _Context) -> str:
        """Return the name of the curve; a ping-pong of another datatype, or between devices, is not the send curve."""
        name = self.keeps_as.format(pairs=context.pairs) + ("" if self.messages is None else f"-window-{context.window}")
        return "-".join(["latency" if name == SEND else name, *context.aside]) if context.aside else name


_USUAL = {
    "Latency": _Benchmark("osu_latency", SEND, "a ping-pong"),
    "Multi Latency": _Benchmark("osu_multi_lat", "latency-multi-pair", "the mean of ping-pongs of several pairs at once"),
    "Bandwidth": _Benchmark("osu_bw", "bandwidth", "a bandwidth", 1),
    "Bi-Directional Bandwidth": _Benchmark("osu_bibw", "bandwidth-bidirectional", "a bandwidth of both directions together", 2),
    "Multiple Bandwidth / Message Rate": _Benchmark(
        "osu_mbw_mr", "bandwidth-pairs-{pairs}", "a bandwidth and message rate of {pairs} pair(s)", 0
    ),
}
_BENCHMARKS = _USUAL | {
    "Latency Persistent": _Benchmark("osu_latency_persistent", "persistent-latency", "a ping-pong of persistent requests"),
    "Bandwidth Persistent": _Benchmark("osu_bw_persistent", "persistent-bandwidth", "a bandwidth of persistent requests", 1),
    "Bi-Directional Bandwidth Persistent": _Benchmark(
        "osu_bibw_persistent", "persistent-bandwidth-bidirectional", "a bandwidth of both directions by persistent requests", 2
    ),
    "Multi-threaded Latency": _Benchmark("osu_latency_mt", "multi-threaded-latency", "a ping-pong between several threads"),
    "Multi-process Latency": _Benchmark("osu_latency_mp", "multi-process-latency", "a ping-pong of processes that were forked"),
}
_ONE_SIDED = {
    "put latency": _Benchmark("osu_put_latency", "put-latency", "the time of a put and its synchronisation"),
    "get latency": _Benchmark("osu_get_latency", "get-latency", "the time of a get and its synchronisation"),
    "accumulate latency": _Benchmark("osu_acc_latency", "accumulate-latency", "the time of an accumulate"),
    "get_accumulate latency": _Benchmark("osu_get_acc_latency", "get-accumulate-latency", "the time of a get-accumulate"),
    "put bandwidth": _Benchmark("osu_put_bw", "put-bandwidth", "a bandwidth of puts", 1),
    "get bandwidth": _Benchmark("osu_get_bw", "get-bandwidth", "a bandwidth of gets", 1),
    "put bi-directional bandwidth": _Benchmark(
        "osu_put_bibw", "put-bandwidth-bidirectional", "a bandwidth of puts of both directions", 2
    ),
}
_COLLECTIVE = re.compile(
    r"(?P<nonblocking>Non-[Bb]locking )?(?P<neighbour>Neighborhood )?(?P<kind>All-to-All[vw]?|Allgatherv?|Allreduce|Broadcast"
    r"|Reduce|Reduce_[Ss]catter(?:_[Bb]lock)?|Gatherv?|Scatterv?|Barrier)(?: Personalized Exchange)? Latency"
)


_KEPT = re.compile("i?(neighbor-)?(alltoall|allgather).*")  # what has a place in a profile
_NO_SIZE = frozenset({"barrier"})


def _collective(match: re.Match[str]) -> _Benchmark:
    kind = match["kind"].replace("-to-All", "toall").replace("-", "").replace("Broadcast", "bcast").lower()
    name = f"neighbor-{kind}" if match["neighbour"] else kind
    command = f"osu_{'i' if match['nonblocking'] else ''}{name.replace('-', '_')}"
    if match["nonblocking"]:
        return _Benchmark(command, f"i{name}", f"the time of one {name} begun and waited for")
    return _Benchmark(command, name, f"the time of one {name}", least=LEAST_SIZES if _KEPT.fullmatch(name) else 1)


def read_osu(path: Path, lines: Sequence[str], window: int | None, every: bool = False) -> list[Table]:
    """Read all tables of an OSU benchmark's output; ``window`` is what ``-W`` was, where the output does not say it; ``every``:
    also collectives that have no place in a profile.

    Raises InputError for what is damaged or is not point to point.
    """
    source, tables = Lines(path, lines), list[Table]()
    benchmark: _Benchmark | None = None
    context = _Context("", window or DEFAULT_WINDOW)
    datatype = first_datatype = ""
    header: tuple[str, int] | None = None  # the titles, and their line
    above: list[str] = []  # what is to be said of the next title
    for line in source:
        if _USAGE.fullmatch(line):
            reason = next((f" ({x})" for x in source.below if re.match("(Invalid|Unknown)", x)), "")
            raise InputError(f"{source.where}: the benchmark printed its usage instead of a table{reason}: run it again")
        if title := _TITLE.fullmatch(line):
            benchmark, device = _benchmark(title, source.where, every)
            version = f" {title['version']}" if title["version"] else ""
            context = _Context(
                benchmark.command + version, window or DEFAULT_WINDOW, notes=tuple(above), aside=device, of_last=every
            )
            datatype, first_datatype, header, above = "", "", None, []
        elif threads := _THREADS.fullmatch(line):
            above.append(f"{path.name}: {threads[1].lower()}: {threads[2]}")
        elif benchmark is None:
            continue  # a launcher's words before the title
        elif buffers := _BUFFERS.fullmatch(line):
            sides = tuple(side.lower() for side in buffers.groups())
            context = replace(context, aside=() if set(sides) == {"host"} else (f"{sides[0]}-to-{sides[1]}",))
        elif pairs := _PAIRS.fullmatch(line):
            if pairs["window"] is not None and not pairs["window"].isdecimal():
                raise InputError(f"{source.where}: window size '{pairs['window']}' is not one number: run it without -V")
            window = read_count(pairs["window"] or str(context.window), "window size", source.where)
            context = replace(context, window=window, pairs=read_count(pairs["pairs"], "pairs", source.where))
            if context.pairs < 1 or context.window < 1:
                raise InputError(f"{source.where}: pairs and window size must be at least 1: {RERUN}")
        elif (named := _DATATYPE.fullmatch(line)) or (line.startswith("#") and _begins_rows(line, benchmark)):
            if named:
                datatype = named["name"]
            else:
                header = line, source.number
            behind = next(source.below, "")
            if header is None or (behind.startswith("#") if named else _DATATYPE.fullmatch(behind)):
                continue  # the type stands above the titles, or (until 7.2) between them and the rows
            first_datatype = first_datatype or datatype
            other = () if datatype == first_datatype else (datatype.lower().replace("_", "-"),)  # -T all
            tables.append(_read_table(source, header, benchmark, replace(context, aside=(*context.aside, *other))))
    if benchmark is not None and not tables:
        raise source.missing(f"the table of {benchmark.command}")
    return tables


@dataclass(frozen=True)
class MeasuredCollective:
    """What a blocking collective took, by size; ``element_bytes``: of the datatype; ``of_last``: until the slowest rank was
    done, else in the mean over ranks."""

    collective: str
    element_bytes: int
    points: tuple[Point, ...]
    of_last: bool


def read_collective(path: Path, lines: Sequence[str]) -> MeasuredCollective:
    """Read the first table of a benchmark of a collective. Raises InputError."""
    tables = read_osu(path, lines, None, every=True) if have(lines, SIGNS) else []
    match = re.fullmatch(r"osu_([a-z]\w*)(?: \S+)?", tables[0].program) if tables else None
    if match is None or match[1] != tables[0].keeps_as:
        raise InputError(f"{path} is not the output of an OSU benchmark of a blocking collective: give osu_allreduce's, say")
    named = next((found[1] for found in map(_DATATYPE.fullmatch, lines) if found), "")
    reduces = "reduce" in match[1]
    element_bytes = 1 if named == "MPI_CHAR" or not reduces else 4
    return MeasuredCollective(match[1], element_bytes, tables[0].points, tables[0].statistic == "maximum")


def _begins_rows(line: str, benchmark: _Benchmark) -> bool:
    """Tell whether a line has the titles of columns; a barrier has no size."""
    return "Size" in line.split() or (benchmark.keeps_as in _NO_SIZE and _COLUMNS.match(line.lstrip("# \t")) is not None)


def _benchmark(title: re.Match[str], where: str, every: bool) -> tuple[_Benchmark, tuple[str, ...]]:
    """Return what a title tells of, and what sets it apart where its buffers are on an accelerator."""
    device = re.search(r"-(CUDA|ROCM|OPENACC|SYCL)\b", title["api"])
    api = title["api"].replace(device[0], "") if device else title["api"]
    found = _BENCHMARKS.get(title["name"]) if api == "MPI" else None
    if api.startswith("MPI_"):
        found = _ONE_SIDED.get(f"{api.removeprefix('MPI_')} {title['name']}".lower())
    elif api == "MPI" and (collective := _COLLECTIVE.fullmatch(title["name"])):
        found = _collective(collective)
        if not every and not _KEPT.fullmatch(found.keeps_as):
            raise InputError(
                f"{where}: OSU's '{title['name']}' test has no place in a profile: hold it against a prediction, "
                "rankwise predict collective --osu"
            )
    if found is None:
        name = title["name"] if api == "MPI" else f"{title['api']} {title['name']}"
        raise InputError(
            f"{where}: OSU's '{name}' test has no place in a profile: give the output of "
            f"{', '.join(usual.command for usual in _USUAL.values())}, of their persistent and multi-threaded kin, of "
            "puts and gets, or of all-to-all and neighbourhood collectives"
        )
    return found, (device[1].lower(),) if device else ()


def _read_table(source: Lines, header: tuple[str, int], benchmark: _Benchmark, context: _Context) -> Table:
    """Read the rows below the titles."""
    path, (line, number) = source.path, header
    start = source.at(number)
    titles = _titles(line, start)
    slowest = [title for title in titles if re.fullmatch(r"Max Lat(ency)? ?\(us\)", title)] if context.of_last else []
    chosen = slowest[0] if slowest else _chosen(titles, benchmark, start)
    columns = [Column(title) for title in titles]
    rows, notes = Rows(), list(context.notes)
    sized = benchmark.keeps_as not in _NO_SIZE
    for printed_cells in source.rows(sized + len(titles), notes):
        cells = printed_cells if sized else ["0", *printed_cells]
        size, where = read_size(cells[0], source.where), source.where
        samples, figure = 1, None
        for title, column, cell in zip(titles, columns, cells[1:], strict=True):
            if title == "Validation":
                if cell != "Pass":
                    raise InputError(
                        f"{where}: '{cell}' stands under Validation: wrong bytes arrived, so this time means nothing: "
                        "fix the MPI and run it again"
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
        messages = context.pairs if benchmark.messages == 0 else benchmark.messages or 1
        if (time_s := _time_s(figure, chosen, size, messages)) is None:
            notes.append(source.note(f"rounding left nothing of the figure at {size} B: row left out"))
            continue
        rows.add(size, time_s, None, None, samples, where)
    points = rows.finish(start, benchmark.least)
    if benchmark.messages:
        notes.append(f"{path.name}: the output does not say how many messages were in flight: {context.window} assumed")
    statistic = "maximum" if slowest else "median" if chosen.startswith("P50 ") else "mean"
    name, what = benchmark.name(context), benchmark.in_words(context)
    return Table(path, number, context.program, name, what, statistic, points, tuple(notes))


def _titles(header: str, where: str) -> list[str]:
    """Split a header into the titles of its columns, without the size."""
    rest = header.lstrip("# \t").removeprefix("Size").strip()
    titles = _COLUMNS.findall(rest)
    if "".join("".join(titles).split()) != "".join(rest.split()) or len(set(titles)) != len(titles):
        raise InputError(f"{where}: the columns '{' '.join(rest.split())[:100]}' are not OSU's: {RERUN}")
    return titles


def _chosen(titles: list[str], benchmark: _Benchmark, where: str) -> str:
    """Return the column that counts: the median where there is one, else the mean; the message rate has most digits."""
    quantity = "latency" if benchmark.messages is None else "bandwidth"
    wanted, median = _WANTED[quantity]
    if median in titles:
        return median
    if "Messages/s" in titles:
        return "Messages/s"
    found = [title for title in titles if title in wanted]
    if len(found) != 1:
        raise InputError(f"{where}: no column of {quantity} in the header of {benchmark.command}: {RERUN}")
    return found[0]


def _time_s(figure: Printed, title: str, size: int, messages: int) -> float | None:
    """Return the time of one message; None where the rounding leaves no time."""
    if title.endswith("(us)"):
        return None if figure.value <= 0 else figure.value * _MICRO
    per_message = messages if title == "Messages/s" else messages * size / _MEGA
    if figure.low <= 0 or per_message <= 0:
        return None
    return per_message / figure.value
