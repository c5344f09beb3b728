"""What a program sends to whom: recorded while it runs, or read; where its ranks are meanwhile; two runs of it compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.api.results import Plot, Result, sentence
from rankwise.blocks import BUT, NO, UNCLEAR, YES, Block, Column, Lines, Listing, Next, Sentence, Table, labelled
from rankwise.errors import InputError
from rankwise.observe import call_sites, summary
from rankwise.observe.efficiency import Talp, talp_of
from rankwise.records import computed, key, record
from rankwise.units import (
    format_count,
    format_number,
    format_percent,
    format_ranges,
    format_share,
    format_size,
    format_span,
    format_time,
    format_volume,
)

if TYPE_CHECKING:
    from rankwise.advise.evidence import Evidence, Shares
    from rankwise.observe.changes import Ratio, RunChange
    from rankwise.observe.collectives import Selected
    from rankwise.observe.live import Hang, LiveRank
    from rankwise.observe.record import Record
    from rankwise.observe.steps import Steps


def _told(name: str, meaning: str, kind: str) -> computed:
    """Declare a key that the record's header has under the same name; null where it has none."""
    return computed(meaning, kind, lambda of: of.header.get(name))


@record
class Observation(Result):
    """An observed program: ``evidence`` has all of it, ``path`` is the record; ``exit_code`` is the program's."""

    evidence: Evidence
    ranks = computed("number of ranks", int, lambda of: of.evidence.record.ranks)
    seconds = _told(
        "seconds", "from the first rank's end of MPI_Init to the last one's MPI_Finalize, or last call", "float | None"
    )
    mpi_share = computed(
        "share of all ranks' time that was in MPI; null: not known", "float | None",
        lambda of: summary.mpi_share(of.evidence.record),
    )  # fmt: skip
    waiting_share = computed(
        "share of the steps' time in MPI for a partner that is late; null: unknown", "float | None",
        lambda of: _waiting(of.evidence.shares),
    )  # fmt: skip
    pairs = computed("who sent to whom", list[summary.Pair], lambda of: summary.pairs(of.evidence.record))
    pattern = computed("the pattern of the messages", "rankwise.observe.pattern.Pattern", lambda of: of.evidence.pattern)
    message_sizes = computed(
        "messages by size, and how the MPI sent them", "rankwise.observe.sizes.MessageSizes", lambda of: of.evidence.sizes
    )
    step = computed(
        "the step that repeats; null: none was found", "rankwise.observe.steps.Steps | None", lambda of: of.evidence.steps
    )
    efficiencies = computed(
        "parallel efficiency of the steps and its factors; null: no step was found, or what ranks wait for was not recorded",
        "rankwise.observe.efficiency.Efficiencies | None",
        lambda of: of.evidence.efficiencies,
    )
    talp = computed(
        "efficiencies of the run as TALP has them; null: the time in MPI is unknown", Talp | None,
        lambda of: talp_of(of.evidence.record),
    )  # fmt: skip
    balance = computed(
        "load balance by step; null: no step was found",
        "rankwise.observe.efficiency.Balance | None",
        lambda of: of.evidence.balance,
    )
    waiting = computed(
        "where ranks wait in the steps, by kind and cause; null: unknown",
        "rankwise.observe.wait_causes.Waiting | None",
        lambda of: of.evidence.waiting,
    )
    by_rank = computed(
        "what each rank does with its time", "list[rankwise.observe.efficiency.RankTime]", lambda of: of.evidence.by_rank
    )
    hosts = computed("names of the hosts", list[str], lambda of: of.evidence.record.hosts)
    node_of_rank = computed("place in hosts of each rank; -1: not known", list[int], lambda of: of.evidence.record.node_of_rank)
    calls = computed(
        "calls of MPI, those that took longest first", list[summary.CallTime], lambda of: summary.call_table(of.evidence.record)
    )
    sites = computed(
        "where the program calls MPI, the sites that took longest first", list[call_sites.CallSite],
        lambda of: call_sites.call_sites(of.header),
    )  # fmt: skip
    mpi = _told("mpi", "version of the MPI", "str | None")
    command = _told("command", "the program's command", "list[str] | None")
    created = _told("created", "when, UTC", "str | None")
    complete = _told("complete", "whether every rank called MPI_Finalize and the exit code was 0", "bool | None")
    notes = _told("notes", "what weakens the figures, in words", "list[str] | None")
    collectives = _told("collectives", "collective calls", "list[rankwise.observe.header.CollectiveCalls] | None")
    collective_times = computed(
        "time in collective calls of a step, the longest first; null: no step was found",
        "list[rankwise.observe.collective_times.CollectiveTime] | None", lambda of: of.evidence.collectives,
    )  # fmt: skip
    collective_algorithms = computed(
        "by which algorithms collectives of a step are carried out, as the library's rules select; null: no step was found",
        "list[rankwise.observe.collectives.Selected] | None", lambda of: of.evidence.collective_algorithms,
    )  # fmt: skip
    communicators = _told(
        "communicators", "communicators that the program used", "list[rankwise.observe.header.Communicator] | None"
    )
    carts = _told("carts", "calls of MPI_Cart_create that differ", "list[rankwise.observe.header.Cart] | None")
    others = _told(
        "others", "what ranks sent to spawned ranks, and to partners beyond 8192: rank, messages, bytes", "list[Any] | None"
    )
    events = computed("number of recorded events", int, lambda of: sum(map(len, of.evidence.record.events.values())))
    path: Path
    exit_code: int = 0

    @property
    def header(self) -> Mapping[str, Any]:
        return self.evidence.record.header

    def records(self) -> list[dict[str, Any]]:
        """The pairs of ranks."""
        return list(summary.pairs(self.evidence.record))

    def blocks(self) -> Iterator[Block]:
        yield from _blocks(self.evidence, self.path)

    def rank_blocks(self) -> Iterator[Block]:
        """Yield which rank computes longest, and a table of the ranks in place of the whole, such first."""
        from rankwise.report.program import OF_RANKS

        evidence, rows = self.evidence, sorted(self.evidence.by_rank, key=lambda row: -row.compute_s)
        first, middle_s = rows[0], float(np.median([row.compute_s for row in rows]))
        answer = f"Rank {first.rank} computes longest: {format_time(first.compute_s)} a {evidence.per}"
        if first.compute_s <= _LEAST_LONGER * middle_s:
            answer = f"All ranks compute about as long, {format_time(middle_s)} a {evidence.per}."
        else:
            answer += f", {format_number(first.compute_s / middle_s)} times the median rank." if middle_s > 0 else "."
        of = "the run" if evidence.steps is None else f"a step, the mean of {len(evidence.steps.sample)}"
        below = [Sentence(
            f"Of {of}; compute: outside MPI; wait: the part of MPI for a late sender or receiver; messages, sent: to other "
            "ranks."
        )]  # fmt: skip
        below += [] if evidence.balance is None else [Sentence(sentence(evidence.balance.words))]
        mark = YES if evidence.crowded is None else BUT
        return self._view(_with_crowded(answer, evidence), Table(OF_RANKS, rows, leave=("host",)), below, mark)

    def collective_blocks(self) -> Iterator[Block]:
        """Yield what share of a step collectives take, and a table of their calls in place of the whole, the longest first."""
        from rankwise.report.program import OF_COLLECTIVES

        rows = self.evidence.collectives or ()
        answer = "No collective is called in a step."
        if rows:
            most = f", most of it {rows[0].call}" if len(rows) > 1 else f", all of it {rows[0].call}"
            answer = f"{format_share(sum(row.share for row in rows))} of a step in collectives{most}."
        below = Sentence(
            "calls, time: of a rank in a step, the mean; wait: share of the time for a rank that comes late; size: of a rank."
        )
        return self._view(answer, Table(OF_COLLECTIVES, rows), [below])

    def algorithm_blocks(self) -> Iterator[Block]:
        """Yield by which algorithms the library carries out the collectives of a step, and by which of its rules."""
        rows = self.evidence.collective_algorithms or ()
        answer = "No collective whose rule is known is called in a step."
        if rows:
            names = list(dict.fromkeys(row.algorithm for row in rows))
            more = f" and {len(names) - 3} others" if len(names) > 3 else ""
            answer = f"{rows[0].library} carries out the collectives of a step by {', '.join(names[:3])}{more}."
        below = Listing([(f"{row.call} {format_size(row.bytes)}", f"{row.algorithm} ({row.why})") for row in rows])
        following = ("rankwise predict collective --help", "what the best algorithm would take")
        return self._view(answer, Table(_OF_ALGORITHMS, rows), [below], following=following)

    def _view(
        self, answer: str, table: Table[Any], below: Sequence[Block], mark: str = YES, following: tuple[str, str] | None = None
    ) -> Iterator[Block]:
        """Yield an answer about steps with its table and what is said below it, where it has rows."""
        evidence = self.evidence
        known = bool(table.items or evidence.steps)
        yield Sentence(answer, mark=mark) if known else Sentence("Unknown: no step repeats on all ranks.", mark=UNCLEAR)
        yield _record_line(evidence.record, self.path)
        yield from (table, *below) if table.items else ()
        yield from labelled("note", evidence.notes)
        yield Next([following or (f"rankwise advise {self.path}", "what to change")])

    @property
    def conclusion(self) -> str:
        return f"{self.path}: {headline(self.evidence.record)}."

    def plot(self) -> Plot:
        """Draw who sends how much to whom."""
        from rankwise.report.pairs import traffic_map

        matrix, each = summary.coarse_matrix(self.evidence.record)
        words = [f"{self.path}: {headline(self.evidence.record)}"]
        words += [f"each point stands for {each} by {each} ranks"] if each > 1 else []
        return Plot(traffic_map(matrix, words, each), words)


