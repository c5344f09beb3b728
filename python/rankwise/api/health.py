"""Is this machine slower than usual? Sessions of measuring, their history, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.api.requests import Judging, Watch
from rankwise.api.results import Result
from rankwise.blocks import BUT, NO, UNCLEAR, YES, Block, Column, Lines, Next, Sentence, Table
from rankwise.errors import InputError
from rankwise.files import require_output
from rankwise.machine.hosts import parse_hosts
from rankwise.progress import meter, tell
from rankwise.records import Record, computed, key, record
from rankwise.units import format_count, format_day, parse_seconds

if TYPE_CHECKING:
    from rankwise.health.judge import Change, Judgement, Row, Rules
    from rankwise.health.record import Session


@record
class SessionInBrief(Record):
    """A session of a history."""

    of: Session
    at = computed("when, UTC", str, lambda row: row.of.at)
    verdict = computed("what was found, in a word", str, lambda row: row.of.verdict)
    over = computed("figures beyond their limits", list[str], lambda row: row.of.over)
    accepted = computed("whether it was accepted as the baseline", bool, lambda row: bool(row.of.accepted))
    launches = computed("launches of the ranks", int, lambda row: len(row.of.launches))
    value = computed(
        "figures by name, in SI units", dict[str, float], lambda row: {name: exp(log) for name, log in row.of.value.items()}
    )


@record
class Health(Result, rows="figures"):
    """The last session of a machine, compared with those before it; ``trend``: with those in its JSON."""

    by: Judging = key("path of the history", name="history", kind=str, write=lambda by: str(by.history))
    sessions: Sequence[Session]
    at = computed("when the last session was, UTC", str, lambda of: of.last.at)
    key_of = computed("which sessions are compared with each other", Mapping[str, str], lambda of: of.last.key, name="key")
    found: Judgement = key("the judgement", inline=True)
    accepted = computed("whether it was accepted as the baseline", bool, lambda of: bool(of.last.accepted))
    changes: Sequence[Change] = key("what changed in the history")
    trend: bool = key(
        "by session",
        default=False,
        omit=True,
        kind="list[SessionInBrief] | None",
        get=lambda of: list(map(SessionInBrief, of.sessions)) if of.trend else None,
    )

    @property
    def last(self) -> Session:
        return self.sessions[-1]

    def blocks(self) -> Iterator[Block]:
        from rankwise.health import words

        found, last = self.found, self.last
        since = words.slower_since(last, self.sessions[:-1]) if found.verdict == "slower" else None
        accepted = " It was accepted as the baseline." if last.accepted else ""
        mark = {"slower": BUT if last.accepted else NO, "same": YES}.get(found.verdict, UNCLEAR)
        yield Sentence(words.conclusion(found, self.by.rules(), since) + accepted, mark=mark)
        rows = found.rows if self.trend else words.farthest(found.rows)
        if rows:
            yield Table(_columns(), rows, leave=("alarm from",))
            left = len(found.rows) - len(rows)
            more = f" {len(rows)} of {len(found.rows)} figures, those that moved most;" if left else ""
            baseline = format_count(found.sessions, "earlier session")
            yield Sentence(f"+: slower;{more} baseline: {baseline}; {words.KINDS_IN_WORDS}")
        elif last.value:
            told = (f"{words.name_of(figure)} {words.shown(figure, log)}" for figure, log in last.value.items())
            yield Sentence("; ".join(told))
        if self.trend:
            yield Lines(list(_trend_lines(self.sessions)))
        for change in self.changes:
            yield Sentence(f"Changed: {words.change_in_words(change)}")
        if following := words.next_commands(found, bool(last.accepted)):
            yield Next(following)

    def page(self) -> str:
        """Return the trend as one HTML file."""
        from rankwise.report.health_page import render

        return render(self.sessions, self.found, self.changes, self.by.rules())

    def prometheus(self) -> str:
        """Return the last session as Prometheus text."""
        from rankwise.health.words import gauges

        return gauges(self.last, self.found)


def _columns() -> Sequence[Column[Row]]:
    from rankwise.health.words import between, name_of, percent, shown

    return (
        Column("link", "figure", name_of),
        Column("now", lambda row: shown(row.figure, row.value)),
        Column("baseline", lambda row: shown(row.figure, row.usual)),
        Column("change", "difference", percent),
        Column("95 %, %", lambda row: between(row.difference - row.half_width, row.difference + row.half_width)),
        Column("verdict", lambda row: "slower" if row.confirmed else "slower once" if row.over else ""),
        Column("alarm from", "limit", percent),
    )


def _trend_lines(sessions: Sequence[Session]) -> Iterator[str]:
    from rankwise.health import words

    unusable = sum(session.verdict == "unusable" for session in sessions)
    left = f", {unusable} of them unusable" if unusable else ""
    days = f"{format_day(sessions[0].at)} to {format_day(sessions[-1].at)}"
    yield f"{format_count(len(sessions), 'session')}, {days}{left}; range:"
    for figure in dict.fromkeys(name for session in sessions for name in session.value):
        values = [s.value[figure] for s in sessions if figure in s.value and s.verdict != "unusable"]
        if values:
            least, most = words.shown(figure, min(values)), words.shown(figure, max(values))
            yield f"{words.name_of(figure):<22}{least:>11} {words.spark(values)} {most}"


def health(asked: Watch, by: Judging) -> Health:
    """Measure one session, add it to the history and compare it with those before. Raises RankwiseError and its kinds."""
    from rankwise.health import session as sessions
    from rankwise.launch.allocation import allocated_hosts
    from rankwise.launch.mpi import find_mpi
    from rankwise.machine.discover import discover
    from rankwise.machine.record import machine_record
    from rankwise.machine.snapshot import cpu_quota
    from rankwise.measure.places import find_places

    rules, seconds = by.rules(), asked.seconds
    require_output(by.history)
    topology = discover()
    named = tuple(link.strip() for link in asked.links.split(",") if link.strip()) if asked.links else ()
    hosts = tuple(parse_hosts(asked.hosts)) if asked.hosts else allocated_hosts()
    places = find_places(topology, hosts, named, cpu_quota())
    if not places:
        raise InputError("two ranks need two CPUs, and this process may use one: ask for more (see 'taskset -p $$')")
    spread_s = parse_seconds(asked.spread, "spread") if asked.spread is not None else 1800.0 if seconds is None else 0.0
    plan = sessions.SessionPlan(places, asked.launches, spread_s, 20.0 if seconds is None else seconds)
    mpi = find_mpi()
    mpi.require_match()
    key = sessions.key_of(topology, mpi, places, by.name)
    if plan.spread_s:
        tell(f"{plan.launches} launches over {plan.spread_s / 60:.3g} min: most of the time the machine is left alone")
    with sessions.alone(by.history, key):
        with meter("health", plan.launches) as progress:
            measured = sessions.measure_session(mpi, plan, key, machine_record(topology, mpi), by.history, progress)
        judged = _keep(by.history, measured, rules)
        sessions.finish(by.history, key)
    return shown(judged, by)


def added(profile: Path, by: Judging) -> Health:
    """Take a ready profile as a session, and compare it with the other profiles of its machine. Raises InputError."""
    from rankwise.health.record import read
    from rankwise.health.session import session_of_profile
    from rankwise.machine.profile import Profile

    rules = by.rules()
    session = session_of_profile(Profile.load(profile), by.name)
    if any(other.at == session.at and other.identity == session.identity for other in read(by.history)):
        raise InputError(f"{profile} is in {by.history} already: measure again")
    return shown(_keep(by.history, session, rules), by)


def shown(sessions: Sequence[Session], by: Judging, trend: bool = False) -> Health:
    """Compare the last of some sessions with those of its machine before it."""
    from rankwise.health.judge import changes, judge
    from rankwise.health.record import of_machine

    ours = of_machine(list(sessions))
    return Health(by, ours, judge(ours[-1], ours[:-1], by.rules()), changes(ours), trend)


def _keep(history: Path, session: Session, rules: Rules) -> list[Session]:
    """Judge a session and add it to the history; return it, judged, after all before it."""
    from rankwise.health.judge import judge
    from rankwise.health.record import add, read

    known = read(history)
    before = [other for other in known if other.began <= session.began]
    if later := len(known) - len(before):
        tell(f"{later} sessions in {history} are later than this one and not held against it: is the clock right?")
    found = judge(session, before, rules)
    judged = session.judged(found.verdict, found.over)
    add(history, judged)
    return [*before, judged]
