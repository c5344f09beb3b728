"""Random command lines of some verbs each time; ``make fuzz`` floods all (tests/fuzz/arguments.py)."""

import os
import random
from collections.abc import Callable
from pathlib import Path

from arguments import SKIPPED, flood, nothing_to_start, verbs


def test_command_lines_are_answered_or_refused(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Others at each run, whose seed stands in the junit file; RANKWISE_TEST_TIMES=N: N times as many verbs and lines."""
    seed = random.randrange(1 << 30)
    record_property("seed", seed)
    known = {name: command for name, command in verbs().items() if name not in SKIPPED}
    assert len(known) > 40
    times = int(os.environ.get("RANKWISE_TEST_TIMES", "1"))
    some = random.Random(seed).sample(sorted(known), min(8 * times, len(known)))
    with nothing_to_start(tmp_path):
        assert not [broken for name in some for broken in flood(name, known[name], times, seed)]
