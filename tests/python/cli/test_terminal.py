"""Terminals that show ASCII alone, or no more than a typewriter does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.blocks import text_table
from rankwise.blocks.terminal import table_text
from rankwise.progress import on_terminal

TABLE = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"
# Dashes of intervals, signs of sentences, frames of help.
VERBS = (
    ("profile", "show", "machine.json"),
    ("choose", "--dims", "3", "--cutoff", "2", "--bytes", "4096", "--ranks", "64", "--profile", "machine.json"),
    ("machines", "list"),
    ("measure", "--help"),
    ("predict", "exchange", "--profile", "nö–such.json"),
)


@pytest.mark.parametrize(
    ("plain", "verbs"),
    [({"PYTHONIOENCODING": "ascii"}, VERBS), ({"LC_ALL": "C"}, VERBS[:1])],
    ids=["encoding", "locale"],
)
def test_ascii_stands_in_the_place_of_other_signs(
    tmp_path: Path, plain: dict[str, str], verbs: tuple[tuple[str, ...], ...]
) -> None:
    environment = {**os.environ, "COLUMNS": "80", **plain}
    environment.pop("PYTHONUTF8", None)
    run = [sys.executable, "-m", "rankwise"]
    words = ["profile", "import", str(TABLE), "--link", "other-node", "-o", "machine.json"]
    assert subprocess.run([*run, *words], env=environment, cwd=tmp_path, capture_output=True).returncode == 0
    for verb in verbs:
        done = subprocess.run([*run, *verb], env=environment, cwd=tmp_path, capture_output=True)
        assert done.returncode == (2 if "exchange" in verb else 0), done.stderr
        assert (done.stdout + done.stderr).isascii() and b"internal error" not in done.stderr
        if verb[0] == "profile":
            assert b"1.78-2.47" in done.stdout
        if verb[0] == "predict":
            assert b"no-such.json does not exist" in done.stderr


def test_a_typewriter_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def shown(term: str) -> str:
        monkeypatch.setenv("TERM", term)
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys, "stdout", Terminal())
        return table_text(text_table(("link", "latency"), [("other-node", "1.00 us")]), 80)

    assert "\x1b[2m" in shown("xterm") and "\x1b" not in shown("dumb")
    assert not on_terminal(Terminal())
