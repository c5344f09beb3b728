"""What verbs print under --json, held against their schemas, which must name every key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from rankwise.schemas import names, schema

__all__ = ["check", "closed", "name_of", "names", "schema"]


def name_of(path: str, asked: Mapping[str, Any]) -> str:
    """Return the name of what a verb prints: its words, and of a verb that answers several questions which it was asked."""
    words = path.split()[1:]
    if words[:1] == ["measure"] and f"measure-{words[1]}" not in names():
        return "measure"  # whatever was measured between ranks, it is a profile
    if words == ["profile", "fit"]:
        return "fit"
    engine = str(asked.get("engine") or "model")
    beside = {
        " ".join(words): engine if words[:1] == ["reproduce"] and engine != "model" else "",
        "observe show": "live" if asked.get("live") else "",
        "doctor": "nodes" if asked.get("nodes") else "",
        "report": "profiles" if asked.get("profiles") else "",
        "project observed": "ranks" if asked.get("ranks") else "",
        "map": "observed" if asked.get("observed") or asked.get("graph") else "",
    }
    return "-".join(word for word in (*words, beside.get(" ".join(words), "")) if word)


def check(name: str, value: Any) -> None:
    """Hold what a verb printed against its schema. Raises AssertionError where it does not fit."""
    error = next(_validator(name).iter_errors(json.loads(json.dumps(value))), None)
    assert error is None, f"{name}: {error.json_path}: {error.message[:300]}"


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(closed(schema(name)))


def closed(schema: Any) -> Any:
    """Return a schema that refuses keys which it does not name."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: closed(one) for key, one in schema.items()}
    names_keys = isinstance(schema.get("properties"), dict) and "type" in schema
    return {"additionalProperties": False, **inside} if names_keys else inside
