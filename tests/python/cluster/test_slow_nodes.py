"""Slow directions on real nodes: four in namespaces, one of which sends at a tenth of the others' rate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nodes
from nodes import FOUR, Nodes

pytestmark = [pytest.mark.namespaces, pytest.mark.mpi]


def test_the_slow_sender_is_named_and_a_host_that_does_not_answer_is_left_out(tmp_path: Path) -> None:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    with Nodes("100mbit", FOUR, batches=True) as four:
        slow = four.hosts[2]
        four.slow(slow, "10mbit", receives=False)
        done = subprocess.run(
            four.command(four.hosts[0], [sys.executable, "-m", "rankwise", "doctor", "--nodes", "--sizes", "100kB", "--json",
                "--seconds", "10",
                                         "--hosts", ",".join([*four.hosts, "nowhere"]), "--plot", "map.html"]),
            cwd=tmp_path, env=four.environment(), capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert "nowhere does not answer" in done.stderr
        answer = json.loads(done.stdout)
        assert answer["silent"] == ["nowhere"] and answer["hosts"] == list(four.hosts)
        worst = max(answer["findings"], key=lambda finding: finding["ratio"])
        assert (worst["kind"], worst["hosts"]) == ("sends", [slow]) and 5 < worst["ratio"] < 15
        assert list(answer["tcp"]) == ["reno"]
        assert slow in answer["exclude"] and (tmp_path / "map.html").stat().st_size > 1000
        # What is kept tells the same again.
        again = subprocess.run(
            [sys.executable, "-m", "rankwise", "doctor", "--nodes", "--from", "nodes.samples.jsonl", "--json"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert json.loads(again.stdout)["findings"] == answer["findings"]
