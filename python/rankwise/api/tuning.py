"""Settings of an MPI library that make collectives faster: chosen by the model, written as the library reads them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.advise.evidence import Evidence, evidence_of
from rankwise.api.requests import Tuning
from rankwise.api.results import TRUST, Plot, Result, sentence
from rankwise.blocks import NO, YES, Block, Column, Listing, Next, Sentence, Table, labelled
from rankwise.collectives.selection import library_to_set, publishes_rules, settable_libraries
from rankwise.collectives.settings import Library, Written, own_settings, write_settings, written
from rankwise.engines.model import Model
from rankwise.engines.placement import nodes_of, profile_placement
from rankwise.errors import InputError, RankwiseError
from rankwise.machine.profile import Profile, open_profile
from rankwise.observe.record import read_record
from rankwise.progress import meter
from rankwise.records import Record, computed, key, record
from rankwise.tune.calls import Called, of_machine, of_record, with_octaves
from rankwise.tune.choice import Choice, Gain, by_reason, rule_of, runs_of_choices, together
from rankwise.tune.protocol import EAGER_BYTES, NEW_BYTES, VARIABLES, Limit, chooser_of, eager_limit, with_limits, words_of
from rankwise.units import format_count, format_number, format_share, format_size, format_time, parse_ints

if TYPE_CHECKING:
    from rankwise.report.tune_page import Speedup

_MOST_RANKS = 1 << 14
_LEAST_SHARE = 0.01  # of a program's step or run that settings gain


@record
class Set(Record):
    """What is set for a range of bytes of a collective; times are of a call, gains of a step (or run, or call: ``per``)."""

    collective: str | None = key("which collective; null: a protocol")
    protocol: str | None = key("which limit of the protocol, whose times are of all messages of a step; null: a collective")
    bytes: int = key("the smallest of the messages, as 'predict collective' counts their bytes")
    last_bytes: int = key("the largest of them")
    ranks: int = key("number of ranks of the communicator")
    was: str = key("what the library selects without it", name="from")
    now: str = key("what it is set to", name="to")
    calls: float = key("calls of a step, or run; 1 where no program was looked at")
    at_bytes: int = key("size that the two times are of")
    time_s: float = key("time of a call as the library selects")
    new_time_s: float = key("time of a call as it is set")
    gain_s: float = key("gain")
    gain_lo_s: float = key()
    gain_hi_s: float = key()

    @property
    def what(self) -> str:
        return self.collective or self.protocol or ""

    @property
    def why(self) -> str:
        """What it takes by default and as it is set."""
        then, now = format_time(self.time_s), format_time(self.new_time_s)
        at = format_size(self.at_bytes)
        return f"By default ({self.was}) a call of {at} on {format_count(self.ranks, 'rank')} takes {then}, with it {now}."

    @property
    def sizes(self) -> str:
        if self.bytes == self.last_bytes:
            return format_size(self.bytes)
        whole = self.last_bytes & (self.last_bytes + 1) == 0  # to the end of an octave
        return f"{format_size(self.bytes)} to {'< ' * whole}{format_size(self.last_bytes + whole)}"


@record
class Left(Record):
    """What is left as it is."""

    what: str = key("collective, bytes and ranks")
    selected: str | None = key("what the library selects; null: not known")
    why: str = key("why it is left")


@record
class Tuned(Result, rows="settings", decides=True):
    """What is set and what is not; ``per``: what gains are of. ``folder``: None where nothing was written."""

    schema = computed("version of this document", int, lambda of: 1)
    library: str | None = key("the library whose settings these are; null: its rules are not known")
    per: str = key("what gains are of: step, run or call")
    time_s: float | None = key("time of that step or run; null: no program was looked at")
    settings: tuple[Set, ...] = key("what is set, what gains most first")
    files: tuple[str, ...] = key("files that were written")
    variables: dict[str, str] = key("variables that make the library use them")
    unchanged: tuple[Left, ...] = key("what is left as it is, and why")
    gain_s: float | None = key("gain of all together; null: no program was looked at")
    gain_lo_s: float | None = key()
    gain_hi_s: float | None = key()
    headline: str = key("the answer in a sentence")
    notes: tuple[str, ...] = key("what weakens the figures, in words")
    profile: Profile | None = key(TRUST)
    folder: Path | None = None
    command: str = "rankwise tune"

    @property
    def conclusion(self) -> str:
        return self.headline

    def blocks(self, everything: bool = False) -> Iterator[Block]:
        """Yield what is set, and what is left as it is: ``everything``, each with why."""
        yield Sentence(self.headline, mark=NO if self.library is None else YES)
        if self.settings and not self.is_too_poor:
            yield Table(_COLUMNS, self.settings, leave=("at", "calls", "ranks", "from", "95 %", "gain"))
            yield Sentence("default, tuned: a call of the size with the largest speed-up (--wide: at).")
        if everything or not self.settings:
            yield Listing([(one.what, f"{one.selected}: {one.why}" if one.selected else one.why) for one in self.unchanged])
        else:
            counts = Counter(one.why if one.selected else one.what for one in self.unchanged)
            reasons = "; ".join(f"{count}x: {why}" for why, count in counts.most_common())
            yield Listing([("Left as it is", f"{reasons} (--all)")] if reasons else [])
        yield from labelled("note", self.notes)
        if following := self._next():
            yield Next(following)

    def _next(self) -> list[tuple[str, str]]:
        if self.folder is None or not self.files:
            return []
        return [
            (f". {self.folder}/env.sh", "then start the program as always; mpiexec and srun pass it on"),
            (f"rankwise try app.comm --settings {self.folder} -- mpiexec ... ./app", "before and after, interleaved"),
            *((f"unset {name}", "undo") for name in self.variables),
        ]

    @property
    def _shown(self) -> tuple[Set, ...]:
        return () if self.is_too_poor else self.settings

    def _speedups(self) -> list[Speedup]:
        from rankwise.report.tune_page import Speedup

        several = len({one.ranks for one in self._shown}) > 1

        def calls(one: Set) -> str:
            return f"{one.what}, {one.sizes}" + (f", {format_count(one.ranks, 'rank')}" if several else "")

        return [Speedup(calls(one), one.time_s, one.new_time_s) for one in self._shown]

    def plot(self) -> Plot:
        """Draw what a call takes by default and tuned. Raises InputError where nothing is set."""
        from rankwise.report.tune_page import speedup_picture

        if not self._shown:
            raise InputError(f"there is nothing to draw: {self.headline[:1].lower()}{self.headline[1:].removesuffix('.')}")
        return Plot(speedup_picture(self._speedups()), [self.headline.removesuffix(".")])

    def page(self) -> str:
        """Return the page: what gains most, what a call takes by default and tuned, what is set, and what is left."""
        from rankwise.report.document import Change, Document, Next, remarks
        from rankwise.report.tune_page import render
        from rankwise.report.words import quality_badge

        changes = [
            Change(
                f"{one.what} of {one.sizes}: {one.now}", one.why, format_time(one.gain_s),
                f"{format_time(one.gain_lo_s)} to {format_time(one.gain_hi_s)} a {self.per}, predicted",
            )
            for one in self._shown[:3]
        ]  # fmt: skip
        origin = " · ".join(word for word in (self.library, str(self.folder or "")) if word)
        page = Document(
            "rankwise tune", origin, self.headline, (), [remarks("Remarks", self.notes)] if self.notes else [],
            badges=[quality_badge(self.quality)], changes=changes, change_title="What gains most" if changes else "",
            next=[Next(purpose, command) for command, purpose in self._next()], record=f"{self.command} --json",
        )  # fmt: skip
        return render(page, self._speedups(), Table(_COLUMNS, self._shown), Table(_OF_LEFT, self.unchanged))


_COLUMNS: Sequence[Column[Set]] = (
    Column("set", "what"),
    Column("bytes", "sizes"),
    Column("ranks", "ranks"),
    Column("from", "was"),
    Column("to", "now"),
    Column("at", "at_bytes", format_size),
    Column("default", "time_s", format_time),
    Column("tuned", "new_time_s", format_time),
    Column("calls", "calls", format_number),
    Column("gain", "gain_s", format_time),
    Column("95 %", lambda of: f"{format_time(of.gain_lo_s)}–{format_time(of.gain_hi_s)}"),
)


_OF_LEFT: Sequence[Column[Left]] = (Column("calls", "what"), Column("selected", "selected"), Column("why", "why"))


def tune(observed: Path | None = None, asked: Tuning = Tuning()) -> Tuned:
    """Choose what an MPI library is to do in collectives, of an observed program or of a machine, and write it.

    Only what gains more than 5 % and more than the prediction's error is set. Raises InputError.
    """
    profile = open_profile(asked.profile)
    if (observed is None) == (asked.ranks is None):
        raise InputError("name what is to be tuned: a record of 'rankwise observe', or --ranks (with --ranks-per-node)")
    found = _of_machine(profile, asked) if observed is None else _of_program(observed, profile, asked)
    words = ["rankwise tune", *([] if observed is None else [shlex.quote(str(observed))]), asked.words()]
    return replace(found, command=" ".join(word for word in words if word))


def _of_machine(profile: Profile, asked: Tuning) -> Tuned:
    (ranks, *others) = parse_ints(str(asked.ranks), "--ranks")
    if others or not 2 <= ranks <= _MOST_RANKS:
        raise InputError(f"--ranks {asked.ranks} is out of range: give one number from 2 to {_MOST_RANKS}")
    placement = profile_placement(profile, asked.ranks_per_node).of_ranks(ranks)
    nodes = nodes_of(placement)
    says = profile.mpi_version
    library, why = _library(asked, says, ())
    if library is None:
        return _kept(why, profile)
    if not publishes_rules(library.name):
        return _kept(
            f"Nothing is set, the default is kept: what {library.name} selects is not published; give a record of 'rankwise "
            "observe', in which calls are timed", profile,
        )  # fmt: skip
    choices = _chosen(library, profile, of_machine(ranks, nodes))
    made_for = _made_for(library, says, profile, ranks, len(set(nodes)))
    return _result(choices, library, profile, asked, made_for)


def _of_program(path: Path, profile: Profile, asked: Tuning) -> Tuned:
    found = read_record(path)
    evidence = evidence_of(found, str(path))
    says = str(found.header.get("mpi", ""))
    library, why = _library(asked, says, tuple(map(str, found.header.get("command", ()))))
    called, left = of_record(found, evidence.steps, timed=library is not None and not publishes_rules(library.name))
    unchanged = tuple(Left(words.split(":")[0], None, words.partition(": ")[2]) for words in left)
    limit = _limit(library, evidence, profile)
    if isinstance(limit, str) and limit:
        unchanged = (*unchanged, Left("eager limit", "64 KiB", limit))
    if not called and isinstance(limit, str):
        return _kept(
            "Nothing to tune: the program calls no collective that an algorithm could be chosen for.", profile, unchanged
        )
    if library is None:
        return _kept(why, profile, unchanged)
    choices = _chosen(library, profile, list(with_octaves(called)))
    made_for = _made_for(library, says, profile, found.ranks, len(found.hosts))
    return _result(choices, library, profile, asked, made_for, evidence, unchanged, None if isinstance(limit, str) else limit)


def _chosen(library: Library, profile: Profile, called: Sequence[Called]) -> list[Choice]:
    with meter("collectives", len(called)) as bar:
        return chooser_of(library, profile).choose(called, bar)


def _limit(library: Library | None, evidence: Evidence, profile: Profile) -> Limit | str:
    """Return what a higher eager limit gains a step, or why it is left (empty: nothing is to be said)."""
    shares, nodes = evidence.shares, tuple(map(int, evidence.record.node_of_rank))
    if library is None or not library.name.startswith("openmpi") or not shares.split or min(nodes) < 0 or evidence.crowded:
        return ""
    without = (with_limits(library.name, profile) or (profile,))[-1]
    return eager_limit(evidence.schedule, nodes, float(shares.moving_s.mean()), Model(without))


def _kept(why: str, profile: Profile, unchanged: tuple[Left, ...] = ()) -> Tuned:
    known = why.startswith("Nothing to tune")
    return Tuned("" if known else None, "run", None, (), (), {}, unchanged, 0.0, 0.0, 0.0, why, (), profile)


def _made_for(library: Library, says: str, profile: Profile, ranks: int, nodes: int) -> dict[str, object]:
    machine = str(profile.machine.get("name") or profile.machine.get("hostname") or "")
    return {"library": library.name, "mpi": says, "machine": machine, "nodes": nodes, "ranks": ranks}


def _library(asked: Tuning, says: str, command: Sequence[str]) -> tuple[Library | None, str]:
    """Return the library, or None and why its default is kept."""
    name, unknown = library_to_set(asked.mpi or says)
    if name is None:
        if asked.mpi is not None:
            raise InputError(f"--mpi '{asked.mpi}' is unknown: choose one of {', '.join(settable_libraries())}")
        named = f" ({says})" if says else ""
        return None, f"Nothing is set, the default is kept: {unknown}{named}; name one with --mpi"
    return Library.at(name, asked.library_path or _path_of(name, command)), ""


def _path_of(name: str, command: Sequence[str]) -> Path | None:
    """Return the file of a library of MPICH's: the one that a program is linked with, or the one at hand."""
    from rankwise.launch.command import mpi_library_path, program_of
    from rankwise.launch.mpi import find_mpi

    if not name.startswith("mpich"):
        return None
    program = program_of(command) if command else None
    if program is not None and (path := mpi_library_path(program)) is not None:
        return path
    try:
        mpi = find_mpi()
    except RankwiseError:
        return None
    return mpi.library_path if library_to_set(mpi.library_version)[0] == name else None


