"""What our own exchanges read straight from other ranks' memory goes by message while it is observed; so do neighbourhood
collectives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rankwise.advise.evidence import evidence_of
from rankwise.observe.record import read_record
from rankwise.observe.start import observe
from rankwise.observe.summary import pairs

pytestmark = pytest.mark.mpi

_HALO = """
from mpi4py import MPI
import rankwise
array = rankwise.halo_array(1002)
halo = rankwise.Halo(MPI.COMM_WORLD.Create_cart([2], [True]), [array], width=1, algorithm="window")
for _ in range(10_000):
    halo.exchange()
"""
_FFT = """
from mpi4py import MPI
import rankwise
fft = rankwise.Fft(MPI.COMM_WORLD, (16, 16, 16), method="alltoall", effort="model")
field, spectrum = fft.arrays()
for _ in range(10):
    fft.forward(field, spectrum)
"""


@pytest.mark.parametrize(
    ("program", "expected_bytes"), [(_HALO, 10_000 * 8 * 2 * 2), (_FFT, 10 * 16**3 * 16)], ids=["halo", "fft"]
)
def test_is_seen(start: Callable[[str, int], list[str]], tmp_path: Path, program: str, expected_bytes: int) -> None:
    code, _ = observe([*start("pip", 2), sys.executable, "-c", program], tmp_path / "app.comm")
    assert code == 0
    record = read_record(tmp_path / "app.comm")
    by_collectives = sum(one["bytes"] * one["calls"] for one in record.header["collectives"] if one["call"] == "MPI_Alltoallv")
    seen = by_collectives + sum(pair["bytes"] for pair in pairs(record))
    assert expected_bytes <= seen < 1.2 * expected_bytes


def test_a_neighbourhood_collective_is_its_messages_in_the_step_too(
    build: Callable[[str, str], Path], start: Callable[[str, int], list[str]], tmp_path: Path
) -> None:
    code, record = observe([*start("pip", 4), str(build("pip", "neighbor_steps.c"))], tmp_path / "app.comm")
    assert code == 0 and record is not None
    evidence = evidence_of(record, "app.comm")
    assert evidence.steps is not None and [kind.steps for kind in evidence.steps.kinds] == [20]
    whole = {(pair["source"], pair["dest"]): pair["bytes"] for pair in pairs(record)}
    traffic = evidence.traffic
    per_step = dict(zip(zip(traffic.source.tolist(), traffic.peer.tolist(), strict=True), traffic.bytes.tolist(), strict=True))
    assert per_step == {ends: count // 20 for ends, count in whole.items()}
    assert per_step[0, 1] == 1500 and per_step[1, 0] == 1000
