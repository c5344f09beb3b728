"""Pairs in random order, kept at once, taken up again; all without a launcher."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import schemas
import screens
from rankwise.api.advising import Tried
from rankwise.blocks import terminal
from rankwise.errors import InputError, RankwiseError
from rankwise.launch import probe
from rankwise.launch.command import Command
from rankwise.launch.launchers import Hydra, OpenMpi
from rankwise.launch.mpi import Mpi
from rankwise.trial import session
from rankwise.trial.session import Trial, Way, monitoring, why_ignored

COMMAND = Command(Hydra(Path("/nowhere/mpiexec"), "5.0.2"), ("-genv", "A", "1"), (), ("./app",), 4)
WAYS = (Way("observed", ("a", "b", "a", "b"), 100), Way("refined", ("a", "a", "b", "b"), 10))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was run, in order: the new way takes 1 s, the present one 1.25 s, and each sends what it promises and 1 B more."""
    done: list[str] = []
    passed = {"a": 0}

    def run(self: Trial, way: Way) -> float:
        done.append(way.name)
        passed["a"] += (way.promised_bytes or 0) + 1
        if len(done) == 31:
            raise KeyboardInterrupt
        return (1.25 if way.name == "observed" else 1.0) * (1 + 0.001 * (len(done) % 7))

    def counters(command: Command, hosts: Sequence[str]) -> probe.Counters:
        return {host: {"eth0": (0, passed["a"] if host == "a" else 0)} for host in hosts}

    monkeypatch.setattr(Trial, "_run", run)
    monkeypatch.setattr(session, "require_hosts_of_ranks", lambda command, hosts: None)
    monkeypatch.setattr(session, "read_counters", counters)
    return done


