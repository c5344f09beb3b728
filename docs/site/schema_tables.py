"""The JSON schemas as a page: of each a table of its keys, what they hold and mean; what several share stands once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rankwise.schemas import names, schema

Schema = dict[str, Any]
_SHARED = "#/$defs/"


def json_schemas() -> str:
    """Return all schemas as MyST."""
    lines, shared = [], dict[str, Schema]()
    for name in names():
        whole = schema(name)
        lines += [f"## {name}", "", *_table(whole), ""]
        for defined, below in whole.get("$defs", {}).items():
            assert shared.setdefault(defined, below) == below, f"two records are called {defined}"
    lines += ["## Shared by several", ""]
    for name, below in sorted(shared.items()):
        lines += [f"({_anchor(name)})=", f"### {name}", "", *_table(below), ""]
    return "\n".join(lines)


def _table(schema: Schema) -> list[str]:
    rows = list(_rows(schema, ""))
    if not rows:
        return [f"{_kind(schema)}{'. ' + _escaped(schema['description']) if 'description' in schema else ''}"]
    return ["| key | holds | means |", "|---|---|---|", *rows]


def _rows(schema: Schema, above: str) -> Iterator[str]:
    """Yield a row for each key and those below it; ``*``: a name that is data, ``[]``: each of a list."""
    entries = dict(schema.get("properties", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        entries["*"] = schema["additionalProperties"]
    needed = schema.get("required", entries)
    for name, below in entries.items():
        path, inner = f"{above}{name}", below
        kind = _kind(below) + ("" if name in needed or name == "*" else ", not always")
        yield f"| `{path}` | {kind} | {_escaped(below.get('description', ''))} |"
        while isinstance(inner.get("items"), dict):
            path, inner = f"{path}[]", inner["items"]
        yield from _rows(inner, f"{path}.")


def _kind(schema: Schema) -> str:
    """Return what a schema allows, in words."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_SHARED)
        return f"[{name}](#{_anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    kinds = schema.get("type", "anything")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "prefixItems" in schema:
        several = f"list of {', '.join(map(_kind, schema['prefixItems']))}"
    else:
        several = f"list of {_kind(schema['items'])}" if schema.get("items") else "list"
    return " or ".join(several if kind == "array" else kind for kind in kinds)


def _anchor(name: str) -> str:
    return f"definition-{name.replace('.', '-').lower()}"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|#$])", r"\\\1", text)
