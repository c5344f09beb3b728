"""Every reader with a few mutated files each time; ``make fuzz`` floods them (tests/fuzz/readers.py)."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from readers import Reader, flood, readers

KNOWN = readers()


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_no_file_of_its_kind_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Others at each run, whose seed stands in the junit file; RANKWISE_TEST_TIMES=N: N times as many."""
    monkeypatch.chdir(tmp_path)
    reader: Reader = KNOWN[name]
    seed = random.randrange(1 << 30)
    record_property("seed", seed)
    assert not flood(name, reader, 100 * int(os.environ.get("RANKWISE_TEST_TIMES", "1")), seed, tmp_path)


def test_all_readers_are_flooded() -> None:
    assert len(KNOWN) >= 16 and all(reader.seeds for reader in KNOWN.values())
