"""Every reader with a few mutated files each time; ``make fuzz`` floods them (tests/fuzz/readers.py)."""

import lzma
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


@pytest.mark.parametrize("name", KNOWN)
def test_files_of_earlier_versions_are_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that are mutated are as rankwise 0.2, Slurm or a benchmark wrote them."""
    monkeypatch.chdir(tmp_path)
    reader: Reader = KNOWN[name]
    parts_alone = [seed for seed in reader.seeds if name == "profile" and b'"created"' not in seed]  # for the reader in C++
    of_collectives = (b"Invalid option", b"Allreduce Latency", b"Barrier Latency")
    refused = [seed for seed in reader.seeds if name == "osu" and any(words in seed for words in of_collectives)]
    for number, seed in enumerate(seed for seed in reader.seeds if seed not in (*parts_alone, *refused)):
        path = tmp_path / f"{number}{reader.suffix}"
        path.write_bytes(lzma.decompress(seed) if seed.startswith(b"\xfd7zXZ") else seed)
        reader.read(path)


def test_all_readers_are_flooded() -> None:
    assert len(KNOWN) >= 16 and all(reader.seeds for reader in KNOWN.values())
