"""The workload "alltoall" by all verbs, and a workload from a file outside of the source tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verbs import Rankwise, Refused

# One message from rank 0 to rank 1 and back, by the kernel of the campaigns.
BOUNCE = Path(__file__).parents[3] / "examples" / "extensions" / "workload" / "bounce.py"


@pytest.fixture
def machine(imported: Callable[..., Path]) -> Path:
    return imported("same-socket")


def test_both_methods_are_priced_by_their_schedules(rankwise: Rankwise, machine: Path) -> None:
    result = rankwise("predict alltoall --ranks 2,4 --bytes 1000 --json").answer
    time_s = {(row["ranks"], row["method"]): row["time_s"] for row in result["rows"]}
    # Between two ranks both are one message each way; pairwise is as many of these as there are others.
    assert time_s[2, "pairwise"] == pytest.approx(time_s[2, "alltoall"])
    assert time_s[4, "pairwise"] == pytest.approx(3 * time_s[2, "pairwise"])
    assert time_s[4, "alltoall"] < time_s[4, "pairwise"]
    (row, *_) = [row for row in result["rows"] if row["ranks"] == 4]
    assert (row["messages_per_rank"], row["bytes_per_rank"], row["verified"]) == (3, 3000, None)
    chosen = rankwise("choose alltoall --ranks 4 --json").json
    assert (chosen["best"]["method"], len(chosen["candidates"])) == ("alltoall", 2)
    assert "alltoall is fastest" in chosen["reason"]


@pytest.mark.mpi
def test_real_ranks_deliver_every_block(rankwise: Rankwise, machine: Path) -> None:
    result = rankwise("run alltoall --ranks 2,3 --bytes 0,8,100kB --seconds 0.02 --json").answer
    assert [(row["ranks"], row["message_bytes"], row["method"]) for row in result["rows"]] == [
        (ranks, size, method) for ranks in (2, 3) for size in (0, 8, 100_000) for method in ("alltoall", "pairwise")
    ]  # fmt: skip
    for row in result["rows"]:
        assert row["verified"] is True and row["time_s"] > 0
        assert row["bytes_per_rank"] == (row["ranks"] - 1) * row["message_bytes"]
    result = rankwise("validate alltoall --ranks 2 --seconds 0.02 --json").answer
    assert {row["method"] for row in result["rows"]} == {"alltoall", "pairwise"}


@pytest.mark.simgrid
def test_the_same_kernel_is_simulated(rankwise: Rankwise, machine: Path) -> None:
    (row,) = rankwise("validate alltoall --ranks 4 --engines model,simgrid --method pairwise --json").answer["rows"]
    assert row["verified"] is True
    assert row["error"] == pytest.approx(0.0, abs=0.01)  # one message at a time: nothing is shared


@pytest.mark.simgrid
def test_the_transposes_of_an_fft_are_simulated_and_its_values_checked(rankwise: Rankwise, machine: Path) -> None:
    (row,) = rankwise(f"simulate fft3d --profile {machine} --n 16 --ranks 4 --method pairwise --json").answer["rows"]
    assert row["verified"] is True and row["checks"]["spectrum_error"] <= row["checks"]["error_bound"]
    assert row["phases"]["compute"]["time_s"] == row["phases"]["shuffle"]["time_s"] == 0.0
    assert row["phases"]["exchange"]["time_s"] > 0
    assert any("computing takes no time here" in note for note in row["notes"])
    # Three messages of a sixteenth of the array, one after the other.
    alone = rankwise("predict alltoall --method pairwise --ranks 4 --bytes", str(16**3 * 16 // 16), "--json").json
    assert row["time_s"] == pytest.approx(alone["rows"][0]["time_s"], rel=0.3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("predict alltoall --method bruck", "--method 'bruck' is unknown"),
        ("predict alltoall --ranks 0", "at least 1"),
        ("predict alltoall --ranks 200000", "give at most 131072"),
        ("run alltoall --bytes many", "not a size"),
        ("choose alltoall --bytes 8,9", "one is chosen for at a time"),
        ("predict alltoall --placement cyclic", "needs --ranks-per-node"),
        ("run alltoall --placement cyclic", "needs nodes"),
        ("simulate alltoall --ranks-per-node 2 --ranks 5 --placement cyclic --profile machine.json",
         "no multiple of 2"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_and_exit_2(refused: Refused, machine: Path, arguments: str, says: str) -> None:
    assert says in refused(arguments)


@pytest.mark.mpi
@pytest.mark.simgrid
def test_a_workload_from_a_file_has_all_verbs(machine: Path, monkeypatch: pytest.MonkeyPatch, rankwise: Rankwise) -> None:
    import subprocess
    import sys

    monkeypatch.setenv("RANKWISE_WORKLOADS", str(BOUNCE))

    def call(*arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "rankwise", *arguments, "--bytes", "8,1000", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    rows = {
        "model": call("predict", "bounce")["rows"],
        "simgrid": call("simulate", "bounce", "--profile", "machine.json")["rows"],
        "real": call("run", "bounce", "--seconds", "0.02")["rows"],
    }
    for engine, found in rows.items():
        assert [(row["engine"], row["message_bytes"]) for row in found] == [(engine, 8), (engine, 1000)]
        assert all(row["time_s"] > 0 and row["verified"] is (None if engine == "model" else True) for row in found)
    compared = call("validate", "bounce", "--engines", "model,simgrid")
    assert [row["predicted_time_s"] for row in compared["rows"]] == [row["time_s"] for row in rows["model"]]
