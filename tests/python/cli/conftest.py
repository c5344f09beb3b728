"""What the tests of the command line share: files that hold what people read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with its file in ``golden/``; RANKWISE_WRITE_GOLDEN=1 writes it anew, to be read in a diff."""

    def compare(name: str, text: str) -> None:
        path = FOLDER / f"{name}.txt"
        if os.environ.get("RANKWISE_WRITE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
