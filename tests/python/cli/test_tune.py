"""rankwise tune: the answer first, files that are written, and the cases in which nothing is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result

INPUTS = Path(__file__).parents[1] / "frozen" / "inputs"
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def profile(tmp_path: Path) -> None:
    shutil.copy(INPUTS / "nodes.json", tmp_path / "machine.json")


def test_the_answer_comes_first_and_files_are_written(rankwise: Run, tmp_path: Path) -> None:
    found = rankwise("tune", "--ranks", "7", "--ranks-per-node", "1", "--mpi", "openmpi-4.1")
    assert found.code == 0
    first = found.out.splitlines()[0]
    assert first.startswith("✓") and "settings for openmpi-4.1, 7 ranks on 7 nodes: " in first and "times as fast" in first
    assert "the default is the fastest" in found.out
    assert {path.name for path in (tmp_path / "tuned").iterdir()} == {"settings.json", "env.sh", "tuned.rules"}
    again = rankwise("tune", "--ranks", "7", "--ranks-per-node", "1", "--mpi", "openmpi-4.1", "--json").json
    assert [one["what"] for one in again["unchanged"]]
    pipelined = max(again["settings"], key=lambda one: one["gain_s"])
    assert (pipelined["collective"], pipelined["last_bytes"]) == ("bcast", 1 << 22)
    assert pipelined["gain_s"] == pytest.approx(pipelined["time_s"] - pipelined["new_time_s"])
    assert pipelined["gain_lo_s"] < pipelined["gain_s"] < pipelined["gain_hi_s"]
    variables = again["variables"]
    rules = Path(variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"]).read_text()
    assert rules.startswith(f"{len({one['collective'] for one in again['settings']})} # collectives")


def test_a_dry_run_writes_nothing(rankwise: Run, tmp_path: Path) -> None:
    found = rankwise("tune", "--ranks", "7", "--mpi", "openmpi-4.1", "--dry-run", "--json")
    assert found.json["settings"] and not found.json["files"]
    assert not (tmp_path / "tuned").exists()


def test_an_unknown_library_keeps_its_default(rankwise: Run, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    for says in ("MVAPICH2 Version 2.3.7", "MPI VERSION : CRAY MPICH version 8.1.27.26", "Open MPI v7.3.0", ""):
        value = json.loads(path.read_text())
        value["machine"]["mpi"] = {"library_version": says}
        path.write_text(json.dumps(value))
        found = rankwise("tune", "--ranks", "8")
        assert found.code == 0 and "the default is kept" in found.out and says in found.out.replace("\n", " ")
        assert not (tmp_path / "tuned").exists()


def test_a_poor_profile_gives_no_settings(rankwise: Run, tmp_path: Path) -> None:
    value = json.loads((tmp_path / "machine.json").read_text())
    value["trust"] = {"level": "poor", "reasons": [], "of": {}, "half_width": None, "launches": None}
    (tmp_path / "machine.json").write_text(json.dumps(value))
    assert rankwise("tune", "--ranks", "7", "--mpi", "openmpi-4.1").code == 6
    assert not (tmp_path / "tuned").exists()


def test_a_file_of_ones_own_is_not_overwritten(rankwise: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "tuned.rules").write_text("mine\n")
    asked = ("tune", "--ranks", "7", "--mpi", "openmpi-4.1")
    found = rankwise(*asked)
    assert found.code == 2 and "tuned/tuned.rules is there already and is not overwritten" in found.err
    assert (tmp_path / "tuned" / "tuned.rules").read_text() == "mine\n"
    monkeypatch.setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", "/site/rules")
    (note,) = rankwise(*asked, "-o", "other", "--json").json["notes"]
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename=/site/rules" in note


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name what is to be tuned"),
        (("--ranks", "1"), "--ranks 1 is out of range"),
        (("--ranks", "8", "--mpi", "openmpi-9.9"), "--mpi 'openmpi-9.9'"),
        (("gone.comm",), "gone.comm"),
    ],
)
def test_mistakes_are_one_line(rankwise: Run, words: tuple[str, ...], says: str) -> None:
    found = rankwise("tune", *words)
    assert found.code == 2 and says in found.err and found.err.count("\n") == 1


def test_a_program_without_collectives_has_nothing_to_tune(rankwise: Run) -> None:
    found = rankwise("tune", INPUTS / "ring.comm")
    assert found.code == 0 and "Nothing to tune" in found.out
