"""What a campaign measures beside the ways of sending that models are fitted to: the parts of a message one by one, streams,
collectives, the link under load."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from rankwise.machine.link import Curve, Interval, Parameter
from rankwise.machine.profile import Loaded, Spread
from rankwise.measure.cells import Cells
from rankwise.measure.samples import Campaign
from rankwise.measure.workloads import LOADED
from rankwise.models import hockney, piecewise
from rankwise.models.curve import curve_of
from rankwise.models.measured import Way
from rankwise.statistics import Array, interval_95

_ALONE = re.compile(r"bandwidth-|alltoall-")
_LIMITS = ("send_returns_up_to_bytes", "head_to_head_up_to_bytes")
ONE_TO_ALL = "one-to-all"
_NORMAL_PER_MAD = 1.4826  # the standard deviation of normal noise whose median absolute deviation is 1


def curve_alone(way: Way, statistic: str) -> Curve:
    """Make the curve of one way of sending by itself."""
    models = {model.name: model for model in (hockney.fit(way), piecewise.fit(way))}
    return curve_of(way, models, piecewise.NAME, statistic)


def variants_of(ways: Mapping[str, Way], statistic: str) -> dict[str, Curve]:
    """Return curves of streams, collectives and one-to-all; all as the time of one message (or collective)."""
    return {
        name: curve_alone(way, statistic) for name, way in ways.items() if _ALONE.match(name) or name == ONE_TO_ALL
    }


def parameters_of(ways: Mapping[str, Way], campaign: Campaign, link: str) -> dict[str, Parameter]:
    """Return what is measured directly: LogGP's parts of a small message, overlap, protocol limits."""
    found: dict[str, Parameter] = {}
    if {"send", "send-overhead", "receive-overhead"} <= ways.keys():
        send, receive, whole = (_first_row(ways[name]) for name in ("send-overhead", "receive-overhead", "send"))
        found["send_overhead_s"], found["receive_overhead_s"] = _parameter(*send), _parameter(*receive)
        found["latency_s"] = _parameter(whole[0] - send[0] - receive[0], whole[1] - send[1] - receive[1])
    if "gap" in ways:
        found["gap_s"] = _parameter(*_first_row(ways["gap"]))
    if {"send", "exchange"} <= ways.keys() and (common := set(ways["send"].sizes.tolist()) & set(ways["exchange"].sizes.tolist())):
        found["overlap"] = _overlap(ways["send"], ways["exchange"], max(common))
    for name in _LIMITS:
        sizes = sorted(int(record[name]) for record in campaign.limits if record["class"] == link)
        if sizes:
            found[name] = Parameter(float(sizes[len(sizes) // 2]), (float(sizes[0]), float(sizes[-1])))
    return found


def spread_of(cells: Cells) -> Spread | None:
    """Return how much plain sends differ between launches and within them; None where there are none."""
    between, within = [], []
    for launches in cells.get("send", {}).values():
        medians = np.array([np.median(launch) for launch in launches])
        if medians.size > 1:
            between.append(float(medians.std(ddof=1) / medians.mean()))
        deviations = [np.median(np.abs(launch - median)) / median for launch, median in zip(launches, medians, strict=True)]
        within.append(float(_NORMAL_PER_MAD * np.mean(deviations)))
    if not within:
        return None
    return Spread(float(np.median(between)) if between else None, float(np.median(within)))


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
        beta_ratio_ci=_ratio(
            curve.beta_s_per_byte, curve.beta_ci_s_per_byte, free.beta_s_per_byte, free.beta_ci_s_per_byte
        ),
    )


Row = tuple[float, Array]  # a value and its bootstrap replicates


def _parameter(value: float, replicates: Array) -> Parameter:
    return Parameter(float(value), interval_95(replicates) if replicates.size else None)


def _first_row(way: Way) -> Row:
    return float(way.times_s[0]), way.replicates_s[0]


def _overlap(send: Way, exchange: Way, size: float) -> Parameter:
    """Return how far both directions overlap at a size, the largest common one: 1 fully, 0 one after the other."""
    one, both = int(np.flatnonzero(send.sizes == size)[0]), int(np.flatnonzero(exchange.sizes == size)[0])
    return _parameter(
        2 - float(exchange.times_s[both] / send.times_s[one]), 2 - exchange.replicates_s[both] / send.replicates_s[one]
    )


def _ratio(a: float, a_ci: Interval | None, b: float, b_ci: Interval | None) -> Interval | None:
    """Return the 95 % interval of a / b from those of two independent positive figures, errors being relative ones."""
    if a_ci is None or b_ci is None or min(a, b, a_ci[0], b_ci[0]) <= 0:
        return None
    low = np.hypot(np.log(a / a_ci[0]), np.log(b_ci[1] / b))
    high = np.hypot(np.log(a_ci[1] / a), np.log(b / b_ci[0]))
    return float(a / b * np.exp(-low)), float(a / b * np.exp(high))
