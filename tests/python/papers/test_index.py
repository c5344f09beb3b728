"""docs/papers.md is what the reproductions say today; its results change with their figures."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pytest

from rankwise.papers import czechowski2012, hunold2020, wagner2024, werner2023
from rankwise.papers import hunold2020_measured as measured
from rankwise.papers.hunold2020_simgrid import kept, whole
from rankwise.papers.hunold2020_times import published_times
from rankwise.papers.index import H, W, items, page

PAGE = Path(__file__).parents[3] / "docs" / "papers.md"


@pytest.fixture(scope="module")
def records() -> dict[str, Any]:
    # Of hunold2020 what the page needs, without the times of our mappers, which differ from run to run.
    results = [hunold2020.scored(instance, 1e-4) for instance in hunold2020.instances()]
    large = [hunold2020.scored(instance, 1e-4) for instance in hunold2020.throughput_instances()]
    mappers = {
        "claims": [vars(claim) for claim in hunold2020.claims(results, large)],
        **measured.record(published_times(), {name: [1.0] for name in measured.INSTANTIATED}),
        "kept": len(kept()),
        "campaign": whole(),
    }
    papers = {
        module.__name__.split(".")[-1]: dict(module.reproduce().record) for module in (werner2023, wagner2024, czechowski2012)
    }
    return {**papers, H: mappers}


def test_the_page_is_what_the_reproductions_say(records: dict[str, Any]) -> None:
    made = page(records)
    if os.environ.get("RANKWISE_WRITE_GOLDEN"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "write it anew with RANKWISE_WRITE_GOLDEN=1"


def test_every_number_of_the_papers_is_there() -> None:
    told = " ".join(f"{item.paper}: {item.number}." for item in items())
    for number in (
        "werner2023: Eq. 1.", "Eqs. 2, 3.", "Table 1.", "Tables 2 to 6.", "Figures 1 to 5.", "6.2.1", "6.2.2", "6.2.3", "6.2.4",
        "wagner2024: Figures 1, 2, "
        "6.", "Table 1, Figures 3, 4.", "Figure 5.", "Table 2, Figures 7, 8.", "Table 3, Figures 9, 10.",
        "Figures 1 to "
        "3", "Algorithms 1 to 3", "Figures 4, 5.", "Figures 6, 7", "Figure 8.", "Figure 9.", "Table I.", "Tables II, III.",
        "Tables IV, "
        "V.", "Tables VI, VII.", "Eqs. 1 to 5.", "Eqs. 6, 7.", "Eqs. 8, 9.", "Eq. 10, Figure 6.", "Eq. 11.", "Figures 2 to 4.",
        "Prediction 1.", "Prediction 2, Figure 5.", "Prediction 3.",
    ):  # fmt: skip
        assert number in told, number


def test_verdicts_change_with_the_figures(records: dict[str, Any]) -> None:
    before = page(records)
    changed = copy.deepcopy(records)
    changed[W]["share_inside_sigma_published"] = 0.5
    for remark in changed["wagner2024"]["remarks"]:
        remark["holds"] = not remark["holds"]
    for claim in changed[H]["claims"]:
        claim["holds"] = not claim["holds"]
    changed["czechowski2012"]["figure6_statements"][0]["trend_agrees"] = False
    different = [a for a, b in zip(before.splitlines(), page(changed).splitlines(), strict=True) if a != b]
    assert len(different) == 7  # Tables 2 to 6; four of Wagner; two of Hunold; Figure 6
