"""What a paper's reproduction consists of: tables and pictures in sections, its JSON, and the sentences that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.blocks import Cell as Cell
from rankwise.blocks import Picture as Picture
from rankwise.blocks import Table as Declared


@dataclass(frozen=True)
class Table:
    """A table of a reproduction whose columns are not declared; ``shown`` is it as readers see it, header first."""

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    shown: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Markup:
    """A part that is HTML already: boxes of a machine. Whoever makes it escapes what comes from elsewhere."""

    html: str
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page: some paragraphs, then tables and pictures. ``fold``:
    what it says while it is folded (None: it is not)."""

    id: str
    title: str
    paragraphs: Sequence[str]
    parts: Sequence[Table | Declared[Any] | Picture | Markup] = ()
    fold: str | None = None


@dataclass(frozen=True)
class Reproduction:
    """A paper's figures beside ours: ``record`` is the JSON, ``answer`` the few sentences that matter most."""

    paper: str
    title: str
    answer: Sequence[str]
    sections: Sequence[Section]
    record: Mapping[str, Any]
    sources: Sequence[str]
    next_command: str

    def tables(self) -> list[Table | Declared[Any]]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Table | Declared)]

    def pictures(self) -> list[Picture]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Picture)]
