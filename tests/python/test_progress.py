import re
import subprocess
import sys
import threading

import pytest

from rankwise.progress import meter, visible


def test_results_and_what_is_told_keep_their_order_in_one_pipe() -> None:
    program = "from rankwise.progress import tell; print('one'); tell('two'); print('three'); tell('four')"
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    assert done.stdout.split() == ["one", "two", "three", "four"]


def test_without_a_terminal_a_line_now_and_then_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said = threading.Event()
    monkeypatch.setattr("rankwise.progress.tell", lambda line: (lines.append(line), said.set()))
    lines: list[str] = []
    monkeypatch.setenv("RANKWISE_PROGRESS_S", "0.01")
    with meter("measuring", 10) as progress:
        progress.advance(4)
        progress.say("launch 2 of 10")
        said.clear()
        assert said.wait(60)
        said.clear()
        assert said.wait(60)
    assert re.fullmatch(r"\d\d:\d\d:\d\d measuring: 40 %, launch 2 of 10; about \d+ s left", lines[-1])
    monkeypatch.setenv("RANKWISE_PROGRESS_S", "0")
    before = len(lines)
    with meter("measuring", 10) as progress:
        progress.advance(4)
    assert len(lines) == before


def test_what_steers_a_terminal_is_written_out() -> None:
    text = "\x1b[31mred\x1b[0m \x1b[2J\x9b\u202e\u2028 \t\n"
    assert visible(text) == r"\x1b[31mred\x1b[0m \x1b[2J\x9b\u202e\u2028 " + "\t\n"
    assert visible(text, coloured=True) == "\x1b[31mred\x1b[0m " + r"\x1b[2J\x9b\u202e\u2028 " + "\t\n"
