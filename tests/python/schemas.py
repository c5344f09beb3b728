"""What verbs print under --json, held against the published schemas; RANKWISE_WRITE_SCHEMAS=1 widens these by what is printed.

A schema is what all outputs of a verb had so far: a key that some lack is not required. What is not known is null, so that
every figure, word or flag may be. Objects whose keys are data (links by class, figures by name) have one schema for all their
values. What several verbs print stands once, in definitions.json, by its name; what keys mean, in key_meanings.txt, from where
it comes into the schemas.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "python" / "rankwise" / "schemas"
DEFINITIONS = "definitions.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Objects by what the user's machine, program or question calls things, and how many levels of them.
MAPS = {
    "links": 1, "models": 1, "variants": 1, "of": 2, "key": 1, "value": 1, "bytes": 1, "steps": 2, "curves": 1, "phases": 1,
    "isolated": 1,
    "terms": 1, "checks": 1, "results": 1, "base": 1, "phase_errors": 1, "figures": 1, "parameters": 1, "parameters_ci": 1,
    "work": 2,
    "mape_by_size": 1, "mape_noise_floor_by_size": 1, "parts": 1,
}  # fmt: skip
# What is left out where there is nothing of it, whether or not a test prints such an answer.
OPTIONAL = frozenset({
    "trust", "note", "dimensions", "steps", "levels", "fft3d", "work", "packing", "io_bus_s", "pulled", "phases", "paired",
    "example", "shortened",
    "front", "plot", "poor", "why",
})  # fmt: skip
# What several verbs print, by keys that no other object has.
DEFINED: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (name, frozenset(keys.split()))
    for name, keys in (
        ("trust", "level reasons of half_width"),
        ("reason", "code severity words cure"),
        ("busiest", "resource held_s"),
        ("span", "time_s time_lo_s time_hi_s"),
        ("point", "size_bytes time_s time_lo_s time_hi_s samples"),
        ("segment", "from_bytes to_bytes alpha_s"),
        ("model", "segments relative_error"),
        ("parameter", "value ci"),
        ("range", "value low high"),
        ("resource", "bytes_per_s pairs ci"),
        ("link", "variants models table spread"),
        ("curve", "alpha_method models table"),
        ("profile", "source machine links created"),
        ("link_figures", "latency_s bandwidth_bytes_per_s bandwidth_of_bytes"),
        ("comparison", "link sending quantity ratio"),
        ("finding", "id severity what cure"),
        ("summary", "mape bias drift"),
        ("machine", "hostname cpu_model caches"),
        ("mpi", "library_version launcher_version"),
        ("topology", "name kind dimensions"),
        ("pattern", "kind dims offsets explained"),
        ("step", "inner_events cover steps"),
        ("mappings", "grid stencil objective results skipped"),
        ("mapping", "algorithm j_sum j_max seconds"),
        ("next", "purpose command"),
        ("fft_rates", "library rates counted"),
        ("slip", "printed_value follows rule"),
        ("cell", "recomputed_value printed_value rule"),
        ("job", "state words live"),
        ("submission", "submitted script work"),
        ("paper_link", "alpha_s effects rows runs"),
    )
)
# Of how large the object must be at most, where it would be mistaken for a larger one.
_WHOLE = {"span": 3, "range": 3, "parameter": 2, "summary": 8, "curve": 10}
WORKLOADS = ("exchange", "stencil", "halo", "alltoall", "fft3d", "observed")
UNITS = (
    ("flop_per_s", "flop/s"), ("bytes_per_s", "bytes/s"), ("s_per_byte", "s/byte"), ("messages_per_s", "messages/s"),
    ("cells_per_s", "cells/s"),
    ("s", "s"), ("ns", "ns"), ("bytes", "bytes"), ("years", "years"),
)  # fmt: skip
Schema = dict[str, Any]
INTERVAL: Schema = {
    "type": ["array", "null"], "description": "both ends of a 95 % interval; null: not "
                                              "known", "items": {"type": ["null", "number"]},
    "minItems": 2, "maxItems": 2,
}  # fmt: skip
NOTHING_KNOWN = "null so far"
DEFINED_HERE = "a definition"  # what owns the definitions


def name_of(path: str, asked: Mapping[str, Any]) -> str:
    """Return the name of what a verb prints: its words, and of a verb that answers several questions which it was asked."""
    words = path.split()[1:]
    beside = {
        "doctor": "nodes" if asked.get("nodes") else "",
        "measure": asked.get("what") if asked.get("what") in ("all-pairs", "fft3d", "pack") else "",
        "report": "profiles" if asked.get("profiles") else "",
        "map": "observed" if asked.get("observed") or asked.get("graph") else "",
    }
    return "-".join(word for word in (*words, beside.get(" ".join(words), "")) if word)


def check(name: str, value: Any) -> None:
    """Hold what a verb printed against its schema, which must name every key. Raises AssertionError where it does not fit."""
    if os.environ.get("RANKWISE_WRITE_SCHEMAS"):
        known = loaded()
        found = inferred(value)
        known[name] = merged(known[name], found) if name in known else found
        write(known)
        _validator.cache_clear()
    assert (FOLDER / f"{name}.json").is_file(), f"'{name}' has no schema: RANKWISE_WRITE_SCHEMAS=1 makes one"
    error = next(_validator(name).iter_errors(json.loads(json.dumps(value))), None)
    assert error is None, f"{name}: {error.json_path}: {error.message[:300]}: RANKWISE_WRITE_SCHEMAS=1 widens the schema"


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(closed(loaded()[name]))


def loaded() -> dict[str, Schema]:
    """Return all verbs' schemas with what is defined elsewhere in its place, and without words."""
    texts = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
    definitions = texts.pop("definitions", {}).get("$defs", {})
    return {name: _expanded(schema, definitions) for name, schema in texts.items()}


