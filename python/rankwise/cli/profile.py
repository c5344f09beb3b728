"""``rankwise profile``: look at a profile, make one of other programs' output, compare two, write one for others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.profiles import Tables
from rankwise.cli.base import Json, group, print_json, tell, verb, writable
from rankwise.cli.table import Table
from rankwise.errors import exit_code
from rankwise.units import format_bandwidth, format_ends, format_interval, format_size, format_time

if TYPE_CHECKING:
    from rankwise.machine.compare import Comparison
    from rankwise.machine.profile import Profile

profile_verbs = group("profile", "Look at a machine's profile, import, compare and export.")


@verb("show", "rankwise profile show machine.json", under=profile_verbs)
def show(
    path: Annotated[Path, typer.Argument(help="The profile.")] = Path("machine.json"),
    everything: Annotated[bool, typer.Option("--all", help="The models too, alpha and beta of each way of sending.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a profile knows: the latency (of the smallest message) and
    bandwidth (size / time of the largest) of each link class."""
    from rankwise.api.profiles import load
    from rankwise.cli.link_words import link_in_words, links_table, shared_table
    from rankwise.machine.shared import Shared

    found = load(path)
    profile = found.profile
    if as_json:
        print_json(found.to_dict())
        return
    print(found.conclusion)
    origin = " ".join(str(profile.source.get(key, "")) for key in ("kind", "measured")).strip()
    print(f"{profile.machine.get('cpu_model', 'no description of the machine')} ({origin})")
    links_table(profile).show()
    if everything:
        _models_table(profile).show()
        print("* the model that predictions use; a model's segment holds from its size to the next segment's")
    for name, link in profile.links.items():
        for line in link_in_words(link):
            print(f"{name}: {line}")
    if profile.shared != Shared():
        shared_table(profile.shared).show()
    if profile.fft3d is not None:
        from rankwise.cli.fft_rates import show_rates

        show_rates(profile.fft3d)
    for note in profile.notes():
        tell(f"note: {note}")
    for warning in profile.warnings:
        tell(f"warning: {warning}")


def _models_table(profile: Profile) -> Table:
    from rankwise.machine.link import LOOK_UPS

    heads = ("link", "sending", "model", "from", "alpha", "95 %", "1/beta", "95 %", "fit error")
    table = Table(*heads, leave=("fit error", "sending"))
    for name, link in profile.links.items():
        for sending, curve in (("send", link.send), *link.variants.items()):
            for model in curve.models.values():
                if model.name in LOOK_UPS:
                    star = " *" if model.name == curve.model else ""
                    rows = f"{len(curve.table)} rows"
                    table.add_row(
                        name, sending, model.name + star, rows, "–", "–", "–", "–", f"{100 * model.relative_error:.1f} %"
                    )
                    continue
                for segment in model.segments:
                    beta = segment.beta_s_per_byte
                    alpha_ci, beta_ci = segment.alpha_ci_s, segment.beta_ci_s_per_byte
                    table.add_row(
                        name,
                        sending,
                        model.name + (" *" if model.name == curve.model else ""),
                        format_size(segment.from_bytes),
                        format_time(segment.latency_s),
                        format_interval(alpha_ci if segment.alpha_s > 0 else None),
                        format_bandwidth(1 / beta) if beta > 0 else "–",
                        format_ends(beta_ci and (beta_ci[1], beta_ci[0]), _bandwidth),
                        f"{100 * model.relative_error:.1f} %",
                    )
    return table


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
    ping-pong stands beside it under its own name: osu_bw, osu_bibw, osu_mbw_mr, osu_multi_lat, their persistent and
    multi-threaded kin, puts and gets, all-to-all and neighbourhood collectives, further datatypes (-T all), buffers on a
    device, IMB PingPing, Sendrecv, Exchange, Alltoall and what runs under -multi, sendrecv_perf, alltoall_perf and
    all_gather_perf of nccl-tests.
    """
    from rankwise.api.profiles import import_tables

    found = import_tables(asked)
    for warning in found.warnings:
        tell(f"warning: {warning}")
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.path)
        tell(f"next: rankwise profile show {found.path}")


@verb(
    "compare",
    "rankwise profile compare before.json after.json --tolerance 20%",
    under=profile_verbs,
)
def compare_profiles(
    a: Annotated[Path, typer.Argument(metavar="A", help="The profile to compare with.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The profile that may be slower.")],
    tolerance: Annotated[str, typer.Option(metavar="SHARE", help="What still counts as the same.")] = "10%",
    everything: Annotated[bool, typer.Option("--all", help="Show every size, not only the one that differs most.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 in place of 5 (unclear) and 6 (unusable).")] = False,
    as_json: Json = False,
) -> int:
    """Compare two profiles: how many times as long B takes as A, for alpha, beta, every common size, and what ranks share.

    Exit 3 when a figure of B is slower than the tolerance allows for certain, all figures together considered; 5 when most
    cannot be told, or one profile's figures are poor; 6 when both are; else 0.
    """
    from rankwise.api.comparing import compare

    found = compare(a, b, tolerance)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.verdict)
        _print_comparisons(found.found.comparisons, everything)
        for note in found.found.notes:
            tell(f"note: {note}")
    return exit_code(found.outcome, strict)


def _print_comparisons(comparisons: list[Comparison], everything: bool) -> None:
    farthest: dict[tuple[str, str], Comparison] = {}
    for c in comparisons:
        if c.size_bytes is not None:
            known = farthest.setdefault((c.link, c.sending), c)
            if _distance(c) > _distance(known):
                farthest[c.link, c.sending] = c
    table = Table("link", "sending", "figure", "A", "B", "B / A", "95 %", "verdict", leave=("A", "B"))
    for c in comparisons:
        if c.size_bytes is not None and not everything and farthest[c.link, c.sending] is not c:
            continue
        bandwidth = c.quantity in ("beta", "both-ways")
        table.add_row(
            c.link,
            c.sending,
            _FIGURES.get(c.quantity) or format_size(c.size_bytes or 0),
            _bandwidth(c.a) if bandwidth else format_time(c.a),
            _bandwidth(c.b) if bandwidth else format_time(c.b),
            f"{c.ratio:.3f}",
            format_ends(c.ratio_ci, "{:.3f}".format),
            c.verdict,
        )
    table.show()
    if not everything:
        print("Of the sizes the one that differs most is shown; --all shows every one.")
    print("B / A is a ratio of times, for 1/beta too: above 1, B is slower.")


_FIGURES = {"alpha": "alpha", "beta": "1/beta", "both-ways": "both ways", "message": "a message every"}


def _distance(comparison: Comparison) -> float:
    from math import log

    return abs(log(comparison.ratio))


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
    from rankwise.api.profiles import load
    from rankwise.files import write_whole

    text = load(path).export(form, link)
    if output is None:
        print(text, end="")
    else:
        write_whole(output, text)
        print(output)


def _bandwidth(beta_s_per_byte: float) -> str:
    return format_bandwidth(1 / beta_s_per_byte) if beta_s_per_byte > 0 else "∞"
