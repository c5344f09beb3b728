"""A paper's reproduction as files: one HTML page, each table as CSV, each picture as SVG."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from rankwise.files import write_whole
from rankwise.report.page import environment, themed
from rankwise.report.reproduction import Reproduction, Table


def write_reproduction(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write page, tables and pictures into a folder; return the files, the page first. Raises OSError."""
    pictures = {picture.name: picture.draw() for picture in reproduction.pictures()}
    page = folder / f"{reproduction.paper}.html"
    written = [page]
    write_whole(page, render(reproduction, pictures))
    for table in reproduction.tables():
        written.append(folder / f"{reproduction.paper}-{table.name}.csv")
        write_whole(written[-1], to_csv(table))
    for name, svg in pictures.items():
        written.append(folder / f"{reproduction.paper}-{name}.svg")
        write_whole(written[-1], svg + "\n")
    return written


def render(reproduction: Reproduction, pictures: Mapping[str, str]) -> str:
    """Return the page; the same figures give the same bytes."""
    return (
        environment()
        .get_template("paper.html.j2")
        .render(
            title=reproduction.title,
            answer=reproduction.answer,
            sections=reproduction.sections,
            pictures=pictures,
            sources=reproduction.sources,
            next_command=reproduction.next_command,
            themed=themed,
        )
    )


def to_csv(table: Table) -> str:
    """Write a table as CSV, figures in full and in SI units."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return stream.getvalue()
