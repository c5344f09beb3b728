"""What all verbs share: the application, the help that starts with an example, and common options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from rankwise.files import json_text
from rankwise.progress import tell

__all__ = ["Json", "app", "console", "group", "print_json", "tell", "verb"]

if TYPE_CHECKING:
    from rich.console import Console

Verb = TypeVar("Verb", bound=Callable[..., Any])

app = typer.Typer(name="rankwise", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]


def group(name: str, help: str) -> typer.Typer:
    """Add a group of verbs, such as ``rankwise profile ...``."""
    verbs = typer.Typer(name=name, help=help, no_args_is_help=True, cls=TyperGroup)
    app.add_typer(verbs)
    return verbs


def verb(
    name: str, example: str, under: typer.Typer = app, settings: dict[str, Any] | None = None
) -> Callable[[Verb], Verb]:
    """Register a function as a verb whose ``--help`` starts with ``example`` (one command a line).

    ``settings`` are those of click's context.
    """

    class WithExample(TyperCommand):
        def format_help(self, ctx: Any, formatter: Any) -> None:
            lines = "\n".join(f"  {line.strip()}" for line in example.strip().splitlines())
            typer.echo(f"Example:\n{lines}")
            super().format_help(ctx, formatter)

    def register(function: Verb) -> Verb:
        under.command(name, cls=WithExample, context_settings=settings)(function)
        return function

    return register


def print_json(value: object) -> None:
    """Print one JSON value on stdout."""
    print(json_text(value))


def console(stderr: bool = False) -> Console:
    """Return a rich console: results go to stdout, everything else to stderr (``stderr=True``)."""
    from rich.console import Console

    # A pipe has no width: give tables room instead of wrapping them at 80 columns.
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else 160, soft_wrap=not stream.isatty())
