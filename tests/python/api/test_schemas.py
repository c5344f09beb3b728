"""Every verb that prints JSON has a published schema, in which every key is told; what several verbs print stands once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from jsonschema import Draft202012Validator, ValidationError

import schemas
from rankwise.cli.base import app
from rankwise.cli.verbs import register_verbs

# One verb, several questions.
BESIDE = {"error", "doctor-nodes", "measure-all-pairs", "measure-fft3d", "measure-pack", "report-profiles", "map-observed"}


def verbs_with_json() -> set[str]:
    register_verbs([])
    found: set[str] = set()

    def visit(command: Any, words: tuple[str, ...]) -> None:
        for name, below in getattr(command, "commands", {}).items():
            visit(below, (*words, name))
        if any("--json" in getattr(param, "opts", ()) for param in command.params):
            found.add("-".join(words))

    visit(typer.main.get_command(app), ())
    return found


def objects(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        yield schema
    for below in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects(below)


def test_verbs_have_schemas() -> None:
    known = {path.stem for path in schemas.FOLDER.glob("*.json")} - {"definitions"}
    assert known == verbs_with_json() | BESIDE


@pytest.mark.parametrize("path", sorted(schemas.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_schema_is_one_and_tells_its_keys(path: Path) -> None:
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    defined = json.loads((schemas.FOLDER / schemas.DEFINITIONS).read_text())["$defs"]
    for one in objects(schema):
        assert set(one.get("required", ())) <= set(one.get("properties", ()))
        for key, value in one.get("properties", {}).items():
            assert isinstance(value, dict) and (value.get("description") or key == "description"), (
                f"key_meanings.txt lacks {key}"
            )
        if "$ref" in one:
            assert one["$ref"].removeprefix("definitions.json#/$defs/") in defined
    if path.stem != "definitions":
        with pytest.raises(ValidationError):
            Draft202012Validator(schemas.loaded()[path.stem]).validate([])


def test_units_follow_from_the_names_of_keys() -> None:
    defined = json.loads((schemas.FOLDER / schemas.DEFINITIONS).read_text())["$defs"]
    point, link = defined["point"]["properties"], defined["link"]["properties"]
    assert point["time_s"]["description"].endswith("of this size, s") and link["alpha_s"]["description"].endswith(", s")
    assert link["beta_s_per_byte"]["description"].endswith("s/byte") and link["alpha_ci_s"]["$ref"].endswith("/interval")


def test_schemas_are_merged_and_refuse_what_they_do_not_name() -> None:
    one, other = schemas.inferred({"a": 1, "b": [1.5], "links": {"x-y": {"t": 1}}}), schemas.inferred({"a": None, "b": []})
    whole = schemas.merged(one, other)
    assert whole == {
        "type": "object", "required": ["a", "b"],
        "properties": {
            "a": {"type": ["integer", "null"]}, "b": {"type": "array", "items": {"type": ["null", "number"]}},
            "links": one["properties"]["links"],
        },
    }  # fmt: skip
    assert one["properties"]["links"]["additionalProperties"]["required"] == ["t"]
    strict = Draft202012Validator(schemas.closed(whole))
    assert strict.is_valid({"a": 1, "b": [], "links": {"any": {"t": 2}}})
    assert not strict.is_valid({"a": 1, "b": [], "c": 1}) and not strict.is_valid({"a": 1, "b": [], "links": {"any": {"s": 2}}})


def test_what_is_written_is_read_again() -> None:
    before = {
        name: (schemas.FOLDER / f"{name}.json").read_text() for name in ("predict-exchange", "profile-show", "definitions")
    }
    known = schemas.loaded()
    assert {name: schemas.text_of(known)[name] for name in before} == before
