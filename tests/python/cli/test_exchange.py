"""predict, run and validate exchange, as a person calls them."""

import json
from pathlib import Path

import pytest

from rankwise.machine.discover import discover
from verbs import Rankwise, Refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--ranks 0", "too small"),
        ("--dims 0", "axis of size 0"),
        ("--periodic 1,0", "does not fit 1 axes"),
        ("--link-model loggp", "no model 'loggp'"),
        ("--algorithm direct --mode isend-self", "which only shift does"),
        ("--algorithm neighbor-alltoall --mode ssend", "its only send mode is isend"),
        ("--algorithm team-shift -c 0", "at least 1"),
        ("--algorithm team-shift -c 65", "replication 65 does not fit"),
        ("--algorithm team-shift --ranks 7 -c 2 --team-boxes replicated", "no multiple"),
        ("--algorithm shift --team-boxes replicated", "is for team-shift"),
        ("--shell half", "'half' is unknown"),
        ("--cutoff 1000000 --dims 3", "2^40 slots"),
        ("--cutoff 1000000000000", "cutoff 1000000000000 is too large"),
        ("--bytes 99999999999GiB", "is too large"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(refused: Refused, jureca: Path, arguments: str, says: str) -> None:
    assert says in refused(f"predict exchange --profile {jureca} {arguments}")


@pytest.mark.mpi
def test_real_ranks_deliver_every_byte(rankwise: Rankwise) -> None:
    rows = rankwise("run exchange --mode all --cutoff 1,3 --bytes 0,8,100kB --seconds 0.02 --json").answer["rows"]
    assert len(rows) == 5 * 2 * 3
    for row in rows:
        assert row["verified"] is True and row["engine"] == "real"
        if row["time_lo_s"] is None:  # an interval needs repetitions that differ
            assert row["repetitions"] < 6
        else:
            assert 0 < row["time_lo_s"] <= row["time_s"] <= row["time_hi_s"]
        assert row["messages_per_rank"] == 2 * row["cutoff"]
        assert row["bytes_per_rank"] == 2 * row["cutoff"] * row["message_bytes"]
    assert Path("exchange.samples.jsonl").stat().st_size > 0


@pytest.mark.mpi
@pytest.mark.parametrize("shape", ["--dims 3 --ranks 8", "--dims 3x2", "--ranks 5"])
def test_more_ranks_than_cores_are_checked_and_said(rankwise: Rankwise, shape: str) -> None:
    result = rankwise(f"run exchange {shape} --cutoff 1 --bytes 100 --seconds 0.02 --json").answer
    crowded = int(result["rows"][0]["ranks"]) > discover().allowed_core_count
    for row in result["rows"]:
        assert row["verified"] is True
        assert row["oversubscribed"] is crowded
        assert any("oversubscribed" in note for note in row["notes"]) is crowded


@pytest.mark.mpi
def test_all_algorithms_and_modes_deliver_every_byte(rankwise: Rankwise) -> None:
    result = rankwise(
        "run exchange --algorithm all --mode all --dims 2 --cutoff 1:2 --bytes 8,1000 --ranks 6 --verify --seconds 0.01 --json"
    ).answer
    rows = result["rows"]
    assert len(rows) == (4 + 1 + 5 + 2 + 4 + 4) * 2 * 2
    assert all(row["verified"] is True for row in rows)


@pytest.mark.mpi
def test_replications_and_shells_are_listed(rankwise: Rankwise) -> None:
    asked = "run exchange --algorithm team-shift --mode isend --ranks 4 --cutoff 2 --seconds 0.01"
    rows = rankwise(f"{asked} -c 1,2 --shell full,all-pairs --json").answer["rows"]
    assert [(row["shell"], row["cutoff"], row["replication"]) for row in rows] == [
        ("full", 2, 1), ("full", 2, 2), ("all-pairs", 0, 1), ("all-pairs", 0, 2),
    ]  # fmt: skip
    assert rankwise(f"{asked} -c 1:4:").code == 2
    replicated = rankwise(f"{asked} -c 2,4 --team-boxes replicated --json")
    assert [(row["grid"], row["ranks"], row["verified"]) for row in replicated.json["rows"]] == [
        ([2], 4, True), ([1], 4, True),
    ]  # fmt: skip


def test_a_team_s_way_back_is_shown(rankwise: Rankwise) -> None:
    result = rankwise("exchange show --algorithm team-shift --dims 1 --ranks 8 -c 2 --rank 1")
    assert "interact with: blocks of 0–1, team at offset 0" in result.out
    assert "way back" in result.out


def test_blocks_that_are_passed_on_are_shown(rankwise: Rankwise) -> None:
    given = "--dims 4x4 --ranks-per-node 4"
    shown = rankwise(f"exchange show --algorithm striped {given} --rank 5").out
    assert "step 1:   receive from 0: offsets (-1,-1) to (-1,1) and blocks of 3, passed on" in shown
    assert rankwise(f"exchange show --algorithm two-step {given} --json").code == 0


def test_algorithms_that_know_nodes_are_proved_where_these_are_given(rankwise: Rankwise, refused: Refused) -> None:
    given = "exchange check --mode isend --dims 3x4 --shell full,eighth --json"
    without = rankwise(given)
    with_nodes = rankwise(f"{given} --ranks-per-node 5")
    assert len(with_nodes.json["rows"]) == len(without.json["rows"]) + 6
    assert all(row["findings"] == [] for row in with_nodes.json["rows"])
    for arguments, says in (((), "which ranks share a node"), (("--ranks-per-node", "0"), "too small")):
        assert says in refused(f"{given} --algorithm striped", *arguments)


def test_schedules_are_proved_on_demand(rankwise: Rankwise) -> None:
    rows = rankwise("exchange check --dims 3x2 --cutoff 1:2 --shell full,eighth --json").answer["rows"]
    assert len(rows) == (20 + 16) * 2
    assert all(row["findings"] == [] for row in rows)
    assert rankwise("exchange check --dims 5 --ranks 5").code == 2


def test_a_wrong_schedule_is_exit_1(rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def check(self) -> list[str]:
            return ["rank 2, slot 0 misses the block of rank 1"]

    monkeypatch.setattr("rankwise.workloads.exchange.ExchangeCase.schedules", lambda self: Broken())
    result = rankwise("exchange check --algorithm shift --mode isend --dims 1 --ranks 4")
    assert result.code == 1
    assert "misses the block of rank 1" in result.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("show --rank 8 --dims 1x8", "--rank 8 does not exist"),
        ("show --cutoff 1:2", "one is shown at a time"),
        ("check --dims 100x100x100 --cutoff 5", "slots to prove"),
    ],
)
def test_what_cannot_be_shown_is_exit_2(refused: Refused, arguments: str, says: str) -> None:
    assert says in refused(f"exchange {arguments}")


