"""Reading validate.json and map.json: what is refused, and how the complaint reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sample_figures
from rankwise.errors import InputError
from rankwise.report.inputs import load_mappings, mappings_from_record, validation_from_record


def changed(record: dict[str, Any], path: list[str | int], value: Any) -> dict[str, Any]:
    """A deep copy with one value replaced, or removed where ``value`` is ...."""
    copy: Any = json.loads(json.dumps(record))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return dict(copy)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (["rows", 0, "mode"], "", r"rows\[0\].mode '' is not a name"),
        (["rows", 0, "algorithm"], "shift\x00", r"algorithm 'shift\\x00' is not a name"),
        (["rows", 0, "cutoff"], 0, r"rows\[0\].cutoff 0 is not a whole number of at least 1"),
        (["rows", 0, "message_bytes"], -1, "message_bytes -1 is not a whole number of at least 0"),
        (["rows", 0, "measured_time_s"], 0, "measured_time_s 0 is not above 0"),
        (["rows", 0, "measured_time_s"], float("nan"), "measured_time_s nan is not a finite number"),
        (["rows", 0, "predicted_time_lo_s"], 1.0, "predicted_time_lo_s and predicted_time_hi_s are not an interval"),
        (["rows", 0, "predicted_time_lo_s"], None, "are not an interval"),
        (["schema"], 2, "schema 2, newer than"),
        (["schema"], "one", "schema 'one' is not a whole number of at least 1"),
    ],
)
def test_a_bad_validation_names_the_key(path: list[str | int], value: Any, complaint: str) -> None:
    record = changed(sample_figures.validation_record(), path, value)
    with pytest.raises(InputError, match=f"^validation v.json.*{complaint}"):
        validation_from_record(record, "v.json")


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (["instances"], [], "instances is not a list with entries"),
        (["instances", 0, "grid"], [8, 0], "grid 0 is not a whole number of at least 1"),
        (["instances", 0, "nodes"], [8], "nodes hold 8 ranks for 64 cells"),
        (["instances", 0, "results"], [], "results is not a list with entries"),
        (["instances", 0, "results", 2, "j_sum"], -3, r"\[0\].results\[2\].j_sum -3 is not a whole number of at least 0"),
        (["instances", 0, "results", 0, "node_of_cell"], [0], "node_of_cell has 1 entries for 64 cells"),
        (["instances", 0, "results", 0, "node_of_cell"], [8] * 64, "node_of_cell names node 8 of 8"),
        (["instances", 0, "results", 0, "node_of_cell"], "0,1", "node_of_cell '0,1' is not a list"),
    ],
)
def test_a_bad_mapping_names_the_key(path: list[str | int], value: Any, complaint: str) -> None:
    record = changed(sample_figures.mapping_record((8, 8), 8), path, value)
    with pytest.raises(InputError, match=f"^mappings m.json.*{complaint}"):
        mappings_from_record(record, "m.json")


@pytest.mark.parametrize("record", [[], "text", None, 3])
def test_another_json_value_is_refused(record: Any) -> None:
    with pytest.raises(InputError, match="not a JSON object"):
        validation_from_record(record, "v.json")
    with pytest.raises(InputError, match="not a JSON object"):
        mappings_from_record(record, "m.json")


def test_one_bare_instance_is_read_like_a_list_of_one(tmp_path: Path) -> None:
    """That is what 'rankwise map --json --with-mapping' prints."""
    record = sample_figures.mapping_record((8, 8), 8)
    (tmp_path / "map.json").write_text(json.dumps(record["instances"][0]))
    assert load_mappings(tmp_path / "map.json") == mappings_from_record(record, "map.json")[:1]


def test_figures_are_those_of_the_file() -> None:
    validation = validation_from_record(sample_figures.validation_record(), "v.json")
    assert [round(row.error, 6) for row in validation.comparisons[:3]] == [-0.02, 0.06, -0.11]
    assert validation.summary.mape == pytest.approx((0.02 + 0.06 + 0.11 + 0.04 + 0.03 + 0.24 + 0.08 + 0.01) / 8)
    instance = mappings_from_record(sample_figures.mapping_record(), "m.json")[0]
    assert instance.blocked is not None
    assert (instance.blocked.j_sum, instance.blocked.j_max) == (4704, 96)
    assert instance.best.j_sum == min(result.j_sum for result in instance.results)
