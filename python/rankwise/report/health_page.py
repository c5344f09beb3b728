"""The trend of a machine's figures as one HTML page: each figure over time, what is usual, when it changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from rankwise.blocks import Column, Picture, Table
from rankwise.health.judge import COMPOSITE, Change, Judgement, Row, Rules
from rankwise.health.record import Session
from rankwise.health.words import (
    change_in_words,
    conclusion,
    farthest,
    name_of,
    next_commands,
    percent,
    shown,
    slower_since,
    split,
)
from rankwise.report.chart import MUTED, SERIES, TIME, Chart, Spec, field_of, rows
from rankwise.report.document import Badge, Document, Figure, Kind, Next, Section
from rankwise.report.layers import emphasised, kinds, labels, layer, level, nearest, ranged, zoomed
from rankwise.units import format_day

_MOST_ROWS = 40
_MOST_LIMIT = 5.0  # as a logarithm, that is drawn
_MARKS = {  # of a verdict on the figure: shape, colour
    "same": ("circle", SERIES[0]),
    "unclear": ("circle", SERIES[0]),
    "slower": ("square", SERIES[1]),
    "unusable": ("cross", MUTED),
}
_VERDICTS: dict[str, tuple[Kind, str]] = {
    "same": ("good", "as usual"),
    "slower": ("bad", "slower"),
    "faster": ("good", "faster"),
    "unclear": ("warn", "unclear"),
    "unusable": ("unknown", "no verdict"),
}
_READING = (
    "One mark a session; higher is slower. A filled dot is at the baseline, a hollow one has no verdict, a square is slower, "
    "a cross unusable. A dotted line is a change for good, found in the series itself."
)


def render(sessions: Sequence[Session], judgement: Judgement, changes: Sequence[Change], rules: Rules) -> str:
    """Return the page of one machine's sessions, the last of which was judged. The same figures give the same bytes."""
    last = sessions[-1]
    since = slower_since(last, sessions[:-1]) if judgement.verdict == "slower" else None
    pictures = [
        Picture(f"trend-{i}", _caption(figure, judgement), partial(trend_picture, figure, i, sessions, judgement, changes))
        for i, figure in enumerate(dict.fromkeys([*(row.figure for row in farthest(judgement.rows, 99)), *last.value]))
        if figure in last.value
    ]
    sections = [Section("trend", "Each figure over time", [_READING], pictures)]
    if changes:
        columns: Sequence[Column[Change]] = (
            Column("since", "at", format_day),
            Column("figure", "figure", name_of),
            Column("changed by", lambda c: percent(math.log(c.ratio))),
            Column("what else changed then", lambda c: "; ".join(c.causes) or "nothing that is recorded"),
        )
        found = Table(columns, changes, name="changes", caption="The oldest first.")
        sections.append(Section("changes", "Changes for good", [], [found], f"{len(changes)} found in the series"))
    kept = _sessions_table(sessions)
    sections.append(Section("sessions", "The sessions", [], [kept], f"{len(sessions)}, the newest {format_day(last.at)}"))
    key = last.key
    sources = [
        f"{key.get('hostname')}, {key.get('cpu_model')}; {key.get('mpi')}; {key.get('binding')}; kernel "
        f"{key.get('kernel_release')}.",
        "A session's value is the lower quartile over its undisturbed launches of the launches' medians. Usual is the mean of "
        f"up to {rules.most} earlier sessions that were not slower; the alarm's limit is a prediction interval for one more "
        f"session, at {100 * rules.level:g} % for all figures together, and a second session has to confirm it.",
    ]
    sections.append(Section("sources", "Where the figures come from", sources, (), f"{len(sessions)} sessions of this machine"))
    following = next_commands(judgement, bool(last.accepted)) or [("rankwise health", "go on from here")]
    return Document(
        kind="rankwise health",
        origin=f"{key.get('hostname')} · {key.get('mpi')} · {last.began:%d %b %Y, %H:%M}",
        headline=conclusion(judgement, rules, since),
        why=_answer(sessions, judgement, changes, rules),
        sections=sections,
        badges=[_badge(judgement), _figures_badge(last, judgement)],
        figures=_figures(last, judgement),
        next=[Next(what.capitalize(), command) for command, what in following],
        record="rankwise health --json",
    ).html()


