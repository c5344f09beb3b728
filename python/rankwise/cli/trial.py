"""``rankwise try``: a program under two placements by turns, and how sure the gain is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.api.advising import Trying
from rankwise.cli.base import Json, show, verb


@verb(
    "try",
    example="""
    rankwise try app.comm -- mpiexec -n 16 ./app
    rankwise try app.comm --hosts "n[1-4]" --pairs 16 -- mpirun -n 16 ./app
    """,
)
def try_placements(
    observed: Annotated[Path, typer.Argument(help="What 'rankwise observe' recorded of the program.")],
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and the program.")],
    asked: Trying,
    as_json: Json = False,
) -> None:
    """Run a program as it was placed and as it should be, by turns, until it is known which is faster.

    Runs come in pairs, in random order; after 10, 16, 24 and 40 pairs the ratio of times and its interval are looked at, such
    that at most one in twenty trials of equal placements claims a difference. Both placements are told to the launcher by the
    same words, and ranks are asked where they are. "no gain" and "cannot tell" are answers; the exit code is 0 for all of them.
    """
    from rankwise.api.advising import try_placements

    show(try_placements(observed, command, asked), as_json)
