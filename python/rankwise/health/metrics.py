"""The history's last session as Prometheus text, for a collector that reads files."""

from __future__ import annotations

import math

from rankwise.health.judge import Judgement
from rankwise.health.record import VERDICTS, Session
from rankwise.health.words import split
from rankwise.machine.metrics import Sample, bounds, gauge

_GAUGES = {
    "latency_s": ("rankwise_link_latency_seconds", "Time of an empty message over a link class.", "send"),
    "exchange_s": ("rankwise_link_exchange_seconds", "Time of 8 KiB both ways at once over a link class.", "exchange"),
    "s_per_byte": ("rankwise_link_seconds_per_byte", "Time per byte of a message of 1 MiB over a link class.", "send"),
}


def text(session: Session, judgement: Judgement) -> str:
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