def _badge(judgement: Judgement) -> Badge:
    kind, words = _VERDICTS.get(judgement.verdict, ("unknown", "not judged yet"))
    over = [name_of(row.figure) for row in judgement.rows if row.over]
    told = f"above the baseline: {', '.join(over[:3])}" if over else "every value at the baseline" if kind == "good" else words
    return Badge(kind, f"Machine: {words}", told)


def _figures_badge(last: Session, judgement: Judgement) -> Badge:
    disturbed = sum(launch.poor for launch in last.launches)
    if last.verdict == "unusable":
        return Badge("bad", "Figures: unusable", f"{disturbed} of {len(last.launches)} launches were disturbed: measure again")
    seen = math.isfinite(judgement.could_see) and judgement.could_see < 100
    told = "too few sessions to say what would be seen"
    if seen:
        told = f"a slow-down of {100 * judgement.could_see:.0f} % would be seen"
    counted = f"{len(last.launches)} launches, {disturbed} disturbed; " if last.launches else ""
    return Badge("good" if seen else "unknown", "Figures: usable" if seen else "Figures: too few yet", counted + told)


def _figures(last: Session, judgement: Judgement) -> list[Figure]:
    """Return the three figures that are farthest from the usual, the usual range as their interval."""
    found = []
    of_row = {row.figure: row for row in judgement.rows}
    order = [row.figure for row in farthest(judgement.rows, 99) if row.figure in last.value]
    for figure in dict.fromkeys([*order, *last.value]):
        value, _, unit = shown(figure, last.value[figure]).partition(" ")
        row = of_row.get(figure)
        if row is None or not row.limit < _MOST_LIMIT:
            found.append(Figure(name_of(figure), value, unit, "– no baseline yet: too few sessions", None, "this session"))
            continue
        ends = (row.usual - row.limit, row.usual + row.limit)
        shares = tuple(math.expm1(end - row.value) for end in ends)
        words = f"baseline {shown(figure, ends[0])} to {shown(figure, ends[1])}"
        found.append(
            Figure(name_of(figure), value, unit, words, (shares[0], shares[1]), f"{percent(row.difference)} from the baseline")
        )
    return found[:3]


def trend_picture(
    figure: str, number: int, sessions: Sequence[Session], judgement: Judgement, changes: Sequence[Change]
) -> Chart:
    """Draw one figure's sessions over time, the usual level with the alarm's limit, and where it changed."""
    known = [session for session in sessions if figure in session.value]
    row = next((row for row in judgement.rows if row.figure == figure), None)
    label = "format(1e9*datum.value,'.3~g')+' ns/B'" if split(figure)[1] == "s_per_byte" else TIME
    stops = [f"{format_day(s.at)} {s.began:%H:%M}: {shown(figure, s.value[figure])}, {_of_figure(s, figure)}" for s in known]
    data: list[Spec] = [
        {"when": _millis(s.began), "value": math.exp(s.value[figure]), "verdict": _of_figure(s, figure), "stop": i, "tip": tip}
        for i, (s, tip) in enumerate(zip(known, stops, strict=True))
    ]
    held = [row_["value"] for row_ in data if row_["verdict"] != "unusable"] or [row_["value"] for row_ in data]
    ends: list[float] = []
    if row is not None and row.limit < _MOST_LIMIT:  # of few sessions none is known
        ends = [math.exp(row.usual - row.limit), math.exp(row.usual), math.exp(row.usual + row.limit)]
    low, high = min([*held, *ends]), max([*held, *ends])
    margin = 0.12 * (high - low) or 0.1 * high
    y = field_of(
        "value",
        scale={"domain": [max(0.0, low - margin), high + 1.5 * margin], "nice": False, "zero": False},
        axis={"labelExpr": label, "tickCount": 5, "title": None},
    )
    x = field_of(
        "when",
        "temporal",
        axis={"title": None, "tickCount": 6, "grid": False, "format": "%d %b %Y", "labelOverlap": "greedy"},
        scale={"type": "utc", "nice": False, "padding": 12},
    )
    layers: list[Spec] = []
    if row is not None and ends:
        said = [{"value": ends[1], "words": "usual"}, {"value": ends[2], "words": f"alarm from {percent(row.limit)}"}]
        layers += [
            layer("rect", ranged("y", y, "low", "high"), [{"low": ends[0], "high": ends[2]}], color=SERIES[0], opacity=0.1),
            layer("rule", {"y": y}, said[:1]),
            level("y", y, ends[2], color=SERIES[1], strokeDash=[6, 3]),
            labels({"y": y, "x": {"value": "width"}}, "words", said, align="right", dx=-4, dy=-7, fontSize=11, color=MUTED),
        ]
    for change in (change for change in changes if change.figure == figure):
        when = _millis(datetime.fromisoformat(change.at))
        at = [{"when": when, "words": f"{percent(math.log(change.ratio))} since {format_day(change.at)}"}]
        late = when > (data[0]["when"] + data[-1]["when"]) / 2
        align, dx = ("right", -4) if late else ("left", 4)
        layers += [
            layer("rule", {"x": x}, at, strokeDash=[2, 3]),
            labels({"x": x, "y": {"value": 2}}, "words", at, align=align, dx=dx, baseline="top", fontSize=11),
        ]
    shapes, colours = ([mark[i] for mark in _MARKS.values()] for i in (0, 1))
    coloured = kinds("verdict", list(_MARKS), colours)
    filled = {"test": "datum.verdict==='same'||datum.verdict==='slower'", **coloured, "legend": None}
    marks = {
        "x": x, "y": y, "size": emphasised(190, 70), "color": coloured, "shape": kinds("verdict", list(_MARKS), shapes),
        "fill": {"condition": filled, "value": "transparent"},
    }  # fmt: skip
    layers += [
        *zoomed([layer("point", marks, filled=False, strokeWidth=2, opacity=1, clip=True)], f"zoom_{number}"),
        nearest("when", "value", f"near_{number}", "temporal"),
    ]
    panel = {"title": _heading(figure, row, known[-1]), "height": 170, "data": rows(data), "layer": layers}
    return Chart(
        f"trend-{number}",
        _heading(figure, row, known[-1]),
        _caption(figure, judgement),
        [panel],
        stops,
        label_px=70,
        legend_px=110,
    )


