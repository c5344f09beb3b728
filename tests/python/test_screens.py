"""The check of screens notices what it is for, and what a terminal cuts off keeps answer, notes and what to do next."""

import pytest

from rankwise.blocks import Lines, Listing, Next, Sentence, terminal
from screens import faults

GOOD = "✓ 1.05 us with MPI_Isend.\nQuality: good (24 launches).\nk  time us\n1     1.05\nNext  rankwise validate exchange\n"


@pytest.mark.parametrize(
    ("command", "out", "says"),
    [
        ("rankwise choose", GOOD, ""),
        ("rankwise choose", GOOD + "x" * 81, "81 columns"),
        ("rankwise choose", GOOD + "a\n" * 21, "26 lines, 25 fit"),
        ("rankwise choose --all", GOOD + "a\n" * 21, ""),
        ("rankwise measure -h", "Usage: rankwise measure\n" + "a\n" * 32, "33 lines, 32 fit"),
        ("rankwise choose", GOOD + "Quality: good.\n", "the quality 2 times"),
        ("rankwise choose", GOOD + "It was judged.\n", "'judged' is a private word"),
        ("rankwise choose", GOOD + "The rest " + "of it " * 6 + "\n" + "of it " * 6, "26 words in a sentence"),
        ("rankwise choose", GOOD + "It sends 64000 B.\n", "'64000 B' in a unit"),
        ("rankwise choose", GOOD + "It takes 0.00 ns.\n", "'0.00 ns' in a unit"),
        ("rankwise choose --json", GOOD + "x" * 81, ""),
        ("rankwise reproduce werner2023", GOOD + "That is ours.\n", ""),
    ],
)
def test_each_rule_is_noticed(command: str, out: str, says: str) -> None:
    found = list(faults(command, out, ""))
    assert [says in one for one in found] == [True] * bool(says), found


def test_a_terminal_keeps_the_answer_notes_and_the_next_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    blocks = [
        Sentence("Slower."), Listing([(f"n{i}", "slow") for i in range(20)]), Lines(["seen"] * 20),
        Sentence("n9 is off", "note"), Next([("rankwise doctor", "")]),
    ]  # fmt: skip
    shown = {}
    for on_terminal in (True, False):
        monkeypatch.setattr(terminal, "on_terminal", lambda _, here=on_terminal: here)
        terminal.show(blocks)
        shown[on_terminal], err = capsys.readouterr()
        assert err == "note: n9 is off\n"
    lines = shown[True].splitlines()
    assert (lines[0], lines[1], lines[21], lines[-2:]) == (
        "Slower.", "n0   slow", "seen", ["19 more lines: --all", "Next  rankwise doctor"]
    )  # fmt: skip
    assert len(lines) == terminal.MOST_LINES - 1 and len(shown[False].splitlines()) == 42


def test_next_commands_are_whole_and_go_on_in_further_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = "--grid 4x4x2 --box 64x64x32 --width 2 --fields 3x8 --profile measured/of/a/node.json"
    terminal.show([Next([(f"rankwise validate halo {options}", ""), (f"rankwise choose halo {options}", "")])])
    assert capsys.readouterr().out.splitlines() == [
        "Next  rankwise validate halo --grid 4x4x2 --box 64x64x32 --width 2 \\",
        "          --fields 3x8 --profile measured/of/a/node.json",
        "      rankwise choose halo --grid 4x4x2 --box 64x64x32 --width 2 \\",
        "          --fields 3x8 --profile measured/of/a/node.json",
    ]