def _result(
    choices: Sequence[Choice], library: Library, profile: Profile, asked: Tuning, made_for: dict[str, object],
    evidence: Evidence | None = None, unchanged: tuple[Left, ...] = (), limit: Limit | None = None,
) -> Tuned:  # fmt: skip
    runs = [run for run in runs_of_choices(choices) if evidence is None or any(one.occurs for one in run)]
    rules = [rule for run in runs if (rule := rule_of(run)) is not None]
    inside = evidence is not None and evidence.steps is not None
    inside = inside and all(any(one.in_step for one in run) for run in runs)
    per = "call" if evidence is None else "step" if inside else "run"
    rows = [_row(run, per) for run in runs]
    by_limit = limit is not None or any(one.limited for run in runs for one in run)
    if limit is not None and evidence is not None:
        rows.append(_row_of_limit(limit, evidence, per))
    rows.sort(key=lambda row: -row.gain_s)
    total = together(Gain(row.gain_s, row.gain_lo_s, row.gain_hi_s) for row in rows) if evidence is not None else None
    time_s = (
        None if evidence is None else evidence.time_s if per == "step" else float(evidence.record.header.get("seconds", 0.0))
    )
    headline = _headline(rows, library, per, total, time_s, made_for)
    if total is not None and rows and time_s and total.s < _LEAST_SHARE * time_s:
        headline = (
            f"Nothing is set: {format_count(len(rows), 'setting')} for {library.name} would gain {format_time(total.s)} of a "
            f"{per} of {format_time(time_s)}, less than {format_share(_LEAST_SHARE)}."
        )
        why = f"gains less than {format_share(_LEAST_SHARE)} of a {per}"
        unchanged = (*unchanged, *(Left(f"{row.what} {row.sizes}, {row.ranks} ranks", row.was, why) for row in rows))
        rows, rules, by_limit, total = [], [], False, Gain(0.0, 0.0, 0.0)
    poor = profile.trust.is_poor
    all_left = (*_left(choices, evidence is not None), *unchanged)
    found = written(library, rules) if rules and not poor else Written({}, {})
    if by_limit and not poor:
        found = replace(found, variables={**found.variables, **VARIABLES})
    notes = [*found.notes]
    if by_limit:
        notes.append(f"eager limit: {format_size(NEW_BYTES)}, of all messages over TCP; other networks ignore it")
    if own := own_settings(found.variables):
        notes.append(
            f"set already, which these settings replace: {'; '.join(own)}; gains are over the library's defaults, not over that"
        )
    if evidence is not None and evidence.crowded is not None:
        notes.append(f"{evidence.crowded}: gains are predicted as if each rank had a core")
    if asked.dry_run and rows:
        notes.append("nothing was written: --dry-run")
    folder = None if asked.dry_run or not rows or poor else asked.output
    files: tuple[str, ...] = ()
    variables = dict(found.variables)
    if folder is not None:
        settings = write_settings(folder, found, made_for)
        files = (*settings.files, "settings.json")
        variables = settings.environment(folder)
    return Tuned(
        library.name, per, time_s, tuple(rows), files, variables, all_left,
        None if total is None else total.s, None if total is None else total.lo_s, None if total is None else total.hi_s,
        headline, tuple(notes), profile, folder,
    )  # fmt: skip


