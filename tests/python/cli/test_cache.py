"""``rankwise cache``: what lies there is listed by size and removed; what is not ours stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_the_cache_is_listed_and_cleared(rankwise: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert rankwise("cache").out == f"0 entries of 0 B in {tmp_path}/cache/rankwise.\n"
    folder = tmp_path / "cache" / "rankwise"
    (folder / "mpi-0123" / "build").mkdir(parents=True)
    (folder / "mpi-0123" / "compiler").write_text("/usr/bin/mpicxx\n")
    (folder / "mpi-0123" / "build" / "one.o").write_bytes(bytes(5000))
    (folder / "vega-1.js").write_bytes(bytes(300))
    (folder / "notes.txt").write_text("mine")
    entries = rankwise("cache", "--json").json["entries"]
    assert [(one["kind"], one["about"], one["size_bytes"]) for one in entries] == [
        ("build", "/usr/bin/mpicxx", 5016), ("charts of an older version", "vega-1.js", 300),
    ]  # fmt: skip
    assert rankwise("cache", "--clear").out.startswith("2 entries of 5.32 kB removed from ")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
