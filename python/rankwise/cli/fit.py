"""``rankwise fit``: every link model from raw samples, tested on sizes that it has not seen, and one chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, console, print_json, tell, verb
from rankwise.errors import InputError
from rankwise.units import format_parameter, format_size

if TYPE_CHECKING:
    from rankwise.machine.link import Interval, LinkModel
    from rankwise.machine.profile import Link, Profile


@verb("fit", "rankwise fit machine.samples.jsonl --statistic smallest-20 -o machine.json")
def fit(
    samples: Annotated[
        Path, typer.Argument(help="Raw samples (what 'measure' keeps), or a CSV table as 'profile import' reads it.")
    ],
    model: Annotated[str, typer.Option(help="auto, hockney, piecewise, loggp or max-rate.")] = "auto",
    statistic: Annotated[
        str, typer.Option(help="What a table's row is: median, minimum, mean or smallest-20.")
    ] = "median",
    method: Annotated[
        str, typer.Option(help="Piecewise by regression (lines and breaks from the data), or the table itself: table.")
    ] = "regression",
    link: Annotated[str, typer.Option(help="The link class of a CSV table.")] = "other-node",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the profile here.")] = None,
    as_json: Json = False,
) -> None:
    """Fit all link models to raw samples, with 95 % intervals, and choose one by its error on sizes not seen.

    Everything is recomputed from the samples; the newest campaign in the file is taken. With auto, the model with fewest
    parameters within one standard error of the best is chosen.
    """
    from rankwise.measure.fitting import fit_samples, fit_table

    if output is not None and output.exists() and samples.exists() and output.samefile(samples):
        raise InputError(f"--output {output} holds the samples: name another file, they would be lost")
    if samples.suffix.lower() == ".csv":
        profile = fit_table(samples, link, model, method)
    else:
        profile = fit_samples(samples, statistic, model, method)
    if output is not None:
        profile.save(output)
    if as_json:
        print_json(profile.to_dict())
        return
    _show(profile)
    if output is not None:
        tell(f"profile: {output}; next: rankwise predict exchange --profile {output}")
    else:
        tell("next: add -o machine.json to keep this as a profile")


def _show(profile: Profile) -> None:
    from rich.table import Table

    table = Table("link", "model", "parameters", "fit error", "error on sizes not seen")
    for name, link in profile.links.items():
        for model in link.send.models.values():
            unseen = model.cross_validated_error
            table.add_row(
                name,
                model.name + (" *" if model.name == link.send.model else ""),
                str(_count(link, model)),
                f"{100 * _worst_fit(link, model.name):.1f} %",
                "–" if unseen is None else f"{100 * unseen:.1f} %",
            )
    screen = console()
    screen.print(table)
    for name, link in profile.links.items():
        print(f"{name}: {link.send.model} – {link.choice.reason if link.choice else ''}")
    parameters = Table("link", "parameter", "value", "95 % interval")
    for name, link in profile.links.items():
        for key, value, interval in _parameters(link):
            ends = [format_parameter(key.split(" from ")[0], figure) for figure in (value, *(interval or ()))]
            parameters.add_row(name, key, ends[0], " … ".join(ends[1:]) or "–")
    screen.print(parameters)


def _count(link: Link, model: LinkModel) -> int:
    """Count the parameters over all ways of sending; a model that has named ones shares them between ways."""
    curves = (link.send, *link.variants.values())
    if model.parameters:
        return len(model.parameters)
    return sum(curve.models[model.name].parameter_count or 0 for curve in curves)


def _worst_fit(link: Link, model: str) -> float:
    return max(curve.models[model].relative_error for curve in (link.send, *link.variants.values()))


def _parameters(link: Link) -> list[tuple[str, float, Interval | None]]:
    chosen = link.send.chosen()
    if chosen.parameters:
        return [(name, parameter.value, parameter.ci) for name, parameter in chosen.parameters.items()]
    return [
        row
        for way, curve in (("send", link.send), *link.variants.items())
        for segment in curve.chosen().segments
        for row in (
            (f"{way} alpha_s from {format_size(segment.from_bytes)}", segment.alpha_s, segment.alpha_ci_s),
            (
                f"{way} beta_s_per_byte from {format_size(segment.from_bytes)}",
                segment.beta_s_per_byte,
                segment.beta_ci_s_per_byte,
            ),
        )
    ]
