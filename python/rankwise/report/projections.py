"""Pictures of projections: designs matched in time, ratios over the years, trends against what was built, tornadoes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.report.style import (
    FONT_PT,
    INK,
    MUTED,
    WIDTH_PT,
    drawing,
    look,
    new_figure,
    set_log_axis,
    to_svg,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rankwise.engines.project import Sensitivity
    from rankwise.papers.czechowski2012 import Bar

MEMORY, NETWORK = look(0), look(1)
_ROW_PT = 24.0


def figure5_picture(bars: Mapping[str, Sequence[Bar]]) -> str:
    """Draw the designs of Figure 5 as stacked bars of memory and network time, a panel for each reading."""
    with drawing():
        figure = new_figure(WIDTH_PT, 240)
        panels = figure.subplots(1, len(bars), sharey=True, squeeze=False)[0]
        for axes, (reading, designs) in zip(panels, bars.items(), strict=True):
            places = range(len(designs))
            memory = [design.memory_s for design in designs]
            network = [design.network_s for design in designs]
            axes.bar(places, network, 0.62, label="T_net", color=NETWORK.colour, edgecolor=INK, linewidth=0.6, hatch="//")
            axes.bar(places, memory, 0.62, bottom=network, label="T_mem", color=MEMORY.colour, edgecolor=INK, linewidth=0.6)
            gpu = designs[0]
            for level in (gpu.sequential_s, gpu.overlapped_s):
                axes.axhline(level, color=MUTED, linewidth=0.9, linestyle="--", zorder=0.5)
            for place, design in zip(places, designs, strict=True):
                axes.annotate(
                    f"{design.sequential_s:.2f} s", (place, design.sequential_s), xytext=(0, 4),
                    textcoords="offset points", ha="center", fontsize=FONT_PT - 0.5, color=INK,
                )  # fmt: skip
            axes.set_xticks(places, [f"{design.name}\n{_count(design.processors)}" for design in designs])
            axes.set_title(reading, loc="left")
            axes.grid(visible=True, axis="y")
        top = max(design.sequential_s for designs in bars.values() for design in designs)
        panels[0].set_ylim(0, 1.15 * top)
        panels[0].set_ylabel("time of one transform, s")
        figure.supxlabel("design and its processors", fontsize=FONT_PT)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
        words = " ".join(
            f"{reading}: "
            + ", ".join(f"{d.name} {d.memory_s:.3f} s memory and {d.network_s:.3f} s network" for d in designs)
            + "."
            for reading, designs in bars.items()
        )
        return to_svg(figure, "figure5", "Memory and network time of four exascale designs", words)


def figure6_picture(curves: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]) -> str:
    """Draw T_mem / T_net over the years, a line for each topology, a panel for each reading."""
    with drawing():
        figure = new_figure(WIDTH_PT, 240)
        panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
        everything = [value for reading in curves.values() for curve in reading.values() for _, value in curve]
        for axes, (reading, lines) in zip(panels, curves.items(), strict=True):
            for index, (name, curve) in enumerate(lines.items()):
                shape = look(index)
                axes.plot(
                    *zip(*curve, strict=True), linestyle=shape.line, marker=shape.marker, color=shape.colour,
                    label=name, markersize=4, markevery=2, linewidth=1.4,
                )  # fmt: skip
            axes.axhline(1, color=INK, linewidth=0.9)
            set_log_axis(axes, everything, lambda value: f"{value:g}")
            axes.set_xticks(range(2010, 2021, 2))
            axes.set_title(reading, loc="left")
            axes.set_xlabel("year")
        panels[0].set_ylabel("T_mem / T_net")
        panels[0].annotate(
            "memory takes longer", (2010, 1), xytext=(2, 3), textcoords="offset points", fontsize=FONT_PT - 0.5, color=INK
        )
        # Above the line the left panel has room, below it the right one.
        panels[-1].annotate(
            "network takes longer", (2010, 1), xytext=(2, -11), textcoords="offset points", fontsize=FONT_PT - 0.5, color=INK
        )
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
        words = " ".join(
            f"{reading}, {name}: {curve[0][1]:.2f} in {curve[0][0]} to {curve[-1][1]:.2f} in {curve[-1][0]}."
            for reading, lines in curves.items()
            for name, curve in lines.items()
        )
        return to_svg(figure, "figure6", "Ratio of memory time to network time over the years", words)


def since_picture(figures: Mapping[str, Any]) -> str:
    """Draw what was assumed in 2012 beside what came: doubling times, T_mem / T_net, fraction of peak."""
    with drawing():
        figure = new_figure(WIDTH_PT, 235)
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
        _draw_doubling(left, figures["doubling"])
        _draw_ranges(middle, figures["ratio"], "T_mem / T_net", lambda value: f"{value:.2f}")
        _draw_ranges(right, figures["fraction"], "fraction of peak", lambda value: f"{100 * value:.2g} %")
        left.set_title("years to double", loc="left")
        middle.set_title("T_mem / T_net", loc="left")
        right.set_title("fraction of peak", loc="left")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=2)
        words = " ".join(
            f"{name}: {entry['assumed']:g} years assumed, {entry['shortest']:.1f} to {entry['longest']:.1f} real."
            for name, entry in figures["doubling"].items()
        )
        return to_svg(figure, "since", "What was predicted in 2012 and what came of it", words)


def tornado_picture(items: Sequence[Sensitivity], total_s: float, labels: Sequence[tuple[str, str, str]], title: str) -> str:
    """Draw the total time with each parameter at its low and at its high end, the largest effect on top.

    ``labels`` holds for each item the parameter's name and both its ends in words.
    """
    from matplotlib.ticker import NullFormatter, NullLocator

    with drawing():
        figure = new_figure(WIDTH_PT, 78 + _ROW_PT * len(items))
        axes = figure.subplots()
        for place, (item, (_, low, high)) in enumerate(zip(items, labels, strict=True)):
            for end, time_s, shape, hatch in (
                (low, item.time_at_low_s, look(1), "//"),
                (high, item.time_at_high_s, look(0), ""),
            ):
                axes.barh(
                    place, time_s - total_s, 0.6, left=total_s, color=shape.colour, edgecolor=INK, linewidth=0.6, hatch=hatch
                )
                slower = time_s > total_s
                axes.annotate(
                    end, (time_s, place), xytext=(4 if slower else -4, 0), textcoords="offset points", va="center",
                    ha="left" if slower else "right", fontsize=FONT_PT - 0.5, color=INK,
                )  # fmt: skip
        axes.axvline(total_s, color=INK, linewidth=0.9)
        axes.set_xscale("log")
        times = [time_s for item in items for time_s in (item.time_at_low_s, item.time_at_high_s)]
        low_s, high_s = min([total_s, *times]), max([total_s, *times])
        room = max(1.6, (high_s / low_s) ** 0.22)
        axes.set_xlim(low_s / room, high_s * room)
        from rankwise.report.style import duration

        ticks = _round_ticks(low_s, high_s)
        axes.set_xticks(ticks, [duration(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks(range(len(items)), [name for name, _, _ in labels])
        axes.set_ylim(len(items) - 0.4, -0.6)
        axes.grid(visible=True, axis="x")
        axes.set_xlabel(f"time, logarithmic; the line is the answer, {duration(float(f'{total_s:.3g}'))}")
        axes.set_title(title, loc="left")
        words = " ".join(
            f"{name}: {item.time_at_low_s:.3g} s at {low}, {item.time_at_high_s:.3g} s at {high}."
            for item, (name, low, high) in zip(items, labels, strict=True)
        )
        return to_svg(figure, "tornado", title, words or "No parameter changes the time.")


def _draw_doubling(axes: Axes, ranges: Mapping[str, Mapping[str, float]]) -> None:
    for place, entry in enumerate(ranges.values()):
        assumed, real = look(1), look(0)
        label = place == 0
        axes.plot(
            [entry["shortest"], entry["longest"]], [place, place], color=real.colour, linewidth=4, solid_capstyle="round",
            label="real, from 2010 to 2020 … 2024" if label else None,
        )  # fmt: skip
        axes.plot(
            [entry["assumed"]], [place], linestyle="none", marker=assumed.marker, color=assumed.colour, markersize=6,
            markeredgecolor=INK, markeredgewidth=0.6, label="assumed or predicted in 2012" if label else None,
        )  # fmt: skip
        axes.annotate(
            f"{entry['shortest']:.1f} – {entry['longest']:.1f}", (max(entry["longest"], entry["assumed"]), place), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=FONT_PT - 0.5, color=INK,
        )  # fmt: skip
    axes.set_yticks(range(len(ranges)), [name.replace(" ", "\n") for name in ranges])
    axes.set_ylim(len(ranges) - 0.4, -0.6)
    axes.set_xlim(0, 1.35 * max(entry["longest"] for entry in ranges.values()))
    axes.set_xlabel("years")
    axes.grid(visible=True, axis="x")


def _draw_ranges(axes: Axes, ranges: Mapping[str, tuple[float, float]], label: str, write: Any) -> None:
    values = [value for pair in ranges.values() for value in pair]
    for place, (name, (low, high)) in enumerate(ranges.items()):
        measured = "predicted" not in name and "ours" not in name
        shape = look(0) if measured else look(1)
        if low < high:
            axes.plot([low, high], [place, place], color=shape.colour, linewidth=4, solid_capstyle="round")
        else:
            axes.plot(
                [low], [place], linestyle="none", marker="o" if measured else shape.marker, color=shape.colour,
                markersize=6, markeredgecolor=INK, markeredgewidth=0.6,
            )  # fmt: skip
        text = write(low) if low == high or write(low) == write(high) else f"{write(low)} – {write(high)}"
        axes.annotate(
            text, (high, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=FONT_PT - 0.5, color=INK
        )
    axes.set_xscale("log")
    low, high = min(values) / 1.6, max(values)
    axes.set_xlim(low, high * (high / low) ** 0.75)  # room for the words beside the last points
    ticks = [step * 10.0**power for power in range(-5, 3) for step in ((1, 3) if high / low < 50 else (1,))]
    ticks = [tick for tick in ticks if low <= tick <= 3 * high]
    axes.set_xticks(ticks, [write(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(ranges)), [name.replace(", ", ",\n") for name in ranges])
    axes.set_ylim(len(ranges) - 0.4, -0.6)
    axes.set_xlabel(label)
    axes.grid(visible=True, axis="x")


def _round_ticks(low: float, high: float) -> list[float]:
    steps = (1, 1.5, 2, 3, 5, 7) if high / low < 5 else (1, 2, 5) if high / low < 300 else (1,)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in ticks if low / 1.3 <= tick <= high * 1.3]


def _count(number: float) -> str:
    return f"{number / 1e6:.2f}M" if number >= 1e6 else f"{number / 1e3:.0f}k"
