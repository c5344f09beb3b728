"""``rankwise observe``: who sends what to whom in an unmodified program, and how long it is in MPI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, group, print_json, tell, verb, writable
from rankwise.errors import InputError
from rankwise.units import format_count, format_size, format_span, format_volume

if TYPE_CHECKING:
    from rankwise.advise.evidence import Evidence

observe_verbs = group("observe", "Who sends what to whom in a program as it is: record it, look at it.", default="run")

File = Annotated[Path, typer.Argument(help="A record that 'rankwise observe' wrote.")]


@verb(
    "run",
    """rankwise observe run -o app.comm -- mpiexec -n 16 ./app
    rankwise observe -o app.comm -- srun -n 64 ./app input
    rankwise observe show app.comm""",
    under=observe_verbs,
)
def run(
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and what it starts.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The record; on a disk that all nodes share.", callback=writable)
    ] = Path("observed.comm"),
) -> int:
    """Run a program as it is and record its messages: per pair of ranks how many, how large, and the time in each call.

    The program needs no recompiling; it may be of C, C++, Fortran or Python, of MPICH, Open MPI, Intel MPI or their kin. The
    record is written also where the program is killed or aborts. The exit code is the program's.
    """
    from rankwise.api.observing import headline
    from rankwise.observe.start import exit_code_of, observe

    sys.stdout.flush()
    code, record = observe(command, output)
    if record is not None:
        tell(f"{output}: {headline(record)}; next: rankwise observe show {output}")
        for note in record.header["notes"]:
            tell(f"{output}: {note}")
    return exit_code_of(code, record)


@verb(
    "show",
    """rankwise observe show app.comm
    rankwise observe show app.comm --json
    rankwise observe show app.comm --plot matrix.html""",
    under=observe_verbs,
)
def show(
    file: File,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the matrix as .svg or .html.", callback=writable)] = None,
    as_json: Json = False,
) -> None:
    """Show a record: the time in MPI, the calls that take it, the pairs of ranks, the matrix."""
    from rankwise.api.observing import load_record

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise InputError(f"--plot {plot} is no picture that can be drawn: give it the ending .svg or .html")
    found = load_record(file)
    if plot is not None:
        found.plot().save(plot)
        tell(f"picture: {plot}")
    if as_json:
        print_json(found.to_dict())
    else:
        print("\n".join(_lines(found.evidence, file)))


@verb(
    "export",
    """rankwise observe export app.comm --format matrixmarket > app.mtx
    rankwise observe export app.comm --format perfetto -o app.json""",
    under=observe_verbs,
)
def export(
    file: File,
    form: Annotated[
        str, typer.Option("--format", help="matrixmarket (bytes), csv (pairs), or perfetto (the events, for ui.perfetto.dev).")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write. Default: stdout.", callback=writable)
    ] = None,
) -> None:
    """Write a record in another program's format."""
    from rankwise.files import write_whole
    from rankwise.observe.export import FORMATS, exported
    from rankwise.observe.record import read_record

    if form not in FORMATS:
        raise InputError(f"--format '{form}' is unknown: take one of {', '.join(FORMATS)}")
    text = exported(read_record(file), form)
    if output is None:
        sys.stdout.writelines(text)
    else:
        write_whole(output, "".join(text))


def _lines(evidence: Evidence, file: Path) -> list[str]:
    import numpy as np

    from rankwise.api.observing import headline
    from rankwise.observe.summary import bytes_between_hosts, call_table, matrix_lines, mpi_share

    record, shares = evidence.record, evidence.shares
    lines = [f"{file}: {headline(record)}"]
    lines += [f"  {note}" for note in evidence.notes]
    if len(record.peer):
        lines.append(f"Pattern   {evidence.pattern.words}")
    if evidence.steps is not None:
        waiting = f", {shares.share(shares.waiting_s):.0%} of it waiting for late partners" if shares.split else ""
        lines.append(f"Step      {evidence.steps.words}{waiting}")
    table = [line for line in call_table(record) if line["seconds"] > 0]
    total = sum(line["seconds"] for line in table)
    if total > 0:
        most = [line for line in table[:5] if line["seconds"] >= 0.01 * total]
        lines.append("In MPI    " + ", ".join(f"{line['call']} {line['seconds'] / total:.0%}" for line in most))
    if len(record.peer):
        degrees = np.diff(record.pointer).tolist()
        all_bytes, messages = int((record.bytes + record.pulled).sum()), int(record.messages.sum())
        across = f", {format_volume(bytes_between_hosts(record))} of it between hosts" if len(record.hosts) > 1 else ""
        others = f"{format_span(degrees)} other{'s' * (max(degrees) != 1)}"
        lines.append(
            f"Messages  {messages}, {format_volume(all_bytes)} in all{across}; a rank sends to {others}, "
            f"{format_count(len(record.peer), 'pair')}"
        )
    collectives = sorted(record.header.get("collectives", []), key=lambda line: -line["calls"])
    for line in collectives[:6]:
        on = "" if line["comm"] == 0 else f" on communicator {line['comm']}"
        root = "" if line["root"] is None else f" from or to {line['root']}"
        lines.append(
            f"          {line['call']} {format_size(line['bytes'])}{root}{on}: {line['calls']} calls of {line['ranks']} ranks"
        )
    if len(collectives) > 6:
        lines.append(f"          and {len(collectives) - 6} more kinds (--json)")
    for cart in record.header.get("carts", []):
        dims = "x".join(map(str, cart["dims"]))
        lines.append(f"Grid      MPI_Cart_create {dims}, periodic {cart['periodic']}, reorder {cart['reorder']}")
    matrix = matrix_lines(record)
    if matrix:
        lines += ["Bytes     rows send, columns receive; @ the heaviest pair, each shade a third of the one above", *matrix]
    if mpi_share(record) is None:
        lines.append("The time in MPI is not known")
    return lines
