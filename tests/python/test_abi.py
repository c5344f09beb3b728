"""The C ABI: what librankwise shows is what was published, and nothing else; RANKWISE_WRITE_GOLDEN=1 adds what is new."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PUBLISHED = Path(__file__).parents[1] / "data" / "librankwise_symbols.txt"


def test_the_library_shows_what_was_published() -> None:
    library = Path(sys.prefix) / "lib" / "librankwise.so"
    words = ["nm", "--dynamic", "--defined-only", "--format=posix", str(library)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    shown = {line.split()[0] for line in said.splitlines()}
    if os.environ.get("RANKWISE_WRITE_GOLDEN"):
        PUBLISHED.write_text("".join(f"{name}\n" for name in sorted(shown | set(PUBLISHED.read_text().split()))))
    assert shown == set(PUBLISHED.read_text().split()), "what was published stays; what is new is written down"


def test_every_function_of_the_header_is_in_the_library() -> None:
    header = (Path(sys.prefix) / "include" / "rankwise" / "rankwise.h").read_text()
    declared = {line.rpartition(" ")[0] or line for line in header.splitlines() if line.startswith("RANKWISE_API")}
    names = {word.partition("(")[0].lstrip("*") for line in declared for word in line.split() if "(" in word}
    assert len(names) > 50
    assert names <= set(PUBLISHED.read_text().split())
