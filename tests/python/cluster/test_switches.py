"""Two switches with a slow link between them, told by Slurm: a map that knows of them sends less over that link."""

from __future__ import annotations

import json
import sys

import pytest

import slurm_cluster
from slurm_cluster import Slurm

pytestmark = [pytest.mark.namespaces, pytest.mark.mpi, pytest.mark.slurm]

BLOCK_BYTES = 20_000


def test_a_map_by_slurms_tree_spares_the_link_between_switches(tmp_path_factory: pytest.TempPathFactory) -> None:
    if (why := slurm_cluster.why_not()) is not None:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("switches")
    with Slurm(4, "1gbit", second_switch=("n2", "n4"), uplink="200mbit") as cluster:
        nodes, in_order = cluster.nodes, ",".join(cluster.hosts)

        def rankwise(*words: str) -> dict[str, object]:
            words = (sys.executable, "-m", "rankwise", *words, "--json")
            done = cluster.run(*words, cwd=folder, extra={"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(nodes.shell)})
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            assert isinstance(found, dict)
            return found

        # Four rows of a 4x4 grid, a node each: a line of nodes, of which each has its neighbours on the other switch.
        mapped = rankwise("map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--stencil", "moore:1", "--algorithm",
            "blocked",
                          "--hosts", in_order, "--topology", "slurm")  # fmt: skip
        chosen = mapped["hosts"]
        assert isinstance(chosen, list)
        assert {frozenset(chosen[:2]), frozenset(chosen[2:])} == {frozenset(cluster.hosts[::2]), frozenset(cluster.hosts[1::2])}
        crossed = []
        for hosts in (in_order, ",".join(chosen)):
            before = nodes.uplink_bytes()
            rows = rankwise("run", "exchange", "--algorithm", "direct", "--mode", "isend", "--dims", "4x4", "--cutoff", "1",
                            "--periodic", "none", "--bytes", str(BLOCK_BYTES), "--hosts", hosts, "--placement", "blocked",
                            "--seconds", "1", "--samples", f"{len(crossed)}.jsonl")["rows"]  # fmt: skip
            assert isinstance(rows, list)
            # A warm-up and what is checked come on top of the rounds timed.
            crossed.append((nodes.uplink_bytes() - before) / (rows[0]["repetitions"] + 2) / BLOCK_BYTES)
    # Two neighbouring rows exchange 20 messages; three pairs of rows were on two switches, one is left.
    assert crossed[1] == pytest.approx(20, rel=0.25), crossed
    assert crossed[0] / crossed[1] == pytest.approx(3, rel=0.25), crossed
