"""Engines side by side: prediction and measurement of the same cases, their differences, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import expm1, log1p
from statistics import fmean, median
from typing import Any

from rankwise.json_record import Record
from rankwise.machine.trust import Trust
from rankwise.workloads.base import Case, Row
from rankwise.workloads.exchange import ExchangeCase

# A part below this share of the whole is not judged by its relative error: it is next to nothing on both sides.
_LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Paired:
    """The model's own error of one case: ingredients and exchange were timed by turns in the same launches.

    ``group``: the algorithm and way of sending. ``error``: predicted from the launch's ingredients / measured - 1, the median
    over launches (None: no launch was whole). ``floor``: what odd rounds differ from even ones, the mean over launches.
    ``half_width``: of the interval in which 95 % of rows should lie, in logs, from the errors of the other groups (None: too
    few). ``unclear``: too few launches were quiet.
    """

    group: str
    error: float | None
    floor: float | None
    half_width: float | None
    unclear: bool

    @property
    def verdict(self) -> str:
        """``holds``, ``wrong`` (more than twice the floor) or ``unclear``."""
        if self.unclear or self.error is None or self.floor is None:
            return "unclear"
        return "wrong" if abs(self.error) > 2 * self.floor else "holds"

    @property
    def inside(self) -> bool | None:
        """Whether the measurement lies in the interval around the prediction."""
        if self.error is None or self.half_width is None:
            return None
        return abs(log1p(self.error)) <= self.half_width

    def to_dict(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "error": self.error,
            "floor": self.floor,
            "half_width": None if self.half_width is None else expm1(self.half_width),
            "inside_interval": self.inside,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class PairedSession:
    """The launches of a paired validation: how many counted, how many were left out as too noisy or cut off, their mean floor,
    and how many times what the profile says its own ping-pongs took meanwhile (``drift``, the median; None: it has none of
    these sizes). ``fresh``: how many times a warm ping-pong of the same launch the same message takes in an exchange's step."""

    launches: int
    left_out: int
    floor: float | None
    drift: float | None
    fresh: float | None
    unclear: bool

    def summary(self, rows: Sequence[Paired]) -> dict[str, Any]:
        """Return the mean absolute errors: of all, and of each group; rows that are wrong; what the intervals hold."""
        groups: dict[str, list[Paired]] = {}
        for row in rows:
            groups.setdefault(row.group, []).append(row)
        inside = [row.inside for row in rows if row.inside is not None]
        widths = [row.half_width for row in rows if row.half_width is not None]
        return {
            "launches": self.launches,
            "left_out": self.left_out,
            "unclear": self.unclear,
            "error": _mean_size(row.error for row in rows),
            "floor": self.floor,
            "drift": self.drift,
            "fresh": self.fresh,
            "wrong": sum(row.verdict == "wrong" for row in rows),
            "share_inside": fmean(inside) if inside else None,
            "half_width": expm1(median(widths)) if widths else None,
            "groups": [
                {
                    "group": name,
                    "rows": len(of_group),
                    "error": _mean_size(row.error for row in of_group),
                    "floor": _mean_size(row.floor for row in of_group),
                    "wrong": sum(row.verdict == "wrong" for row in of_group),
                }
                for name, of_group in groups.items()
            ],
        }