def test_a_trial_stops_when_it_knows_and_tells_the_bytes(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = Trial(COMMAND, WAYS, tmp_path / "trial.jsonl")
    trial.resume()
    judgement = trial.run()
    assert (judgement.verdict, judgement.pairs, len(runs)) == ("faster", 10, 22)
    assert judgement.low < 1.25 < judgement.high
    pairs = [runs[i : i + 2] for i in range(2, 22, 2)]
    assert all(sorted(pair) == ["observed", "refined"] for pair in pairs) and len({tuple(pair) for pair in pairs}) == 2
    record = trial.to_dict(judgement)
    assert [(links["promised"], links["counted"]) for links in record["link_bytes"]] == [(100, 101), (10, 11)]
    schemas.check("try", record)
    monkeypatch.setattr(terminal, "on_terminal", lambda _: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.show(Tried(trial, judgement).blocks())
    shown = capsys.readouterr()
    assert shown.out.startswith("✓ Faster: refined is 1.2") and "Next  /nowhere/mpiexec" in shown.out
    assert list(screens.faults("rankwise try", shown.out, shown.err)) == []
    assert record["placements"][0]["command"].endswith("-hosts a,b -rankmap 0,1,0,1 -genv A 1 -n 4 ./app")


def test_an_interrupted_trial_goes_on_where_it_was(runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trial.jsonl"
    monkeypatch.setattr(session, "LOOKS", (16,))
    first = Trial(COMMAND, WAYS, path, budget=16)
    first.resume()
    with pytest.raises(KeyboardInterrupt):
        first.run()
    so_far = first.judged_so_far()
    assert so_far is not None and so_far.pairs == 14 and so_far.verdict == "cannot tell"
    with path.open("a") as stream:
        stream.write('{"record":"pair","number":14,"tim')  # cut off
    again = Trial(COMMAND, WAYS, path, budget=16)
    again.resume()
    assert again.run().pairs == 16 and len(runs) == 31 + 2 + 4
    # A finished trial runs nothing.
    last = Trial(COMMAND, WAYS, path, budget=16)
    last.resume()
    assert last.run().pairs == 16 and len(runs) == 37


def test_a_file_of_another_trial_is_refused(runs: list[str], tmp_path: Path) -> None:
    path = tmp_path / "trial.jsonl"
    Trial(COMMAND, WAYS, path).resume()
    with pytest.raises(InputError, match="another trial"):
        Trial(COMMAND, WAYS, path, seed=2).resume()


def test_a_failing_program_is_told_with_its_words(tmp_path: Path) -> None:
    failing = tmp_path / "mpiexec"
    failing.write_text("#!/bin/sh\necho error: no input file >&2\nexit 3\n")
    failing.chmod(0o755)
    command = Command(Hydra(failing, "5.0.2"), (), (), ("./app",), 4)
    trial = Trial(command, WAYS, tmp_path / "trial.jsonl")
    with pytest.raises(RankwiseError, match=r"failed as refined \(exit code 3\): error: no input file"):
        trial._run(WAYS[1])


def test_settings_are_tried_by_their_variables(tmp_path: Path) -> None:
    """The second way alone has them, and they are part of the command that is kept."""
    launcher = tmp_path / "mpiexec"
    launcher.write_text(f'#!/bin/sh\necho "$TUNED" >> {tmp_path}/seen\n')
    launcher.chmod(0o755)
    hosts = ("a", "a", "b", "b")
    ways = (Way("default", hosts), Way("tuned", hosts, None, {"TUNED": "as is"}))
    trial = Trial(Command(Hydra(launcher, "5.0.2"), (), (), ("./app",), 4), ways, tmp_path / "trial.jsonl")
    for way in ways:
        trial._run(way)
    assert (tmp_path / "seen").read_text() == "\nas is\n"
    first, second = (way["command"] for way in trial.header["ways"])
    assert "TUNED" not in first and second.startswith("env 'TUNED=as is' ")


def test_variables_that_are_not_open_mpis_own_are_passed_on(tmp_path: Path) -> None:
    command = Command(OpenMpi(Path("/nowhere/mpirun"), "4.1.4"), (), (), ("./app",), 2)
    way = Way("tuned", ("a", "b"), None, {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "UCX_RNDV_THRESH": "1m"})
    words = Trial(command, (way, way), tmp_path / "trial.jsonl").header["ways"][1]["command"].split()
    assert words[words.index("-x") + 1] == "UCX_RNDV_THRESH" and words.count("-x") == 1


@pytest.mark.parametrize(("sent", "ignored"), [(1000, True), (250, False)])
def test_settings_that_change_nothing_of_what_is_sent_are_ignored(sent: int, ignored: bool, tmp_path: Path) -> None:
    """By Open MPI's own count of messages within collectives (ompi/mca/common/monitoring); what else is sent may differ."""
    command = Command(OpenMpi(Path("/nowhere/mpirun"), "4.1.4"), ("--mca", "pml", "ob1"), (), ("./app",), 2)
    for name, bytes_inside, bytes_beside in (("without", 1000, 7), ("within", sent, 8)):
        counting, variables = monitoring(command, tmp_path / name)
        assert counting.options == ("--mca", "pml", "ob1,monitoring")  # or it would not be loaded
        stem = variables["OMPI_MCA_pml_monitoring_filename"]
        text = (
            f"# POINT TO POINT\nE\t0\t1\t{bytes_beside} bytes\t1 msgs sent\t0\nI\t0\t1\t{bytes_inside} bytes\t4 msgs sent\t0\n"
        )
        Path(f"{stem}.0.prof").write_text(text)
    tuned = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    why = why_ignored(command, tuned, tmp_path / "without", tmp_path / "within")
    assert (why is not None) == ignored
    assert why_ignored(command, {"OMPI_MCA_btl_tcp_eager_limit": "1"}, tmp_path / "without", tmp_path / "within") is None


def test_a_variable_that_mpich_does_not_know_is_told(tmp_path: Path, mpi: Mpi) -> None:
    if mpi.library_family != "mpich":
        pytest.skip("another MPI is at hand")
    program = mpi.kernels_path
    command = Command(Hydra(Path("/nowhere/mpiexec"), "5.0.2"), (), (), (str(program),), 2)
    known = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": "x"}
    assert why_ignored(command, known, tmp_path, tmp_path) is None
    assert "knows no MPIR_CVAR_COLL_TURBO" in (
        why_ignored(command, {**known, "MPIR_CVAR_COLL_TURBO": "1"}, tmp_path, tmp_path) or ""
    )
