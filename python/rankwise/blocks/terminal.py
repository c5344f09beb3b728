"""Blocks on the screen: no number and no name is ever cut; what is too wide leaves column by column, and is named.

A unit that all values of a column share stands in its head. Of the columns that may leave, those that say the same in every
row go into a line below. Where a table is wider than the screen its heads take several lines; then other such columns go
below, then those that may leave go, in their order, then text is broken between words. ``--wide`` shows all columns.

A terminal shows 25 lines: where an answer is longer, its tables end early and say how many rows more there are; where that
is not enough, all but the first and the last of it ends early. ``--all`` shows everything, as files and pipes have it.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwise.blocks import Block, Lines, Listing, Next, Sentence, Table
from rankwise.progress import on_terminal, tell, visible

__all__ = ["MOST_LINES", "show", "show_all", "show_wide", "table_text"]

MOST_LINES = 25  # of a screen
_LEAST_ROWS = 4  # of a table that ends early

_GAP = "  "
_UNBOUNDED = 10**6  # columns
_NONE = ("", "–")
_LEAST_TEXT = 16  # of a column whose text is broken
_NUMBER = r"[+-]?[\d,]*\d(?:\.\d+)?"
_UNIT = r"%|[num]?s|ns/B|[kKMGT]?i?B(?:/s)?|[kMGTPE]?(?:F|flop)/s"
_FIGURE = re.compile(rf"(?P<a>{_NUMBER})(?:(?P<to>–| to )(?P<b>{_NUMBER}))? ?(?P<unit>{_UNIT})?")
_MIXED = re.compile(rf"(?P<a>{_NUMBER}) (?P<ua>{_UNIT})(?P<to>–)(?P<b>{_NUMBER}) (?P<ub>{_UNIT})")
_FAMILIES = (
    {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12},
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    {"MF/s": 1e6, "GF/s": 1e9, "TF/s": 1e12, "PF/s": 1e15, "EF/s": 1e18},
    {"Mflop/s": 1e6, "Gflop/s": 1e9, "Tflop/s": 1e12},
)

_wide = _all = False


def show_all(asked: bool) -> None:
    """Show all rows of tables from now on, or those that a screen has room for."""
    global _all
    _all = asked


def show_wide(asked: bool) -> None:
    """Show all columns from now on, however wide that is, or those that fit."""
    global _wide
    _wide = asked


def show(blocks: Iterable[Block]) -> None:
    """Print blocks on stdout, as wide as the screen is at most (80 columns where there is none); what is labelled on stderr."""
    shown = list(blocks)
    most = max((len(block.items) for block in shown if isinstance(block, Table)), default=0)
    found = [(block, _lines(block, most)) for block in shown]
    while not _all and on_terminal(sys.stdout) and most > _LEAST_ROWS and sum(len(lines) for _, lines in found) > MOST_LINES:
        most -= 1
        found = [(block, _lines(block, most) if isinstance(block, Table) else lines) for block, lines in found]
    if not _all and on_terminal(sys.stdout) and (over := sum(len(lines) for _, lines in found) - MOST_LINES) > 0:
        found = _cut(found, over)
    for block, lines in found:
        if lines:
            to_stderr = isinstance(block, Sentence) and block.label
            (tell if to_stderr else print)(visible("\n".join(lines), on_terminal(sys.stdout) and not to_stderr))


def _cut(found: Sequence[tuple[Block, list[str]]], over: int) -> list[tuple[Block, list[str]]]:
    """Leave out so many lines of an answer, the last before notes and what to do next, and one more to say so."""
    kept, last = list[tuple[Block, list[str]]](), list[tuple[Block, list[str]]]()
    left, at = 0, len(found)
    while at > 1 and left <= over:
        at -= 1
        block, lines = found[at]
        if isinstance(block, Next) or (isinstance(block, Sentence) and block.label):
            last.insert(0, (block, lines))
        elif isinstance(block, Lines | Listing) and len(lines) > over + 1 - left:
            kept.append((block, lines[: left - over - 1]))
            left = over + 1
        else:
            left += len(lines)
    return [*found[:at], *kept, (Lines(()), [f"{left} more lines: --all"] * (left > 0)), *last]


def _lines(block: Block, most_rows: int) -> list[str]:
    """Return a block's lines; of a table so many rows."""
    width = _screen_width()
    if isinstance(block, Sentence):
        return _broken(str(block), width)
    if isinstance(block, Lines):
        return list(block.lines)
    if isinstance(block, Listing):
        return _listing_lines(block)
    if isinstance(block, Next):
        return _next_lines(block)
    if not isinstance(block, Table):
        return []
    caption = ["", *_broken(block.caption, width)] if block.caption else []
    if (more := len(block.items) - most_rows) <= 0:
        return [*caption, *table_text(block, width).split("\n")]
    told = f"{more} more row{'s' * (more != 1)}: --all"
    return [*caption, *table_text(block.first(most_rows), width).split("\n"), told]


