"""The trade-off map, what the printed figures say of the raw samples, and that sentences follow their figures."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

import schemas
from rankwise.api.reporting import Reproduced
from rankwise.machine.profile import Link
from rankwise.papers import werner2023_tradeoff as tradeoff
from rankwise.papers.werner2023 import raw_section
from rankwise.papers.werner2023_run import reproduction
from rankwise.papers.werner2023_study import Study, ping_pong_profile, published_rows
from rankwise.workloads.base import Row, Span
from rankwise.workloads.exchange import Asked, make_cases


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(published_rows(), ping_pong_profile())


def _at(study: Study, order: str, reading: str, size: int) -> tradeoff.Crossover:
    (found,) = (c for c in tradeoff.crossovers(study.duels) if (c.order, c.reading, c.message_bytes) == (order, reading, size))
    return found


def test_like_for_like_team_shift_wins_later_than_against_a_shift_in_turns(study: Study) -> None:
    assert _at(study, "in turns", "pooled", 1000).always == 3
    assert _at(study, "receives posted first", "pooled", 1000).always == 3
    together = _at(study, "both directions together", "pooled", 1000)
    assert (together.first, together.always, together.surely) == (4, 6, 10)


def test_receives_posted_first_halve_the_shift(study: Study) -> None:
    shift = {(d.order, d.message_bytes, d.cutoff): d.shift.time_s for d in study.duels}
    for size in study.sizes:
        for k in tradeoff.CUTOFFS:
            assert shift["receives posted first", size, k] == pytest.approx(shift["in turns", size, k] / 2, rel=1e-9)


def test_the_map_says_where_the_intervals_overlap(study: Study) -> None:
    for duel in study.duels:
        ends = sorted([duel.shift.ends_s, duel.team.ends_s])
        assert duel.mark.isupper() == (ends[0][1] < ends[1][0])
        assert duel.mark.upper() == (
            "T" if duel.team.time_s < duel.shift.time_s - 1e-12 else "S"
        )  # the same but for rounding: S


def test_the_sentence_on_the_crossover_follows_the_times(study: Study) -> None:
    before = tradeoff.sentence(study.duels, "in turns")
    slower = [dataclasses.replace(d, team=d.team.scaled(3)) for d in study.duels]
    assert tradeoff.sentence(slower, "in turns") != before
    never = [dataclasses.replace(d, team=d.team.scaled(100)) for d in study.duels]
    assert "at no cutoff for good" in tradeoff.sentence(never, "in turns")


def _paragraphs(study: Study) -> str:
    return " ".join(raw_section(study).paragraphs)


def test_claims_on_traffic_and_noise_follow_the_figures(study: Study) -> None:
    assert "3 are among them" in _paragraphs(study)
    assert "10 kB (1.07 times T(m)), 100 kB (1.13 times T(m))" in _paragraphs(study)
    quiet = [dataclasses.replace(row, sigma_s=row.measured_s if row.cutoff == 1 else 1e-9) for row in study.rows]
    assert "0 are among them" in _paragraphs(Study(quiet, study.profile))
    as_predicted = [dataclasses.replace(row, measured_s=row.predicted_s) for row in study.rows]
    assert "More than 5 % slower: none" in _paragraphs(Study(as_predicted, study.profile))


def test_the_bound_on_the_smallest_fifth_holds_for_samples() -> None:
    samples = np.random.default_rng(1).lognormal(size=5000)
    smallest = np.sort(samples)[:1000].mean()
    assert samples.mean() - 2 * samples.std() <= smallest <= samples.mean()


def _rows(factor: float, noise: float) -> list[Row]:
    rng = np.random.default_rng(7)
    cases = make_cases(Asked(["shift"], ["ssend"], [1, 2], [10, 1000]), [2], [True])
    curve = ping_pong_profile().links["other-node"].send

    def samples(case_bytes: int, k: int) -> Sequence[float]:
        return np.asarray(factor * 4 * k * curve.time_s(case_bytes) * (1 + noise * rng.exponential(size=200)))

    return [
        Row.of("real", case, Span(1, 1, 1), 1, 1, True, (), samples_s=samples(case.message_bytes, case.cutoff))
        for case in cases
    ]


def test_the_same_experiment_here_says_which_statistic_is_closer() -> None:
    profile = ping_pong_profile()
    profile = dataclasses.replace(profile, links={"same-socket": Link(profile.links["other-node"].send)})
    of_both = {"mean": profile, "smallest-20": profile}
    assert "closer than by means" in reproduction(_rows(1, 0.5), of_both, 2).answer[0].replace("no closer", "no-closer")
    found = reproduction(_rows(0.7, 0.5), of_both, 2)
    assert "no closer than by means" in found.answer[0]
    schemas.check("reproduce-werner2023-run", Reproduced(found, []).to_dict())
