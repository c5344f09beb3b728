"""Collectives whose stages within nodes were measured, and what combining and shared processors add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankwise import _core
from rankwise.engines.machines import machine_of_profile
from rankwise.machine.collective_costs import CollectiveCosts, NodeTime
from rankwise.machine.profile import open_profile
from verbs import Rankwise

FROZEN = Path(__file__).parents[1] / "frozen" / "inputs"
IN_NODE = (
    NodeTime("bcast", 2, 8, 1e-6, (0.9e-6, 1.2e-6)), NodeTime("bcast", 2, 80000, 40e-6, None),
    NodeTime("bcast", 8, 8, 4e-6, None), NodeTime("bcast", 8, 80000, 160e-6, None),
    NodeTime("reduce", 2, 8, 3e-6, (2e-6, 5e-6)), NodeTime("reduce", 2, 80000, 70e-6, None),
)  # fmt: skip
COSTS = CollectiveCosts("MPICH 5.0.2", "2026-11-27T12:00:00+00:00", ((8, 1e-8), (1 << 20, 1e-4)), 4, 25e-6, IN_NODE)


@pytest.fixture
def machine(rankwise: Rankwise) -> Path:
    record = json.loads((FROZEN / "nodes.json").read_text(encoding="utf-8"))
    record["collectives"] = COSTS.to_dict()
    record.pop("checksums", None)
    Path("with.json").write_text(json.dumps(record))
    record.pop("collectives")
    Path("without.json").write_text(json.dumps(record))
    return Path("with.json")


def first_row(rankwise: Rankwise, asked: str) -> dict[str, Any]:
    return dict(rankwise(f"predict collective {asked} --json").answer["rows"][0])


def test_between_sizes_and_ranks_it_is_straight_in_the_logarithms() -> None:
    assert COSTS.in_node_s("bcast", 2, 8) == pytest.approx((1e-6, 0.9e-6, 1.2e-6))
    assert COSTS.in_node_s("bcast", 2, 0) == pytest.approx((1e-6, 0.9e-6, 1.2e-6))
    middle = round((9 * 80001) ** 0.5 - 1)
    found = COSTS.in_node_s("bcast", 2, middle)
    assert found is not None and found[0] == pytest.approx((1e-6 * 40e-6) ** 0.5, rel=1e-3)
    found = COSTS.in_node_s("bcast", 4, 8)
    assert found is not None and 1e-6 < found[0] < 4e-6
    beyond = COSTS.in_node_s("bcast", 2, 160000)
    assert beyond is not None and beyond[0] == pytest.approx(80e-6)
    assert COSTS.in_node_s("bcast", 9, 8) is None and COSTS.in_node_s("scan", 2, 8) is None


def test_the_librarys_own_figures_within_a_node_take_the_place_of_messages(rankwise: Rankwise, machine: Path) -> None:
    one = "bcast --bytes 8 --ranks 2 --ranks-per-node 2 --profile with.json --library"
    row = first_row(rankwise, f"{one} mpich-5.0")
    assert (row["time_s"], row["time_lo_s"], row["time_hi_s"]) == pytest.approx((1e-6, 0.9e-6, 1.2e-6))
    assert "within nodes as measured: the library's own collectives through shared memory" in row["notes"]
    # Messages of other algorithms are no match for that: nothing is called the best.
    large = rankwise(f"predict collective {one} mpich-5.0 --bytes 80kB")
    assert large.out.startswith("✓ mpich-5.0 takes 40.0 us for bcast of 80 kB within the node, as measured.")
    (only,) = rankwise(f"predict collective {one} mpich-5.0 --bytes 80kB --json").json["rows"]
    assert only["selected_by"] == "library" and "times_best" not in only
    assert first_row(rankwise, f"{one} openmpi-4.1")["time_s"] < 0.9e-6  # measured of another library
    # Over 4 nodes of 2: reduce in the nodes, the leaders' allreduce, bcast in the nodes.
    both = "allreduce --bytes 8 --ranks 8 --ranks-per-node 2 --library mpich-5.0 --profile"
    nodes = first_row(rankwise, f"{both} with.json")
    assert (nodes["algorithm"], nodes["between"]) == ("node-aware", "recursive-doubling")
    leaders = first_row(
        rankwise, "allreduce --bytes 8 --ranks 4 --ranks-per-node 1 --algorithm recursive-doubling --profile with.json"
    )
    assert nodes["time_s"] == pytest.approx(leaders["time_s"] + 3e-6 + 1e-6)
    assert nodes["time_lo_s"] == pytest.approx(leaders["time_lo_s"] + 2e-6 + 0.9e-6)
    plain = first_row(rankwise, f"{both} without.json")
    assert plain["time_s"] != nodes["time_s"] and not any("as measured" in note for note in plain["notes"])


def test_reductions_add_and_ranks_that_share_processors_come_later(rankwise: Rankwise, machine: Path) -> None:
    def time_s(profile: str, kind: str, algorithm: str, each: int, size: int) -> float:
        judged = _core.Collective(kind, algorithm, 8, size).judged(_core.Placement.blocked(8, each))
        return float(judged.cost(1, machine_of_profile(open_profile(Path(profile)), None, False)).time_s)

    for kind, adds in (("reduce", 3), ("bcast", 0)):  # three rounds of a binomial tree
        more_s = time_s("with.json", kind, "binomial", 4, 1 << 20) - time_s("without.json", kind, "binomial", 4, 1 << 20)
        assert more_s == pytest.approx(adds * 1e-4, abs=1e-12), kind
    # Of 4 processors a node 8 ranks share each; what is taken up later is each of the three rounds' message.
    crowded_s = time_s("with.json", "bcast", "binomial", 8, 8) - time_s("without.json", "bcast", "binomial", 8, 8)
    assert crowded_s == pytest.approx(3 * 25e-6)
