"""Histories of a machine whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rankwise.health.record import Launch, Session

KEY = {"hostname": "node01", "mpi": "MPICH 5", "binding": "same-socket 0,1", "statistic": "lower quartile of launches"}
FIGURES = ("same-socket.latency_s", "same-socket.exchange_s", "same-socket.s_per_byte")
START = datetime(2026, 1, 1, tzinfo=UTC)


def session(hour: float, value: Mapping[str, float] | float = 0.0, key: Mapping[str, Any] = KEY, **more: Any) -> Session:
    """A session without launches, its figures' logarithms given (all alike: one number); as usual unless told otherwise."""
    logs = dict.fromkeys(FIGURES, value) if isinstance(value, int | float) else dict(value)
    return Session((START + timedelta(hours=hour)).isoformat(), key, 0.0, (), logs, "d1", **{"verdict": "same", **more})


def slower(hour: float, factor: float = 1.3, verdict: str = "slower") -> Session:
    return session(hour, math.log(factor), verdict=verdict, over=FIGURES)


def launches(times_s: Sequence[float], foreign_cpus: float = 0.0) -> list[Launch]:
    return [Launch(90.0 * i, dict.fromkeys(FIGURES, time_s), foreign_cpus, 0.0, 0.0) for i, time_s in enumerate(times_s)]
