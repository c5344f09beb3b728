"""A launch judged against itself: what drifts cancels, what the model gets wrong stays, noise is told from both."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rankwise import _core
from rankwise.engines.judge import judge as price
from rankwise.engines.paired import Judged, Launch, Plan, judge, sum_up, times_of
from rankwise.engines.placement import Placement
from rankwise.engines.predict import predict_rows
from rankwise.errors import InputError
from rankwise.launch.mpi import Mpi, stream_kernel
from rankwise.machine.profile import Link, Profile
from rankwise.measure.imports import import_profile
from rankwise.workloads.comparison import Paired, PairedSession
from rankwise.workloads.exchange import Asked, ExchangeCase, make_cases

DATA = Path(__file__).parents[2] / "data"
PAIR = _core.Placement.blocked(2, 2)
SIZES = (8, 1000, 64000)
ROUNDS = 5
FRESH = 1.3  # times a warm message
Times = Callable[[str], float]


@pytest.fixture(scope="module")
def profile() -> Profile:
    of_table = import_profile([DATA / "osu-samples/osu74_latency_default.txt"], "same-socket", "test")
    link = of_table.links["same-socket"]
    return replace(of_table, links={"same-socket": Link(link.send, {"ssend": link.send, "exchange": link.send})})


@pytest.fixture(scope="module")
def cases() -> list[ExchangeCase]:
    found = [
        *make_cases(
            Asked(("direct", "shift", "comb"), ("ssend", "send", "isend", "persistent"), (1, 2, 4), SIZES), (2,), (True,)
        ),
        *make_cases(Asked(("shift",), ("isend-self",), (1, 2, 4), SIZES), (2,), (True,)),
        *make_cases(Asked(("neighbor-alltoall",), ("isend",), (1, 2, 4), SIZES), (2,), (True,)),
        *make_cases(Asked(("team-shift",), ("ssend", "send", "isend", "persistent"), (1,), SIZES), (2,), (True,)),
    ]
    assert len(found) == 138
    return found


def truth(profile: Profile, cases: list[ExchangeCase]) -> Times:
    """A machine that is what the model says: its ingredients are FRESH times the profile's messages, and exchanges follow."""
    warm = Plan.of(cases, PAIR).warm_jobs(profile)

    def ingredient(job: str) -> float:
        kind, mode, *rest = job[1:].split(":")
        if kind == "warm":
            return warm[job]
        hops, width, size = (int(number) for number in rest[:3])
        one_s = FRESH * warm[f"+warm:send:{size}:0/1"]
        if kind in ("copy", "add"):
            return width * 1e-8 + 1e-10 * size * width
        if kind == "chain":
            return 2 * hops * one_s + 1e-7
        return one_s * (1 + 0.4 * (width - 1)) * (1 + 0.8 * (hops - 1)) + (5e-7 if kind == "collective" else 0)

    machine = Plan.of(cases, PAIR).machine(profile, ingredient)
    of_cases = {str(case.item): price(case.program(), case.message_bytes, PAIR, machine).time_s for case in cases}
    return lru_cache(maxsize=None)(lambda job: of_cases[job] if job in of_cases else ingredient(job))


def launch(
    profile: Profile, cases: list[ExchangeCase], true_s: Times, speed: float = 1.0, noise: float = 0.0, seed: int = 0
) -> Launch:
    """One launch of that machine as a kernel records it, ``speed`` times as slow, samples noisy by so much."""
    plan, rng = Plan.of(cases, PAIR), np.random.default_rng(seed)
    records = []
    for job in [*(str(case.item) for case in cases), *plan.jobs(), *plan.warm_jobs(profile)]:
        times_s = speed * true_s(job) * (1 + rng.gamma(1.0, noise, (ROUNDS * 10)) if noise else np.ones(ROUNDS * 10))
        records.append({"item": job, "verified": True, "rounds": [10] * ROUNDS, "time_s": (times_s + 2e-8).tolist()})
    return Launch.of(records, timer_cost_s=2e-8)


def judged(profile: Profile, cases: list[ExchangeCase], true_s: Times, **of_launch: float) -> Judged:
    found = judge(launch(profile, cases, true_s, **of_launch), profile, cases, PAIR)  # type: ignore[arg-type]
    assert found is not None
    return found


def summed(judgements: list[Judged | None], cases: list[ExchangeCase]) -> tuple[PairedSession, list[Paired]]:
    return sum_up(judgements, [case.way for case in cases])


