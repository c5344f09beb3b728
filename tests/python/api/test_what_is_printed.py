"""Verbs whose JSON no other test prints: the fixture of all tests holds each
against its schema, here are what must be in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwise.observe.record import write_record
from synthetic_events import recorded, ring
from verbs import Rankwise


@pytest.fixture
def profile(rankwise: Rankwise) -> Path:
    """A profile of made-up figures."""
    rows = "".join(f"{size},{1000 + 0.1 * size},10\n" for size in (0, 8, 1024, 65536, 1 << 20))
    Path("table.csv").write_text("message_bytes,latency_ns,sigma_ns\n" + rows)
    assert rankwise("profile import table.csv --link same-socket -o machine.json").code == 0
    return Path("machine.json")


@pytest.fixture
def observed() -> Path:
    """A program of two ranks whose step is a ring."""
    write_record(Path("app.comm"), recorded(ring(2, 30, 20_000, 900), [0, 0]))
    return Path("app.comm")


@pytest.mark.parametrize(
    "asked",
    ["choose exchange", "predict exchange", "choose alltoall", "predict collective", "choose collective --bytes 8",
     "predict stencil --grid 1x1 --nodes 1 --ppn 1"],
)  # fmt: skip
def test_one_rank_alone_sends_nothing(rankwise: Rankwise, profile: Path, asked: str) -> None:
    ranks = "" if "--grid" in asked else "--ranks 1"
    assert rankwise(f"{asked} {ranks} --profile {profile}").out.startswith("✓ Nothing is sent: no rank has a partner.\n")


@pytest.mark.mpi
def test_steps_beside_their_predictions(rankwise: Rankwise, profile: Path, observed: Path) -> None:
    assert rankwise(f"run observed {observed} --seconds 0.05 --json").json["rows"][0]["verified"] is True
    beside = rankwise(f"validate observed {observed} --profile {profile} --seconds 0.05 --json").json
    assert beside["rows"][0]["error"] is not None and beside["workload"] == "observed"
    assert rankwise(f"measure pack -o {profile} --json").json


@pytest.mark.simgrid
def test_simulations(rankwise: Rankwise, profile: Path, observed: Path) -> None:
    alltoall = rankwise(f"simulate alltoall --ranks 4 --bytes 100 --profile {profile} --json").json
    assert alltoall["rows"][0]["verified"] is True
    assert rankwise(f"simulate observed {observed} --profile {profile} --json").json["rows"]
