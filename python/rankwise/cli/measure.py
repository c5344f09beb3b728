"""``rankwise measure``: this machine's links measured, raw samples kept, models fitted, the profile written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, tell, verb, writable
from rankwise.cli.table import Table
from rankwise.errors import InputError
from rankwise.units import format_bandwidth, format_size, parse_seconds, parse_sizes

if TYPE_CHECKING:
    from rankwise.machine.packing import Packing


@verb(
    "measure",
    """rankwise measure -o machine.json
    rankwise measure latency --seconds 5
    rankwise measure bandwidth -o machine.json
    rankwise measure pingpong --hosts node1,node2 --background 2 -o machine.json
    rankwise measure all-pairs --hosts n[01-16] -o machine.json
    rankwise measure fft3d -o machine.json --ranks 1,2
    rankwise measure pack -o machine.json""",
)
def measure(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]",
            help="pingpong or latency (the default: plain and synchronous sends, both directions at once, and what pairs at once share), bandwidth (64 messages in flight, "
            "one way and both), pairs (a ping-pong, and those over a growing number of pairs at every size), one-to-all, "
            "alltoall, loggp (a message's parts), all-pairs (streams between "
            "all nodes, for doctor --nodes), "
            "fft3d (the rates of 3-D FFTs, added to the profile), or pack (what packing messages takes, added to the profile: "
            "a second).",
        ),
    ] = "pingpong",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The profile to write; samples go beside it.", callback=writable)
    ] = Path("machine.json"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted campaign.")] = False,
    sizes: Annotated[str | None, typer.Option(help="Message sizes, as in 0,8,1kB,4MiB. Default: 0 B to 4 MiB.")] = None,
    launches: Annotated[
        int | None,
        typer.Option(
            help="Launches of the ranks; their spread is the interval. Default: as many as the time holds, about 0.3 s each."
        ),
    ] = None,
    spread: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Wait so long between launches, in all (10m): of a machine whose states last minutes."
        ),
    ] = "0",
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time to measure at most, in seconds; starting ranks for the first five launches comes on top. Default: 15; fft3d: 1 a cube; all-pairs: 300."
        ),
    ] = None,
    precision: Annotated[
        float,
        typer.Option(
            help="Stop when every 95 % interval is this narrow, 0.03 for ± 3 % of the figure, after ten launches or more."
        ),
    ] = 0.03,
    statistic: Annotated[
        str, typer.Option(help="What a table's row is: median, minimum, mean, smallest-20 or tukey-mean.")
    ] = "median",
    background: Annotated[
        int, typer.Option(metavar="N", help="Measure plain sends also while N other pairs of ranks keep the link busy.")
    ] = 0,
    hosts: Annotated[
        str | None,
        typer.Option(
            help="Nodes whose link to measure too: node1,node2 or n[01-04], alike this one. Default: those of the Slurm allocation."
        ),
    ] = None,
    links: Annotated[
        str | None, typer.Option(help="Link classes to measure, as in same-socket,other-node. Default: all there are.")
    ] = None,
    n: Annotated[str | None, typer.Option("--n", help="fft3d: points an axis of the cubes. Default: 40,80,160,288.")] = None,
    ranks: Annotated[str | None, typer.Option("--ranks", help="fft3d: numbers of ranks. Default: 1 and the cores.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how long messages take on this machine, for each class of link that it offers.

    Every raw sample is kept beside the profile (machine.samples.jsonl for machine.json). Ctrl-C loses nothing: go on
    with --resume. What is no ping-pong is added to the profile that is there.
    """
    what = "pingpong" if what == "latency" else what
    if what == "fft3d":
        from rankwise.cli.fft_rates import measure_rates

        measure_rates(output, n, ranks, 1.0 if seconds is None else seconds, as_json)
        return
    if what == "pack":
        from rankwise.measure.packing import measure_packing

        show_packing(measure_packing(output), as_json)
        return
    if n is not None or ranks is not None:
        raise InputError("--n and --ranks are for fft3d: write 'rankwise measure fft3d', or leave them out")
    from rankwise.measure.session import samples_path_of

    if what == "all-pairs":
        from rankwise.cli.slow_nodes import Asked, measure_all

        measure_all(Asked(hosts, samples_path_of(output), sizes, 300.0 if seconds is None else seconds, resume), as_json)
        return
    seconds = 15.0 if seconds is None else seconds
    from rankwise.cli.link_words import link_in_words, shared_table
    from rankwise.machine.hosts import parse_hosts
    from rankwise.machine.shared import Shared
    from rankwise.measure.session import measure_machine

    profile = measure_machine(
        output, resume, tuple(sorted(set(parse_sizes(sizes)))) if sizes else None, launches, seconds, statistic, precision,
        what, background, tuple(parse_hosts(hosts)) if hosts else (), _names(links), parse_seconds(spread, "--spread"),
    )  # fmt: skip
    if as_json:
        print_json(profile.to_dict())
        return
    for name, link in profile.links.items():
        for line in link_in_words(link):
            print(f"{name}: {line}")
    if profile.shared != Shared():
        shared_table(profile.shared).show()
    for note in profile.notes():
        tell(f"note: {note}")
    tell(f"profile: {output}; samples: {samples_path_of(output)}; next: rankwise profile show {output}")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def show_packing(packing: Packing, as_json: bool) -> None:
    """Print what packing takes."""
    if as_json:
        print_json(packing.to_dict())
        return
    table = Table("message", *(f"rows of {rows} B" for rows in packing.curves))
    for size, _ in next(iter(packing.curves.values())):
        table.add_row(format_size(size), *(format_bandwidth(size / packing.time_s(size, rows)) for rows in packing.curves))
    table.show()
