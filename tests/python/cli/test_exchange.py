"""predict, run and validate exchange, as a person calls them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankwise.machine.discover import discover

DATA = Path(__file__).parents[2] / "data"
CONTRACT = {
    "engine", "algorithm", "mode", "dims", "cutoff", "replication", "ranks", "message_bytes", "time_s", "time_lo_s",
    "time_hi_s", "messages_per_rank", "bytes_per_rank", "verified",
}  # fmt: skip


def test_the_paper_s_table_2_comes_out_within_20_ns(rankwise: Callable[..., Any], jureca: Path) -> None:
    result = rankwise(
        "predict", "exchange", "--algorithm", "shift", "--mode", "ssend", "--dims", "1", "--cutoff", "1:10",
        "--bytes", "1000", "--profile", jureca, "--json",
    )  # fmt: skip
    with (DATA / "werner2023_shift_1d.csv").open() as stream:
        published = {int(r["k"]): float(r["predicted_ns"]) for r in csv.DictReader(stream) if r["table"] == "2"}
    rows = result.json["rows"]
    assert [row["cutoff"] for row in rows] == list(range(1, 11))
    for row in rows:
        assert row.keys() >= CONTRACT
        assert abs(row["time_s"] * 1e9 - published[row["cutoff"]]) <= 20


def test_a_prediction_is_a_table_on_the_screen(rankwise: Callable[..., Any], jureca: Path) -> None:
    result = rankwise("predict", "exchange", "--profile", jureca, "--mode", "ssend", "--cutoff", "2")
    assert result.code == 0
    assert "23.0 us" in result.out
    assert "not measured: synchronous ping-pong" in result.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cutoff", "0"], "at least 1"),
        (["--bytes", "-5"], "not a size"),
        (["--ranks", "0"], "too small"),
        (["--ranks", "-3"], "too small"),
        (["--dims", "0"], "axis of size 0"),
        (["--dims", "4"], "1, 2 or 3"),
        (["--dims", "2x3", "--ranks", "7"], "6 cells but --ranks is 7"),
        (["--algorithm", "teleport"], "'teleport' is unknown"),
        (["--mode", "bsend"], "'bsend' is unknown"),
        (["--periodic", "1,0"], "does not fit 1 axes"),
        (["--link-model", "loggp"], "no model 'loggp'"),
        (["--ranks-per-node", "2"], "no link class same-socket"),
        (["--dims", "2000x2000"], "give at most"),
        (["--algorithm", "direct", "--mode", "isend-self"], "which only shift does"),
        (["--algorithm", "neighbor-alltoall", "--mode", "ssend"], "its only send mode is isend"),
        (["--algorithm", "team-shift", "-c", "0"], "at least 1"),
        (["--algorithm", "team-shift", "-c", "65"], "replication 65 does not fit"),
        (["--algorithm", "team-shift", "--ranks", "7", "-c", "2", "--team-boxes", "replicated"], "no multiple"),
        (["--algorithm", "shift", "--team-boxes", "replicated"], "is for team-shift"),
        (["--shell", "half"], "'half' is unknown"),
        (["--cutoff", "1000000", "--dims", "3"], "2^40 slots"),
        (["--cutoff", "1000000000000"], "cutoff 1000000000000 is too large"),
        (["--bytes", "99999999999GiB"], "is too large"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(
    rankwise: Callable[..., Any], jureca: Path, arguments: list[str], says: str
) -> None:
    result = rankwise("predict", "exchange", "--profile", jureca, *arguments)
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1
    assert says in result.err


@pytest.mark.mpi
def test_real_ranks_deliver_every_byte(rankwise: Callable[..., Any]) -> None:
    result = rankwise(
        "run", "exchange", "--mode", "all", "--cutoff", "1,3", "--bytes", "0,8,100kB", "--seconds", "0.02", "--json"
    )
    assert result.code == 0, result.err
    rows = result.json["rows"]
    assert len(rows) == 5 * 2 * 3
    for row in rows:
        assert row.keys() >= CONTRACT
        assert row["verified"] is True and row["engine"] == "real"
        if row["time_lo_s"] is None:  # an interval needs repetitions that differ
            assert row["repetitions"] < 6
        else:
            assert 0 < row["time_lo_s"] <= row["time_s"] <= row["time_hi_s"]
        assert row["messages_per_rank"] == 2 * row["cutoff"]
        assert row["bytes_per_rank"] == 2 * row["cutoff"] * row["message_bytes"]
    assert Path("exchange.samples.jsonl").stat().st_size > 0


@pytest.mark.mpi
@pytest.mark.parametrize("shape", [["--dims", "3", "--ranks", "8"], ["--dims", "3x2"], ["--ranks", "5"]])
def test_more_ranks_than_cores_are_checked_and_said(rankwise: Callable[..., Any], shape: list[str]) -> None:
    result = rankwise("run", "exchange", *shape, "--cutoff", "1", "--bytes", "100", "--seconds", "0.02", "--json")
    assert result.code == 0, result.err
    crowded = int(result.json["rows"][0]["ranks"]) > discover().allowed_core_count
    for row in result.json["rows"]:
        assert row["verified"] is True
        assert row["oversubscribed"] is crowded
        assert any("oversubscribed" in note for note in row["notes"]) is crowded


@pytest.mark.mpi
def test_all_algorithms_and_modes_deliver_every_byte(rankwise: Callable[..., Any]) -> None:
    result = rankwise(
        "run", "exchange", "--algorithm", "all", "--mode", "all", "--dims", "2", "--cutoff", "1:2", "--bytes", "8,1000",
        "--ranks", "6", "--verify", "--seconds", "0.01", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    rows = result.json["rows"]
    assert len(rows) == (4 + 1 + 5 + 2 + 4 + 4) * 2 * 2
    assert all(row["verified"] is True for row in rows)


@pytest.mark.mpi
def test_replications_and_shells_are_listed(rankwise: Callable[..., Any]) -> None:
    result = rankwise(
        "run", "exchange", "--algorithm", "team-shift", "--mode", "isend", "--ranks", "4", "-c", "1,2", "--cutoff", "2",
        "--shell", "full,all-pairs", "--seconds", "0.01", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    rows = result.json["rows"]
    assert [(row["shell"], row["cutoff"], row["replication"]) for row in rows] == [
        ("full", 2, 1), ("full", 2, 2), ("all-pairs", 0, 1), ("all-pairs", 0, 2),
    ]  # fmt: skip
    replicated = rankwise(
        "run", "exchange", "--algorithm", "team-shift", "--mode", "isend", "--ranks", "4", "-c", "1:4:", "--cutoff", "2"
    )
    assert replicated.code == 2
    replicated = rankwise(
        "run", "exchange", "--algorithm", "team-shift", "--mode", "isend", "--ranks", "4", "-c", "2,4", "--cutoff", "2",
        "--team-boxes", "replicated", "--seconds", "0.01", "--json",
    )  # fmt: skip
    assert [(row["grid"], row["ranks"], row["verified"]) for row in replicated.json["rows"]] == [
        ([2], 4, True), ([1], 4, True),
    ]  # fmt: skip


def test_a_schedule_is_printed(rankwise: Callable[..., Any]) -> None:
    result = rankwise("exchange", "show", "--algorithm", "shift", "--dims", "1x8", "--cutoff", "2")
    assert result.code == 0
    assert "send to 1: offsets (0,0)" in result.out
    assert "receive from 7: offsets (0,-2)" in result.out
    assert "each of 8 ranks sends 4 messages, 4 blocks, 4000 B" in result.out


def test_a_schedule_is_data(rankwise: Callable[..., Any]) -> None:
    result = rankwise(
        "exchange", "show", "--algorithm", "shift", "--mode", "isend-self", "--dims", "1", "--ranks", "8", "--cutoff",
        "2", "--rank", "3", "--json",
    )  # fmt: skip
    shown = result.json
    assert (shown["rank"], shown["ranks"], shown["mode"]) == (3, 8, "isend-self")
    (step,) = shown["import"]
    forwarded = [op for op in step if op["after"]]
    assert [(op["kind"], op["peer"], op["offsets"]) for op in forwarded] == [("send", 4, [[-1]]), ("send", 2, [[1]])]
    assert shown["counts"] == [{"ranks": 8, "messages": 4, "blocks": 4, "bytes": 4000}]


def test_a_team_s_way_back_is_shown(rankwise: Callable[..., Any]) -> None:
    result = rankwise("exchange", "show", "--algorithm", "team-shift", "--dims", "1", "--ranks", "8", "-c", "2", "--rank", "1")
    assert "interact with: blocks of 0–1, team at offset 0" in result.out
    assert "way back" in result.out


def test_blocks_that_are_passed_on_are_shown(rankwise: Callable[..., Any]) -> None:
    given = ["--dims", "4x4", "--ranks-per-node", "4"]
    shown = rankwise("exchange", "show", "--algorithm", "striped", *given, "--rank", "5").out
    assert "step 1:   receive from 0: offsets (-1,-1) to (-1,1) and blocks of 3, passed on" in shown
    assert rankwise("exchange", "show", "--algorithm", "two-step", *given, "--json").code == 0


def test_algorithms_that_know_nodes_are_proved_where_these_are_given(rankwise: Callable[..., Any]) -> None:
    given = ["exchange", "check", "--mode", "isend", "--dims", "3x4", "--shell", "full,eighth", "--json"]
    without = rankwise(*given)
    with_nodes = rankwise(*given, "--ranks-per-node", "5")
    assert len(with_nodes.json["rows"]) == len(without.json["rows"]) + 6
    assert all(row["findings"] == [] for row in with_nodes.json["rows"])
    for arguments, says in (((), "which ranks share a node"), (("--ranks-per-node", "0"), "too small")):
        refused = rankwise(*given, "--algorithm", "striped", *arguments)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)
        assert says in refused.err


def test_schedules_are_proved_on_demand(rankwise: Callable[..., Any]) -> None:
    result = rankwise("exchange", "check", "--dims", "3x2", "--cutoff", "1:2", "--shell", "full,eighth", "--json")
    assert result.code == 0
    rows = result.json["rows"]
    assert len(rows) == (20 + 16) * 2
    assert all(row["findings"] == [] for row in rows)
    assert rankwise("exchange", "check", "--dims", "5", "--ranks", "5").code == 2


def test_a_wrong_schedule_is_exit_1(rankwise: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def check(self) -> list[str]:
            return ["rank 2, slot 0 misses the block of rank 1"]

    monkeypatch.setattr("rankwise.workloads.exchange.ExchangeCase.schedules", lambda self: Broken())
    result = rankwise("exchange", "check", "--algorithm", "shift", "--mode", "isend", "--dims", "1", "--ranks", "4")
    assert result.code == 1
    assert "misses the block of rank 1" in result.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "--rank", "8", "--dims", "1x8"], "--rank 8 does not exist"),
        (["show", "--cutoff", "1:2"], "one is shown at a time"),
        (["check", "--dims", "100x100x100", "--cutoff", "5"], "slots to prove"),
    ],
)
def test_what_cannot_be_shown_is_exit_2(rankwise: Callable[..., Any], arguments: list[str], says: str) -> None:
    result = rankwise("exchange", *arguments)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    assert says in result.err


@pytest.mark.mpi
def test_prediction_and_measurement_stand_side_by_side(rankwise: Callable[..., Any]) -> None:
    measured = rankwise("measure", "--seconds", "4", "--launches", "1", "--json")
    assert measured.code in (0, 6), measured.err  # 6: too disturbed here
    result = rankwise("validate", "exchange", "--launches", "3", "--seconds", "0.1", "-o", "validate.json", "--json")
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
    assert rankwise("report", "--validation", "validate.json").code == 0


@pytest.mark.mpi
def test_without_pairing_a_second_run_tells_the_noise(rankwise: Callable[..., Any], jureca: Path) -> None:
    result = rankwise(
        "validate",
        "exchange",
        "--profile",
        jureca,
        "--cutoff",
        "1",
        "--mode",
        "isend",
        "--seconds",
        "0.02",
        "--unpaired",
        "--json",
    )
    assert result.code == 2 and "no link class" in result.err  # of one network, not of this node
    here = json.loads(jureca.read_text().replace('"other-node"', '"same-core"'))
    del here["checksums"]
    Path("here.json").write_text(json.dumps(here))
    for workload, told in (("exchange", False), ("alltoall", True)):
        asked = ["--unpaired", "--cutoff", "1", "--mode", "isend"] if workload == "exchange" else []
        result = rankwise("validate", workload, "--profile", "here.json", "--seconds", "0.02", "--json", *asked)
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
def test_a_missing_launcher_is_exit_4(rankwise: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWISE_MPIEXEC", "/nowhere/mpiexec")
    for command in (["run", "exchange"], ["measure"]):
        result = rankwise(*command)
        assert result.code == 4
        assert len(result.err.splitlines()) == 1
        assert "/nowhere/mpiexec" in result.err


@pytest.mark.mpi
def test_a_window_that_no_memory_holds_is_refused_before_anything_is_sent(rankwise: Callable[..., Any]) -> None:
    result = rankwise("run", "exchange", "--cutoff", "40", "--bytes", "1GiB", "--ranks", "2")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "more than 16 GiB a rank: make the cutoff or the blocks smaller" in result.err


@pytest.mark.mpi
def test_more_ranks_than_a_machine_can_carry_are_refused(rankwise: Callable[..., Any]) -> None:
    result = rankwise("run", "exchange", "--ranks", "100000")
    assert result.code == 2
    assert "100000 ranks are too many" in result.err


def test_help_keeps_what_stands_in_brackets(rankwise: Callable[..., Any]) -> None:
    assert "after [n] stands for" in " ".join(rankwise("exchange", "show", "--help").out.split())
