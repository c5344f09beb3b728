"""``rankwise advise`` on the screen, as JSON and as a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from observed_rings import PROFILE, RANKS, STEPS, record_of
from rankwise.observe.record import write_record
from synthetic_events import ring

Rankwise = Callable[..., Any]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    write_record(tmp_path / "app.comm", record_of(ring(RANKS, STEPS, 100_000, 100_000), [rank % 4 for rank in range(RANKS)]))
    PROFILE.save(tmp_path / "machine.json")
    return tmp_path


def test_the_conclusion_comes_first(rankwise: Rankwise, app: Path) -> None:
    shown = rankwise("advise", "app.comm", "--profile", "machine.json")
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0].startswith("✓ Place the ranks by a rank file: a step ") and "times as fast (" in lines[0]
    assert lines[1].startswith("Quality: ") and lines[2].startswith("app.comm: 8 ranks on 4 nodes. ")
    assert "1-D halo of 2 neighbours, grid 8, periodic: faces of 100 kB" in shown.out
    assert lines[3].split()[:2] == ["change", "step"] and any(line.startswith("A step of ") for line in lines)
    assert lines[-1] == "Next  rankwise try app.comm --profile machine.json -- mpiexec -n 8 './a b'"


def test_a_described_machine_prices_messages(rankwise: Rankwise, app: Path) -> None:
    """As map does, with the same options; a slower network gains more."""
    asked = ("advise", "app.comm", "--nodes", "2", "--ppn", "4", "--machine", "frontier", "--json", "--set")
    gains = []
    for latency in ("latency=1us", "latency=100us"):
        shown = rankwise(*asked, latency)
        assert shown.code == 0, shown.err
        gains.append(shown.json["headroom"]["now_s"])
        for finding in shown.json["findings"]:
            assert f"--nodes 2 --ppn 4 --machine frontier --set {latency} --format" in finding["command"]
    assert 0 < gains[0] < gains[1]
    wrong = rankwise("advise", "app.comm", "--set", "latency=1us")
    assert wrong.code == 2 and "name it with --machine" in wrong.err


def test_json_and_page_say_the_same(rankwise: Rankwise, app: Path) -> None:
    shown = rankwise("advise", "app.comm", "--profile", "machine.json", "--html", "page.html", "--json")
    assert shown.code == 0, shown.err
    record = json.loads(shown.out)
    (finding,) = [one for one in record["findings"] if one["kind"] == "placement"]
    page = (app / "page.html").read_text()
    assert f"{finding['ratio'][0]:.2f} times as fast" in page and "1.6 MB" in page and "800 kB" in page
    assert page.count('class="still"') == 4 and "Critical path: " in page
    assert sum(value or 0 for value in record["shares"].values()) == pytest.approx(1)
    assert record["pattern"]["dims"] == [8] and sorted(record["placement"]) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_other_nodes_and_wrong_input(rankwise: Rankwise, app: Path) -> None:
    assert "on one node" in rankwise("advise", "app.comm", "--nodes", "1", "--ppn", "8").out
    wrong = rankwise("advise", "app.comm", "--nodes", "3", "--ppn", "2")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1
    missing = rankwise("advise", "none.comm")
    assert missing.code == 2 and "none.comm" in missing.err


def test_nodes_may_differ(rankwise: Rankwise, app: Path) -> None:
    record = rankwise("advise", "app.comm", "--profile", "machine.json", "--node-sizes", "1,2,5", "--json").json
    assert [record["placement"].count(node) for node in range(3)] == [1, 2, 5]
    for sizes, what in (("1,2,4", "8"), ("1,0,7", "--node-sizes"), ("1,two", "--node-sizes")):
        wrong = rankwise("advise", "app.comm", "--node-sizes", sizes)
        assert wrong.code == 2 and what in wrong.err and wrong.err.count("\n") == 1, wrong.err


def test_switches_are_taken_into_account(rankwise: Rankwise, app: Path) -> None:
    (app / "topology.conf").write_text("SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\nSwitchName=top Switches=a,b\n")
    asked = ("advise", "app.comm", "--profile", "machine.json", "--topology", "topology.conf", "--hosts")
    record = rankwise(*asked, "n[1-4]", "--json").json
    node = record["placement"]
    across = [rank for rank in range(RANKS) if node[rank] % 2 != node[(rank + 1) % RANKS] % 2]
    assert len(across) == 2, node  # a ring of ranks passes from one switch to the other twice
    (finding,) = [one for one in record["findings"] if one["kind"] == "placement"]
    assert "--topology topology.conf" in finding["command"]
    unknown = rankwise(*asked, "n[1-3],n9")
    assert unknown.code == 2 and "n9" in unknown.err and unknown.err.count("\n") == 1
    by_number = rankwise("advise", "app.comm", "--levels", "switch:3")
    assert by_number.code == 2 and "does not divide" in by_number.err
