"""``rankwise ledger``: how far predictions have held."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, print_json, verb
from rankwise.cli.table import Table
from rankwise.errors import InputError
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
    from rankwise.engines.ledger import BY, FILE, held, read

    path = file or (Path(os.environ[FILE]) if os.environ.get(FILE) else None)
    if path is None:
        raise InputError(f"no ledger is named: give the file, or set {FILE}")
    groups = [name.strip() for name in by.split(",")]
    for name in groups:
        if name not in BY:
            raise InputError(f"--by '{name}' is unknown: choose of {', '.join(BY)}")
    pairs = read(path)
    if not pairs:
        raise InputError(
            f"ledger {path} has no prediction with its outcome: 'rankwise validate' makes some, or 'predict' and 'simulate' of the "
            "same cases"
        )
    found = {name: held(pairs, name) for name in groups}
    if as_json:
        print_json({"schema": 1, "ledger": str(path), "groups": [one.to_dict() for ones in found.values() for one in ones]})
        return
    whole = found[groups[0]][0]
    inside = "" if whole.inside is None else f"; {whole.inside:.0%} of {whole.with_interval} lay within their interval"
    regret = (
        "" if whole.regret is None else f"; choosing by them lost {whole.regret:.1%} in the mean of {whole.questions} questions"
    )
    print(f"{whole.predictions} predictions were off by {whole.median_error:.1%} in the median{inside}{regret}.")
    for name, ones in found.items():
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
