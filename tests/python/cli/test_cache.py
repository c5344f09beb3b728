"""``rankwise cache``: what lies there is listed by size and removed; what is not ours stays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verbs import Rankwise


def test_the_cache_is_listed_and_cleared(rankwise: Rankwise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert rankwise("cache").out == f"0 entries of 0 B in {tmp_path}/cache/rankwise.\n"
    folder = tmp_path / "cache" / "rankwise"
    (folder / "mpi-0123" / "build").mkdir(parents=True)
    (folder / "mpi-0123" / "compiler").write_text(f"{sys.executable}\n")
    (folder / "mpi-4567").mkdir()
    (folder / "mpi-4567" / "compiler").write_text("/opt/unloaded/bin/mpicxx\n")
    (folder / "mpi-0123" / "build" / "one.o").write_bytes(bytes(5000))
    (folder / "vega-1.js").write_bytes(bytes(300))
    (folder / "notes.txt").write_text("mine")
    entries = rankwise("cache --json").json["entries"]
    assert [(one["kind"], one["about"], one["stale"]) for one in entries] == [
        ("build", sys.executable, False), ("charts of an older version", "vega-1.js", True),
        ("build", "/opt/unloaded/bin/mpicxx", True),
    ]  # fmt: skip
    assert entries[0]["size_bytes"] == 5001 + len(sys.executable)
    assert "2 of them are stale: 'rankwise cache --stale' removes them." in rankwise("cache").out
    assert rankwise("cache --stale").out.startswith("2 entries of 325 B removed from ")
    assert sorted(path.name for path in folder.iterdir()) == ["mpi-0123", "notes.txt"]
    assert rankwise("cache --clear").out.startswith("1 entry of 5.0")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
