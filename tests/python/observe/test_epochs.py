"""Epochs of one-sided communication are steps, with what is put and fetched in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.advise.evidence import evidence_of
from rankwise.observe.epochs import EPOCH, EXPOSED, PUT
from rankwise.observe.levels import levels_of
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, TIME_ONLY
from rankwise.observe.start import observe
from rankwise.observe.steps import common_steps
from synthetic_events import simulate, wavefront

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


@pytest.mark.parametrize("kind", ["pip", pytest.param("openmpi", marks=pytest.mark.system_mpi)])
def test_cycles_of_particles_are_steps_whatever_is_sent_in_each(
    build: Callable[..., Path], start: Callable[[str, int], list[str]], tmp_path: Path, kind: str
) -> None:
    """Calls never come twice in the same order, and receives that were cancelled meet no message."""
    code, record = observe([*start(kind, RANKS), str(build(kind, "particles.c"))], tmp_path / "app.comm")
    assert code == 0 and record is not None
    steps = evidence_of(record, "app.comm").steps
    assert steps is not None and steps.levels.part == 0
    assert len(steps.durations_s) == 12 and steps.words.startswith("about ")
    sums = [name == "MPI_Allreduce" for name in record.header["calls"]]
    for rank, of_rank in record.events.items():
        for end in steps.ends[:, rank]:
            last = of_rank[:end][of_rank["kind"][:end] != TIME_ONLY][-1]
            assert sums[last["call"]] and last["bytes"] == 104


@pytest.mark.parametrize("rows", [10, 79])
def test_a_pipeline_of_puts_is_cut_and_named_as_one_of_messages(rows: int) -> None:
    """Each rank is exposed to the one on its left, and the last one's corner goes back to the first."""
    messages = simulate(wavefront(RANKS, STEPS, rows))
    events = {rank: _one_sided(of_rank) for rank, of_rank in messages.items()}
    steps, expected = common_steps(events), common_steps(messages)
    assert steps is not None and expected is not None and len(steps.durations_s) == len(expected.durations_s) == STEPS
    for rank, of_rank in events.items():
        borders = zip(steps.begins[:, rank], steps.ends[:, rank], strict=True)
        exposed = [np.count_nonzero(of_rank["kind"][begin:end] == EXPOSED) for begin, end in borders]
        assert set(exposed) == {1 if rank == 0 else rows}
    found, of_messages = (levels_of(all_ranks) for all_ranks in (events, messages))
    assert found[:2] == of_messages[:2] and found.fill == RANKS - 1


def _one_sided(events: Any) -> Any:
    """Return events in which a send is a put between start and complete, and a receive an exposure."""
    kinds = {BLOCKING_SEND: [EPOCH, PUT, EPOCH], BLOCKING_RECEIVE: [EPOCH, EXPOSED]}
    parts = []
    for event in events:
        part = np.repeat(event[None], len(kinds.get(event["kind"], [0])))
        part["kind"] = kinds.get(event["kind"], [event["kind"]])
        part["peer"][part["kind"] != PUT] = -1
        part["tag"] = -1
        parts.append(part)
    return np.concatenate(parts)
