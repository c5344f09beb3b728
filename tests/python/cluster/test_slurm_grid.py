"""Campaigns as jobs on links of known rates: each ends in a profile that has the links' rate, or an interval that holds it.

One cell here. ``RANKWISE_GRID=all`` takes the whole grid and the halos that are predicted from it, an hour.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from slurm_cluster import Slurm

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import slurm_grid

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.namespaces]

ALL = os.environ.get("RANKWISE_GRID") == "all"
RATES = (10, 100, 1000) if ALL else (100,)


@pytest.mark.parametrize("rate", RATES)
def test_a_campaign_finds_the_rate_of_the_links(
    cluster: Slurm, tmp_path: Path, rate: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in cluster.hosts:
        cluster.nodes.slow(host, f"{rate}mbit")
    try:
        options = (
            Namespace(seconds="10,30,120", sizes="5,13,40", campaign=60, rounds=3)
            if ALL
            else Namespace(seconds="10", sizes="5")
        )
        missed = slurm_grid.campaigns(cluster, tmp_path, rate, options)
        missed += slurm_grid.halos(cluster, tmp_path, rate, options) if ALL and rate <= 100 else 0
    finally:
        for host in cluster.hosts:
            cluster.nodes.slow(host, cluster.nodes.rate)
    assert missed == 0, capsys.readouterr().out
