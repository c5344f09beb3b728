"""The JSON schema (2020-12) of records, from what their keys declare (records.py)."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from rankwise.records import Key, Record, kind_of, type_of

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string", NoneType: "null"}
_UNITS = (
    ("flop_per_s", "flop/s"), ("bytes_per_s", "bytes/s"), ("s_per_byte", "s/byte"), ("messages_per_s", "messages/s"),
    ("cells_per_s", "cells/s"), ("s", "s"), ("ns", "ns"), ("bytes", "bytes"), ("years", "years"), ("j", "J"),
)  # fmt: skip


def schema_of(kind: Any, title: str, swaps: Mapping[Any, Any] | None = None, of: str = "") -> Schema:
    """Return the schema of a type's JSON, with that of records in it under ``$defs``; ``swaps``: what stands for a type, ``of``
    what then follows the names of those records in which it does."""
    writer = _Writer(dict(swaps or {}), of)
    schema = writer.of(kind)
    if "$ref" in schema:
        schema = writer.definitions.pop(schema["$ref"].rpartition("/")[2])
    whole = {"$schema": DIALECT, "title": title, **schema}
    definitions = _referred(whole, writer.definitions)
    return {**whole, **({"$defs": {name: definitions[name] for name in sorted(definitions)}} if definitions else {})}


def _referred(schema: Any, definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return those of the definitions that a schema refers to, or that one of them does."""
    found: dict[str, Schema] = {}
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            name = str(one.get("$ref", "")).rpartition("/")[2]
            if name in definitions and name not in found:
                found[name] = definitions[name]
                waiting.append(definitions[name])
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return found


class _Writer:
    def __init__(self, swaps: dict[Any, Any], suffix: str) -> None:
        self.swaps, self.suffix, self.swapped = swaps, suffix, 0
        self.definitions: dict[str, Schema] = {}
        self.named: dict[Any, str] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type."""
        if isinstance(kind, dict | str | bytes):
            raise TypeError(f"{kind!r} is no type")
        try:
            if kind in self.swaps:
                self.swapped += 1
                kind = self.swaps[kind]
        except TypeError:  # what cannot be hashed is in no mapping
            pass
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if isinstance(kind, type) and issubclass(kind, Record):
            return {"$ref": f"#/$defs/{self._defined(kind)}"}
        whole, inner = get_origin(kind) or kind, get_args(kind)
        if whole is Annotated:
            return self.of(inner[0])
        if whole is Literal:
            return {"type": sorted({_PLAIN[type(one)] for one in inner})[0], "enum": list(inner)}
        if whole in (Union, UnionType):
            return _either([self.of(one) for one in inner])
        if not isinstance(whole, type) or whole in (object, Any):
            return {}
        if issubclass(whole, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1]) if inner else {}}
        if whole is tuple and inner and inner[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [self.of(one) for one in inner], "minItems": len(inner), "items": False}
        if hasattr(whole, "__iter__"):
            return {"type": "array", "items": self.of(inner[0]) if inner else {}}
        return {}

    def _defined(self, kind: Any) -> str:
        if kind not in self.named:
            before = self.swapped
            schema = self._object(kind)
            name = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
            name += f"-{self.suffix}" if self.swapped > before and self.suffix else ""
            assert name not in self.definitions, f"two records are called {name}"
            self.named[kind], self.definitions[name] = name, schema
        elif self.named[kind].endswith(f"-{self.suffix}"):
            self.swapped += 1
        return self.named[kind]

    def _object(self, kind: Any) -> Schema:
        about = (kind.__doc__ or "").partition("\n\n")[0]
        told = {"description": " ".join(about.replace("``", "").split())} if about and not about.startswith("dict(") else {}
        properties: dict[str, Schema] = {}
        further: Schema = {}
        required: list[str] = []
        for name, one in kind.__keys__.items():
            if one.is_name:
                continue
            inner = self.of(_shape(kind, name, one))
            if not one.inline:
                called = one.name or name
                if not (one.omit and called in properties):  # of a case that has such a key itself
                    properties[called] = _told(inner, called, one.meaning)
                required += [] if one.omit or one.optional else [called]
                continue
            kinds = inner.get("anyOf", [inner])
            for whole in (self.definitions[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in kinds):
                names = one.only or whole.get("properties", {})
                properties |= {key: whole["properties"][key] for key in names}
                required += [key for key in whole.get("required", []) if key in names] if len(kinds) == 1 else []
                further |= {name: whole[name] for name in ("additionalProperties",) if name in whole}
        return {"type": "object", **told, "required": list(dict.fromkeys(required)), "properties": properties, **further}


def _shape(kind: Any, name: str, one: Key) -> Any:
    shape = kind_of(kind, name) if one.shape is None else type_of(one.shape, kind.__module__)
    if one.omit and get_origin(shape) in (Union, UnionType):
        return functools.reduce(operator.or_, (inner for inner in get_args(shape) if inner is not NoneType))
    return shape


def _either(kinds: list[Schema]) -> Schema:
    if all(kind.keys() == {"type"} for kind in kinds):
        return {"type": [kind["type"] for kind in kinds]}
    of_one, null = kinds[0], {"type": "null"}
    if len(kinds) == 2 and kinds[1] == null and "type" in of_one and "enum" not in of_one:
        return {**of_one, "type": [of_one["type"], "null"]}
    return {"anyOf": kinds}


def _told(schema: Schema, name: str, meaning: str) -> Schema:
    """Return a schema with what a key means and its unit; the ends of an interval by the figure that they are of."""
    stem, ends = re.subn(r"_(lo|hi)(?=_|$)", "", name)
    whole, ci = re.subn(r"_ci(?=_|$)", "", name)
    if not meaning and ends:
        meaning = f"{'lower' if '_lo' in name else 'upper'} end of the 95 % interval of {stem}"
    if not meaning and ci:
        meaning = f"95 % interval of {whole}"
    unit = next((unit for ending, unit in _UNITS if name == ending or name.endswith(f"_{ending}")), "")
    if meaning and unit and not re.search(rf"\b{unit}\b", meaning):
        meaning = f"{meaning}, {unit}"
    return {**schema, "description": meaning} if meaning else schema
