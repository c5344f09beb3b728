"""Records declared once: each field of a dataclass says what it means; its JSON, there and back, and the schema follow.

    @record
    class Point(Record):
        size_bytes: int = key("size of the message", least=0)
        time_s: float = key("one way of a message", above=0)

        bytes_per_s = computed("rate", float, lambda point: point.size_bytes / point.time_s)

``Point(8, 1e-6).to_dict()`` has these keys in the order of the class, ``Point.from_dict`` reads them back, and
:func:`rankwise.schemas.schema` describes them. A field without a key is not in the JSON. A property becomes a key by ``@told``
below ``@property``. A result of a verb (a subclass of ``rankwise.api.results.Result``) is such a record, too: what it prints
under ``--json`` is what its keys declare.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

if TYPE_CHECKING:
    from typing import Self

Interval = Annotated[tuple[float, float], "both ends of a 95 % interval"]
Kind = TypeVar("Kind")
_KEY = "key"
_MOST = 1 << 63


@dataclass(frozen=True)
class Key:
    """What is declared of a key. ``name``: in the JSON, where it is not the field's; ``omit``: left out where there is nothing
    of it ("null": where it is null); ``optional``: not in every such document; ``inline``: its own keys stand in its place,
    or those of ``only``, of what is not read back;
    ``is_name``: what the object is called in the map in which it stands; ``after``: follows that one in the JSON; ``least``,
    ``above``, ``most``: bounds; ``filled``: a list that is never empty; ``kind``: its type, where it is not the field's,
    ``shape``: that of its JSON, where the schema is to know more of it; ``write``, ``read``: where its JSON is not its value
    (``read`` is told, too, what a complaint calls it)."""

    meaning: str
    name: str = ""
    kind: Any = None
    shape: Any = None
    omit: bool | Literal["null"] = False
    optional: bool = False
    inline: bool = False
    only: Sequence[str] = ()
    is_name: bool = False
    after: str | None = None
    least: int | None = None
    above: float | None = None
    most: float | None = None
    filled: bool = False
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any, str], Any] | None = None
    get: Callable[[Any], Any] | None = None  # of the record; None: the attribute


def key(meaning: str | Key = "", *, default: Any = MISSING, factory: Any = MISSING, compare: bool = True, **more: Any) -> Any:
    """Declare a field that is a key of the JSON: by its meaning, which of an end of an interval (``_lo``, ``_hi``, ``_ci``)
    follows from its name, or all at once."""
    told: dict[str, Any] = {_KEY: Key(meaning, **more) if isinstance(meaning, str) else meaning}
    if factory is not MISSING:
        return field(default_factory=factory, compare=compare, metadata=told)
    return field(default=default, compare=compare, metadata=told)


class computed:  # as functions are named: it reads as key does
    """A key that follows from a record: ``kind`` is its type, or its name where that is imported for type checking only."""

    def __init__(self, meaning: str, kind: Any, get: Callable[[Any], Any], **more: Any) -> None:
        self.key = Key(meaning, kind=kind, get=get, **more)

    def __get__(self, of: Any, kind: Any) -> Any:
        return self if of is None else self.key.get and self.key.get(of)


def told(meaning: str = "", **more: Any) -> Callable[[Kind], Kind]:
    """Declare that a property is a key; its type is what it returns."""

    def declared(function: Kind) -> Kind:
        function.__dict__[_KEY] = Key(meaning, **more)
        return function

    return declared


@dataclass_transform(frozen_default=True, field_specifiers=(key, field))
def record(kind: type[Kind]) -> type[Kind]:
    """Make a frozen dataclass of a record, without functions of its own that Record has for all: making them would take
    half of the time that a command needs to start."""
    return dataclass(frozen=True, eq=False, repr=False)(kind)


@cache
def _compared(kind: Any) -> Callable[[Any], Any]:
    """Return what gives the values by which two records of a class are the same."""
    names = [one.name for one in fields(kind) if one.compare]
    return attrgetter(*names) if names else lambda _: ()


class Record:
    """What has keys: a base of dataclasses."""

    __keys__: ClassVar[Mapping[str, Key]] = {}

    if not TYPE_CHECKING:  # to a checker these are those of a dataclass

        def __eq__(self, other: object) -> bool:
            if other.__class__ is not self.__class__:
                return NotImplemented
            values = _compared(self.__class__)
            return bool(values(self) == values(other))

        def __hash__(self) -> int:
            return hash(_compared(self.__class__)(self))

        def __repr__(self) -> str:
            shown = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
            return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        found = {name: one for base in reversed(cls.__mro__[1:]) for name, one in base.__dict__.get("__keys__", {}).items()}
        for name, value in cls.__dict__.items():
            one = value.key if isinstance(value, computed) else None
            if isinstance(value, property) and value.fget is not None:
                one = value.fget.__dict__.get(_KEY)
            elif (metadata := getattr(value, "metadata", None)) is not None and isinstance(metadata, Mapping):
                one = metadata.get(_KEY)
            if one is not None:
                found[name] = one
        cls.__keys__ = _in_order(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys as JSON has them (docs/json.md)."""
        written: dict[str, Any] = {}
        for name, one in self.__keys__.items():
            value = getattr(self, name) if one.get is None else one.get(self)
            if one.write is not None:
                value = one.write(value)
            if one.is_name:
                continue
            if one.inline:
                inner = {} if value is None else _plain(value)
                written |= {name: inner[name] for name in one.only} if one.only else inner
            elif value is not None if one.omit == "null" else not one.omit or _is_something(value):
                written[one.name or name] = _plain(value)
        return written

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Read it back. Raises ValueError that names the key under ``what``, KeyError for one that is missing."""
        if not isinstance(value, Mapping):
            raise ValueError(f"{what or 'it'} {value!r:.40} is not an object")
        return cls(**_arguments(cls, value, what))


def _in_order(found: Mapping[str, Key]) -> dict[str, Key]:
    names = [name for name, one in found.items() if one.after is None]
    later = [name for name, one in found.items() if one.after is not None]
    while later:
        name = next(name for name in later if found[name].after in names)
        later.remove(name)
        at = names.index(str(found[name].after)) + 1
        while at < len(names) and found[names[at]].after == found[name].after:
            at += 1
        names.insert(at, name)
    return {name: found[name] for name in names}


def _is_something(value: Any) -> bool:
    return value is not None and not (hasattr(value, "__len__") and len(value) == 0)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, str | int | float) or value is None:
        return value
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def _arguments(cls: Any, value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return what the fields of a record are in a JSON object; one that is not there has its default."""
    read: dict[str, Any] = {}
    for name, one, called, kind, required, least in _fields_read(cls):
        if one.is_name:
            read[name] = what.rpartition(".")[2]
        elif one.inline:
            read[name] = (kind.from_dict if one.read is None else one.read)(value, what)
        elif called in value or required:
            entry = value[called]
            if type(entry) is int and least <= entry < _MOST:  # quickly: there may be millions
                read[name] = entry
            else:
                read[name] = _read(kind, entry, f"{what}.{called}" if what else called, one)
    return read


