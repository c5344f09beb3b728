"""rankwise tune: the answer first, files that are written, and the cases in which nothing is."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest

from rankwise.api.tuning import Tuning, tune
from rankwise.collectives.settings import Settings
from rankwise.errors import InputError
from rankwise.launch.mpi import Mpi
from rankwise.observe.record import read_record, write_record
from verbs import Rankwise, Refused

INPUTS = Path(__file__).parents[1] / "frozen" / "inputs"


@pytest.fixture(autouse=True)
def profile(tmp_path: Path) -> None:
    shutil.copy(INPUTS / "nodes.json", tmp_path / "machine.json")


def test_the_answer_comes_first_and_files_are_written(rankwise: Rankwise, tmp_path: Path) -> None:
    found = rankwise("tune --ranks 7 --ranks-per-node 1 --mpi openmpi-4.1")
    assert found.code == 0
    first = found.out.splitlines()[0]
    assert first.startswith("✓") and "settings for openmpi-4.1, 7 ranks on 7 nodes: " in first and "times as fast" in first
    assert "the default is the fastest" in found.out
    assert {path.name for path in (tmp_path / "tuned").iterdir()} == {"settings.json", "env.sh", "tuned.rules"}
    again = rankwise("tune --ranks 7 --ranks-per-node 1 --mpi openmpi-4.1 --json").json
    assert [one["what"] for one in again["unchanged"]]
    pipelined = max(again["settings"], key=lambda one: one["gain_s"])
    assert (pipelined["collective"], pipelined["last_bytes"]) == ("bcast", 1 << 22)
    assert pipelined["gain_s"] == pytest.approx(pipelined["time_s"] - pipelined["new_time_s"])
    assert pipelined["gain_lo_s"] < pipelined["gain_s"] < pipelined["gain_hi_s"]
    variables = again["variables"]
    rules = Path(variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"]).read_text()
    assert rules.startswith(f"{len({one['collective'] for one in again['settings']})} # collectives")


def test_the_page_has_the_answer_its_gains_and_what_is_left(rankwise: Rankwise, tmp_path: Path) -> None:
    asked = "tune --ranks 7 --ranks-per-node 1 --mpi openmpi-4.1 --dry-run"
    found = rankwise(f"{asked} --html tune.html")
    page = (tmp_path / "tune.html").read_text()
    answer = rankwise(f"{asked} --json").json
    assert found.err.endswith("page: tune.html\n") and answer["headline"] in page
    for what in (
        "What gains most",
        "Time of a call: default and tuned",
        "What is left as it is",
        "Quality: unknown",
        "rankwise tune --ranks 7 --ranks-per-node 1 --mpi openmpi-4.1 --dry-run --json",
    ):
        assert what in page
    first = answer["settings"][0]
    assert f"{first['collective']} of " in page and f"By default ({first['from']}) a call of " in page
    assert all(escape(one["why"], quote=False) in page.replace("&#39;", "'") for one in answer["unchanged"])
    chart = tune(asked=Tuning(ranks="7", ranks_per_node=1, mpi="openmpi-4.1", dry_run=True)).plot().chart
    assert [len(chart.stops), chart.stops[0].split(":")[0]] == [len(answer["settings"]), "bcast, 4 MiB"]
    kept = tune(asked=Tuning(ranks="7", mpi="openmpi-4.1", dry_run=True, profile=tmp_path / "machine.json"))
    (tmp_path / "none.json").write_text(json.dumps({**json.loads((tmp_path / "machine.json").read_text()), "machine": {}}))
    nothing = tune(asked=Tuning(ranks="7", profile=tmp_path / "none.json"))
    assert kept.page() and "Nothing is set" in nothing.page()
    with pytest.raises(InputError, match="there is nothing to draw: nothing is set"):
        nothing.plot()


def test_a_dry_run_writes_nothing(rankwise: Rankwise, tmp_path: Path) -> None:
    found = rankwise("tune --ranks 7 --mpi openmpi-4.1 --dry-run --json")
    assert found.json["settings"] and not found.json["files"]
    assert not (tmp_path / "tuned").exists()


def test_an_unknown_library_keeps_its_default(rankwise: Rankwise, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    for says in ("MVAPICH2 Version 2.3.7", "MPI VERSION : CRAY MPICH version 8.1.27.26", "Open MPI v7.3.0", ""):
        value = json.loads(path.read_text())
        value["machine"]["mpi"] = {"library_version": says}
        path.write_text(json.dumps(value))
        found = rankwise("tune --ranks 8")
        assert found.code == 0 and "the default is kept" in found.out and says in found.out.replace("\n", " ")
        assert not (tmp_path / "tuned").exists()


def test_a_poor_profile_gives_no_settings(rankwise: Rankwise, tmp_path: Path) -> None:
    value = json.loads((tmp_path / "machine.json").read_text())
    value["trust"] = {"level": "poor", "reasons": [], "of": {}, "half_width": None, "launches": None}
    (tmp_path / "machine.json").write_text(json.dumps(value))
    assert rankwise("tune --ranks 7 --mpi openmpi-4.1").code == 6
    assert not (tmp_path / "tuned").exists()


def test_a_file_of_ones_own_is_not_overwritten(
    rankwise: Rankwise, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "tuned.rules").write_text("mine\n")
    asked = "tune --ranks 7 --mpi openmpi-4.1"
    assert "tuned/tuned.rules is there already and is not overwritten" in refused(asked)
    assert (tmp_path / "tuned" / "tuned.rules").read_text() == "mine\n"
    monkeypatch.setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", "/site/rules")
    (note,) = rankwise(f"{asked} -o other --json").json["notes"]
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename=/site/rules" in note


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "name what is to be tuned"),
        ("--ranks 1", "--ranks 1 is out of range"),
        ("--ranks 8 --mpi openmpi-9.9", "--mpi 'openmpi-9.9'"),
        ("gone.comm", "gone.comm"),
    ],
)
def test_mistakes_are_one_line(refused: Refused, words: str, says: str) -> None:
    assert says in refused(f"tune {words}")


def test_a_program_without_collectives_has_nothing_to_tune(rankwise: Rankwise) -> None:
    found = rankwise("tune", INPUTS / "ring.comm")
    assert found.code == 0 and "Nothing to tune" in found.out


PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int bytes = 1 << 20, i;
  MPI_Init(&argc, &argv);
  char* data = calloc(bytes, 1);
  for (i = 0; i < 20; ++i) {
    int sum, one = 1;
    MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
  MPI_Finalize();
  return 0;
}
"""


