"""What long work says while it runs: on stderr, a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TextIO


def on_terminal(stream: TextIO) -> bool:
    """Whether a stream ends on a terminal that can move its cursor and change its colours."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


# What moves the cursor, hides text, or turns the direction of writing.
_UNSEEN = re.compile(r"\x1b\[[0-9;]{1,8}m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str, coloured: bool = False) -> str:
    """Return a text whose control characters are written out: names in files of others must not steer a terminal.

    ``coloured``: it has colours of ours, which stay.
    """
    return _UNSEEN.sub(lambda found: found[0] if coloured and len(found[0]) > 1 else ascii(found[0])[1:-1], text)


def tell(message: str) -> None:
    """Say something on stderr that is not a result: a warning, what comes next."""
    # Into one file or pipe both streams go in the order in which they were written.
    sys.stdout.flush()
    print(visible(message), file=sys.stderr, flush=True)


class Meter:
    """Where long work reports how far it is; this one tells nobody."""

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""

    def say(self, what: str) -> None:
        """Name what is being done now."""


SILENT = Meter()
_LINES_S = 10.0  # between two lines where there is no terminal; RANKWISE_PROGRESS_S says another time, 0 none


class _Lines(Meter):
    """Says in lines on stderr how far work is, from a thread of its own: one step may take long."""

    def __init__(self, title: str, total: int, every_s: float) -> None:
        self._title, self._total, self._every_s = title, max(1, total), every_s
        self._done, self._what, self._began_s = 0, "", time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> _Lines:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def advance(self, steps: int = 1) -> None:
        self._done += steps

    def say(self, what: str) -> None:
        self._what = what

    def line(self, spent_s: float) -> str:
        """Return what is to be said after some time."""
        share = min(1.0, self._done / self._total)
        left = f"; about {spent_s / share - spent_s:.0f} s left" if 0 < share < 1 else ""
        return f"{self._title}: {100 * share:.0f} %{', ' if self._what else ''}{self._what}{left}"

    def _tell(self) -> None:
        while not self._ended.wait(self._every_s):
            tell(f"{time.strftime('%H:%M:%S')} {self.line(time.monotonic() - self._began_s)}")


def _seconds_between_lines() -> float:
    try:
        return float(os.environ.get("RANKWISE_PROGRESS_S", _LINES_S))
    except ValueError:
        return _LINES_S


@contextmanager
def meter(title: str, total: int) -> Iterator[Meter]:
    """Show a progress bar with the time left on a terminal, a line every 10 s elsewhere."""
    if not on_terminal(sys.stderr):
        every_s = _seconds_between_lines()
        with _Lines(title, total, every_s) if every_s > 0 else nullcontext(SILENT) as lines:
            yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total)

        class Bar(Meter):
            def advance(self, steps: int = 1) -> None:
                progress.advance(task, steps)

            def say(self, what: str) -> None:
                progress.update(task, description=f"{title}: {what}")

        yield Bar()