def _waiting(shares: Shares) -> float | None:
    return shares.share(shares.waiting_s) if shares.split else None


def load_record(path: Path | str, since_s: float = 0.0, until_s: float | None = None) -> Observation:
    """Read what was observed of a program. Raises InputError.

    Steps are looked for from ``since_s`` to ``until_s``; where neither is given and the program called MPI_Pcontrol, while its
    level was above 0.
    """
    from rankwise.advise.evidence import evidence_of
    from rankwise.observe.record import read_record

    found = read_record(Path(path))
    call_sites.named(found.header, limit_s=10.0)
    return Observation(evidence_of(found, str(path), span_of(found, since_s, until_s)), Path(path))


def span_of(record: Record, since_s: float, until_s: float | None) -> tuple[float, float] | None:
    """Return from when to when steps are looked for; None: in the whole run. Raises InputError where that is no part of it."""
    seconds = float(record.header.get("seconds", 0.0))
    end_s = seconds if until_s is None else until_s
    if 0 < seconds <= since_s or end_s < since_s:
        raise InputError(
            f"--from {since_s:g} --to {end_s:g} is no part of the run, which took {format_time(seconds)}: give seconds within "
            "it, the earlier first"
        )
    if since_s == 0.0 and until_s is None:
        from rankwise.advise.evidence import controlled_span

        return controlled_span(record)
    return since_s, min(end_s, seconds)


