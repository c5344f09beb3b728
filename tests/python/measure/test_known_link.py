"""Measured against the truth: between two nodes whose link has a rate that the kernel keeps."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nodes
from nodes import FOUR, Nodes

_WHY_NOT = nodes.why_not()
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.namespaces,
    pytest.mark.skipif(_WHY_NOT is not None, reason=str(_WHY_NOT)),
]


def _measure(cable: Nodes, folder: Path, *options: str) -> dict:
    words = [sys.executable, "-m", "rankwise", "measure", *options, "--hosts", ",".join(cable.hosts), "--links", "other-node",
             "-o", "m.json", "--json"]  # fmt: skip
    done = subprocess.run(
        cable.command(cable.hosts[0], words), cwd=folder, env=cable.environment(), capture_output=True, text=True, timeout=180
    )
    assert done.returncode in (0, 6), done.stderr
    return json.loads(done.stdout)


def _payload_bytes(folder: Path) -> float:
    records = map(json.loads, (folder / "m.samples.jsonl").read_text().splitlines())
    return sum(r["parts"] * r["size_bytes"] * len(r["time_s"]) for r in records if r["record"] == "samples")


@pytest.mark.parametrize(
    ("rate", "bytes_per_s", "seconds"),
    [("100mbit", 12.5e6, "12"), ("400mbit", 50e6, "10")],
)
def test_beta_is_that_of_the_link_and_the_bytes_crossed_it(tmp_path: Path, rate: str, bytes_per_s: float, seconds: str) -> None:
    # Sizes beside which the shaper's burst, which passes at once, is little.
    sizes = "0,8,1000,200kB,300kB,400kB"
    # What a shaper lets pass has a least time and no longest one: the minimum is the link's, however busy the machine.
    with Nodes(rate, frame_bytes=4500) as cable:
        before = cable.crossed_bytes(cable.hosts[1])
        profile = _measure(cable, tmp_path, "one-to-all", "--sizes", sizes, "--launches", "1", "--seconds", seconds,
                           "--statistic", "minimum", "--precision", "0.99")  # fmt: skip
        crossed = cable.crossed_bytes(cable.hosts[1]) - before
    link = profile["links"]["other-node"]
    assert link["beta_s_per_byte"] * bytes_per_s == pytest.approx(1, abs=0.03)
    assert crossed >= _payload_bytes(tmp_path) > 0
    assert not any("another way" in warning for warning in profile["warnings"])
    # From inside the ranks: two hosts that share no memory.
    records = map(json.loads, (tmp_path / "m.samples.jsonl").read_text().splitlines())
    start = next(record for record in records if record["record"] == "start")
    assert [placement["host"] for placement in start["placements"]] == list(cable.hosts)
    assert [placement["memory_group"] for placement in start["placements"]] == [0, 1]


def test_protocol_limits_of_a_slow_link_are_found_as_far_as_there_is_time(tmp_path: Path) -> None:
    with Nodes("10mbit", frame_bytes=1500) as cable:
        link = _measure(cable, tmp_path, "--sizes", "0,8,1000", "--launches", "1", "--seconds", "2")["links"]["other-node"]
    returns, tried = (link["parameters"][f"{name}_up_to_bytes"]["value"] for name in ("send_returns", "limits_tried"))
    # One of 128 KiB takes a ninth of a second; MPICH's sends wait for nobody while the socket holds them.
    assert 65536 <= returns <= tried <= 1 << 20
    assert link["parameters"]["head_to_head_up_to_bytes"]["value"] >= returns


def test_pairs_at_once_find_the_card_of_a_node_both_ways_and_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Four ranks on what may be two processors: who waits gives way.
    monkeypatch.setenv("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
    with Nodes("100mbit", frame_bytes=4500) as cable:
        card = _measure(cable, tmp_path, "--sizes", "0,8,1000,20kB", "--seconds", "20", "--precision", "0.99")["shared"]["card"]
    assert card["bytes_per_s"] == pytest.approx(12.5e6, rel=0.05)
    # Never more than crosses; TCP's acknowledgements wait behind data, the more so the busier the machine is.
    assert 1.25 * 12.5e6 < card["both_ways_bytes_per_s"] < 1.05 * 25e6
    assert card["messages_per_s"] > 1e3 and card["pairs"][-1][0] > 1


def test_a_busy_link_is_slower_and_its_profile_says_how_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")  # as above
    with Nodes("100mbit", frame_bytes=4500) as cable:
        profile = _measure(cable, tmp_path, "one-to-all", "--sizes", "0,1000,50kB", "--launches", "1", "--seconds", "60",
                           "--background", "1", "--precision", "0.99")  # fmt: skip
    loaded = profile["links"]["other-node"]["loaded"]
    assert loaded["pairs"] == 1
    # A window of the load, 256 KiB each way, stands in the queue before each message: tens of milliseconds.
    assert loaded["alpha_s"] > 1e-3 and loaded["alpha_ratio"] > 5
    assert loaded["alpha_ratio"] == pytest.approx(loaded["alpha_s"] / profile["links"]["other-node"]["alpha_s"])


def test_a_slow_link_between_four_nodes_is_measured_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")  # as above
    with Nodes("10mbit", FOUR, frame_bytes=4500) as cable:
        profile = _measure(cable, tmp_path, "--seconds", "10")
        hosts = set(cable.hosts)
    records = [json.loads(line) for line in (tmp_path / "m.samples.jsonl").read_text().splitlines()]
    samples = [record for record in records if record["record"] == "samples"]
    assert {host for sample in samples for host in sample["hosts"]} == hosts
    assert {(sample["kernel"] == "ring", len(sample["hosts"])) for sample in samples} == {(False, 2), (True, 4)}
    # 4 MiB there and back alone would take seven seconds: what large messages take is not what small ones get.
    sent = [sample for sample in samples if sample["operation"] == "send"]
    assert max(sample["size_bytes"] for sample in sent) < 1 << 20
    assert {0, 1, 8, 64, 1024} <= {sample["size_bytes"] for sample in sent}
    assert profile["source"]["launches"] >= 5 and profile["source"]["stopped_by"] == "time"
    # Headers are 1.5 % of what crosses; a message that the shaper lets pass at once may be 4 %.
    card = profile["shared"]["card"]
    assert card["bytes_per_s"] < 1.05 * 1.25e6 and max(size for _, size, _ in card["pairs"]) >= 4096
    # In a ring of all four a node sends what its link carries: reno leaves none idle. Where it was idle before a round it and
    # the switch let a frame pass at once.
    assert {(nodes, ranks) for nodes, ranks, *_ in card["exchange"]} == {(4, 2)}
    for _, ranks, size, rate in card["exchange"]:
        assert 0.92 * 1.2e6 < rate < 1.25e6 * (1 + 2 * 4500 / (2 * ranks * size))
