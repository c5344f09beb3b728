"""Engines side by side: prediction and measurement of the same cases, their differences, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from rankwise.engines.exchange import Row, case_keys


@dataclass(frozen=True)
class Comparison:
    """One case, predicted and measured.

    ``profile_pingpong_s`` is what the profile says of the ping-pong that was run beside the exchange (None: unknown).
    """

    predicted: Row
    measured: Row
    profile_pingpong_s: float | None

    @property
    def error(self) -> float:
        """Predicted / measured - 1."""
        return self.predicted.time_s / self.measured.time_s - 1.0

    @property
    def drift(self) -> float | None:
        """How much longer a ping-pong takes now than when the profile was measured: now / then."""
        if self.profile_pingpong_s is None or self.measured.pingpong_time_s is None:
            return None
        return self.measured.pingpong_time_s / self.profile_pingpong_s

    @property
    def error_at_present_speed(self) -> float | None:
        """The error that is left when the prediction is scaled by the drift: the model's own share."""
        return None if self.drift is None else self.predicted.time_s * self.drift / self.measured.time_s - 1.0

    @property
    def inside_interval(self) -> bool:
        """Whether the measured median lies in the predicted interval."""
        return self.predicted.time_lo_s <= self.measured.time_s <= self.predicted.time_hi_s

    def to_dict(self) -> dict[str, Any]:
        return {
            **case_keys(self.measured.case),
            "predicted_by": self.predicted.engine,
            "measured_by": self.measured.engine,
            "predicted_time_s": self.predicted.time_s,
            "predicted_time_lo_s": self.predicted.time_lo_s,
            "predicted_time_hi_s": self.predicted.time_hi_s,
            "measured_time_s": self.measured.time_s,
            "measured_time_lo_s": self.measured.time_lo_s,
            "measured_time_hi_s": self.measured.time_hi_s,
            "error": self.error,
            "drift": self.drift,
            "error_at_present_speed": self.error_at_present_speed,
            "inside_interval": self.inside_interval,
            "messages_per_rank": self.measured.messages_per_rank,
            "bytes_per_rank": self.measured.bytes_per_rank,
            "verified": self.measured.verified,
            "repetitions": self.measured.repetitions,
            "oversubscribed": self.measured.oversubscribed,
            "notes": [*self.predicted.notes, *self.measured.notes],
        }


@dataclass(frozen=True)
class Validation:
    """All comparisons of one session, against one profile."""

    profile: str
    comparisons: Sequence[Comparison]

    def summary(self) -> dict[str, float | None]:
        """Return the mean absolute error, the mean error, and the share of measurements inside the interval.

        ``mape_at_present_speed`` and ``drift`` (median) are None where no ping-pong could be run beside the exchange.
        """
        errors = [comparison.error for comparison in self.comparisons]
        drifts = [c.drift for c in self.comparisons if c.drift is not None]
        present = [e for c in self.comparisons if (e := c.error_at_present_speed) is not None]
        return {
            "mape": fmean(map(abs, errors)),
            "bias": fmean(errors),
            "share_inside": fmean(comparison.inside_interval for comparison in self.comparisons),
            "mape_at_present_speed": fmean(map(abs, present)) if present else None,
            "drift": median(drifts) if drifts else None,
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "profile": self.profile,
            "rows": [comparison.to_dict() for comparison in self.comparisons],
            "summary": self.summary(),
        }
