"""``rankwise observe``: who sends what to whom in an unmodified program, and how long it is in MPI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, group, show, tell, verb, writable
from rankwise.errors import InputError

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
def show_record(
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
    show(found, as_json)


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
