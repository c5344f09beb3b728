"""One picture of machines beside each other: a time and its interval for each, the conclusion as its title."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankwise.report.style import FONT_PT, INK, MUTED, WIDTH_PT, drawing, look, new_figure, to_svg
from rankwise.units import format_time

if TYPE_CHECKING:
    from rankwise.engines.beside import MachineTime

_ROW_PT = 22.0


def beside_picture(times: Sequence[MachineTime], title: str) -> str:
    """Draw each machine's time as a point on its interval, the fastest on top, on an axis from 0."""
    ordered = sorted(times, key=lambda time: -time.time_s)
    wrapped = textwrap.fill(title, 92)
    with drawing():
        figure = new_figure(WIDTH_PT, 70 + _ROW_PT * len(ordered) + 12 * wrapped.count("\n"))
        axes = figure.subplots()
        for place, time in enumerate(ordered):
            axes.plot([1e6 * time.low_s, 1e6 * time.high_s], [place, place], color=MUTED, linewidth=2.5, solid_capstyle="butt")
            axes.plot(1e6 * time.time_s, place, marker="o", markersize=6, color=look(0).colour)
            axes.annotate(
                format_time(time.time_s), (1e6 * time.high_s, place), xytext=(5, 0), textcoords="offset points", va="center",
                fontsize=FONT_PT - 0.5, color=INK,
            )  # fmt: skip
        axes.set_yticks(range(len(ordered)), [time.machine for time in ordered])
        axes.set_xlim(0, 1.15e6 * max(time.high_s for time in ordered))
        axes.set_ylim(-0.6, len(ordered) - 0.4)
        axes.set_xlabel("time, us; the bar is its interval")
        axes.set_title(wrapped, loc="left")
        axes.grid(visible=True, axis="x")
        told = " ".join(f"{t.machine}: {format_time(t.time_s)} ({format_time(t.low_s)} to {format_time(t.high_s)})." for t in times)
        return to_svg(figure, "beside", title, told)