@pytest.mark.mpi
def test_prediction_and_measurement_stand_side_by_side(rankwise: Rankwise) -> None:
    measured = rankwise("measure --seconds 4 --launches 1 --json")
    assert measured.code in (0, 6), measured.err  # 6: too disturbed here
    result = rankwise("validate exchange --launches 3 --seconds 0.1 -o validate.json --json")
    assert result.code in (0, 6), result.err
    rows = result.json["rows"]
    assert [(row["mode"], row["cutoff"]) for row in rows] == [(m, k) for m in ("ssend", "isend") for k in (1, 2, 3, 4)]
    paired = result.json["summary"]["paired"]
    assert paired["launches"] + paired["left_out"] <= 3 and paired["drift"] > 0 and paired["fresh"] > 0
    assert [group["group"] for group in paired["groups"]] == ["shift, ssend", "shift, isend"]
    for row in rows:
        assert row["verified"] is True
        assert row["error"] == pytest.approx(row["predicted_time_s"] / row["measured_time_s"] - 1)
        assert row["drift"] == paired["drift"]
        assert row["paired"].keys() == {"group", "error", "floor", "half_width", "inside_interval", "verdict"}
        assert row["paired"]["verdict"] in ("holds", "wrong", "unclear")
    assert paired["error"] == pytest.approx(sum(abs(row["paired"]["error"]) for row in rows) / len(rows))
    samples = [json.loads(line) for line in Path("exchange.samples.jsonl").read_text().splitlines()]
    items = {record["item"] for record in samples if record["record"] == "samples"}
    assert {
        "shift:ssend:4:1000:full:1:pooled",
        "+step:isend:3:2:1000:0/1",
        "+chain:ssend:3:1:1000:0/1",
        "+warm:send:1000:0/1",
    } <= items
    assert rankwise("report --validation validate.json").code == 0


@pytest.mark.mpi
def test_without_pairing_a_second_run_tells_the_noise(rankwise: Rankwise, jureca: Path) -> None:
    result = rankwise(f"validate exchange --profile {jureca} --cutoff 1 --mode isend --seconds 0.02 --unpaired --json")
    assert result.code == 2 and "no link class" in result.err  # of one network, not of this node
    here = json.loads(jureca.read_text().replace('"other-node"', '"same-core"'))
    del here["checksums"]
    Path("here.json").write_text(json.dumps(here))
    for workload, told in (("exchange", False), ("alltoall", True)):
        asked = ["--unpaired", "--cutoff", "1", "--mode", "isend"] if workload == "exchange" else []
        result = rankwise(f"validate {workload} --profile here.json --seconds 0.02 --json", *asked)
        assert result.code == 0, result.err
        assert ("not paired: only exchanges" in result.err) is told
        summary = result.json["summary"]
        assert summary.keys() == {"mape", "noise_floor", "bias", "share_inside", "drift", "mape_at_present_speed"}
        rows = result.json["rows"]
        assert summary["noise_floor"] == pytest.approx(sum(abs(row["error_of_second_run"]) for row in rows) / len(rows))
        assert all(
            row["error_of_second_run"] == pytest.approx(row["measured_again_time_s"] / row["measured_time_s"] - 1)
            for row in rows
        )


@pytest.mark.mpi
def test_a_window_that_no_memory_holds_is_refused_before_anything_is_sent(refused: Refused) -> None:
    assert "more than 16 GiB a rank: make the cutoff or the blocks smaller" in refused(
        "run exchange --cutoff 40 --bytes 1GiB --ranks 2"
    )
