"""A paper's reproduction: what was found, its JSON, and its files: one HTML page, each table as CSV, each picture as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.blocks import Picture, Table, csv_text
from rankwise.files import write_whole
from rankwise.progress import tell
from rankwise.records import Record
from rankwise.report.document import Document, Next
from rankwise.report.document import Section as Section
from rankwise.report.vega import unable

_MOST_WHY = 2  # sentences below the headline


@dataclass(frozen=True)
class Reproduction:
    """A paper's figures next to ours: ``figures`` are the JSON, ``answer`` the few sentences that matter most."""

    paper: str
    title: str
    answer: Sequence[str]
    sections: Sequence[Section]
    figures: Record
    sources: Sequence[str]
    next_command: str
    claims: Sequence[Any] = ()  # what the paper says, sentence by sentence: verdicts of rankwise.papers.claims

    def tables(self) -> list[Table[Any]]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Table)]

    def pictures(self) -> list[Picture]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Picture)]


def write_reproduction(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write page, tables and pictures into a folder; return the files, the page first. Raises OSError."""
    page = folder / f"{reproduction.paper}.html"
    written = [page]
    write_whole(page, render(reproduction))
    for table in reproduction.tables():
        written.append(folder / f"{reproduction.paper}-{table.name}.csv")
        write_whole(written[-1], csv_text(table))
    if unable() and reproduction.pictures():
        tell(f"no pictures as files (.svg), as {unable()}")
    for picture in reproduction.pictures() if not unable() else ():
        written.append(folder / f"{reproduction.paper}-{picture.name}.svg")
        write_whole(written[-1], picture.draw().file())
    return written


def render(reproduction: Reproduction) -> str:
    """Return the page; the same figures give the same bytes."""
    sources = Section("sources", "Where the figures come from", reproduction.sources)
    first, *rest = reproduction.answer
    more = [Section("answer", "What else was found", rest[_MOST_WHY:])] if len(rest) > _MOST_WHY else []
    return Document(
        kind=f"rankwise reproduce {reproduction.paper}",
        origin=reproduction.title,
        headline=first,
        why=rest[:_MOST_WHY],
        sections=[*more, *reproduction.sections, sources],
        next=[Next("Go on from here", reproduction.next_command)],
        record=f"rankwise reproduce {reproduction.paper} --json",
    ).html()
