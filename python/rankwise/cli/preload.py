"""``rankwise preload``: an unmodified program whose MPI_Cart_create places its ranks well."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated

import typer

from rankwise.cli.base import verb
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, InputError, UnusableEnvironmentError


@verb(
    "preload",
    """
    rankwise preload -- mpiexec -n 8 ./app
    rankwise preload --verbose --stencil moore:1 -- srun ./app
    rankwise preload --neighbor check -- mpiexec -n 8 ./app
    """,
)
def preload(
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and what it starts.")],
    mapping: Annotated[
        str | None, typer.Option(help="The mapping: auto, stencil-strips, kd-tree ... as in 'rankwise map'.")
    ] = None,
    stencil: Annotated[
        str | None, typer.Option(help="The program's stencil, as in 'rankwise map'; nearest-neighbor where not given.")
    ] = None,
    effort: Annotated[
        str | None, typer.Option(help="How long auto and refined may search: 10ms, 1s; else what it is worth.")
    ] = None,
    graphs: Annotated[
        bool,
        typer.Option(
            "--graphs", help="Place the ranks of MPI_Dist_graph_create, ..._adjacent and MPI_Graph_create, too (called from C)."
        ),
    ] = False,
    neighbor: Annotated[
        str | None,
        typer.Option(help="Whether neighbourhood collectives are served by plans: off (the default), check, auto or always."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="One rank tells each communicator's scores before and after on stderr.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Test whether the program is safe under reordering: three runs, compared by what they print."
        ),
    ] = False,
) -> None:
    """Run a program as it is, but let its MPI_Cart_create place the ranks where few messages cross nodes.

    Calls with reorder true, from C and from Fortran, get a communicator of the same grid with other ranks in its cells;
    with --neighbor neighbourhood collectives go by plans of ours; everything else goes to the program's own MPI. One line says
    what was done, or why nothing. The exit code is the program's; with --check 0 for safe, 3 for unsafe, 5 where the runs do
    not show it.
    """
    from rankwise import _core
    from rankwise.launch.preload import NEIGHBOR_MODES, preload_environment, require_fit
    from rankwise.units import parse_seconds

    known = [algorithm.name for algorithm in _core.mapping_algorithms()]
    if mapping is not None and mapping not in known:
        raise InputError(f"--mapping '{mapping}' is unknown: take one of {', '.join(known)}")
    if neighbor not in (None, *NEIGHBOR_MODES):
        raise InputError(f"--neighbor '{neighbor}' is unknown: take one of {', '.join(NEIGHBOR_MODES)}")
    environment = preload_environment(
        {
            "RANKWISE_MAPPING": mapping,
            "RANKWISE_STENCIL": stencil,
            "RANKWISE_EFFORT": None if effort is None else f"{parse_seconds(effort, '--effort'):.9f}s",
            "RANKWISE_VERBOSE": "1" if verbose else None,
            "RANKWISE_GRAPHS": "1" if graphs else None,
            "RANKWISE_NEIGHBOR": neighbor,
        }
    )
    found = shutil.which(command[0])
    if found is None:
        raise UnusableEnvironmentError(f"{command[0]} cannot be started: it is no executable on PATH, correct its name")
    require_fit([found, *command[1:]])
    if check:
        raise typer.Exit(_check([found, *command[1:]], environment))
    sys.stdout.flush()
    # The program takes our place: signals, terminal and exit code are its own.
    os.execve(found, command, environment)


def _check(command: list[str], environment: dict[str, str]) -> int:
    """Tell whether a program is safe under reordering, and return the exit code."""
    from rankwise.launch.reorder_check import SAFE, UNSAFE, check_reordering

    moving = {"RANKWISE_MAPPING": "random", "RANKWISE_VERBOSE": ""}
    listed = environment["OMPI_MCA_mca_base_env_list"]
    moving["OMPI_MCA_mca_base_env_list"] = listed if "RANKWISE_MAPPING" in listed else f"{listed};RANKWISE_MAPPING"
    finding = check_reordering(command, os.environ, environment | moving)
    print(
        f"{finding.verdict.capitalize()} under reordering{' as far as these runs show' if finding.verdict == SAFE else ''}: "
        f"{finding.why}."
    )
    if finding.verdict != SAFE:
        print(
            "A placement by the launcher is safe for every program: rankwise observe -o app.comm -- ..., then "
            "rankwise map --observed app.comm --format openmpi-rankfile (or another launcher's)."
        )
    return EXIT_OK if finding.verdict == SAFE else EXIT_REGRESSION if finding.verdict == UNSAFE else EXIT_UNCLEAR
