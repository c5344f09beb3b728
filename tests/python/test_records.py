"""Records: what is written is read again, every wrong figure is named, and the schema describes what is written."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rankwise.errors import InputError
from rankwise.reading import read_through
from rankwise.record_schema import schema_of
from rankwise.records import Interval, Record, computed, key, record, told

NUMBERS = st.floats(-1e30, 1e30)
NAMES = st.text(min_size=1, max_size=8)


@record
class Plain(Record):
    """A plain object."""

    size_bytes: int = key("its size")
    note: str = key("a remark", optional=True)


@record
class Point(Record):
    """A row."""

    size_bytes: int = key("size of a message", least=0)
    time_s: float = key("one way", above=0)
    ci: Interval | None = key("95 % interval", default=None)


@record
class Named(Record):
    name: str = key(is_name=True)
    points: tuple[Point, ...] = key("rows")
    first: Point | None = key("the first of them", default=None, omit=True)


@record
class Whole(Record):
    """All kinds of keys."""

    kind: Literal["a", "b"] = key("which one")
    inner: Point = key("a row", inline=True)
    flags: tuple[bool, ...] = key("of each axis", default=())
    pair: tuple[int, float] = key("size and time", default=(1, 1.0), least=1, above=0)
    named: Mapping[str, Named] = key("by name", factory=dict)
    of: Mapping[str, Mapping[str, float]] = key("by name and name", factory=dict, after="kind")
    share: float = key("a share", name="called", default=0.5, most=1)
    hidden: int = dataclasses.field(default=7, compare=False)
    doubled_s = computed("twice the time", float, lambda of: 2 * of.inner.time_s)

    @property
    @told("number of names")
    def many(self) -> int:
        return len(self.named)


POINTS = st.builds(
    Point, st.integers(0, 2**53), st.floats(1e-300, 1e30), st.none() | st.tuples(NUMBERS, NUMBERS).map(sorted).map(tuple)
)
NAMED = st.dictionaries(
    NAMES.filter(lambda name: "." not in name), st.tuples(st.lists(POINTS, max_size=2).map(tuple), st.none() | POINTS)
).map(lambda found: {name: Named(name, *of) for name, of in found.items()})
WHOLES = st.builds(
    Whole,
    kind=st.sampled_from(["a", "b"]), inner=POINTS, flags=st.lists(st.booleans()).map(tuple), named=NAMED,
    pair=st.tuples(st.integers(1, 2**53), st.floats(1e-300, 1e30)), share=st.floats(0, 1),
    of=st.dictionaries(NAMES, st.dictionaries(NAMES, NUMBERS)), hidden=st.just(7),
)  # fmt: skip


@given(WHOLES)
def test_what_is_written_is_read_again_and_fits_the_schema(whole: Whole) -> None:
    written = json.loads(json.dumps(whole.to_dict()))
    assert Whole.from_dict(written) == whole
    Draft202012Validator(schema_of(Whole, "whole")).validate(written)


def example() -> dict[str, Any]:
    point = Point(8, 1e-6, (1e-7, 2e-6))
    return Whole("a", point, (True,), (1, 2.0), {"x": Named("x", (point,), point)}, {"y": {"z": 1.0}}, 0.5).to_dict()


def test_keys_stand_in_the_order_of_the_class() -> None:
    written = example()
    assert list(written) == [
        "kind", "of", "size_bytes", "time_s", "ci", "flags", "pair", "named", "called", "doubled_s", "many",
    ]  # fmt: skip
    assert written["named"] == {"x": {"points": [{"size_bytes": 8, "time_s": 1e-6, "ci": [1e-7, 2e-6]}],
                                      "first": {"size_bytes": 8, "time_s": 1e-6, "ci": [1e-7, 2e-6]}}}  # fmt: skip
    assert "first" not in Named("x", ()).to_dict() and written["doubled_s"] == 2e-6 and written["many"] == 1


WRONG: list[tuple[list[Any], Any, str]] = [
    (["kind"], "c", "kind 'c' is none of a, b"),
    (["size_bytes"], 1.5, "size_bytes 1.5 is not a whole number of at least 0"),
    (["size_bytes"], -1, "size_bytes -1 is not a whole number of at least 0"),
    (["size_bytes"], True, "size_bytes True is not a whole number"),
    (["time_s"], 0, "time_s 0 is not above 0"),
    (["time_s"], "1", "time_s '1' is not a finite number"),
    (["time_s"], float("nan"), "time_s nan is not a finite number"),
    (["time_s"], 10**400, "time_s is not a finite number"),
    (["ci"], [2.0, 1.0], "ci .* has its low end above its high end"),
    (["ci"], 1.0, r"ci 1.0 is not a pair \[low, high\]"),
    (["flags"], [1], "flags 1 is not true or false"),
    (["flags"], "yes", "flags 'yes' is not a list"),
    (["pair"], [1], r"pair \[1\] is not a list of 2"),
    (["pair"], [0, 1.0], "pair 0 is not a whole number of at least 1"),
    (["called"], 1.5, "called 1.5 is not between 0 and 1"),
    (["named"], [], "named .* is not an object"),
    (["named", "x"], 3, r"named\.x 3 is not an object"),
    (["named", "x", "points", 0, "time_s"], -1, r"named\.x\.points\[0\]\.time_s -1 is not above 0"),
    (["of", "y", "z"], None, r"of\.y\.z None is not a finite number"),
]


@pytest.mark.parametrize(("path", "value", "says"), WRONG)
def test_a_wrong_figure_is_named(path: list[Any], value: Any, says: str) -> None:
    whole = example()
    holder = whole
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    with pytest.raises(InputError, match=f"x.json: {says}.*: write it again"):
        read_through(lambda trace: Whole.from_dict(trace.of(whole)), "x.json", "write it again")


@pytest.mark.parametrize("path", [["kind"], ["size_bytes"], ["time_s"], ["named", "x", "points", 0, "time_s"]])
def test_a_missing_key_is_named(path: list[Any]) -> None:
    whole = example()
    holder = whole
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    with pytest.raises(InputError, match=rf"x\.json: .*{path[-1]} is missing: write it again"):
        read_through(lambda trace: Whole.from_dict(trace.of(whole)), "x.json", "write it again")


ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)
)


@given(ANYTHING, st.sampled_from([name for name in example() if name not in ("doubled_s", "many")]))
def test_whatever_stands_there_is_read_or_refused_in_one_line(value: Any, name: str) -> None:
    whole = {**example(), name: value}
    try:
        read_through(lambda trace: Whole.from_dict(trace.of(whole)), "x.json", "write it again")
    except InputError as error:
        assert str(error).startswith("x.json: ") and str(error).endswith(": write it again")


def test_unknown_keys_are_left_alone() -> None:
    assert Whole.from_dict({**example(), "later": 1}) == Whole.from_dict(example())


def test_a_schema_tells_meaning_unit_and_what_may_be_null() -> None:
    schema = schema_of(Whole, "whole")
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["time_s"] == {"type": "number", "description": "one way, s"}
    assert schema["properties"]["ci"]["type"] == ["array", "null"]
    assert schema["required"] == [
        "kind", "of", "size_bytes", "time_s", "ci", "flags", "pair", "named", "called", "doubled_s", "many",
    ]  # fmt: skip
    assert schema["$defs"]["test_records.Named"]["required"] == ["points"]
    first = schema["$defs"]["test_records.Named"]["properties"]["first"]
    assert first == {"$ref": "#/$defs/test_records.Point", "description": "the first of them"}
    assert schema_of(Plain, "plain") == {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "plain", "type": "object",
        "description": "A plain object.", "required": ["size_bytes"],
        "properties": {
            "size_bytes": {"type": "integer", "description": "its size, bytes"},
            "note": {"type": "string", "description": "a remark"},
        },
    }  # fmt: skip
    assert schema_of(Whole, "whole", {Point: Plain})["properties"].keys() >= {"size_bytes", "note"}
