"""Pages and papers: ``rankwise report`` of what was measured, ``quick`` from nothing to a page, ``reproduce`` a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import rankwise
from rankwise.api.requests import Redoing, Sources
from rankwise.cli.base import Json, group, show, tell, verb
from rankwise.papers import PAPERS, Paper


@verb(
    "quick",
    """rankwise quick
rankwise quick --json --directory here
""",
)
def quick(
    directory: Annotated[Path, typer.Option(help="Where the profile, the samples and the report go.")] = Path("."),
    seconds: Annotated[float, typer.Option(help="Time to spend on ping-pong samples, in seconds.")] = 12.0,
    as_json: Json = False,
) -> None:
    """Take the tour: measure, predict, run, map, report.

    Under a minute on two cores. Every step is a verb of its own: doctor, measure, profile show, predict, run and
    validate exchange, map, report.
    """
    from rankwise.api.reporting import measured

    found = measured(directory, seconds)
    show(found, as_json)
    found.write()


@verb(
    "report",
    """rankwise report -o rankwise-report.html
    rankwise report last-week.json today.json -o before-after.html""",
)
def report(asked: Sources, as_json: Json = False) -> None:
    """Write one HTML page of results.

    It has pictures of the machine's messages, of predictions and measurements, and of node maps.
    Sections without figures name the command that makes them.
    """
    show(rankwise.report(asked), as_json)


reproduce_verbs = group(
    "reproduce", "Redo a published study and compare the results.", "rankwise reproduce werner2023", title="STUDY"
)


def _register(paper: Paper) -> None:
    def reproduce(asked: Redoing, as_json: Json = False) -> None:
        found = rankwise.reproduce(paper.name, asked)
        show(found, as_json)
        if as_json:
            return
        for path in found.files[:1]:
            tell(f"written: {path} and {len(found.files) - 1} tables and pictures next to it")
        if paper.takes_profiles and not asked.measured:
            tell(f"to measure the same here: {found.reproduction.next_command}")
        if asked.output is None:
            tell(f"next: rankwise reproduce {paper.name} -o {paper.name}  # HTML, CSV and pictures")

    reproduce.__doc__ = f"{paper.help}\n\n{paper.citation}"
    verb(paper.name, f"rankwise reproduce {paper.name} -o {paper.name}", under=reproduce_verbs)(reproduce)


for _paper in PAPERS:
    _register(_paper)