def read_key(cls: Any, name: str, value: Any, what: str) -> Any:
    """Return what a key of a record is in a JSON object, one that follows from others, too."""
    called = cls.__keys__[name].name or name
    return _read(kind_of(cls, name), value[called], f"{what}.{called}" if what else called, cls.__keys__[name])


@cache
def _fields_read(cls: Any) -> list[tuple[str, Key, str, Any, bool, float]]:
    """Return the fields that a record is made of: name, what is declared, name in the JSON, type, whether it must be there,
    and from what on whole numbers surely fit it."""
    declared = cls.__dict__.get("__dataclass_fields__", {})
    return [
        (
            name, one, one.name or name, kind_of(cls, name), of.default is MISSING and of.default_factory is MISSING,
            _least_count(one) if kind_of(cls, name) in (int, int | None) else math.inf,
        )
        for name, one in cls.__keys__.items()
        if (of := declared.get(name)) is not None and of.init
    ]  # fmt: skip


def _read(kind: Any, value: Any, what: str, one: Key) -> Any:
    """Return what a JSON value is of a type. Raises ValueError that names it."""
    if one.read is not None:
        return one.read(value, what)
    if kind is int:
        return _bounded(whole(value, what, one.least), value, what, one)
    if kind is float:
        return _bounded(finite(value, what), value, what, one)
    if kind is bool or kind is str:
        if not isinstance(value, kind):
            raise ValueError(f"{what} {value!r:.40} is not {'a text' if kind is str else 'true or false'}")
        return value
    form, inner = _form(kind)
    if form is Record:
        return kind.from_dict(value, what)
    if form is Union:
        return None if value is None else _read(inner[0], value, what, one)
    if form is Sequence or form is tuple:
        return _read_list(form, inner, value, what, one)
    if form is Annotated:
        ends = interval(value, what)
        return ends if ends is None else (_bounded(ends[0], ends[0], what, one), ends[1])
    if form is Literal and value not in inner:
        raise ValueError(f"{what} {value!r:.40} is none of {', '.join(map(str, inner))}")
    if form is not Mapping:
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} {value!r:.40} is not an object")
    if not inner or inner[1] is Any:
        return dict(value)
    return {str(name): _read(inner[1], entry, f"{what}.{name}", one) for name, entry in value.items()}


@cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return how a type is read, and what it is made of: Union is without None, tuple of so many."""
    form, inner = get_origin(kind) or kind, get_args(kind)
    if form in (Union, UnionType):
        return Union, tuple(one for one in inner if one is not NoneType)
    if not isinstance(form, type) or (form is tuple and inner[-1] is not Ellipsis):
        return form, inner
    return next((base for base in (Record, Mapping, Sequence) if issubclass(form, base)), form), inner


def _read_list(form: Any, inner: tuple[Any, ...], value: Any, what: str, one: Key) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what} {value!r:.40} is not a list")
    if one.filled and not value:
        raise ValueError(f"{what} is not a list with entries")
    if form is tuple:
        if len(value) != len(inner):
            raise ValueError(f"{what} {value!r:.40} is not a list of {len(inner)}")
        return tuple(_read(entry_kind, entry, what, one) for entry_kind, entry in zip(inner, value, strict=True))
    if inner[0] is int and set(map(type, value)) == {int} and _least_count(one) <= min(value) and max(value) < _MOST:
        return tuple(value)
    if _form(inner[0])[0] is Record:
        return tuple(_read(inner[0], entry, f"{what}[{i}]", one) for i, entry in enumerate(value))
    return tuple(_read(inner[0], entry, what, one) for entry in value)


def _least_count(one: Key) -> float:
    """Return from what on whole numbers surely fit what is declared."""
    if one.read is None and one.above is None and one.most is None:
        return 1 - _MOST if one.least is None else one.least
    return math.inf


def _bounded(number: Any, value: Any, what: str, one: Key) -> Any:
    if one.above is not None and number <= one.above:
        raise ValueError(f"{what} {value!r} is not above {one.above:g}")
    if one.most is not None and not (one.least or 0) <= number <= one.most:
        raise ValueError(f"{what} {value!r} is not between {one.least or 0:.9g} and {one.most:.9g}")
    return number


def printable(value: Any, what: str) -> str:
    """Return a name; ValueError when it is none, or not in printable ASCII."""
    if isinstance(value, str) and value and value.isascii() and value.isprintable():
        return value
    raise ValueError(f"{what} {value!r:.40} is not a name in printable ASCII")


def finite(value: Any, what: str) -> float:
    """Return a number as float; ValueError when it is none, or not finite."""
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        raise ValueError(f"{what} is not a finite number") from None
    raise ValueError(f"{what} {value!r} is not a finite number")


def whole(value: Any, what: str, least: int | None = None) -> int:
    """Return a whole number; ValueError when it is none, less than ``least``, or beyond what a count can be."""
    right = not isinstance(value, bool) and isinstance(value, int | float) and value == value // 1 and abs(value) < _MOST
    if not right or (least is not None and value < least):
        raise ValueError(f"{what} {value!r:.40} is not a whole number" + ("" if least is None else f" of at least {least}"))
    return int(value)


def interval(value: Any, what: str) -> tuple[float, float] | None:
    """Return [low, high] as a tuple, None as None; ValueError otherwise."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{what} {value!r} is not a pair [low, high]")
    low, high = finite(value[0], what), finite(value[1], what)
    if low > high:
        raise ValueError(f"{what} {value!r} has its low end above its high end")
    return low, high


@cache
def kind_of(cls: Any, name: str) -> Any:
    """Return the type of a key."""
    one = cls.__keys__[name]
    owner = next(base for base in cls.__mro__ if name in base.__dict__.get("__annotations__", {}) or name in base.__dict__)
    kind: Any = one.kind
    if kind is None:
        value = owner.__dict__.get(name)
        kind = value.fget.__annotations__["return"] if isinstance(value, property) else owner.__annotations__[name]
    return type_of(kind, owner.__module__)


def type_of(kind: Any, module: str) -> Any:
    """Return a type that may be given in words: by its name in a module, or by its whole name."""
    if not isinstance(kind, str):
        return kind
    try:
        return eval(kind, vars(sys.modules[module]))  # of our own sources
    except (NameError, AttributeError):  # a name that is imported for type checking only: to find it takes its time
        for whole in re.findall(r"\b(rankwise(?:\.[a-z_]\w*)+)\.[A-Z]", kind):
            import_module(whole)
        return eval(kind, {**names_of(module), "rankwise": import_module("rankwise")})


@cache
def names_of(module: str) -> dict[str, Any]:
    """Return the names that a module's annotations use, those that are imported for type checking only, too."""
    import ast
    import inspect

    names = dict(vars(sys.modules[module]))
    for block in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module is not None:
                    there = import_module(line.module)
                    names |= {one.asname or one.name: getattr(there, one.name, Any) for one in line.names}
    return names