def observe(command: Sequence[str], output: Path | str = Path("observed.comm")) -> Observation:
    """Run a program as it is, a launcher and what it starts, and record its messages into ``output``.

    Raises InputError where nothing was observed, and UnusableEnvironmentError for a command that cannot work.
    """
    from rankwise.advise.evidence import evidence_of
    from rankwise.observe.start import exit_code_of
    from rankwise.observe.start import observe as run

    code, record = run(command, Path(output))
    if record is None:
        raise InputError(f"{command[0]} left no record: what is on stderr says why")
    return Observation(evidence_of(record, str(output)), Path(output), exit_code_of(code, record))


def headline(record: Record) -> str:
    """Say how many ranks there were, where, and how long."""
    share, hosts = summary.mpi_share(record), len(record.hosts)
    where = f" on {hosts} hosts" if hosts > 1 else ""
    words = f"{format_count(record.ranks, 'rank')}{where}, {format_time(record.header.get('seconds', 0.0))}"
    return words + (f", {format_share(share)} of it in MPI" if share is not None else "")


_MOST_IN_MATRIX = 12  # ranks whose matrix is legible; --plot draws any
_SCREEN, _OTHER_LINES, _TEXT = 25, 6, 68  # lines of a screen; those around list and matrix; characters of a line of the list


