"""``rankwise health``: a short session of measuring, held against what is usual on this machine; the alarm and the trend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, group, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.errors import InputError, exit_code
from rankwise.progress import meter
from rankwise.units import parse_seconds, parse_share

if TYPE_CHECKING:
    from rankwise.health.changes import Change
    from rankwise.health.judge import Judgement, Rules
    from rankwise.health.record import Session

health_verbs = group("health", "Is this machine slower than usual? Sessions, their history, the alarm.", default="run")

History = Annotated[Path, typer.Option("--history", help="The history: one line a session, only ever added to.")]
Tolerance = Annotated[str, typer.Option(metavar="SHARE", help="The slow-down that must be seen.")]
Apart = Annotated[str, typer.Option("--confirm-after", help="How long after a session another one confirms it, as in 30m.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 in place of 5 (unclear) and 6 (unusable).")]
Name = Annotated[
    str | None,
    typer.Option("--as", help="The machine's name in the history. Default: its host name (in containers that may change)."),
]
Page = Annotated[Path | None, typer.Option("--page", help="Write the trend as one HTML file.")]
Prometheus = Annotated[Path | None, typer.Option("--prometheus", help="Write gauges for a collector that reads files.")]

_HISTORY = Path("health.jsonl")


@verb(
    "run",
    """rankwise health run --launches 20 --seconds 20
    rankwise health
    rankwise health --hosts n[01-02] --links other-node --prometheus rankwise.prom
    rankwise health show --page health.html""",
    under=health_verbs,
)
def run(
    history: History = _HISTORY,
    launches: Annotated[int, typer.Option(help="Launches of the ranks in this session, at least 10.")] = 20,
    spread: Annotated[
        str | None, typer.Option(help="The time over which they are spread. Default: 30m; with --seconds: one after the other.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Time to measure in all, in seconds. Default: 20.")] = None,
    hosts: Annotated[
        str | None, typer.Option(help="Nodes whose link to watch too, as in measure. Default: those of the Slurm allocation.")
    ] = None,
    links: Annotated[str | None, typer.Option(help="Link classes to watch. Default: all there are.")] = None,
    name: Name = None,
    tolerance: Tolerance = "20%",
    confirm_after: Apart = "30m",
    page: Page = None,
    prometheus: Prometheus = None,
    strict: Strict = False,
    as_json: Json = False,
) -> int:
    """Measure one session and say whether the machine is slower than usual.

    Exit 0 as usual, 3 slower in two sessions half an hour apart, 5 unclear (too few sessions, or a slow-down could not have
    been seen), 6 unusable (the machine was disturbed). Other verbs: show, accept, add; each has its --help.
    """
    from rankwise.health import session as sessions
    from rankwise.launch import find_mpi
    from rankwise.launch.allocation import allocated_hosts
    from rankwise.machine.discover import discover
    from rankwise.machine.hosts import parse_hosts
    from rankwise.machine.record import machine_record
    from rankwise.machine.snapshot import cpu_quota
    from rankwise.measure.places import find_places

    rules = _rules(tolerance, confirm_after)
    topology = discover()
    named = tuple(link.strip() for link in links.split(",") if link.strip()) if links else ()
    places = find_places(topology, tuple(parse_hosts(hosts)) if hosts else allocated_hosts(), named, cpu_quota())
    if not places:
        raise InputError("two ranks need two CPUs, and this process may use one: ask for more (see 'taskset -p $$')")
    spread_s = parse_seconds(spread, "spread") if spread is not None else 1800.0 if seconds is None else 0.0
    plan = sessions.SessionPlan(places, launches, spread_s, 20.0 if seconds is None else seconds)
    mpi = find_mpi()
    mpi.require_match()
    key = sessions.key_of(topology, mpi, places, name)
    if plan.spread_s:
        tell(f"{plan.launches} launches over {plan.spread_s / 60:.3g} min: most of the time the machine is left alone")
    with sessions.alone(history, key):
        with meter("health", plan.launches) as progress:
            measured = sessions.measure_session(mpi, plan, key, machine_record(topology, mpi), history, progress)
        judged = _keep(history, measured, rules)
        sessions.finish(history, key)
    _show(history, judged, rules, page, prometheus, as_json)
    return exit_code(judged[-1].verdict, strict)


@verb("add", "rankwise health add machine.json", under=health_verbs)
def add(
    profile: Annotated[Path, typer.Argument(help="A profile that 'rankwise measure' wrote.")],
    history: History = _HISTORY,
    name: Name = None,
    tolerance: Tolerance = "20%",
    confirm_after: Apart = "30m",
    page: Page = None,
    prometheus: Prometheus = None,
    strict: Strict = False,
    as_json: Json = False,
) -> int:
    """Take a ready profile as a session, and judge it by the other profiles of this machine.

    Profiles and sessions of 'rankwise health' are different statistics: they are never compared with each other.
    """
    from rankwise.health.history import read
    from rankwise.health.session import session_of_profile
    from rankwise.machine.profile import Profile

    rules = _rules(tolerance, confirm_after)
    session = session_of_profile(Profile.load(profile), name)
    if any(other.at == session.at and other.identity == session.identity for other in read(history)):
        raise InputError(f"{profile} is in {history} already: measure again")
    judged = _keep(history, session, rules)
    _show(history, judged, rules, page, prometheus, as_json)
    return exit_code(judged[-1].verdict, strict)


@verb("show", "rankwise health show --page health.html", under=health_verbs)
def show(
    history: History = _HISTORY,
    name: Name = None,
    tolerance: Tolerance = "20%",
    confirm_after: Apart = "30m",
    page: Page = None,
    prometheus: Prometheus = None,
    as_json: Json = False,
) -> None:
    """Show the trend of the machine named, or of the newest session's, and when a figure changed for good."""
    sessions = _known(history, name)
    _show(history, sessions, _rules(tolerance, confirm_after), page, prometheus, as_json, trend=True)