@dataclass(frozen=True)
class Comparison:
    """One case, predicted and measured.

    ``drift``: a ping-pong beside the exchange took so many times what the profile says (None: unknown); ``again``: a second
    run of the same case (None: there was none).
    """

    predicted: Row
    measured: Row
    drift: float | None
    again: Row | None = None
    paired: Paired | None = None

    @property
    def case(self) -> Case:
        return self.measured.case

    @property
    def exchange(self) -> ExchangeCase:
        """The case of an exchange."""
        assert isinstance(self.case, ExchangeCase)
        return self.case

    @property
    def notes(self) -> list[str]:
        return [*self.predicted.notes, *self.measured.notes]

    @property
    def error(self) -> float:
        """Predicted / measured - 1."""
        return self.predicted.time_s / self.measured.time_s - 1.0

    @property
    def error_of_second_run(self) -> float | None:
        """Second run / first - 1: what is noise, for nothing was predicted."""
        return None if self.again is None else self.again.time_s / self.measured.time_s - 1.0

    @property
    def error_at_present_speed(self) -> float | None:
        """The error that is left when the prediction is scaled by the drift: the model's own share."""
        return None if self.drift is None else self.predicted.time_s * self.drift / self.measured.time_s - 1.0

    @property
    def inside_interval(self) -> bool:
        """Whether the measured median lies in the predicted interval; not where there is none."""
        ends = self.predicted.interval_s
        return ends is not None and ends[0] <= self.measured.time_s <= ends[1]

    def phase_errors(self) -> dict[str, float | None]:
        """Return the error of each part; None where the part is less than 2 % of the whole."""
        least_s = _LEAST_SHARE * self.measured.time_s
        return {
            phase: None if measured.time_s < least_s else self.predicted.parts[phase].time_s / measured.time_s - 1.0
            for phase, measured in self.measured.parts.items()
        }

    def to_dict(self) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        if self.measured.parts:
            whole = {
                "predicted": self.predicted.to_dict(),
                "measured": self.measured.to_dict(),
                "phase_errors": self.phase_errors(),
            }
        return {
            **self.case.keys(),
            "predicted_by": self.predicted.engine,
            "measured_by": self.measured.engine,
            "predicted_time_s": self.predicted.time_s,
            "predicted_time_lo_s": self.predicted.time_lo_s,
            "predicted_time_hi_s": self.predicted.time_hi_s,
            "measured_time_s": self.measured.time_s,
            "measured_time_lo_s": self.measured.time_lo_s,
            "measured_time_hi_s": self.measured.time_hi_s,
            "measured_again_time_s": None if self.again is None else self.again.time_s,
            "error": self.error,
            "error_of_second_run": self.error_of_second_run,
            "drift": self.drift,
            "error_at_present_speed": self.error_at_present_speed,
            "inside_interval": self.inside_interval,
            "messages_per_rank": self.measured.messages_per_rank,
            "bytes_per_rank": self.measured.bytes_per_rank,
            "verified": self.measured.verified,
            "repetitions": self.measured.repetitions,
            "oversubscribed": self.measured.oversubscribed,
            **({} if self.paired is None else {"paired": self.paired.to_dict()}),
            **whole,
            "notes": self.notes,
        }

    @classmethod
    def from_record(cls, row: Record) -> Comparison:
        """Read an exchange's comparison back. Raises InputError that names the key."""
        grid, cutoff = row.counts("grid", least=1), row.count("cutoff", least=1)
        periodic = row.flags("periodic") if "periodic" in row.value else (True,) * len(grid)
        if len(periodic) != len(grid):
            raise row.complaint("periodic", f"has {len(periodic)} entries for {len(grid)} axes")
        case = ExchangeCase(
            row.name("algorithm"), row.name("mode"), grid, periodic, cutoff, row.count("message_bytes"),
            row.name("shell") if "shell" in row.value else "full", row.count("replication", least=1),
            row.name("team_boxes") if "team_boxes" in row.value else "pooled",
        )  # fmt: skip
        messages, sent = row.count("messages_per_rank"), row.count("bytes_per_rank")
        notes = row.texts("notes") if "notes" in row.value else ()
        drift = row.number("drift") if row.value.get("drift") is not None else None
        return cls(
            Row(row.name("predicted_by") if "predicted_by" in row.value else "model", case, *row.span("predicted"), messages,
                sent, None, notes),
            Row(
                row.name("measured_by") if "measured_by" in row.value else "real", case, *row.span("measured"), messages, sent,
                row.flag("verified"),
                repetitions=row.count("repetitions"), oversubscribed=row.flag("oversubscribed"),
            ),
            drift,
        )  # fmt: skip


