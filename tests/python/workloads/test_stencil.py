"""The workload "stencil": the cells of the ranks, real exchanges with the statistics of the paper, predictions, choices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.workloads.stencil import cells_of_ranks
from verbs import Rankwise, Refused


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.randoms())
def test_every_rank_gets_a_cell_of_its_node(node_of_rank: list[int], random: Any) -> None:
    node_of_cell = random.sample(node_of_rank, len(node_of_rank))
    cells = cells_of_ranks(node_of_cell, node_of_rank)
    assert sorted(cells) == list(range(len(node_of_rank)))
    assert [node_of_cell[cell] for cell in cells] == node_of_rank


@pytest.mark.mpi
def test_real_ranks_exchange_and_every_byte_is_checked(rankwise: Rankwise) -> None:
    rows = rankwise("run stencil --grid 2x2 --bytes 64,1000 --repetitions 20 --algorithm blocked,kd-tree --json").answer["rows"]
    assert [(row["mapping"], row["message_bytes"]) for row in rows] == [
        ("blocked", 64), ("kd-tree", 64), ("blocked", 1000), ("kd-tree", 1000)
    ]  # fmt: skip
    for row in rows:
        assert row["verified"] is True
        assert row["all"]["repetitions"] == 20 == row["without_outliers"]["repetitions"] + row["outliers"]
        assert row["time_s"] == row["all"]["median_s"] > 0
        low, high = row["speedup_ci"]
        assert low <= row["speedup_over_blocked"] <= high
        assert (row["nodes"], row["j_sum"], row["messages"], row["bytes_per_rank"]) == (1, 0, 8, 2 * row["message_bytes"])
        assert any("one node" in note for note in row["notes"])
    assert rows[0]["speedup_over_blocked"] == 1
    records = [json.loads(line) for line in Path("stencil.samples.jsonl").read_text().splitlines()]
    assert [record["record"] for record in records] == ["campaign", "start", *["samples"] * 4, "end", "complete"]
    # The timer's own cost is off.
    assert np.median(records[2]["time_s"]) - records[1]["timer_cost_s"] == pytest.approx(rows[0]["time_s"])


def test_wrong_use_is_told(refused: Refused) -> None:
    for arguments, words in (
        ("--grid 2x2 --nodes 2", "--nodes, --ppn and --node-sizes go with --instantiation"),
        ("--grid 2x2 --instantiation", "the nodes are missing"),
        ("--grid 2x2 --instantiation --nodes 2 --ppn 2 --algorithm best", "best"),
        ("--grid 2x2 --stencil moore:x", "moore"),
        ("--grid 2y2", "--grid"),
    ):
        assert words in refused(f"run stencil {arguments}")


def test_a_table_of_instantiation(rankwise: Rankwise) -> None:
    result = rankwise("run stencil --grid 8x6 --nodes 4 --ppn 12 --instantiation")
    assert result.code == 0, result.err
    assert "slowest rank" in result.out and "hyperplane" in result.out


GRID = "--grid 4x4 --nodes 16 --ppn 1 --stencil moore:1 --profile jureca.json"


def test_a_stencil_is_priced_as_its_messages_at_once(rankwise: Rankwise, jureca: Path) -> None:
    rows = rankwise(f"predict stencil {GRID} --algorithm blocked,kd-tree --bytes 8,64kB --json").answer["rows"]
    assert [(row["mapping"], row["message_bytes"]) for row in rows] == [
        ("blocked", 8), ("kd-tree", 8), ("blocked", 64_000), ("kd-tree", 64_000)
    ]  # fmt: skip
    asked = "--dims 4x4 --periodic none --algorithm direct --mode isend --cutoff 1 --bytes 64kB"
    exchange = rankwise(f"predict exchange {asked} --profile {jureca} --json").json["rows"][0]
    assert rows[2]["time_s"] == exchange["time_s"]
    assert (rows[2]["messages_per_rank"], rows[2]["bytes_per_rank"], rows[2]["verified"]) == (8, 512_000, None)
    assert rows[2]["speedup_over_blocked"] == 1.0


def test_the_mapping_with_least_time_is_chosen(rankwise: Rankwise, imported: Callable[..., Path]) -> None:
    for link in ("same-socket", "other-node"):
        imported(link, f"{link}.json")
    both = json.loads(Path("other-node.json").read_text())
    inside = json.loads(Path("same-socket.json").read_text())["links"]["same-socket"]
    both["links"]["same-socket"] = inside
    del both["checksums"]
    for model in inside["models"].values():
        for segment in model["segments"]:
            segment["alpha_s"] /= 5
            segment["beta_s_per_byte"] /= 5
    for point in inside["table"]:
        for key in ("time_s", "time_lo_s", "time_hi_s"):
            point[key] /= 5
    Path("both.json").write_text(json.dumps(both))
    asked = "choose stencil --nodes 4 --ppn 4 --algorithm blocked,stencil-strips --profile both.json --json"
    result = rankwise(f"{asked} --grid 8x2 --stencil 1,0;-1,0")
    assert result.code == 0, result.err  # of any stencil
    answer = rankwise(f"{asked} --grid 4x4 --stencil moore:1 --bytes 100kB").answer
    times = [row["time_s"] for row in answer["candidates"]]
    assert times == sorted(times) and answer["best"] == answer["candidates"][0]
    assert {row["mapping"] for row in answer["candidates"]} == {"blocked", "stencil-strips"}
    assert answer["workload"] == "stencil" and answer["reason"]


@pytest.mark.simgrid
def test_the_model_stands_beside_the_simulation(rankwise: Rankwise, jureca: Path) -> None:
    result = rankwise(f"validate stencil {GRID} --algorithm blocked --engines model,simgrid --json").answer
    (row,) = result["rows"]
    assert (row["predicted_by"], row["measured_by"], row["verified"], row["mapping"]) == ("model", "simgrid", True, "blocked")
    assert row["error"] == pytest.approx(row["predicted_time_s"] / row["measured_time_s"] - 1)
    assert abs(row["error"]) <= 0.02
    assert result["workload"] == "stencil"


@pytest.mark.mpi
def test_the_model_stands_beside_real_ranks(rankwise: Rankwise, imported: Callable[..., Path]) -> None:
    imported("same-socket")
    result = rankwise(
        "validate stencil --grid 2 --stencil moore:1 --algorithm blocked --periodic none --seconds 0.02 -o validate.json --json"
    ).answer
    (row,) = result["rows"]
    assert (row["measured_by"], row["verified"], row["nodes"]) == ("real", True, 1)
    assert row["error_of_second_run"] is not None and result["summary"]["noise_floor"] >= 0
    assert json.loads(Path("validate.json").read_text()) == result


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("predict stencil --grid 4x4", "the nodes are missing"),
        ("predict stencil --grid 4x4 --nodes 4 --ppn 4", "no link class same-socket"),
        ("predict stencil --grid 4x4 --nodes 16 --ppn 1 --stencil 1,0,0", "component"),
        ("choose stencil --grid 4x4 --nodes 16 --ppn 1 --bytes 8,9", "one is chosen for at a time"),
        ("validate stencil --grid 2x1 --engines run", "--engines run does not name"),
        ("simulate stencil", "--grid is missing"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(refused: Refused, jureca: Path, arguments: str, says: str) -> None:
    extra = ("--stencil", "moore:1") if "same-socket" in says else ()
    assert says in refused(arguments, *extra, "--profile", jureca)
