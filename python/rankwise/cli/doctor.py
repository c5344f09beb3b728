"""``rankwise doctor``: the machine, its MPI, what would spoil a measurement, and the cure of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.api.streams import Streams
from rankwise.cli.base import Json, show, tell, verb, writable
from rankwise.errors import EXIT_ENVIRONMENT, EXIT_OK, InputError


@verb(
    "doctor",
    example="""
    rankwise doctor
    rankwise doctor --ranks 8 --json
    rankwise doctor --nodes --hosts n[01-16]
    """,
)
def doctor(
    asked: Streams,
    ranks: Annotated[
        int, typer.Option("--ranks", min=1, help="Ranks that will be measured with: are there cores for them?")
    ] = 2,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Which node, direction or cable is slow? Streams between all pairs of nodes.")
    ] = False,
    present: Annotated[
        Path | None, typer.Option("--from", help="--nodes: judge the newest campaign of this samples file, measure nothing.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="--nodes: draw who sends to whom how slowly, into .svg or .html.", callback=writable)
    ] = None,
    as_json: Json = False,
) -> int:
    """Show the machine and its MPI, what would spoil a measurement here, and the cure of each.

    Starts two ranks to see that they find each other. Exit code 4 when measuring is impossible. With --nodes: 3 when something
    is slow, 5 when it is too noisy to see what is 20 % slower, 6 when nodes are busy with other work.
    """
    if nodes:
        return _doctor_nodes(asked, present, plot, as_json)
    if any(value is not None for value in (asked.hosts, asked.sizes, present, plot)) or asked.resume:
        raise InputError(
            "--hosts, --sizes, --from, --plot and --resume are for the nodes: write 'rankwise doctor --nodes', or leave them "
            "out"
        )
    from rankwise.api.examining import doctor

    found = doctor(ranks)
    show(found, as_json)
    return EXIT_OK if found.usable else EXIT_ENVIRONMENT


def _doctor_nodes(asked: Streams, present: Path | None, plot: Path | None, as_json: bool) -> int:
    """Name slow nodes, directions and pairs, measured now or (``present``) kept in a file; return the exit code."""
    from rankwise.api.streams import slow_nodes

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise InputError(f"--plot {plot} is no picture that can be drawn: give it the ending .svg or .html")
    found = slow_nodes(asked, present)
    if plot is not None:
        found.plot().save(plot)
        tell(f"picture: {plot}")
    show(found, as_json)
    return found.exit_code
