"""How all pictures look: colours, markers, axes of sizes and times, and the way from a figure to a text of SVG."""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that the page replaces by its own light or dark ones; spelt so that nothing else in an SVG looks like them.
INK = "#1b1b1f"
MUTED = "#5f6069"
RULE = "#d7d8dd"
SURFACE = "#fefefe"

WIDTH_PT = 540.0
FONT_PT = 9.0
_LABEL_PT = 46.0  # room for the label of a size
FONT_FAMILY = "system-ui, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Look:
    """How one series is drawn: the looks differ in colour, marker and line, so that they survive a grey printer."""

    colour: str
    marker: str
    line: str


LOOKS = (
    Look("#0072b2", "o", "-"),
    Look("#d55e00", "s", "--"),
    Look("#009e73", "^", "-."),
    Look("#8b4a9c", "D", ":"),
    Look("#7a6a00", "X", "-"),
)


def look(index: int) -> Look:
    """Return the look of a series by its number; after the last look they start anew."""
    return LOOKS[index % len(LOOKS)]


@contextmanager
def drawing() -> Iterator[None]:
    """Draw within this context: text stays text, and the same figures give the same bytes."""
    import matplotlib

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "rankwise",
        "text.parse_math": False,
        "font.family": "DejaVu Sans",  # ships with matplotlib, and is wider than what readers see in its place
        "font.size": FONT_PT,
        "axes.titlesize": FONT_PT,
        "axes.titleweight": "bold",
        "axes.labelsize": FONT_PT,
        "xtick.labelsize": FONT_PT - 0.5,
        "ytick.labelsize": FONT_PT - 0.5,
        "legend.fontsize": FONT_PT - 0.5,
        "legend.frameon": False,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": MUTED,
        "axes.facecolor": "none",
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "grid.color": RULE,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
    }
    with matplotlib.rc_context(settings):  # type: ignore[arg-type]
        yield


def new_figure(width_pt: float, height_pt: float) -> Figure:
    """Return an empty figure of a size in points (1/72 inch)."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_pt / 72, height_pt / 72), layout="constrained")


def to_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Write a figure as one ``<svg>`` element; ``name`` keeps its ids apart from those of other pictures."""
    width_pt, height_pt = figure.get_size_inches() * 72
    return svg_element(name, title, description, width_pt, height_pt, svg_group(figure, name))


def svg_group(figure: Figure, name: str) -> str:
    """Write a figure as a ``<g>`` element, to stand in an ``<svg>`` with others; lengths are in points."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = stream.getvalue()
    body = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"'DejaVu Sans'[^;\"]*", FONT_FAMILY, body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    used = set(re.findall(r"(?:url\(|href=\")#([\w.-]+)", body))
    body = re.sub(r' id="([\w.-]+)"', lambda match: f' id="{name}-{match[1]}"' if match[1] in used else "", body)
    body = re.sub(r"(url\(|href=\")#", rf"\1#{name}-", body)
    return f'<g stroke-linejoin="round">{body}</g>'


def svg_element(name: str, title: str, description: str, width_pt: float, height_pt: float, body: str) -> str:
    """Wrap drawn elements as one ``<svg>`` that says what it shows to those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" width="{width_pt:g}pt" height="{height_pt:g}pt" '
        f'viewBox="0 0 {width_pt:g} {height_pt:g}">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-desc">{html.escape(description)}</desc>'
        f"{body}</svg>"
    )


