"""A page: the conclusion, its figures, what to change, what to do next, then
pictures, then what is folded; as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rankwise.blocks import Picture, Table
from rankwise.progress import tell
from rankwise.records import Record, key, record
from rankwise.report.chart import Chart, themed
from rankwise.units import format_count

if TYPE_CHECKING:
    from jinja2 import Environment

Kind = Literal["good", "warn", "bad", "unknown"]
_MARKS = {"good": "✓", "warn": "!", "bad": "✕", "unknown": "?"}
_STRIP = 0.10  # a strip shows so much to either side of its figure, so that widths compare
_SHORT, _MOST_WORDS = 16, 46  # letters of a cell that stays on one line: a name, a figure with its interval
_MOST_ROWS = 12  # of a table that stands open


@dataclass(frozen=True)
class Badge:
    """A verdict on the machine or on the figures: what it is, in a word or two, and why."""

    kind: Kind
    name: str
    words: str

    @property
    def mark(self) -> str:
        return _MARKS[self.kind]


@dataclass(frozen=True)
class Figure:
    """One of the three figures: value and unit, its interval in words, and as shares of the value; ``note``: what it is of."""

    name: str
    value: str
    unit: str
    interval: str
    shares: tuple[float, float] | None
    note: str

    @property
    def strip(self) -> tuple[float, float] | None:
        """Where the interval begins and how long it is, in percent of a strip that shows ± 10 %."""
        if self.shares is None:
            return None
        low, high = (50 + 50 * max(-1.0, min(1.0, share / _STRIP)) for share in self.shares)
        return low, high - low


@record
class Change(Record):
    """Something to change: what, its gain (a ratio with its interval, and whether that was measured), why, and in code."""

    what: str = key("what to change")
    why: str = ""
    gain: str = key("the ratio, in words", default="")
    interval: str = key("95 % interval of the gain, in words", default="")
    kicker: str = ""
    code: Sequence[tuple[str, str]] = ()  # ("del" or "add", line)


@record
class Next(Record):
    """A whole command, and what it is for."""

    purpose: str = key("what the command is for")
    command: str = key("a whole command")


@dataclass(frozen=True)
class Markup:
    """A part that is HTML already: boxes of a machine. Whoever makes it escapes what comes from elsewhere."""

    html: str


@dataclass(frozen=True)
class Section:
    """A part of the page: some paragraphs, then tables and pictures. ``fold``: its words while folded (None: it is open)."""

    id: str
    title: str
    paragraphs: Sequence[str]
    parts: Sequence[Table[Any] | Picture | Markup] = ()
    fold: str | None = None

    @staticmethod
    def of(id: str, title: str, *contents: str | Table[Any] | Picture) -> Section:
        """Return an open part of its paragraphs, then its tables and pictures."""
        paragraphs = [one for one in contents if isinstance(one, str)]
        return Section(id, title, paragraphs, [one for one in contents if not isinstance(one, str)])


def remarks(title: str, notes: Sequence[str]) -> Section:
    """Return the folded part that has what is to be remarked."""
    return Section("notes", title, [f"{note}." for note in notes], (), format_count(len(notes), "remark"))


@dataclass(frozen=True)
class Document:
    """A page. ``kind`` names it (``rankwise report``), ``origin`` says of what it is, ``headline`` is its conclusion."""

    kind: str
    origin: str
    headline: str
    why: Sequence[str]
    sections: Sequence[Section]
    badges: Sequence[Badge] = ()
    figures: Sequence[Figure] = ()
    changes: Sequence[Change] = ()
    change_title: str = ""
    next: Sequence[Next] = ()
    record: str = ""  # the command that gives the same figures as JSON
    scripts: Sequence[str] = ()  # of its own

    def pictures(self) -> list[Picture]:
        return [part for section in self.sections for part in section.parts if isinstance(part, Picture)]

    def html(self) -> str:
        """Return the page: one file, no network, at most 3 MB. The same figures give the same bytes."""
        charts = {picture.name: picture.draw() for picture in self.pictures()}
        templates, script, left_out = environment(), "", ""
        if charts:
            from rankwise.report import vega

            script = vega.script()
            left_out = vega.unable()
            if left_out and not script:
                tell(f"the page has no pictures, as {left_out}")
        scripts = [text for text in (script, templates.get_template("page.js").render(), *self.scripts) if text]
        return templates.get_template("page.html.j2").render(
            page=self, charts=charts, themed=themed, scripts=scripts, policy=_policy(scripts),
            is_table=lambda part: isinstance(part, Table), is_picture=lambda part: isinstance(part, Picture),
            still=lambda chart: themed(chart.svg()), cell_class=_cell_class, most_rows=_MOST_ROWS, left_out=left_out,
        )  # fmt: skip


def _policy(scripts: Sequence[str]) -> str:
    """Return what a page may do: run these scripts (the charts' evaluates expressions), and reach nothing."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src 'unsafe-eval' {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def environment() -> Environment:
    """Return what pages are made with: the templates of this package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("rankwise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def plain_page(kind: str, words: Sequence[str], chart: Chart) -> str:
    """Return a page of one picture below what was found; the first of ``words`` is the conclusion."""
    first, *rest = words
    picture = Picture(chart.name, "" if chart.description in words else chart.description, lambda: chart)
    return Document(kind, "", first, rest, [Section("picture", chart.title, (), [picture])]).html()


def _cell_class(text: str) -> str:
    """Return how a cell wraps: figures stay on their line, sentences have room."""
    if len(text) <= _SHORT or (re.match(r"^[+\-−]?[\d.,]+", text) and len(text) <= _MOST_WORDS):
        return ' class="n"'
    return ' class="w"' if len(text) > _MOST_WORDS else ""
