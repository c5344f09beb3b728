"""What questions are answered with: objects that show themselves in a notebook and give their figures as JSON or as a table."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rankwise.blocks import Block, Sentence, Table, text_table
from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.records import Key, Record
from rankwise.units import format_bandwidth, format_size, format_time

if TYPE_CHECKING:
    from rankwise.machine.profile import Profile
    from rankwise.report.chart import Chart

_MOST_COLUMNS = 12  # of a table in a notebook
_UNITS: Sequence[tuple[str, Callable[[float], str]]] = (
    ("_bytes_per_s", format_bandwidth), ("_per_byte", lambda value: f"{value:.3g} "
                                                                    "s/B"), ("_bytes", lambda value: format_size(round(value))),
    ("_s", format_time),
)  # fmt: skip


@dataclass(frozen=True)
class Plot:
    """A picture, which a notebook shows."""

    chart: Chart
    words: Sequence[str] = ()

    def _repr_svg_(self) -> str:
        return self.chart.file()

    def svg(self) -> str:
        """Return the picture as an SVG file's text."""
        return self.chart.file()

    def save(self, path: Path | str) -> Path:
        """Write it as .svg, or as a page that gives its values, .html. Raises InputError for another ending."""
        from rankwise.files import write_whole
        from rankwise.report.document import plain_page

        path = Path(path)
        if path.suffix not in (".svg", ".html"):
            raise InputError(f"{path} is no picture that can be drawn: give it the ending .svg or .html")
        words = list(self.words) or [self.chart.title]
        write_whole(path, self.svg() if path.suffix == ".svg" else plain_page("rankwise", words, self.chart))
        return path


class Result(Record, ABC):
    """An answer. Its keys are what the verb prints under ``--json`` (docs/json.md); figures are in SI base units, with the unit
    in their name."""

    _rows: ClassVar[str] = "rows"  # the key of its JSON whose values are its records

    def blocks(self) -> Iterable[Block]:
        """Return all that readers see of it: the answer, its tables, and what is to be said beside it."""
        yield Sentence(self.conclusion)
        yield self._table()

    @property
    def conclusion(self) -> str:
        """The answer in a sentence: the first of its blocks."""
        return next(block.text for block in self.blocks() if isinstance(block, Sentence) and not block.label)

    def records(self) -> list[dict[str, Any]]:
        """Return the figures as rows of a table."""
        return list(self.to_dict()[self._rows])

    def plot(self) -> Plot:
        """Draw the picture that a report has of it. Raises InputError where there is none."""
        raise InputError(f"there is no picture of a {type(self).__name__}: take to_dict() or to_pandas()")

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame. Raises UnusableEnvironmentError without pandas."""
        try:
            import pandas
        except ImportError:
            raise UnusableEnvironmentError("pandas is not installed: 'pip install pandas', or take to_dict()") from None
        return pandas.DataFrame(self.records())

    def __str__(self) -> str:
        return self.conclusion

    def _repr_html_(self) -> str:
        from rankwise.blocks.html import html

        return html(self.blocks())

    def _table(self) -> Table[Any]:
        rows = self.records()
        names = [
            name for name in dict.fromkeys(key for row in rows for key in row) if any(_is_cell(row.get(name)) for row in rows)
        ][:_MOST_COLUMNS]
        texts = [[_cell(name, row.get(name)) for name in names] for row in rows]
        return text_table([_heading(name) for name in names], texts)


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "?")) else ".")


def trust_record(profile: Profile | None) -> dict[str, Any]:
    """Return the verdict on a profile as JSON has it beside what comes from the profile."""
    return {} if profile is None else {"trust": profile.trust.to_dict()}


# How a field with the profile that an answer comes from is declared: its JSON is the verdict on that profile.
TRUST = Key(
    "how far the profile's figures can be trusted", name="trust", kind="rankwise.machine.trust.Trust | None", omit=True,
    write=lambda profile: profile and profile.trust,
)  # fmt: skip


def _is_cell(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping)


def _heading(name: str) -> str:
    for ending, _ in _UNITS:
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def _cell(name: str, value: Any) -> str:
    if value is None or isinstance(value, Mapping):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        write = next((write for ending, write in _UNITS if name.endswith(ending)), None)
        return write(value) if write is not None else f"{value:,.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
