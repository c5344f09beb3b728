"""``rankwise advise``: one page of what to change in a program, why, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.advising import Target
from rankwise.cli.base import Json, print_json, tell, verb, writable
from rankwise.units import format_count, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.advise.findings import Advice


@verb(
    "advise",
    example="""
    rankwise advise app.comm --profile machine.json
    rankwise advise -- mpiexec -n 16 ./app
    rankwise advise app.comm --profile machine.json --nodes 8 --ppn 2 --html advice.html
    """,
)
def advise(
    what: Annotated[
        list[str], typer.Argument(help="What 'rankwise observe' recorded; or, after --, a command to observe first.")
    ],
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where a command's record is kept.")] = Path("observed.comm"),
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the page with pictures here, too.", callback=writable)
    ] = None,
    as_json: Json = False,
) -> int:
    """Say what costs time in a program's communication, what to change, and what that gains.

    Placement is looked at first, as it needs no change of the program; then ranks that make others wait, and other ways of
    sending. "Nothing to gain" is an answer.
    """
    from rankwise.api.advising import advise as ask
    from rankwise.files import write_whole

    found = ask(what, target, output)
    if isinstance(found, int):
        return found
    if html is not None:
        write_whole(html, found.page())
        tell(f"page: {html}")
    if as_json:
        print_json(found.to_dict())
    else:
        print("\n".join(_lines(found.advice, found.path)))
    return found.exit_code


def _lines(advice: Advice, path: Path) -> list[str]:
    from rankwise.advise.findings import gain_in_words

    evidence, shares = advice.evidence, advice.evidence.shares
    record = evidence.record
    where = f" on {len(record.hosts)} nodes" if len(record.hosts) > 1 else ""
    unit = f"step of {format_time(evidence.time_s)}" if evidence.steps else f"run of {format_time(evidence.time_s)}"
    lines = [advice.headline, f"{path}: {format_count(record.ranks, 'rank')}{where}, {unit}", ""]
    waiting = f", {shares.share(shares.waiting_s):.0%} waiting for late partners" if shares.split else ""
    moving = "moving bytes" if shares.split else "in MPI"
    lines.append(
        f"Time      {shares.share(shares.computing_s):.0%} computing, {shares.share(shares.moving_s):.0%} {moving}{waiting}"
    )
    lines.append(f"Pattern   {evidence.pattern.words}")
    lines.append(f"Placement {_placement_words(advice)}")
    if advice.headroom.now_bytes:
        lines.append(f"Headroom  {advice.headroom.words(evidence.per)}")
    for number, finding in enumerate(advice.findings, 1):
        gain = gain_in_words(finding, evidence)
        if finding.gain_s is not None:
            gain = f"{format_time(finding.gain_s)} a {evidence.per}, {gain}"
        lines += ["", f"{number}. {finding.what}: {gain}", f"   {finding.why}.", f"   {finding.command}"]
    if advice.nothing:
        lines += ["", "Nothing to gain elsewhere:", *(f"  {words}" for words in advice.nothing)]
    for note in dict.fromkeys((*advice.notes, *evidence.notes)):
        tell(f"note: {note}")
    return lines


def _placement_words(advice: Advice) -> str:
    room = advice.headroom
    words = (
        f"{format_volume(room.now_bytes)} between nodes a {advice.evidence.per}; best known "
        f"{format_volume(room.best_bytes)}, worst {format_volume(room.worst_bytes)}"
    )
    if room.now_s is not None and room.best_s is not None and room.worst_s is not None:
        words += f"; messages {format_time(room.now_s)}, {format_time(room.best_s)} to {format_time(room.worst_s)}"
    return words
