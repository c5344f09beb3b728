"""The proof of an optimum in a process of its own, which can be watched and ended while it lasts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError
from rankwise.launch.process import Child
from rankwise.mapping import optimum
from rankwise.progress import meter

if TYPE_CHECKING:
    from rankwise.mapping.problem import Problem


def prove(problem: Problem) -> tuple[int | None, str]:
    """Return the least J_sum of a tiny problem, or None and why it is not known: the time was over, or the user ended it."""
    most_s = optimum.MOST_SECONDS
    asked = json.dumps({**asdict(problem), "most_seconds": most_s})
    try:
        command = [sys.executable, "-m", optimum.__name__, asked]
        with meter("the optimum's proof", round(most_s)) as bar, Child(command) as child:
            said = list(child.lines(4 * most_s + 60.0, lambda _: bar.advance()))
            if child.wait() != 0 or not said:
                raise RankwiseError(f"the optimum's proof ended early ({child.complaint()}): leave --prove out")
    except KeyboardInterrupt:
        return None, "interrupted"
    found = json.loads(said[-1])
    return (None, f"{most_s:g} s were too short") if found is None else (int(found), "")
