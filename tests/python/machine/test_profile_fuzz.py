"""A profile with any figure replaced is refused with its name, or answers; it never ends in an internal error."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from breadth import TIMES, fresh_seed
from verbs import Rankwise

WHOLE = json.loads((Path(__file__).parents[2] / "data" / "profile-schema-1.json").read_text())
VALUES = (1e300, -1e300, 10**400, 10**30, -1, 0, 1e-320, True, None, "x", [], {})
Where = tuple[str | int, ...]


def _leaves(value: Any, at: Where = ()) -> Iterator[Where]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, (*at, key))
    elif isinstance(value, int | float):
        yield at


def test_no_figure_of_a_profile_ends_in_an_internal_error(
    rankwise: Rankwise, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A hundred for each version of the sources; RANKWISE_TEST_TIMES=N: N hundred, by the seed in the junit file."""
    seed = fresh_seed()
    record_property("seed", seed)
    cases = [(where, value) for where in _leaves(WHOLE) for value in VALUES]
    for where, value in random.Random(seed).sample(cases, min(100 * TIMES, len(cases))):
        changed = copy.deepcopy(WHOLE)
        inside = changed
        for key in where[:-1]:
            inside = inside[key]
        inside[where[-1]] = value
        (tmp_path / "p.json").write_text(json.dumps(changed))
        asked = ("exchange", "--ranks", "4", "--cutoff", "1", "--bytes", "100", "--profile", str(tmp_path / "p.json"))
        done = rankwise("predict", *asked)
        assert done.code in (0, 2) and "internal" not in done.err, f"{where} = {value!r:.40}: {done.err}"
        assert done.code == 0 or done.err.count("\n") == 1, done.err
