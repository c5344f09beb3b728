"""A program: what to change (advise, tune), two placements tried, grids placed as it runs (preload)."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import rankwise
from rankwise import _core
from rankwise.api.requests import Target, Trying, Tuning
from rankwise.blocks.terminal import show_all
from rankwise.cli.base import Json, show, tell, verb, writable
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, InputError, UnusableEnvironmentError
from rankwise.files import write_whole
from rankwise.questions import Options, option
from rankwise.units import parse_seconds

if TYPE_CHECKING:
    from rankwise.api.advising import Advised
    from rankwise.api.tuning import Tuned

Html = Annotated[Path | None, typer.Option("--html", help="Write the page with pictures here, too.", callback=writable)]


@verb(
    "advise",
    example="""rankwise advise app.comm --profile machine.json
    rankwise advise -- mpiexec -n 16 ./app
    rankwise advise app.comm --profile machine.json --nodes 8 --ppn 2 --html advice.html""",
)
def advise(
    what: Annotated[
        list[str], typer.Argument(help="What 'rankwise observe' recorded; or, after --, a command to observe first.")
    ],
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where a command's record is kept.")] = Path("observed.comm"),
    html: Html = None,
    as_json: Json = False,
) -> int:
    """Say what to change in the program, and what that gains.

    Placement comes first, as it needs no change of the program, then ranks that make others wait, then how messages are sent.
    "Nothing to gain" is an answer.
    """
    found = rankwise.advise(what, target, output)
    if isinstance(found, int):
        return found
    show(found, as_json)
    _write_page(found, html)
    return found.exit_code


def _write_page(found: Advised | Tuned, html: Path | None) -> None:
    if html is not None:
        write_whole(html, found.page())
        tell(f"page: {html}")


@verb(
    "tune",
    example="""rankwise tune app.comm --profile machine.json -o tuned/
    rankwise tune --ranks 64 --ranks-per-node 8 --profile machine.json --html tune.html""",
)
def tune(
    asked: Tuning,
    observed: Annotated[
        Path | None, typer.Argument(metavar="[RECORD]", help="What 'rankwise observe' recorded. Default: all of a machine.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show what is left as it is, too, and why.")] = False,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Find the best collective algorithms and write the MPI's settings.

    For each collective that the program calls, by its bytes and ranks, the cost model compares what the library selects with
    all that it can be set to. Only what gains more than 5 % and more than the prediction's error is set: rules files of Open
    MPI 4.1 and 5.0, selection files of MPICH 4.0 to 5.0, variables of Intel MPI 2021. The program is not changed, and no file
    that is there is overwritten.
    """
    found = rankwise.tune(observed, asked)
    show_all(everything)
    show(found, as_json, found.blocks(everything))
    _write_page(found, html)


@verb(
    "try",
    example="""rankwise try app.comm -- mpiexec -n 16 ./app
    rankwise try app.comm --hosts "n[1-4]" --pairs 16 -- mpirun -n 16 ./app""",
)
def try_placements(
    observed: Annotated[Path, typer.Argument(help="What 'rankwise observe' recorded of the program.")],
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and the program.")],
    asked: Trying,
    as_json: Json = False,
) -> None:
    """Run the program before and after a change, and compare.

    The change is where its ranks are placed. Runs come in pairs, in random order. After 10, 16, 24 and 40 pairs the ratio of
    times and its interval are checked. At most one in twenty trials of equal placements claims a difference. Both placements
    go to the launcher in the same way, and ranks report where they run. "no gain" and "cannot tell" are answers; the exit code
    is 0 for all of them.
    """
    show(rankwise.try_placements(observed, command, asked), as_json)


@dataclass(frozen=True)
class Preloading(Options):
    """How the ranks of a program's grids are placed while it runs."""

    mapping: str | None = option(None, "The mapping: auto, stencil-strips, kd-tree ... as in 'rankwise map'.")
    stencil: str | None = option(None, "The program's stencil, as in 'rankwise map'; nearest-neighbor where not given.")
    effort: str | None = option(None, "How long auto and refined may search: 10ms, 1s; else what it is worth.")
    graphs: bool = option(
        False, "Place the ranks of MPI_Dist_graph_create, ..._adjacent and MPI_Graph_create, too (called from C).", "--graphs"
    )
    neighbor: str | None = option(
        None, "Whether neighbourhood collectives are served by plans: off (the default), check, auto or always."
    )
    verbose: bool = option(False, "One rank tells each communicator's scores before and after on stderr.", "--verbose")
    check: bool = option(
        False, "Test whether the program is safe under reordering: three runs, compared by what they print.", "--check"
    )


@verb(
    "preload",
    """rankwise preload -- mpiexec -n 8 ./app
    rankwise preload --verbose --stencil moore:1 -- srun ./app
    rankwise preload --neighbor check -- mpiexec -n 8 ./app""",
)
def preload(
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and what it starts.")],
    asked: Preloading,
) -> None:
    """Let MPI_Cart_create of a running program place its ranks.

    They are placed so that few messages cross nodes; the program is not recompiled.
    Calls with reorder true, from C and from Fortran, get a communicator of the same grid with other ranks in its cells;
    with --neighbor neighbourhood collectives go by rankwise's plans. All else goes to the program's own MPI. One line says
    what was done, or why nothing. The exit code is the program's; with --check 0 for safe, 3 for unsafe, 5 where the runs do
    not show it.
    """
    from rankwise.launch.preload import NEIGHBOR_MODES, preload_environment, require_fit

    known = [algorithm.name for algorithm in _core.mapping_algorithms()]
    if asked.mapping is not None and asked.mapping not in known:
        raise InputError(f"--mapping '{asked.mapping}' is unknown: take one of {', '.join(known)}")
    if asked.neighbor not in (None, *NEIGHBOR_MODES):
        raise InputError(f"--neighbor '{asked.neighbor}' is unknown: take one of {', '.join(NEIGHBOR_MODES)}")
    environment = preload_environment(
        {
            "RANKWISE_MAPPING": asked.mapping,
            "RANKWISE_STENCIL": asked.stencil,
            "RANKWISE_EFFORT": None if asked.effort is None else f"{parse_seconds(asked.effort, '--effort'):.9f}s",
            "RANKWISE_VERBOSE": "1" if asked.verbose else None,
            "RANKWISE_GRAPHS": "1" if asked.graphs else None,
            "RANKWISE_NEIGHBOR": asked.neighbor,
        }
    )
    found = shutil.which(command[0])
    if found is None:
        raise UnusableEnvironmentError(f"{command[0]} cannot be started: it is no executable on PATH, correct its name")
    require_fit([found, *command[1:]])
    if asked.check:
        raise typer.Exit(_check([found, *command[1:]], environment))
    sys.stdout.flush()
    # The program takes our place: signals, terminal and exit code are its own.
    os.execve(found, command, environment)


def _check(command: list[str], environment: dict[str, str]) -> int:
    """Tell whether a program is safe under reordering, and return the exit code."""
    from rankwise.launch.preload import SAFE, UNSAFE, check_reordering

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
