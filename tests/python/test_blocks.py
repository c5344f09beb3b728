"""Blocks: what terminals, notebooks and files show of the same table.

On a screen no figure and no name is ever cut: what is too wide leaves column by column, and is named.
"""

import csv
import re
import string
from dataclasses import dataclass
from html.parser import HTMLParser
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.blocks import Block, Cell, Column, Lines, Listing, Picture, Sentence, Table, csv_text, text_table
from rankwise.blocks.html import html
from rankwise.blocks.terminal import show, table_text
from rankwise.units import format_percent, format_time

HEADS = ("machine", "algorithm", "grid", "time", "95 %", "sent", "checked")
ROWS = (
    ("h100-cluster", "direct", "4x4x2", "51.2 us", "43.0–75.3 us", "260000 B", ""),
    ("h100-cluster", "neighbor-alltoall", "4x4x2", "621 ns", "609–634 ns", "180000 B", ""),
    ("h100-cluster", "team-shift c=2", "4x4x2", "1.00 us", "980 ns–1.02 us", "260000 B", ""),
)


def text(width: int) -> str:
    return table_text(text_table(HEADS, ROWS, leave=("sent",)), width)


@dataclass(frozen=True)
class Timing:
    cutoff: int
    measured_s: float
    predicted_s: float | None


TIMINGS = (Timing(1, 1e-6, 1.1e-6), Timing(2, 2e-6, None))
COLUMNS = (
    Column[Timing]("k", "cutoff"),
    Column[Timing]("measured", "measured_s", format_time),
    Column[Timing](
        "error", lambda row: None if row.predicted_s is None else row.predicted_s / row.measured_s - 1, format_percent
    ),
    Column[Timing](None, "predicted_s"),
)


def test_a_table_has_declared_columns_and_files_have_values_in_full() -> None:
    table = Table(COLUMNS, TIMINGS, name="times")
    assert table.shown == [["k", "measured", "error"], ["1", "1.00 us", "+10.0 %"], ["2", "2.00 us", "–"]]
    assert csv_text(table).splitlines() == ["cutoff,measured_s,predicted_s", "1,1e-06,1.1e-06", "2,2e-06,"]
    assert table.records()[1] == {"cutoff": 2, "measured_s": 2e-6, "predicted_s": None}
    by_name = Table([Column("k", "k", "{:d}.".format)], [{"k": 3}])
    assert by_name.texts == [["3."]] and by_name.records() == [{"k": 3}]


def test_what_is_no_part_of_the_answer_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    picture = Picture("p", "a picture", lambda: None)
    show([Sentence("It is."), Lines(["a  b", "c"]), Listing([("who", "me")]), Table(COLUMNS, TIMINGS), picture])
    show([Sentence("it may not be", "note"), Table(COLUMNS[:1], TIMINGS, caption="Again")])
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "It is.", "a  b", "c", "who  me", "k  measured us  error %", "1         1.00    +10.0", "2         2.00        –",
        "", "Again", "k", "1", "2",
    ]  # fmt: skip
    assert err == "note: it may not be\n"


def test_units_stand_once_in_the_head_and_figures_are_aligned() -> None:
    assert text(200).splitlines() == [
        "machine       algorithm          grid   time us         95 %  sent B  checked",
        "h100-cluster  direct             4x4x2     51.2    43.0–75.3  260000",
        "h100-cluster  neighbor-alltoall  4x4x2    0.621  0.609–0.634  180000",
        "h100-cluster  team-shift c=2     4x4x2     1.00   0.980–1.02  260000",
    ]


def test_what_says_nothing_goes_first_then_what_is_alike_then_what_may_leave() -> None:
    assert text(70).splitlines()[0].split() == ["time"]
    assert "checked" not in text(70) and "sent B" in text(70)
    assert text(60).splitlines()[-1] == "In all rows: grid 4x4x2"
    assert text(56).splitlines()[-2:] == ["In all rows: grid 4x4x2", "More columns with --wide: sent B"]


def test_text_is_broken_between_words_and_the_rest_stays_in_line() -> None:
    made = text_table(("figure", "value", "source"), [("nodes", "120", "a report that says a good deal of it, in many words")])
    lines = table_text(made, 40).splitlines()
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
    made = text_table(("head",), [(cell,) for cell in cells])
    assert [line.strip() for line in table_text(made, 80).splitlines()] == shown


_WORD = st.text(string.ascii_lowercase + "-", min_size=1, max_size=20)
_CELL = st.one_of(_WORD, st.floats(0.001, 99999).map("{:.3g} us".format), st.just("–"), st.just(""))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.data(), st.integers(20, 120))
def test_no_word_is_ever_cut(columns: int, data: st.DataObject, width: int) -> None:
    heads = [f"head-{i}" for i in range(columns)]
    rows = data.draw(st.lists(st.tuples(*[_CELL] * columns), min_size=1, max_size=5))
    text = table_text(text_table(heads, rows, leave=heads[:1:-1]), width)
    assert "…" not in text
    longest = max(len(cell) for row in [heads, *rows] for cell in row)
    assert all(len(line) <= max(width, 2 * longest + 2) for line in text.splitlines())  # two columns always stay
    known = {word for head in heads for word in (head, head + ",")} | {"us", "us,"}
    known |= set("In all rows: More columns with --wide:".split())
    cells = {word for row in rows for cell in row for word in cell.split()}
    for word in text.split():
        assert word in known or word.rstrip(",") in cells or re.fullmatch(r"[\d.,]+", word), word


_ANY = st.one_of(
    st.none(), st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(st.characters(exclude_categories=("Cs",)))
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(_ANY, min_size=3, max_size=3), min_size=1, max_size=5))
def test_a_file_has_every_value(rows: list[list[Cell]]) -> None:
    table = Table([Column[list[Cell]](None, lambda row, i=i: row[i], key=f"v{i}") for i in range(3)], rows)
    header, *read = csv.reader(StringIO(csv_text(table), newline=""))
    assert header == ["v0", "v1", "v2"]
    assert read == [["" if cell is None else str(cell) for cell in row] for row in rows]


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


_NASTY = st.text(st.sampled_from("<>&\"'/ab= "), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(_NASTY, _NASTY, _NASTY)
def test_html_shows_any_text_as_it_is(said: str, head: str, cell: str) -> None:
    blocks: list[Block] = [Sentence(said), Lines([cell]), Listing([(head, cell)]), text_table((head,), [(cell,)], caption=said)]
    parser = _Texts()
    parser.feed(html(blocks))
    parser.close()
    assert parser.tags == "p b pre dl dt dd table caption thead tr th tbody tr td".split()
    assert parser.texts == [said, cell, head, cell, said, head, cell]


def test_a_long_table_is_cut_in_a_notebook_and_says_so() -> None:
    shown = html([text_table(("n",), [(str(i),) for i in range(43)])])
    assert "<td>39</td>" in shown and "<td>40</td>" not in shown and "and 3 more rows" in shown