def _row_of_limit(limit: Limit, evidence: Evidence, per: str) -> Set:
    steps = 1 if per == "step" or evidence.steps is None else len(evidence.steps.durations_s)
    gain = limit.gain.times(steps)
    return Set(
        None, "eager limit", limit.first, limit.last, evidence.record.ranks, format_size(EAGER_BYTES), format_size(NEW_BYTES),
        float(limit.messages * steps), limit.last, limit.now_s, limit.new_s, gain.s, gain.lo_s, gain.hi_s,
    )  # fmt: skip


def _row(run: Sequence[Choice], per: str) -> Set:
    counted = [one for one in run if one.occurs] or run
    shown = max(counted, key=lambda one: one.now_s / one.new_s if one.new_s > 0 else 1.0)
    counts = [1.0 if per == "call" else (one.in_step or 0.0) if per == "step" else one.in_run for one in counted]
    gain = shown.gain if per == "call" else together(one.gain.times(n) for one, n in zip(counted, counts, strict=True))
    return Set(
        shown.kind, None, run[0].size_bytes, run[-1].size_bytes, shown.ranks, shown.selected.name, words_of(shown),
        1.0 if per == "call" else sum(counts), shown.size_bytes, shown.now_s, shown.new_s, gain.s, gain.lo_s, gain.hi_s,
    )  # fmt: skip


