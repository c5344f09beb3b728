"""On a real Slurm: ranks that are spread as asked, links that go, and the commands of the page about clusters."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slurm_cluster import Slurm

pytestmark = [pytest.mark.slurm, pytest.mark.mpi]

Login = Callable[..., tuple[int, str, str]]
PAGE = Path(__file__).parents[3] / "docs" / "cluster.md"
EXCHANGE = (
    "run",
    "exchange",
    "--cutoff",
    "1",
    "--bytes",
    "100",
    "--algorithm",
    "shift",
    "--mode",
    "isend",
    "--seconds",
    "0.02",
)


def _rankwise(cluster: Slurm, folder: Path, *words: str, allocate: str = "", **extra: str) -> tuple[int, str]:
    """Run rankwise on the login node, inside an allocation where that is asked for."""
    salloc = ("salloc", "--quiet", *allocate.split()) if allocate else ()
    done = cluster.run(*salloc, sys.executable, "-m", "rankwise", *words, cwd=folder, extra=extra)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def _hosts_of(samples: Path) -> list[str]:
    start = next(json.loads(line) for line in samples.read_text().splitlines() if '"record":"start"' in line)
    return [place["host"] for place in start["placements"]]


@pytest.mark.parametrize("launcher", ["mpiexec", "srun"])
def test_ranks_are_spread_over_the_allocation_as_asked(cluster: Slurm, tmp_path: Path, launcher: str) -> None:
    extra = {"RANKWISE_MPIEXEC": "srun"} if launcher == "srun" else {}
    a, b, c, d = cluster.hosts
    for options, hosts in (
        ((), [a, a, b, b, c, c, d, d]),
        (("--placement", "cyclic", "--ranks-per-node", "4"), [a, b] * 4),
    ):
        code, err = _rankwise(
            cluster, tmp_path, *EXCHANGE, "--dims", "4x2", "--samples", "s.jsonl", *options, allocate="-N4 --exclusive", **extra
        )
        assert code == 0, err
        assert _hosts_of(tmp_path / "s.jsonl") == hosts
        (tmp_path / "s.jsonl").unlink()


def test_srun_finds_nodes_by_itself(cluster: Slurm, tmp_path: Path) -> None:
    words = (*EXCHANGE, "--dims", "2x2", "--samples", "s.jsonl", "--ranks-per-node", "2", "--placement", "cyclic")
    code, err = _rankwise(cluster, tmp_path, *words, RANKWISE_MPIEXEC="srun")
    assert code == 0, err
    hosts = _hosts_of(tmp_path / "s.jsonl")
    assert hosts == hosts[:2] * 2 and len(set(hosts)) == 2
    code, err = _rankwise(cluster, tmp_path, *words)
    assert code == 2 and "--placement cyclic needs nodes: name them with --hosts" in err


def test_hosts_and_variables_that_are_not_the_job_s_are_told_before_anything_starts(cluster: Slurm, tmp_path: Path) -> None:
    first, second, third, _ = cluster.hosts
    words = (*EXCHANGE, "--dims", "2x2", "--samples", "s.jsonl")
    code, err = _rankwise(cluster, tmp_path, *words, "--hosts", f"{first},{third}", allocate=f"-N2 -w {first},{second}")
    assert code == 2 and f"{third} is not among the nodes of job" in err
    code, err = _rankwise(cluster, tmp_path, *words, "--ranks-per-node", "1", allocate="-N2")
    assert code == 2 and "need 4 nodes and there are 2" in err
    code, err = _rankwise(cluster, tmp_path, *words, SLURM_JOB_ID="99999", SLURM_JOB_NODELIST=first)
    assert code == 4 and "SLURM_JOB_ID=99999" in err and "is stale" in err and "not known to Slurm any more" in err


def _measuring(cluster: Slurm, on_login: Login, tmp_path: Path, *options: str) -> str:
    """Submit a measurement between two nodes, and return its number when it has begun to measure; large messages come last."""
    code, out, err = on_login(
        "slurm", "submit", "measure", "one-to-all", "--nodes", "2", "--time", "5", "-o", "m.json", "--links", "other-node",
        "--nodelist", ",".join(cluster.hosts[:2]), "--sizes", "0,8,1000,128MiB", "--launches", "1", *options,
    )  # fmt: skip
    assert code == 0, err
    samples = tmp_path / "rankwise-job/m.samples.jsonl"
    cluster.until("samples are there", lambda: samples.exists() and '"samples"' in samples.read_text())
    return out.strip()


def test_a_link_that_was_down_shows_in_the_verdict(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    job = _measuring(cluster, on_login, tmp_path, "--seconds", "15", "--precision", "0.001")
    try:
        cluster.link(cluster.hosts[1], "down")
        time.sleep(5)
    finally:
        cluster.link(cluster.hosts[1], "up")
    cluster.wait_state(job, "COMPLETED", "FAILED")
    log = (tmp_path / f"rankwise-job/log-{job}.txt").read_text()
    assert "the link between nodes was interrupted" in log, log
    assert f"eth0 of {cluster.hosts[1]} lost its carrier" in log
    assert cluster.state(job) == "FAILED" and "Quality: poor" in log and (tmp_path / "rankwise-job/m.json").exists()


def test_a_node_ten_times_slower_is_named_and_the_next_job_leaves_it_out(cluster: Slurm, tmp_path: Path) -> None:
    slow = cluster.hosts[2]
    words = ("doctor", "--nodes", "--sizes", "100kB", "--seconds", "30")  # fewer where the machine is quiet
    try:
        for host in cluster.hosts:
            cluster.nodes.slow(host, "10mbit" if host == slow else "100mbit")
        code, err = _rankwise(cluster, tmp_path, *words, "--json", allocate="-N4 --exclusive")
        samples = (tmp_path / "nodes.samples.jsonl").read_text()
        done = cluster.run(
            sys.executable, "-m", "rankwise", *words[:2], "--from", "nodes.samples.jsonl", "--json", cwd=tmp_path
        )
        found = json.loads(done.stdout)
        assert code == 3 and done.returncode == 3, err
        assert slow in found["exclude"] and [slow] in [one["hosts"] for one in found["findings"]]
        assert samples.count('"record":"samples"') > 0 and '"record":"complete"' in samples
        code, err = _rankwise(
            cluster,
            tmp_path,
            *EXCHANGE,
            "--dims",
            "3x1",
            "--samples",
            "s.jsonl",
            allocate=f"-N3 --exclusive --exclude {','.join(found['exclude'])}",
        )
        assert code == 0 and slow not in _hosts_of(tmp_path / "s.jsonl"), err
    finally:
        for host in cluster.hosts:
            cluster.nodes.slow(host, "1gbit")


def test_a_link_that_stays_down_is_told_with_its_node(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    lost = cluster.hosts[1]
    job = _measuring(cluster, on_login, tmp_path, "--seconds", "60", "--env", "RANKWISE_LOST_S=3")
    written = tmp_path / f"rankwise-job/log-{job}.txt"
    try:
        cluster.link(lost, "down")
        cluster.until("the node is told", lambda: "has not answered" in written.read_text())
    finally:
        cluster.link(lost, "up")
    cluster.wait_state(job, "FAILED", "NODE_FAIL")
    log = written.read_text()
    assert re.search(f"{lost} has not answered {cluster.hosts[0]} for \\d+ s: its link is down, or the node is dead", log), log
    assert "a rank died" not in log
    code, out, err = on_login("slurm", "status")
    assert code == 0 and f"{lost} has not answered" in " ".join(out.split()), out
    assert "rankwise slurm submit --resume --folder rankwise-job" in err
    cluster.until("no rank is left", lambda: not any(cluster.nodes.runs(host, "rankwise-kernels") for host in cluster.hosts))


def test_the_commands_of_the_page_work_in_order(cluster: Slurm, on_login: Login, tmp_path: Path) -> None:
    """As they are printed, but for the nodes' names, the seconds that are spent, and two repetitions for ten."""
    page = PAGE.read_text().replace("n[1-4]", ",".join(cluster.hosts)).replace("1-10%1", "1-2%1")
    blocks = [block.splitlines() for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    lines = [line for block in blocks for line in block if not line.startswith("#")]
    commands = [line for line in lines if "doctor --nodes" not in line]  # that is test_slow_nodes.py
    assert len(commands) == 11
    for command in commands:
        if re.match(r"rankwise slurm (script|submit) measure", command):
            few = "--seconds 6 --links other-node" if " bandwidth " in command else "--seconds 4"
            command += f" {few} --launches 2 --precision 0.9 --sizes 0,8,1000,10kB"
        if " run exchange " in command:
            command += " --seconds 0.02 --algorithm shift"
        words, _, target = command.partition(" > ")
        program = shlex.split(words.replace("rankwise ", f"{sys.executable} -m rankwise ", 1))
        done = cluster.run(*program, cwd=tmp_path)
        assert done.returncode in (0, 6) and done.stdout, (command, done.stdout, done.stderr)
        if target:
            (tmp_path / target).write_text(done.stdout)
