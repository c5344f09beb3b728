"""``rankwise health``: a short session of measuring, held against what is usual on this machine; the alarm and the trend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.health import Judging, Kept, Watch
from rankwise.cli.base import Json, group, print_json, show, tell, verb, writable
from rankwise.errors import InputError, exit_code

if TYPE_CHECKING:
    from rankwise.api.health import Health

health_verbs = group("health", "Is this machine slower than usual? Sessions, their history, the alarm.", default="run")

Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 in place of 5 (unclear) and 6 (unusable).")]
Page = Annotated[Path | None, typer.Option("--page", help="Write the trend as one HTML file.", callback=writable)]
Prometheus = Annotated[
    Path | None, typer.Option("--prometheus", help="Write gauges for a collector that reads files.", callback=writable)
]


@verb(
    "run",
    """rankwise health run --launches 20 --seconds 20
    rankwise health
    rankwise health --hosts n[01-02] --links other-node --prometheus rankwise.prom
    rankwise health show --page health.html""",
    under=health_verbs,
)
def run(
    asked: Watch,
    by: Judging,
    page: Page = None,
    prometheus: Prometheus = None,
    strict: Strict = False,
    as_json: Json = False,
) -> int:
    """Measure one session and say whether the machine is slower than usual.

    Exit 0 as usual, 3 slower in two sessions half an hour apart, 5 unclear (too few sessions, or a slow-down could not have
    been seen), 6 unusable (the machine was disturbed). Other verbs: show, accept, add; each has its --help.
    """
    from rankwise.api.health import health

    found = health(asked, by)
    _show(found, page, prometheus, as_json)
    return exit_code(found.last.verdict, strict)


@verb("add", "rankwise health add machine.json", under=health_verbs)
def add(
    profile: Annotated[Path, typer.Argument(help="A profile that 'rankwise measure' wrote.")],
    by: Judging,
    page: Page = None,
    prometheus: Prometheus = None,
    strict: Strict = False,
    as_json: Json = False,
) -> int:
    """Take a ready profile as a session, and judge it by the other profiles of this machine.

    Profiles and sessions of 'rankwise health' are different statistics: they are never compared with each other.
    """
    from rankwise.api.health import added

    found = added(profile, by)
    _show(found, page, prometheus, as_json)
    return exit_code(found.last.verdict, strict)


@verb("show", "rankwise health show --page health.html", under=health_verbs)
def show_trend(by: Judging, page: Page = None, prometheus: Prometheus = None, as_json: Json = False) -> None:
    """Show the trend of the machine named, or of the newest session's, and when a figure changed for good."""
    from rankwise.api.health import shown

    _show(shown(by.known(), by, trend=True), page, prometheus, as_json)


@verb("accept", "rankwise health accept", under=health_verbs)
def accept(of: Kept, as_json: Json = False) -> None:
    """Take a machine's newest sessions, judged slower, as what is usual from now on: the change was meant."""
    from rankwise.health import history as kept

    sessions = kept.to_accept(of.known())
    if not sessions:
        raise InputError(f"nothing to accept: the newest session in {of.history} was not judged slower")
    kept.accept(of.history, sessions)
    if as_json:
        print_json({"accepted": [session.at for session in sessions]})
    else:
        print(f"Accepted: {len(sessions)} session{'s' * (len(sessions) != 1)} from {sessions[0].at} on are the usual now.")


def _show(found: Health, page: Path | None, prometheus: Path | None, as_json: bool) -> None:
    """Say how the last session compares, and write what was asked for beside."""
    from rankwise.files import write_whole

    if page is not None:
        write_whole(page, found.page())
    if prometheus is not None:
        write_whole(prometheus, found.prometheus())
    show(found, as_json)
    for path in () if as_json else (page, prometheus):
        if path is not None:
            tell(f"wrote {path}")
