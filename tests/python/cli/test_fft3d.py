"""The verbs of the 3-D FFT on real ranks: rows, phases, files, and what is refused with which exit code."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verbs import Rankwise, Refused


@pytest.mark.mpi
def test_run_times_phases_and_checks_values(rankwise: Rankwise, tmp_path: Path) -> None:
    [row] = rankwise("run fft3d --n 12x9x10 --ranks 2 --grid 2x1 --seconds 0.05 --planning estimate --json").answer["rows"]
    assert row["verified"] and row["checks"]["spectrum_error"] <= row["checks"]["error_bound"]
    assert (row["n"], row["grid"], row["ranks"]) == ([12, 9, 10], [2, 1], 2)
    assert set(row["phases"]) == {"compute", "shuffle", "exchange"}
    assert len(row["per_rank"]) == 2 and set(row["isolated"]) == {"compute", "exchange"}
    for span in (row, *row["phases"].values()):
        assert 0 < span["time_lo_s"] <= span["time_s"] <= span["time_hi_s"]
    assert row["array_bytes"] == 12 * 5 * 10 * 16  # transposed, of the rank that has 5 of 9 lines
    assert (tmp_path / "fft3d.samples.jsonl").read_text().count('"kernel":"fft3d"') == 3  # start, samples, end


@pytest.mark.mpi
def test_measure_predict_validate(rankwise: Rankwise, refused: Refused, imported: Callable[..., Path]) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("cachegrind is not installed (Debian: apt-get install valgrind)")
    imported("other-node")
    assert "rankwise measure fft3d" in refused("predict fft3d --ranks 2")
    result = rankwise("measure fft3d --n 8,24 --ranks 1,2 --seconds 0.05 --json").answer
    assert [rates["ranks"] for rates in result["rates"]] == [1, 2]
    assert all(rates["triad_bytes_per_s"] > 0 for rates in result["rates"])
    assert result["counted"]
    # Short lines in an array beyond the cache: each word comes from memory, once.
    assert result["counted"][0]["a"] == pytest.approx(1.0, rel=0.05)
    result = rankwise("predict fft3d --n 16 --ranks 2 --json")
    [row] = result.json["rows"]
    assert row["grid"] == [2, 1] and row["time_s"] == pytest.approx(sum(p["time_s"] for p in row["phases"].values()))
    result = rankwise("validate fft3d --n 16 --ranks 1,2 --seconds 0.05 --json").answer
    assert len(result["rows"]) == 2 and result["summary"]["mape"] >= 0 and result["reading"] == "shortened"
    for compared in result["rows"]:
        predicted, shortened = compared["predicted"], compared["measured"]["shortened"]
        assert predicted["time_s"] == shortened["total"]["time_s"] and predicted["terms"]["imbalance_s"] >= 0
        assert predicted["time_lo_s"] <= 0.97 * predicted["time_s"] < 1.03 * predicted["time_s"] <= predicted["time_hi_s"]
        assert set(compared["phase_errors"]) == {"compute", "shuffle", "exchange"}
    result = rankwise("validate fft3d --n 16 --ranks 2 --seconds 0.05 --reading calibrated --json")
    assert result.code == 0 and "shortened" not in result.json["rows"][0]["measured"], result.err
    chosen = rankwise("choose fft3d --n 16 --ranks 2 --json").json
    assert {(*c["grid"], c["method"]) for c in chosen["candidates"]} == {
        (*grid, method) for grid in ((1, 2), (2, 1)) for method in ("alltoall", "pairwise")
    }
    assert chosen["best"]["time_s"] == min(c["time_s"] for c in chosen["candidates"]) <= row["time_s"]
    again = rankwise("validate fft3d --n 24 --ranks 1 --reading calibrated")
    assert again.code == 2 and "the calibration was made at n = 24" in again.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run fft3d --n 4 --ranks 32", "more than the pencils"),
        ("run fft3d --n 64 --ranks 4 --grid 3x1", "has 3 ranks but --ranks is 4"),
        ("run fft3d --n 64 --ranks 4 --grid 4", "not a process grid"),
        ("run fft3d --n 64x64", "not the size of a 3-D array"),
        ("run fft3d --n 0", "axis of size 0"),
        ("run fft3d --library pocket", "--library 'pocket' is unknown"),
        ("run fft3d --seconds 0", "not a time to spend"),
        ("measure fft4d", "did you mean fft3d?"),
        ("measure --n 64", "unknown option --n:"),
        ("measure fft3d --n 64", "at least two sizes"),
        ("choose fft3d --n 16 --profile none.json", "none.json does not exist"),
        ("simulate fft3d --n 16", "what is to be simulated is missing"),
        ("predict fft3d --timeline t.html", "unknown option --timeline"),
        ("predict fft3d --reading hopeful", "--reading 'hopeful' is unknown"),
        ("predict fft3d --reading shortened", "it is for 'rankwise validate fft3d'"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(refused: Refused, arguments: str, words: str) -> None:
    assert words in refused(arguments)


@pytest.mark.mpi
def test_too_large_an_array_is_refused_before_it_is_allocated(rankwise: Rankwise) -> None:
    result = rankwise("run fft3d --n 30000 --ranks 1")
    assert result.code == 2
    # 2 arrays of 16 bytes a point
    assert "needs 864 TB of memory" in result.err and "available" in result.err and result.err.count("\n") == 1


@pytest.mark.mpi
def test_without_the_library_the_message_says_what_to_install(rankwise: Rankwise) -> None:
    there = any(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    result = rankwise("run fft3d --n 8 --ranks 1 --library mkl --seconds 0.01")
    assert result.code == (0 if there else 4), result.err
    if not there:
        assert "mkl found: install" in result.err and "pip install 'rankwise[fft]'" in result.err
        assert result.err.count("\n") == 1
