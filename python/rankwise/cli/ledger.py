"""``rankwise ledger``: how far predictions have held."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, print_json, verb
from rankwise.cli.table import Table
from rankwise.units import format_size


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

    found = ledger(file, [name.strip() for name in by.split(",")])
    if as_json:
        print_json(found.to_dict())
        return
    print(found.conclusion)
    for name, ones in found.groups.items():
        heads = (name, "predictions", "median error", "inside the interval", "mean regret", "questions")
        table = Table(*heads, leave=("questions", "predictions"))
        for one in ones[1:]:
            table.add_row(
                format_size(int(one.group)) if name == "size" and one.group.isdigit() else one.group,
                str(one.predictions),
                f"{one.median_error:.1%}",
                "–" if one.inside is None else f"{one.inside:.0%}",
                "–" if one.regret is None else f"{one.regret:.1%}",
                str(one.questions),
            )
        table.show()
