"""docs/papers.md is what the reproductions say today; its results change with their figures."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankwise.papers import (
    czechowski2012_claims,
    hunold2020_claims,
    hunold2020_scores,
    wagner2024_claims,
    werner2023_claims,
)
from rankwise.papers.claims import Claim, Verdict, judge
from rankwise.papers.index import page
from rankwise.report.reproduction import Reproduction

PAGE = Path(__file__).parents[3] / "docs" / "papers.md"


@pytest.fixture(scope="module")
def verdicts(redone: Callable[[str], Reproduction]) -> dict[str, Sequence[Verdict]]:
    # Of hunold2020 without the times of our mappers, which differ from run to run, and with a smaller effort of ours.
    results = [hunold2020_scores.scored(instance, 1e-4) for instance in hunold2020_scores.instances()]
    large = [hunold2020_scores.scored(instance, 1e-4) for instance in hunold2020_scores.throughput_instances()]
    evidence = hunold2020_claims.Evidence(results, large, hunold2020_scores.published_times())
    return {
        "wagner2024": redone("wagner2024").claims,
        "werner2023": redone("werner2023").claims,
        "czechowski2012": redone("czechowski2012").claims,
        "hunold2020": judge(hunold2020_claims.CLAIMS, evidence, "rankwise reproduce hunold2020"),
    }


def test_the_page_is_what_the_reproductions_say(verdicts: dict[str, Sequence[Verdict]]) -> None:
    made = page(verdicts)
    if os.environ.get("RANKWISE_WRITE_GOLDEN"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "write it anew with RANKWISE_WRITE_GOLDEN=1"


CLAIMS: Mapping[str, Sequence[Claim[Any]]] = {
    "wagner2024": wagner2024_claims.CLAIMS, "werner2023": werner2023_claims.CLAIMS,
    "hunold2020": hunold2020_claims.CLAIMS,
    "czechowski2012": czechowski2012_claims.CLAIMS,
}  # fmt: skip
# All numbers in the texts of the papers, each kind from 1 to its last.
NUMBERS = {
    "werner2023": {"Eq.": 3, "Table": 6, "Figure": 5, "6.2.": 4},
    "wagner2024": {"Table": 3, "Figure": 10},
    "hunold2020": {"Eq.": 7, "Table": 7, "Figure": 9, "Algorithm": 3, "Listing": 1},
    "czechowski2012": {"Eq.": 11, "Table": 1, "Figure": 6, "Prediction": 3},
}
ROMAN = ["", "I", "II", "III", "IV", "V", "VI", "VII"]


def _numbers(heading: str) -> set[tuple[str, int]]:
    """The numbers that an item's heading names: "Eqs. 1 to 5, Figure 6" names six."""
    found: set[tuple[str, int]] = set()
    kind = ""
    heading = heading.replace("Figs", "Figures").replace("Fig.", "Figure")
    for name, first, last in re.findall(r"(6\.2\.|[A-Z][a-z]+\.? )?(?:(?<=[ .])|^)(\d+|[IV]+)(?: to (\d+))?(?![\w.])", heading):
        kind = {"Eqs.": "Eq."}.get(name.strip(), name.strip().rstrip("s")) or kind
        start = ROMAN.index(first) if first in ROMAN else int(first)
        found |= {(kind, number) for number in range(start, int(last or start) + 1)}
    return found


@pytest.mark.parametrize("paper", NUMBERS)
def test_every_number_of_the_papers_is_there(paper: str) -> None:
    there = set().union(*(_numbers(claim.where) for claim in CLAIMS[paper]))
    wanted = {(kind, number) for kind, last in NUMBERS[paper].items() for number in range(1, last + 1)}
    assert wanted <= there, sorted(wanted - there)
