"""The trend of a machine's figures as one HTML page: each figure over time, what is usual, when it changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from rankwise.health.changes import Change
from rankwise.health.judge import COMPOSITE, Judgement, Row, Rules
from rankwise.health.record import Session
from rankwise.health.words import (
    change_in_words,
    conclusion,
    day,
    farthest,
    name_of,
    next_command,
    percent,
    shown,
    slower_since,
    split,
)
from rankwise.report.page import environment, themed
from rankwise.report.reproduction import Picture, Section, Table
from rankwise.report.style import FONT_PT, MUTED, WIDTH_PT, drawing, duration, look, new_figure, to_svg

_MOST_ROWS = 40
_HEIGHT_PT = 190
_LEAST_DAYS = 0.1  # on the axis
_MARKS = {  # of a verdict on the figure: marker, size, filled
    "same": ("o", 4.5, True),
    "unclear": ("o", 4.5, False),
    "slower": ("s", 6.5, True),
    "unusable": ("x", 5.0, False),
}
_READING = (
    "One mark a session; higher is slower. A filled dot is as usual, a hollow one unclear or not judged yet, a square slower, a cross "
    "unusable. A dotted line is a change for good, found in the series itself."
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
        rows = [["since", "figure", "changed by", "what else changed then"]]
        rows += [
            [day(c.at), name_of(c.figure), percent(math.log(c.ratio)), "; ".join(c.causes) or "nothing that is recorded"]
            for c in changes
        ]
        sections.append(Section("changes", "Changes for good", [], [_table("changes", "The oldest first.", rows)]))
    sections.append(Section("sessions", "The sessions", [], [_sessions_table(sessions)]))
    key = last.key
    return (
        environment()
        .get_template("paper.html.j2")
        .render(
            title=conclusion(judgement, rules, since),
            answer=_answer(sessions, judgement, changes, rules),
            sections=sections,
            pictures={picture.name: picture.draw() for picture in pictures},
            sources=[
                f"{key.get('hostname')}, {key.get('cpu_model')}; {key.get('mpi')}; {key.get('binding')}; kernel {key.get('kernel_release')}.",
                "A session's value is the lower quartile over its undisturbed launches of the launches' medians. Usual is the mean of "
                f"up to {rules.most} earlier sessions that were not slower; the alarm's limit is a prediction interval for one more session, "
                f"at {100 * rules.level:g} % for all figures together, and a second session has to confirm it.",
            ],
            next_command=next_command(judgement, bool(last.accepted)) or "rankwise health",
            themed=themed,
        )
    )


def trend_picture(
    figure: str, number: int, sessions: Sequence[Session], judgement: Judgement, changes: Sequence[Change]
) -> str:
    """Draw one figure's sessions over time, the usual level with the alarm's limit, and where it changed."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter

    known = [session for session in sessions if figure in session.value]
    row = next((row for row in judgement.rows if row.figure == figure), None)
    per_byte = split(figure)[1] == "s_per_byte"
    first, final = _number(known[0].began), _number(known[-1].began)
    with drawing():
        plot = new_figure(WIDTH_PT, _HEIGHT_PT)
        axes = plot.subplots()
        for verdict, (marker, size, filled) in _MARKS.items():
            of_verdict = [session for session in known if _of_figure(session, figure) == verdict]
            if not of_verdict:
                continue  # an empty series would move the axes
            colour = look(1).colour if verdict == "slower" else MUTED if verdict == "unusable" else look(0).colour
            axes.plot(
                [_number(session.began) for session in of_verdict], [math.exp(session.value[figure]) for session in of_verdict],
                linestyle="none", marker=marker, markersize=size, color=colour, markerfacecolor=colour if filled else "none", zorder=3, clip_on=False,
            )  # fmt: skip
        if row is not None:
            usual, limit = math.exp(row.usual), math.exp(row.usual + row.limit)
            axes.axhline(usual, color=MUTED, linewidth=1)
            axes.axhline(limit, color=look(1).colour, linewidth=1, linestyle="--")
            axes.axhspan(usual**2 / limit, limit, color=look(0).colour, alpha=0.08, linewidth=0)
            for level, words in ((usual, "usual"), (limit, f"alarm from {percent(row.limit)}")):
                axes.annotate(words, (1, level), xycoords=("axes fraction", "data"), xytext=(-2, 2), textcoords="offset points",
                              ha="right", va="bottom", fontsize=FONT_PT - 1, color=MUTED, in_layout=False)  # fmt: skip
        for change in (change for change in changes if change.figure == figure):
            when = _number(datetime.fromisoformat(change.at))
            axes.axvline(when, color=MUTED, linewidth=1, linestyle=":")
            late = when > (first + final) / 2
            axes.annotate(f"{percent(math.log(change.ratio))} since {day(change.at)}", (when, 1), xycoords=("data", "axes fraction"),
                          xytext=(-3 if late else 3, -2), textcoords="offset points", ha="right" if late else "left", va="top",
                          fontsize=FONT_PT - 1, in_layout=False)  # fmt: skip
        _axis_of_values(axes, [math.exp(s.value[figure]) for s in known if s.verdict != "unusable"], row)
        margin = 0.04 * max(final - first, _LEAST_DAYS)
        axes.set_xlim(min(first, final - _LEAST_DAYS) - margin, final + margin)
        locator = AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{1e9 * value:.3g} ns/B" if per_byte else duration(value))
        )
        axes.grid(visible=True, axis="y")
        axes.set_title(_heading(figure, row, known[-1]), loc="left")
        return to_svg(plot, f"trend-{number}", _heading(figure, row, known[-1]), _caption(figure, judgement))


