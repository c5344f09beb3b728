"""What is advised of an observed program as one HTML page: the conclusion, what to change, where a step goes, what crosses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rankwise.advise.evidence import Evidence
from rankwise.advise.findings import Advice, Finding, gain_in_words, savings, start_of
from rankwise.blocks import Column, Picture, Table
from rankwise.machine.trust import Trust
from rankwise.mapping.mapper import MapResult
from rankwise.observe.call_sites import call_sites, site_text
from rankwise.observe.callers import callers_text
from rankwise.observe.sizes import SizeClass
from rankwise.report.document import Badge, Change, Document, Figure, Next, Section
from rankwise.report.pairs import matrix_picture
from rankwise.report.program import OF_COLLECTIVES, OF_RANKS, OF_WAITS, headroom_picture, step_picture, timeline_picture
from rankwise.report.words import quality_badge
from rankwise.units import format_count, format_number, format_share, format_span, format_time, format_volume

_LEAST_SHARE, _MOST_SITES = 0.01, 20  # of a step's time, or of that in MPI; call sites on the page


def render(advice: Advice, hosts: Sequence[str], trust: Trust | None = None) -> str:
    """Return the page; ``trust``: in the profile that times were told from (None:
    there was none). The same advice, the same bytes."""
    evidence = advice.evidence
    record = evidence.record
    sections = []
    room = advice.headroom
    if room.now_bytes and room.worst_bytes > room.best_bytes:
        words = room.words(evidence.per, not advice.poor)
        note = f"Bytes between nodes a {evidence.per}: {words}. Worst: the worst placement known."
        picture = Picture("room", "", lambda: headroom_picture(advice, _headroom_title(advice)))
        sections.append(Section("headroom", _headroom_title(advice), [note], [picture]))
    where, caption = f"Where a {evidence.length} goes", _step_caption(evidence)
    sections.append(Section("step", where, [caption], [Picture("step-ranks", "A row a rank; point at one for its times.",
        lambda: step_picture(evidence, where, caption))]))  # fmt: skip
    sections += _where_sections(evidence)
    if evidence.timeline is not None and evidence.timeline.path:
        chart = timeline_picture(evidence.timeline, evidence.per)
        note = f"One {evidence.per}, the one of median length: ranks down, time across, arrows are messages."
        sections.append(
            Section("time-line", chart.title, [note], [Picture("timeline-ranks", chart.description, lambda: chart)])
        )
    if len(evidence.traffic.bytes) and len(hosts) > 1:
        start, best = start_of(advice.mappings), advice.mappings.best
        shown = [("now", start), ("placed by the file", best)] if best is not start else [("now", start)]
        panels = [(f"{words}: {format_volume(result.j_sum)} between nodes", result.node_of_cell) for words, result in shown]
        matrix = Picture("matrix", _matrix_caption(advice), lambda: matrix_picture(evidence.traffic, panels, hosts,
            _matrix_caption(advice)))  # fmt: skip
        sections.append(Section("messages", f"Who sends to whom: {evidence.pattern.words}", [], [matrix]))
        placements = _placements_table(advice)
        best_words = f"{len(placements.rows)} compared; {best.algorithm} sends least between nodes, {format_volume(best.j_sum)}"
        sections.append(Section("placements", "All placements", [], [placements], best_words))
    if evidence.sizes.classes:
        sections.append(_sizes_section(evidence))
    if advice.nothing:
        said = [f"{words[0].upper()}{words[1:]}." for words in advice.nothing]
        sections.append(Section("nothing", "What was looked at and gains nothing", said, [], format_count(len(said), "change")))
    notes = [f"{note}." for note in dict.fromkeys((*advice.notes, *evidence.notes))]
    sections.append(Section(
        "sources", "Where the figures come from",
        [
            f"{evidence.name}: {record.ranks} ranks on {', '.join(record.hosts)}; {record.header.get('mpi', 'unknown MPI')}.",
            "Times of messages are the model's, from where the ranks are, in the order in which the step sends them.",
            *notes,
        ],
        (), format_count(len(notes), "remark"),
    ))  # fmt: skip
    return Document(
        kind="rankwise advise",
        origin=_origin(evidence),
        headline=advice.headline,
        why=_answer(advice),
        sections=sections,
        badges=[_record_badge(evidence), quality_badge(trust)],
        figures=_figures(advice),
        changes=[_change(finding, evidence) for finding in advice.findings],
        next=_next(advice),
        record=f"rankwise advise {evidence.name} --json",
    ).html()


def _where_sections(evidence: Evidence) -> Iterator[Section]:
    """Yield where ranks wait and for whom, the call sites that take the time, each rank's times, and collectives."""
    waiting, record, per = evidence.waiting, evidence.record, evidence.per
    if waiting is not None and waiting.causes and evidence.crowded is None:
        title = f"Where ranks wait: {waiting.words(evidence.pattern.naming.name == 'sweep')}"
        note = "Share: of all ranks' time in steps. Its part: what that rank, late at the last call, causes of it."
        causes = [one for one in waiting.causes if one.of.share >= _LEAST_SHARE] or waiting.causes[:1]
        yield Section("waits", title, [note], [Table(OF_WAITS, causes, name="waits")])
    sites = call_sites(record.header)
    total_s = sum(site["seconds"] for site in sites)
    shown = [site for site in sites if site["seconds"] >= _LEAST_SHARE * total_s][:_MOST_SITES]
    if shown and total_s > 0:
        columns: list[Column[Any]] = [
            Column("share", lambda site: site["seconds"] / total_s, format_share),
            Column("call", lambda site: site["call"]),
            Column("where", site_text),
            Column("callers", lambda site: callers_text(site["callers"])),
            Column("calls", lambda site: site["calls"], format_number),
            Column("longest rank", lambda site: f"{format_time(site['most_seconds'])} on rank {site['most_rank']}"),
        ]
        title = f"Call sites: {shown[0]['call']} at {site_text(shown[0])} takes {format_share(shown[0]['seconds'] / total_s)}"
        yield Section(
            "sites", title, ["Share: of the time in MPI, of all ranks together."], [Table(columns, shown, name="sites")]
        )
    if record.ranks > 1:
        rows = sorted(evidence.by_rank, key=lambda row: -row.compute_s)
        note = f"Of a {per}; compute: outside MPI; wait: the part of MPI for a late sender or receiver; sent: to other ranks."
        title = f"Each rank: rank {rows[0].rank} computes longest, {format_time(rows[0].compute_s)} a {per}"
        yield Section("ranks", title, [note], [Table(OF_RANKS, rows, name="ranks")], format_count(len(rows), "rank"))
    if evidence.collectives:
        share = format_share(sum(row.share for row in evidence.collectives))
        note = (
            "Calls, time: of a rank in a step, the mean; wait: share of the time for a rank that comes late; size: of a rank."
        )
        table = Table(OF_COLLECTIVES, evidence.collectives, name="collectives")
        yield Section("collectives", f"Collectives take {share} of a step", [note], [table])