@verb("accept", "rankwise health accept", under=health_verbs)
def accept(history: History = _HISTORY, name: Name = None, as_json: Json = False) -> None:
    """Take a machine's newest sessions, judged slower, as what is usual from now on: the change was meant."""
    from rankwise.health import history as kept

    sessions = kept.to_accept(_known(history, name))
    if not sessions:
        raise InputError(f"nothing to accept: the newest session in {history} was not judged slower")
    kept.accept(history, sessions)
    if as_json:
        print_json({"accepted": [session.at for session in sessions]})
    else:
        print(f"Accepted: {len(sessions)} session{'s' * (len(sessions) != 1)} from {sessions[0].at} on are the usual now.")


def _rules(tolerance: str, confirm_after: str) -> Rules:
    from rankwise.health.judge import Rules

    share = parse_share(tolerance, "--tolerance")
    if share == 0:
        raise InputError("--tolerance 0 would take any difference for a slow-down: give 20%")
    return Rules(tolerance=share, apart_s=parse_seconds(confirm_after, "confirm-after"))


def _known(history: Path, name: str | None) -> list[Session]:
    from rankwise.health.history import read

    sessions = [session for session in read(history) if name in (None, session.key.get("hostname"))]
    if not sessions:
        of = f" of {name}" if name else ""
        raise InputError(f"there is no session{of} in {history} yet: run 'rankwise health', or name another --history")
    return sessions


def _keep(history: Path, session: Session, rules: Rules) -> list[Session]:
    """Judge a session and add it to the history; return it, judged, after all before it."""
    from rankwise.health.history import add, read
    from rankwise.health.judge import judge

    known = read(history)
    before = [other for other in known if other.began <= session.began]
    if later := len(known) - len(before):
        tell(f"{later} sessions in {history} are later than this one and not held against it: is the clock right?")
    found = judge(session, before, rules)
    judged = session.judged(found.verdict, found.over)
    add(history, judged)
    return [*before, judged]


def _show(
    history: Path, sessions: list[Session], rules: Rules, page: Path | None, prometheus: Path | None, as_json: bool,
    trend: bool = False,
) -> None:  # fmt: skip
    """Say how the last session compares, and write what was asked for beside."""
    from rankwise.files import write_whole
    from rankwise.health.changes import changes
    from rankwise.health.history import of_machine
    from rankwise.health.judge import judge

    ours = of_machine(sessions)
    last, before = ours[-1], ours[:-1]
    found = judge(last, before, rules)
    seen = changes(ours)
    if page is not None:
        from rankwise.report.health_page import render

        write_whole(page, render(ours, found, seen, rules))
    if prometheus is not None:
        from rankwise.health.metrics import text

        write_whole(prometheus, text(last, found))
    if as_json:
        past = {"trend": [_in_brief(session) for session in ours]} if trend else {}
        record = {"history": str(history), "at": last.at, "key": last.key, **found.to_dict(), "accepted": bool(last.accepted)}
        print_json({**record, "changes": [change.to_dict() for change in seen], **past})
        return
    _print(ours, found, seen, rules, trend)
    for path in (page, prometheus):
        if path is not None:
            tell(f"wrote {path}")


def _in_brief(session: Session) -> dict[str, object]:
    from math import exp

    value = {figure: exp(log) for figure, log in session.value.items()}
    brief = {"at": session.at, "verdict": session.verdict, "over": list(session.over), "accepted": bool(session.accepted)}
    return {**brief, "launches": len(session.launches), "value": value}


def _print(sessions: list[Session], found: Judgement, seen: list[Change], rules: Rules, trend: bool) -> None:
    from rankwise.health import words

    last, before = sessions[-1], sessions[:-1]
    since = words.slower_since(last, before) if found.verdict == "slower" else None
    print(words.conclusion(found, rules, since) + (" It was accepted as the usual." if last.accepted else ""))
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
    for change in seen:
        print(f"Changed: {words.change_in_words(change)}")
    if next_command := words.next_command(found, bool(last.accepted)):
        tell(f"next: {next_command}")


def _print_trend(sessions: list[Session]) -> None:
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
