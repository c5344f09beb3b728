"""rankwise simulate, as a person calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from verbs import Rankwise, Refused


def test_an_old_simgrid_is_told_from_a_usable_one(
    rankwise: Rankwise, jureca: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("smpirun", "smpicxx"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho SimGrid version 3.21\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = rankwise(f"simulate exchange --profile {jureca}")
    assert result.code == 4
    assert "SimGrid version 3.21" in result.err and "3.32 or later" in result.err


@pytest.mark.simgrid
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "give --profile machine.json"),
        ("--profile jureca.json --nodes 32", "has 32 nodes but the ranks need 64"),
        ("--profile jureca.json --topology torus:4x4x2", "has 32 nodes but the ranks need 64"),
        ("--profile jureca.json --topology torus:4x4x4 --nodes 60", "4x4x4 = 64 nodes but --nodes is 60"),
        ("--profile jureca.json --topology hypercube", "none that is known"),
        ("--profile jureca.json --ranks-per-node 2", "no link inside a node"),
        ("--profile jureca.json --ranks-per-node 0", "too small"),
        ("--profile jureca.json --set latency=1us", "--machine"),
        ("--profile jureca.json --hop-latency 1", "--hop-latency"),
        ("--machine keeneland", "no latency"),
        ("--machine nowhere", "nowhere"),
        ("--profile jureca.json -o jureca.json", "is a file: name a folder"),
        ("--profile jureca.json --ranks 30000 --nodes 30000", "give at most 20000"),
    ],
)
def test_what_cannot_be_simulated_is_told_in_one_line(refused: Refused, jureca: Path, arguments: str, says: str) -> None:
    assert says in refused(f"simulate exchange {arguments}")


@pytest.mark.simgrid
@pytest.mark.parametrize("topology", ["torus", "torus:1x1x1", "dragonfly:1x1x1", "fat-tree:1x1"])
def test_one_node_is_simulated_whatever_the_network(rankwise: Rankwise, topology: str) -> None:
    asked = "--machine hopper --ranks 2 --cutoff 1 --mode isend --json"
    given, plain = (rankwise(f"simulate exchange {words}").answer for words in (f"{asked} --topology {topology}", asked))
    assert given["rows"][0]["time_s"] == plain["rows"][0]["time_s"]


@pytest.mark.simgrid
def test_what_does_not_fit_the_memory_is_wrong_input_as_in_a_run(rankwise: Rankwise) -> None:
    result = rankwise("simulate fft3d --n 30000 --ranks 16 --machine hopper")
    assert result.code == 2, result.err
    assert "take fewer points or fields, or more nodes" in result.err and "log" not in result.err


@pytest.mark.simgrid
def test_a_simulation_is_rows_like_any_engine_s(rankwise: Rankwise, jureca: Path) -> None:
    (row,) = rankwise(f"simulate exchange --profile {jureca} --mode ssend --cutoff 3 --bytes 1000 --json").answer["rows"]
    assert (row["engine"], row["ranks"], row["verified"]) == ("simgrid", 64, True)
    # Table 2 of the paper: 4 k T(1000 B), which is what one synchronous message after the other takes.
    assert row["time_s"] == pytest.approx(34577e-9, rel=0.001)
    assert list(Path("simulated").glob("*.platform"))


@pytest.mark.simgrid
def test_a_stencil_s_rows_say_what_fell_back(rankwise: Rankwise) -> None:
    arguments = "--machine hopper --grid 4x4 --nodes 4 --ppn 4 --bytes 8,1MB"
    rows = rankwise(f"simulate stencil {arguments} --algorithm blocked,stencil-strips --json").answer["rows"]
    assert [(row["mapping"], row["message_bytes"]) for row in rows] == [
        ("blocked", 8), ("stencil-strips", 8), ("blocked", 1_000_000), ("stencil-strips", 1_000_000),
    ]  # fmt: skip
    assert all(row["verified"] and row["time_s"] > 0 for row in rows)
    assert all("no neighbourhood collectives" in " ".join(row["notes"]) for row in rows)
    # Fewer edges leave the busiest node, and the large messages are what its card can carry.
    assert rows[3]["j_max"] < rows[2]["j_max"] and rows[3]["time_s"] < rows[2]["time_s"]


def test_what_has_no_simulation_says_so(refused: Refused) -> None:
    assert "choose one of model, simgrid, run" in refused("reproduce werner2023 --engine magic")
    assert "nothing of czechowski2012 is simulated" in refused("reproduce czechowski2012 --engine simgrid")
