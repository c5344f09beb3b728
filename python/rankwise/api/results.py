"""What questions are answered with: objects that show themselves in a notebook and give their figures as JSON or as a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rankwise.blocks import Block, Sentence, with_quality
from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.files import require_output, require_picture, write_whole
from rankwise.records import Key, Record
from rankwise.units import format_time

if TYPE_CHECKING:
    from rankwise.machine.trust import Trust
    from rankwise.observe.timeline import Timeline
    from rankwise.report.chart import Chart


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
        from rankwise.report.document import plain_page

        path = require_picture(Path(path))
        words = list(self.words) or [self.chart.title]
        write_whole(path, self.svg() if path.suffix == ".svg" else plain_page("rankwise", words, self.chart))
        return path


class Result(Record, ABC):
    """An answer. Its keys are what the verb prints under ``--json`` (docs/json.md); figures are in SI base units, with the unit
    in their name."""

    _rows: ClassVar[str] = "rows"  # the key of its JSON whose values are its records
    _rests_on: ClassVar[str] = "profile"  # which attribute knows the measurement's quality
    _decides: ClassVar[bool] = False  # whether it is no answer where the measurement that it rests on is poor

    def __init_subclass__(
        cls, rows: str | None = None, rests_on: str | None = None, decides: bool | None = None, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        for name, value in {"_rows": rows, "_rests_on": rests_on, "_decides": decides}.items():
            if value is not None:
                setattr(cls, name, value)

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """Return all that readers see of it: the answer, its tables, and notes."""

    @property
    def quality(self) -> Trust | None:
        """The quality of the measurement that the answer rests on; None: it rests on none."""
        known = getattr(self, self._rests_on, None)
        return None if known is None else known.trust

    @property
    def is_poor(self) -> bool:
        """Whether the quality of that measurement is poor."""
        return self.quality is not None and self.quality.is_poor

    @property
    def is_too_poor(self) -> bool:
        """Whether the measurement is too poor for the answer."""
        return self._decides and self.is_poor

    def rendered(self, blocks: Iterable[Block] | None = None) -> Iterable[Block]:
        """Return what renderers show, its second line being the quality (``blocks``: others than those of a notebook)."""
        blocks, quality = self.blocks() if blocks is None else blocks, self.quality
        if quality is None:
            return blocks
        file = quality.file or str(getattr(self, "path", ""))
        again = f"rankwise measure -o {file}" if file.endswith(".json") else "rankwise measure"
        return with_quality(blocks, quality.line(), again if quality.is_poor else "")

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

        return html(self.rendered())


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "?")) else ".")


# How a field with the profile that an answer comes from is declared: its JSON is the quality of that profile.
TRUST = Key(
    "quality of the profile's measurement", name="trust", kind="rankwise.machine.trust.Trust | None", omit=True,
    write=lambda profile: profile and profile.trust,
)  # fmt: skip


ENDINGS = (".html", ".svg", ".json")
HELP = "Write a time line of the shortest case: a page (.html), a picture (.svg), or a trace for ui.perfetto.dev (.json)."


@dataclass(frozen=True)
class TimelinePlot(Plot):
    """A picture of a round: ranks down, time across, messages as arrows, the
    critical path and what bounds each of its parts."""

    line: Timeline = field(kw_only=True)

    def save(self, path: Path | str) -> Path:
        """Write it as .svg, as a page, .html, or as a trace for Perfetto, .json. Raises InputError for another ending."""
        path = require_timeline(Path(path))
        if path.suffix != ".json":
            return super().save(path)
        from rankwise.observe.formats import timeline_json

        write_whole(path, "".join(timeline_json(self.line, self.chart.title)))
        return path


def require_timeline(path: Path) -> Path:
    """Return a path that a time line can be written to. Raises InputError."""
    if path.suffix not in ENDINGS:
        raise InputError(
            f"--timeline {path} is no file that a time line is written to: give it the ending {', '.join(ENDINGS)}"
        )
    require_output(path)
    return path


def checked(path: Path | None) -> Path | None:
    """Check a file for a time line when the command line is read. Raises InputError."""
    return None if path is None else require_timeline(path)


def plotted(line: Timeline, what: str) -> TimelinePlot:
    """Draw a time line of ``what``."""
    from rankwise.report.program import timeline_picture

    chart = timeline_picture(line, "round")
    return TimelinePlot(chart, [f"A round takes {format_time(line.length_s)}", f"{what}.", chart.description], line=line)
