"""What a campaign measures beside the ways of sending that models are fitted to: the parts of a message one by one, streams,
collectives, the link under load."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.machine.link import Curve, Parameter
from rankwise.machine.profile import Loaded, Spread
from rankwise.measure.cells import Cells, log_medians
from rankwise.measure.samples import Campaign
from rankwise.measure.workloads import LOADED
from rankwise.models import hockney, pchip, piecewise
from rankwise.models.curve import curve_of
from rankwise.models.measured import Way
from rankwise.records import Interval
from rankwise.statistics import Array, Deviations

_ALONE = re.compile(r"bandwidth-|alltoall-")
_LIMITS = ("send_returns_up_to_bytes", "head_to_head_up_to_bytes")
ONE_TO_ALL = "one-to-all"
_LEAST_SESSIONS = 3  # whose medians tell the machine's drift
_NORMAL_PER_MAD = 1.4826  # the standard deviation of normal noise whose median absolute deviation is 1


def curve_alone(way: Way, statistic: str) -> Curve:
    """Make the curve of one way of sending by itself."""
    models = {model.name: model for model in (hockney.fit(way), piecewise.fit(way), pchip.fit(way))}
    return curve_of(way, models, pchip.NAME, statistic)


def variants_of(ways: Mapping[str, Way], statistic: str) -> dict[str, Curve]:
    """Return curves of streams, collectives and one-to-all; all as the time of one message (or collective)."""
    return {name: curve_alone(way, statistic) for name, way in ways.items() if _ALONE.match(name) or name == ONE_TO_ALL}


def parameters_of(ways: Mapping[str, Way], campaign: Campaign, link: str) -> dict[str, Parameter]:
    """Return what is measured directly: LogGP's parts of a small message, overlap, protocol limits."""
    found: dict[str, Parameter] = {}
    if {"send", "send-overhead", "receive-overhead"} <= ways.keys():
        send, receive, whole = (_first_row(ways[name]) for name in ("send-overhead", "receive-overhead", "send"))
        deviations = ways["send"].deviations
        found["send_overhead_s"], found["receive_overhead_s"] = _parameter(*send, deviations), _parameter(*receive, deviations)
        latency = whole[0] - send[0] - receive[0], whole[1] - send[1] - receive[1]
        found["latency_s"] = _parameter(*latency, deviations, linear=True)
    if "gap" in ways:
        found["gap_s"] = _parameter(*_first_row(ways["gap"]), ways["gap"].deviations)
    if {"send", "exchange"} <= ways.keys() and (
        common := set(ways["send"].sizes.tolist()) & set(ways["exchange"].sizes.tolist())
    ):
        found["overlap"] = _overlap(ways["send"], ways["exchange"], max(common))
    for name in _LIMITS:
        sizes = sorted(int(record[name]) for record in campaign.limits if record["class"] == link)
        if sizes:
            found[name] = Parameter(float(sizes[len(sizes) // 2]), (float(sizes[0]), float(sizes[-1])))
    return found


def spread_of(cells: Cells, sessions: Sequence[Cells] = (), statistic: str = "median") -> Spread | None:
    """Return how much plain sends differ between launches, within them and between sessions; None where there are none."""
    between, within = [], []
    for by_launch in cells.get("send", {}).values():
        launches = list(by_launch.values())
        medians = np.array([np.median(launch) for launch in launches])
        if medians.size > 1:
            between.append(float(medians.std(ddof=1) / medians.mean()))
        deviations = [np.median(np.abs(launch - median)) / median for launch, median in zip(launches, medians, strict=True)]
        within.append(float(_NORMAL_PER_MAD * np.mean(deviations)))
    if not within:
        return None
    return Spread(
        float(np.median(between)) if between else None,
        float(np.median(within)),
        _between_sessions([cells, *sessions], statistic),
    )


def _between_sessions(sessions: Sequence[Cells], statistic: str) -> float | None:
    """Return the standard deviation of sessions' common logarithm of plain sends; None for fewer than three."""
    sends = [session["send"] for session in sessions if session.get("send")]
    common = set.intersection(*(set(send) for send in sends)) if sends else set()
    if len(sends) < _LEAST_SESSIONS or not common:
        return None
    means = [float(np.mean([log_medians(send[size], statistic).mean() for size in sorted(common)])) for send in sends]
    return float(np.std(means, ddof=1))


def loaded_of(ways: Mapping[str, Way], free: Curve, campaign: Campaign, link: str, statistic: str) -> Loaded | None:
    """Return alpha and beta under load against the free ones, or None where no load was put on the link."""
    if LOADED not in ways:
        return None
    curve = curve_alone(ways[LOADED], statistic)
    pairs = max(int(s["load_pairs"]) for s in campaign.samples if s["class"] == link and s["operation"] == LOADED)
    return Loaded(
        alpha_s=curve.alpha_s,
        beta_s_per_byte=curve.beta_s_per_byte,
        alpha_ci_s=curve.alpha_ci_s,
        beta_ci_s_per_byte=curve.beta_ci_s_per_byte,
        pairs=pairs,
        alpha_ratio=curve.alpha_s / free.alpha_s,
        beta_ratio=curve.beta_s_per_byte / free.beta_s_per_byte if free.beta_s_per_byte > 0 else None,
        alpha_ratio_ci=_ratio(curve.alpha_s, curve.alpha_ci_s, free.alpha_s, free.alpha_ci_s),
        beta_ratio_ci=_ratio(curve.beta_s_per_byte, curve.beta_ci_s_per_byte, free.beta_s_per_byte, free.beta_ci_s_per_byte),
    )


Row = tuple[float, Array]  # a value, and with one launch left out and so on


def _parameter(value: float, refits: Array, deviations: Deviations, linear: bool = False) -> Parameter:
    return Parameter(float(value), deviations.interval(float(value), refits, linear))


def _first_row(way: Way) -> Row:
    return float(way.times_s[0]), way.columns_s[0]


def _overlap(send: Way, exchange: Way, size: float) -> Parameter:
    """Return how far both directions overlap at a size, the largest common one: 1 fully, 0 one after the other."""
    one, both = int(np.flatnonzero(send.sizes == size)[0]), int(np.flatnonzero(exchange.sizes == size)[0])
    return _parameter(
        2 - float(exchange.times_s[both] / send.times_s[one]), 2 - exchange.columns_s[both] / send.columns_s[one],
        send.deviations, linear=True,
    )  # fmt: skip


def _ratio(a: float, a_ci: Interval | None, b: float, b_ci: Interval | None) -> Interval | None:
    """Return the 95 % interval of a / b from those of two independent positive figures, errors being relative ones."""
    if a_ci is None or b_ci is None or min(a, b, a_ci[0], b_ci[0]) <= 0:
        return None
    low = np.hypot(np.log(a / a_ci[0]), np.log(b_ci[1] / b))
    high = np.hypot(np.log(a_ci[1] / a), np.log(b / b_ci[0]))
    return float(a / b * np.exp(-low)), float(a / b * np.exp(high))
