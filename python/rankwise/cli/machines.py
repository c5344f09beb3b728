"""``rankwise machines``: the machine descriptions, each figure with its source."""

from __future__ import annotations

from typing import Annotated

import typer

import rankwise
from rankwise.cli.base import Json, group, print_json, show, verb
from rankwise.errors import EXIT_FAILURE
from rankwise.machine import derived

machines_verbs = group(
    "machines",
    "List and show the described machines.\n\nEach value has its source. RANKWISE_MACHINES names folders with your own.",
    "rankwise machines show frontier",
)


@verb("list", "rankwise machines list", under=machines_verbs)
def list_machines(as_json: Json = False) -> None:
    """List the known machines; RANKWISE_MACHINES names folders with descriptions of your own."""
    show(rankwise.machines(), as_json)


@verb(
    "show",
    """rankwise machines show frontier
    rankwise machines show ./my-machine.toml --json""",
    under=machines_verbs,
)
def show_machine(
    machine: Annotated[str, typer.Argument(help="A name, a TOML description, or a measured profile (machine.json).")],
    as_json: Json = False,
) -> None:
    """Show a machine: each figure with its kind (measured, published, same-network, projected, unverified), source and date."""
    show(rankwise.describe(machine), as_json)


@verb(
    "check",
    """rankwise machines check
    rankwise machines check ./my-machine.toml --json""",
    under=machines_verbs,
)
def check(
    machine: Annotated[str | None, typer.Argument(help="A name or a TOML description. Default: all known machines.")] = None,
    as_json: Json = False,
) -> None:
    """Recompute what follows from what (peak = nodes x node peak, memory = devices x device memory ...) and compare.

    Exit code 1 where a figure does not follow.
    """
    found = rankwise.check_machines(machine)
    show(found, as_json)
    if found.wrong:
        raise typer.Exit(EXIT_FAILURE)


@verb("schema", "rankwise machines schema > machine.schema.json", under=machines_verbs)
def schema() -> None:
    """Print the JSON schema of machine files (for editors, read as TOML)."""
    print_json(derived.schema())