def _on_nodes(path: Path, **header: object) -> None:
    """Make of a record on one host that of ranks on a host each."""
    from dataclasses import replace

    import numpy as np

    found = read_record(path)
    hosts = tuple(f"n{rank}" for rank in range(found.ranks))
    nodes = np.arange(found.ranks, dtype=np.int32)
    header = {**found.header, "clock_uncertainty_ns": [0] * found.ranks, **header}
    write_record(path, replace(found, header=header, hosts=hosts, node_of_rank=nodes))


@pytest.mark.mpi
def test_a_program_from_observe_to_try(rankwise: Rankwise, tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unmodified program: its calls, their settings, and both configurations run. What they gain here says nothing."""
    (tmp_path / "app.c").write_text(PROGRAM)
    subprocess.run([mpi.launcher_path.parent / "mpicc", "-o", "app", "app.c"], cwd=tmp_path, check=True)
    command = f"-- {mpi.launcher_path} -n 3 ./app"
    assert rankwise(f"observe -o app.comm {command}").code == 0
    shutil.copy("app.comm", "here.comm")
    _on_nodes(Path("app.comm"), mpi="Open MPI v4.1.4, package: made here")
    found = rankwise("tune app.comm --json").json
    assert found["library"] == "openmpi-4.1"
    (bcast,) = (one for one in found["settings"] if one["collective"] == "bcast")
    assert bcast["bytes"] == 1 << 20 and bcast["ranks"] == 3
    counted = {"step": 1, "run": 20}[found["per"]]
    assert bcast["calls"] == pytest.approx(counted)
    assert bcast["gain_s"] == pytest.approx(counted * (bcast["time_s"] - bcast["new_time_s"]))
    assert found["gain_lo_s"] < found["gain_s"] < found["gain_hi_s"]
    left = {one["what"]: one["why"] for one in found["unchanged"]}
    assert any("MPI_Barrier" in what for what in left)
    # advise says so, too.
    findings = rankwise("advise app.comm --profile machine.json --json").json["findings"]
    (advised,) = (one for one in findings if one["kind"] == "settings")
    assert (
        advised["command"] == "rankwise tune app.comm --profile machine.json -o tuned/" and "bcast of 1 MiB" in advised["why"]
    )
    # The profile's links are slower than those it ran over: a gain of more than was observed, or within no factor, is none.
    left_s, most_s = (max(found["time_s"] - found[end], 1e-3 * found["time_s"]) for end in ("gain_hi_s", "gain_lo_s"))
    if found["gain_s"] >= found["time_s"]:
        assert advised["gain_s"] is None
    elif most_s <= 10 * left_s or advised["gain_s"] is not None:
        assert 0 < advised["gain_s"] <= found["gain_s"] * 1.01
    # On a network on which calls take next to nothing there is nothing to gain that a run would show.
    lines = [f"{1 << k},{1e-9 + (1 << k) / 1e13}" for k in range(25)]
    Path("fast.csv").write_text("\n".join(["size_bytes,time_s", *lines, ""]))
    rankwise("profile import fast.csv --link other-node -o fast.json")
    little = rankwise("tune app.comm --profile fast.json -o none --json").json
    assert little["settings"] == [] and little["gain_s"] == 0 and not Path("none").exists()
    assert little["headline"].startswith("Nothing is set: ") and little["headline"].endswith(", less than 1 %.")
    assert any(one["why"].startswith("gains less than 1 % of a ") for one in little["unchanged"])
    # Both are run, on the hosts of the record; they were made for another library and more nodes.
    tried = rankwise(f"try here.comm --settings tuned --pairs 2 --json {command}")
    assert tried.code == 0
    assert tried.json["pairs"] == 2 and "OMPI_MCA_coll_tuned_dynamic_rules_filename=" in tried.json["placements"][1]["command"]
    stale = " ".join(tried.json["stale"])
    assert "made for Open MPI v4.1.4, used with MPICH" in stale and "made for 3 nodes, used with 1" in stale
    assert "stale" in tried.err
    monkeypatch.setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
    assert "is set already" in rankwise(f"try here.comm --settings tuned {command}").err


def test_a_job_has_the_settings(rankwise: Rankwise, tmp_path: Path) -> None:
    rankwise("tune --ranks 8 --ranks-per-node 2 --mpi openmpi-5.0")
    asked = ("slurm", "script", "--nodes", "4", "--tasks-per-node", "2", "--settings", "tuned")
    found = rankwise(*asked, "observe", "-o", "app.comm", "--", "srun", "-n", "8", "./app")
    assert found.code == 0 and not found.err
    exported = [line.split(None, 1)[1] for line in found.out.splitlines() if line.startswith("export OMPI_MCA_coll_")]
    given = dict(shlex.split(line)[0].split("=", 1) for line in exported)
    assert given == Settings.read(tmp_path / "tuned").environment(tmp_path / "tuned")
    assert found.out.rstrip().endswith("observe -o app.comm -- srun -n 8 ./app")
    again = rankwise(*asked[:3], "5", *asked[4:], "doctor")
    assert "stale: made for 8 ranks, used with 10" in again.err and "made for 4 nodes, used with 5" in again.err
    (tmp_path / "tuned" / "han.rules").unlink()
    assert "tuned lacks han.rules" in rankwise(*asked, "doctor").err
