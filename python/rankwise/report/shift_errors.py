"""Pictures of werner2023's reproduction: the error of each prediction by size and k, and mean errors by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.report.style import FONT_PT, INK, RULE, WIDTH_PT, drawing, look, new_figure, to_svg
from rankwise.units import format_size

if TYPE_CHECKING:
    from rankwise.papers.werner2023 import Study


def errors_picture(study: Study) -> str:
    """Draw the errors of three models over k, a panel for each size, in the measurement's standard deviation."""
    models = (study.lookup, study.hockney, study.max_rate)
    shown = 60.0  # per cent; what lies beyond is written as a number, or it would flatten all else
    with drawing():
        figure = new_figure(WIDTH_PT, 210)
        panels = figure.subplots(1, len(study.sizes), sharey=True)
        for axes, size in zip(panels, study.sizes, strict=True):
            here = study.size_of == size
            cutoffs = study.cutoff_of[here]
            deviation = 100 * study.sigma[here] / study.measured[here]
            axes.bar(cutoffs, 2 * deviation, 0.7, bottom=-deviation, color=RULE, label="one standard deviation")
            axes.axhline(0, color=INK, linewidth=0.8)
            for i, judged in enumerate(models):
                shape = look(i)
                axes.plot(
                    cutoffs, study.errors(judged.predicted_s)[here], shape.line, marker=shape.marker,
                    color=shape.colour, markersize=3, linewidth=0.9, label=judged.name,
                )  # fmt: skip
            axes.set_title(format_size(size), loc="left")
            axes.set_xticks([1, 5, 10])
            axes.set_ylim(-shown, shown)
            axes.grid(visible=True, axis="y")
        panels[0].set_ylabel("predicted / measured − 1, %")
        figure.supxlabel("cutoff k (layers of neighbours)", fontsize=FONT_PT)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
        return to_svg(
            figure,
            "errors",
            "Error of the published prediction, of Hockney's two parameters and of max-rate",
            " ".join(f"{judged.name}: {judged.mape:.1f} % off on average over {len(study.rows)} rows." for judged in models),
        )


def by_size_picture(study: Study) -> str:
    """Draw the mean absolute error of each model by size beside the noise floor."""
    series = [(judged.name, judged.by_size) for judged in (study.lookup, study.hockney, study.max_rate)]
    series.append(("noise floor", study.floor_by_size))
    width = 0.8 / len(series)
    with drawing():
        figure = new_figure(WIDTH_PT, 190)
        axes = figure.subplots()
        for i, (name, by_size) in enumerate(series):
            places = [place + (i - (len(series) - 1) / 2) * width for place in range(len(study.sizes))]
            values = [by_size[size] for size in study.sizes]
            axes.bar(places, values, 0.9 * width, color=look(i).colour, label=name)
            for place, value in zip(places, values, strict=True):
                axes.annotate(
                    f"{value:.1f}", (place, value), xytext=(0, 2), textcoords="offset points", ha="center",
                    fontsize=FONT_PT - 1, color=INK,
                )  # fmt: skip
        axes.set_xticks(range(len(study.sizes)), [format_size(size) for size in study.sizes])
        axes.set_xlabel("bytes of each rank's block")
        axes.set_ylabel("mean absolute error, %")
        axes.grid(visible=True, axis="y")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=4)
        return to_svg(
            figure,
            "by-size",
            "Mean absolute error by size",
            " ".join(
                f"{name}: " + ", ".join(f"{format_size(size)} {error:.1f} %" for size, error in by_size.items()) + "."
                for name, by_size in series
            ),
        )
