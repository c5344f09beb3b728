"""Every verb with a few random command lines each time; ``make fuzz`` floods them (tests/fuzz/arguments.py)."""

import os
import random
from collections.abc import Callable
from pathlib import Path

from arguments import SKIPPED, flood, nothing_to_start, verbs


def test_command_lines_are_answered_or_refused(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Others at each run, whose seed stands in the junit file; RANKWISE_TEST_TIMES=N: N times as many."""
    seed = random.randrange(1 << 30)
    record_property("seed", seed)
    known = {name: command for name, command in verbs().items() if name not in SKIPPED}
    assert len(known) > 40
    lines = 2 * int(os.environ.get("RANKWISE_TEST_TIMES", "1"))
    with nothing_to_start(tmp_path):
        assert not [broken for name, command in known.items() for broken in flood(name, command, lines, seed)]
