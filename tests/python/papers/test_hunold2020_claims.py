"""The published times beside the law of J_max, sentences on speed-ups, instantiation, and the simulated times that are kept."""

from dataclasses import replace
from typing import Any

import pytest

from rankwise.papers.claims import Verdict, judge
from rankwise.papers.hunold2020_claims import CLAIMS, Evidence
from rankwise.papers.hunold2020_scores import INSTANTIATED, MACHINES, TABLES, fit_line, instantiation, published_times, sections
from rankwise.papers.hunold2020_simgrid import GRIDS, MAPPINGS, STENCILS, Simulated, compare, kept, kept_section, whole

SECONDS = {"hyperplane": [1e-3] * 4, "kd-tree": [1e-3] * 4, "nodecart": [2e-3] * 4, "stencil-strips": [3e-3] * 4}


def test_all_published_times_stand_beside_ours() -> None:
    law, figure9 = sections(published_times(), {machine: fit_line(machine) for machine in MACHINES}, SECONDS)
    tables = {part.name: part for part in law.parts}
    assert {f"table-{name}" for name in TABLES.values()} == set(tables)
    rows = [len(tables[f"table-{name}"].rows) for name in TABLES.values()]  # type: ignore[union-attr]
    assert sum(rows) == len(published_times())
    assert "hyperplane is fastest" in figure9.paragraphs[0] and "stencil-strips takes 3.0 times" in figure9.paragraphs[0]


def _verdicts(**more: Any) -> dict[str, Verdict]:
    """The sentences on times, by what they say; scores are not looked at."""
    of = Evidence([], [], **{"times": published_times(), **more})
    claims = [claim for claim in CLAIMS if claim.ours and "Table" in claim.where and "J predicts" not in claim.says]
    return {f"{one.where}: {one.says}": one for one in judge(claims, of, "")}


def test_sentences_on_speedups_follow_the_times() -> None:
    found = _verdicts()
    component = "times blocked ({}, N = {}, component, kd-tree and stencil-strips)"
    assert found[f"VI-D, Table VII: up to 16 {component.format('JUWELS', 100)}"].holds
    assert not found[f"VI-D, Table II: up to 10 {component.format('VSC4', 50)}"].holds  # 54.8 at 512 B
    slow = ("kd-tree", "stencil-strips")
    slower = _verdicts(times=[replace(t, time_s=2 * t.time_s) if t.mapping in slow else t for t in published_times()])
    assert not any(one.holds for one in slower.values() if "up to" in one.says and "component" in one.says)


def test_ratios_of_figure_9_follow_our_times() -> None:
    def held(seconds: dict[str, float]) -> list[bool | None]:
        of = Evidence([], [], published_times(), seconds)
        return [one.holds for one in judge([claim for claim in CLAIMS if claim.where == "VI-E, Fig. 9"], of, "")]

    as_published = {"hyperplane": 0.01, "kd-tree": 0.0102, "nodecart": 0.0128, "stencil-strips": 0.025}
    assert held(as_published) == [True] * 4
    assert held({**as_published, "nodecart": 0.01, "stencil-strips": 0.01}) == [True, True, False, False]


def test_instantiation_times_every_mapper() -> None:
    seconds = instantiation(4)
    assert set(seconds) == set(INSTANTIATED) and all(value > 0 for values in seconds.values() for value in values)


def test_the_kept_times_are_of_the_campaign() -> None:
    times = kept()
    assert 0 < len(times) <= whole()
    assert len({(t.nodes, t.stencil, t.message_bytes, t.mapping) for t in times}) == len(times)
    for time in times:
        assert time.nodes in GRIDS and time.stencil in STENCILS and time.mapping in MAPPINGS and time.time_s > 0
    assert f"{len(times)} of {whole()} times are kept" in kept_section().paragraphs[0]


def test_a_kept_time_without_its_blocked_one_is_not_compared() -> None:
    assert compare([Simulated(50, "component", 64, "kd-tree", 1e-5)]) == []
    (blocked, kd) = compare([Simulated(50, "component", 64, m, t) for m, t in (("blocked", 2e-5), ("kd-tree", 1e-5))])
    assert (blocked.speedup, kd.speedup) == (1, pytest.approx(2)) and set(kd.published) == {"VSC4", "SuperMUC-NG", "JUWELS"}
