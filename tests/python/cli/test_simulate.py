"""rankwise simulate, as a person calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CONTRACT = {
    "engine", "algorithm", "mode", "dims", "cutoff", "replication", "ranks", "message_bytes", "time_s", "time_lo_s",
    "time_hi_s", "messages_per_rank", "bytes_per_rank", "verified",
}  # fmt: skip


def test_without_simgrid_the_verb_says_how_to_install_it(
    rankwise: Callable[..., Any], jureca: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = rankwise("simulate", "exchange", "--profile", jureca)
    assert result.code == 4
    assert "apt-get install libsimgrid-dev" in result.err and result.err.count("\n") == 1
    assert rankwise("predict", "exchange", "--profile", jureca).code == 0


def test_an_old_simgrid_is_told_from_a_usable_one(
    rankwise: Callable[..., Any], jureca: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("smpirun", "smpicxx"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho SimGrid version 3.21\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = rankwise("simulate", "exchange", "--profile", jureca)
    assert result.code == 4
    assert "SimGrid version 3.21" in result.err and "3.32 or later" in result.err


@pytest.mark.simgrid
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give --profile machine.json"),
        (["--profile", "jureca.json", "--nodes", "32"], "has 32 nodes but the ranks need 64"),
        (["--profile", "jureca.json", "--topology", "torus:4x4x2"], "has 32 nodes but the ranks need 64"),
        (["--profile", "jureca.json", "--topology", "torus:4x4x4", "--nodes", "60"], "4x4x4 = 64 nodes but --nodes is 60"),
        (["--profile", "jureca.json", "--topology", "hypercube"], "none that is known"),
        (["--profile", "jureca.json", "--ranks-per-node", "2"], "no link inside a node"),
        (["--profile", "jureca.json", "--ranks-per-node", "0"], "too small"),
        (["--profile", "jureca.json", "--set", "latency=1us"], "--machine"),
        (["--profile", "jureca.json", "--hop-latency", "1"], "--hop-latency"),
        (["--machine", "keeneland"], "no latency"),
        (["--machine", "nowhere"], "nowhere"),
        (["--profile", "jureca.json", "-o", "jureca.json"], "is a file: name a folder"),
        (["--profile", "jureca.json", "--ranks", "30000", "--nodes", "30000"], "give at most 20000"),
    ],
)
def test_what_cannot_be_simulated_is_told_in_one_line(
    rankwise: Callable[..., Any], jureca: Path, arguments: list[str], says: str
) -> None:
    result = rankwise("simulate", "exchange", *arguments)
    assert result.code == 2, result.err
    assert says in result.err and result.err.strip().count("\n") == 0


@pytest.mark.simgrid
@pytest.mark.parametrize("topology", ["torus", "torus:1x1x1", "dragonfly:1x1x1", "fat-tree:1x1"])
def test_one_node_is_simulated_whatever_the_network(rankwise: Callable[..., Any], topology: str) -> None:
    asked = ("--machine", "hopper", "--ranks", "2", "--cutoff", "1", "--mode", "isend", "--json")
    result = rankwise("simulate", "exchange", *asked, "--topology", topology)
    assert result.code == 0, result.err
    plain = rankwise("simulate", "exchange", *asked)
    assert result.json["rows"][0]["time_s"] == plain.json["rows"][0]["time_s"]


@pytest.mark.simgrid
def test_what_does_not_fit_the_memory_is_wrong_input_as_in_a_run(rankwise: Callable[..., Any]) -> None:
    result = rankwise("simulate", "fft3d", "--n", "30000", "--ranks", "16", "--machine", "hopper")
    assert result.code == 2, result.err
    assert "take fewer points or fields, or more nodes" in result.err and "log" not in result.err


@pytest.mark.simgrid
def test_a_simulation_is_rows_like_any_engine_s(rankwise: Callable[..., Any], jureca: Path) -> None:
    result = rankwise(
        "simulate", "exchange", "--profile", jureca, "--mode", "ssend", "--cutoff", "3", "--bytes", "1000", "--json"
    )
    assert result.code == 0, result.err
    (row,) = result.json["rows"]
    assert row.keys() >= CONTRACT
    assert (row["engine"], row["ranks"], row["verified"]) == ("simgrid", 64, True)
    # Table 2 of the paper: 4 k T(1000 B), which is what one synchronous message after the other takes.
    assert row["time_s"] == pytest.approx(34577e-9, rel=0.001)
    assert list(Path("simulated").glob("*.platform"))


@pytest.mark.simgrid
def test_a_stencil_s_rows_say_what_fell_back(rankwise: Callable[..., Any]) -> None:
    arguments = ["--machine", "hopper", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--bytes", "8,1MB"]
    result = rankwise("simulate", "stencil", *arguments, "--algorithm", "blocked,stencil-strips", "--json")
    assert result.code == 0, result.err
    rows = result.json["rows"]
    assert [(row["mapping"], row["message_bytes"]) for row in rows] == [
        ("blocked", 8), ("stencil-strips", 8), ("blocked", 1_000_000), ("stencil-strips", 1_000_000),
    ]  # fmt: skip
    assert all(row["verified"] and row["time_s"] > 0 for row in rows)
    assert all("no neighbourhood collectives" in " ".join(row["notes"]) for row in rows)
    # Fewer edges leave the busiest node, and the large messages are what its card can carry.
    assert rows[3]["j_max"] < rows[2]["j_max"] and rows[3]["time_s"] < rows[2]["time_s"]


@pytest.mark.parametrize("engines", ["model", "model,model", "model,magic"])
def test_engines_side_by_side_are_two_or_three(rankwise: Callable[..., Any], jureca: Path, engines: str) -> None:
    result = rankwise("validate", "exchange", "--profile", jureca, "--engines", engines)
    assert result.code == 2
    assert "--engines" in result.err


def test_what_has_no_simulation_says_so(rankwise: Callable[..., Any]) -> None:
    assert "choose one of model, simgrid, run" in rankwise("reproduce", "werner2023", "--engine", "magic").err
    result = rankwise("reproduce", "czechowski2012", "--engine", "simgrid")
    assert result.code == 2
    assert "nothing of czechowski2012 is simulated" in result.err
