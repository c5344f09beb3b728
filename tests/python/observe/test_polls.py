"""Time in tests and probes that find nothing is time in MPI, and waiting where it ends with what was waited for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rankwise.observe.record import COMPLETION, TIME_ONLY
from rankwise.observe.start import observe

STEPS = 15


@pytest.mark.parametrize("kind", ["pip", pytest.param("openmpi", marks=pytest.mark.system_mpi)])
@pytest.mark.parametrize(
    ("how", "waits_in", "computes"),
    [
        ("test", "MPI_Test", False),
        ("some", "MPI_Testsome", False),
        ("probe", "MPI_Iprobe", False),
        ("compute", "MPI_Test", True),
        ("barrier", "MPI_Test", False),
    ],
)
def test_polls_are_time_in_mpi(
    build: Callable[..., Path],
    start: Callable[[str, int], list[str]],
    tmp_path: Path,
    kind: str,
    how: str,
    waits_in: str,
    computes: bool,
) -> None:
    code, record = observe([*start(kind, 2), str(build(kind, "polls.c")), how], tmp_path / "app.comm")
    assert code == 0 and record is not None
    events, calls = record.events[1], record.header["calls"]
    assert (np.diff(events["start_ns"]) >= 0).all()
    ended = np.maximum.accumulate(events["end_ns"])
    assert (events["start_ns"][1:] >= ended[:-1]).all()
    inside_ns, between_ns = (events["end_ns"] - events["start_ns"])[1:].sum(), (events["start_ns"][1:] - ended[:-1]).sum()
    if computes:
        assert between_ns > STEPS * 500_000  # behind each test
    else:
        assert inside_ns > between_ns
    # Not one event for each of thousands of polls, but one a step.
    of_polls = events[events["call"] == calls.index(waits_in)]
    assert len(of_polls) == pytest.approx(STEPS, abs=2)
    assert set(of_polls["kind"].tolist()) == {TIME_ONLY if how in ("probe", "barrier") else COMPLETION}
