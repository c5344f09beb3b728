"""Halos that a program saved, read back by the verbs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankwise.engines.placement import profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.workloads.base import Site
from rankwise.workloads.halo import WORKLOAD, HaloCase, HaloOptions
from verbs import Rankwise, Refused

BOTH = [
    {"source": 0, "dest": 1, "bytes": [64, 0], "row_bytes": 8},
    {"source": 1, "dest": 0, "bytes": [16, 16], "row_bytes": 16},
]
PATTERN = {"schema": 1, "kind": "halo", "ranks": 2, "grid": [2], "periodic": [True], "fields": [8, 8], "pairs": BOTH}


def cases(folder: Path, pattern: object, **options: object) -> list[HaloCase]:
    path = folder / "halo.json"
    path.write_text(pattern if isinstance(pattern, str) else json.dumps(pattern))
    return WORKLOAD.cases(HaloOptions(pattern=str(path), **options), Site())  # type: ignore[arg-type]


def pairs(*pairs: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**PATTERN, **changed, "pairs": list(pairs)}


def test_a_pair_is_a_message(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, PATTERN)
    assert case.step.text == "rankwise-step 2 2 1\n0 2\n0 1 64 8\n1 0 32 16\n" and case.ranks == 2
    assert case.keys() == {
        "algorithm": "direct", "mode": "isend", "pattern": "halo.json", "ranks": 2, "messages_per_rank": 1, "bytes_per_rank": 64
    }  # fmt: skip
    # Order does not matter; rows need not be told.
    (plain,) = cases(tmp_path, pairs(BOTH[1], {"source": 0, "dest": 1, "bytes": [64, 0]}))
    assert plain.step.text == "rankwise-step 1 2 1\n0 2\n0 1 64\n1 0 32\n" and plain.question != case.question
    assert [one.mode for one in cases(tmp_path, PATTERN, mode="ssend,isend")] == ["ssend", "isend"]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{", "is not complete JSON"),
        ([], "is not a JSON object"),
        ({"schema": 1, "ranks": 2}, "kind is missing: give a file that rankwise_halo_save wrote"),
        ({**PATTERN, "kind": "profile"}, "kind 'profile' is none of halo"),
        ({**PATTERN, "schema": 2}, "newer than this program's 1"),
        ({**PATTERN, "ranks": 0}, "ranks 0 is not a whole number of at least 1"),
        ({**PATTERN, "ranks": 10**12}, "ranks 1000000000000 is not between 1 and 16777216"),
        ({**PATTERN, "ranks": 1, "grid": [1]}, r"pairs\[0\].dest is 1, but the ranks are 0 to 0"),
        ({**PATTERN, "fields": [8]}, r"pairs\[0\].bytes has 2 numbers, but the fields are 1"),
        ({**PATTERN, "pairs": {}}, "pairs {} is not a list"),
        ({**PATTERN, "grid": [3]}, r"grid has 3 ranks, but ranks is 2"),
        ({**PATTERN, "grid": 2}, "grid 2 is not a list"),
        (pairs(), "no rank sends to another"),
        (pairs(7), r"pairs\[0\] 7 is not an object"),
        (pairs({"source": 0, "dest": 0, "bytes": [8, 8]}), "dest is 0, the source itself"),
        (pairs({"source": -1, "dest": 0, "bytes": [8, 8]}), r"pairs\[0\].source -1 is not a whole number of at least 0"),
        (pairs({"source": 0, "dest": 1, "bytes": [8, -8]}), r"pairs\[0\].bytes -8 is not a whole number of at least 0"),
        (pairs({"source": 0, "dest": 1, "bytes": [8, 2**60]}), "bytes are 1152921504606846984 in all: at most"),
        (
            pairs({"source": 0, "dest": 1, "bytes": [8, 8], "row_bytes": 0.5}),
            r"pairs\[0\].row_bytes 0.5 is not a whole number of at least 0",
        ),
        (pairs(BOTH[0], BOTH[0]), r"pairs\[1\].dest is 1 again: what rank 0 sends there is one message"),
    ],
)  # fmt: skip
def test_what_is_no_saved_halo_is_refused(tmp_path: Path, pattern: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        cases(tmp_path, pattern)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid": "2x1"}, "--grid says what the file of --pattern says"),
        ({"width": "2"}, "--width says"),
        ({"corners": False}, "--faces says"),
        ({"algorithm": "staged"}, "--algorithm staged needs a grid and a box"),
    ],
)
def test_a_file_stands_alone(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        cases(tmp_path, PATTERN, **options)


def test_a_saved_box_costs_what_the_box_costs(tmp_path: Path, profile: Profile) -> None:
    (box,) = WORKLOAD.cases(HaloOptions(grid="2x1x1", box="32x32x32", fields="2x8", algorithm="direct"), Site())
    sent = [{"source": one, "dest": 1 - one, "bytes": [16384, 16384], "row_bytes": 256} for one in (0, 1)]
    (saved,) = cases(tmp_path, pairs(*sent))
    placed = profile_placement(profile, 1, "blocked")
    times = [row.time_s for row in predict_rows(profile, [box, saved], placed)]
    assert box.step.row_bytes is not None and set(box.step.row_bytes) == {256} and times[0] == times[1]


@pytest.mark.mpi
def test_all_verbs_take_it(rankwise: Rankwise, refused: Refused, profile: Profile) -> None:
    Path("halo.json").write_text(json.dumps(PATTERN))
    asked = "halo --pattern halo.json --json"
    (row,) = rankwise(f"run {asked} --seconds 0.05").answer["rows"]
    assert row["verified"] and row["pattern"] == "halo.json" and row["bytes_per_rank"] == 64
    profile.save(Path("m.json"))
    asked = f"{asked} --profile m.json"
    times = {}
    for verb in ("predict", "choose"):
        times[verb] = rankwise(f"{verb} {asked}").answer["rows" if verb == "predict" else "candidates"][0]["time_s"]
    assert times["predict"] == pytest.approx(times["choose"])
    (row,) = rankwise(f"validate {asked} --seconds 0.05").answer["rows"]
    assert row["verified"] and row["pattern"] == "halo.json" and 0 < row["predicted_time_s"] < times["predict"]
    assert "none.json does not exist: give a file that rankwise_halo_save wrote" in refused(
        "predict halo --pattern none.json --profile m.json"
    )


@pytest.mark.simgrid
def test_it_is_simulated(rankwise: Rankwise, refused: Refused, profile: Profile) -> None:
    Path("halo.json").write_text(json.dumps(PATTERN))
    profile.save(Path("m.json"))
    apart = "simulate halo --profile m.json --ranks-per-node 1 -o kept --json --pattern"
    (row,) = rankwise(f"{apart} halo.json").answer["rows"]
    # The longer message from node to node; packing takes 1 ns a byte of the one that is sent, less of the one that comes.
    assert row["verified"] and 64e-9 < row["time_s"] - (2e-6 + 64e-9) < (64 + 32) * 1e-9
    Path("many.json").write_text(json.dumps({**PATTERN, "ranks": 30_000, "grid": [30_000]}))
    assert "30000 ranks are more than can be simulated here" in refused(f"{apart} many.json")
