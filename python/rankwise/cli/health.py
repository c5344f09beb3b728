"""The state of this machine: what would spoil a measurement (doctor), and whether it is slower than usual (health)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import rankwise
from rankwise.api.health import Health, added, health, shown
from rankwise.api.requests import Judging, Kept, Streams, Watch
from rankwise.cli.base import Json, drawable, group, print_json, show, tell, verb, writable, write_plot
from rankwise.errors import EXIT_ENVIRONMENT, EXIT_OK, InputError, exit_code
from rankwise.files import write_whole
from rankwise.progress import visible
from rankwise.questions import Options, option
from rankwise.units import format_count


@verb(
    "doctor",
    example="""rankwise doctor
    rankwise doctor --ranks 8 --json
    rankwise doctor --nodes --hosts n[01-16]""",
)
def doctor(
    asked: Streams,
    ranks: Annotated[
        int, typer.Option("--ranks", min=1, help="Ranks that will be measured with: are there cores for them?")
    ] = 2,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Which node, direction or cable is slow? Streams between all pairs of nodes.")
    ] = False,
    present: Annotated[
        Path | None, typer.Option("--from", help="--nodes: evaluate the newest measurement of this samples file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="--nodes: draw who sends to whom how slowly, into .svg or .html.", callback=drawable)
    ] = None,
    as_json: Json = False,
) -> int:
    """Check whether this machine is fit to measure.

    Shows the machine and its MPI, what would spoil a measurement here, and how to fix it. Starts two ranks to see that they
    find each other. Exit code 4 when measuring is impossible. With --nodes: 3 when something is slow, 5 when it is too noisy to
    see what is 20 % slower, 6 when nodes are busy with other work.
    """
    if nodes:
        slow = rankwise.slow_nodes(asked, present)
        write_plot(slow, plot, "picture: ")
        show(slow, as_json)
        return slow.exit_code
    if any(value is not None for value in (asked.hosts, asked.sizes, present, plot)) or asked.resume:
        raise InputError(
            "--hosts, --sizes, --from, --plot and --resume are for the nodes: write 'rankwise doctor --nodes', or leave them "
            "out"
        )
    found = rankwise.doctor(ranks)
    show(found, as_json)
    return EXIT_OK if found.usable else EXIT_ENVIRONMENT


health_verbs = group("health", "Compare the machine's speed with earlier sessions.", "rankwise health", default="run")


@dataclass(frozen=True)
class Told(Options):
    """Where else the state of a machine is told, and how the exit code tells it."""

    page: Path | None = option(None, "Write the trend as one HTML file.", check=writable)
    prometheus: Path | None = option(None, "Write gauges for a collector that reads files.", check=writable)
    strict: bool = option(False, "Exit 1 in place of 5 (unclear) and 6 (unusable).", "--strict", verbs=("run", "add"))


@verb(
    "run",
    """rankwise health run --launches 20 --seconds 20
    rankwise health
    rankwise health --hosts n[01-02] --links other-node --prometheus rankwise.prom
    rankwise health show --page health.html""",
    under=health_verbs,
)
def run(asked: Watch, by: Judging, told: Told, as_json: Json = False) -> int:
    """Measure one session and say whether the machine is slower than its baseline.

    Exit code 0: at the baseline. 3: slower in two sessions half an hour apart. 5: unclear, for there are too few sessions, or
    a slow-down could not have been seen. 6: unusable, for the machine was disturbed.
    """
    found = health(asked, by)
    _show(found, told, as_json)
    return exit_code(found.last.verdict, told.strict)


@verb("add", "rankwise health add machine.json", under=health_verbs)
def add(
    profile: Annotated[Path, typer.Argument(help="A profile that 'rankwise measure' wrote.")],
    by: Judging,
    told: Told,
    as_json: Json = False,
) -> int:
    """Take a ready profile as a session, and compare it with the other profiles of this machine.

    Profiles and sessions of 'rankwise health' are different statistics: they are never compared with each other.
    """
    found = added(profile, by)
    _show(found, told, as_json)
    return exit_code(found.last.verdict, told.strict)


@verb("show", "rankwise health show --page health.html", under=health_verbs)
def show_trend(by: Judging, told: Told, as_json: Json = False) -> None:
    """Show the trend of the machine named, or of the newest session's, and when a figure changed for good."""
    _show(shown(by.known(), by, trend=True), told, as_json)


@verb("accept", "rankwise health accept", under=health_verbs)
def accept(of: Kept, as_json: Json = False) -> None:
    """Take a machine's newest sessions, found slower, as its baseline from now on: the change was intended."""
    from rankwise.health import record as kept

    sessions = kept.to_accept(of.known())
    if not sessions:
        raise InputError(f"nothing to accept: the newest session in {of.history} was not found slower")
    kept.accept(of.history, sessions)
    if as_json:
        print_json({"accepted": [session.at for session in sessions]})
    else:
        count = format_count(len(sessions), "session")
        print(visible(f"Accepted: {count} from {sessions[0].at} on are the baseline now."))


def _show(found: Health, to: Told, as_json: bool) -> None:
    """Say how the last session compares, and write what else was asked for."""
    if to.prometheus is not None:
        write_whole(to.prometheus, found.prometheus())
    show(found, as_json)
    if to.page is not None:
        write_whole(to.page, found.page())
    for path in () if as_json else (to.page, to.prometheus):
        if path is not None:
            tell(f"wrote {path}")