def _number(when: datetime) -> float:
    from matplotlib.dates import date2num

    return float(date2num(when))  # type: ignore[no-untyped-call]


def _of_figure(session: Session, figure: str) -> str:
    """Return a session's verdict as far as it is this figure's."""
    meant = figure in session.over or COMPOSITE in session.over
    return "same" if session.verdict == "slower" and not meant else session.verdict


def _axis_of_values(axes, values: Sequence[float], row: Row | None) -> None:  # type: ignore[no-untyped-def]
    """Let the axis hold all usable sessions and the limit; what disturbed ones say may lie beyond."""
    held = [*values, *((math.exp(row.usual + row.limit), math.exp(row.usual - row.limit)) if row is not None else ())]
    if held:
        low, high = min(held), max(held)
        margin = 0.12 * (high - low) or 0.1 * high
        axes.set_ylim(max(0.0, low - margin), high + 1.5 * margin)


def _heading(figure: str, row: Row | None, last: Session) -> str:
    if row is None:
        return f"{name_of(figure)}: {shown(figure, last.value[figure])}"
    state = "slower" if row.confirmed else "beyond the usual" if row.over else "as usual"
    return f"{name_of(figure)}: {shown(figure, row.value)}, {state} ({percent(row.difference)})"


def _caption(figure: str, judgement: Judgement) -> str:
    row = next((row for row in judgement.rows if row.figure == figure), None)
    if row is None:
        return f"{name_of(figure)}, each session; it is not judged by itself yet."
    return (
        f"{name_of(figure)}, each session; usual {shown(figure, row.usual)}. The tinted range is where one more session is expected; "
        f"the alarm begins {percent(row.limit)} above the usual."
    )


def _answer(sessions: Sequence[Session], judgement: Judgement, changes: Sequence[Change], rules: Rules) -> list[str]:
    first, last = sessions[0], sessions[-1]
    unusable = sum(session.verdict == "unusable" for session in sessions)
    words = [f"{len(sessions)} sessions on {last.key.get('hostname')}, {day(first.at)} to {day(last.at)}"]
    words[0] += f", {unusable} of them unusable." if unusable else "."
    if judgement.rows and math.isfinite(judgement.could_see) and judgement.could_see < 100:
        words.append(f"A slow-down of {100 * judgement.could_see:.0f} % would have been seen.")
    if last.accepted:
        words.append("The present level was accepted as the usual.")
    if changes:
        words.append(f"The newest change: {change_in_words(changes[-1])}.")
    return words


def _sessions_table(sessions: Sequence[Session]) -> Table:
    figures = list(sessions[-1].value)
    rows = [["began", "verdict", *(name_of(figure) for figure in figures), "disturbed launches"]]
    for session in reversed(sessions[-_MOST_ROWS:]):
        cells = [shown(figure, session.value[figure]) if figure in session.value else "–" for figure in figures]
        disturbed = sum(launch.poor for launch in session.launches)
        verdict = session.verdict + (", accepted" if session.accepted else "")
        counted = f"{disturbed} of {len(session.launches)}" if session.launches else "a profile"
        rows.append([f"{session.began:%d %b %Y %H:%M}", verdict, *cells, counted])
    shown_of = len(sessions) if len(sessions) <= _MOST_ROWS else _MOST_ROWS
    return _table("sessions", f"The newest first, {shown_of} of {len(sessions)}.", rows)


def _table(name: str, caption: str, rows: Sequence[Sequence[str]]) -> Table:
    return Table(name, caption, rows[0], rows[1:], rows)
