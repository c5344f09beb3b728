"""What the tests of the command line share: files that hold what people read."""

from pathlib import Path
from typing import Any

import pytest

from rankwise.blocks import Table, terminal
from straight import link, machine


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
    inside, described = {"same-socket": link(2e-7, 1e-10), "other-socket": link(5e-7, 4e-10)}, {"sockets": 2, "cores": 48}
    machine(described, {**inside, "other-node": link(1e-6, 1e-9)}).save(tmp_path / "two.json")
    machine(described, inside).save(tmp_path / "one-node.json")
    return tmp_path / "two.json"