def _sizes_section(evidence: Evidence) -> Section:
    sizes = evidence.sizes
    total = sum(one.messages for one in sizes.classes)
    columns: list[Column[SizeClass]] = [
        Column("size", "words"),
        Column("messages", "messages"),
        Column("share", lambda one: f"{format_share(one.messages / total)}"),
    ]
    protocol = sizes.protocol or "No send was seen to end, or to wait, before its receive was posted"
    note = f"{protocol[0].upper()}{protocol[1:]}."
    return Section("sizes", "How large messages are", [note], [Table(columns, sizes.classes, name="sizes")], sizes.words)


def _change(finding: Finding, evidence: Evidence) -> Change:
    ratio = finding.ratio(evidence.time_s)
    why = f"{finding.why[0].upper()}{finding.why[1:]}."
    if ratio is None:
        return Change(finding.what, why, gain_in_words(finding, evidence))
    now, low, high = ratio
    return Change(finding.what, why, f"{now:.2f}×", f"{low:.2f}–{high:.2f}, predicted")


def _next(advice: Advice) -> list[Next]:
    evidence = advice.evidence
    found = [Next(finding.what, finding.command) for finding in advice.findings]
    if not found:
        found = [Next("See the record", f"rankwise observe show {evidence.name}")]
    unique = {step.command: step for step in reversed(found)}
    return list(reversed(unique.values()))


