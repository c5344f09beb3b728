"""LogGP (Alexandrov et al. 1995): latency, a processor's overhead, gaps, and how far both directions overlap.

    one message        T(m) = 2o + l + G m, and from the rendezvous threshold on 2o + l + h + G' m
    synchronous        2o + l + h + G' m (h: handshake; G' = G where no threshold was found)
    both directions    E(m) = T(m) - s + max(o, (1 - w) G m)
    each further pair  g(m) = max(g, (2 - w) G m)

w is the overlap: 1 where a direction costs nothing next to the other, 0 where bytes go one direction after the other,
less where they hinder each other. o is seen where a rank receives while its own message flies, g in bursts. s is not in
the paper: what a rank that waits in a receive takes longer to notice its message than one that tests for it, as exchanges
do. It hides o, so that one of both is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.link import LinkModel, Parameter, Segment
from rankwise.models.fit import find_lines, fit_line_in_logs
from rankwise.models.measured import Measured, Way, of_all_ways, scale, squared_error, steps, with_intervals

NAME = "loggp"
NEEDS = ("exchange", "exchange-gap")


@dataclass(frozen=True)
class _Structure:
    """What a refit keeps: the threshold, from which rows on bytes decide in
    both directions and in bursts, whether s is seen."""

    threshold: float | None
    exchange_row: int
    gap_row: int
    stalls: bool


@dataclass(frozen=True)
class _Estimate:
    alpha_s: float  # 2o + l
    beta: float
    handshake_s: float
    late_beta: float
    overhead_s: float
    stall_s: float
    gap_s: float
    blocking: float  # 1 - overlap

    def send(self, sizes: Floats, threshold: float | None) -> Floats:
        late = sizes >= (np.inf if threshold is None else threshold)
        return np.where(late, self.ssend(sizes), self.alpha_s + self.beta * sizes)

    def ssend(self, sizes: Floats) -> Floats:
        return np.asarray(self.alpha_s + self.handshake_s + self.late_beta * sizes)

    def bytes_s(self, sizes: Floats, threshold: float | None) -> Floats:
        late = sizes >= (np.inf if threshold is None else threshold)
        return np.where(late, self.late_beta, self.beta) * sizes


def fit(measured: Measured) -> dict[str, LinkModel]:
    """Fit all ways of sending together. Raises ValueError when a way that is needed was not measured."""
    missing = [name for name in NEEDS if name not in measured or measured[name].sizes.size < 2]
    if missing:
        raise ValueError(f"loggp needs both directions at once and bursts: {' and '.join(missing)} not measured")
    structure = _structure(measured)
    estimate = _estimate(measured, structure)
    parameters = with_intervals(measured, lambda ways: _parameters(_estimate(ways, structure), structure, measured))
    if structure.threshold is not None:
        parameters["rendezvous_from_bytes"] = Parameter(structure.threshold)  # one of the measured sizes
    threshold = f"threshold {structure.threshold:.0f} B" if structure.threshold is not None else "no threshold"
    method = f"least squares of all modes together, {threshold}"
    return of_all_ways(
        NAME, measured, parameters, method, lambda name: _segments(estimate, structure, name),
        lambda name, sizes: _times(estimate, structure, name, sizes),
    )  # fmt: skip


def _structure(measured: Measured) -> _Structure:
    send = measured["send"]
    lines = find_lines(send.sizes, send.times_s, send.noise, most=2)
    threshold = float(send.sizes[lines[1].first]) if len(lines) == 2 else None
    # From which row on do bytes decide? Every row is tried.
    base = _lines(measured, threshold)
    exchange, gap = measured["exchange"], measured["exchange-gap"]
    rows = range(1, exchange.sizes.size)
    exchange_row = min(rows, key=lambda row: _exchange_error(base, threshold, exchange, row))
    both = _both(base, threshold, exchange, exchange_row)
    blocking = both.blocking
    flat = min(range(1, gap.sizes.size), key=lambda row: _gap_error(base, threshold, blocking, gap, row))
    # The bursts' constant is the same from any of the rows before bytes decide: where they do, the formula itself says.
    gap_s = scale(np.ones(flat), gap.times_s[:flat], gap.times_s[:flat])
    decided = (1 + blocking) * base.bytes_s(gap.sizes, threshold) > gap_s
    gap_row = int(np.argmax(decided)) if decided.any() else gap.sizes.size
    return _Structure(threshold, exchange_row, max(1, gap_row), both.stall_s > 0)


def _lines(measured: Measured, threshold: float | None) -> _Estimate:
    """Estimate what single messages tell."""
    send, ssend = measured["send"], measured.get("ssend")
    early = send.sizes < (np.inf if threshold is None else threshold)
    alpha, beta = fit_line_in_logs(send.sizes[early], send.times_s[early])
    if threshold is None:
        handshake = 0.0 if ssend is None else scale(
            np.ones_like(ssend.sizes), ssend.times_s - alpha - beta * ssend.sizes, ssend.times_s
        )  # fmt: skip
        return _Estimate(alpha, beta, handshake, beta, 0.0, 0.0, 0.0, 0.0)
    sizes, times_s = send.sizes[~early], send.times_s[~early]
    if ssend is not None:
        sizes, times_s = np.concatenate([sizes, ssend.sizes]), np.concatenate([times_s, ssend.times_s])
    late_alpha, late_beta = fit_line_in_logs(sizes, times_s)
    return _Estimate(alpha, beta, late_alpha - alpha, late_beta, 0.0, 0.0, 0.0, 0.0)


class _Both(NamedTuple):
    """What both directions at once tell."""

    overhead_s: float
    stall_s: float
    blocking: float


def _both(base: _Estimate, threshold: float | None, way: Way, row: int) -> _Both:
    """Return what both directions tell when bytes decide from a row on."""
    left_s = way.times_s - base.send(way.sizes, threshold)
    overhead, stall = (scale(np.ones(row), sign * left_s[:row], way.times_s[:row]) for sign in (1, -1))
    stall = min(stall, base.alpha_s)
    blocking = scale(base.bytes_s(way.sizes, threshold)[row:], (left_s + stall)[row:], way.times_s[row:])
    return _Both(min(overhead, base.alpha_s / 2), stall, blocking)


def _exchange_error(base: _Estimate, threshold: float | None, way: Way, row: int) -> float:
    both = _both(base, threshold, way, row)
    more_s = np.maximum(both.overhead_s, both.blocking * base.bytes_s(way.sizes, threshold))
    return squared_error(base.send(way.sizes, threshold) - both.stall_s + more_s, way.times_s)


def _gap_error(base: _Estimate, threshold: float | None, blocking: float, way: Way, row: int) -> float:
    gap = scale(np.ones(row), way.times_s[:row], way.times_s[:row])
    return squared_error(np.maximum(gap, (1 + blocking) * base.bytes_s(way.sizes, threshold)), way.times_s)


def _estimate(measured: Measured, structure: _Structure) -> _Estimate:
    base = _lines(measured, structure.threshold)
    exchange, gap = measured["exchange"], measured["exchange-gap"]
    overhead, stall, _ = _both(base, structure.threshold, exchange, structure.exchange_row)
    gap_s = scale(np.ones(structure.gap_row), *(gap.times_s[: structure.gap_row],) * 2)
    # Both the exchange and the bursts of large messages show how far directions block each other.
    large, burst = slice(structure.exchange_row, None), slice(structure.gap_row, None)
    exchange_bytes_s = base.bytes_s(exchange.sizes, structure.threshold)
    gap_bytes_s = base.bytes_s(gap.sizes, structure.threshold)
    blocking = scale(
        np.concatenate([exchange_bytes_s[large], gap_bytes_s[burst]]),
        np.concatenate(
            [
                (exchange.times_s - base.send(exchange.sizes, structure.threshold) + stall)[large],
                (gap.times_s - gap_bytes_s)[burst],
            ]
        ),
        np.concatenate([exchange.times_s[large], gap.times_s[burst]]),
    )
    return _Estimate(base.alpha_s, base.beta, base.handshake_s, base.late_beta, overhead, stall, gap_s, blocking)


def _parameters(estimate: _Estimate, structure: _Structure, measured: Measured) -> dict[str, float]:
    parameters = {
        "latency_s": estimate.alpha_s - 2 * estimate.overhead_s,
        "overhead_s": estimate.overhead_s,
        "gap_s": estimate.gap_s,
        "gap_s_per_byte": estimate.beta,
        "overlap": 1 - estimate.blocking,
    }
    if structure.stalls:
        parameters["stall_s"] = estimate.stall_s
    if structure.threshold is not None or "ssend" in measured:
        parameters["handshake_s"] = estimate.handshake_s
    if structure.threshold is not None:
        parameters["rendezvous_from_bytes"] = structure.threshold
        parameters["rendezvous_gap_s_per_byte"] = estimate.late_beta
    return parameters


def _times(estimate: _Estimate, structure: _Structure, name: str, sizes: Floats) -> Floats:
    if name == "ssend":
        return estimate.ssend(sizes)
    send, bytes_s = estimate.send(sizes, structure.threshold), estimate.bytes_s(sizes, structure.threshold)
    if name == "send":
        return send
    if name == "exchange":
        return np.asarray(send - estimate.stall_s + np.maximum(estimate.overhead_s, estimate.blocking * bytes_s))
    return np.maximum(estimate.gap_s, (1 + estimate.blocking) * bytes_s)


def _segments(estimate: _Estimate, structure: _Structure, name: str) -> tuple[Segment, ...]:
    late_alpha = estimate.alpha_s + estimate.handshake_s
    if name == "ssend":
        return steps((0, late_alpha, estimate.late_beta))
    sides = [(0.0, structure.threshold or np.inf, estimate.alpha_s, estimate.beta)]
    if structure.threshold is not None:
        sides.append((structure.threshold, np.inf, late_alpha, estimate.late_beta))
    lines: list[tuple[float, float, float]] = []
    for start, end, alpha, beta in sides:
        if name == "send":
            lines.append((start, alpha, beta))
            continue
        if name == "exchange":
            alpha -= estimate.stall_s
            flat, slope, alpha_then, beta_flat = estimate.overhead_s, estimate.blocking * beta, alpha, beta
            beta_then = beta + slope
        else:
            flat, slope, alpha_then, beta_flat, alpha = estimate.gap_s, (1 + estimate.blocking) * beta, 0.0, 0.0, 0.0
            beta_then = slope
        turn = float(np.ceil(flat / slope)) if slope > 0 else np.inf
        if turn > start:
            lines.append((start, alpha + flat, beta_flat))
        if turn < end:
            lines.append((max(start, turn), alpha_then, beta_then))
    return steps(*lines)
