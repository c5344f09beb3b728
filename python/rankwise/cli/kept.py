"""What is kept between commands: ``rankwise cache``, and the ledger of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import rankwise
from rankwise.cli.base import Json, show, verb


@verb(
    "cache",
    """rankwise cache
    rankwise cache --stale""",
)
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all of it; what is needed again is made again.")] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Remove what older versions left, or for an MPI that is gone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List and clear cached builds.

    Also cached: measured choices for 3-D FFTs.
    """
    from rankwise import cache as kept
    from rankwise.api.kept import Cached

    entries = [one for one in kept.kept() if one.stale or not stale]
    show(Cached(kept.clear(entries) if clear or stale else entries, clear or stale), as_json)


@verb("ledger", "rankwise ledger ledger.jsonl --by algorithm,machine")
def ledger(
    file: Annotated[Path | None, typer.Argument(help="The ledger. Default: what RANKWISE_LEDGER names.")] = None,
    by: Annotated[
        str, typer.Option(help="What to group by: algorithm, mode, size, machine, several.")
    ] = "algorithm,mode,size,machine",
    as_json: Json = False,
) -> None:
    """Show how well earlier predictions held.

    By group: the median error, how often the interval held, and the time lost against the fastest.
    predict, simulate and validate append to the file that RANKWISE_LEDGER names; without it nothing is kept.
    """
    show(rankwise.ledger(file, [name.strip() for name in by.split(",")]), as_json)
