"""Plans of the 3-D FFT tried in place by `choose`: the plan's own choice, kept, and asked again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rankwise.api.asking import Ranked, choose
from rankwise.errors import InputError
from rankwise.machine.discover import discover
from rankwise.measure.imports import import_profile
from rankwise.workloads.fft3d import FftOptions
from rankwise.workloads.fft3d_case import FftCase
from verbs import Rankwise

AUTO = """
from mpi4py import MPI
import rankwise
plan = rankwise.Fft(MPI.COMM_WORLD, (12, 10, 8), batch=4)
if MPI.COMM_WORLD.rank == 0:
    print(next(line for line in plan.explain().splitlines() if line.startswith("grid")))
"""


@pytest.mark.mpi
def test_choose_and_a_plans_auto_give_one_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, python_ranks: Callable[..., str], rankwise: Rankwise
) -> None:
    monkeypatch.setenv("RANKWISE_FFT_KNOWLEDGE", str(tmp_path))
    pingpong = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"
    topology = discover()
    machine = {"cpu_model": topology.cpu_model, "cores": topology.core_count}
    profile = replace(import_profile([pingpong], "same-socket", "table", 64, None), machine=machine)
    asked = FftOptions("12x10x8", "2", batch=4)
    first = choose(asked, profile)
    assert isinstance(first, Ranked) and isinstance(first.best.case, FftCase)
    tried = [row for row in first.ranking.rows if row.engine == "run"]
    assert 2 <= len(tried) <= 5 and tuple(tried) == first.ranking.rows[: len(tried)]
    # Messages are short: by the judge all four together take least, then two.
    assert {row.case.packed for row in tried if isinstance(row.case, FftCase)} >= {2, 4}
    assert len(first.ranking.rows) == 2 * 2 * 3  # grids, methods, fields together
    assert "tried in place" in first.ranking.reason
    # What was found is kept, and all later answers are the same: here, and in a program's own plan.
    profile.save(tmp_path / "machine.json")
    words = ("choose", "fft3d", "--n", "12x10x8", "--ranks", "2", "--batch", "4", "--profile", tmp_path / "machine.json")
    assert rankwise(*words, "--json").json["candidates"] == [row.to_dict() for row in first.ranking.rows]
    table = rankwise(*words)
    assert table.code == 0 and "tried in place" in table.out and "4 fields together" in table.out
    best = first.best.case
    said = python_ranks(2, "-c", AUTO)
    assert said.startswith(f"grid {best.grid[0]}x{best.grid[1]} ") and f"by {best.method}" in said
    assert "kept from trials before" in said
    assert ("fields together:" in said) == (best.packed > 1)
    # A batch that no memory holds is refused before it is tried.
    larger = ("choose", "fft3d", "--n", "32", "--ranks", "2", "--batch", "1000000", "--profile", tmp_path / "machine.json")
    refused = rankwise(*larger)
    assert refused.code == 2 and "needs 524 GB of memory" in refused.err and "fewer points or fields" in refused.err
    # Of another machine nothing can be tried: the rates of its profile are asked, and this one has none.
    with pytest.raises(InputError, match="measure fft3d"):
        choose(asked, replace(profile, machine={"cpu_model": "another"}))
