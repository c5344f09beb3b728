"""Pictures of simulated beside published speed-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.report.style import FONT_PT, INK, WIDTH_PT, drawing, look, new_figure, to_svg


def speedup_picture(pairs: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> str:
    """Draw (simulated, published) speed-ups: a panel for each machine, a look for each mapping, both axes logarithmic."""
    everything = [value for panel in pairs.values() for points in panel.values() for pair in points for value in pair]
    # A few published times are tens of times off; what lies beyond is drawn at the edge.
    low, high = 0.2, min(20.0, 1.1 * max(everything, default=2.0))
    with drawing():
        figure = new_figure(WIDTH_PT, 230)
        panels = figure.subplots(1, len(pairs), sharey=True, gridspec_kw={"wspace": 0.12})
        for axes, (machine, series) in zip(panels, pairs.items(), strict=True):
            axes.plot([low, high], [low, high], color=INK, linewidth=0.8)
            for i, (mapping, points) in enumerate(series.items()):
                axes.plot(
                    [min(max(ours, low), high) for ours, _ in points],
                    [min(max(theirs, low), high) for _, theirs in points],
                    linestyle="none", marker=look(i).marker, color=look(i).colour, markersize=3.5, alpha=0.8, label=mapping,
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_yscale("log")
            ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20) if low <= tick <= high]
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
                axis.set_ticks([], minor=True)
            axes.set_xlim(low * 0.95, high * 1.05)
            axes.set_ylim(low * 0.95, high * 1.05)
            axes.set_title(machine, loc="left")
            axes.grid(visible=True)
        panels[0].set_ylabel("published speed-up over blocked")
        figure.supxlabel("simulated speed-up over blocked", fontsize=FONT_PT)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=5)
        return to_svg(
            figure,
            "speedups",
            "Simulated and published speed-up over blocked",
            "Each point is one mapping of one grid, stencil and message size; on the line simulation and paper agree.",
        )
