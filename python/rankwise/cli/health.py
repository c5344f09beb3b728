"""``rankwise health``: a short session of measuring, held against what is usual on this machine; the alarm and the trend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.health import Judging, Kept, Watch
from rankwise.cli.base import Json, group, print_json, tell, verb, writable
from rankwise.cli.table import Table
from rankwise.errors import InputError, exit_code

if TYPE_CHECKING:
    from rankwise.api.health import Health
    from rankwise.health.record import Session

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
def show(by: Judging, page: Page = None, prometheus: Prometheus = None, as_json: Json = False) -> None:
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
    if as_json:
        print_json(found.to_dict())
        return
    _print(found)
    for path in (page, prometheus):
        if path is not None:
            tell(f"wrote {path}")


def _print(of: Health) -> None:
    from rankwise.health import words

    sessions, found, trend, last = of.sessions, of.found, of.trend, of.last
    print(of.conclusion)
    rows = found.rows if trend else words.farthest(found.rows)
    if rows:
        heads = ("figure", "this session", "usual", "to usual", "95 %, %", "verdict", "alarm from")
        table = Table(*heads, leave=("alarm from",))
        for row in rows:
            mark = "slower" if row.confirmed else "beyond the usual" if row.over else ""
            table.add_row(
                words.name_of(row.figure), words.shown(row.figure, row.value), words.shown(row.figure, row.usual),
                words.percent(row.difference), words.between(row.difference - row.half_width, row.difference + row.half_width),
                mark, words.percent(row.limit),
            )  # fmt: skip
        table.show()
        left = len(found.rows) - len(rows)
        more = f" {len(rows)} of {len(found.rows)} figures, those that moved most;" if left else ""
        print(f"+ is slower;{more} usual: {found.sessions} earlier sessions")
    elif last.value:
        print("; ".join(f"{words.name_of(figure)} {words.shown(figure, log)}" for figure, log in last.value.items()))
    if trend:
        _print_trend(sessions)
    for change in of.changes:
        print(f"Changed: {words.change_in_words(change)}")
    if next_command := words.next_command(found, bool(last.accepted)):
        tell(f"next: {next_command}")


def _print_trend(sessions: Sequence[Session]) -> None:
    from rankwise.health import words

    print(f"{len(sessions)} sessions, {words.day(sessions[0].at)} to {words.day(sessions[-1].at)}:")
    for figure in dict.fromkeys(name for session in sessions for name in session.value):
        values = [s.value[figure] for s in sessions if figure in s.value and s.verdict != "unusable"]
        if values:
            ends = words.shown(figure, min(values)), words.shown(figure, max(values))
            print(f"   {words.name_of(figure)}: {ends[0]} {words.spark(values)} {ends[1]}")
    unusable = sum(session.verdict == "unusable" for session in sessions)
    if unusable:
        print(f"   left out: {unusable} unusable sessions")
