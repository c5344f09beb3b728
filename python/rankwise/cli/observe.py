"""A program observed as it is: recorded, shown, compared, imported and exported."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import rankwise
from rankwise.cli.base import Json, drawable, group, show, tell, verb, writable, write_plot
from rankwise.errors import InputError, exit_code
from rankwise.files import write_whole
from rankwise.questions import Options, option

if TYPE_CHECKING:
    from rankwise.observe.record import Record

observe_verbs = group(
    "observe",
    "Record which rank sends what to which while your program runs.",
    "rankwise observe -o app.comm -- mpiexec -n 16 ./app",
    default="run",
)


@dataclass(frozen=True)
class View(Options):
    """What is shown in place of all of a record."""

    ranks: bool = option(False, "Show compute, MPI, wait, messages and bytes of each rank.")
    collectives: bool = option(False, "Show time and wait in collectives by call, size and call site.")
    which: bool = option(False, "Show which algorithms the MPI selects for collectives.")
    live: bool = option(False, "Show where ranks wait of the program that FILE is going to record.")


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
    from rankwise.observe.start import exit_code_of, observe

    sys.stdout.flush()
    code, record = observe(command, output, meanwhile=lambda: import_module("rankwise.api.observing"))
    if record is not None:
        _tell_of(record, output)
    return exit_code_of(code, record)


@verb(
    "show",
    """rankwise observe show app.comm
    rankwise observe show app.comm --ranks
    rankwise observe show app.comm --live
    rankwise observe show app.comm --json
    rankwise observe show app.comm --plot matrix.html""",
    under=observe_verbs,
)
def show_record(
    file: File,
    view: View,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the matrix as .svg or .html.", callback=drawable)] = None,
    since_s: Annotated[float, typer.Option("--from", help="Look at steps from here on: seconds since the beginning.")] = 0.0,
    until_s: Annotated[float | None, typer.Option("--to", help="Look at steps up to here. Default: the end.")] = None,
    as_json: Json = False,
) -> None:
    """Show a record: the time in MPI, the calls that take it, the pairs of ranks, the matrix."""
    if view.live:
        return show(rankwise.live(file), as_json)
    found = rankwise.load_record(file, since_s, until_s)
    write_plot(found, plot, "picture: ")
    views = ((view.ranks, found.rank_blocks), (view.collectives, found.collective_blocks), (view.which, found.algorithm_blocks))
    show(found, as_json, next((blocks() for asked, blocks in views if asked), None))


@verb(
    "compare",
    """rankwise observe compare before.comm after.comm
    rankwise observe compare before.comm after.comm --json""",
    under=observe_verbs,
)
def compare_records(
    a: Annotated[Path, typer.Argument(metavar="A", help="The record to compare with.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The record of the run that may be slower.")],
    as_json: Json = False,
) -> int:
    """Compare two records of a program: what changed in its step, by part, call site and rank.

    Exit 3 when a step of B takes longer for certain, by the scatter of each run's own steps; 5 when that is unclear; else 0.
    """
    found = rankwise.compare_runs(a, b)
    show(found, as_json)
    return exit_code(found.verdict, strict=False)


@verb("recover", "rankwise observe recover app.comm", under=observe_verbs)
def recover_record(
    file: Annotated[Path, typer.Argument(help="The record that 'rankwise observe' would have written.", callback=writable)],
) -> None:
    """Write the record of a program whose 'rankwise observe' was killed, from what its ranks left."""
    from rankwise.observe.start import recover

    for note in recover(file).header["notes"]:
        tell(f"{file}: {note}")


@verb("import", "rankwise observe import traces.otf2 -o app.comm", under=observe_verbs)
def import_trace(
    trace: Annotated[Path, typer.Argument(help="The anchor file of a trace of Score-P, traces.otf2.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The record.", callback=writable)] = Path("observed.comm"),
) -> None:
    """Make a record of a trace that Score-P wrote (OTF2), of up to some million events.

    Needs the package otf2: pip install 'rankwise[otf2]'. Calls of MPI on the first location of each process are read.
    """
    from rankwise.observe.otf2 import read_otf2
    from rankwise.observe.record import write_record

    record = read_otf2(trace)
    write_record(output, record)
    _tell_of(record, output)


def _tell_of(record: Record, file: Path) -> None:
    """Say what was recorded, and what weakens its figures."""
    from rankwise.api.observing import headline

    tell(f"{file}: {headline(record)}; next: rankwise observe show {file}")
    for note in record.header["notes"]:
        tell(f"{file}: {note}")


@verb(
    "export",
    """rankwise observe export app.comm --format matrixmarket > app.mtx
    rankwise observe export app.comm --format perfetto -o app.json""",
    under=observe_verbs,
)
def export(
    file: File,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="matrixmarket (bytes), csv (pairs), perfetto (events, for ui.perfetto.dev), goal (a step, LogGOPSim).",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write. Default: stdout.", callback=writable)
    ] = None,
) -> None:
    """Write a record in another program's format."""
    from rankwise.observe.formats import FORMATS, exported
    from rankwise.observe.record import read_record

    if form not in FORMATS:
        raise InputError(f"--format '{form}' is unknown: take one of {', '.join(FORMATS)}")
    text = exported(read_record(file, sys.maxsize), form)
    if output is None:
        sys.stdout.writelines(text)
    else:
        write_whole(output, "".join(text))
