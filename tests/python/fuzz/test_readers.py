"""Every reader with a few mutated files each time; ``make fuzz`` floods them (tests/fuzz/readers.py)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from breadth import TIMES, fresh_seed
from readers import Reader, flood, readers

KNOWN = readers()


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_no_file_of_its_kind_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Others for each version of the sources; RANKWISE_TEST_TIMES=N: N times as many, by the seed in the junit file."""
    monkeypatch.chdir(tmp_path)
    reader: Reader = KNOWN[name]
    seed = fresh_seed()
    record_property("seed", seed)
    assert not flood(name, reader, 100 * TIMES, seed, tmp_path)


def test_all_readers_are_flooded() -> None:
    assert len(KNOWN) >= 16 and all(reader.seeds for reader in KNOWN.values())
