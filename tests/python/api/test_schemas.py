"""Every verb that prints JSON has a published schema, but those that are known to lack one; each schema is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer.main
from jsonschema import Draft202012Validator, ValidationError

import schemas
from rankwise.cli.base import app
from rankwise.cli.verbs import register_verbs

LACKING: frozenset[str] = frozenset({
    "choose-fft3d",
    "health-accept",
    "health-add",
    "health-run",
    "machines-check",
    "quick",
    "reproduce-hunold2020",
    "reproduce-wagner2024",
    "run-observed",
    "simulate-alltoall",
    "simulate-observed",
    "slurm-fetch",
    "slurm-script",
    "slurm-status",
    "slurm-submit",
    "slurm-wait",
    "validate-choose",
    "validate-fft3d",
    "validate-observed",
})


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


def test_verbs_have_schemas() -> None:
    known = {path.stem for path in schemas.FOLDER.glob("*.json")}
    assert verbs_with_json() - known == LACKING
    assert known - verbs_with_json() <= {"error", "doctor-nodes", "measure-all-pairs", "measure-fft3d", "measure-pack"}


@pytest.mark.parametrize("path", sorted(schemas.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_schema_is_one(path: Path) -> None:
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate([])


def test_schemas_are_merged() -> None:
    one, other = schemas.inferred({"a": 1, "b": [1.5], "links": {"x-y": {"t": 1}}}), schemas.inferred({"a": None, "b": []})
    assert schemas.merged(one, other) == {
        "type": "object", "required": ["a", "b"],
        "properties": {
            "a": {"type": ["integer", "null"]}, "b": {"type": "array", "items": {"type": ["null", "number"]}},
            "links": one["properties"]["links"],
        },
    }  # fmt: skip
    assert one["properties"]["links"]["additionalProperties"]["required"] == ["t"]