def _left(choices: Sequence[Choice], only_called: bool) -> Iterator[Left]:
    for (kind, ranks, selected, why), sizes in by_reason([one for one in choices if one.occurs or not only_called]).items():
        told = ", ".join(format_size(size) for size in sizes) if len(sizes) < 4 else (
            f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
        )  # fmt: skip
        yield Left(f"{kind} {told}, {ranks} ranks", selected, why)


def _headline(rows: Sequence[Set], library: Library, per: str, total, time_s, made_for) -> str:  # type: ignore[no-untyped-def]
    where = f"{made_for['ranks']} ranks on {format_count(made_for['nodes'], 'node')}"
    if not rows:
        return f"Nothing is set: what {library.name} selects is the fastest for {where}, or gains are within 5 % or the error."
    count = format_count(len(rows), "setting")
    if total is None:
        best = max(rows, key=lambda row: row.time_s / row.new_time_s)
        return (
            f"{count} for {library.name}, {where}: {best.collective} of {format_size(best.at_bytes)} "
            f"{best.time_s / best.new_time_s:.1f} times as fast ({format_time(best.time_s)}, then "
            f"{format_time(best.new_time_s)})."
        )
    of = f" of {format_time(time_s)}" if time_s else ""
    return sentence(
        f"a {per}{of} gains {format_time(total.s)} ({format_time(total.lo_s)} to {format_time(total.hi_s)}) by {count} for "
        f"{library.name}, {where}"
    )
