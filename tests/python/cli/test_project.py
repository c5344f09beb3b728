"""``rankwise project`` and ``reproduce``: what people read, the JSON, and what bad input is told."""

import re
from pathlib import Path

import pytest

from rankwise.models import fft3d
from verbs import Rankwise, Refused

FRONTIER = "project fft3d --machine frontier --n 32768 --nodes 4096"
STENCIL = "project stencil --machine frontier --latency 2us"


def test_fft3d_json(rankwise: Rankwise) -> None:
    record = rankwise(f"{FRONTIER} --json").json
    assert (record["workload"], record["machine"], record["reading"]) == ("fft3d", "frontier", "literal")
    assert record["memory_constant"] == pytest.approx((19 * 23) ** 0.5)
    memory = record["results"]["memory_s"]
    assert memory["high"] / memory["low"] == pytest.approx(23 / 19)
    record = rankwise(f"{FRONTIER} --reading literal --json").json
    assert record["memory_constant"] == 6.3
    results = record["results"]
    # Two exchanges of 32768^3 points of 16 bytes over 4096 nodes of 100 GB/s, 57 % of which go between groups.
    assert results["network_s"]["value"] == pytest.approx(2 * 32768**3 * 16 / (4096 * 100e9) / 0.57)
    assert results["memory_s"]["value"] == pytest.approx(3 * 32768**3 * 16 * 6.3 / (4096 * 12.8e12))
    assert results["total_s"]["value"] == pytest.approx(results["network_s"]["value"] + results["memory_s"]["value"])
    assert record["bounded_by"] == "network" and "%" in record["reason"]
    assert record["notes"] == []
    assert [item["parameter"] for item in record["sensitivities"]][:3] == ["n", "nodes", "link_bandwidth"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--n 2", ["9,856 nodes are more than the 4 pencils of 2³ points give work to"]),
        ("--n 4 --nodes 13 --real", ["13 nodes are more than the 12 pencils of 4³ points give work to"]),
        ("--n 4 --nodes 12 --real", []),
        ("--n 1024 --nodes 4096 --decomposition slab", ["4,096 nodes are more than the 1,024 planes of 1,024³ points"]),
        ("--n 1024 --nodes 1024 --decomposition slab", []),
    ],
)
def test_nodes_without_work_are_noted(rankwise: Rankwise, options: str, words: list[str]) -> None:
    notes = rankwise("project fft3d --machine frontier", *options.split(), "--json").json["notes"]
    assert [note for note in notes if "give work to" in note] == [note for note in notes if any(w in note for w in words)]
    assert sum("give work to" in note for note in notes) == len(words)


def test_a_single_node_reads_well(rankwise: Rankwise) -> None:
    result = rankwise("project fft3d --machine frontier --n 1024 --nodes 1")
    assert "on 1 node takes" in result.out and "memory takes 100 % of the total, network none" in " ".join(result.out.split())


def test_ranges_give_intervals_that_hold_the_point(rankwise: Rankwise) -> None:
    wide = rankwise(f"{FRONTIER} --set memory_bandwidth=0.5x:1x --set taper=0.5:1 --json").json["results"]
    point = rankwise(f"{FRONTIER} --json").json["results"]
    for name, value in wide.items():
        assert value["low"] <= value["value"] <= value["high"]
        assert value["low"] <= point[name]["value"] <= value["high"]
    assert wide["total_s"]["low"] < wide["total_s"]["high"]
    assert wide["flops_s"]["low"] == wide["flops_s"]["high"]


def test_the_readings_and_variants_of_the_model(rankwise: Rankwise) -> None:
    def total(*arguments: str) -> float:
        return float(rankwise(FRONTIER, *arguments, "--json").json["results"]["total_s"]["value"])

    assert total() > total("--reading", "literal")
    literal = total()
    assert total("--reading", "paper-effective") > literal
    assert total("--memory-constant", "24") > literal
    wide = rankwise(f"{FRONTIER} --memory-constant 6.3:24 --json").json["results"]["memory_s"]
    assert wide["high"] / wide["low"] == pytest.approx(24 / 6.3)
    assert total("--bound", "ideal") < literal
    assert total("--topology", "torus:3") > literal
    assert total("--topology", "torus:3", "--torus-constant", "exact") < total("--topology", "torus:3")
    assert total("--overlap") < literal < total("--artifacts")
    assert total("--precision", "single") == pytest.approx(literal / 2, rel=0.01)
    assert total("--real") == pytest.approx(literal / 2, rel=0.01)
    assert total("--decomposition", "slab") < literal


