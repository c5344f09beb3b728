"""``rankwise fit``: every link model from raw samples, tested on sizes that it has not seen, and one chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.api.fitting import Fitting
from rankwise.cli.base import Json, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.units import format_parameter, format_size

if TYPE_CHECKING:
    from rankwise.machine.profile import Link, Profile
    from rankwise.records import Interval


@verb("fit", "rankwise fit machine.samples.jsonl --statistic smallest-20 -o machine.json")
def fit(asked: Fitting, as_json: Json = False) -> None:
    """Fit all link models to raw samples, with 95 % intervals, and choose what predicts by its error on sizes not seen.

    Everything is recomputed from the samples: of each kind of campaign in the file the newest is taken. With auto the table
    itself predicts, joined smoothly, unless a model does better on ranges of sizes that it has not seen.
    """
    from rankwise.api.fitting import fit as ask

    found = ask(asked)
    for line in found.profile.warnings:
        tell(f"warning: {line}")
    tell(f"profile {found.path}: {found.profile.trust.line()}")
    if as_json:
        print_json(found.to_dict())
        return
    _show(found.profile)
    if asked.output is not None:
        tell(f"profile: {found.path}; next: rankwise predict exchange --profile {found.path}")
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
