"""A time line: a picture, a page, or a trace for Perfetto."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.api.results import Plot
from rankwise.errors import InputError
from rankwise.files import require_output, write_whole

if TYPE_CHECKING:
    from rankwise.observe.timeline import Timeline

ENDINGS = (".html", ".svg", ".json")
HELP = (
    "Write the time line of the shortest case's round: a page (.html), a picture (.svg), or a trace for ui.perfetto.dev "
    "(.json)."
)


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
        from rankwise.observe.timeline import timeline_json

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
    from rankwise.report.program import path_words, timeline_picture, timeline_title
    from rankwise.units import format_time

    title = timeline_title(line, "round")
    return TimelinePlot(
        timeline_picture(line, title), [f"A round takes {format_time(line.length_s)}", f"{what}.", path_words(line)], line=line
    )