def test_vary_walks_from_end_to_end(rankwise: Rankwise) -> None:
    rows = rankwise(f"{FRONTIER} --vary link_bandwidth=0.5x:4x --vary nodes=1024:4096 --json").json["varied"]
    assert [row["parameter"] for row in rows] == ["link_bandwidth"] * 7 + ["nodes"] * 7
    constants = rankwise(f"{FRONTIER} --vary memory_constant=6.3:78 --json").json["varied"]
    assert constants[6]["results"]["memory_s"]["value"] / constants[0]["results"]["memory_s"]["value"] == pytest.approx(
        78 / 6.3
    )
    assert rows[0]["value"] == pytest.approx(12.5e9) and rows[6]["value"] == pytest.approx(100e9)
    times = [row["results"]["total_s"]["value"] for row in rows]
    assert times[:7] == sorted(times[:7], reverse=True) and times[7:] == sorted(times[7:], reverse=True)


def test_ranks_of_a_node_share_what_it_injects(rankwise: Rankwise) -> None:
    def time(ranks_per_node: int, links: int) -> float:
        common = ["project", "exchange", "--machine", "frontier", "--latency", "1us", "--cutoff", "1", "--bytes", "1MB"]
        asked = [*common, "--ranks-per-node", str(ranks_per_node), "--set", f"links={links}"]
        return float(rankwise(*asked, "--json").json["rows"][0]["time_s"])

    assert time(1, 1) == time(1, 4) < time(8, 4) < time(8, 1)  # one message takes one link


def test_all_algorithms_and_modes_of_an_exchange(rankwise: Rankwise) -> None:
    from rankwise.workloads.exchange import names

    asked = "project exchange --machine frontier --latency 1us --algorithm all --mode all --dims 4x2"
    alone = rankwise(f"{asked} --cutoff 1 --json").json["rows"]
    shared = rankwise(f"{asked} --cutoff 1 --ranks-per-node 4 --json").json["rows"]
    assert {row["algorithm"] for row in shared} == set(names().algorithms)
    assert {row["algorithm"] for row in alone} == set(names().algorithms) - set(names().node_aware)
    assert {row["mode"] for row in shared} == set(names().modes)
    for row in shared:
        assert row["time_lo_s"] < row["time_s"] < row["time_hi_s"] and row["grid"] == [4, 2]


def test_stencil_scaling(rankwise: Rankwise) -> None:
    strong = rankwise(f"{STENCIL} --cells 1024x1024x1024 --nodes 8,64,512 --width 200 --json").json["rows"]
    assert [row["cutoff"] for row in strong] == [[1, 1, 1], [1, 1, 1], [2, 2, 2]]
    assert strong[0]["efficiency"] == 1.0 > strong[1]["efficiency"] > strong[2]["efficiency"]
    weak = rankwise(f"{STENCIL} --weak --cells 100x100x100 --nodes 64,512,4096 --json").json["rows"]
    assert weak[0]["results"]["total_s"] == weak[1]["results"]["total_s"] and weak[1]["efficiency"] == 1.0
    # A group of 128 nodes is two slabs of 8x8 there, which one axis leaves, and 8x16 here, which two leave: its links bind.
    assert 0.8 < weak[2]["efficiency"] < 0.95
    assert weak[0]["scaling"] == "weak"
    assert weak[1]["notes"] == ["energy: no power of a node of frontier is known; --set node_power=VALUE"]
    varied = rankwise(f"{STENCIL} --cells 512x512 --nodes 16 --vary latency=1us:4us --json").json["rows"]
    assert len(varied) == 7 and varied[0]["varied"] == "latency"


