"""What the tests of the command line share: files that hold what people read."""

from pathlib import Path
from typing import Any

import pytest

from rankwise.blocks import Table, terminal
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.models.curve import curve_from_table


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let verbs print for 80 columns, and hold all of their tables to it: nothing wider, and nothing cut."""
    monkeypatch.setenv("COLUMNS", "80")
    text = terminal.table_text

    def checked(table: Table[Any], width: int) -> str:
        found = text(table, width)
        assert "…" not in found, found
        assert width < 60 or all(len(line) <= width for line in found.splitlines()), found
        return found

    monkeypatch.setattr(terminal, "table_text", checked)


@pytest.fixture
def two_level_profile(tmp_path: Path) -> Path:
    """A profile of nodes with two sockets, and beside it one-node.json, which knows nothing between nodes."""
    line = {"same-socket": (2e-7, 1e-10), "other-socket": (5e-7, 4e-10), "other-node": (1e-6, 1e-9)}
    sizes = (0, 1000, 1_000_000)
    links = {
        name: Link(curve_from_table([Point(size, a + b * size, a + b * size, a + b * size, 9) for size in sizes], "median"))
        for name, (a, b) in line.items()
    }
    profile = Profile({"sockets": 2, "cores": 48}, links, "2026-01-01T00:00:00Z", {"kind": "made for a test"})
    profile.save(tmp_path / "two.json")
    inside = {name: link for name, link in links.items() if name != "other-node"}
    Profile(profile.machine, inside, profile.created, profile.source).save(tmp_path / "one-node.json")
    return tmp_path / "two.json"