def _broken(text: str, width: int) -> list[str]:
    """Break a sentence between words where a screen is that wide; in a file or a pipe it stays one line."""
    if len(text) <= width or not on_terminal(sys.stdout):
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _next_lines(block: Next) -> list[str]:
    """Return the commands below each other, what they are for after them where there is room."""
    width, lines = _screen_width(), list[str]()
    widest = max((len(command) for command, what in block.commands if what), default=0)
    for command, what in block.commands:
        first, *more = _parts_of(command, width - 12)
        if more:
            lines += [f"{first} \\", *(f"    {line} \\" for line in more[:-1]), f"    {more[-1]}"]
        else:
            told = f"{command:<{widest}}  {what}"
            lines.append(told if what and len(told) <= width - 6 else command)
    return [("Next  " if i == 0 else "      ") + line for i, line in enumerate(lines)]


def _parts_of(command: str, width: int) -> Iterator[str]:
    """Yield a command in parts of a width, each of which begins with an option."""
    part = ""
    for word in re.split(r" (?=-)", command):
        if part and len(part) + 1 + len(word) > width:
            yield part
            part = ""
        part += " " * bool(part) + word
    yield part


def _listing_lines(listing: Listing) -> list[str]:
    found = []
    indent = max((len(name) for name, _ in listing.items), default=0) + len(_GAP)
    width = max(_screen_width() - indent, _LEAST_TEXT)
    for name, text in listing.items:
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
        for i, line in enumerate(lines):
            begin = (name if i == 0 else "").ljust(indent)
            found.append(_styled(begin, listing.styles.get(name, "1") if i == 0 and name else "") + line)
    return found


def _screen_width() -> int:
    return _UNBOUNDED if _wide else shutil.get_terminal_size().columns


def _styled(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code and on_terminal(sys.stdout) and "NO_COLOR" not in os.environ else text


@dataclass(frozen=True)
class _Figure:
    """A figure or an interval with its unit, as it was written."""

    ends: tuple[tuple[str, str], ...]  # number and unit of each
    to: str

    @property
    def units(self) -> set[str]:
        return {unit for _, unit in self.ends}

    def without_unit(self) -> str:
        return self.to.join(number for number, _ in self.ends)

    def in_unit(self, unit: str, family: dict[str, float]) -> str:
        return self.to.join(_scaled(number, family[own] / family[unit]) for number, own in self.ends)

    def values(self, family: dict[str, float]) -> list[float]:
        return [abs(float(number.replace(",", ""))) * family[unit] for number, unit in self.ends]


def _figure(cell: str) -> _Figure | None:
    if match := _MIXED.fullmatch(cell):
        return _Figure(((match["a"], match["ua"]), (match["b"], match["ub"])), match["to"])
    if match := _FIGURE.fullmatch(cell):
        ends = [match["a"], match["b"]] if match["b"] else [match["a"]]
        return _Figure(tuple((end, match["unit"] or "") for end in ends), match["to"] or "")
    return None


def _scaled(number: str, factor: float) -> str:
    """Write a number in another unit with as many digits as it had."""
    value = float(number.replace(",", "")) * factor
    if factor == 1 or value == 0:
        return number
    digits = len(re.sub(r"\D", "", number).lstrip("0"))
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-9))}f}"


def _common_unit(figures: Sequence[_Figure], family: dict[str, float]) -> str | None:
    """Return the unit in which all figures are numbers that people read; None where there is none."""
    values = sorted(value for figure in figures for value in figure.values(family) if value > 0)
    if not values:
        return next(iter(family))
    fitting = [unit for unit, scale in family.items() if values[0] >= 0.01 * scale and values[-1] < 1e5 * scale]
    middle = sum(map(math.log10, values)) / len(values)
    return min(fitting, key=lambda unit: abs(middle - math.log10(family[unit]) - 1), default=None)


@dataclass(eq=False)
class _Column:
    head: str
    cells: list[str]
    place: int  # in the order of leaving
    as_told: str  # its head and first cell, as they were given
    to_right: bool = False
    lines: list[list[str]] = field(default_factory=list)  # of the head, then of each row

    def settle(self, width: int | None = None, narrow_head: bool = False) -> None:
        """Break text between words to a width, and the head to what stands below it."""

        def broken(text: str, most: int) -> list[str]:
            return textwrap.wrap(text, most, break_long_words=False, break_on_hyphens=False) or [""]

        below = [broken(cell, width) if width else [cell] for cell in self.cells]
        widest = max((len(line) for cell in below for line in cell), default=0)
        head = broken(self.head, max(widest, 1)) if narrow_head or width else [self.head]
        self.lines = [head, *below]

    @property
    def width(self) -> int:
        return max(len(line) for cell in self.lines for line in cell)

    @property
    def is_text(self) -> bool:
        return not self.to_right and any(" " in cell for cell in self.cells)


def table_text(table: Table[Any], width: int) -> str:
    """Return a table's lines, as wide as is asked for at most."""
    return _Fitting(table).text(width)


