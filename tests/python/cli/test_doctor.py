"""``rankwise doctor``: its screen, its JSON, its exit codes, with an MPI made up here."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rankwise.api import examining
from rankwise.api.examining import examine_here
from rankwise.cli.main import run
from rankwise.errors import UnusableEnvironmentError, split_message
from rankwise.machine.snapshot import take_snapshot
from rankwise.machine.sysfs import read_sysfs


@dataclass(frozen=True)
class SomeMpi:
    origin: str = "wheel"
    library_version: str = "MPICH Version: 5.0.2\nMPICH Device: ch4:ucx"
    library_family: str = "mpich"
    launcher_path: Path | None = Path("/opt/[mpi]/bin/mpiexec")
    launcher_version: str = "HYDRA 5.0.2"
    launcher_family: str = "mpich"
    kernels_path: Path = Path("/opt/kernels")
    matches: bool = True


@pytest.fixture
def machine(monkeypatch):
    """Let the MPI, the outcome of the trial and parts of the snapshot be chosen."""

    def choose(mpi=None, trouble=None, **changes):
        mpi = SomeMpi() if mpi is None else mpi

        def find_mpi():
            if isinstance(mpi, Exception):
                raise mpi
            return mpi

        calm = {"virtualization": "", "load_average": 0.0, "foreign_cpus": 0.0, "steal_share": 0.0, "quota_cpus": None}
        calm |= {"pressure_share": 0.0, "governors": (), "turbo": None, "shm_free_bytes": 2**33, "rdma_devices": ()}
        # The machine which runs the tests may have a single core.
        calm |= {"cores": 4, "allowed_cores": 4, "pus": 4, "allowed_pus": (0, 1, 2, 3), "threads_per_core": 1}
        monkeypatch.setattr(
            examining,
            "take_snapshot",
            lambda topology: replace(take_snapshot(topology, sample_s=0.0), **(calm | changes)),
        )
        monkeypatch.setattr(examining, "find_mpi", find_mpi)
        monkeypatch.setattr(examining, "other_launchers", lambda used: [])
        monkeypatch.setattr(examining, "trial", lambda mpi: trouble)
        monkeypatch.setattr(examining, "mismatch_cure", lambda mpi: "take the other mpiexec")

    return choose


def doctor(capsys, *options):
    code = run(["doctor", *options])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out


def as_json(capsys, *options):
    code, out = doctor(capsys, "--json", *options)
    return code, json.loads(out)


def test_a_good_machine(machine, capsys):
    machine(SomeMpi(origin="system"))
    code, out = doctor(capsys)
    assert code == 0
    assert "two ranks started and reached each other" in out
    assert "/opt/[mpi]/bin/mpiexec, mpich: HYDRA 5.0.2" in " ".join(out.split())
    assert out.startswith("✓ Fit to measure.\n") and "Next  rankwise quick" in out
    assert len(out.splitlines()) < 24


def test_warnings_leave_it_usable(machine, capsys):
    machine(virtualization="KVM", turbo=True, steal_share=0.5)
    code, out = doctor(capsys)
    assert code == 0
    assert out.startswith("! Fit to measure, with 3 warnings: ")
    assert out.index("virtual machine (KVM)") < out.index("turbo is on") < out.index("reached each other")


def test_other_verbs_find_the_same(machine, capsys):
    machine(virtualization="KVM")
    assert [finding.id for finding in examine_here(read_sysfs())[1]] == ["wheel-mpi", "virtual-machine", "trial"]
    assert capsys.readouterr().out == ""


EVERY_WARNING = {
    "virtualization": "KVM",
    "steal_share": 0.5,
    "foreign_cpus": 1.5,
    "governors": ("powersave",),
    "shm_free_bytes": None,
    "rdma_devices": ("mlx5_0",),
    "memlock_bytes": 65536,
    "quota_cpus": 0.5,
    "turbo": True,
    "threads_per_core": 2,
    "pus": 8,
}


def test_every_finding_on_the_screen_has_its_cure(machine, capsys):
    machine(**EVERY_WARNING)
    code, report = as_json(capsys, "--ranks", "6")
    assert code == 0
    assert {finding["id"] for finding in report["findings"]} == {
        *("wheel-mpi", "virtual-machine", "steal", "busy-machine", "frequency-governor", "shared-memory"),
        *("locked-memory", "oversubscription", "cpu-quota", "cpu-set", "smt", "turbo", "trial"),
    }
    _, out = doctor(capsys, "--ranks", "6")
    shown = " ".join(out.split())
    for finding in report["findings"]:
        if finding["id"] == "busy-machine":  # said first
            expected = f"✗ Too busy to measure: {finding['what'].partition(': ')[2]}. Fix {finding['cure']}"
        else:
            expected = f"{finding['severity'].replace('info', 'note')} {finding['what']}"
            expected += f" fix: {finding['cure']}" if finding["severity"] != "ok" else ""
        assert finding["cure"] or finding["severity"] == "ok"
        assert " ".join(expected.split()) in shown


def test_json(machine, capsys):
    machine()
    code, report = as_json(capsys)
    assert code == 0
    assert report["usable"] is True
    assert report["machine"]["cores"] >= 1
    assert report["mpi"] == {
        "library_version": "MPICH Version: 5.0.2",
        "library_family": "mpich",
        "launcher": "mpiexec",
        "launcher_family": "mpich",
        "launcher_version": "HYDRA 5.0.2",
        "origin": "wheel",
        "launcher_path": "/opt/[mpi]/bin/mpiexec",
        "matches": True,
    }
    assert [finding["id"] for finding in report["findings"]] == ["wheel-mpi", "trial"]


@pytest.mark.parametrize(
    ("mpi", "trouble", "id", "what", "cure"),
    [
        (
            UnusableEnvironmentError("no mpiexec on PATH: install it (Debian: apt-get install mpich)"),
            None,
            "no-mpi",
            "no mpiexec on PATH",
            "install it (Debian: apt-get install mpich)",
        ),
        (UnusableEnvironmentError("nothing"), None, "no-mpi", "nothing", "pip install mpich"),
        (ImportError("no _core"), None, "no-mpi", "no _core", "pip install ."),
        (
            SomeMpi(launcher_family="openmpi", matches=False),
            "never asked",
            "foreign-launcher",
            "belongs to openmpi",
            "take the other mpiexec",
        ),
        (SomeMpi(), "each rank is alone: unset X", "trial", "each rank is alone", "unset X"),
        (SomeMpi(), "a rank died", "trial", "a rank died", "'/opt/[mpi]/bin/mpiexec' -n 2 /opt/kernels hello"),
    ],
)
def test_what_makes_measuring_impossible_ends_with_4(machine, capsys, mpi, trouble, id, what, cure):
    machine(mpi, trouble)
    code, report = as_json(capsys)
    assert (code, report["usable"]) == (4, False)
    [problem] = [finding for finding in report["findings"] if finding["severity"] == "problem"]
    assert problem["id"] == id
    assert what in problem["what"]
    assert cure in problem["cure"]
    code, out = doctor(capsys)
    assert code == 4
    assert out.startswith("✗ Not possible to measure here: 1 problem.\n") and "Next  rankwise doctor" in out


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("a: b", ("a", "b")),
        ("a (x: y): b (z: w)", ("a (x: y)", "b (z: w)")),
        ("a: b: c", ("a: b", "c")),
        ("a", ("a", "")),
        ("", ("", "")),
    ],
)
def test_a_message_splits_into_what_and_mend(message, parts):
    assert split_message(message) == parts


@pytest.mark.mpi
def test_this_machine_and_its_real_mpi(capsys):
    code, report = as_json(capsys)
    assert code == 0
    assert report["mpi"]["matches"] is True
    assert "trial" in {finding["id"] for finding in report["findings"]}


def test_nothing_is_built_to_look_at_the_machine(capsys, tmp_path, monkeypatch):
    """A wrapper for which nothing was built yet: told at once, not after a minute."""
    wrapper = tmp_path / "mpicxx"
    wrapper.write_text("#!/bin/sh\necho c++ -lmpi\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("RANKWISE_MPI", str(wrapper))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code, out = doctor(capsys)
    assert code == 0
    words = " ".join(out.split())
    assert "note nothing has been built for the MPI of" in words and "MPI nothing built for it yet" in words
    assert not (tmp_path / "cache").exists()
