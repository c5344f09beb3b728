"""Engines side by side: prediction and measurement of the same cases, their differences, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.engines.exchange import Row, case_keys


@dataclass(frozen=True)
class Comparison:
    """One case, predicted and measured. ``error`` is predicted / measured - 1."""

    predicted: Row
    measured: Row

    @property
    def error(self) -> float:
        return self.predicted.time_s / self.measured.time_s - 1.0

    @property
    def inside_interval(self) -> bool:
        """Whether the measured median lies in the predicted interval."""
        return self.predicted.time_lo_s <= self.measured.time_s <= self.predicted.time_hi_s

    def to_dict(self) -> dict[str, Any]:
        return {
            **case_keys(self.measured.case),
            "predicted_time_s": self.predicted.time_s,
            "predicted_time_lo_s": self.predicted.time_lo_s,
            "predicted_time_hi_s": self.predicted.time_hi_s,
            "measured_time_s": self.measured.time_s,
            "measured_time_lo_s": self.measured.time_lo_s,
            "measured_time_hi_s": self.measured.time_hi_s,
            "error": self.error,
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

    def summary(self) -> dict[str, float]:
        """Return the mean absolute error, the mean error, and the share of measurements inside the interval."""
        errors = [comparison.error for comparison in self.comparisons]
        n = max(1, len(errors))
        return {
            "mape": sum(map(abs, errors)) / n,
            "bias": sum(errors) / n,
            "share_inside": sum(comparison.inside_interval for comparison in self.comparisons) / n,
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "profile": self.profile,
            "rows": [comparison.to_dict() for comparison in self.comparisons],
            "summary": self.summary(),
        }
