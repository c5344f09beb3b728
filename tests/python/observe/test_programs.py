"""Programs that nobody here wrote: what experts call their communication is told beforehand."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rankwise.advise.evidence import evidence_of
from rankwise.observe.record import read_record

PROGRAMS = Path(__file__).parent / "programs"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((PROGRAMS / "expected.toml").read_text())


def test_the_table_of_programs_is_whole() -> None:
    assert len(EXPECTED) >= 16
    assert len({program["family"] for program in EXPECTED.values()}) >= 8
    for name, program in EXPECTED.items():
        assert program.keys() >= {"family", "program", "command", "name", "why"}, name
        ranks = re.search(r"-n (\d+)", program["command"])
        assert ranks is not None and math.prod(program.get("dims", [int(ranks[1])])) == int(ranks[1]), name


@pytest.mark.parametrize("program", EXPECTED)
def test_programs_are_named_as_experts_name_them(program: str) -> None:
    """From records of these programs, in which the first steps are left."""
    expected = EXPECTED[program]
    evidence = evidence_of(read_record(PROGRAMS / f"{program}.comm"), program)
    named = evidence.pattern.naming
    assert named.name == expected["name"], named
    assert sorted(expected.get("dims", named.grid)) == sorted(named.grid)
    assert expected.get("neighbours", named.stencil) == named.stencil
    assert {None, expected.get("periodic")} >= set(named.borders) or "periodic" not in expected
    if evidence.steps is not None:
        assert 0 < sum(kind.share for kind in evidence.steps.kinds) <= 1.01
    assert (
        "% of" in evidence.steps.words
        if evidence.steps
        else any("times are of the whole run" in note for note in evidence.notes)
    )
