"""``rankwise fit``: every link model from raw samples, tested on sizes that it has not seen, and one chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, tell, verb, writable
from rankwise.cli.table import Table
from rankwise.errors import InputError
from rankwise.units import format_parameter, format_size

if TYPE_CHECKING:
    from rankwise.machine.link import Interval
    from rankwise.machine.profile import Link, Profile


@verb("fit", "rankwise fit machine.samples.jsonl --statistic smallest-20 -o machine.json")
def fit(
    samples: Annotated[
        Path, typer.Argument(help="Raw samples (what 'measure' keeps), or a CSV table as 'profile import' reads it.")
    ],
    model: Annotated[
        str, typer.Option(help="auto, hockney, piecewise, loggp, max-rate, or pchip: the table itself, joined smoothly.")
    ] = "auto",
    statistic: Annotated[str, typer.Option(help="What a table's row is: median, minimum, mean or smallest-20.")] = "median",
    method: Annotated[
        str, typer.Option(help="Piecewise by regression (lines and breaks from the data), or the table itself: table.")
    ] = "regression",
    link: Annotated[str, typer.Option(help="The link class of a CSV table.")] = "other-node",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the profile here.", callback=writable)] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a profile that has what the new one lacks.")] = False,
    as_json: Json = False,
) -> None:
    """Fit all link models to raw samples, with 95 % intervals, and choose what predicts by its error on sizes not seen.

    Everything is recomputed from the samples: of each kind of campaign in the file the newest is taken. With auto the table
    itself predicts, joined smoothly, unless a model does better on ranges of sizes that it has not seen.
    """
    from rankwise.machine.profile import Profile
    from rankwise.measure.fitting import fit_table
    from rankwise.measure.profiles import profile_of_samples

    if output is not None and output.exists() and samples.exists() and output.samefile(samples):
        raise InputError(f"--output {output} holds the samples: name another file, they would be lost")
    if samples.suffix.lower() == ".csv":
        profile = fit_table(samples, link, model, method)
    else:
        profile = profile_of_samples(samples, statistic, model, method)
    if output is not None and output.exists() and not force and (lost := Profile.load(output).lost_in(profile)):
        raise InputError(f"{output} has what the new profile lacks ({', '.join(lost)}): give another --output, or --force")
    for line in profile.warnings:
        tell(f"warning: {line}")
    tell(f"profile {output or samples}: {profile.trust.line()}")
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
    for name, link in profile.links.items():
        print(f"{name}: {link.send.model} – {link.choice.reason if link.choice else ''}")
    table = Table("link", "model", "parameters", "fit error", "error on sizes not seen")
    for name, link in profile.links.items():
        for model in link.send.models.values():
            unseen = model.cross_validated_error
            table.add_row(
                name,
                model.name + (" *" if model.name == link.send.model else ""),
                str(link.parameter_count(model.name)) + (" (look-up)" if link.is_look_up(model.name) else ""),
                f"{100 * _worst_fit(link, model.name):.1f} %",
                "–" if unseen is None else f"{100 * unseen:.1f} %",
            )
    table.show()
    parameters = Table("link", "model", "parameter", "value", "95 % interval")
    for name, link in profile.links.items():
        named = link.explained_by()
        role = "predicts" if named == link.send.model else "explains"
        for key, value, interval in _parameters(link, named):
            ends = [format_parameter(key.split(" from ")[0], figure) for figure in (value, *(interval or ()))]
            parameters.add_row(name, f"{named} {role}", key, ends[0], " to ".join(ends[1:]) or "–")
    parameters.show()


def _worst_fit(link: Link, model: str) -> float:
    return max(curve.models[model].relative_error for curve in link.together.values())


def _parameters(link: Link, model: str) -> list[tuple[str, float, Interval | None]]:
    chosen = link.send.models[model]
    if chosen.looks_up:  # its parameters are the rows
        return []
    if chosen.parameters:
        return [(name, parameter.value, parameter.ci) for name, parameter in chosen.parameters.items()]
    return [
        row
        for way, curve in link.together.items()
        for segment in curve.models[model].segments
        for row in (
            (f"{way} alpha_s from {format_size(segment.from_bytes)}", segment.alpha_s, segment.alpha_ci_s),
            (
                f"{way} beta_s_per_byte from {format_size(segment.from_bytes)}",
                segment.beta_s_per_byte,
                segment.beta_ci_s_per_byte,
            ),
        )
    ]
