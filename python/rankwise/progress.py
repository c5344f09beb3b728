"""What long work says while it runs: on stderr, and moving only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


def tell(message: str) -> None:
    """Say something on stderr that is not a result: a warning, what comes next."""
    # Into one file or pipe both streams go in the order in which they were written.
    sys.stdout.flush()
    print(message, file=sys.stderr, flush=True)


_at_end: dict[str, None] = {}


def tell_at_end(message: str) -> None:
    """Say something on stderr, once, when the command has ended well; an error stands alone."""
    _at_end[message] = None


def begin() -> None:
    """Begin a command: nothing is to be said yet."""
    _at_end.clear()


def end() -> None:
    """End a command that went well."""
    for message in _at_end:
        tell(message)
    _at_end.clear()


class Meter(Protocol):
    """Where long work reports how far it is."""

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""

    def say(self, what: str) -> None:
        """Name what is being done now."""


class _Silent:
    def advance(self, steps: int = 1) -> None: ...

    def say(self, what: str) -> None: ...


SILENT: Meter = _Silent()


@contextmanager
def meter(title: str, total: int) -> Iterator[Meter]:
    """Show a progress bar with the time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield SILENT
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total)

        class Bar:
            def advance(self, steps: int = 1) -> None:
                progress.advance(task, steps)

            def say(self, what: str) -> None:
                progress.update(task, description=f"{title}: {what}")

        yield Bar()
