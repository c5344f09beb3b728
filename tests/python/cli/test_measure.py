import json
from pathlib import Path
from typing import Any

import pytest

from rankwise.machine.profile import VARIANTS
from verbs import Rankwise, Refused

pytestmark = pytest.mark.mpi


def _is_right(result: Any) -> bool:
    """Whether the exit code says what the quality is: 6 where the machine was too disturbed, which it may be here."""
    return bool(result.code == (6 if result.json["trust"]["level"] == "poor" else 0))


def test_measure_writes_a_profile_with_the_contract_s_keys(rankwise: Rankwise) -> None:
    result = rankwise("measure -o out/m.json --sizes 0,8,1kB,64KiB --seconds 3 --launches 1 --json")
    assert _is_right(result), result.err
    assert result.json["source"]["statistic"] == "median"
    assert result.json["machine"]["mpi"]["library_family"] == "mpich"
    for link in result.json["links"].values():
        assert set(VARIANTS) >= link["variants"].keys()
        assert link["alpha_loops"] == pytest.approx(link["alpha_s"] / link["reference_loop_s"])
    assert 1e7 < result.json["shared"]["memory"]["bytes_per_s"] < 1e13
    assert result.json["trust"]["level"] in ("good", "limited", "poor")
    assert result.json["source"]["precision"] == 0.03
    assert "stopped after 1 launch: " in result.err and "use more --launches" in result.err
    assert result.json["source"]["launches"] == 1 and result.json["source"]["span_s"] > 0
    assert Path("out/m.samples.jsonl").exists()
    assert rankwise("fit out/m.samples.jsonl --json").json["shared"] == result.json["shared"]
    shown = rankwise("profile show out/m.json")
    assert "memory of a node" in shown.out and ("tested with 1 pair" in shown.err) == (
        result.json["shared"]["memory"]["pairs"][-1][0] == 1
    )
    # What was measured stays: another campaign is appended to it.
    before = Path("out/m.samples.jsonl").read_bytes()
    again = rankwise("measure -o out/m.json --sizes 0,8,64 --seconds 3 --launches 1 --statistic smallest-20")
    assert again.code in (0, 6), again.err
    assert Path("out/m.samples.jsonl").read_bytes().startswith(before)
    assert rankwise("profile show out/m.json --json").json["source"]["statistic"] == "smallest-20"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--sizes 8,8", "at least 3"),
        ("--sizes 0,2GiB", "up to 1 GiB"),
        ("--sizes 0,-8", "not a size"),
        ("--launches 0", "at least 1"),
        ("--seconds 0", "above 0"),
        ("--seconds nan", "above 0"),
        ("--precision 0", "between 0 and 1"),
        ("speed", "see 'rankwise measure -h'"),
        ("bandwi", "did you mean bandwidth?"),
        ("-o m.json fft3d --n many", "--n 'many'"),
        ("--seconds=3 -om.json fft3d --launches 3", "see 'rankwise measure fft3d -h'"),
        ("--resume all-pairs --n 3", "see 'rankwise measure all-pairs -h'"),
        ("--n 3", "see 'rankwise measure latency -h'"),
        ("-o pairs --precision 0", "between 0 and 1"),
        ("--background -1", "give 0 to 64"),
        ("--background 65", "give 0 to 64"),
        ("--hosts localhost", "--hosts node1,node2"),
        ("--links other-node", "needs --hosts"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(refused: Refused, arguments: str, says: str) -> None:
    assert says in refused(f"measure {arguments}")
    assert not list(Path().iterdir())


def test_everything_that_can_be_measured_is_added_to_the_profile(rankwise: Rankwise) -> None:
    common = "-o m.json --sizes 0,8,1kB,16KiB --launches 1 --precision 0.99 --json"
    first = rankwise(f"measure --seconds 100 {common}")
    assert _is_right(first), first.err
    shared = first.json["shared"]
    for what, finds in {
        "bandwidth": {"bandwidth-window-64", "bandwidth-bidirectional-window-64"},
        "pairs": {"bandwidth-pairs-1-window-64"},
        "one-to-all": {"one-to-all"},
        "alltoall": {"alltoall-ranks-2"},
    }.items():
        result = rankwise(f"measure {what} --seconds 100 {common} --links", next(iter(first.json["links"])))
        assert _is_right(result), result.err
        link = next(iter(result.json["links"].values()))
        # Streams of pairs tell anew what they share, nothing else does.
        assert result.json["shared"].keys() >= shared.keys() and (what == "pairs" or result.json["shared"] == shared)
        shared = result.json["shared"]
        # More cores, more pairs and ranks.
        assert finds <= link["variants"].keys() or what == "alltoall" and any("alltoall" in name for name in link["variants"])
    assert link["variants"].keys() >= {"ssend", "bandwidth-window-64", "one-to-all"}  # nothing got lost on the way
    result = rankwise(f"measure loggp --seconds 100 --background 1 {common}")
    assert _is_right(result), result.err
    link = next(iter(result.json["links"].values()))
    assert link["parameters"]["send_overhead_s"]["value"] > 0 and link["parameters"]["gap_s"]["value"] > 0
    assert 0 <= link["parameters"]["send_returns_up_to_bytes"]["value"] < 1 << 22
    assert link["loaded"]["pairs"] == 1 and link["loaded"]["alpha_s"] > 0
    assert "MPI_Send does not wait for the receiver up to" in rankwise("profile show m.json").out


def test_the_time_is_a_hard_limit_and_what_it_cut_off_is_told(rankwise: Rankwise) -> None:
    result = rankwise("measure -o m.json --seconds 0.5 --launches 1 --sizes 0,8,64,1kB,4MiB --json")
    records = [json.loads(line) for line in Path("m.samples.jsonl").read_text().splitlines()]
    # Beyond the limit goes at most the visit under way.
    assert sum(record["measuring_s"] for record in records if record["record"] == "witness") < 5.0
    # However busy the machine is, what a model needs is there.
    assert _is_right(result), result.err
    assert result.json["source"]["stopped_by"] in ("time", "precision")


def test_a_host_that_is_not_there_is_told_before_anything_is_measured(rankwise: Rankwise) -> None:
    result = rankwise("measure --hosts localhost,nowhere.invalid --seconds 3 -o m.json")
    assert result.code == 4 and "cannot reach nowhere.invalid" in result.err and "--resume" not in result.err
    assert not list(Path().iterdir())
