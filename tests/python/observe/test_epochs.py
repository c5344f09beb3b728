"""Epochs of one-sided communication are steps, with what is put and fetched in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rankwise.advise.evidence import evidence_of
from rankwise.observe.start import observe

RANKS, STEPS = 4, 12


@pytest.mark.parametrize("kind", ["pip", pytest.param("openmpi", marks=pytest.mark.system_mpi)])
@pytest.mark.parametrize("epoch", ["fence", "lock", "post"])
def test_epochs_are_steps(
    build: Callable[..., Path], start: Callable[[str, int], list[str]], tmp_path: Path, kind: str, epoch: str
) -> None:
    code, record = observe([*start(kind, RANKS), str(build(kind, "epochs.c")), epoch], tmp_path / "app.comm")
    assert code == 0 and record is not None
    evidence = evidence_of(record, "app.comm")
    assert evidence.steps is not None, evidence.notes
    assert STEPS - 3 <= len(evidence.steps.durations_s) <= STEPS
    source = np.repeat(np.arange(RANKS), np.diff(evidence.traffic.pointer))
    found = dict(
        zip(zip(source.tolist(), evidence.traffic.peer.tolist(), strict=True), evidence.traffic.bytes.tolist(), strict=True)
    )
    # A put and a get go to the right: rank + 1 is written to by this rank, and fetches from it.
    assert found == {(rank, (rank + 1) % RANKS): 880 for rank in range(RANKS)}
    assert evidence.pattern.naming.name == "ring"
    assert not any("one-sided" in note for note in evidence.notes)
