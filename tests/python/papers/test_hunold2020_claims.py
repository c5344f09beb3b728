"""The published times beside the law of J_max, sentences on speed-ups, instantiation, and the simulated times that are kept."""

from dataclasses import replace

import pytest

from rankwise.papers.hunold2020_simgrid import GRIDS, MAPPINGS, STENCILS, Simulated, compare, kept, kept_section, whole
from rankwise.papers.hunold2020_times import INSTANTIATED, TABLES, instantiation, published_times, sections, up_to

SECONDS = {"hyperplane": [1e-3] * 4, "kd-tree": [1e-3] * 4, "nodecart": [2e-3] * 4, "stencil-strips": [3e-3] * 4}


def test_all_published_times_stand_beside_ours() -> None:
    law, figure9 = sections(published_times(), SECONDS)
    tables = {part.name: part for part in law.parts}
    assert {f"table-{name}" for name in TABLES.values()} < set(tables)
    rows = [len(tables[f"table-{name}"].rows) for name in TABLES.values()]  # type: ignore[union-attr]
    assert sum(rows) == len(published_times())
    assert "hyperplane is fastest" in figure9.paragraphs[0] and "stencil-strips takes 3.0 times" in figure9.paragraphs[0]


def test_sentences_on_speedups_follow_the_times() -> None:
    times = published_times()
    held = {(one.machine, one.nodes, one.stencil, one.mappings): one.holds for one in up_to(times)}
    assert held["JUWELS", 100, "component", ("kd-tree", "stencil-strips")]
    assert not held["VSC4", 50, "component", ("kd-tree", "stencil-strips")]  # 54.8 at 512 B
    slower = [replace(t, time_s=2 * t.time_s) if t.mapping in ("kd-tree", "stencil-strips") else t for t in times]
    assert not any(one.holds for one in up_to(slower) if one.stencil == "component" and one.says >= 5)
    assert sections(slower, SECONDS)[0].paragraphs[1] != sections(times, SECONDS)[0].paragraphs[1]
    exchanged = {**SECONDS, "nodecart": [1e-4] * 4}
    assert "nodecart is fastest" in sections(times, exchanged)[1].paragraphs[0]


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
