"""One question has one answer, whoever asks; what is wrong is refused in one line."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from breadth import TIMES
from rankwise import _core
from rankwise.decide.choice import Chooser, Question
from rankwise.engines.machines import machine_of_profile
from rankwise.engines.model import Model
from rankwise.engines.placement import Placement, Seats, placement_of, profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.machine.profile import Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.measure.imports import import_profile
from rankwise.workloads.exchange import ExchangeCase
from rankwise.workloads.stencil import StencilCase

DATA = Path(__file__).parents[2] / "data"
MODES = ("isend", "ssend", "send")
ALGORITHMS = ("direct", "shift", "comb")


@pytest.fixture(scope="module")
def profile() -> Profile:
    """A machine whose links and card all differ."""
    between = import_profile([DATA / "werner2023_pingpong.csv"], "other-node", "test")
    inside = import_profile([DATA / "osu-samples/osu74_latency_default.txt"], "same-socket", "test")
    shared = Shared(card=Resource(3.1e9, 2.3e7), memory=Resource(2.9e10))
    return replace(between, links={**inside.links, **between.links}, shared=shared)


def drawn_grids(rng: random.Random, count: int) -> Iterator[tuple[tuple[int, ...], bool, int, int]]:
    """Yield (grid, periodic, cutoff, ranks a node)."""
    while count > 0:
        axes = rng.randint(1, 3)
        grid = tuple(rng.randint(2, 60 if axes == 1 else 9) for _ in range(axes))
        periodic, cutoff = rng.random() < 0.5, rng.randint(1, 2)
        if periodic and min(grid) < 2 * cutoff + 1:
            continue
        yield grid, periodic, cutoff, rng.choice([1, 2, 3, 4, 7, 12, 48])
        count -= 1


def times_by_all(
    profile: Profile, placement: Placement, grid: tuple[int, ...], periodic: bool, cutoff: int, size_bytes: int
) -> dict[str, dict[tuple[str, str], float]]:
    """Return what each of those who answer says of each exchange."""
    wraps, ranks = (periodic,) * len(grid), math.prod(grid)
    cases = [ExchangeCase(algorithm, mode, grid, wraps, cutoff, size_bytes) for algorithm in ALGORITHMS for mode in MODES]
    predicted = {(row.case.algorithm, row.case.mode): row.time_s for row in predict_rows(profile, cases, placement)}
    contest = _core.Contest(
        list(grid), list(wraps), [cutoff] * len(grid), "full", list(ALGORITHMS), list(MODES), [], placement.of_ranks(ranks)
    )
    ranked = contest.ranked(size_bytes, machine_of_profile(profile))
    return {"predict": predicted, "contest": {(one.algorithm, one.mode): one.time_s for one in ranked}}


def test_who_predicts_and_who_chooses_say_the_same(profile: Profile) -> None:
    """Of 300 questions; RANKWISE_TEST_TIMES=7: of more than 2000."""
    rng = random.Random(1)
    asked = 0
    for grid, periodic, cutoff, ranks_per_node in drawn_grids(rng, 17 * TIMES):
        placement = profile_placement(profile, ranks_per_node)
        for _ in range(2):
            size_bytes = round(8 * (1e6 / 8) ** rng.random())
            answers = times_by_all(profile, placement, grid, periodic, cutoff, size_bytes)
            assert answers["predict"] == answers["contest"]
            asked += len(answers["predict"])
    assert asked >= 300 * TIMES


def test_choose_says_the_same(profile: Profile) -> None:
    rng = random.Random(2)
    for grid, periodic, cutoff, ranks_per_node in drawn_grids(rng, TIMES):
        size_bytes = rng.randint(8, 100_000)
        placement = profile_placement(profile, ranks_per_node)
        choice = Chooser(profile, placement=placement.of_ranks).choose(
            Question(grid, (periodic,) * len(grid), cutoff, size_bytes, "full", ALGORITHMS, MODES)
        )
        chosen = {(one.case.algorithm, one.case.mode): one.time_s for one in choice.candidates}
        assert chosen == times_by_all(profile, placement, grid, periodic, cutoff, size_bytes)["predict"]
        assert choice.best.time_s == min(chosen.values())


def test_a_stencil_is_one_step_of_direct_messages(profile: Profile) -> None:
    rng = random.Random(3)
    for grid, periodic, cutoff, ranks_per_node in drawn_grids(rng, 60):
        wraps, size_bytes = (periodic,) * len(grid), rng.randint(0, 100_000)
        nodes = tuple(rank // ranks_per_node for rank in range(math.prod(grid)))
        exchange = ExchangeCase("direct", "isend", grid, wraps, cutoff, size_bytes)
        stencil = StencilCase(grid, wraps, f"moore:{cutoff}", "blocked", nodes, 0, 0, size_bytes)
        rows = predict_rows(profile, [exchange, stencil], profile_placement(profile, ranks_per_node))
        assert rows[0].time_s == rows[1].time_s


@pytest.mark.parametrize(("grid", "ranks_per_node"), [((17, 241), 12), ((4097,), 48), ((100, 100, 100), 48)])
def test_many_ranks_have_one_answer_too(profile: Profile, grid: tuple[int, ...], ranks_per_node: int) -> None:
    placement = profile_placement(profile, ranks_per_node)
    answers = times_by_all(profile, placement, grid, True, 1, 65536)
    assert answers["predict"] == answers["contest"]
    packed = answers["predict"]["direct", "isend"]
    alone = times_by_all(profile, profile_placement(profile, 1), grid, True, 1, 65536)["predict"]["direct", "isend"]
    if len(grid) > 1:  # of a line only two ranks of a node have partners elsewhere
        assert packed > 2 * alone


def test_a_placement_that_is_told_rank_by_rank_is_the_same_as_blocks(profile: Profile) -> None:
    grid, nodes = (6, 5, 4), [rank // 8 for rank in range(120)]
    told = placement_of(Seats(), lambda ranks: 8)
    listed = Placement(lambda ranks: _core.Placement.on_nodes(np.asarray(nodes, dtype=np.int32)), told.of_nodes)
    for periodic in (True, False):
        assert times_by_all(profile, told, grid, periodic, 1, 5000) == times_by_all(profile, listed, grid, periodic, 1, 5000)


def test_an_interval_has_a_width_and_holds_its_time(profile: Profile) -> None:
    machine = machine_of_profile(profile)
    placement = _core.Placement.blocked(216, 12)
    for algorithm in (*ALGORITHMS, "team-shift"):
        for mode in MODES:
            exchange = _core.Exchange(
                algorithm, mode, [6, 6, 6], [True] * 3, [1] * 3, "full", 2 if algorithm == "team-shift" else 1
            )
            for size_bytes in (0, 8, 5000, 200_000):
                cost = exchange.judged(placement).cost(size_bytes, machine)
                assert 0 < cost.low_s < cost.time_s < cost.high_s


SEND = {"other-node": {"send": [(0, 1e-6, 1e-9)]}, "same-socket": {"send": [(0, 5e-7, 1e-10)]}}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: _core.Placement.at([(-1, 0, -1, 0), (0, 0, -1, 1)]), "negative"),
        (lambda: _core.Placement.at([(0, 0, -1, 0), (1, 0, -1, 1)]), "socket"),
        (lambda: _core.Placement.blocked(8, 0), "node"),
        (lambda: _core.Placement.on_nodes(np.asarray([0, -2], dtype=np.int32)), "negative"),
        (lambda: _core.Placement.blocked(8, 2).with_levels([4, 2]), "grow"),
        (lambda: _core.Machine(SEND, {}, [(4, 1e9), (2, 1e9)]), "grow"),
        (lambda: _core.Machine(SEND, {}, [(4, 0.0)]), "links up"),
        (lambda: _core.Machine(SEND, {"card": {"bytes_per_s": 0.0}}), "card"),
        (lambda: _core.Machine(SEND, {"memory": {"bytes_per_s": -1.0}}), "memory"),
        (lambda: _core.Machine(SEND, {"card": {"bytes_per_s": 1e9, "messages_per_s": 0.0}}), "card"),
        (lambda: _core.Machine(SEND).with_card(0.0), "card"),
        (lambda: _core.Machine({"other-node": {"send": []}}), "line"),
        (lambda: _core.Exchange("direct", "isend", [8], [True], [1]).judged(_core.Placement.blocked(9, 2)), "9 ranks"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(make: Callable[[], object], told: str) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert told in str(error.value) and "\n" not in str(error.value)


def test_figures_of_which_nothing_is_known_have_an_interval_all_the_same(profile: Profile) -> None:
    cost = _core.Exchange("direct", "isend", [4, 4], [True] * 2, [1] * 2, "full", 1).judged(_core.Placement.blocked(16, 4))
    machine = machine_of_profile(profile)
    low_s, high_s = Model(profile).interval("isend", [8], cost.cost(8, machine), lambda on: cost.cost(8, on), [], 1000.0)
    # Links may take no time at all or for ever; what they share passes no more than it does.
    assert 0 < low_s < cost.cost(8, machine).time_s and 1e10 < high_s < math.inf
