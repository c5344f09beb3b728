"""Questions are dataclasses: what a person asks, as an option of the command line or as an argument in Python."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from rankwise.errors import InputError

if TYPE_CHECKING:
    from typing import Self


def option(
    default: Any,
    help: str,
    *names: str,
    verbs: Sequence[str] = (),
    check: Callable[[Any], Any] | None = None,
    least: int | None = None,
    metavar: str | None = None,
) -> Any:
    """Declare a field of a question; ``names`` where its spelling is not the field's (in capitals: given in its place),
    ``verbs`` where only some take it, ``check`` what the command line checks when it is read."""
    told = {"help": help, "names": names, "verbs": tuple(verbs), "check": check, "least": least, "metavar": metavar}
    return field(default=default, metadata=told)


@dataclass(frozen=True)
class Options:
    """A question: every field is an option of the verbs that take it.

    In Python what an option takes as text may be given as numbers: a tuple is a shape (``(8, 8)``: "8x8"), a list several
    values (``[1, 2]``: "1,2"), and of axes that wrap around ``True`` is "all", ``False`` "none". ``given``: the fields that
    were named.
    """

    def __new__(cls, *values: Any, **named: Any) -> Self:
        self = super().__new__(cls)
        object.__setattr__(self, "given", frozenset([field.name for field in fields(cls)][: len(values)]) | named.keys())
        return self

    def __post_init__(self) -> None:
        kind: Any = type(self)
        hints = _hints(kind)
        for one in fields(self):
            value = getattr(self, one.name)
            if (words := words_of(hints[one.name])) and value is not None:
                if value not in words:
                    raise InputError(f"{_called(one)} '{value}' is unknown: choose one of {', '.join(words)}")
            elif "str" in str(one.type):
                object.__setattr__(self, one.name, _text(value, one.type))
            elif "Path" in str(one.type):
                object.__setattr__(self, one.name, _paths(value, one.type))

    def left(self, **defaults: Any) -> Self:
        """Return the question with other defaults for what was not named."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self)(**{**values, **{name: value for name, value in defaults.items() if name not in self.given}})

    def words(self, *without: str) -> str:
        """Return what was named, and is not as it is anyway, as the command line takes it."""
        parts = []
        for one in fields(self):
            if one.name not in self.given or one.name in without or not self.differs(one.name):
                continue
            value = getattr(self, one.name)
            names = one.metadata["names"] or ("--" + one.name.replace("_", "-"),)
            on, _, off = names[0].partition("/")  # --this/--not-this
            parts += [off if value is False and off else on] if on.startswith("-") else []
            if not isinstance(value, bool):
                parts += [shlex.quote(str(item)) for item in (value if isinstance(value, list) else [value])]
        return " ".join(parts)

    def called(self, name: str) -> str:
        """Return how the command line calls a field."""
        return _called(type(self).__dataclass_fields__[name])

    def differs(self, name: str) -> bool:
        """Whether a field has another value than where nobody names it."""
        return bool(getattr(self, name) != type(self).__dataclass_fields__[name].default)

    if TYPE_CHECKING:

        @property
        def given(self) -> frozenset[str]: ...


_hints = cache(get_type_hints)


def _called(one: Any) -> str:
    """Return how the command line calls a field."""
    names = one.metadata["names"] or ("--" + one.name.replace("_", "-"),)
    return str(names[0]) if names[0].startswith("-") else str(one.name)


def words_of(kind: Any) -> tuple[str, ...]:
    """Return the words that a field may be, where it is a Literal (or None); else none."""
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return get_args(one)
    return ()


def _paths(value: Any, kind: object) -> Any:
    if "list" in str(kind) and value is not None:
        return [Path(one) for one in ([value] if isinstance(value, str | Path) else value)]
    return Path(value) if isinstance(value, str) else value


def _text(value: Any, kind: object) -> Any:
    """Return a value as an option has it."""
    if "list" in str(kind):
        return [value] if isinstance(value, str) else value if value is None else list(value)
    if isinstance(value, bool):
        return "all" if value else "none"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, tuple | list):
        flags = all(isinstance(one, bool) for one in value)
        return (
            ",".join(str(int(one)) for one in value)
            if flags
            else ("x" if isinstance(value, tuple) else ",").join(map(str, value))
        )
    return value
