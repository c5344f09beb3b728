"""The JSON schemas as a page: of each a table of its keys, what they hold and mean; what several share stands once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "python" / "rankwise" / "schemas"
Schema = dict[str, Any]
_SHARED = "definitions.json#/$defs/"


def json_schemas() -> str:
    """Return all schemas as MyST."""
    lines = []
    for path in sorted(FOLDER.glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        if path.stem != "definitions":
            linked = f"[The schema](../../python/rankwise/schemas/{path.name})."
            lines += [f"## {path.stem}", "", linked, "", *_table(schema), ""]
    lines += ["## Shared by several", ""]
    for name, schema in sorted(json.loads((FOLDER / "definitions.json").read_text(encoding="utf-8"))["$defs"].items()):
        lines += [f"(definition-{name})=", f"### {name}", "", *_table(schema), ""]
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
    """Return what a schema allows, in words; null, which any figure may be, is left out."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_SHARED)
        return f"[{name}](#definition-{name})"
    if "anyOf" in schema:
        return " or ".join(kind for one in schema["anyOf"] if (kind := _kind(one)) != "null")
    kinds = schema.get("type", "anything")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = [f"list of {_kind(schema.get('items') or {})}" if kind == "array" else kind for kind in kinds if kind != "null"]
    return " or ".join(words) or "null"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|#$])", r"\\\1", text)