def test_drift_between_launches_leaves_the_error_as_it_is(profile: Profile, cases: list[ExchangeCase]) -> None:
    cases = cases[::5]
    exact = truth(profile, cases)
    wrong = {str(case.item) for case in cases if case.algorithm == "shift"}
    true_s = lru_cache(maxsize=None)(lambda job: exact(job) * (1.25 if job in wrong else 1.0))
    steady = [judged(profile, cases, true_s, noise=0.02, seed=seed) for seed in range(4)]
    drifting = [judged(profile, cases, true_s, speed=2.0 ** (seed / 3), noise=0.02, seed=10 + seed) for seed in range(4)]
    (still, rows), (moved, other) = summed(list(steady), cases), summed(list(drifting), cases)
    errors, others = ([row.error for row in found if row.error is not None] for found in (rows, other))
    assert abs(np.mean(np.abs(errors)) - np.mean(np.abs(others))) < 0.005
    assert still.drift == pytest.approx(1.0, abs=0.1) and moved.drift == pytest.approx(2.0**0.5, abs=0.15)
    for case, row in zip(cases, other, strict=True):
        assert row.error == pytest.approx(-0.2 if str(case.item) in wrong else 0.0, abs=0.03)
        if str(case.item) in wrong:
            assert row.verdict == "wrong"
    assert moved.fresh == pytest.approx(FRESH, abs=0.05)
    spans = times_of(list(drifting))
    assert all(span.lo_s < span.time_s < span.hi_s for span in spans)


def test_a_machine_that_is_as_the_model_says_has_no_error(profile: Profile, cases: list[ExchangeCase]) -> None:
    found = judged(profile, cases, truth(profile, cases), speed=2.0)
    assert np.abs(found.ratios - 1).max() < 1e-6
    assert found.floor < 1e-9 and found.drift == pytest.approx(2.0) and found.fresh == pytest.approx(FRESH)
    session, rows = summed([found] * 3, cases)
    assert not session.unclear and all(abs(row.error or 0.0) < 1e-6 and row.half_width is not None for row in rows)


def test_a_profile_that_has_the_steps_predicts_by_them(profile: Profile, cases: list[ExchangeCase], tmp_path: Path) -> None:
    plan, true_s = Plan.of(cases, PAIR), truth(profile, cases)
    plan.profile(profile, true_s).save(tmp_path / "steps.json")
    with_steps = Profile.load(tmp_path / "steps.json")
    here = Placement(lambda ranks: PAIR, lambda nodes: PAIR)
    for case, row in zip(cases, predict_rows(with_steps, cases, here), strict=True):
        assert row.time_s == pytest.approx(true_s(str(case.item))), case
    assert predict_rows(profile, cases[:9], here)[0].time_s != pytest.approx(true_s(str(cases[0].item)))


def _made(floor: float, rows: int = 24, error: float = 0.1) -> Judged:
    return Judged(np.full(rows, 1 / (1 + error)), np.full(rows, 1 + floor), np.full(rows, 1e-6), 1.5, None)


def test_noisy_launches_are_left_out_and_too_few_are_unclear() -> None:
    groups = [f"way {i // 3}" for i in range(24)]
    session, rows = sum_up([_made(0.02), _made(0.02), _made(0.04), _made(0.5, error=3), None], groups)
    assert (session.launches, session.left_out, session.unclear) == (3, 2, False)
    assert session.floor == pytest.approx(0.08 / 3)
    assert {row.verdict for row in rows} == {"wrong"} and rows[0].error == pytest.approx(0.1)
    session, rows = sum_up([_made(0.02), _made(0.02), _made(0.5)], groups)
    assert session.unclear and {row.verdict for row in rows} == {"unclear"}
    session, rows = sum_up([None, None], groups)
    assert session.unclear and session.floor is None and rows[0].to_dict()["error"] is None
    assert replace(session, rows=rows).error is None


def test_intervals_are_those_of_other_groups_and_need_twenty_rows() -> None:
    errors = np.linspace(0.01, 0.24, 24)
    one = Judged(np.exp(errors), np.ones(24), np.ones(24), None, None)
    groups = [f"way {i // 3}" for i in range(24)]
    rows = sum_up([one] * 3, groups)[1]
    # The quantile ceil(.95 * 22) = 21 of 21 others: their largest.
    assert rows[0].half_width == pytest.approx(0.24) and rows[-1].half_width == pytest.approx(0.21)
    assert rows[0].inside is True and rows[-1].inside is False
    assert all(row.half_width is None and row.inside is None for row in sum_up([one] * 3, ["a", "b"] * 12)[1])


def test_a_launch_that_was_cut_off_is_not_judged(profile: Profile, cases: list[ExchangeCase]) -> None:
    few = cases[:3]
    whole = launch(profile, few, truth(profile, few))
    job = Plan.of(few, PAIR).jobs()[0]
    for samples in ({k: v for k, v in whole.samples_s.items() if k != job}, {**whole.samples_s, job: whole.samples_s[job][:1]}):
        assert judge(Launch(samples, whole.verified), profile, few, PAIR) is None


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("job", "why"),
    [
        ("+salt:isend:1:1:8:0/1", "choose step, chain, collective, copy or add"),
        ("+chain:isend:1:1:8:0/1", "choose ssend or send"),
        ("+step:isend:1:1:8:0/2", "there is no rank 2"),
        ("+warm:send:-8:0/1", "size -8 is negative"),
    ],
)
def test_the_kernel_refuses_jobs_that_make_no_sense(mpi: Mpi, job: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        list(stream_kernel(mpi, ["paired", "--grid", "2", "--jobs", job], 2, False, "refusing"))
