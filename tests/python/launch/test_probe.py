"""Where ranks ran against where they were asked to run, and the allocation that they run in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.allocation import Allocation, allocated_hosts, find_allocation
from rankwise.launch.probe import require_placement
from rankwise.measure.places import Places, moved_to


def _ran(hosts: list[str], groups: list[int], cpus: list[int]) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "host": host, "memory_group": group, "cpu": cpu, "cpus_allowed": [cpu]}
        for rank, (host, group, cpu) in enumerate(zip(hosts, groups, cpus, strict=True))
    ]


def test_ranks_where_they_were_asked_to_be_pass() -> None:
    require_placement(_ran(["a", "a"], [0, 0], [0, 1]), "same-socket", [0, 1])
    require_placement(_ran(["a", "b"], [0, 1], [0, 0]), "other-node", [0, 0], ["a", "b"])
    # Slurm's names are short, a host's own may not be.
    require_placement(_ran(["a.cluster.org", "b.cluster.org"], [0, 1], [3, 4]), "other-node", (), ["a", "b"])


@pytest.mark.parametrize(
    ("ran", "cpus", "hosts", "words"),
    [
        (_ran(["a", "a"], [0, 0], [0, 2]), [0, 1], [], "rank 1 ran on CPU 2 instead of 1"),
        (_ran(["a", "a"], [0, 0], [0, 1]), [0, 1], ["a", "b"], "rank 1 ran on a instead of b"),
        (_ran(["a", "c"], [0, 1], [0, 1]), [0, 1], ["a", "b"], "rank 1 ran on c instead of b"),
        (_ran(["a", "b"], [0, 1], [0, 1]), [0, 1], [], "2 host(s), 2 by what MPI shares memory on, instead of 1"),
        (_ran(["a", "a"], [0, 1], [0, 1]), [0, 1], ["a", "a"], "unset RANKWISE_MPIEXEC"),
    ],
)
def test_ranks_elsewhere_are_refused_not_relabelled(
    ran: list[dict[str, Any]], cpus: list[int], hosts: list[str], words: str
) -> None:
    with pytest.raises(RankwiseError) as refused:
        require_placement(ran, "other-node", cpus, hosts)
    assert words in str(refused.value) and "would not be other-node" in str(refused.value)


def test_hosts_that_the_launcher_chose_are_told_apart() -> None:
    asked = ["*0", "*1", "*0", "*1"]
    require_placement(_ran(["x", "y", "x", "y"], [0, 1, 0, 1], [0, 0, 1, 1]), "so", hosts=asked)
    with pytest.raises(RankwiseError, match="rank 2 ran on y instead of x"):
        require_placement(_ran(["x", "x", "y", "y"], [0, 0, 2, 2], [0, 1, 0, 1]), "so", hosts=["*0", "*0", "*0", "*1"])
    with pytest.raises(RankwiseError, match="on 1 host"):
        require_placement(_ran(["x"] * 4, [0] * 4, [0, 1, 2, 3]), "so", hosts=asked)


@pytest.fixture
def slurm_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put programs on PATH that print what Slurm's would, for states that a healthy cluster does not show."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "4")

    def say(job: str, nodes: str) -> None:
        for name, text in (("scontrol", job), ("sinfo", nodes)):
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return say


def test_an_allocation_is_read_from_the_environment(slurm_says: Any) -> None:
    slurm_says("JobId=7 JobState=RUNNING NodeList=n[1-3]", "n1|allocated|none\nn2|allocated|none\nn3|allocated|none")
    assert find_allocation() == Allocation("7", ("n1", "n2", "n3"), 4)
    assert allocated_hosts() == ("n1", "n2", "n3")
    allocation = find_allocation()
    assert allocation is not None and allocation.loss() == ""


def test_an_allocation_that_shrinks_is_told(slurm_says: Any, capsys: pytest.CaptureFixture[str]) -> None:
    slurm_says("JobId=7 JobState=RUNNING NodeList=n[1-2]", "n1|allocated|none\nn2|allocated|none\nn3|down*|power")
    assert allocated_hosts() == ("n1", "n2")
    assert "job 7 has lost n3 (down: power), 2 of its 3 nodes are left: going on with these" in capsys.readouterr().err
    slurm_says("JobId=7 JobState=RUNNING NodeList=n1", "n1|allocated|none\nn2|idle|none\nn3|idle|none")
    assert allocated_hosts() == ()  # one node has no link to another


def test_variables_of_a_job_that_has_ended_are_stale(slurm_says: Any, tmp_path: Path) -> None:
    slurm_says("JobId=7 JobState=COMPLETED NodeList=n[1-3]", "")
    with pytest.raises(UnusableEnvironmentError, match=r"SLURM_JOB_ID=7 .* is stale: the job has ended \(COMPLETED\).*unset"):
        allocated_hosts()
    slurm_says("JobId=7 JobState=RUNNING NodeList=m[1-3]", "")
    with pytest.raises(UnusableEnvironmentError, match=r"has other nodes \(m\[1-3\]\)"):
        allocated_hosts()
    (tmp_path / "scontrol").write_text("#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n")
    with pytest.raises(UnusableEnvironmentError, match="is not known to Slurm any more"):
        allocated_hosts()


def test_variables_that_are_missing_in_part_are_told(
    slurm_says: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm_says("JobId=6 NodeList=m1\nJobId=7 ArrayJobId=6 JobState=RUNNING NodeList=n[1-2]", "")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    assert allocated_hosts() == ("n1", "n2")
    assert "SLURM_JOB_NUM_NODES=3 is not the number of nodes in SLURM_JOB_NODELIST=n[1-2]" in capsys.readouterr().err
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    assert allocated_hosts() == ("n1", "n2")
    assert "SLURM_JOB_ID=7 is set but its nodes (SLURM_JOB_NODELIST) are not: Slurm says n[1-2]" in capsys.readouterr().err
    allocation = find_allocation()
    assert allocation is not None and allocation.environment()["SLURM_JOB_NODELIST"] == "n1,n2"
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    monkeypatch.delenv("SLURM_JOB_ID")
    assert allocated_hosts() == ()
    assert "SLURM_JOB_ID is not" in capsys.readouterr().err


def test_without_slurm_s_commands_the_environment_is_believed(slurm_says: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert allocated_hosts() == ("n1", "n2", "n3")


def test_outside_of_slurm_there_is_no_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert find_allocation() is None and allocated_hosts() == ()


def test_a_campaign_goes_on_between_other_nodes() -> None:
    places = {"same-socket": Places(((0, 1),), (0, 1)), "other-node": Places(((0, 1),), (0, 1), ("n1", "n2"))}
    assert moved_to(places, ()) == places
    assert moved_to(places, ("n3", "n2", "n1")) == places
    assert moved_to(places, ("n3", "n4", "n5"))["other-node"].hosts == ("n3", "n4")
    assert moved_to(places, ("n3", "n4"))["same-socket"] == places["same-socket"]
    with pytest.raises(InputError, match="go on with --resume on 2 nodes"):
        moved_to(places, ("n3",))
    # Pairs of any two will do; what needs a rank on each does not go on with fewer.
    four = {"other-node": Places(((0, 1),), (0, 1), ("n1", "n2", "n3", "n4"))}
    assert moved_to(four, ("n1", "n2", "n5"), of_all=False)["other-node"].hosts == ("n1", "n2", "n5")
    with pytest.raises(InputError, match="go on with --resume on 4 nodes"):
        moved_to(four, ("n1", "n2", "n5"))
