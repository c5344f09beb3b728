"""Two switches with a slow link between them, told by Slurm: a map that knows of them sends less over that link."""

from __future__ import annotations

import json
import sys

import pytest

import slurm_cluster
from slurm_cluster import Slurm

pytestmark = [pytest.mark.namespaces, pytest.mark.mpi, pytest.mark.slurm]

BLOCK_BYTES = 40_000


def test_a_map_by_slurms_tree_spares_the_link_between_switches(tmp_path_factory: pytest.TempPathFactory) -> None:
    if (why := slurm_cluster.why_not()) is not None:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("switches")
    with Slurm(4, "1gbit", second_switch=("n2", "n4"), uplink="200mbit") as cluster:
        nodes, in_order = cluster.nodes, ",".join(cluster.hosts)

        def rankwise(*words: str) -> str:
            words = (sys.executable, "-m", "rankwise", *words)
            done = cluster.run(*words, cwd=folder, extra={"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(nodes.shell)})
            assert done.returncode == 0, done.stderr
            return done.stdout

        # A line of ranks, four a node: as they come each node has its neighbours on the other switch.
        asked = ("map", "--grid", "16", "--stencil", "1;-1;2;-2;3;-3", "--nodes", "4", "--ppn", "4", "--hosts", in_order)
        asked += ("--topology", "slurm", "--algorithm", "blocked,refined")
        [level] = json.loads(rankwise(*asked, "--json"))["above"]
        assert level["bytes"]["blocked"] == 3 * level["bytes"]["refined"]
        placed = folder / "placed"
        placed.write_text(rankwise(*asked, "--format", "slurm-hostfile"))
        crossed = []
        for placement in ("blocked", str(placed)):
            before = nodes.uplink_bytes()
            run = ("run", "exchange", "--algorithm", "direct", "--mode", "isend", "--dims", "16x1", "--cutoff", "3", "--bytes",
                   str(BLOCK_BYTES), "--periodic", "none", "--hosts", in_order, "--placement", placement, "--seconds", "1",
                   "--samples", f"{len(crossed)}.jsonl", "--json")  # fmt: skip
            [row] = json.loads(rankwise(*run))["rows"]
            # A warm-up and what is checked come on top of the rounds timed.
            crossed.append((nodes.uplink_bytes() - before) / (row["repetitions"] + 2) / BLOCK_BYTES)
    # Two neighbouring nodes exchange 12 messages; three pairs of nodes were on two switches, one is left.
    assert crossed[1] == pytest.approx(12, rel=0.25), crossed
    assert crossed[0] / crossed[1] == pytest.approx(3, rel=0.25), crossed
