"""``rankwise slurm`` on a real Slurm: jobs as users submit them, and what becomes of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from slurm_cluster import Slurm

pytestmark = [pytest.mark.slurm, pytest.mark.mpi]

Login = Callable[..., tuple[int, str, str]]
QUICK = ("--sizes", "0,8,1000,100kB", "--precision", "0.9")


def _ended(cluster: Slurm, on_login: Login, job: str, folder: str = "rankwise-job") -> dict:
    """Wait for a job (not by asking every five seconds, as users must) and return what ``status`` says of its folder."""
    cluster.wait_state(job, "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", seconds=120)
    code, out, err = on_login("slurm", "status", folder, "--json")
    assert code == 0, err
    return json.loads(out)["jobs"][-1]


def _is_measured(state: dict) -> bool:
    """Whether a job measured to its end, however busy the machine was."""
    return state["state"] == "COMPLETED" or (state["state"] == "FAILED" and "too disturbed" in state["words"])


def _records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_measurement_between_two_nodes_as_a_job(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    code, out, err = on_login(
        "slurm", "submit", "measure", "one-to-all", "--nodes", "2", "--time", "5", "--folder", "job", "-o", "m.json",
        "--links", "other-node", "--launches", "1", "--seconds", "15", *QUICK, "--json",
    )  # fmt: skip
    assert code == 0, err
    job = json.loads(out)["job"]
    state = _ended(cluster, on_login, job, "job")
    assert state["job"] == job and _is_measured(state)
    profile = json.loads((tmp_path / "job/m.json").read_text())
    assert list(profile["links"]) == ["other-node"]
    start = next(record for record in _records(tmp_path / "job/m.samples.jsonl") if record["record"] == "start")
    hosts = [placement["host"] for placement in start["placements"]]
    assert len(set(hosts)) == 2 and set(hosts) < set(cluster.hosts)
    record = json.loads((tmp_path / "job/jobs.json").read_text())["jobs"][0]
    assert record["job"] == job and record["settings"]["nodes"] == 2
    assert (tmp_path / "job" / record["script"]).read_text().startswith("#!/bin/bash\n#SBATCH --job-name=rankwise\n")
    code, out, err = on_login("slurm", "fetch", "job", "-o", "copies", "--json")
    assert code == 0 and {"copies/m.json", "copies/m.samples.jsonl", "copies/jobs.json"} <= set(json.loads(out)["files"])


def test_srun_starts_the_ranks_of_an_array(on_login: Login, tmp_path: Path) -> None:
    code, out, err = on_login(
        "slurm", "submit", "measure", "one-to-all", "--array", "1-2", "--nodes", "2", "--launcher", "srun", "--time", "5",
        "-o", "m.json", "--links", "other-node", "--launches", "1", "--seconds", "15", *QUICK,
    )  # fmt: skip
    assert code == 0, err
    code, out, err = on_login("slurm", "wait", "--interval", "5", "--json")
    states = json.loads(out)["jobs"]
    assert len(states) == 2 and all(map(_is_measured, states)), (states, [p.read_text() for p in tmp_path.rglob("log-*")])
    assert [state["job"].partition("_")[2] for state in states] in (["1", "2"], ["2", "1"])
    for task in ("task-1", "task-2"):
        profile = json.loads((tmp_path / "rankwise-job" / task / "m.json").read_text())
        assert profile["machine"]["mpi"]["launcher"] == "srun"
        assert list(profile["links"]) == ["other-node"]


def test_out_of_time_keeps_the_samples_and_the_next_job_goes_on(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    code, out, err = on_login(
        "slurm", "submit", "measure", "one-to-all", "--nodes", "2", "--time", "5", "-o", "m.json", "--links", "other-node",
        "--launches", "40", "--seconds", "12", *QUICK,
    )  # fmt: skip
    assert code == 0, err
    job = out.strip()
    samples = tmp_path / "rankwise-job/m.samples.jsonl"
    cluster.until("samples are there", lambda: samples.exists() and '"samples"' in samples.read_text())
    end = datetime.now() + timedelta(seconds=1)
    cluster.run("scontrol", "update", f"JobId={job}", f"EndTime={end:%Y-%m-%dT%H:%M:%S}")
    state = _ended(cluster, on_login, job)
    assert state["state"] == "TIMEOUT" and "time limit" in state["words"], (
        tmp_path / f"rankwise-job/log-{job}.txt"
    ).read_text()
    kept = [record for record in _records(samples) if record["record"] == "samples"]
    assert kept and not any(record["record"] == "complete" for record in _records(samples))
    assert "--resume" in (tmp_path / f"rankwise-job/log-{job}.txt").read_text()

    code, out, err = on_login("slurm", "submit", "--resume")
    assert code == 0, err
    assert _is_measured(_ended(cluster, on_login, out.strip()))
    records = _records(samples)
    assert records[-1]["record"] == "complete"
    assert [record for record in records if record["record"] == "samples"][: len(kept)] == kept
    assert len({record["campaign"] for record in records}) == 1
    assert (tmp_path / "rankwise-job/m.json").exists()


def test_a_dead_node_requeues_the_job_and_what_was_measured_is_kept(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    code, out, err = on_login(
        "slurm", "submit", "measure", "one-to-all", "--nodes", "2", "--requeue", "--time", "5", "--nodelist",
        ",".join(cluster.hosts[1:3]),
        "-o", "m.json", "--links", "other-node", "--launches", "3", "--seconds", "12", *QUICK,
    )  # fmt: skip
    assert code == 0, err
    job = out.strip()
    samples = tmp_path / "rankwise-job/m.samples.jsonl"
    cluster.until("samples are there", lambda: samples.exists() and '"samples"' in samples.read_text())
    cluster.kill(cluster.hosts[2])
    try:
        cluster.wait_state(job, "PENDING")
        _, out, _ = on_login("slurm", "status")
        assert "waits in the queue" in " ".join(out.split())
        kept = sum(record["record"] == "samples" for record in _records(samples))
        assert kept > 0
    finally:
        cluster.boot(cluster.hosts[2])
        cluster.run("scontrol", "update", f"node={cluster.hosts[2]}", "state=resume")
    state = _ended(cluster, on_login, job)
    assert _is_measured(state) and state["restarts"] == 1 and "begun again" in state["words"]
    records = _records(samples)
    assert [record["record"] for record in records].count("campaign") == 1 and records[-1]["record"] == "complete"


def test_a_cancelled_job_is_told_and_keeps_its_samples(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    code, out, err = on_login(
        "slurm",
        "submit",
        "measure",
        "one-to-all",
        "--nodes",
        "2",
        "-o",
        "m.json",
        "--links",
        "other-node",
        "--seconds",
        "10",
        *QUICK,
    )
    assert code == 0, err
    samples = tmp_path / "rankwise-job/m.samples.jsonl"
    cluster.until("samples are there", lambda: samples.exists() and '"samples"' in samples.read_text())
    assert on_login("slurm", "cancel")[0] == 0
    cluster.wait_state(out.strip(), "CANCELLED")
    code, text, _ = on_login("slurm", "status")
    assert code == 0 and "was cancelled; samples are kept" in " ".join(text.split())
    cluster.until("rankwise has ended", lambda: "interrupted" in (tmp_path / f"rankwise-job/log-{out.strip()}.txt").read_text())
    cluster.until("no rank is left", lambda: not any(cluster.nodes.runs(host, "rankwise-kernels") for host in cluster.hosts))
    kept = [record for record in _records(samples) if record["record"] == "samples"]
    code, out, err = on_login("slurm", "submit", "--resume")
    assert code == 0, err
    assert _is_measured(_ended(cluster, on_login, out.strip()))
    assert [record for record in _records(samples) if record["record"] == "samples"][: len(kept)] == kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--partition", "nowhere"], ["invalid partition", "main: 4 nodes", "short"]),
        (["--partition", "short", "--time", "10"], ["time limit", "at most 1:00"]),
        (["--nodes", "9"], ["sbatch refuses", "--nodes"]),
        (["--partition", "short", "--nodes", "3"], ["sbatch refuses", "--nodes"]),
        (["--nodelist", "elsewhere"], ["nvalid node name", "--nodelist"]),
        (["--dependency", "bogus:1"], ["ependency", "afterok:1234"]),
        (["--sbatch=--no-such-option"], ["sbatch refuses", "no-such-option"]),
    ],
)
def test_what_sbatch_refuses_is_told_with_its_words_and_the_mend(
    on_login: Login, tmp_path: Path, options: list[str], words: list[str]
) -> None:
    code, out, err = on_login("slurm", "submit", "measure", *options)
    assert code == 2 and out == "", (code, out, err)
    assert err.count("\n") == 1 and all(word in err for word in words), err
    assert not (tmp_path / "rankwise-job").exists()


def test_a_folder_that_cannot_be_one_is_told(on_login: Login, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    for folder, words in (
        ("taken", "taken is a file: name a folder"),
        ("/proc/1/job", "cannot be written"),
        ("taken/job", "taken"),
    ):
        code, out, err = on_login("slurm", "submit", "measure", "--folder", folder)
        assert code == 2 and out == "" and err.count("\n") == 1 and words in err, err


def test_jobs_that_slurm_does_not_know(on_login: Login) -> None:
    code, out, _ = on_login("slurm", "status", "999999", "--json")
    assert code == 0 and json.loads(out)["jobs"][0]["state"] == "UNKNOWN"
    code, _, err = on_login("slurm", "cancel", "999999")
    assert code == 2 and "knows no job 999999" in err


def test_without_a_controller_the_environment_is_unusable(cluster: Slurm, on_login: Login) -> None:
    silent = cluster.silent_conf()
    for words in (("submit", "measure"), ("status", "1"), ("cancel", "1")):
        code, _, err = on_login("slurm", *words, extra={"SLURM_CONF": str(silent)})
        assert code == 4 and "Slurm does not answer" in err and err.count("\n") == 1, err


def test_a_placement_that_srun_gives_up_on_is_refused(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    first, second = cluster.hosts[:2]
    # Neither blocked nor cyclic: srun places such ranks one by one, and those of a node share no memory.
    program = (
        "from rankwise.launch.mpi import find_mpi, stream_kernel\n"
        "from rankwise.launch.probe import require_placement\n"
        f"hosts = ['{first}', '{second}', '{second}', '{first}']\n"
        "start = next(r for r in stream_kernel(find_mpi(), ['hello'], 4, False, 'testing', hosts) if r['record'] == 'start')\n"
        "print([p['host'] for p in start['placements']] == hosts)\n"
        "require_placement(start['placements'], 'same-socket', hosts=hosts)\n"
    )
    words = ("srun", "-N2", "-n1", "-w", f"{first},{second}", "true")
    assert cluster.run(*words).returncode == 0
    done = cluster.run(sys.executable, "-c", program, cwd=tmp_path, extra={"RANKWISE_MPIEXEC": "srun"})
    assert done.stdout == "True\n"
    assert "4 by what MPI shares memory on, instead of 2" in done.stderr and "unset RANKWISE_MPIEXEC" in done.stderr
