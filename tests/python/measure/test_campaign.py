"""The campaign with real ranks: measured, interrupted, killed, resumed; nothing measured is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from processes import ends
from rankwise.errors import InputError
from rankwise.launch.mpi import Mpi
from rankwise.machine.discover import discover
from rankwise.measure.campaign import Plan, default_sizes, measure
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.places import find_places
from verbs import Refused

pytestmark = pytest.mark.mpi

SIZES = (0, 8, 1000, 20000)


@pytest.fixture
def plan() -> Plan:
    # Far more time than that many samples take: on a busy machine, too, all cells are visited.
    return Plan(find_places(discover()), SIZES, launches=2, seconds=200.0)


def _visits(plan: Plan) -> int:
    assert plan.launches is not None
    return plan.launches * (plan.cell_count() + plan.cell_count(aside=True))


def _samples(path: Path) -> list[dict[str, Any]]:
    return [r for r in map(json.loads, path.read_text().splitlines()) if r["record"] == "samples"]


def test_default_sizes_go_from_0_B_to_4_MiB_and_off_the_powers_of_two() -> None:
    sizes = default_sizes()
    assert (sizes[0], sizes[-1]) == (0, 4 << 20)
    assert {1, 8, 1024, 1536, 6144} <= set(sizes)


def test_every_cell_is_sampled_verified_and_fitted(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    campaign = measure(mpi, plan, {"hostname": "here"}, path, resume=False)
    assert campaign.complete
    assert len(campaign.samples) == _visits(plan)
    aside = [sample for sample in campaign.samples if sample["kernel"] == "bandwidth"]
    assert len(aside) == plan.launches * plan.cell_count(aside=True) > 0
    assert all(
        sample["verified"] and len(sample["time_s"]) >= 10 and sample["visit_s"] > sum(sample["time_s"])
        for sample in campaign.samples
    )
    assert all(
        len(sample["reference_loop_s"]) == 2 * sample.get("pairs", 1) for sample in campaign.samples if sample not in aside
    )
    assert len(campaign.witnesses) == plan.launches * sum(len(plan.parts(link)) for link in plan.places)
    assert all(0 <= witness["steal_share"] <= 1 and abs(witness["clock_jump_s"]) < 0.5 for witness in campaign.witnesses)
    assert campaign.stop["launches"] == 2 and campaign.stop["span_s"] == pytest.approx(campaign.span_s, rel=0.2)
    profile = profile_from_campaign(campaign, path)
    for link in profile.links.values():
        assert link.reference_loop_s is not None and 2e-6 < link.reference_loop_s < 1e-2
        assert [point.size_bytes for point in link.send.table] == list(SIZES)
        assert 1e-8 < link.send.alpha_s < 1e-1
        assert link.variants.keys() == {"ssend", "exchange", "exchange-gap"}
    assert profile.shared.memory is not None and profile.lacks == ()


def test_a_campaign_goes_on_where_it_stopped(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    measure(mpi, plan, {"hostname": "here"}, path, resume=False)
    lines = path.read_bytes().splitlines(keepends=True)
    cut = lines[: len(lines) // 2]
    path.write_bytes(b"".join(cut) + lines[len(cut)][:15])  # as a power cut leaves it
    campaign = measure(mpi, plan, {}, path, resume=True)
    assert path.read_bytes().startswith(b"".join(cut))
    assert campaign.complete and campaign.was_resumed
    cells = [(s["launch"], s["class"], s["operation"], s["size_bytes"]) for s in campaign.samples]
    assert len(cells) == len(set(cells)) == _visits(plan)


def test_what_a_launch_left_out_for_want_of_time_stays_left_out(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    measure(mpi, replace(plan, launches=1), {"hostname": "here"}, path, resume=False)
    lines = path.read_bytes().splitlines(keepends=True)[:-1]  # the end is lost
    left_out = next(line for line in lines if b'"ssend"' in line)
    path.write_bytes(b"".join(line for line in lines if line != left_out))
    campaign = measure(mpi, plan, {}, path, resume=True)
    assert len(campaign.samples) == _visits(replace(plan, launches=1)) - 1
    assert (campaign.stop["stopped_by"], campaign.stop["visits_left_out"]) == ("time", 1)


def test_a_campaign_of_before_pairs_at_once_is_resumed_as_it_was_planned(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    measure(mpi, replace(plan, launches=1), {"hostname": "here"}, path, resume=False)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    del records[0]["plan"]["pairs_share"], records[0]["plan"]["spread_s"]
    records[0]["plan"]["visits"] = 3
    for places in records[0]["plan"]["places"].values():
        del places["fills"], places["at_once"], places["in_one_socket"]
    old = [r for r in records if r.get("kernel") != "bandwidth" and r["record"] in ("campaign", "start", "samples")][:-2]
    old = [{key: value for key, value in record.items() if key not in ("part", "visit_s")} for record in old]
    path.write_text("".join(json.dumps(record) + "\n" for record in old))
    campaign = measure(mpi, plan, {}, path, resume=True)
    assert campaign.complete and not any(sample["kernel"] == "bandwidth" for sample in campaign.samples)
    assert profile_from_campaign(campaign, path).lacks == ("memory",)


def test_launches_go_on_until_the_time_is_spent_or_all_is_known(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    # Nothing is ever known this well.
    plan = replace(plan, launches=None, precision=1e-6, seconds=3.0)
    campaign = measure(mpi, plan, {"hostname": "here"}, path, resume=False)
    assert sum(w["measuring_s"] for w in campaign.witnesses) <= plan.seconds + 1.0
    assert campaign.stop["launches"] >= 5
    assert (campaign.stop["stopped_by"], campaign.stop["precision"]) == ("time", 1e-6)
    # Pairs at once are not measured for their precision.
    assert 0 < campaign.stop["imprecise_cells"] <= plan.cell_count()
    source = profile_from_campaign(campaign, path).source
    assert source["stopped_by"] == "time" and source["launches"] == campaign.stop["launches"] and source["span_s"] > 0
    # The end is lost: it goes on to the same end without measuring again.
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    again = measure(mpi, plan, {}, path, resume=True)
    assert len(again.samples) == len(campaign.samples)
    assert {**again.stop, "span_s": 0} == {**campaign.stop, "span_s": 0}
    # And this well all is known at once, but not before ten launches.
    easy = measure(mpi, replace(plan, precision=1e6, seconds=200.0), {}, tmp_path / "y.samples.jsonl", resume=False)
    assert {**easy.stop, "span_s": 0} == {
        "launches": 10, "span_s": 0, "precision": 1e6, "stopped_by": "precision", "imprecise_cells": 0,
    }  # fmt: skip


def test_launches_are_spread_by_waiting_between_them(
    mpi: Mpi, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("rankwise.measure.campaign.time.sleep", waits.append)
    plan = replace(plan, launches=3, seconds=0.5, spread_s=600.0)
    measure(mpi, plan, {"hostname": "here"}, tmp_path / "x.samples.jsonl", resume=False)
    starts = plan.launches * sum(len(plan.parts(link)) for link in plan.places)
    assert len(waits) <= starts - 1 and 0 < sum(waits) <= 600.0 and max(waits) > 1.0


def test_what_the_time_does_not_hold_is_large_and_told(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    sizes = (8, *range(2 << 20, 4 << 20, 100_000))
    plan = replace(plan, sizes=sizes, launches=None, precision=1e6, seconds=0.05)
    campaign = measure(mpi, plan, {"hostname": "here"}, tmp_path / "x.samples.jsonl", resume=False)
    visited = {(s["class"], s["operation"], s["size_bytes"]) for s in campaign.samples if s["kernel"] != "bandwidth"}
    assert len(visited) < plan.cell_count()
    assert campaign.stop["visits_left_out"] == plan.cell_count() - len(visited)
    assert campaign.stop["stopped_by"] == "time"


def test_a_time_in_which_nothing_can_be_sampled_still_gives_what_a_model_needs(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    plan = replace(plan, sizes=(0, 8, 64, 1000), launches=1, seconds=1e-6)
    campaign = measure(mpi, plan, {"hostname": "here"}, tmp_path / "x.samples.jsonl", resume=False)
    for link in plan.places:
        sent = {s["size_bytes"] for s in campaign.samples if s["class"] == link and s["operation"] == "send"}
        assert sent >= {0, 8, 64}


def test_samples_of_another_machine_are_refused_and_named(mpi: Mpi, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    plan = replace(plan, launches=1, seconds=0.5)
    measure(mpi, plan, {"hostname": "alpha", "cores": 2}, path, resume=False)
    before = path.read_bytes()
    for other in ({"hostname": "beta", "cores": 2}, {"hostname": "alpha", "cores": 4}):
        with pytest.raises(
            InputError, match=r"x.samples.jsonl holds samples of two machines, alpha and (beta|alpha \(cores 2 and 4)"
        ):
            measure(mpi, plan, other, path, resume=False)
    assert path.read_bytes() == before
    # Nodes of one cluster are alike.
    assert measure(mpi, plan, {"hostname": "alpha17", "cores": 2}, path, resume=False).complete


def _wait_for(path: Path, ready: Callable[[str], bool]) -> str:
    end_s = time.monotonic() + 30
    while time.monotonic() < end_s:
        text = path.read_text() if path.exists() else ""
        if ready(text):
            return text
        time.sleep(0.02)
    raise AssertionError(f"{path} never got that far: {text[-300:]}")


def _start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rankwise", "measure", "-o", "m.json", "--seconds", "8", *arguments],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _pids(text: str) -> list[int]:
    start = next(json.loads(line) for line in text.splitlines() if '"record":"start"' in line)
    return [placement["pid"] for placement in start["placements"]]


def test_no_rank_outlives_the_launchers_process_on_its_node(tmp_path: Path) -> None:
    path = tmp_path / "m.samples.jsonl"
    with _start(tmp_path, "--sizes", "0,8,100,1000,10kB,100kB,1MB", "--launches", "1") as process:
        text = _wait_for(path, lambda text: text.count('"record":"samples"') >= 5)
        status = Path(f"/proc/{_pids(text)[0]}/status").read_text()
        os.kill(int(status.split("PPid:")[1].split()[0]), signal.SIGKILL)  # hydra's proxy
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the launcher ended while measuring" in err and "--resume" in err
    assert all(map(ends, _pids(text)))
    assert len(_samples(path)) >= 5


def test_a_rank_that_dies_is_told_and_the_samples_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.samples.jsonl"
    with _start(tmp_path) as process:
        text = _wait_for(path, lambda text: text.count('"record":"samples"') >= 5)
        os.kill(_pids(text)[1], signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    line = err.strip().splitlines()[-1]
    assert "a rank died while measuring" in line and "--resume" in line and str(path.name) in line
    assert len(_samples(path)) >= 5
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_measure_keeps_its_samples_leaves_no_rank_and_resumes(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "m.samples.jsonl"
    with _start(tmp_path, "--sizes", "0,8,100,1000,10kB,100kB,1MB", "--launches", "1") as process:
        text = _wait_for(path, lambda text: text.count('"record":"samples"') >= 5)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in err
    assert all(map(ends, _pids(text)))
    kept = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "rankwise", "measure", "-o", "m.json", "--resume"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 6), done.stderr
    assert path.read_bytes().startswith(kept.rsplit(b"\n", 1)[0])
    assert (tmp_path / "m.json").exists()


def test_resuming_what_never_began_is_a_usage_error(refused: Refused) -> None:
    assert "none.samples.jsonl does not exist" in refused("measure -o none.json --resume")
