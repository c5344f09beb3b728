"""One session of the history: its launches, their figures, and what identifies the machine it is compared with.

Figures are named after their link class: ``same-socket.latency_s`` (a plain send of 0 B), ``same-socket.exchange_s`` (both
directions at once, 8 KiB), ``same-socket.s_per_byte`` (a plain send of 1 MiB, by its size).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np

from rankwise.measure.witness import POOR
from rankwise.records import finite

SCHEMA = 1
Verdict = Literal["same", "slower", "unclear", "unusable"]
VERDICTS: tuple[Verdict, ...] = ("same", "slower", "unclear", "unusable")

LEAST_LAUNCHES = 10  # undisturbed ones, in a session that is judged
_QUARTILE = 0.25
# In a key, what may change while the machine stays the same; and what makes sessions those of one machine, whatever its MPI.
CHANGING = ("kernel_release", "microcode", "governors")
_MACHINE = ("hostname", "cpu_model", "binding", "statistic")
OF_LAUNCHES = "lower quartile of launches"
OF_PROFILE = "profile"


@dataclass(frozen=True)
class Launch:
    """One start of the ranks, ``t`` seconds after the session's: the median of each figure, and what else went on."""

    t: float
    figures: Mapping[str, float]
    foreign_cpus: float
    steal_share: float
    switches_per_s: float

    @property
    def poor(self) -> bool:
        """Whether the machine was so disturbed that the figures say nothing of it."""
        return any(getattr(self, witness) >= limit for witness, limit in POOR.items())

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Launch:
        return Launch(
            finite(record["t"], "t"),
            {str(name): _positive(value, str(name)) for name, value in record["figures"].items()},
            *(finite(record[name], name) for name in ("foreign_cpus", "steal_share", "switches_per_s")),
        )


@dataclass(frozen=True)
class Session:
    """A session: when it began, of what machine it is (``key``), its launches, and the value of each figure (a logarithm).

    ``over`` names the figures that were beyond what is usual, confirmed or not. One made of a profile has no launches.
    ``accepted`` is not part of its line: it was slower, and when that was accepted as the usual (empty: it was not).
    """

    at: str
    key: Mapping[str, Any]
    span_s: float
    launches: tuple[Launch, ...]
    value: Mapping[str, float]
    digest: str
    verdict: Verdict = "unclear"
    over: tuple[str, ...] = ()
    poor: bool = False  # one made of a profile that is
    accepted: str = field(default="", compare=False)

    @staticmethod
    def of(at: str, key: Mapping[str, Any], launches: Sequence[Launch], digest: str) -> Session:
        """Make a session of its launches, not yet judged."""
        span_s = max((launch.t for launch in launches), default=0.0)
        return Session(at, dict(key), span_s, tuple(launches), value_of(launches), digest)

    @property
    def identity(self) -> tuple[tuple[str, str], ...]:
        """What two sessions share that may be compared."""
        return (
            *((name, str(value)) for name, value in sorted(self.key.items()) if name not in CHANGING),
            ("digest", self.digest),
        )

    @property
    def machine(self) -> tuple[str, ...]:
        """What sessions of one machine share, whatever MPI and kernels it had."""
        return tuple(str(self.key.get(name)) for name in _MACHINE)

    @property
    def began(self) -> datetime:
        return datetime.fromisoformat(self.at)

    @property
    def disturbed(self) -> str:
        """Say why the figures cannot be used; empty where they can."""
        if not self.launches:
            return "the profile's figures are poor" if self.poor else ""
        good = sum(not launch.poor for launch in self.launches)
        if 2 * good < len(self.launches):
            return f"{len(self.launches) - good} of {len(self.launches)} launches were disturbed ({_most(self.launches)})"
        if good < LEAST_LAUNCHES:
            return f"only {good} launches were undisturbed, {LEAST_LAUNCHES} are needed: give it more --launches"
        return "" if self.value else "it has no figure"

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "at": self.at,
            "key": dict(self.key),
            "span_s": self.span_s,
            "launches": [asdict(launch) for launch in self.launches],
            "value": dict(self.value),
            "verdict": self.verdict,
            "over": list(self.over),
            "digest": self.digest,
            **({"poor": True} if self.poor else {}),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Session:
        """Read a session back. Raises KeyError, ValueError, TypeError or AttributeError where it is none."""
        if record["verdict"] not in VERDICTS:
            raise ValueError(f"verdict '{record['verdict']}' is not one of {', '.join(VERDICTS)}")
        session = Session(
            at=str(record["at"]),
            key=dict(record["key"]),
            span_s=finite(record["span_s"], "span_s"),
            launches=tuple(Launch.from_dict(launch) for launch in record["launches"]),
            value={str(name): finite(value, str(name)) for name, value in record["value"].items()},
            digest=str(record["digest"]),
            verdict=record["verdict"],
            over=tuple(str(name) for name in record.get("over", ())),
            poor=bool(record.get("poor", False)),
        )
        if session.began.tzinfo is None:
            raise ValueError(f"at '{session.at}' names no time zone")
        return session

    def judged(self, verdict: Verdict, over: Sequence[str]) -> Session:
        return replace(self, verdict=verdict, over=tuple(over))


def value_of(launches: Sequence[Launch]) -> dict[str, float]:
    """Return the lower quartile over the undisturbed launches (over all, where most are not) of each figure's logarithm.

    The quartile survives bursts that hit less than three quarters of the launches. A figure that less than half of them came
    to is left out.
    """
    good = [launch for launch in launches if not launch.poor]
    counted = good if len(good) >= LEAST_LAUNCHES else launches
    names = dict.fromkeys(name for launch in counted for name in launch.figures)
    logs = {name: [math.log(launch.figures[name]) for launch in counted if name in launch.figures] for name in names}
    return {name: float(np.quantile(of, _QUARTILE)) for name, of in logs.items() if 2 * len(of) >= len(counted)}


def _most(launches: Sequence[Launch]) -> str:
    """Name what disturbed most launches."""
    words = {
        "foreign_cpus": "other programs kept {:.1f} processors busy",
        "steal_share": "the hypervisor took {:.0%} of the processors' time",
        "switches_per_s": "each rank lost its processor {:.0f} times a second",
    }
    hit = {name: [value for launch in launches if (value := getattr(launch, name)) >= limit] for name, limit in POOR.items()}
    name = max(hit, key=lambda name: len(hit[name]))
    return words[name].format(float(np.median(hit[name])))


def _positive(value: Any, what: str) -> float:
    number = finite(value, what)
    if number <= 0:
        raise ValueError(f"{what} {number:g} is not above 0")
    return number
