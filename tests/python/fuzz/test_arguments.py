"""Random command lines of some verbs each time; ``make fuzz`` floods all (tests/fuzz/arguments.py)."""

import random
from collections.abc import Callable
from pathlib import Path

from arguments import SKIPPED, flood, nothing_to_start, verbs
from breadth import TIMES, fresh_seed


def test_command_lines_are_answered_or_refused(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Others for each version of the sources; RANKWISE_TEST_TIMES=N: N times as many verbs and lines."""
    seed = fresh_seed()
    record_property("seed", seed)
    known = {name: command for name, command in verbs().items() if name not in SKIPPED}
    assert len(known) > 40
    some = random.Random(seed).sample(sorted(known), min(8 * TIMES, len(known)))
    with nothing_to_start(tmp_path):
        assert not [broken for name in some for broken in flood(name, known[name], TIMES, seed)]
