"""Every verb that prints JSON has a schema, in which every key is told; what several objects share stands once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

import schemas
from rankwise.cli.base import command_tree
from rankwise.cli.verbs import register_verbs
from rankwise.papers import PAPERS as REDONE
from rankwise.schemas import main

UNIT = re.compile(r", [\w/]+$")
# What refers to another key, or to the object, without its name: the keys of a page stand in tables, each for itself.
VAGUE = re.compile(r"^(its|it|of that|the same|that|how that)\b")
PAPERS = ("reproduce-", "project-table")  # whose figures are told beside the paper's own words
# One verb, several questions.
BESIDE = {"error", "doctor-nodes", "report-profiles", "map-observed", "observe-show-live", "project-observed-ranks"}


def verbs_with_json() -> set[str]:
    register_verbs([])
    found: set[str] = set()

    def visit(command: Any, words: tuple[str, ...]) -> None:
        for name, below in getattr(command, "commands", {}).items():
            visit(below, (*words, name))
        if any("--json" in getattr(param, "opts", ()) for param in command.params):
            found.add(schemas.name_of(" ".join(("rankwise", *words)), {}))

    visit(command_tree(), ())
    return found


def objects(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        yield schema
    for below in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects(below)


def test_verbs_have_schemas() -> None:
    redone = {f"reproduce-{paper.name}-{engine}" for paper in REDONE for engine in paper.engines}
    assert set(schemas.names()) == verbs_with_json() | BESIDE | redone


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_one_and_tells_its_keys(name: str) -> None:
    schema = schemas.schema(name)
    Draft202012Validator.check_schema(schema)
    defined = schema.get("$defs", {})
    for one in objects({key: value for key, value in schema.items() if key != "$defs"} | {"defined": list(defined.values())}):
        if not isinstance(one.get("properties"), dict) or "type" not in one:
            continue
        assert set(one.get("required", ())) <= set(one["properties"])
        for key, value in one["properties"].items():
            meaning = value.get("description") if isinstance(value, dict) else None
            assert meaning, f"nothing is said of {key}"
            vague = not name.startswith(PAPERS) and VAGUE.search(UNIT.sub("", meaning))
            assert not vague, f"{key} is told in words that say nothing: {meaning}"
        meanings = [value["description"] for value in one["properties"].values()]
        assert len(set(meanings)) == len(meanings), f"keys share a meaning: {sorted(meanings)}"
    for one in objects(schema):
        assert "$ref" not in one or one["$ref"].removeprefix("#/$defs/") in defined
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate([])


def test_units_follow_from_the_names_of_keys() -> None:
    defined = schemas.schema("profile-show")["$defs"]
    point, link = defined["link.Point"]["properties"], defined["profile.Link"]["properties"]
    assert point["time_s"]["description"].endswith("of this size, s") and link["alpha_s"]["description"].endswith(", s")
    assert link["beta_s_per_byte"]["description"].endswith("s/byte") and "interval" in link["alpha_ci_s"]["description"]


def test_null_stands_only_where_nothing_may_be_known() -> None:
    row = schemas.schema("predict-exchange")["$defs"]["base.Row-exchange"]["properties"]
    assert row["time_s"]["type"] == "number" and row["verified"]["type"] == ["boolean", "null"]
    assert row["algorithm"]["type"] == "string" and "j_sum" not in row
    assert "j_sum" in schemas.schema("predict-stencil")["$defs"]["base.Row-stencil"]["properties"]


def test_a_closed_schema_refuses_what_it_does_not_name() -> None:
    strict = Draft202012Validator(schemas.closed(schemas.schema("error")))
    right = {"error": {"what": "a", "mend": "b", "exit_code": 1}}
    assert strict.is_valid(right) and not strict.is_valid({**right, "more": 1})
    assert not strict.is_valid({"error": {**right["error"], "more": 1}}) and not strict.is_valid({"error": {}})


def test_schemas_are_printed() -> None:
    shown: list[str] = []
    assert main(["error"], shown.append) == 0 and json.loads(shown[0]) == schemas.schema("error")
    assert main([], shown.append) == 0 and shown[1:] == schemas.names()
    assert main(["nothing"], shown.append) == 2
