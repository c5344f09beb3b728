"""No figure and no name is ever cut: what is too wide leaves column by column, and is named."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.cli.table import Table

HEADS = ("machine", "algorithm", "grid", "time", "95 %", "sent", "checked")
ROWS = (
    ("h100-cluster", "direct", "4x4x2", "51.2 us", "43.0–75.3 us", "260000 B", ""),
    ("h100-cluster", "neighbor-alltoall", "4x4x2", "621 ns", "609–634 ns", "180000 B", ""),
    ("h100-cluster", "team-shift c=2", "4x4x2", "1.00 us", "980 ns–1.02 us", "260000 B", ""),
)


def table() -> Table:
    made = Table(*HEADS, leave=("sent",))
    for row in ROWS:
        made.add_row(*row)
    return made


def test_units_stand_once_in_the_head_and_figures_are_aligned() -> None:
    assert table().text(200).splitlines() == [
        "machine       algorithm          grid   time us         95 %  sent B  checked",
        "h100-cluster  direct             4x4x2     51.2    43.0–75.3  260000",
        "h100-cluster  neighbor-alltoall  4x4x2    0.621  0.609–0.634  180000",
        "h100-cluster  team-shift c=2     4x4x2     1.00   0.980–1.02  260000",
    ]


def test_what_says_nothing_goes_first_then_what_is_alike_then_what_may_leave() -> None:
    assert table().text(70).splitlines()[0].split() == ["time"]
    assert "checked" not in table().text(70) and "sent B" in table().text(70)
    assert table().text(60).splitlines()[-1] == "in all rows: grid 4x4x2"
    assert table().text(56).splitlines()[-2:] == ["in all rows: grid 4x4x2", "--wide adds: sent B"]


def test_text_is_broken_between_words_and_the_rest_stays_in_line() -> None:
    made = Table("figure", "value", "source")
    made.add_row("nodes", "120", "a report that says a good deal of it, in many words")
    lines = made.text(40).splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert lines[1].startswith("nodes     120  a report") and lines[2].startswith(" " * 15)


@pytest.mark.parametrize(("cells", "shown"), [
    (("10.1 ms", "4.82 s"), ["head ms", "10.1", "4820"]),
    (("1.00 ns", "7.00 s"), ["head", "1.00 ns", "7.00 s"]),  # no unit suits both
    (("2 GB/s", "500 MB/s"), ["head GB/s", "2", "0.500"]),
    (("+3.1 %", "–"), ["head %", "+3.1", "–"]),
    (("-2.1 to +4.4 %",), ["head %", "-2.1 to +4.4"]),
    (("1 only", "up to 4"), ["head", "1 only", "up to 4"]),
    (("1000 B", "4 KiB"), ["head", "1000 B", "4 KiB"]),
])  # fmt: skip
def test_figures_of_several_units_are_put_in_one(cells: tuple[str, ...], shown: list[str]) -> None:
    made = Table("head")
    for cell in cells:
        made.add_row(cell)
    assert [line.strip() for line in made.text(80).splitlines()] == shown


_WORD = st.text(string.ascii_lowercase + "-", min_size=1, max_size=20)
_CELL = st.one_of(_WORD, st.floats(0.001, 99999).map("{:.3g} us".format), st.just("–"), st.just(""))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.data(), st.integers(20, 120))
def test_no_word_is_ever_cut(columns: int, data: st.DataObject, width: int) -> None:
    heads = [f"head-{i}" for i in range(columns)]
    rows = data.draw(st.lists(st.tuples(*[_CELL] * columns), min_size=1, max_size=5))
    made = Table(*heads, leave=heads[:1:-1])
    for row in rows:
        made.add_row(*row)
    text = made.text(width)
    assert "…" not in text
    known = {word for head in heads for word in (head, head + ",")} | {"in", "all", "rows:", "--wide", "adds:", "us", "us,"}
    cells = {word for row in rows for cell in row for word in cell.split()}
    for word in text.split():
        assert word in known or word.rstrip(",") in cells or re.fullmatch(r"[\d.,]+", word), word
