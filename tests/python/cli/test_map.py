"""``rankwise map``, as a person and as a program call it."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rankwise.launch.process import Child
from rankwise.mapping import optimum
from rankwise.report.inputs import load_mappings
from verbs import Rankwise, Refused

PAPER = "map --grid 50x48 --nodes 50 --ppn 48"


def test_messages_that_weigh_differently_are_told_in_bytes(rankwise: Rankwise) -> None:
    options = "map --grid 4x4 --nodes 4 --ppn 4 --weights 3,3,1,1 --bytes 1000"
    out = rankwise(options).out.splitlines()
    best = next(row for row in rankwise(f"{options} --json").json["results"] if row["optimal"])
    assert best["levels"][0]["bytes"] == 1000 * best["j_sum"]
    assert f"No mapping sends less than {best['j_sum']} kB" in out[1]
    assert " kB" in out[0] or "Keep the default (blocked)" in out[0]


def test_blocked_is_shown_for_comparison_but_is_no_result_unless_named(rankwise: Rankwise) -> None:
    assert "blocked" in rankwise(f"{PAPER} --algorithm kd-tree").out
    record = rankwise(f"{PAPER} --algorithm kd-tree --json").json
    assert [row["algorithm"] for row in record["results"]] == ["kd-tree"]


def test_ranks_that_are_well_placed_stay(rankwise: Rankwise) -> None:
    row = "map --grid 64 --nodes 4 --ppn 16"
    assert "Keep the default (blocked)" in rankwise(row).out
    assert "Keep the default (blocked)" in rankwise(f"{row} --algorithm refined,blocked").out
    assert "no message crosses" in rankwise("map --grid 4x4 --nodes 1 --ppn 16").out


def test_a_map_that_only_spares_the_busiest_node_says_so(rankwise: Rankwise) -> None:
    out = rankwise("map --grid 6x4 --nodes 3 --ppn 8").out
    assert out.splitlines()[0] == (
        "✓ Use mapping stencil-strips: as many messages between nodes as by default (16), but the busiest node sends 6, not 8."
    )


def test_unequal_nodes_skip_what_cannot_handle_them(rankwise: Rankwise, refused: Refused) -> None:
    arguments = "map --grid 4x4 --node-sizes 7,6,3"
    table = rankwise(arguments)
    assert table.code == 0
    assert "4x4 on 3 nodes of 3 to 7 ranks" in table.out
    assert [line.split(":")[0] for line in table.err.splitlines()] == ["skipped hyperplane", "skipped nodecart"]
    record = rankwise(f"{arguments} --json").json
    assert record["nodes"] == [7, 6, 3]
    assert [row["algorithm"] for row in record["skipped"]] == ["hyperplane", "nodecart"]
    assert all(row["reason"] for row in record["skipped"])
    assert "equal size" in refused(f"{arguments} --algorithm nodecart")


def test_periodic_axes_count_in_the_score(rankwise: Rankwise) -> None:
    def j_sum(periodic: str) -> int:
        arguments = "map --grid 6x4 --nodes 6 --ppn 4 --algorithm blocked --json"
        return int(rankwise(f"{arguments} --periodic {periodic}").json["results"][0]["j_sum"])

    assert j_sum("none") == 2 * 5 * 4
    assert j_sum("1,0") == j_sum("all") == 2 * 6 * 4
    assert j_sum("0,1") == j_sum("none")


def test_the_file_is_what_the_report_reads(rankwise: Rankwise) -> None:
    result = rankwise(f"{PAPER} --with-mapping -o map.json --json")
    assert json.loads(Path("map.json").read_text()) == result.json
    (instance,) = load_mappings(Path("map.json"))
    assert math.prod(instance.grid) == 2400
    assert instance.best.algorithm == "refined"


FITTING = "--grid 4x4 --nodes 4 --ppn 4"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--grid 4x4 --nodes 17 --ppn 1", "fewer than --nodes 17"),
        ("--grid 4x4 --nodes 0 --ppn 4", "--nodes 0 is too small"),
        ("--grid 4x4 --nodes 4 --ppn -4", "--ppn -4 is too small"),
        ("--grid 4x4 --nodes 999999999999999999 --ppn 4", "fewer than --nodes"),
        ("--grid 9999999999x9999999999 --nodes 9999999999 --ppn 9999999999", "below 2^31"),
        ("--grid 4x4", "give --nodes or --ppn, or --node-sizes"),
        ("--grid 4x4 --nodes 3", "has 16 cells, which --nodes 3 does not divide"),
        ("--grid 4x4 --ppn 5", "has 16 cells, which --ppn 5 does not divide"),
        ("--grid 4x4 --ppn 17", "--nodes 1 x --ppn 17 are 17 ranks"),
        ("--grid 4x4 --node-sizes 8,8 --nodes 2", "give either the one or the others"),
        ("--grid 4x4 --node-sizes 8,7", "--node-sizes sum to 15"),
        ("--grid 4x4 --node-sizes 16,0", "at least 1"),
        ("--grid 4x4 --node-sizes eight,eight", "not a number"),
        ("--grid 4x0 --nodes 4 --ppn 4", "axis of size 0"),
        ("--grid 1x1x1x1x1x1x1x1x1 --nodes 1 --ppn 1", "9 axes"),
        (f"{FITTING} --stencil 1,0,0", "3 components but the grid has 2 axes"),
        (f"{FITTING} --stencil 0,0", "from a cell to itself"),
        (f"{FITTING} --periodic 1", "does not fit 2 axes"),
        (f"{FITTING} --algorithm blocked,", "is unknown"),
        (f"{FITTING} --halo 3", "--halo is for --mesh: leave --halo out with --grid"),
        (f"{FITTING} --check", "--check is for --observed and --graph: leave --check out"),
        (f"{FITTING} --front --objective j_max", "leave --objective out"),
        (f"{FITTING} --front --algorithm kd-tree", "name refined with --algorithm"),
        (f"{FITTING} --front --algorithm auto", "name refined with --algorithm"),
        ("--mesh 40x40 --ranks 16 --ppn 4 --slots 4x5", "--slots is for --grid: leave --slots out"),
        ("--nodes 4 --ppn 4", "either --grid"),
        (f"{FITTING} --mesh 40x40", "either --grid"),
        (f"{FITTING} --ranks 16", "--ranks is for --mesh"),
        ("--mesh 40x40 --ppn 4", "needs the number of ranks"),
        ("--mesh 40x40 --ranks 16", "the nodes are missing"),
        ("--mesh 40x40 --ranks 17 --ppn 4", "--ranks 17 is no multiple of --ppn 4"),
        ("--mesh 40x40 --ranks 16 --nodes 3", "--ranks 16 is no multiple of --nodes 3"),
        ("--mesh 40x40 --ranks 16 --nodes 4 --ppn 5", "--nodes 4 x --ppn 5 are 20 ranks"),
        ("--mesh 40x40 --ranks 0 --nodes 1", "--ranks 0 is too small"),
        ("--mesh 3x3 --ranks 16 --ppn 4", "9 cells for 16 ranks"),
        ("--mesh 4x4 --ranks 13 --ppn 13", "no grid of 13 ranks"),
        ("--mesh 40x40 --ranks 16 --ppn 4 --weights 1,1,2,2", "leave --weights out"),
        ("--mesh 40x40 --ranks 16 --ppn 4 --halo 0", "--halo 0 is too small"),
        ("--mesh 10x10 --ranks 4 --ppn 2 --halo 100", "--halo 100 is deeper than the blocks"),
        ("--mesh 10x10 --ranks 4 --ppn 2 --halo 6", "give at most 5, a larger --mesh or fewer --ranks"),
        ("--mesh 90x90x90x90x90x90x90x90 --ranks 720720 --ppn 720720", "too many to try"),
        (f"{FITTING} --levels core:2", "write it as socket:2"),
        (f"{FITTING} --levels numa:2,socket:2", "in another order"),
        (f"{FITTING} --bytes many", "write it as 1000"),
        ("--grid 65536x65536 --nodes 65536 --ppn 65536", "--int64"),
        (f"{FITTING} --effort soon", "write it as 10ms"),
        (f"{FITTING} --effort 999999min", "0 to 86400 s"),
        (f"{FITTING} --effort 1s --steps 5", "give one of them"),
        (f"{FITTING} --steps -5", "out of range"),
        (f"{FITTING} --threads 0", "threads are out of range"),
        (f"{FITTING} --objective j", "choose one of j_sum, j_max"),
        (f"{FITTING} --weights 1,2", "4 offsets but 2 weights"),
        (f"{FITTING} --stencil 1,0*0", "weights are whole numbers from 1"),
        (f"{FITTING} --seed -1", "out of range"),
        (f"{FITTING} --format csv --json", "give one of them"),
        (f"{FITTING} --hosts a,a", "names a twice"),
        (f"{FITTING} --hosts n[4-1]", "write it as node[001-016"),
        (f"{FITTING} --hosts n[1-", "write it as node[001-016"),
        (f"{FITTING} --compare missing", "does not exist"),
        ("--grid 8x8 --nodes 8 --ppn 8 --stencil moore:1 --prove", "leave --prove out"),
    ],
)
def test_what_does_not_fit_is_one_line_and_exit_code_2(rankwise: Rankwise, arguments: str, says: str) -> None:
    result = rankwise(f"map {arguments}")
    assert result.code == 2 and (result.out == "" or set(result.json) == {"error"})
    assert result.err.startswith("rankwise: ") and result.err.count("\n") == 1
    assert says in result.err


def test_the_effort_the_objective_and_the_weights_reach_the_search(rankwise: Rankwise) -> None:
    grid = "map --grid 11x5x4 --nodes 10 --ppn 22 --algorithm refined --json"
    brief = rankwise(f"{grid} --effort 0").json["results"][0]
    longer = rankwise(f"{grid} --steps 36000000").json["results"][0]
    assert longer["j_sum"] < brief["j_sum"]
    again = rankwise(f"{grid} --steps 36000000 --threads 2").json["results"][0]
    assert (again["j_sum"], again["j_max"]) == (longer["j_sum"], longer["j_max"])
    timed = rankwise(f"{grid} --effort 50ms").json["results"][0]
    assert timed["j_sum"] <= brief["j_sum"] and timed["steps"] > 0
    worst_first = rankwise(f"{grid} --steps 36000000 --objective j_max").json
    assert worst_first["objective"] == "j_max"
    assert worst_first["results"][0]["j_max"] <= longer["j_max"]
    heavy = rankwise(f"{grid} --stencil component --weights 4,4,1,1").json
    named = rankwise(f"{grid} --stencil 1,0,0*4;-1,0,0*4;0,1,0;0,-1,0").json
    assert heavy["weights"] == named["weights"] == [4, 4, 1, 1]
    assert heavy["results"][0]["j_sum"] == named["results"][0]["j_sum"]


def test_auto_says_what_it_picked_and_random_follows_its_seed(rankwise: Rankwise) -> None:
    grid = "map --grid 12x12 --nodes 12 --ppn 12"
    (row,) = rankwise(f"{grid} --algorithm auto --json").json["results"]
    assert row["picked"] in ("hyperplane", "kd-tree", "stencil-strips", "nodecart", "refined")
    assert f"auto ({row['picked']}" in rankwise(f"{grid} --algorithm auto").out

    def drawn(seed: str) -> list[int]:
        arguments = f"--algorithm random --seed {seed} --with-mapping --json"
        return list(rankwise(f"{grid} {arguments}").json["results"][0]["node_of_cell"])

    assert drawn("1") == drawn("1") != drawn("2")


def test_a_tiny_grid_has_its_optimum_proved(rankwise: Rankwise) -> None:
    grid = "map --grid 4x3 --nodes 3 --ppn 4 --stencil moore:1"
    assert "is optimal (proved by trying)" in rankwise(f"{grid} --prove -o map.json").out
    record = json.loads(Path("map.json").read_text())
    assert record["bound"] < record["optimum"] == min(row["j_sum"] for row in record["results"])
    assert "within" in rankwise(grid).out


def test_a_proof_that_does_not_end_is_told_and_leaves_the_best_so_far(
    rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = "map --grid 7x5 --nodes 5 --ppn 7 --stencil moore:1 --algorithm refined --prove"
    monkeypatch.setattr(optimum, "MOST_SECONDS", 0.1)
    result = rankwise(grid)
    assert result.code == 0 and "note: the optimum is not proved: 0.1 s were too short" in result.err
    assert result.out.startswith("✓ Use mapping refined") and "is within" in result.out

    def interrupted(*_: Any) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Child, "lines", interrupted)
    result = rankwise(f"{grid} -o map.json")
    assert result.code == 130 and result.out.startswith("✓ Use mapping refined")
    assert result.err.splitlines() == [
        "note: the optimum is not proved: interrupted",
        "rankwise: interrupted: no optimum is proved, the best mapping so far is told",
    ]
    assert json.loads(Path("map.json").read_text())["optimum"] is None


@pytest.mark.parametrize("kind", ["slurm-hostfile", "openmpi-rankfile", "hydra-hostfile", "cray-rank-order", "json", "csv"])
def test_a_written_mapping_can_be_read_back_and_scores_the_same(rankwise: Rankwise, kind: str) -> None:
    grid = "map --grid 6x4 --nodes 3 --ppn 8"
    written = rankwise(f"{grid} --format {kind} --hosts n[08-10] --algorithm kd-tree")
    assert written.code == 0 and "J_sum" in written.err
    Path("mapping").write_text(written.out)
    record = rankwise(f"{grid} --algorithm kd-tree --compare mapping --json").json
    own, given = record["results"]
    assert given["algorithm"] == "mapping"
    assert (given["j_sum"], given["j_max"]) == (own["j_sum"], own["j_max"])


def test_hosts_of_a_grid_are_ordered_by_levels_above_the_node(rankwise: Rankwise, refused: Refused) -> None:
    """A ring of eight nodes, whichever way it is numbered: the switches of two hold neighbours."""
    asked = "map --grid 8x2 --nodes 8 --ppn 2 --periodic 1,0 --algorithm kd-tree"
    record = rankwise(f"{asked} --hosts n[0-7] --levels switch:2,group:2 --json").json
    assert record["hosts"] == [f"n{i}" for i in range(8)]
    told = [(level["level"], level["units"], level["cost"]) for level in record["above"]]
    assert told == [("switch", 4, 5), ("group", 2, 10)]
    assert [level["bytes"]["kd-tree"] for level in record["above"]] == [8 * 4 * 4, 8 * 2 * 4]
    out = rankwise(f"{asked} --levels switch:4").out
    assert "switches" in out and "What is sent between nodes of one switch costs 1, between switches 5." in out
    assert "of one size" in refused("map --grid 4x2 --node-sizes 3,5 --levels switch:2")
    assert "does not divide" in rankwise(f"{asked} --levels switch:3").err


def test_switches_decide_before_the_busiest_node_and_are_shown(rankwise: Rankwise) -> None:
    Path("topology.conf").write_text("SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=n3\nSwitchName=top Switches=a,b\n")
    asked = "map --grid 16x8 --nodes 4 --ppn 32 --hosts n[0-3] --topology topology.conf"
    record = rankwise(f"{asked} --json").json
    between = record["above"][0]["bytes"]
    assert (between["blocked"], between[record["recommended"]], between["nodecart"]) == (8 * 16, 8 * 16, 8 * 24)
    out = rankwise(asked).out
    assert "between switches" in " ".join(out.split()) and not out.startswith("✓ Use mapping nodecart")
    hosts = "n[0,3,1-2]"
    out = rankwise(f"{asked} --hosts {hosts} --algorithm blocked,refined").out
    assert out.startswith(
        "✓ Use mapping refined: it costs least by the switches (-36.4 %); 48 between nodes, not 48, 16 between "
    )
    written = rankwise(f"{asked} --hosts {hosts} --algorithm refined --format openmpi-seq").out
    Path("seq").write_text(written)
    record = rankwise(f"{asked} --hosts {hosts} --algorithm refined --compare seq --json").json
    assert record["above"][0]["bytes"] == {"refined": 8 * 16, "seq": 8 * 16}


def test_levels_divide_each_node_and_count_what_crosses_where(rankwise: Rankwise) -> None:
    grid = "map --grid 8x8 --nodes 2 --ppn 32 --levels socket:2,numa:2 --bytes 1kB"
    record = rankwise(f"{grid} --algorithm blocked,refined --with-mapping --json").json
    assert record["levels"] == [{"level": "socket", "ways": 2}, {"level": "numa", "ways": 2}]
    blocked, refined = record["results"]
    assert [(level["level"], level["edges"]) for level in blocked["levels"]] == [
        ("node", 16), ("socket", 32), ("numa", 64), ("core", 112)
    ]  # fmt: skip
    # Halves of 4x8 are 4x4, quarters 2x4 or 4x2: no cut of them is shorter.
    assert [level["edges"] for level in refined["levels"]] == [16, 16, 32, 160]
    for row in record["results"]:
        assert sum(level["edges"] for level in row["levels"]) == 2 * 2 * 7 * 8
        assert all(level["bytes"] == 1000 * level["edges"] for level in row["levels"])
        for cell, node in enumerate(row["node_of_cell"]):
            socket, numa = row["parts"]["socket"][cell], row["parts"]["numa"][cell]
            assert (socket // 2, numa // 2) == (node, socket)
    out = rankwise(f"{grid} --algorithm refined").out
    assert "Its messages: 16 between nodes (16 kB), 16 between sockets (16 kB), 32 between NUMA domains" in out
    rankfile = rankwise(f"{grid} --algorithm refined --format openmpi-rankfile").out.splitlines()[1:]
    assert len({line.split("=", 1)[1] for line in rankfile}) == 64
    slot_of_rank = {int(line.split()[1].split("=")[0]): line.split("slot=")[1] for line in rankfile}
    for rank, slot in slot_of_rank.items():
        assert int(slot.split(":")[0]) == refined["parts"]["socket"][rank] % 2
        assert int(slot.split(":")[1]) // 8 == refined["parts"]["numa"][rank] % 2


def test_a_profile_says_what_messages_cost_and_decides(rankwise: Rankwise, refused: Refused, two_level_profile: Path) -> None:
    grid = ("map", "--grid", "12x12", "--nodes", "4", "--ppn", "36", "--bytes", "1MB", "--profile", str(two_level_profile))
    record = rankwise(*grid, "--json").json
    assert record["levels"] == [{"level": "socket", "ways": 2}]
    times = {row["algorithm"]: row["time_s"] for row in record["results"]}
    assert times[record["recommended"]] == min(times.values()) < times["blocked"]
    for row in record["results"]:
        # The card of the busiest node is as fast as one message there.
        assert (row["busiest"]["resource"], row["busiest"]["bytes"]) == ("card-out", row["j_max"] * 10**6)
        assert row["busiest"]["held_s"] == pytest.approx(row["j_max"] * 1e-3, rel=1e-3)
        assert row["time_lo_s"] < row["busiest"]["held_s"] <= row["time_s"] < row["time_hi_s"]
    shown = rankwise(*grid)
    assert "12.0 ms a step, not 24.0 ms (-50.0 %); 48 between nodes, not 72" in shown.out
    assert "the NIC of the busiest node: 12 MB at 1.00 GB/s, 100 % of the time." in shown.out and " step " in shown.out
    assert record["notes"] and all(f"note: {note}\n" in shown.err for note in record["notes"])
    assert "no link class other-node" in refused(*grid[:-1], str(two_level_profile.with_name("one-node.json")))


def test_nothing_to_gain_is_an_answer(rankwise: Rankwise, two_level_profile: Path) -> None:
    line = f"map --grid 16 --nodes 4 --ppn 4 --profile {two_level_profile}"
    assert "Keep the default (blocked): nothing to gain" in rankwise(line).out
    small = f"map --grid 6x4 --nodes 6 --ppn 4 --bytes 0 --profile {two_level_profile}"
    tied = rankwise(f"{small} --algorithm blocked,refined").out
    assert "Little to gain, within the prediction's error: refined takes 1.01 us a step, not 1.01 us (-0.2 %); 28" in tied


def test_a_described_machine_decides_too(rankwise: Rankwise, refused: Refused) -> None:
    grid = "map --grid 12x12 --nodes 4 --ppn 36 --bytes 1MB"
    record = rankwise(f"{grid} --machine frontier --set latency=2us --set injection_bandwidth=50GB/s --json").json
    for row in record["results"]:
        assert row["busiest"]["held_s"] == pytest.approx(row["j_max"] * 1e6 / 50e9)
    assert not any("half the latency" in note for note in record["notes"])
    juwels = rankwise(f"{grid} --machine juwels --json").json  # nothing is known of a node's inside
    assert any("half the latency" in note for note in juwels["notes"])
    assert record["levels"] == []
    for wrong, word in ((("--set", "latency=2us"), "--machine"), (("--machine", "nowhere"), "nowhere")):
        assert word in refused(grid, *wrong)


def test_a_mesh_has_its_grid_chosen_together_with_the_mapping(rankwise: Rankwise) -> None:
    mesh = "map --mesh 1000x100 --ranks 24 --ppn 6 --algorithm refined"
    record = rankwise(f"{mesh} --json").json
    choice = record["choice"]
    best = choice["candidates"][0]
    assert record["grid"] == best["grid"] and record["weights"] == best["weights"]
    assert record["results"][0]["j_sum"] == best["j_sum"]
    # Four nodes side by side along the long axis: three borders of 100 cells, crossed both ways.
    assert best["j_sum"] == 2 * 3 * 100
    assert choice["usual"]["grid"] == [6, 4] and choice["usual"]["j_sum"] > best["j_sum"]
    assert all(entry["j_sum"] >= entry["bound"] for entry in choice["candidates"])
    assert len(choice["candidates"]) + choice["ruled_out"] == 8  # 24 = 1x24, 2x12, 3x8, 4x6 and turned
    out = rankwise(mesh).out
    assert any(f"Use grid {grid}: " in out for grid in ("24x1", "8x3", "12x2"))
    deep = rankwise(f"{mesh} --halo 3 --json").json["choice"]["candidates"][0]
    assert deep["j_sum"] == 3 * best["j_sum"]


def test_a_grid_whose_blocks_are_thinner_than_the_halo_is_no_choice(rankwise: Rankwise) -> None:
    mesh = "map --mesh 100x100 --ranks 4 --ppn 2 --algorithm refined"
    choice = rankwise(f"{mesh} --halo 25 --json").json["choice"]
    assert choice["too_thin"] == 0 and len(choice["candidates"]) + choice["ruled_out"] == 3
    choice = rankwise(f"{mesh} --halo 26 --json").json["choice"]
    assert [one["grid"] for one in choice["candidates"]] == [[2, 2]] and choice["too_thin"] == 2
    assert "Left out: 2 grids whose blocks are thinner than the halo." in rankwise(f"{mesh} --halo 26").out
    along = rankwise(f"{mesh} --halo 60 --stencil 1,0;-1,0 --json").json["choice"]  # axis 1 sends nothing
    assert along["candidates"][0]["grid"] == [1, 4] == along["usual"]["grid"] and along["too_thin"] == 2
    uneven = "map --mesh 103x7 --ranks 4 --ppn 2 --halo 3 --algorithm refined --json"
    assert rankwise(uneven).json["choice"]["too_thin"] == 1  # 7 cells on 4 ranks


def test_messages_without_bytes_have_no_rate(rankwise: Rankwise) -> None:
    grid = "map --grid 12x12 --nodes 4 --ppn 36 --machine frontier --bytes"
    (line,) = (line for line in rankwise(f"{grid} 0").out.splitlines() if line.startswith("Bottleneck"))
    assert line == "Bottleneck: message latency; the messages carry no bytes."
    assert "/s, " in rankwise(f"{grid} 8").out


def test_the_front_lies_between_the_least_j_sum_and_the_least_j_max(rankwise: Rankwise) -> None:
    grid = "map --grid 13x13x5 --nodes 13 --ppn 65 --steps 9000000 --front"
    record = rankwise(f"{grid} --json").json
    points = [(row["j_sum"], row["j_max"]) for row in record["front"]]
    assert points == sorted(points) and [j_max for _, j_max in points] == sorted((j_max for _, j_max in points), reverse=True)
    refined = next(row for row in record["results"] if row["algorithm"] == "refined")
    assert (refined["j_sum"], refined["j_max"]) == points[0]
    assert f"the least J_max: {points[0][0]} and {points[0][1]}" in rankwise(grid).out


def test_what_stays_free_is_chosen_where_there_are_more_slots_than_ranks(rankwise: Rankwise) -> None:
    result = rankwise("map --grid 12x8 --slots 4x36 --algorithm auto --json")
    assert result.json["nodes"] == [32, 32, 32]
    assert result.json["left_out"][-1] == {"node": 3, "ranks": 0, "free": 36}
    assert "left out: nodes 3; 12 slots stay free on the other nodes" in result.err
    hosts = rankwise("map --grid 4x2 --slots 2,6,6 --hosts a,b,c --format slurm-hostfile").out
    assert set(hosts.split()) <= {"b", "c"}
    assert rankwise("map --grid 4x2 --slots 2,2").code == 2
    assert rankwise("map --grid 4x2 --slots 4,4 --ppn 4").code == 2