def test_a_profile_is_a_machine_for_the_exchange(rankwise: Rankwise, refused: Refused, jureca: Path) -> None:
    result = rankwise(f"project exchange --machine {jureca} --set latency=0.5x --cutoff 2 --json")
    assert result.code == 0, result.err
    assert "has no topology" in refused("project fft3d --machine jureca.json --n 512 --nodes 8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("project fft3d --machine frontier --n 1", "--n 1 is too small"),
        ("project fft3d --machine frontier --n many", "--n 'many' is not a number or a range"),
        ("project fft3d --machine frontier --n 20:10", "empty range"),
        (f"{FRONTIER} --nodes 0", "--nodes 0 is too small"),
        (f"{FRONTIER} --nodes 1:4", "start the range at 2"),
        (f"{FRONTIER} --reading hopeful", "choose one of literal, paper-effective"),
        (f"{FRONTIER} --memory-constant -1", "is not a constant"),
        (f"{FRONTIER} --memory-constant nan", "is not a constant"),
        (f"{FRONTIER} --memory-constant 24:6", "is not a constant"),
        (f"{FRONTIER} --memory-constant 6:7:8", "is not a constant"),
        (f"{FRONTIER} --memory-constant A", "is not a constant"),
        (f"{FRONTIER} --vary memory_constant=x", "is not a constant"),
        (f"{FRONTIER} --reading paper-effective --vary memory_constant=6:80", "leave one of the two out"),
        (f"{FRONTIER} --memory-constant 5 --reading paper-effective", "leave one of the two out"),
        (f"{FRONTIER} --bound none", "choose one of bisection, ideal"),
        (f"{FRONTIER} --topology torus:0", "--topology 'torus:0' is unknown"),
        (f"{FRONTIER} --topology torus:4 --bound ideal", "known for a 3-D torus only"),
        (f"{FRONTIER} --torus-constant 2", "choose one of printed, exact"),
        (f"{FRONTIER} --precision half", "choose one of double, single"),
        (f"{FRONTIER} --decomposition cubes", "choose one of pencil, slab"),
        (f"{FRONTIER} --vary speed=1:2", "varies nothing"),
        (f"{FRONTIER} --vary io_bus_bandwidth=1GB/s:2GB/s", "varies nothing here"),
        (f"{FRONTIER} --vary taper=0.5:2", "at most 1"),
        (f"{FRONTIER} --vary n=fast", "is not a value"),
        (f"{FRONTIER} --against summit", "--match and --against belong together"),
        (f"{FRONTIER} --match colour --against summit", "choose one of time, overlapped-time, peak"),
        (f"{FRONTIER} --match time --against sumit", "did you mean summit"),
        (f"{FRONTIER} --plot tornado.png", "give it the ending .svg or .html"),
        (f"{FRONTIER} --machine no.json", "does not exist"),
        ("project fft3d --machine h100-cluster --n 4096", "--nodes"),
        ("project table --year 1066", "between 1950 and 2100"),
        ("project exchange --machine keeneland --against vsc-4", "machine keeneland has no latency"),
        ("project exchange --machine frontier --set links=1.5", "not a whole number"),
        ("project exchange --machine frontier --latency 2", "--latency '2' needs a unit of latency"),
        ("project exchange --machine frontier --latency 2us --mode sned", "send mode 'sned' is unknown"),
        ("project exchange --machine frontier --latency 2us --algorithm shft", "algorithm 'shft' is unknown"),
        ("project exchange --machine frontier --latency 2us --ranks 0", "--ranks 0 is too small"),
        ("project exchange --machine frontier --ranks 999999999989", "give at most 1000000"),
        ("project exchange --machine summit --latency 2us --vary taper=0.5:1", "varies nothing here"),
        ("project exchange --machine frontier --latency 2us --dims 4", "give 1, 2 or 3"),
        ("project exchange --machine frontier --latency 2us --ranks-per-node 0", "at least 1"),
        ("project exchange --machine frontier --latency 2us --cutoff 0", "at least 1"),
        (f"{STENCIL} --cells 8x8x8 --nodes 4096", "use fewer nodes"),
        (f"{STENCIL} --cells 8x8x8x8 --nodes 2", "give 1, 2 or 3"),
        (f"{STENCIL} --cells 8x8 --nodes 2 --width 0", "--width 0 is too small"),
        (f"{STENCIL} --cells 8x8 --nodes 2 --cell-bytes 0", "must be above 0"),
        (f"{STENCIL} --cells 8x8 --nodes 2 --flops-per-cell -1", "0 or above"),
        (f"{STENCIL} --cells 8x8 --nodes 4 --mode sned", "send mode 'sned' is unknown"),
        ("project stencil --machine keeneland --cells 8x8 --nodes 4", "has no latency"),
        ("reproduce czechowski2012 -o a-file", "is a file: name a folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(refused: Refused, arguments: str, says: str) -> None:
    Path("a-file").write_text("")
    assert says in refused(arguments)


def test_titles_of_pictures_are_conclusions_that_follow_the_figures(rankwise: Rankwise) -> None:
    def title(*arguments: str) -> str:
        assert rankwise("project", *arguments, "--plot", "p.svg").code == 0
        found = re.search(r"<title[^>]*>([^<]*)", Path("p.svg").read_text())
        assert found is not None
        return found[1].partition(": ")[2]

    exchange = ["exchange", "--machine", "archer2", "--cutoff", "1", "--bytes"]
    assert title(*exchange, "1MB").startswith("link_bandwidth matters most: ")
    assert title(*exchange, "8").startswith("latency matters most: ")
    stencil = ["stencil", "--machine", "archer2", "--cells", "64x64x64", "--nodes", "8", "--vary"]
    assert title(*stencil, "latency=1us:4us").startswith("latency from 1 us to 4 us takes the total from ")
    assert title(*stencil, "message_rate=1G/s:9G/s", "--set", "message_rate=1G/s").startswith(
        "message_rate from 1 G/s to 9 G/s leaves the total at "
    )


def test_project_fft3d_asks_the_model_twice_a_figure_and_once_a_corner(
    rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    predict = fft3d.predict
    monkeypatch.setattr(fft3d, "predict", lambda *values: asked.append(values) or predict(*values))
    for given, ranges in (((), 1), (("--memory-constant", "10:20", "--set", "link_bandwidth=10GB/s:20GB/s"), 2)):
        asked.clear()
        found = rankwise("project fft3d --machine frontier --n 32768 --nodes 4096", *given, "--json").json
        assert sum(figure["low"] < figure["high"] for figure in found["parameters"].values()) == ranges
        assert len(asked) == 1 + 2**ranges + 2 * len(found["parameters"])
