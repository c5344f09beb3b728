"""``rankwise cache``: what is kept between commands, and its removal."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwise.cli.base import Json, print_json, verb
from rankwise.cli.table import Table
from rankwise.units import format_volume


@verb(
    "cache",
    """rankwise cache
    rankwise cache --clear""",
)
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all of it; what is needed again is made again.")] = False,
    as_json: Json = False,
) -> None:
    """List what is kept between commands: builds for other MPIs, what was learnt about transforms, the charts' script."""
    from rankwise import cache as kept

    found = kept.clear() if clear else kept.kept()
    size_bytes = sum(one.size_bytes for one in found)
    if as_json:
        print_json({
            "schema": 1, "cache": str(kept.cache_folder()), "cleared": clear, "size_bytes": size_bytes,
            "entries": [one.to_dict() for one in found],
        })  # fmt: skip
        return
    entries = f"{len(found)} entr{'y' if len(found) == 1 else 'ies'} of {format_volume(size_bytes)}"
    print(f"{entries} {'removed from' if clear else 'in'} {kept.cache_folder()}.")
    if found:
        table = Table("what", "for", "size", "days unused", leave=("days unused", "size"))
        for one in found:
            table.add_row(one.kind, one.about, format_volume(one.size_bytes), f"{one.unused_s / 86400:.1f}")
        table.show()
