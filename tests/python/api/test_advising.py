"""Which placement is tried."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwise.api.advising import _placeable
from rankwise.launch.command import Command
from rankwise.launch.launchers import Hydra
from rankwise.mapping import MapResult
from rankwise.mapping.traffic import Traffic, place_traffic
from rankwise.trial.session import Way


def halo(rows: int, columns: int) -> Traffic:
    """What ranks of a grid send to their neighbours."""
    ranks = np.arange(rows * columns).reshape(rows, columns)
    pairs = [*zip(ranks[1:].flat, ranks[:-1].flat, strict=True), *zip(ranks[:, 1:].flat, ranks[:, :-1].flat, strict=True)]
    sent = np.zeros((ranks.size, ranks.size), np.int64)
    for one, other in pairs:
        sent[one, other] = sent[other, one] = 1000
    source, peer = np.nonzero(sent)
    pointer = np.searchsorted(source, np.arange(ranks.size + 1)).astype(np.int64)
    return Traffic("halo", pointer, peer.astype(np.int64), np.ones(peer.size, np.int64), sent[source, peer])


def test_a_map_that_the_launcher_refuses_is_not_tried(capsys: pytest.CaptureFixture[str]) -> None:
    mappings = place_traffic(halo(6, 4), [4] * 6, ["blocked", "cyclic", "refined"])

    def way(result: MapResult) -> Way:
        assert result.node_of_cell is not None
        return Way(result.algorithm, tuple(f"n{node}" for node in result.node_of_cell), result.j_sum)

    def chosen(version: str) -> str:
        return _placeable(mappings, Command(Hydra(Path("/nowhere/mpiexec"), version), (), (), ("./app",), 24), way).algorithm

    assert mappings.best.algorithm == chosen("5.1.0") == "refined" and not capsys.readouterr().err
    assert chosen("5.0.2") == "blocked"
    said = capsys.readouterr().err
    assert "trying blocked in place of refined, the best placement: " in said and "MPICH 5.0" in said
