"""What a session's judgement means, in words, in figures with units, and as Prometheus text for a collector of files."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankwise.health.judge import COMPOSITE, Change, Judgement, Row, Rules
from rankwise.health.record import VERDICTS, Session
from rankwise.machine.metrics import Sample, bounds, gauge
from rankwise.units import format_day, format_time

_KINDS = {"latency_s": "latency", "exchange_s": "8 KiB", "s_per_byte": "per byte"}
KINDS_IN_WORDS = "8 KiB: both directions at once; per byte: at 1 MiB"
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 30


def split(figure: str) -> tuple[str, str]:
    """Return a figure's link class and kind."""
    link, _, kind = figure.rpartition(".")
    return link, kind


def name_of(figure: str) -> str:
    """Return a figure as people call it: ``same-socket latency``."""
    link, kind = split(figure)
    return f"{link} {_KINDS.get(kind, kind)}" if link else figure


def shown(figure: str, log: float) -> str:
    """Write a figure's value with its unit."""
    if figure == COMPOSITE:
        return "–"
    value = math.exp(log)
    return f"{1e9 * value:.3g} ns/B" if split(figure)[1] == "s_per_byte" else format_time(value)


def percent(log: float) -> str:
    """Write a difference of logarithms as the relative one: ``+2.1 %``."""
    return f"{100 * math.expm1(min(log, 50.0)):+.1f} %" if math.isfinite(log) else "–"


def between(low: float, high: float) -> str:
    """Write an interval of relative differences; a dash where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"{100 * math.expm1(low):+.1f} to {100 * math.expm1(high):+.1f}"


def conclusion(judgement: Judgement, rules: Rules, since: str | None = None) -> str:
    """Return the sentence that stands first; ``since`` is when a slow-down began."""
    sessions = f"{judgement.sessions} session{'s' * (judgement.sessions != 1)}"
    match judgement.verdict:
        case "slower":
            worst = max((row for row in judgement.rows if row.confirmed), key=lambda row: row.difference)
            others = sum(row.confirmed for row in judgement.rows) - 1
            more = f", and {others} more figure{'s' * (others != 1)}" if others else ""
            when = f" since {format_day(since)}" if since else ""
            interval = between(worst.difference - worst.half_width, worst.difference + worst.half_width)
            name = name_of(worst.figure) if worst.figure != COMPOSITE else "all figures together"
            return f"Slower: {name} {percent(worst.difference)} ({interval}){more}{when}, in two sessions."
        case "same":
            count = len(judgement.rows)
            of = "all figures together are not" if judgement.rows[0].figure == COMPOSITE else f"none of {count} figures is"
            return f"At the baseline: {of} slower by {100 * rules.tolerance:g} % or more ({sessions})."
        case "unusable":
            return f"No verdict: {judgement.reason}."
        case "unclear":
            return f"Cannot tell: {judgement.reason}."


def farthest(rows: Sequence[Row], most: int = 3) -> list[Row]:
    """Return the rows that moved most, those beyond the usual first."""
    return sorted(rows, key=lambda row: (-row.over, -abs(row.difference)))[:most]


def change_in_words(change: Change) -> str:
    """Say when a figure changed, by how much, and what else did."""
    causes = f"; then changed: {', '.join(change.causes)}" if change.causes else ""
    return f"{name_of(change.figure)} {percent(math.log(change.ratio))} since {format_day(change.at)}{causes}"


def spark(values: Sequence[float]) -> str:
    """Draw a series as a line of small bars."""
    values = values[-_MOST_BARS:]
    low, high = min(values), max(values)
    return "".join(_BARS[round((len(_BARS) - 1) * ((value - low) / (high - low) if high > low else 0.0))] for value in values)


def slower_since(session: Session, before: Sequence[Session]) -> str:
    """Return when the unbroken run of sessions beyond the usual began that ends with this one."""
    since = session.at
    for other in reversed([s for s in before if s.identity == session.identity and s.verdict != "unusable"]):
        if other.accepted or not set(other.over) & set(session.over):
            break
        since = other.at
    return since


def next_commands(judgement: Judgement, accepted: bool) -> list[tuple[str, str]]:
    """Return what to do about a verdict: commands, each with what it is for or when; empty where nothing is."""
    match judgement.verdict:
        case "slower" if not accepted:
            return [("rankwise doctor", "what disturbs"), ("rankwise health accept", "if the change is intended")]
        case "unclear":
            return [("rankwise health", "half an hour later" if judgement.over else "every few hours")]
        case "unusable":
            return [("ps -eo pcpu,pid,comm --sort=-pcpu | head -5", "stop what it lists"), ("rankwise health", "then")]
    return []


_GAUGES = {
    "latency_s": ("rankwise_link_latency_seconds", "Time of an empty message over a link class.", "send"),
    "exchange_s": ("rankwise_link_exchange_seconds", "Time of 8 KiB both ways at once over a link class.", "exchange"),
    "s_per_byte": ("rankwise_link_seconds_per_byte", "Time per byte of a message of 1 MiB over a link class.", "send"),
}


def gauges(session: Session, judgement: Judgement) -> str:
    """Return the gauges: each name with one HELP and one TYPE, base units, no time stamps.

    ``bound`` low and high are the 95 % interval of the session's value by the scatter between sessions, where that is known.
    """
    half_widths = {row.figure: row.half_width for row in judgement.rows}
    lines: list[str] = []
    for figure, (name, help_text, way) in _GAUGES.items():
        samples: list[Sample] = []
        for full, value in session.value.items():
            link, kind = split(full)
            if kind != figure:
                continue
            half_width = half_widths.get(full, math.inf)
            ends = (math.exp(value - half_width), math.exp(value + half_width)) if math.isfinite(half_width) else None
            samples += bounds({"link": link, "way": way}, math.exp(value), ends)
        lines += gauge(name, help_text, samples)
    lines += gauge(
        "rankwise_health_state", "The verdict on the last session: 1 for the one that holds.",
        [({"state": verdict}, float(verdict == session.verdict)) for verdict in VERDICTS],
    )  # fmt: skip
    began: list[Sample] = [({}, session.began.timestamp())]
    lines += gauge("rankwise_health_last_run_timestamp_seconds", "When the last session began.", began)
    return "\n".join(lines) + "\n"
