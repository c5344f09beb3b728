"""``rankwise advise`` on the screen, as JSON and as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from observed_rings import PROFILE, RANKS, STEPS, record_of
from rankwise.observe.record import write_record
from synthetic_events import ring
from verbs import Rankwise, Refused


@pytest.fixture
def app(tmp_path: Path) -> Path:
    write_record(tmp_path / "app.comm", record_of(ring(RANKS, STEPS, 100_000, 100_000), [rank % 4 for rank in range(RANKS)]))
    PROFILE.save(tmp_path / "machine.json")
    return tmp_path


def test_a_described_machine_prices_messages(rankwise: Rankwise, refused: Refused, app: Path) -> None:
    """As map does, with the same options; a slower network gains more."""
    asked = "advise app.comm --nodes 2 --ppn 4 --machine frontier --json --set"
    gains = []
    for latency in ("latency=1us", "latency=100us"):
        shown = rankwise(f"{asked} {latency}").answer
        gains.append(shown["headroom"]["now_s"])
        for finding in shown["findings"]:
            assert f"--nodes 2 --ppn 4 --machine frontier --set {latency} --format" in finding["command"]
    assert 0 < gains[0] < gains[1]
    assert "name it with --machine" in refused("advise app.comm --set latency=1us")


def test_json_and_page_say_the_same(rankwise: Rankwise, app: Path) -> None:
    shown = rankwise("advise app.comm --profile machine.json --html page.html --json")
    assert shown.code == 0, shown.err
    record = json.loads(shown.out)
    (finding,) = [one for one in record["findings"] if one["kind"] == "placement"]
    page = (app / "page.html").read_text()
    assert f"{finding['ratio'][0]:.2f} times as fast" in page and "1.6 MB" in page and "800 kB" in page
    assert page.count('class="still"') == 4 and "Critical path: " in page
    (heading,) = re.findall("<h2>(Where a step [^<]+)", page)
    assert page.count(heading) > 1  # over its chart, too
    assert sum(value or 0 for value in record["shares"].values()) == pytest.approx(1)
    assert record["pattern"]["dims"] == [8] and sorted(record["placement"]) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_other_nodes_and_wrong_input(rankwise: Rankwise, refused: Refused, app: Path) -> None:
    assert "on one node" in rankwise("advise app.comm --nodes 1 --ppn 8").out
    wrong = rankwise("advise app.comm --nodes 3 --ppn 2")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1
    assert "none.comm" in refused("advise none.comm")


def test_nodes_may_differ(rankwise: Rankwise, refused: Refused, app: Path) -> None:
    record = rankwise("advise app.comm --profile machine.json --node-sizes 1,2,5 --json").json
    assert [record["placement"].count(node) for node in range(3)] == [1, 2, 5]
    for sizes, what in (("1,2,4", "8"), ("1,0,7", "--node-sizes"), ("1,two", "--node-sizes")):
        assert what in refused(f"advise app.comm --node-sizes {sizes}")


def test_switches_are_taken_into_account(rankwise: Rankwise, refused: Refused, app: Path) -> None:
    (app / "topology.conf").write_text("SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\nSwitchName=top Switches=a,b\n")
    asked = "advise app.comm --profile machine.json --topology topology.conf --hosts"
    record = rankwise(f"{asked} n[1-4] --json").json
    node = record["placement"]
    across = [rank for rank in range(RANKS) if node[rank] % 2 != node[(rank + 1) % RANKS] % 2]
    assert len(across) == 2, node  # a ring of ranks passes from one switch to the other twice
    (finding,) = [one for one in record["findings"] if one["kind"] == "placement"]
    assert "--topology topology.conf" in finding["command"]
    assert "n9" in refused(f"{asked} n[1-3],n9")
    assert "does not divide" in refused("advise app.comm --levels switch:3")