class _Fitting:
    """A table that is fitted into a width."""

    def __init__(self, table: Table[Any]) -> None:
        self._heads, self._rows, self._leave = table.heads, table.texts, table.leave
        self._bold = [table.bold is not None and table.bold(row) for row in table.items]

    def text(self, width: int) -> str:
        columns = self._columns()
        shown, same, left = self._fitted(columns, width)
        lines = []
        for row in range(len(self._rows) + 1):
            height = max((len(column.lines[row]) for column in shown), default=0)
            for i in range(height):
                parts = []
                for column in shown:
                    cell = column.lines[row]
                    # A head stands on what is below it, text begins where its row does.
                    at = i - (height - len(cell)) if row == 0 else i
                    part = cell[at] if 0 <= at < len(cell) else ""
                    parts.append(part.rjust(column.width) if column.to_right else part.ljust(column.width))
                lines.append(_styled(_GAP.join(parts).rstrip(), "2" if row == 0 else "1" if self._bold[row - 1] else ""))
        below = []
        if same:
            below.append("In all rows: " + ", ".join(column.as_told for column in columns if column in same))
        if left:
            below.append("More columns with --wide: " + ", ".join(column.head for column in columns if column in left))
        for line in below:
            lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
        return "\n".join(lines)

    def _columns(self) -> list[_Column]:
        place = {head: i for i, head in enumerate(self._leave)}
        columns = [
            _Column(head, cells, place.get(head, len(place)), f"{head} {cells[0] if cells else ''}".strip())
            for i, head in enumerate(self._heads)
            for cells in ([row[i] for row in self._rows],)
        ]
        of_cells = [[_figure(cell) if cell not in _NONE else None for cell in column.cells] for column in columns]

        def pairs(at: int) -> Iterator[tuple[_Figure | None, str]]:
            return zip(of_cells[at], columns[at].cells, strict=True)

        for i, column in enumerate(columns):
            told = [cell not in _NONE for cell in column.cells]
            numeric = any(told) and all(figure is not None for figure, tells in zip(of_cells[i], told, strict=True) if tells)
            column.to_right = numeric
            if not numeric or column.head.startswith("95 %"):
                continue
            # An interval stands in the unit of the figure before it.
            group = [i]
            if i + 1 < len(columns) and columns[i + 1].head.startswith("95 %"):
                group.append(i + 1)
            if all(figure is not None or cell in _NONE for j in group for figure, cell in pairs(j)):
                self._put_unit_in_head([columns[j] for j in group], [of_cells[j] for j in group])
        for column in columns:
            column.settle()
        return columns

    def _put_unit_in_head(self, columns: list[_Column], of_cells: list[list[_Figure | None]]) -> None:
        figures = [figure for cells in of_cells for figure in cells if figure is not None]
        units = set().union(*(figure.units for figure in figures))
        family: dict[str, float] | None = None
        unit = next(iter(units)) if len(units) == 1 else None
        if unit is None:
            family = next((family for family in _FAMILIES if units <= set(family)), None)
            unit = None if family is None else _common_unit(figures, family)
        if not unit:
            return
        columns[0].head = f"{columns[0].head} {unit}".strip()
        for column, cells in zip(columns, of_cells, strict=True):
            column.cells = [
                cell if figure is None else figure.without_unit() if family is None else figure.in_unit(unit, family)
                for cell, figure in zip(column.cells, cells, strict=True)
            ]
            column.to_right = True

    def _fitted(self, columns: list[_Column], width: int) -> tuple[list[_Column], list[_Column], list[_Column]]:
        """Return the columns that are shown, those that are the same in all rows, and those that were left out."""
        shown, same, left = list(columns), list[_Column](), list[_Column]()

        def excess() -> int:
            return sum(column.width for column in shown) + len(_GAP) * (len(shown) - 1) - width

        def drop(candidates: Sequence[_Column], into: list[_Column]) -> None:
            for column in candidates:
                if excess() > 0:
                    shown.remove(column)
                    into.append(column)

        def drop_now(candidates: Sequence[_Column], into: list[_Column]) -> None:
            for column in candidates:
                shown.remove(column)
                into.append(column)

        may_leave = [column for column in shown[1:] if column.place < len(self._leave)] if width < _UNBOUNDED else []
        drop_now([column for column in may_leave if set(column.cells) <= set(_NONE)], [])
        if len(self._rows) > 1:
            drop_now([column for column in may_leave if column in shown and len(set(column.cells)) == 1], same)
        if excess() > 0:
            for column in shown:
                column.settle(narrow_head=True)
        drop([column for column in shown if set(column.cells) <= set(_NONE)], [])
        by_place = sorted(shown[1:], key=lambda column: column.place)
        if len(self._rows) > 1:
            drop([column for column in by_place if len(set(column.cells)) == 1], same)
        drop([column for column in by_place if column in shown and column.place < len(self._leave)], left)
        texts = [column for column in shown if column.is_text]
        while texts and excess() > 0:
            widest = max(texts, key=lambda column: column.width)
            before = widest.width
            widest.settle(max(_LEAST_TEXT, before - excess()))
            if widest.width == before or before <= _LEAST_TEXT:
                texts.remove(widest)
        drop(shown[:1:-1], left)
        return shown, same, left
