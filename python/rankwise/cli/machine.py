"""A machine's profile: measured, fitted to samples, looked at, imported, compared, exported."""

from __future__ import annotations

from dataclasses import replace
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any

import typer

import rankwise
from rankwise.api.requests import CAMPAIGNS, SECONDS, Campaign, Fitting, Tables
from rankwise.blocks.terminal import show_all
from rankwise.cli.base import Json, flattened, group, show, verb, writable
from rankwise.errors import exit_code
from rankwise.files import write_whole
from rankwise.progress import visible

measure_verbs = group(
    "measure",
    "Measure latency and bandwidth between cores and between nodes.",
    "rankwise measure -o machine.json",
    default="latency",
    title="WHAT",
)
_MEASURED = {
    "latency": """rankwise measure -o machine.json
    rankwise measure latency --seconds 5
    rankwise measure --hosts node1,node2 --background 2 -o machine.json""",
    "all-pairs": "rankwise measure all-pairs --hosts n[01-16] -o machine.json",
    "fft3d": "rankwise measure fft3d -o machine.json --ranks 1,2",
}
_KEPT = """Every raw sample is saved next to the profile (machine.samples.jsonl for machine.json). Ctrl-C loses nothing: go on
with --resume."""


def _register(what: Any) -> None:
    """Register the measurement of something; pingpong is what latency was called."""
    latency = what in ("latency", "pingpong")

    def measure(asked: Campaign, as_json: Json = False) -> None:
        show(rankwise.measure(replace(asked, what=what)), as_json)

    says, _, lasts = CAMPAIGNS["latency" if latency else what].rpartition(": ")
    measure.__doc__ = (
        f"Measure latency and bandwidth between cores and between nodes.\n\n{says}; it takes {lasts}. {_KEPT}"
        if latency
        else f"{says}.\n\nIt takes {lasts}, and is added to the profile that is there."
    )
    known = {} if what == "pack" else {"seconds": SECONDS.get(what, 15)}
    verb(
        what, _MEASURED.get(what, f"rankwise measure {what} -o machine.json"), measure_verbs,
        listed=f"{says}: {lasts}", hidden=what == "pingpong",
    )(flattened(measure, Campaign, what, without=("what",), **known))  # fmt: skip


for _what in (*CAMPAIGNS, "pingpong"):
    _register(_what)


profile_verbs = group(
    "profile", "Show, fit, import, compare and export machine profiles.", "rankwise profile show machine.json"
)


@verb("show", "rankwise profile show machine.json", under=profile_verbs)
def show_profile(
    path: Annotated[Path, typer.Argument(help="The profile.")] = Path("machine.json"),
    everything: Annotated[bool, typer.Option("--all", help="The models too, alpha and beta of each mode.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a profile knows: the latency (of the smallest message) and
    bandwidth (size / time of the largest) of each link class."""
    found = rankwise.load(path)
    show_all(everything)
    show(found, as_json, found.blocks(models=everything))


@verb("fit", "rankwise profile fit machine.samples.jsonl --statistic smallest-20 -o machine.json", profile_verbs)
def fit(
    asked: Fitting,
    everything: Annotated[bool, typer.Option("--all", help="Show the parameters of the models, too.")] = False,
    as_json: Json = False,
) -> None:
    """Fit link models (Hockney, LogGP, ...) to the raw samples.

    Each has 95 % intervals; the one that predicts is chosen by its error on sizes that it has not seen. Everything is
    recomputed from the samples: the newest measurement of each kind is taken. With auto the table itself predicts,
    joined smoothly, unless a model does better on ranges of sizes that it has not seen.
    """
    found = rankwise.fit(asked)
    show_all(everything)
    show(found, as_json, found.blocks(models=everything))


fit.__doc__ = f"{cleandoc(fit.__doc__ or '')}\n\nThe same as 'rankwise profile fit'."
verb("fit", "rankwise fit machine.samples.jsonl --statistic smallest-20 -o machine.json")(fit)


@verb(
    "import",
    """rankwise profile import osu_latency.txt osu_bw.txt --link other-node -o machine.json
    rankwise profile import run-1.txt run-2.txt run-3.txt --link same-socket -o machine.json
    rankwise profile import pingpong.csv --link other-node -o machine.json""",
    under=profile_verbs,
)
def import_files(asked: Tables, as_json: Json = False) -> None:
    """Make a profile from what other programs measured.

    A ping-pong (osu_latency, IMB PingPong, mpi4py.bench, a CSV table of one-way times) becomes the send curve. What is no
    ping-pong is saved under its own name. Of OSU: osu_bw, osu_bibw, osu_mbw_mr, osu_multi_lat, their persistent and
    multi-threaded kin; puts and gets, all-to-all and neighbourhood collectives; further datatypes (-T all), buffers on a
    device. Of IMB: PingPing, Sendrecv, Exchange, Alltoall and what runs under -multi. Of nccl-tests: sendrecv_perf,
    alltoall_perf and all_gather_perf.
    """
    show(rankwise.import_tables(asked), as_json)


@verb("compare", "rankwise profile compare before.json after.json --tolerance 20%", under=profile_verbs)
def compare_profiles(
    a: Annotated[Path, typer.Argument(metavar="A", help="The profile to compare with.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The profile that may be slower.")],
    tolerance: Annotated[str, typer.Option(metavar="SHARE", help="What still counts as the same.")] = "10%",
    everything: Annotated[bool, typer.Option("--all", help="Show every size, not only the one that differs most.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 in place of 5 (unclear) and 6 (unusable).")] = False,
    as_json: Json = False,
) -> int:
    """Compare two profiles: how many times as long B takes as A, for alpha, beta, every common size, and what ranks share.

    Exit code 3: a value of B is slower than the tolerance allows for certain, all values together considered. 5: most
    intervals are too wide, or the quality of one profile is poor. 6: that of both is. Else 0.
    """
    found = rankwise.compare(a, b, tolerance)
    show_all(everything)
    show(found, as_json, found.blocks(every_size=everything))
    return exit_code(found.outcome, strict)


@verb(
    "export",
    """rankwise profile export machine.json --format csv -o machine.csv
    rankwise profile export machine.json --format prometheus -o machine.prom
    rankwise profile export machine.json --format simgrid --link same-socket -o platform.xml""",
    under=profile_verbs,
)
def export(
    path: Annotated[Path, typer.Argument(help="The profile.")] = Path("machine.json"),
    form: Annotated[
        str, typer.Option("--format", help="csv, osu, simgrid, or prometheus (gauges for a collector that reads files).")
    ] = "csv",
    link: Annotated[str | None, typer.Option(help="The link class, for osu and simgrid. Default: the only one.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write. Default: stdout.", callback=writable)
    ] = None,
) -> None:
    """Write a profile for other programs: all tables as CSV, a link like
    osu_latency's output or as SimGrid platform, gauges."""
    text = rankwise.load(path).export(form, link)
    if output is None:
        print(text, end="")
    else:
        write_whole(output, text)
        print(visible(str(output)))
