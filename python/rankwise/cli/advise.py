"""``rankwise advise``: one page of what to change in a program, why, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.levels import Levels, seats_of
from rankwise.cli.base import Json, print_json, tell, verb, writable
from rankwise.cli.levels import LevelsText, TopologyText
from rankwise.units import format_time, format_volume

if TYPE_CHECKING:
    from rankwise.advise.findings import Advice
    from rankwise.machine.profile import Profile


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
    profile: Annotated[Path | None, typer.Option(help="The machine's profile: without it only bytes are known.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes. Default: those observed.")] = None,
    ppn: Annotated[int | None, typer.Option(help="Ranks on each node.")] = None,
    node_sizes: Annotated[
        str | None, typer.Option(help="Ranks on each node where they differ, instead of --nodes and --ppn: 48,48,32.")
    ] = None,
    hosts: Annotated[str | None, typer.Option(help="Names of the nodes: n[001-050], or a file.")] = None,
    levels: LevelsText = None,
    topology: TopologyText = None,
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
    from rankwise.advise.evidence import evidence_of
    from rankwise.advise.findings import Question
    from rankwise.advise.findings import advise as advised
    from rankwise.api.placing import nodes_asked
    from rankwise.api.results import trust_record
    from rankwise.engines.model import Model
    from rankwise.machine.profile import open_profile
    from rankwise.mapping.traffic import Search
    from rankwise.observe.record import read_record

    code, path = _observed(what, output)
    if path is None:
        return code
    evidence = evidence_of(read_record(path), str(path))
    sizes, names = nodes_asked(evidence.traffic, nodes, ppn, node_sizes, hosts)
    known = None if profile is None else open_profile(profile)
    on = None if known is None else Model(known)
    given = Levels.read(levels, topology, known)
    above = given.above(names, on)
    asked = (
        ("nodes", nodes), ("ppn", ppn), ("node-sizes", node_sizes), ("hosts", hosts), ("levels", levels),
        ("topology", topology), ("profile", profile),
    )  # fmt: skip
    target = {name: value for name, value in asked if value is not None}
    poor = known is not None and _is_poor(known)
    question = Question(sizes, names, on, Search(levels=given.inner, above=above), target, poor, seats_of(above, on))
    advice = advised(evidence, question)
    if html is not None:
        from rankwise.files import write_whole
        from rankwise.report.advice_page import render

        write_whole(html, render(advice, names, None if known is None else known.trust))
        tell(f"page: {html}")
    if as_json:
        print_json({**advice.to_dict(), "hosts": names, **trust_record(known)})
    else:
        print("\n".join(_lines(advice, path)))
    return code


def _observed(what: list[str], output: Path) -> tuple[int, Path | None]:
    """Return the record's path, and the exit code of the program if it was run."""
    if len(what) == 1 and (Path(what[0]).suffix == ".comm" or Path(what[0]).is_file()):
        return 0, Path(what[0])
    from rankwise.observe.start import exit_code_of, observe

    code, record = observe(what, output)
    if record is None:
        return exit_code_of(code, record), None
    return exit_code_of(code, record), output


def _is_poor(profile: Profile) -> bool:
    return profile.trust is not None and profile.trust.level == "poor"


def _lines(advice: Advice, path: Path) -> list[str]:
    from rankwise.advise.findings import gain_in_words

    evidence, shares = advice.evidence, advice.evidence.shares
    record = evidence.record
    where = f" on {len(record.hosts)} nodes" if len(record.hosts) > 1 else ""
    unit = f"step of {format_time(evidence.time_s)}" if evidence.steps else f"run of {format_time(evidence.time_s)}"
    lines = [advice.headline, f"{path}: {record.ranks} ranks{where}, {unit}", ""]
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
    words = f"{format_volume(room.now_bytes)} between nodes a {advice.evidence.per}; best known {format_volume(room.best_bytes)}, worst {format_volume(room.worst_bytes)}"
    if room.now_s is not None and room.best_s is not None and room.worst_s is not None:
        words += f"; messages {format_time(room.now_s)}, {format_time(room.best_s)} to {format_time(room.worst_s)}"
    return words