def _figures(advice: Advice) -> list[Figure]:
    evidence, shares = advice.evidence, advice.evidence.shares
    found = []
    value, unit = format_time(evidence.time_s).split(" ")
    shares_of_it: tuple[float, float] | None = None
    interval = "– one was seen: nothing tells how they differ"
    if evidence.doubt < 1:
        shares_of_it = (-evidence.doubt, evidence.doubt)
        interval = " to ".join(format_time(evidence.time_s * (1 + end)) for end in shares_of_it)
    steps = f"{len(evidence.steps.durations_s)} observed" if evidence.steps is not None else "one run observed"
    found.append(Figure(f"A {evidence.per}, now", value, unit, interval, shares_of_it, steps))
    in_mpi = 1 - shares.share(shares.computing_s)
    waits = "wait and transfer are not separated"
    if shares.split:
        waits = f"{100 * shares.share(shares.waiting_s):.0f} % wait (late sender/receiver)"
    per_rank = (shares.total_s - shares.computing_s) / shares.total_s.clip(1e-12)
    by_rank = format_span((100 * per_rank).tolist(), "{:.0f}".format)
    found.append(Figure("In communication", f"{100 * in_mpi:.0f}", "%", f"{by_rank} % by rank", None, waits))
    room = advice.headroom
    if room.now_bytes:
        value, unit = format_volume(room.now_bytes).split(" ")
        found.append(Figure(
            f"Between nodes, a {evidence.per}", value, unit,
                f"best known {format_volume(room.best_bytes)}, worst {format_volume(room.worst_bytes)}",
            None, "counted, exact",
        ))  # fmt: skip
    return found


def _record_badge(evidence: Evidence) -> Badge:
    if evidence.crowded is not None:
        return Badge("bad", "Record: oversubscribed", f"{evidence.crowded}: ranks waited for a core")
    told = f"all {format_count(evidence.record.ranks, 'rank')}" + (
        "" if evidence.steps is None else f", a step repeats {len(evidence.steps.durations_s)} times"
    )
    if notes := evidence.record.header.get("notes"):
        return Badge("warn", "Record: with warnings", f"{told}; {notes[0]}")
    return Badge("good", "Record: complete", told)


def _origin(evidence: Evidence) -> str:
    record = evidence.record
    where = f"{format_count(record.ranks, 'rank')} on {format_count(len(record.hosts), 'node')}"
    return f"{evidence.name} · {where} · {record.header.get('mpi', 'unknown MPI')}"


def _answer(advice: Advice) -> list[str]:
    evidence, shares = advice.evidence, advice.evidence.shares
    in_mpi = 1 - shares.share(shares.computing_s)
    waiting = f", {format_share(shares.share(shares.waiting_s))} of all is wait (late sender/receiver)" if shares.split else ""
    words = [f"Why: {format_share(in_mpi)} of a {evidence.length} is communication{waiting}."]
    if advice.findings:
        words.append(f"{advice.findings[0].why[0].upper()}{advice.findings[0].why[1:]}.")
    return words


def _headroom_title(advice: Advice) -> str:
    saving = next(iter(savings(advice.mappings)), None)
    if saving is None:
        return "The ranks are placed as well as is known"
    return f"Another placement sends {-100 * saving.change:.0f} % fewer bytes {saving.where}"


def _step_caption(evidence: Evidence) -> str:
    shares = evidence.shares
    mean = [format_time(float(part.mean())) for part in (shares.computing_s, shares.moving_s, shares.waiting_s)]
    last = f", {mean[2]} wait (late sender/receiver)" if shares.split else "; wait is part of it"
    return f"Mean over ranks: {mean[0]} compute, {mean[1]} {'transfer and other MPI' if shares.split else 'in MPI'}{last}."


def _matrix_caption(advice: Advice) -> str:
    room = advice.headroom
    return (
        f"Rows send, columns receive, a frame is a node; orange crosses between nodes. {format_volume(room.now_bytes)} a "
        f"{advice.evidence.per} now, {format_volume(room.best_bytes)} as placed by the file; the worst placement known sends "
        f"{format_volume(room.worst_bytes)}."
    )


def _placements_table(advice: Advice) -> Table[Any]:
    def time_s(result: MapResult) -> float | None:
        return None if result.time_s is None else result.time_s * advice.evidence.rounds

    columns: list[Column[MapResult]] = [
        Column("placement", "algorithm"),
        Column("between nodes", "j_sum", format_volume),
        Column("out of the busiest node", "j_max", format_volume),
    ]
    if advice.headroom.now_s is not None:
        columns.append(Column("messages take", time_s, format_time))
    return Table(columns, advice.mappings.results, name="placements", caption=f"A {advice.evidence.per}, by placement.")
