"""A result as blocks: sentences, tables of declared columns, lists and pictures, which every renderer can show.

Whoever finds something out says it once, as blocks; ``terminal`` prints them, ``html`` shows them in a notebook, and
``csv_text`` writes a table's values in full. A table is its rows and the columns that are declared of them::

    TABLE = (
        Column("k", "cutoff"),
        Column("measured", "measured_s", format_time),
        Column("error", lambda row: row.predicted_s / row.measured_s - 1, format_percent),
        Column(None, "ours_s"),
    )
    Table(TABLE, rows, name="table-1", caption="Table 1: ...")

The first column is called k by readers and ``cutoff`` in a file; the third is computed and only shown; the last is only in
the file. A value that is not known (None) is a dash for readers and empty in a file, so ``write`` never meets one.

A verb of the command line is three steps: its options are read, a function of ``rankwise.api`` is called, and what that
returns, a ``Result``, is rendered: ``show(fit(asked), as_json)``. Its ``blocks()`` are all that readers see of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

from rankwise.records import Record

Cell = str | float | int | bool | None
Row = TypeVar("Row")


@dataclass(frozen=True)
class Sentence:
    """Something said in words. ``label``: what it is where it is no part of the answer (note, warning); ``mark``: of an answer,
    yes, yes but, cannot be told, or no: one of MARKS."""

    text: str
    label: str = ""
    mark: str = ""

    def __str__(self) -> str:
        if self.label:
            return f"{self.label}: {self.text}"
        return f"{self.mark} {self.text}" if self.mark else self.text


MARKS = YES, BUT, UNCLEAR, NO = "✓", "!", "?", "✗"


@dataclass(frozen=True)
class Lines:
    """Lines that stay as they are: a matrix of signs, steps one below the other."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Listing:
    """Names with what is to be said of each, broken between words; ``styles`` are a terminal's codes by name."""

    items: Sequence[tuple[str, str]]
    styles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Next:
    """What to do next: whole commands, each with what it is for where that is not plain."""

    commands: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: its head (None: only files have it), its value of a row (a function, or the name of an attribute or key), how
    readers see that value, and its name in a file.

    Without ``key`` that is the name in ``value``; a function's column without a key is only shown. ``unknown`` stands for None.
    """

    head: str | None
    value: str | Callable[[Row], Any]
    write: Callable[[Any], str] = str
    key: str | None = None
    unknown: str = "–"

    @property
    def name(self) -> str | None:
        """Its name in a file; None where it is only shown."""
        return self.key or (self.value if isinstance(self.value, str) else None)

    def of(self, row: Row) -> Any:
        """Return its value of a row, in full."""
        if callable(self.value):
            return self.value(row)
        return row[self.value] if isinstance(row, Mapping) else attrgetter(self.value)(row)

    def text(self, row: Row) -> str:
        """Return its value of a row as readers see it."""
        value = self.of(row)
        return self.unknown if value is None else self.write(value)


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows, and the columns that are declared of them.

    ``leave``: heads of the columns that may leave where a screen is narrow, the first to go first; ``bold``: the rows that
    matter most. A table on a page, or in a file, has a ``name``; its ``caption`` stands above it. ``readers``: what readers see
    in its place, of a table that is long in a file.
    """

    columns: Sequence[Column[Row]]
    items: Sequence[Row]
    leave: Sequence[str] = ()
    bold: Callable[[Row], bool] | None = None
    name: str = ""
    caption: str = ""
    readers: Table[Any] | None = None

    def first(self, most: int) -> Table[Row]:
        """Return the table with so many of its rows."""
        readers = None if self.readers is None else self.readers.first(most)
        return replace(self, items=self.items[:most], readers=readers)

    @cached_property
    def heads(self) -> list[str]:
        """The heads of the columns that readers see."""
        if self.readers is not None:
            return self.readers.heads
        return [column.head for column in self.columns if column.head is not None]

    @cached_property
    def texts(self) -> list[list[str]]:
        """The rows as readers see them."""
        if self.readers is not None:
            return self.readers.texts
        shown = [column for column in self.columns if column.head is not None]
        return [[column.text(row) for column in shown] for row in self.items]

    @property
    def shown(self) -> list[list[str]]:
        """The table as readers see it, its heads first."""
        return [self.heads, *self.texts]

    @cached_property
    def header(self) -> list[str]:
        """The names of the columns in a file."""
        return [name for column in self.columns if (name := column.name) is not None]

    @cached_property
    def rows(self) -> list[list[Cell]]:
        """The values in full, as a file has them."""
        kept = [column for column in self.columns if column.name is not None]
        return [[column.of(row) for column in kept] for row in self.items]

    def records(self) -> list[dict[str, Cell]]:
        """Return the values by their names, as JSON has them."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A picture, which is also written as ``NAME.svg``; ``draw`` makes the chart when it is wanted."""

    name: str
    caption: str
    draw: Callable[[], Any]


_LACKING = "not measured: "
Block = Sentence | Lines | Listing | Next | Table[Any] | Picture


def with_quality(blocks: Iterable[Block], line: str, again: str) -> Iterator[Block]:
    """Yield an answer with the quality of the measurement that it rests on as its second line; ``again``: the command that
    measures once more where that quality is poor, which is what to do next then."""
    said = False
    for block in blocks:
        if not (again and isinstance(block, Next)):
            yield block
        if not said and isinstance(block, Sentence) and not block.label:
            yield Sentence(line)
            said = True
    if again:
        yield Next([("rankwise doctor", "what disturbs"), (again, "again, undisturbed")])


def yes_or_no(value: bool) -> str:
    """Write whether something is so."""
    return "yes" if value else "no"


def text_table(heads: Sequence[str], rows: Iterable[Sequence[str]], **more: Any) -> Table[Sequence[str]]:
    """Return a table of rows that are texts already; ``more`` is what else a Table has."""
    return Table([Column(head, itemgetter(i), key=head) for i, head in enumerate(heads)], list(rows), **more)


def records_table(records: Sequence[Record], seen: Sequence[Column[Any]], **more: Any) -> Table[Any]:
    """Return a table that has all keys of records in a file, while readers see some columns of them."""
    written = [one.to_dict() for one in records]
    columns = [Column(None, itemgetter(key), key=key) for key in written[0]]
    return Table(columns, written, readers=Table(seen, records), **more)


def labelled(label: str, texts: Iterable[str]) -> Iterator[Sentence]:
    """Yield sentences that are no part of the answer, each once; all that was not measured is one of them."""
    found = list(dict.fromkeys(texts))
    lacking = [text.removeprefix(_LACKING) for text in found if text.startswith(_LACKING)]
    yield from (Sentence(text, label) for text in found if not text.startswith(_LACKING))
    if lacking:
        yield Sentence(_LACKING + "; ".join(lacking), label)


def csv_text(table: Table[Any]) -> str:
    """Return a table as CSV, figures in full and in SI units."""
    import csv
    import io

    stream = io.StringIO()
    plain = csv.writer(stream, lineterminator="\n")
    quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(table.header)
    for row in table.rows:  # csv does not quote a carriage return of its own accord
        writer = quoted if any("\r" in str(cell) for cell in row) else plain
        writer.writerow("" if cell is None else cell for cell in row)
    return stream.getvalue()
