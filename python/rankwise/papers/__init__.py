"""Papers redone: each module holds one paper's data and the computations beside it, and gives a Reproduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Cell = str | float | int | bool | None


@dataclass(frozen=True)
class Table:
    """A table of a reproduction, which is also written as ``NAME.csv``; ``shown`` is it as readers see it, header first."""

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    shown: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A picture of a reproduction, which is also written as ``NAME.svg``; ``draw`` makes it when it is wanted."""

    name: str
    caption: str
    draw: Callable[[], str]


@dataclass(frozen=True)
class Section:
    """A part of the page: some paragraphs, then tables and pictures."""

    id: str
    title: str
    paragraphs: Sequence[str]
    parts: Sequence[Table | Picture] = ()


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

    def tables(self) -> list[Table]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Table)]

    def pictures(self) -> list[Picture]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Picture)]


@dataclass(frozen=True)
class Paper:
    """A paper that can be redone: its id, its citation, and the module whose ``reproduce()`` does it."""

    name: str
    citation: str
    module: str
    help: str = field(default="")

    def reproduce(self) -> Reproduction:
        reproduction: Reproduction = import_module(self.module).reproduce()
        return reproduction


PAPERS = (
    Paper(
        "werner2023",
        "T. Werner, C. Päßler, I. Kabadshow, M. Werner: Analytical Model of Communication Algorithm for Simulations with "
        "Range-Limited Interactions, 2023",
        "rankwise.papers.werner2023",
        "Redo Tables 1 to 6 on the Shift, test the published model, and set ours beside it.",
    ),
)
