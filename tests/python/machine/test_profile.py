import json
from pathlib import Path
from typing import Any

import pytest

from rankwise.errors import InputError
from rankwise.machine.profile import SCHEMA, Profile
from rankwise.measure.imports import import_profile

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def record() -> dict[str, Any]:
    return import_profile([DATA / "werner2023_pingpong.csv"], "other-node", "jureca").to_dict()


def test_a_profile_reads_back_as_it_was_written(tmp_path: Path, record: dict[str, Any]) -> None:
    Profile.from_dict(record, "memory").save(tmp_path / "machine.json")
    assert Profile.load(tmp_path / "machine.json").to_dict() == record


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda r: r.update(schema=SCHEMA + 1), "newer than this program"),
        (lambda r: r.pop("schema"), "names no schema"),
        (lambda r: r.pop("links"), "machine.json: links is missing"),
        (lambda r: r["links"].clear(), "no link class"),
        (lambda r: r["links"].update(wormhole=r["links"]["other-node"]), "'wormhole' is not a link class"),
        (lambda r: r["links"]["other-node"].update(alpha_s="fast"), "alpha_s 'fast' is not a finite number"),
        (lambda r: r["links"]["other-node"]["table"][0].update(time_s=-1e-6), r"table\[0\].time_s -1e-06 is not above 0"),
        (lambda r: r["links"]["other-node"]["table"][0].update(time_s=0.0), r"other-node.table\[0\].time_s 0.0 is not above 0"),
        (
            lambda r: r["links"]["other-node"]["table"][1].update(time_s=float("nan")),
            "time_s holds NaN, which is not a finite number",
        ),
        (lambda r: r["links"]["other-node"]["table"][1].pop("time_s"), r"links.other-node.table\[1\].time_s is missing"),
        (lambda r: r["links"]["other-node"]["table"].__delitem__(slice(2, None)), r"sizes \[0, 10\]: at least 3"),
        (lambda r: r["links"]["other-node"]["table"].reverse(), "in order"),
        (lambda r: r["links"]["other-node"].update(model="psychic"), "not among its models"),
        (lambda r: r["links"]["other-node"].update(alpha_ci_s=[2.0, 1.0]), "low end above"),
        (lambda r: r["links"]["other-node"].update(reference_loop_s=-1), "links.other-node.reference_loop_s -1 is not above 0"),
        (lambda r: r["links"].update({"other-node": 5}), "machine.json"),
    ],
)
def test_a_damaged_profile_is_refused_with_what_is_wrong(
    tmp_path: Path, record: dict[str, Any], damage: Any, says: str
) -> None:
    damage(record)
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=says):
        Profile.load(path)


def test_a_half_written_profile_is_refused(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(record)[:-200])
    with pytest.raises(InputError, match="not complete JSON"):
        Profile.load(path)
