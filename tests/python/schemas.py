"""What verbs print under --json, held against the published schemas; RANKWISE_WRITE_SCHEMAS=1 widens these by what is printed.

A schema is what all outputs of a verb had so far: a key that some lack is not required. What is not known is null, so that every figure, word
or flag may be. Objects
whose keys are data (links by class, figures by name) have one schema for all their values.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "python" / "rankwise" / "schemas"
# Objects by what the user's machine, program or question calls things.
MAPS = frozenset({
    "links", "models", "variants", "of", "parameters", "machine", "source", "key", "value", "bytes", "steps", "curves", "phases",
    "per_rank", "isolated", "terms", "checks", "results", "base", "settings", "packing", "phase_errors", "spread", "mpi", "figures",
})  # fmt: skip
Schema = dict[str, Any]


def name_of(arguments: Sequence[str]) -> str:
    """Return the name of a command line's verb: its words up to the first that is none of a verb's."""
    from rankwise.cli.base import app
    from rankwise.cli.verbs import register_verbs

    register_verbs([])
    import typer.main

    command: Any = typer.main.get_command(app)
    words = []
    for word in arguments:
        if word in getattr(command, "commands", {}):
            words.append(word)
            command = command.commands[word]
        elif hasattr(command, "commands") and words and word.startswith("-"):  # a group with a verb that is meant
            words.append({"choose": "exchange"}.get(words[0], "run"))
            break
        else:
            break
    words += [word.removeprefix("--") for word in arguments if word == "--nodes" and words == ["doctor"]]  # a question of its own
    words += [word for word in arguments[1:2] if words == ["measure"] and word in ("all-pairs", "fft3d", "pack")]
    return "-".join(words)


def check(arguments: Sequence[str], value: Any) -> None:
    """Hold what a verb printed against its schema. Raises AssertionError where it does not fit."""
    name = "error" if list(value) == ["error"] else name_of(arguments)
    path = FOLDER / f"{name}.json"
    if os.environ.get("RANKWISE_WRITE_SCHEMAS"):
        FOLDER.mkdir(exist_ok=True)
        known = learnt(json.loads(path.read_text())) if path.is_file() else None
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"rankwise {name.replace('-', ' ')} --json"}
        widened = merged(known, inferred(value)) if known is not None else inferred(value)
        body = {key: entry for key, entry in published(widened).items() if key not in head}
        path.write_text(json.dumps({**head, **body}, indent=1, sort_keys=False) + "\n")
        _validator.cache_clear()
    if not path.is_file():  # test_schemas.py says which verbs lack one
        return
    error = next(_validator(name).iter_errors(value), None)
    assert error is None, f"{name}: {error.json_path}: {error.message[:300]}: RANKWISE_WRITE_SCHEMAS=1 widens the schema"


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = json.loads((FOLDER / f"{name}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def inferred(value: Any, key: str = "") -> Schema:
    """Return the narrowest schema of a value; ``key``: under which it stands."""
    if isinstance(value, Mapping):
        inside = {name: inferred(entry, name) for name, entry in value.items()}
        if key in MAPS or not all(name.isidentifier() for name in inside):
            whole: Schema | None = None
            for entry in inside.values():
                whole = entry if whole is None else merged(whole, entry)
            return {"type": "object", "additionalProperties": whole or {}}
        return {"type": "object", "required": list(inside), "properties": inside}
    if isinstance(value, list):
        items: Schema | None = None
        for entry in value:
            found = inferred(entry)
            items = found if items is None else merged(items, found)
        return {"type": "array", "items": items or {}}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": sorted({kinds[type(value)], "null"})}


_NOTHING_KNOWN = {"$comment": "null so far"}


def published(schema: Any) -> Any:
    """Return a schema in which what was only ever null may be anything."""
    if isinstance(schema, dict):
        null = schema.get("type") in ("null", ["null"])
        return _NOTHING_KNOWN if null else {key: published(entry) for key, entry in schema.items()}
    return [published(entry) for entry in schema] if isinstance(schema, list) else schema


def learnt(schema: Any) -> Any:
    """Return a published schema as it is widened: what was only ever null is that."""
    if isinstance(schema, dict):
        return {"type": "null"} if schema == _NOTHING_KNOWN else {key: learnt(entry) for key, entry in schema.items()}
    return [learnt(entry) for entry in schema] if isinstance(schema, list) else schema


def merged(one: Schema, other: Schema) -> Schema:
    """Return the schema of what fits either; nothing is known of an empty one."""
    if not one or not other:
        return one or other
    kinds = list(dict.fromkeys([*_kinds(one), *_kinds(other)]))
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    whole: Schema = {"type": kinds[0] if len(kinds) == 1 else sorted(kinds)}
    objects = [schema for schema in (one, other) if "object" in _kinds(schema)]
    if any("additionalProperties" in schema for schema in objects):
        values: Schema = {}
        for schema in objects:
            entries = [schema["additionalProperties"]] if "additionalProperties" in schema else schema["properties"].values()
            for entry in entries:
                values = merged(values, entry)
        whole["additionalProperties"] = values
    elif objects:
        first, last = objects[0], objects[-1]
        whole["required"] = [name for name in first["required"] if name in last["required"]]
        names = dict.fromkeys([*first["properties"], *last["properties"]])
        whole["properties"] = {
            name: merged(first["properties"].get(name, {}), last["properties"].get(name, {})) for name in names
        }
    arrays = [schema for schema in (one, other) if "array" in _kinds(schema)]
    if arrays:
        whole["items"] = merged(arrays[0]["items"], arrays[-1]["items"])
    return whole


def _kinds(schema: Schema) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)
