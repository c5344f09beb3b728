"""What readers of files throw at what does not fit, turned into one line that names the file, the line and the figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rankwise.errors import InputError

Read = TypeVar("Read")

# What readers throw at what does not fit, and what of it is in the interpreter's words.
DOES_NOT_FIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, AssertionError)
_FOREIGN = re.compile(
    r"Exceeds the limit|literal|could not convert|to unpack|dictionary update sequence|not in list|inhomogeneous|"
    r"cannot reshape|math domain"
)


@contextmanager
def reading(what: str, mend: str, trace: Trace | None = None) -> Iterator[None]:
    """Turn what a reader of a file throws at what does not fit into an InputError: ``what`` names the file, and the line if
    known.

    ``trace`` tells which figure it was, where the reader reads through one.
    """
    try:
        yield
    except DOES_NOT_FIT as error:
        field = "" if trace is None else trace.field
        foreign = isinstance(error, AttributeError | LookupError | TypeError) or _FOREIGN.search(str(error)) is not None
        if isinstance(error, KeyError):
            why = f": {field or error} is missing"
        elif foreign and trace is not None:
            why = f": {field or 'it'} is of another kind than it should be"
        elif trace is not None:
            why = f": {error}"  # our own words name their figure
        else:
            why = f" holds a figure that cannot be ({'of another kind than it should be' if foreign else error})"
        raise InputError(f"{what}{trace.where if trace is not None else ''}{why}: {mend}") from error


def read_through(read: Callable[[Trace], Read], what: str, mend: str) -> Read:
    """Return what ``read`` makes of JSON values that it takes by :meth:`Trace.of`; what does not fit becomes an InputError that
    names the figure: where there is one, all is read a second time, slowly, with every step noted."""
    try:
        return read(Trace(False))
    except DOES_NOT_FIT:
        trace = Trace(True)
        with reading(what, mend, trace):
            return read(trace)


def read_document(read: Callable[[Any], Read], value: Any, what: str, mend: str, newest: int = 1) -> Read:
    """Return the same of the JSON value of a whole file, of a version up to ``newest``."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is not a JSON object: {mend}")
    schema = value.get("schema", 1)
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise InputError(f"{what}: schema {schema!r:.40} is not a whole number of at least 1: {mend}")
    if schema > newest:
        raise InputError(f"{what} has schema {schema}, newer than this program's {newest}: update rankwise to read it")
    return read_through(lambda trace: read(trace.of(value)), what, mend)


class Trace:
    """Which value of a JSON document was asked for last; one that is not on notes nothing, and costs nothing."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.where = ""
        self.path: tuple[str | int, ...] = ()

    def of(self, value: Any, where: str = "") -> Any:
        """Return a JSON value as it is to be read; ``where`` follows the file's name: its line, say."""
        return self.wrapped(value, where, ()) if self.on else value

    def wrapped(self, value: Any, where: str, path: tuple[str | int, ...]) -> Any:
        if isinstance(value, dict):
            return _Dict(value, self, where, path)
        return _List(value, self, where, path) if isinstance(value, list) else value

    def note(self, where: str, path: tuple[str | int, ...]) -> None:
        self.where, self.path = where, path

    @property
    def field(self) -> str:
        """All names on the way to the value."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path).removeprefix(".")


class _Dict(dict[str, Any]):
    def __init__(self, value: dict[str, Any], trace: Trace, where: str, path: tuple[str | int, ...]) -> None:
        super().__init__(value)
        self._trace, self._where, self._path = trace, where, path

    def _noted(self, key: str, value: Any) -> Any:
        self._trace.note(self._where, (*self._path, key))
        return self._trace.wrapped(value, self._where, (*self._path, key))

    def __missing__(self, key: str) -> Any:
        self._noted(key, None)
        raise KeyError(key)

    def __getitem__(self, key: str) -> Any:
        return self._noted(key, super().__getitem__(key))

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def __or__(self, more: Any) -> Any:
        return _Dict(dict(self) | more, self._trace, self._where, self._path)

    def values(self) -> Any:
        return (self[key] for key in self)

    def items(self) -> Any:
        return ((key, self[key]) for key in self)


class _List(list[Any]):
    def __init__(self, value: list[Any], trace: Trace, where: str, path: tuple[str | int, ...]) -> None:
        super().__init__(value)
        self._trace, self._where, self._path = trace, where, path

    def _noted(self, at: int, value: Any) -> Any:
        self._trace.note(self._where, (*self._path, at))
        return self._trace.wrapped(value, self._where, (*self._path, at))

    def __getitem__(self, at: Any) -> Any:
        value = super().__getitem__(at)
        return self._noted(at, value) if isinstance(at, int) else value

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))
