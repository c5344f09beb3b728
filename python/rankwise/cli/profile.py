"""``rankwise profile``: look at a profile, or make one from a published table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, console, group, print_json, tell, verb
from rankwise.errors import InputError
from rankwise.units import format_bandwidth, format_size, format_time

profile_verbs = group("profile", "Look at a machine's profile, or import one.")


@verb("show", "rankwise profile show machine.json", under=profile_verbs)
def show(
    path: Annotated[Path, typer.Argument(help="The profile.")] = Path("machine.json"),
    everything: Annotated[
        bool, typer.Option("--all", help="Other ways of sending too: ssend, both directions at once.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what a profile knows: alpha (time of an empty message) and beta (time per byte) of each link class."""
    from rankwise.machine.profile import Profile

    profile = Profile.load(path)
    if as_json:
        print_json(profile.to_dict())
        return
    from rich.table import Table

    machine = profile.machine
    origin = " ".join(str(profile.source.get(key, "")) for key in ("kind", "measured")).strip()
    print(f"{machine.get('hostname', '?')}: {machine.get('cpu_model', 'no description')} ({origin})")
    table = Table("link", "sending", "model", "from", "alpha", "95 % interval", "1/beta", "95 % interval", "fit error")
    for name, link in profile.links.items():
        for sending, curve in (("send", link.send), *(link.variants.items() if everything else ())):
            for model in curve.models.values():
                for segment in model.segments:
                    beta = segment.beta_s_per_byte
                    alpha_ci, beta_ci = segment.alpha_ci_s, segment.beta_ci_s_per_byte
                    table.add_row(
                        name,
                        sending,
                        model.name + (" *" if model.name == curve.model else ""),
                        format_size(segment.from_bytes),
                        format_time(segment.alpha_s),
                        f"{format_time(alpha_ci[0])} … {format_time(alpha_ci[1])}" if alpha_ci else "–",
                        format_bandwidth(1 / beta) if beta > 0 else "–",
                        f"{_bandwidth(beta_ci[1])} … {_bandwidth(beta_ci[0])}" if beta_ci else "–",
                        f"{100 * model.relative_error:.1f} %",
                    )
    console().print(table)
    print("* the model that predictions use; a model's segment holds from its size to the next segment's")
    for warning in profile.warnings:
        tell(f"warning: {warning}")


@verb(
    "import",
    "rankwise profile import pingpong.csv -o machine.json --link other-node",
    under=profile_verbs,
)
def import_table(
    table: Annotated[Path, typer.Argument(help="CSV with columns such as message_bytes,latency_ns,sigma_ns.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The profile to write.")] = Path("machine.json"),
    link: Annotated[str, typer.Option(help="The link class that was measured.")] = "other-node",
    name: Annotated[str | None, typer.Option(help="The machine's name. Default: the table's file name.")] = None,
    as_json: Json = False,
) -> None:
    """Make a profile from a table of one-way message times. Units stand in the columns' names."""
    from rankwise.machine.profile import LINK_CLASSES
    from rankwise.measure.tables import profile_from_table

    if link not in LINK_CLASSES:
        raise InputError(f"link class '{link}' is unknown: choose one of {', '.join(LINK_CLASSES)}")
    profile = profile_from_table(table, link, name or table.stem)
    profile.save(output)
    if as_json:
        print_json(profile.to_dict())
    else:
        print(output)
        tell(f"next: rankwise profile show {output}")


def _bandwidth(beta_s_per_byte: float) -> str:
    return format_bandwidth(1 / beta_s_per_byte) if beta_s_per_byte > 0 else "∞"
