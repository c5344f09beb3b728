"""The workload "halo": messages as the library sends them, and all verbs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from rankwise.engines.placement import profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.workloads.base import Site
from rankwise.workloads.exchange import WORKLOAD as EXCHANGE
from rankwise.workloads.exchange import ExchangeOptions
from rankwise.workloads.halo import WORKLOAD, HaloCase, HaloOptions, Surface
from rankwise.workloads.stencil import StencilCase
from straight import link, machine
from verbs import Rankwise, Refused


def cases(**options: object) -> list[HaloCase]:
    return WORKLOAD.cases(HaloOptions(**options), Site())  # type: ignore[arg-type]


def sent(case: HaloCase, rank: int = 0) -> tuple[int, int]:
    mine = case.step.source == rank
    return int(mine.sum()), int(case.step.bytes[mine].sum())


def test_elements_go_once_to_a_rank() -> None:
    """The known answers of tests/cpp/halo/halo_test.cpp."""
    direct, staged = cases(grid="2x1x1", box="32x32x32")
    assert sent(direct) == sent(staged) == (1, 16384)
    direct, staged = cases(grid="3x3x3", box="5x5x5", width="2")
    assert sent(direct, 13) == (26, 8 * (9**3 - 5**3)) and sent(staged, 13) == (6, 8 * (9**3 - 5**3))
    assert staged.step.phases == 3
    (faces,) = cases(grid="3x3x3", box="5x5x5", width="2", fields="3x8", corners=False)
    assert sent(faces, 13) == (6, 3 * 8 * 6 * 5 * 5 * 2)
    (alone,) = cases(grid="2", box="4", width="3", algorithm="direct")
    assert sent(alone) == (1, 8 * 4)


def test_open_borders_have_no_neighbour() -> None:
    direct, staged = cases(grid="3x3", box="4x6", periodic="none")
    assert [sent(direct, rank)[0] for rank in (0, 1, 4)] == [3, 5, 8]
    assert sent(staged, 0) == (2, 8 * (4 + 7)) and sent(direct, 0) == (3, 8 * (4 + 6 + 1))


def test_faces_may_differ() -> None:
    direct, staged = cases(grid="4x2x1", halo="49kB,70kB,100kB")
    assert sent(direct) == (3, 2 * 49_000 + 2 * 70_000)  # both faces of an axis of two go to one rank, those of one stay
    assert sent(staged) == sent(direct) and (direct.step.phases, staged.step.phases) == (1, 2)
    assert direct.keys()["faces_bytes"] == [49_000, 70_000, 100_000]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid": "2x2"}, "either --halo"),
        ({"grid": "2x2", "halo": "1kB", "box": "4x4"}, "either --halo"),
        ({"grid": "2x2", "box": "4"}, "--box has 1 axes"),
        ({"grid": "2x2", "box": "4x4", "width": "1,2,3"}, "--width has 3 numbers"),
        ({"grid": "2x2", "box": "4x4", "width": "5"}, "passes the 4 cells"),
        ({"grid": "2x2", "box": "4x4", "fields": "three"}, "--fields"),
        ({"grid": "2x2", "box": "4x4", "algorithm": "shift"}, "--algorithm"),
        ({"grid": "2x2", "box": "4x4", "corners": False, "algorithm": "staged"}, "edges and corners"),
        ({"grid": "1x1", "box": "4x4"}, "nothing to time"),
        ({"grid": "2x2", "box": "4x4", "mode": "send"}, "--mode 'send' is unknown: did you mean ssend"),
    ],
)
def test_what_makes_no_halo_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        cases(**options)


def test_surfaces_name_a_question() -> None:
    direct, staged = cases(grid="4x2", box="8x8")
    assert direct.question == staged.question and direct.together != staged.together
    assert hash(Surface((2,), (True,), (5,))) == hash(Surface((2,), (True,), (5,)))


def test_predict_and_choose_speak_of_halos(rankwise: Rankwise, refused: Refused) -> None:
    profile = Path("link.json")
    machine({"sockets": 1, "cores": 4}, dict.fromkeys(("same-socket", "other-node"), link(1e-6, 1e-9))).save(profile)
    asked = f"--grid 4x4x2 --halo 49kB,70kB,100kB --profile {profile} --json"
    rows = rankwise(f"predict halo {asked}").json["rows"]
    assert [(row["algorithm"], row["messages_per_rank"]) for row in rows] == [("direct", 5), ("staged", 5)]
    assert rows[0]["bytes_per_rank"] == 2 * (49_000 + 70_000 + 100_000)
    # Axis by axis each face takes its own time, one after the other: at least the sum of the faces.
    assert rows[1]["time_s"] >= 3e-6 + 1e-9 * (49_000 + 70_000 + 200_000)
    answer = rankwise(f"choose halo {asked}").json
    assert answer["workload"] == "halo" and {one["algorithm"] for one in answer["candidates"]} == {"direct", "staged"}
    assert "either --halo" in refused("predict halo --grid 2x2")


def test_three_verbs_agree(profile: Profile) -> None:
    """The same messages asked for as whole blocks, as a stencil, and as surfaces of boxes of one cell have the same price."""
    random = Random(21)
    bare = replace(profile, packing=None)
    for _ in range(25):
        ndim = random.choice((1, 2, 3))
        periodic = random.random() < 0.5
        # Where an axis of two is periodic both images of a block travel in an exchange, one in a halo.
        grid = "x".join(str(random.randint(3 if periodic else 2, 5)) for _ in range(ndim))
        around, size, each = ("all" if periodic else "none"), random.choice((8, 3000, 100_000)), random.choice((1, 2, 4))
        ranks = math.prod(map(int, grid.split("x")))
        placed = profile_placement(bare, each, "blocked")
        exchange = ExchangeOptions("direct", "isend", "1" if ndim == 1 else grid, "1", str(size), ranks, periodic=around)
        boxes = {"grid": grid, "box": "x".join("1" * ndim), "fields": f"1x{size}", "periodic": around, "algorithm": "direct"}
        nodes = tuple(rank // each for rank in range(ranks))
        stencil = StencilCase(tuple(map(int, grid.split("x"))), (periodic,) * ndim, "moore:1", "blocked", nodes, 0, 0, size)
        asked = [*EXCHANGE.cases(exchange, Site()), *cases(**boxes), stencil]
        times = [row.time_s for row in predict_rows(bare, asked, placed)]
        assert times[1:] == pytest.approx(2 * times[:1], rel=1e-9), (grid, around, size, each)


def test_packing_is_priced_by_its_rows(profile: Profile) -> None:
    placed, bare = profile_placement(profile, 1, "blocked"), replace(profile, packing=None)
    for box, row_bytes, rate_s in (("8x8", (8, 64), None), ("8x1", (8,), 1e-9), ("1x8", (64,), 1e-10)):
        grid = {"8x8": "3x3", "8x1": "1x3", "1x8": "3x1"}[box]
        (case,) = cases(grid=grid, box=box, algorithm="direct")
        assert case.step.row_bytes is not None and set(case.step.row_bytes.tolist()) == set(row_bytes)
        with_packing, without = (predict_rows(one, [case], placed)[0] for one in (profile, bare))
        assert any("measure pack" in note for note in without.notes) and not any(
            "packing" in note for note in with_packing.notes
        )
        if rate_s is not None:
            sent = int(case.step.bytes[case.step.source == 0].sum())
            assert with_packing.time_s - without.time_s == pytest.approx(2 * sent * rate_s)
        assert case.simulated(without, profile).time_s == pytest.approx(with_packing.time_s)
    (case,) = cases(grid="3x3", halo="1kB", algorithm="direct")
    assert predict_rows(profile, [case], placed)[0].time_s == predict_rows(bare, [case], placed)[0].time_s


def test_a_step_tells_its_rows(profile: Profile) -> None:
    (case,) = cases(grid="2x1", box="2x3", fields="2x8", algorithm="direct")
    # Both neighbours along the axis are one rank: both layers go there once, rows of three cells.
    assert case.step.text == "rankwise-step 2 2 1\n0 2\n0 1 96 24\n1 0 96 24\n"


@pytest.mark.mpi
def test_real_ranks_move_every_byte(rankwise: Rankwise) -> None:
    rows = rankwise("run halo --grid 2x1x1 --box 8x8x8 --fields 2x8 --seconds 0.05 --json").answer["rows"]
    assert [(row["algorithm"], row["verified"], row["bytes_per_rank"]) for row in rows] == [
        ("direct", True, 2048), ("staged", True, 2048)
    ]  # fmt: skip


@pytest.mark.mpi
def test_validate_puts_both_side_by_side(rankwise: Rankwise, profile: Profile) -> None:
    profile.save(Path("m.json"))
    rows = rankwise("validate halo --grid 2x1 --box 8x8 --mode ssend --seconds 0.05 --profile m.json --json").answer["rows"]
    assert [(row["algorithm"], row["mode"], row["verified"]) for row in rows] == [
        ("direct", "ssend", True), ("staged", "ssend", True)
    ]  # fmt: skip


@pytest.mark.simgrid
@pytest.mark.mpi
def test_simulated_ranks_move_every_byte(rankwise: Rankwise, profile: Profile) -> None:
    profile.save(Path("m.json"))
    asked = "--grid 2x2 --box 64x64 --algorithm direct --profile m.json --ranks-per-node 1 --json"
    (row,) = rankwise(f"simulate halo {asked} --output simulated").answer["rows"]
    (predicted,) = rankwise(f"predict halo {asked}").json["rows"]
    assert row["verified"] and row["time_s"] == pytest.approx(predicted["time_s"], rel=0.5)
