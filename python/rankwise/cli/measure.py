"""``rankwise measure``: ping-pong on this machine, raw samples kept, models fitted, the profile written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, print_json, tell, verb
from rankwise.errors import InputError
from rankwise.units import format_bandwidth, format_time, parse_sizes


@verb(
    "measure",
    """rankwise measure -o machine.json
    rankwise measure fft3d -o machine.json --ranks 1,2""",
)
def measure(
    what: Annotated[
        str, typer.Argument(help="links: how long messages take; fft3d: the rates of 3-D FFTs, added to the profile.")
    ] = "links",
    output: Annotated[Path, typer.Option("--output", "-o", help="The profile to write; samples go beside it.")] = Path(
        "machine.json"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted campaign.")] = False,
    sizes: Annotated[
        str | None, typer.Option(help="Message sizes, as in 0,8,1kB,4MiB. Default: 0 B to 4 MiB.")
    ] = None,
    launches: Annotated[int, typer.Option(help="Launches of the ranks; their spread is part of the interval.")] = 3,
    seconds: Annotated[float | None, typer.Option(help="Time to spend on samples at most, in seconds. Default: 15.")] = None,
    precision: Annotated[
        float, typer.Option(help="Stop when every 95 % interval is this narrow: 0.03 for ± 3 % of the figure.")
    ] = 0.03,
    statistic: Annotated[
        str, typer.Option(help="What a table's row is: median, minimum, mean or smallest-20.")
    ] = "median",
    n: Annotated[str | None, typer.Option("--n", help="fft3d: points an axis of the cubes. Default: 40,80,160,288.")] = None,
    ranks: Annotated[str | None, typer.Option("--ranks", help="fft3d: numbers of ranks. Default: 1 and the cores.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how long messages take on this machine, for each class of link that it offers.

    Every raw sample is kept beside the profile (machine.samples.jsonl for machine.json). Ctrl-C loses nothing: go on
    with --resume. The rates of FFTs are measured for --seconds a cube (default 1) into a profile that is already there.
    """
    if what == "fft3d":
        from rankwise.cli.fft3d import measure_rates

        measure_rates(output, n, ranks, 1.0 if seconds is None else seconds, as_json)
        return
    if what != "links":
        raise InputError(f"'{what}' is nothing to measure: choose links or fft3d")
    if n is not None or ranks is not None:
        raise InputError("--n and --ranks are for fft3d: write 'rankwise measure fft3d', or leave them out")
    seconds = 15.0 if seconds is None else seconds
    from rankwise.measure.session import measure_machine, samples_path_of

    profile = measure_machine(
        output, resume, tuple(sorted(set(parse_sizes(sizes)))) if sizes else None, launches, seconds, statistic, precision
    )
    if as_json:
        print_json(profile.to_dict())
        return
    for name, link in profile.links.items():
        curve = link.send
        print(
            f"{name}: {format_time(curve.alpha_s)} at 0 B, {format_bandwidth(1 / curve.beta_s_per_byte)} for large "
            f"messages ({curve.samples} samples)"
            if curve.beta_s_per_byte > 0
            else f"{name}: {format_time(curve.alpha_s)} at 0 B ({curve.samples} samples)"
        )
    tell(f"profile: {output}; samples: {samples_path_of(output)}; next: rankwise profile show {output}")