def _blocks(evidence: Evidence, file: Path) -> Iterator[Block]:
    """Yield where the time of the run went, what was recorded, and who sends to whom."""
    record, share = evidence.record, summary.mpi_share(evidence.record)
    calls = [line for line in summary.call_table(record) if line["seconds"] > 0]
    seconds = format_time(record.header.get("seconds", 0.0))
    if share is None:
        answer = f"The run took {seconds}; how much of it is in MPI is unknown."
    else:
        mostly = f", mostly {calls[0]['call']}" if calls else ""
        answer = f"{format_share(share)} of the run of {seconds} in MPI{mostly}."
    yield Sentence(_with_crowded(answer, evidence), mark=YES if evidence.crowded is None else BUT)
    yield _record_line(record, file)
    pattern = [("Pattern", evidence.pattern.words)] if evidence.pattern.naming.name != "none" else []
    items = [
        *pattern, *_step(evidence), *_ranks(evidence),
        *_waits(evidence), *_in_mpi(record, calls), *_messages(evidence), *_calls(record),
    ]  # fmt: skip
    yield Listing(items)
    room = _SCREEN - _OTHER_LINES - sum(-(-len(text) // _TEXT) for _, text in items)
    matrix = summary.matrix_lines(record) if record.ranks <= min(_MOST_IN_MATRIX, room) else []
    if matrix:
        yield Sentence("Bytes from row to column: @ the most of any pair, each shade a third of the one above")
        yield Lines(matrix)
    yield from labelled("note", evidence.notes)
    picture = [(f"rankwise observe show {file} --plot matrix.html", "who sends to whom")] if not matrix else []
    yield Next([(f"rankwise advise {file}", "what to change"), *(picture if len(record.peer) else [])])


def _with_crowded(answer: str, evidence: Evidence) -> str:
    return answer if evidence.crowded is None else f"{answer} {sentence(evidence.crowded)}"


def _record_line(record: Record, file: Path) -> Sentence:
    whole = "complete" if record.header.get("complete", True) else "partial"
    ranks, hosts = format_count(record.ranks, "rank"), format_count(len(record.hosts), "host")
    return Sentence(f"Record: {whole}, {ranks} on {hosts} ({file}).")


_LEAST_LONGER = 1.02  # than the median rank, for a rank to be named
_OF_ALGORITHMS: Sequence[Column[Selected]] = (
    Column("call", "call"), Column("ranks", "ranks"), Column("nodes", "nodes"), Column("size", "bytes", format_size),
    Column("calls", "calls", format_number), Column("library", "library"), Column("algorithm", "algorithm"),
    Column("predicted by", lambda row: row.schedule if row.exact else f"{row.schedule} (of the same kind)"),
)  # fmt: skip


def _ranks(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the least, median and greatest times of the ranks."""
    from rankwise.observe.efficiency import spread_words

    if evidence.crowded is None and evidence.record.ranks > 1 and evidence.shares.total_s.any():
        shares = evidence.shares
        parts = [("compute", shares.computing_s), ("MPI", shares.moving_s + shares.waiting_s)]
        parts += [("wait", shares.waiting_s)] if shares.split else []
        words = ", ".join(spread_words(name, values_s) for name, values_s in parts)
        longest = float(shares.computing_s.max()) / max(_LEAST_LONGER * float(np.median(shares.computing_s)), 1e-30)
        slowest = f"; rank {int(shares.computing_s.argmax())} computes longest" if longest > 1 else ""
        yield "Ranks", f"{words} a {evidence.per} (min / median / max){slowest}"


def _step(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the step that repeats, and where its time goes."""
    shares = evidence.shares
    if evidence.steps is not None:
        yield "Step", evidence.steps.words
        if evidence.crowded is None and shares.split:
            compute, moving, waiting = (
                format_share(shares.share(part)) for part in (shares.computing_s, shares.moving_s, shares.waiting_s)
            )
            yield "", f"{compute} compute, {moving} transfer and other MPI, {waiting} wait (late sender/receiver)"
        if evidence.crowded is None and evidence.efficiencies is not None:
            yield "", f"parallel efficiency {evidence.efficiencies.words}"


_MOST_CAUSES, _LEAST_CAUSE = 2, 0.05  # on a screen; share of a step


def _waits(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield where ranks wait in a step, for whom, and why."""
    waiting = evidence.waiting
    if evidence.crowded is None and waiting is not None:
        yield "Waits", waiting.words(evidence.pattern.naming.name == "sweep")
        for cause in waiting.causes[:_MOST_CAUSES]:
            if cause.of.share >= _LEAST_CAUSE:
                yield from (("", line) for line in cause.words)


def _in_mpi(record: Record, calls: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the calls and call sites that take the time in MPI."""
    total = sum(line["seconds"] for line in calls)
    most = [line for line in calls[:5] if line["seconds"] >= 0.01 * total]
    if most:
        yield "In MPI", ", ".join(f"{line['call']} {format_share(line['seconds'] / total)}" for line in most)
        yield from (("", line) for line in call_sites.site_lines(record.header, total, most=3))


def _messages(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield how many messages there are, and of which sizes."""
    record = evidence.record
    if len(record.peer):
        degrees = np.diff(record.pointer).tolist()
        all_bytes, messages = int((record.bytes + record.pulled).sum()), int(record.messages.sum())
        across = f", {format_volume(summary.bytes_between_hosts(record))} between hosts" if len(record.hosts) > 1 else ""
        others = f"{format_span(degrees)} other{'s' * (max(degrees) != 1)}"
        pairs = format_count(len(record.peer), "communicating pair")
        yield "Messages", f"{messages}, {format_volume(all_bytes)} in all{across}; a rank sends to {others}, {pairs}"
    if evidence.sizes.classes:
        yield "Sizes", evidence.sizes.words


def _calls(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the collective calls, counted a rank, and the process grids that the program made."""
    collectives = sorted(record.header.get("collectives", []), key=lambda line: -line["calls"])
    words = []
    for line in collectives[:6]:
        of = "" if line["comm"] == 0 else f", communicator {line['comm']}"
        root = "" if line["root"] is None else f", root {line['root']}"
        size = "" if line["call"].lower().endswith("barrier") else f", {format_size(line['bytes'])}"
        words.append(f"{line['call']} {format_number(line['calls'] / max(line['ranks'], 1))}x{size}{root}{of}")
    if words:
        more = f"; {len(collectives) - 6} more kinds (--json)" if len(collectives) > 6 else ""
        yield "Calls", f"{'; '.join(words)}{more} (counts a rank)"
    for cart in record.header.get("carts", []):
        around = [str(axis + 1) for axis, wraps in enumerate(cart["periodic"]) if wraps]
        all_around = len(around) == len(cart["dims"])
        ends = "periodic" if all_around else f"periodic along axis {', '.join(around)}" if around else "not periodic"
        reorder = "reordering allowed" if cart["reorder"] else "no reordering"
        yield "Grid", f"MPI_Cart_create {'x'.join(map(str, cart['dims']))}, {ends}, {reorder}"


@record
class Live(Result, rows="ranks"):
    """Where the ranks of a program are at this moment."""

    path: Path = key("record that is going to be written")
    seconds: float = key("time since MPI_Init when a rank last looked")
    deadlock: Hang | None = key("ranks that wait for ever; null: none was found")
    ranks: list[LiveRank] = key("each rank")

    @property
    def conclusion(self) -> str:
        if self.deadlock is not None:
            return f"Deadlock: {self.deadlock.why}."
        waiting = [one for one in self.ranks if one.state == "waits"]
        if not waiting:
            return "No rank has waited in MPI for half a second."
        longest = max(waiting, key=lambda one: one.seconds)
        longest_s = format_time(longest.seconds)
        return f"{len(waiting)} of {format_count(len(self.ranks), 'rank')} wait in MPI, rank {longest.rank} for {longest_s}."

    def blocks(self) -> Iterator[Block]:
        is_waiting = any(one.state == "waits" for one in self.ranks)
        yield Sentence(self.conclusion, mark=NO if self.deadlock is not None else BUT if is_waiting else YES)
        yield Sentence(
            f"Live: {format_count(len(self.ranks), 'rank')}, {format_time(self.seconds)} after MPI_Init ({self.path})."
        )
        yield Table(_OF_GROUPS, _groups(self.ranks))
        yield Next([(f"rankwise observe show --live {self.path}", "again")])


Group = tuple["list[LiveRank]", float]  # ranks that are at one place, and the longest time there


def _groups(ranks: list[LiveRank]) -> list[Group]:
    """Return the ranks by what they do, those that wait longest first."""
    found: dict[tuple[str | None, ...], list[LiveRank]] = {}
    for one in ranks:
        found.setdefault((one.state, one.call, one.text, one.whom), []).append(one)
    return sorted(((group, max(one.seconds for one in group)) for group in found.values()), key=lambda of: -of[1])


_OF_GROUPS: tuple[Column[Group], ...] = (
    Column("ranks", lambda of: format_ranges(one.rank for one in of[0])),
    Column("in", lambda of: of[0][0].call or of[0][0].state),
    Column("for", lambda of: format_time(of[1]) if of[1] else None), Column("where", lambda of: of[0][0].text or None),
    Column("waits", lambda of: of[0][0].whom or None),
)  # fmt: skip


def live(path: Path | str = Path("observed.comm")) -> Live:
    """Say where the ranks of a program are that 'rankwise observe -o PATH' has started. Raises InputError where none runs."""
    from rankwise.observe.live import hang_of, live_ranks

    ranks, ran_s = live_ranks(Path(path))
    return Live(Path(path), ran_s, hang_of(ranks), ranks)


_SITES, _RANKS = 6, 4  # on a screen
_MARKS = {"slower": NO, "unclear": UNCLEAR}


@record
class ComparedRuns(Result, rows="changes"):
    """What changed from run A to run B."""

    a: Path = key("record of run A")
    b: Path = key("record of run B")
    verdict: str = key("slower, faster, same or unclear: of B's step")
    why: str | None = key("why it is unclear; null: it is not, or by the interval")
    of: Ratio = key("how many times as long a step of B takes", inline=True)
    changes: list[RunChange] = key(
        "times of both runs: of the step, then of its parts, call sites and ranks, the largest change first"
    )
    step_a_s = computed("median step of run A; null: no step was found", "float | None", lambda of: of.step_s("a_s"))
    step_b_s = computed("median step of run B", "float | None", lambda of: of.step_s("b_s"))

    def step_s(self, run: str) -> float | None:
        """Return the time of a run's step."""
        return next((float(getattr(one, run)) for one in self.changes if one.of == "step"), None)

    @property
    def conclusion(self) -> str:
        step_a_s, step_b_s = self.step_a_s, self.step_b_s
        if (
            self.of.ratio is None
            or self.of.ratio_lo is None
            or self.of.ratio_hi is None
            or step_a_s is None
            or step_b_s is None
        ):
            return f"Unclear: {self.why}."
        ends = f"{format_number(self.of.ratio_lo)}–{format_number(self.of.ratio_hi)}"
        of_a = f"{format_number(self.of.ratio)} times ({ends}) the {format_time(step_a_s)} of A"
        times = f"a step takes {format_time(step_b_s)}, {of_a}"
        unclear = f" {self.why[:1].upper()}{self.why[1:]}." if self.why else ""
        if step_a_s == step_b_s:
            times = f"a step takes {format_time(step_b_s)} in both"
        said = {"unclear": "Unclear", "same": "B is as fast as A"}.get(self.verdict, f"B is {self.verdict}")
        return f"{said}: {times}.{unclear}"

    def blocks(self) -> Iterator[Block]:
        yield Sentence(self.conclusion, mark=_MARKS.get(self.verdict, YES))
        yield Sentence(f"A: {self.a}. B: {self.b}. Interval: scatter of steps within each run, not from run to run.")
        most = {"step": 1, "part": 3, "site": _SITES, "rank": _RANKS}
        rows = [one for of, count in most.items() for one in [each for each in self.changes if each.of == of][:count]]
        yield Table(_CHANGES, rows)
        yield Sentence(
            "Of a step, the mean over ranks; of a rank: its time outside MPI. Sites and ranks: those that change most."
        )
        yield Next([(f"rankwise observe show {self.b}", "where its time goes")])


_CHANGES: tuple[Column[RunChange], ...] = (
    Column("of", "of"), Column("what", "what"), Column("A", "a_s", format_time), Column("B", "b_s", format_time),
    Column("B less A", lambda row: row.b_s - row.a_s, format_time),
    Column("change", lambda row: row.b_s / row.a_s - 1 if row.a_s > 0 else None, format_percent),
)  # fmt: skip


def compare_runs(a: Path | str, b: Path | str) -> ComparedRuns:
    """Say what changed from one observed run of a program to another. Raises InputError."""
    from rankwise.observe.changes import changed, ratio_of

    one, other = (load_record(path).evidence for path in (a, b))
    if one.record.ranks != other.record.ranks:
        raise InputError(f"{a} has {one.record.ranks} ranks and {b} {other.record.ranks}: observe the program with as many")
    ratio = ratio_of(one.steps, other.steps)
    changes: list[RunChange] = []
    if one.steps is not None and other.steps is not None:
        before_s, after_s = _times_s(one, one.steps), _times_s(other, other.steps)
        changes = [row for of, times_s in before_s.items() for row in changed(of, times_s, after_s[of])]
    why = one.crowded or other.crowded
    if ratio.ratio is None:
        why = "a run has no step that repeats on all ranks, or few"
    return ComparedRuns(Path(a), Path(b), "unclear" if why else ratio.verdict, why, ratio, changes)


def _times_s(of: Evidence, steps: Steps) -> dict[str, dict[str, float]]:
    """Return the time of a step, of its parts and call sites, the mean over ranks; and of each rank, that outside MPI."""
    from rankwise.observe.changes import site_times_s

    shares = of.shares
    parts = {"compute": shares.computing_s, "transfer and other MPI": shares.moving_s, "wait": shares.waiting_s}
    return {
        "step": {"median": of.time_s},
        "part": {name: float(part.mean()) for name, part in parts.items()},
        "site": site_times_s(of.record, steps, of.events),
        "rank": {f"rank {rank}": float(compute_s) for rank, compute_s in enumerate(shares.computing_s)},
    }