@dataclass(frozen=True)
class SizeAxis:
    """A logarithmic axis of sizes in bytes; 0 B, where it was measured, has a place of its own beyond a break."""

    first: int
    last: int
    zero: float | None

    @staticmethod
    def of(sizes: Iterable[int]) -> SizeAxis:
        """Make the axis for some sizes, of which at least one must be above 0."""
        sizes = set(sizes)
        positive = sorted(sizes - {0})
        octaves = math.log2(positive[-1] / positive[0])
        gap = max(1.0, 0.09 * octaves)
        return SizeAxis(positive[0], positive[-1], math.log2(positive[0]) - gap if 0 in sizes else None)

    def place(self, size_bytes: float) -> float:
        """Return where a size lies on the axis. Raises ValueError for 0 B when the axis has no place for it."""
        if size_bytes > 0:
            return math.log2(size_bytes)
        if self.zero is None:
            raise ValueError("this axis has no place for 0 B")
        return self.zero

    def ticks(self, room_pt: float) -> list[int]:
        """Return the sizes to label when the axis is ``room_pt`` wide: powers of two as far as they fit."""
        low, high = math.ceil(math.log2(self.first)), math.floor(math.log2(self.last))
        if low > high:
            return [self.first] if self.first == self.last else [self.first, self.last]
        octave_pt = self.octave_pt(room_pt)
        step = next((step for step in (1, 2, 3, 4, 5, 10) if step * octave_pt >= _LABEL_PT), 20)
        free_from = -math.inf if self.zero is None else self.zero + 0.6 * _LABEL_PT / octave_pt
        powers = [power for power in range(low, high + 1) if power >= free_from]
        return [2**power for power in powers if power % step == 0] or [2 ** powers[-1]]

    def octave_pt(self, room_pt: float) -> float:
        """Return the width of a factor of two in points when the axis is ``room_pt`` wide."""
        return room_pt / (math.log2(self.last) - (math.log2(self.first) if self.zero is None else self.zero) + 1)

    def apply(self, axes: Axes, room_pt: float) -> None:
        """Give the axis to a plot: ticks, limits, label, and the break before 0 B."""
        ticks = self.ticks(room_pt)
        places, labels = [self.place(size) for size in ticks], [format_size(size) for size in ticks]
        left, right = self.place(self.first), self.place(self.last)
        if self.zero is not None:
            places, labels = [self.zero, *places], ["0 B", *labels]
            middle = (self.zero + left) / 2
            slash = {"marker": [(-0.6, -1.5), (0.6, 1.5)], "markersize": 7, "linestyle": "none", "clip_on": False}
            half = 0.06 * (left - self.zero)
            for colour, width, shift in ((SURFACE, 3.0, 0.0), (MUTED, 0.9, -half), (MUTED, 0.9, half)):
                axes.plot(
                    [middle + shift],
                    [0],
                    transform=axes.get_xaxis_transform(),
                    color=colour,
                    markeredgewidth=width,
                    zorder=5,
                    **slash,  # type: ignore[arg-type]
                )
            left = self.zero
        margin = max(0.4, 0.03 * (right - left))
        axes.set_xlim(left - margin, right + margin)
        axes.set_xticks(places, labels)
        axes.set_xlabel("size of the message")


def set_time_axis(axes: Axes, times_s: Sequence[float]) -> None:
    """Give a plot a logarithmic axis of time that holds all ``times_s`` (each above 0), labelled with units."""
    set_log_axis(axes, times_s, duration)


def set_log_axis(axes: Axes, values: Sequence[float], label_of: Callable[[float], str]) -> None:
    """Give a plot a logarithmic y axis that holds all ``values`` (each above 0), with few and round ticks."""
    low, high = min(values) / 1.25, max(values) * 1.25
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    steps = (1,) if high / low > 300 else (1, 3) if high / low > 30 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [label_of(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.grid(visible=True, axis="y")


def duration(time_s: float) -> str:
    """Write a round time with a fitting unit, for an axis: ``20 us``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if time_s >= scale * 0.999:
            return f"{time_s / scale:.3g} {unit}"
    return f"{time_s / 1e-9:.3g} ns"


def data_rate(bytes_per_s: float) -> str:
    """Write a round bandwidth with a fitting unit, for an axis: ``20 GB/s``."""
    for unit, scale in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_s >= scale * 0.999:
            return f"{bytes_per_s / scale:.3g} {unit}"
    return f"{bytes_per_s:.3g} B/s"
