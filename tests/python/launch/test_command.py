"""A user's command line is taken apart, and put together with other placements; ranks tell a shell where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.command import read_command
from rankwise.launch.probe import read_counters, require_hosts_of_ranks, sent_between

VERSIONS = {
    "mpiexec": "HYDRA build details:\n    Version: 5.0.2\n",
    "mpirun": "mpirun (Open MPI) 4.1.4\n",
    "srun": "slurm 22.05.8\n",
    "other": "nothing known\n",
}
# Starts one process a rank, one after the other, on hosts that uname makes up. With LYING the last two ranks change places.
LAUNCH = """
[ "$1" = --help ] && { echo " -rankmap {rank map}"; exit 0; }
while [ "$1" != -n ]; do case $1 in -hosts) hosts=$2;; -rankmap) map=$2;; -ppn) each=$2;; esac; shift; done
n=$2; shift 2; rank=0
while [ $rank -lt $n ]; do
  if [ -n "$map" ]; then node=$(echo $map | cut -d, -f$((rank + 1))); else node=$((rank / each)); fi
  local=${map:+$(echo $map | tr , "\\n" | grep -c "^$node$")}
  tell=$rank
  [ -n "$LYING" ] && [ $rank -ge $((n - 2)) ] && tell=$((2 * n - 3 - rank))
  host=$(echo $hosts | cut -d, -f$((node + 1)))
  FAKE_HOST=$host PMI_RANK=$tell MPI_LOCALNRANKS=${WRONG_SHARE:-${local:-$each}} "$@" || exit $?
  rank=$((rank + 1))
done
"""


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    texts = {name: f"cat <<'END'\n{version}END\n" for name, version in VERSIONS.items()}
    texts["mpiexec"] = f'[ "$1" = --version ] && {{ {texts["mpiexec"]}exit; }}\n{LAUNCH}'
    texts |= {"app": "exit 0\n", "uname": "echo $FAKE_HOST.domain\n"}
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_LOCAL_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize(
    ("words", "options", "placing", "ranks"),
    [
        ("mpiexec -n 4 app -n 9", [], [], 4),
        ("mpiexec -hosts a,b -ppn 1 -genv X 1 -np 4 app", ["-genv", "X", "1"], ["-hosts", "a,b", "-ppn", "1"], 4),
        ("mpiexec -prepend-rank -strange 7 -n 4 app", ["-prepend-rank", "-strange", "7"], [], 4),
        ("mpirun --mca btl self,tcp -x PATH -H a:2 --map-by node -n 4 app", ["--mca", "btl", "self,tcp", "-x", "PATH"],
         ["-H", "a:2", "--map-by", "node"], 4),
        ("srun --mpi=pmix --nodelist=a,b -N 2 --ntasks=4 app", ["--mpi=pmix"], ["--nodelist=a,b", "-N", "2"], 4),
        ("srun app", [], [], None),
    ],
)  # fmt: skip
def test_a_command_is_taken_apart(
    bin_folder: Path, words: str, options: list[str], placing: list[str], ranks: int | None
) -> None:
    found = read_command(words.split())
    assert (list(found.options), list(found.placing), found.ranks) == (options, placing, ranks)
    assert found.program[0] == "app"


def test_a_placement_takes_the_place_of_the_user_s(bin_folder: Path) -> None:
    hosts = ["a", "b", "a", "b"]
    mpiexec = read_command("mpiexec -f hosts -genv X 1 -n 4 app 1".split()).on(hosts)[1:]
    assert mpiexec == "-hosts a,b -rankmap 0,1,0,1 -genv X 1 -n 4 app 1".split()
    mpirun = read_command("mpirun --hostfile h --mca pml ob1 -n 4 app".split()).on(hosts)[1:]
    assert mpirun == "--host a,b,a,b --map-by seq --bind-to none --mca pml ob1 -n 4 app".split()
    assert "none" not in read_command("mpirun --bind-to core -n 4 app".split()).on(hosts)


@pytest.mark.parametrize(
    ("words", "kind", "why"),
    [
        ("", InputError, "missing"),
        ("mpiexec -n 4", InputError, "names no program"),
        ("mpiexec -n four app", InputError, "no number of ranks"),
        ("mpiexec -n 2 app : -n 2 app", InputError, "several programs"),
        ("other -n 2 app", InputError, "no launcher that is known"),
        ("no-such-launcher app", UnusableEnvironmentError, "no executable"),
    ],
)  # fmt: skip
def test_what_cannot_be_placed_is_refused(bin_folder: Path, words: str, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        read_command(words.split())


def test_ranks_tell_where_they_are(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = read_command("mpiexec -n 4 app".split())
    for hosts in (["a", "b", "a", "b"], ["a", "a", "b", "b"]):
        require_hosts_of_ranks(command, hosts)
    counters = read_counters(command, ["a", "b"])
    assert counters.keys() == {"a.domain", "b.domain"}
    monkeypatch.setenv("WRONG_SHARE", "1")
    with pytest.raises(RankwiseError, match="rank 0 counts 1 ranks on a instead of 2"):
        require_hosts_of_ranks(command, ["a", "b", "a", "b"])
    monkeypatch.delenv("WRONG_SHARE")
    monkeypatch.setenv("LYING", "1")
    with pytest.raises(RankwiseError, match=r"rank 2 ran on b.domain instead of a; .*-rankmap 0,1,0,1"):
        require_hosts_of_ranks(command, ["a", "b", "a", "b"])


def test_bytes_are_counted_only_where_both_readings_know_the_card() -> None:
    before = {"a": {"eth0": (0, 10)}, "b": {"eth0": (5, 20)}}
    after = {"a": {"eth0": (0, 110), "new": (7, 7)}, "b": {"eth0": (5, 25)}}
    assert sent_between(before, after) == 105
    assert sent_between(before, {"a": after["a"]}) is None
    assert sent_between({}, {}) is None
