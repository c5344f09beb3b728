"""``rankwise advise``: one page of what to change in a program, why, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.api.advising import Target
from rankwise.cli.base import Json, show, tell, verb, writable


@verb(
    "advise",
    example="""
    rankwise advise app.comm --profile machine.json
    rankwise advise -- mpiexec -n 16 ./app
    rankwise advise app.comm --profile machine.json --nodes 8 --ppn 2 --html advice.html
    """,
)
def advise(
    what: Annotated[
        list[str], typer.Argument(help="What 'rankwise observe' recorded; or, after --, a command to observe first.")
    ],
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where a command's record is kept.")] = Path("observed.comm"),
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the page with pictures here, too.", callback=writable)
    ] = None,
    as_json: Json = False,
) -> int:
    """Say what costs time in a program's communication, what to change, and what that gains.

    Placement is looked at first, as it needs no change of the program; then ranks that make others wait, and other ways of
    sending. "Nothing to gain" is an answer.
    """
    from rankwise.api.advising import advise as ask
    from rankwise.files import write_whole

    found = ask(what, target, output)
    if isinstance(found, int):
        return found
    if html is not None:
        write_whole(html, found.page())
        tell(f"page: {html}")
    show(found, as_json)
    return found.exit_code