def _millis(when: datetime) -> int:
    return round(1000 * when.timestamp())


def _of_figure(session: Session, figure: str) -> str:
    """Return a session's verdict as far as it is this figure's."""
    meant = figure in session.over or COMPOSITE in session.over
    return "same" if session.verdict == "slower" and not meant else session.verdict


def _heading(figure: str, row: Row | None, last: Session) -> str:
    if row is None:
        return f"{name_of(figure)}: {shown(figure, last.value[figure])}"
    state = "slower" if row.confirmed else "slower once" if row.over else "at the baseline"
    return f"{name_of(figure)}: {shown(figure, row.value)}, {state} ({percent(row.difference)})"


def _caption(figure: str, judgement: Judgement) -> str:
    row = next((row for row in judgement.rows if row.figure == figure), None)
    if row is None:
        return f"{name_of(figure)}, each session; it has no verdict of its own yet."
    return (
        f"{name_of(figure)}, each session; baseline {shown(figure, row.usual)}. The tinted range is where one more session is "
        f"expected; the alarm begins {percent(row.limit)} above the baseline."
    )


def _answer(sessions: Sequence[Session], judgement: Judgement, changes: Sequence[Change], rules: Rules) -> list[str]:
    first, last = sessions[0], sessions[-1]
    unusable = sum(session.verdict == "unusable" for session in sessions)
    words = [f"{len(sessions)} sessions on {last.key.get('hostname')}, {format_day(first.at)} to {format_day(last.at)}"]
    words[0] += f", {unusable} of them unusable." if unusable else "."
    if judgement.rows and math.isfinite(judgement.could_see) and judgement.could_see < 100:
        words.append(f"A slow-down of {100 * judgement.could_see:.0f} % would have been seen.")
    if last.accepted:
        words.append("The present level was accepted as the baseline.")
    if changes:
        words.append(f"The newest change: {change_in_words(changes[-1])}.")
    return words


def _sessions_table(sessions: Sequence[Session]) -> Table[Any]:
    def of(figure: str) -> Column[Session]:
        return Column(name_of(figure), lambda session: session.value.get(figure), lambda value: shown(figure, value))

    def disturbed(session: Session) -> str:
        return (
            f"{sum(launch.poor for launch in session.launches)} of {len(session.launches)}" if session.launches else "a profile"
        )

    columns: Sequence[Column[Session]] = (
        Column("began", "began", "{:%Y-%m-%d %H:%M}".format),
        Column("verdict", lambda session: session.verdict + (", accepted" if session.accepted else "")),
        *map(of, sessions[-1].value),
        Column("disturbed launches", disturbed),
    )
    newest = list(reversed(sessions[-_MOST_ROWS:]))
    return Table(columns, newest, name="sessions", caption=f"The newest first, {len(newest)} of {len(sessions)}.")
