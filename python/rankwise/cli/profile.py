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
    """rankwise profile import osu_latency.txt osu_bw.txt --link other-node -o machine.json
    rankwise profile import pingpong.csv -o machine.json""",
    under=profile_verbs,
)
def import_files(
    tables: Annotated[
        list[Path], typer.Argument(help="Output of OSU benchmarks or IMB, or CSV (message_bytes,latency_ns,sigma_ns).")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The profile to write.")] = Path("machine.json"),
    link: Annotated[str, typer.Option(help="The link class that was measured.")] = "other-node",
    name: Annotated[str | None, typer.Option(help="The machine's name. Default: the first file's name.")] = None,
    add: Annotated[bool, typer.Option("--add", help="Put the tables into the profile that --output names.")] = False,
    window: Annotated[
        int | None, typer.Option(min=1, help="Messages in flight of osu_bw and osu_bibw (their -W). Default: 64.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a profile from what other programs measured.

    A ping-pong (osu_latency, IMB PingPong, a CSV table of one-way times) becomes the send curve. What is no ping-pong
    stands beside it under its own name: osu_bw, osu_bibw, osu_mbw_mr, osu_multi_lat, IMB Sendrecv.
    """
    from rankwise.machine.profile import LINK_CLASSES, Profile
    from rankwise.measure.imports import import_profile

    if link not in LINK_CLASSES:
        raise InputError(f"link class '{link}' is unknown: choose one of {', '.join(LINK_CLASSES)}")
    base = Profile.load(output) if add else None
    profile = import_profile(tables, link, name or tables[0].stem, window, base)
    profile.save(output)
    for warning in profile.warnings[len(base.warnings) if base else 0 :]:
        tell(f"warning: {warning}")
    if as_json:
        print_json(profile.to_dict())
    else:
        print(output)
        tell(f"next: rankwise profile show {output}")


def _bandwidth(beta_s_per_byte: float) -> str:
    return format_bandwidth(1 / beta_s_per_byte) if beta_s_per_byte > 0 else "∞"
