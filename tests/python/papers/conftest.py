"""Papers that are redone once for all of their tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest

from rankwise.papers import hunold2020_scores, paper_named
from rankwise.report.reproduction import Reproduction


@pytest.fixture(scope="session")
def redone() -> Callable[[str], Reproduction]:
    """Redo a paper with its data as they are, our search of mappings short."""

    @cache
    def of(paper: str) -> Reproduction:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hunold2020_scores, "scored", partial(hunold2020_scores.scored, effort_s=1e-4))
            return paper_named(paper).reproduce()

    return of