@dataclass(frozen=True)
class Validation:
    """All comparisons of one session, against one profile; never empty."""

    profile: str
    comparisons: Sequence[Comparison]
    session: PairedSession | None = None  # of a paired one
    trust: Trust | None = None  # in the profile's figures
    example: bool = False  # chosen by us, not by who asks

    @property
    def drift(self) -> float | None:
        """Median drift of the machine since its profile was measured; None where no ping-pong was run."""
        drifts = [c.drift for c in self.comparisons if c.drift is not None]
        return median(drifts) if drifts else None

    def summary(self) -> dict[str, Any]:
        """Return the mean absolute error, the mean error, and the share of measurements inside the interval.

        ``noise_floor`` is the mean absolute error that the second run makes in predicting the first (None: there was none);
        ``mape_at_present_speed`` and ``drift`` (median) are None where no ping-pong could be run beside the exchange.
        ``phases`` has the mean absolute error of each part that was large enough to judge.
        """
        errors = [comparison.error for comparison in self.comparisons]
        phases = [comparison.phase_errors() for comparison in self.comparisons]
        return {
            "mape": _mean_size(errors),
            "noise_floor": _mean_size(c.error_of_second_run for c in self.comparisons),
            "bias": fmean(errors),
            "share_inside": fmean(comparison.inside_interval for comparison in self.comparisons),
            "mape_at_present_speed": _mean_size(c.error_at_present_speed for c in self.comparisons),
            "drift": self.drift,
            **(
                {}
                if self.session is None
                else {"paired": self.session.summary([c.paired for c in self.comparisons if c.paired])}
            ),
            **({"phases": {name: _mean_size(of[name] for of in phases) for name in phases[0]}} if phases[0] else {}),
        }

    def headline(self) -> str:
        """Say whether the prediction holds."""
        cases = len(self.comparisons)
        errors = [abs(comparison.error) for comparison in self.comparisons]
        off = f"{100 * fmean(errors):.1f} %" + (
            f" in the mean of {cases} cases, {100 * max(errors):.1f} % at most" if cases > 1 else ""
        )
        if self.session is None:
            again = _mean_size(comparison.error_of_second_run for comparison in self.comparisons)
            return f"The prediction is off by {off}" + (
                "." if again is None else f"; a second run is off by {100 * again:.1f} %."
            )
        rows = [comparison.paired for comparison in self.comparisons if comparison.paired]
        if self.session.unclear or not rows:
            return f"Cannot tell whether the model holds: the machine was too busy. As it is, the prediction is off by {off}."
        wrong = sum(row.verdict == "wrong" for row in rows)
        many = len(rows)
        held = f"holds in all {many} rows" if not wrong else f"is off in {wrong} of {many} rows by more than noise explains"
        error, floor = (_mean_size(getattr(row, name) for row in rows) or 0.0 for name in ("error", "floor"))
        return f"The model {held}; in the mean it errs by {100 * error:.1f} %, noise by {100 * floor:.1f} %."

    def to_dict(self) -> dict[str, Any]:
        case = self.comparisons[0].case
        return {
            "schema": 1,
            "workload": case.workload,
            "profile": self.profile,
            **({} if self.trust is None else {"trust": self.trust.to_dict()}),
            **({"example": True} if self.example else {}),
            **case.settings(),
            "rows": [comparison.to_dict() for comparison in self.comparisons],
            "summary": self.summary(),
        }

    @classmethod
    def from_record(cls, record: Record) -> Validation:
        """Read an exchange's validation back. Raises InputError that names the key."""
        rows = tuple(Comparison.from_record(row) for row in record.records("rows"))
        return cls(str(record.value.get("profile", "")), rows, example=record.value.get("example") is True)


def _mean_size(errors: Iterable[float | None]) -> float | None:
    """Return the mean absolute error of those that are known."""
    known = [abs(error) for error in errors if error is not None]
    return fmean(known) if known else None
