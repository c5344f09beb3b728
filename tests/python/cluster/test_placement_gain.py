"""What a better placement saves, on four nodes: bytes by the kernel's counters, and time where the links are slow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nodes
import pytest
from nodes import Nodes

pytestmark = [pytest.mark.namespaces, pytest.mark.mpi]

BLOCK_BYTES = 100_000
GRID = ("--algorithm", "direct", "--mode", "isend", "--dims", "4x4", "--cutoff", "1", "--periodic", "none", "--bytes", str(BLOCK_BYTES))


def _rankwise(four: Nodes, folder: Path, *words: str) -> str:
    done = subprocess.run(
        four.command(four.hosts[0], [sys.executable, "-m", "rankwise", *words]),
        cwd=folder, env=four.environment(), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def four() -> Iterator[Nodes]:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    with Nodes("100mbit", ("n1", "n2", "n3", "n4")) as up:
        yield up


def test_the_recommended_placement_sends_less_and_is_as_much_faster_as_predicted(four: Nodes, tmp_path: Path) -> None:
    hosts = ",".join(four.hosts)
    # Pairs over the shaped link: what a node can send, however many of its ranks do.
    _rankwise(four, tmp_path, "measure", "pairs", "--hosts", ",".join(four.hosts[:2]), "--links", "other-node", "--launches", "1",
              "--seconds", "12", "--sizes", "0,30kB,100kB", "--precision", "0.9", "--statistic", "minimum", "-o", "m.json")  # fmt: skip
    mapped = ("map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--stencil", "moore:1")
    (tmp_path / "best").write_text(_rankwise(four, tmp_path, *mapped, "--format", "slurm-hostfile", "--hosts", hosts))
    scores = {row["algorithm"]: row for row in json.loads(_rankwise(four, tmp_path, *mapped, "--json"))["results"]}
    best = min(scores.values(), key=lambda row: (row["j_sum"], row["j_max"]))
    assert (scores["blocked"]["j_sum"], best["j_sum"]) == (60, 36) and (scores["blocked"]["j_max"], best["j_max"]) == (20, 9)

    profile = json.loads((tmp_path / "m.json").read_text())
    profile["links"]["same-socket"] = {**profile["links"]["other-node"], "parameters": {}}  # within a node: no slower
    (tmp_path / "m.json").write_text(json.dumps(profile))
    predicted, measured, crossed = {}, {}, {}
    for placement in ("blocked", "cyclic", "best"):
        row = json.loads(
            _rankwise(four, tmp_path, "predict", "exchange", *GRID, "--profile", "m.json", "--ranks-per-node", "4",
                      "--placement", placement, "--json")  # fmt: skip
        )["rows"][0]
        predicted[placement] = row["time_s"]
        assert any("bound by a node's network" in note for note in row["notes"])
        before = sum(map(four.crossed_bytes, four.hosts))
        row = json.loads(
            _rankwise(four, tmp_path, "run", "exchange", *GRID, "--hosts", hosts, "--placement", placement, "--seconds", "1",
                      "--samples", f"{placement}.jsonl", "--json")  # fmt: skip
        )["rows"][0]
        assert row["verified"]
        # Sent and received: each byte is counted at both ends. A warm-up and what is checked come on top of the rounds timed.
        crossed[placement] = (sum(map(four.crossed_bytes, four.hosts)) - before) / 2 / (row["repetitions"] + 2) / BLOCK_BYTES
        measured[placement] = row["time_s"]
    # Of all directed edges those between nodes crossed the wire, headers and handshakes beside them.
    assert crossed["blocked"] / crossed["best"] == pytest.approx(60 / 36, rel=0.2)
    assert predicted["blocked"] / predicted["best"] == pytest.approx(20 / 9, rel=0.02)
    assert measured["blocked"] / measured["best"] > 1.5 and measured["cyclic"] / measured["best"] > 1.5, (measured, predicted)
