"""``rankwise help``: of one command, or the list of all."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwise.cli.base import app, verb
from rankwise.cli.verbs import GROUPS, SAYS, register_verbs


@verb(
    "help",
    """rankwise help predict halo
    rankwise help --all
    rankwise help words""",
)
def show_help(
    command: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...", help="A command, such as: measure.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="List all commands, also those that few people need.")] = False,
) -> int:
    """Show the help of a command."""
    if command == ["words"]:
        from rankwise.blocks import Listing
        from rankwise.blocks.terminal import show
        from rankwise.cli.words import TERMS

        show([Listing(list(TERMS.items()))])
        return 0
    if not everything:
        register_verbs(command or ["-h"])
        return int(app(args=[*(command or []), "--help"], prog_name="rankwise", standalone_mode=False) or 0)
    for group, (first, further) in GROUPS.items():
        print(f"{group:<22}{' '.join(first)}")
        for name in further:
            print(f"  {name:<11}{SAYS[name]}")
    return 0
