"""The max-rate model (Gropp, Olson, Samfass 2016): a limit that messages share, and what a busy network adds.

    one message      T(m) = alpha + m / R
    synchronous      alpha + h + m / R
    n at once        alpha_n + n m / min(R_N, n R), times a contention factor from a size on

R is the rate of one message, R_N the injection limit that all messages share which a node handles at once. Two at once are
seen where both directions are busy (``exchange``, and each further pair of a burst), so it is there that R_N and the
factor show. The paper has one alpha. Here what is at once has its own, alpha_n: a rank that exchanges tests for its messages
and notices them sooner than one that waits in a receive.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.link import LinkModel, Parameter, Segment
from rankwise.models.fit import fit_line_in_logs
from rankwise.models.measured import Measured, of_all_ways, scale, squared_error, steps, with_intervals

NAME = "max-rate"
_AT_ONCE = ("exchange", "exchange-gap")
_LEAST_ROWS = 3  # on either side of the size from which on the network is busy


@dataclass(frozen=True)
class _Estimate:
    alpha_s: float
    beta: float  # 1 / R
    handshake_s: float
    shared_alpha_s: float  # of two messages at once
    shared_beta: float  # 2 / min(R_N, 2 R)
    factor: float
    factor_from: float | None

    def time_s(self, name: str, sizes: Floats) -> Floats:
        if name not in _AT_ONCE:
            return np.asarray(self.alpha_s + self.handshake_s * (name == "ssend") + self.beta * sizes)
        busy = sizes >= (np.inf if self.factor_from is None else self.factor_from)
        return np.asarray((self.shared_alpha_s + self.shared_beta * sizes) * np.where(busy, self.factor, 1.0))

    def segments(self, name: str) -> tuple[Segment, ...]:
        if name not in _AT_ONCE:
            return steps((0, self.alpha_s + self.handshake_s * (name == "ssend"), self.beta))
        lines = [(0.0, self.shared_alpha_s, self.shared_beta)]
        if self.factor_from is not None:
            lines.append((self.factor_from, self.factor * self.shared_alpha_s, self.factor * self.shared_beta))
        return steps(*lines)

    def parameters(self, measured: Measured) -> dict[str, float]:
        found = {"alpha_s": self.alpha_s, "beta_s_per_byte": self.beta, "alpha_at_once_s": self.shared_alpha_s}
        if self.shared_beta > 0:
            found["injection_bytes_per_s"] = 2 / self.shared_beta
        if "ssend" in measured:
            found["handshake_s"] = self.handshake_s
        if self.factor_from is not None:
            found |= {"contention_factor": self.factor, "contention_from_bytes": self.factor_from}
        return found


def fit(measured: Measured, injection: Parameter | None = None) -> dict[str, LinkModel]:
    """Fit all ways of sending together. Raises ValueError when two messages at once were not measured.

    ``injection`` is R_N where streams of a growing number of ranks have shown it: two messages in opposite directions, from
    which it is taken otherwise, need not reach the limit of one direction.
    """
    if "exchange" not in measured:
        raise ValueError("max-rate needs messages that share a node's limit: exchange not measured")
    from_bytes = _busy_from(measured)
    estimate = _estimate(measured, from_bytes)
    parameters = with_intervals(measured, lambda ways: _estimate(ways, from_bytes).parameters(measured))
    if from_bytes is not None:
        parameters["contention_from_bytes"] = Parameter(from_bytes)  # one of the measured sizes
    if injection is not None:
        parameters["injection_bytes_per_s"] = injection
    found = f"contention from {from_bytes:.0f} B" if from_bytes is not None else "no contention"
    method = f"least squares of all modes together, {found}"
    return of_all_ways(NAME, measured, parameters, method, estimate.segments, estimate.time_s)


def _at_once(measured: Measured) -> tuple[Floats, Floats]:
    ways = [measured[name] for name in _AT_ONCE if name in measured]
    return np.concatenate([way.sizes for way in ways]), np.concatenate([way.times_s for way in ways])


def _busy_from(measured: Measured) -> float | None:
    """Return the size from which on a factor pays for its two parameters, by the Bayesian information criterion."""
    sizes, times_s = _at_once(measured)
    noise = max(way.noise for way in measured.values())
    distinct = np.unique(sizes)

    def criterion(from_bytes: float | None) -> float:
        estimate = _estimate(measured, from_bytes)
        error = squared_error(estimate.time_s("exchange", sizes), times_s)
        parameters = 2 if from_bytes is None else 4
        return float(sizes.size * np.log(error / sizes.size + noise**2) + parameters * np.log(sizes.size))

    candidates: list[float | None] = [None, *distinct[_LEAST_ROWS : 1 - _LEAST_ROWS].tolist()]
    return min(candidates, key=criterion)


def _estimate(measured: Measured, from_bytes: float | None) -> _Estimate:
    send, ssend = measured["send"], measured.get("ssend")
    alpha, beta = fit_line_in_logs(send.sizes, send.times_s)
    handshake = 0.0 if ssend is None else scale(
        np.ones_like(ssend.sizes), ssend.times_s - alpha - beta * ssend.sizes, ssend.times_s
    )  # fmt: skip
    sizes, times_s = _at_once(measured)
    quiet = sizes < (np.inf if from_bytes is None else from_bytes)
    shared_alpha, shared = fit_line_in_logs(sizes[quiet], times_s[quiet])
    if shared < beta:  # Bytes of two messages at once are never faster than those of one alone.
        shared = beta
        shared_alpha = scale(np.ones(quiet.sum()), times_s[quiet] - beta * sizes[quiet], times_s[quiet])
    alone = shared_alpha + shared * sizes[~quiet]
    factor = max(1.0, scale(alone, times_s[~quiet], times_s[~quiet])) if from_bytes is not None else 1.0
    return _Estimate(alpha, beta, handshake, shared_alpha, shared, factor, from_bytes)


def with_contention(model: LinkModel, factor: float, from_bytes: int) -> LinkModel:
    """Return a model whose messages of at least ``from_bytes`` take ``factor`` times as long: the network is busy.

    A ping-pong alone on the network cannot show this; the factor comes from messages sent by all ranks at once.
    """
    segments: list[Segment] = []
    for segment in model.segments:
        if segment.to_bytes is not None and segment.to_bytes <= from_bytes:
            segments.append(segment)
            continue
        if segment.from_bytes < from_bytes:
            segments.append(dataclasses.replace(segment, to_bytes=from_bytes))
        start, beta = max(segment.from_bytes, from_bytes), segment.beta_s_per_byte
        segments.append(Segment(start, segment.to_bytes, factor * segment.alpha_s, factor * beta))
    return LinkModel(
        "max-rate", tuple(segments), f"{model.method}; times {factor:.3f} from {from_bytes} B on", model.relative_error
    )
