"""Profiles side by side: what changed, by how much; a history; what is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sample_figures
from rankwise.machine.profile import Profile
from rankwise.machine.trust import Trust
from rankwise.report.before_after import History, history_picture, ratio_picture, render


@pytest.fixture(scope="module")
def before() -> Profile:
    return replace(sample_figures.profile(("same-socket", "other-node")), trust=Trust("good", (), {}, 0.02, 10))


def test_a_slower_link_is_named_with_its_ratio(before: Profile) -> None:
    history = History([("old.json", before), ("new.json", sample_figures.slower(before, 1.5))])
    found = history.to_dict()
    assert found["outcome"] == "slower"
    assert found["headline"].startswith("Slower than old.json: a message of ") and "between nodes (send)" in found["headline"]
    assert "1.50 times as long (1." in found["headline"]
    latencies = [profile["links"]["other-node"]["latency_s"] for profile in found["profiles"]]
    assert latencies[1] == pytest.approx(1.5 * latencies[0])
    ratios = ratio_picture(history).panels[0]["data"]["values"]
    assert {round(row["ratio"], 6) for row in ratios} == {1.0, 1.5}
    assert all(row["low"] <= row["ratio"] <= row["high"] for row in ratios)
    page = render(history)
    assert "Machine: slower" in page and "rankwise doctor --nodes" in page


def test_the_same_is_the_same_and_a_history_has_every_profile(before: Profile) -> None:
    three = History([("a", before), ("b", sample_figures.slower(before, 2)), ("c", before)])
    found = three.to_dict()
    assert found["outcome"] == "same" and found["headline"].startswith("The same within 10 %")
    stops = history_picture(three).stops
    assert [words.partition(":")[0] for words in stops] == ["a", "b", "c"]
    assert "Machine: as before" in render(three)
