"""The interval of pairs is exact, false claims are rare, what is planted is found."""

from __future__ import annotations

import importlib.util
import itertools
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rankwise.trial.judgement import (
    ALPHA,
    FASTER,
    NO_GAIN,
    SLOWER,
    UNCLEAR,
    could_find,
    judge,
    least_pairs,
    outside,
    shift_interval,
)  # fmt: skip
from rankwise.trial.session import power_words


@pytest.mark.parametrize("pairs", [6, 8, 10])
@pytest.mark.parametrize("alpha", [ALPHA, 0.05, 0.2])
def test_the_quantile_is_that_of_all_signs(pairs: int, alpha: float) -> None:
    sums = [sum(rank for rank, up in enumerate(ups, 1) if up) for ups in itertools.product((0, 1), repeat=pairs)]
    cut = outside(pairs, alpha)
    assert np.mean([one < cut for one in sums]) <= alpha / 2 < np.mean([one <= cut for one in sums])


def test_an_interval_holds_the_shift_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    holds = [low <= 0.1 <= high for _, low, high in (shift_interval(rng.normal(0.1, 1.0, 12), 0.05) for _ in range(1500))]
    assert 0.94 < np.mean(holds) < 0.97
    assert shift_interval([0.1] * 4) == (0.1, -math.inf, math.inf)


@pytest.fixture(scope="module")
def trials() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trials", Path(__file__).parents[3] / "benchmarks" / "trials.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("loaded", [False, True])
def test_equal_placements_are_told_apart_in_five_of_a_hundred_at_most(trials: ModuleType, loaded: bool) -> None:
    ends = [trials.end_of(pairs) for pairs in trials.simulated_pairs(np.random.default_rng(20), 200, 0.0, loaded)]
    assert np.mean([end.verdict in (FASTER, SLOWER) for end in ends]) <= 0.05
    assert np.mean([end.low <= 1 <= end.high for end in ends]) >= 0.95


def test_a_fifth_is_found_on_a_busy_machine(trials: ModuleType) -> None:
    ends = [trials.end_of(pairs) for pairs in trials.simulated_pairs(np.random.default_rng(21), 200, 0.2, loaded=True)]
    assert np.mean([end.verdict == FASTER for end in ends]) >= 0.95


def test_verdicts() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 0.002, 16)
    assert judge(noise[:10]).verdict == NO_GAIN
    assert judge(noise[:10] + 0.1).verdict == FASTER and judge(noise[:10] - 0.1).verdict == SLOWER
    assert judge(noise[:10] + 0.1).ratio == pytest.approx(math.exp(0.1), rel=0.01)
    early = judge(noise[:9] + 0.1)  # nobody looks at nine
    assert (early.verdict, early.done) == (UNCLEAR, False)
    wide = judge(rng.normal(0, 0.3, 16), budget=16)
    assert wide.done and wide.verdict == UNCLEAR and wide.more > 0
    assert judge(noise[:2], budget=2).to_dict()["ratio_lo"] is None


def test_the_power_told_is_that_of_simulated_trials() -> None:
    gain = could_find(0.1, 16)
    rng = np.random.default_rng(7)
    found = [shift_interval(rng.normal(math.log1p(gain), 0.1, 16))[1] > 0 for _ in range(400)]
    assert 0.84 < np.mean(found) < 0.95


def test_so_few_pairs_that_they_have_no_interval_find_nothing() -> None:
    few = least_pairs() - 1
    assert math.isinf(could_find(0.1, few)) and math.isfinite(could_find(0.1, few + 1))
    judgement = judge([0.5] * few, budget=few)
    assert (judgement.verdict, judgement.low, judgement.to_dict()["could_find"]) == ("cannot tell", 0.0, None)
    assert power_words(0.1, few) == f"{few} pairs have no interval, whatever they tell: {few + 1} have one"
