"""Tables of texts, for verbs whose results are no blocks yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.blocks import Listing, text_table
from rankwise.blocks.terminal import show, show_wide

__all__ = ["Table", "show_list", "show_wide"]


def show_list(items: Sequence[tuple[str, str]], styles: Mapping[str, str] | None = None) -> None:
    """Print names with what is to be said of each."""
    show([Listing(items, styles or {})])


class Table:
    """Rows of the same columns."""

    def __init__(self, *heads: str, leave: Sequence[str] = ()) -> None:
        self._heads, self._leave = heads, leave
        self._rows: list[tuple[str, ...]] = []
        self._bold: list[tuple[str, ...]] = []

    def add_row(self, *cells: str, bold: bool = False) -> None:
        self._rows.append((*cells, *[""] * (len(self._heads) - len(cells))))
        if bold:
            self._bold.append(self._rows[-1])

    def show(self) -> None:
        show([text_table(self._heads, self._rows, leave=self._leave, bold=lambda row: any(row is one for one in self._bold))])