def _expanded(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_expanded(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("$comment") == NOTHING_KNOWN:
        return {"type": ["null"]}
    if "anyOf" in schema:
        whole = dict(_expanded(schema["anyOf"][0], definitions))
        return {**whole, "type": sorted({*_kinds(whole), *(kind for one in schema["anyOf"][1:] for kind in _kinds(one))})}
    if "$ref" in schema:
        return _expanded(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "properties" in schema:
        return {
            **_bare(schema),
            "properties": {name: _expanded(one, definitions) for name, one in schema["properties"].items()},
        }
    return {key: _expanded(one, definitions) for key, one in _bare(schema).items()}


def _bare(schema: Schema) -> Schema:
    return {key: one for key, one in schema.items() if key not in ("$schema", "title", "description", "$comment")}


def closed(schema: Any) -> Any:
    """Return a schema that refuses keys which it does not name; what was only ever null may be anything."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if isinstance(schema, dict) and _kinds(schema) == ["null"]:
        return {}
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        inside = {name: closed(one) for name, one in schema["properties"].items()}
        return {**schema, "properties": inside, "additionalProperties": False}
    return {key: closed(one) for key, one in schema.items()}


def write(schemas: Mapping[str, Schema]) -> None:
    """Write all schemas."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in text_of(schemas).items():
        (FOLDER / f"{name}.json").write_text(text)


def text_of(schemas: Mapping[str, Schema]) -> dict[str, str]:
    """Return the text of each file, what several schemas have in common once."""
    definitions: dict[str, Schema] = {}
    for name, schema in schemas.items():
        for concept, one in _concepts(schema, name, False):
            definitions[concept] = merged(definitions[concept], one) if concept in definitions else one
    texts: dict[str, Schema] = {
        name: {"title": f"rankwise {name.replace('-', ' ')} --json", **_published(schema, name, name)}
        for name, schema in schemas.items()
    }
    defined = {concept: _published(one, concept, DEFINED_HERE) for concept, one in sorted(definitions.items())}
    texts["definitions"] = {"title": "what several verbs print", "$defs": {"interval": INTERVAL, **defined}}
    return {name: _text({"$schema": DIALECT, **text}, "") + "\n" for name, text in texts.items()}


def _text(value: Any, indent: str) -> str:
    """Write JSON whose innermost objects stand on one line."""
    inner = indent + " "
    if isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
        one_line = json.dumps(value, ensure_ascii=False)
        if len(one_line) + len(indent) <= 150 and one_line.count("{") == 2:
            return one_line
        lines = [f"{inner}{json.dumps(key)}: {_text(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return json.dumps(value, ensure_ascii=False)


def _concept(schema: Schema, verb: str, inside: bool) -> str | None:
    """Return what a definition of an object would be called, where it has one."""
    keys = schema.get("properties")
    if not keys:
        return None
    if "engine" in keys and "time_lo_s" in keys and verb.startswith(("predict", "simulate", "run", "choose")):
        workload = verb.partition("-")[2]
        return f"{workload}_row" if workload in WORKLOADS and inside else None
    for name, needed in DEFINED:
        if needed <= keys.keys() and len(keys) <= _WHOLE.get(name, 99):
            return name
    return None


def _concepts(schema: Any, verb: str, inside: bool) -> Iterator[tuple[str, Schema]]:
    if not isinstance(schema, dict):
        return
    concept = _concept(schema, verb, inside)
    if concept is not None:
        yield concept, {**schema, "type": "object"}
    for below in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        yield from _concepts(below, verb, True)


def _published(schema: Any, verb: str, owner: str, key: str = "", inside: bool = False) -> Any:
    """Return a schema as it is written: with words, and with what is defined elsewhere by its name.

    ``owner``: the definition, key or verb of the object in which ``key`` stands.
    """
    concept = None if owner == DEFINED_HERE else _concept(schema, verb, inside)
    words = meaning(key, owner)
    told = {"description": words} if words else {}
    if schema.get("items") == INTERVAL["items"] and "ci" in key.split("_"):
        return {**told, "$ref": f"{DEFINITIONS}#/$defs/interval"}
    if concept is not None:
        there = {"$ref": f"{DEFINITIONS}#/$defs/{concept}"}
        return {**told, **({"anyOf": [there, {"type": "null"}]} if "null" in _kinds(schema) else there)}
    if not schema or _kinds(schema) == ["null"]:
        return {**told, "$comment": NOTHING_KNOWN} if schema else told
    written = {"type": schema["type"], **told}
    if "properties" in schema:
        written["required"] = schema["required"]
        written["properties"] = {
            name: _published(one, verb, key or verb, name, True) for name, one in schema["properties"].items()
        }
    if "additionalProperties" in schema:
        written["additionalProperties"] = _published(schema["additionalProperties"], verb, owner, f"{key}[]", True)
    if "items" in schema:
        written["items"] = _published(schema["items"], verb, owner, f"{key}[]", True)
    return written


@cache
def _meanings() -> Mapping[str, str]:
    """Return what keys mean; those of one object only as ``object.key``."""
    found = {}
    for line in Path(__file__).with_name("key_meanings.txt").read_text(encoding="utf-8").splitlines():
        keys, colon, words = line.partition(": ")
        if colon and not line.startswith("#"):
            found |= {key.strip(): words.strip() for key in keys.split(",")}
    return found


def meaning(key: str, owner: str) -> str:
    """Return what a key of an object means and its unit; the ends of an interval by the figure that they are of."""
    if not key or key.endswith("[]"):
        return ""
    meanings = _meanings()
    stem, ends = re.subn(r"_(lo|hi)(?=_|$)", "", key)
    whole, ci = re.subn(r"_ci(?=_|$)", "", key)
    of = meanings.get(f"{owner.removesuffix('[]')}.{key}") or meanings.get(key, "")
    if not of and ends:
        of = f"{'lower' if '_lo' in key else 'upper'} end of the 95 % interval of {stem}"
    if not of and ci:
        of = f"95 % interval of {whole}"
    unit = next((unit for ending, unit in UNITS if key == ending or key.endswith(f"_{ending}")), "")
    return f"{of}, {unit}" if of and unit and not re.search(rf"\b{unit}\b", of) else of


def inferred(value: Any, maps: int = 0) -> Schema:
    """Return the narrowest schema of a value; ``maps``: on how many levels keys are data."""
    if isinstance(value, Mapping):
        if maps or not all(name.isidentifier() for name in value):
            whole: Schema | None = None
            for entry in value.values():
                found = inferred(entry, max(0, maps - 1))
                whole = found if whole is None else merged(whole, found)
            return {"type": "object", "additionalProperties": whole or {}}
        inside = {name: inferred(entry, MAPS.get(name, 0)) for name, entry in value.items()}
        return {"type": "object", "required": [name for name in inside if name not in OPTIONAL], "properties": inside}
    if isinstance(value, list | tuple):
        items: Schema | None = None
        for entry in value:
            found = inferred(entry)
            items = found if items is None else merged(items, found)
        return {"type": "array", "items": items or {}}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": sorted({kinds[type(value)], "null"})}


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
