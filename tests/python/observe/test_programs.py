"""Programs that nobody here wrote: what experts call their communication is told beforehand."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((PROGRAMS / "expected.toml").read_text())


def test_the_table_of_programs_is_whole() -> None:
    assert len(EXPECTED) >= 16
    assert len({program["family"] for program in EXPECTED.values()}) >= 8
    for name, program in EXPECTED.items():
        assert program.keys() >= {"family", "program", "command", "name", "why"}, name
        ranks = re.search(r"-n (\d+)", program["command"])
        assert ranks is not None and math.prod(program.get("dims", [int(ranks[1])])) == int(ranks[1]), name
