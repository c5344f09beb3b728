"""``rankwise ledger``: how far predictions have held."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, show, verb


@verb(
    "ledger",
    "rankwise ledger ledger.jsonl --by algorithm,machine",
)
def ledger(
    file: Annotated[Path | None, typer.Argument(help="The ledger. Default: what RANKWISE_LEDGER names.")] = None,
    by: Annotated[
        str, typer.Option(help="What to group by: algorithm, mode, size, machine, several.")
    ] = "algorithm,mode,size,machine",
    as_json: Json = False,
) -> None:
    """Show how far predictions have held: median error, coverage of the intervals and regret, by group.

    predict, simulate and validate append to the file that RANKWISE_LEDGER names; without it nothing is kept.
    """
    from rankwise.api.predicted import ledger

    show(ledger(file, [name.strip() for name in by.split(",")]), as_json)
