"""What changed between two runs: the step, the part, the call site and the rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwise import compare_runs
from rankwise.errors import InputError
from rankwise.observe.record import write_record
from synthetic_events import MS, ring_of
from verbs import Rankwise


def written(path: Path, late_ns: int, seed: int, scatter: float = 0.02) -> Path:
    """A run whose rank 4 computes longer by so much, and whose steps scatter."""
    noise = np.random.default_rng(seed).normal(1, scatter, (6, 30))
    write_record(path, ring_of(6, lambda rank, step: int((MS + late_ns * (rank == 4)) * max(0.2, noise[rank, step]))))
    return path


def test_a_slower_run_is_named_with_its_part_rank_and_exit_code(rankwise: Rankwise, tmp_path: Path) -> None:
    a, b = written(tmp_path / "a.comm", 0, 1), written(tmp_path / "b.comm", MS // 2, 2)
    shown = rankwise("observe compare a.comm b.comm")
    assert shown.code == 3
    assert shown.out.startswith("✗ B is slower: a step takes 1.5")
    found = rankwise("observe compare a.comm b.comm --json").json
    assert 1.4 < found["ratio_lo"] < found["ratio"] < found["ratio_hi"] < 1.55
    first = {of: next(one for one in found["changes"] if one["of"] == of) for of in ("step", "part", "site", "rank")}
    assert first["step"]["difference_s"] == pytest.approx(0.5e-3, rel=0.1)
    assert first["rank"]["what"] == "rank 4" and first["rank"]["difference_s"] == pytest.approx(0.5e-3, rel=0.05)
    assert (first["part"]["what"], first["site"]["what"]) in (("wait", "MPI_Waitall"), ("wait", "MPI_Allreduce"))
    assert rankwise("observe compare b.comm a.comm").code == 0
    assert compare_runs(b, a).verdict == "faster" and compare_runs(a, a).verdict == "same"


def test_what_scatters_too_much_is_unclear(rankwise: Rankwise, tmp_path: Path) -> None:
    written(tmp_path / "a.comm", 0, 1, 0.4), written(tmp_path / "b.comm", MS // 20, 2, 0.4)
    shown = rankwise("observe compare a.comm b.comm")
    assert shown.code == 5 and shown.out.startswith("? Unclear: a step takes ")


def test_runs_that_say_nothing_of_the_step(rankwise: Rankwise, tmp_path: Path) -> None:
    a, record = written(tmp_path / "a.comm", 0, 1), ring_of(6, lambda *_: MS)
    write_record(tmp_path / "few.comm", replace(record, header={**record.header, "windows": []}, events={}))
    assert rankwise("observe compare a.comm few.comm").code == 5
    write_record(tmp_path / "full.comm", replace(record, header={**record.header, "cores_of_host": [2]}))
    found = compare_runs(a, tmp_path / "full.comm")
    assert found.verdict == "unclear" and "6 ranks ran on the 2 cores" in found.conclusion
    write_record(tmp_path / "other.comm", ring_of(4, lambda *_: MS))
    with pytest.raises(InputError, match="has 6 ranks and .* 4"):
        compare_runs(a, tmp_path / "other.comm")
