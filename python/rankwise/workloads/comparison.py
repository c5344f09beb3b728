"""Engines side by side: prediction and measurement of the same cases, their differences, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import expm1, log1p
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from rankwise.machine.trust import Trust
from rankwise.records import Record, computed, key, printable, read_key, record, told, whole
from rankwise.workloads.base import Case, Row
from rankwise.workloads.exchange import ExchangeCase

if TYPE_CHECKING:
    from typing import Self

# A part below this share of the whole is not judged by its relative error: it is next to nothing on both sides.
_LEAST_SHARE = 0.02


@record
class Paired(Record):
    """The model's own error of one case: ingredients and exchange were timed by turns in the same launches.

    ``group``: the algorithm and mode. ``error``: predicted from the launch's ingredients / measured - 1, the median
    over launches (None: no launch was whole). ``floor``: what odd rounds differ from even ones, the mean over launches.
    ``half_width``: of the interval in which 95 % of rows should lie, in logs, from the errors of the other groups (None: too
    few). ``unclear``: too few launches were quiet.
    """

    group: str = key("what is alike: the algorithm and mode")
    error: float | None = key("prediction from the launch's parts by measurement minus 1; null: no launch was whole")
    floor: float | None = key("measurement noise")
    half_width: float | None = key(
        "half of the interval in which 95 % of rows lie, as a share", write=lambda width: width and expm1(width)
    )
    unclear: bool

    @property
    @told("holds, wrong (beyond twice the noise) or unclear")
    def verdict(self) -> str:
        """``holds``, ``wrong`` (more than twice the noise) or ``unclear``."""
        if self.unclear or self.error is None or self.floor is None:
            return "unclear"
        return "wrong" if abs(self.error) > 2 * self.floor else "holds"

    @property
    @told("whether the measurement lies in the predicted interval", name="inside_interval", after="half_width")
    def inside(self) -> bool | None:
        """Whether the measurement lies in the interval around the prediction."""
        if self.error is None or self.half_width is None:
            return None
        return abs(log1p(self.error)) <= self.half_width


@record
class GroupErrors(Record):
    """Of rows that are alike, in a paired validation."""

    group: str = key("what is alike: the algorithm and mode")
    of_group: Sequence[Paired]
    rows = computed("number of these rows", int, lambda of: len(of.of_group))
    error = computed("mean absolute error", "float | None", lambda of: _mean_size(row.error for row in of.of_group))
    floor = computed("measurement noise", "float | None", lambda of: _mean_size(row.floor for row in of.of_group))
    wrong = computed("how many are wrong", int, lambda of: sum(row.verdict == "wrong" for row in of.of_group))


@record
class PairedSession(Record):
    """What a paired validation comes to."""

    launches: int = key("launches that counted")
    left_out: int = key("launches that were left out as too noisy, or cut off")
    unclear: bool = key("whether the machine was too busy for a verdict")
    error = computed("mean absolute error", "float | None", lambda of: _mean_size(row.error for row in of.rows))
    floor: float | None = key("measurement noise, the mean of the launches")
    drift: float | None = key(
        "ping-pongs of the launches against the profile's, the median; null: the profile has none of these sizes"
    )
    fresh: float | None = key("messages in exchanges against warm ping-pongs of the same launch")
    wrong = computed("how many rows are wrong", int, lambda of: sum(row.verdict == "wrong" for row in of.rows))
    share_inside = computed(
        "share of rows within the predicted interval", "float | None",
        lambda of: _mean(row.inside for row in of.rows if row.inside is not None),
    )  # fmt: skip
    half_width = computed(
        "half of the interval in which 95 % of rows lie, the median", "float | None",
        lambda of: _half_width([row.half_width for row in of.rows if row.half_width is not None]),
    )  # fmt: skip
    groups = computed("by group", tuple[GroupErrors, ...], lambda of: of.by_group())
    rows: Sequence[Paired] = ()

    def by_group(self) -> tuple[GroupErrors, ...]:
        names = dict.fromkeys(row.group for row in self.rows)
        return tuple(GroupErrors(name, [row for row in self.rows if row.group == name]) for name in names)


def _half_width(logs: Sequence[float]) -> float | None:
    return expm1(median(logs)) if logs else None


@record
class ValidationSummary(Record):
    """What all rows of a validation come to."""

    of: Validation
    mape = computed("mean absolute error", float, lambda sums: _mean_size(row.error for row in sums.of.comparisons) or 0.0)
    noise_floor = computed(
        "mean absolute error of a second run against the first; null: there was none", "float | None",
        lambda sums: _mean_size(row.error_of_second_run for row in sums.of.comparisons),
    )  # fmt: skip
    bias = computed("mean error", float, lambda sums: fmean(row.error for row in sums.of.comparisons))
    share_inside = computed(
        "share within the predicted interval", float, lambda sums: fmean(row.inside_interval for row in sums.of.comparisons)
    )
    mape_at_present_speed = computed(
        "mean absolute error without the drift; null: no ping-pong could be run with the exchange", "float | None",
        lambda sums: _mean_size(row.error_at_present_speed for row in sums.of.comparisons),
    )  # fmt: skip
    drift = computed("ping-pongs against the profile's, the median", "float | None", lambda sums: sums.of.drift)
    paired = computed(
        "what interleaved runs of the parts say of the model", "PairedSession | None", lambda sums: sums.of.session, omit=True
    )
    phases = computed(
        "mean absolute error of each phase that is large enough to compare", Mapping[str, float | None],
        lambda sums: sums.of.errors_of_phases(), omit=True,
    )  # fmt: skip


@record
class Comparison(Record):
    """One case, predicted and measured.

    ``drift``: a ping-pong next to the exchange took so many times what the profile says (None: unknown); ``again``: a second
    run of the same case (None: there was none).
    """

    predicted: Row
    measured: Row
    asked = computed("what was asked", "Case", lambda row: row.case, inline=True)
    predicted_by = computed("engine of the prediction", str, lambda row: row.predicted.engine, read=printable)
    measured_by = computed("engine that it is held against", str, lambda row: row.measured.engine, read=printable)
    predicted_time_s = computed("predicted time", float, lambda row: row.predicted.time_s, above=0)
    predicted_time_lo_s = computed("", "float | None", lambda row: row.predicted.time_lo_s)
    predicted_time_hi_s = computed("", "float | None", lambda row: row.predicted.time_hi_s)
    measured_time_s = computed("measured time", float, lambda row: row.measured.time_s, above=0)
    measured_time_lo_s = computed("", "float | None", lambda row: row.measured.time_lo_s)
    measured_time_hi_s = computed("", "float | None", lambda row: row.measured.time_hi_s)
    measured_again_time_s = computed(
        "time of a second run of the same case", "float | None", lambda row: row.again and row.again.time_s
    )
    drift: float | None = key(
        "ping-pong right before and after the exchange against the profile's; null: none could be run",
        after="error_of_second_run",
    )
    again: Row | None = None
    paired: Paired | None = key(
        "what interleaved runs of the parts say of the model", default=None, omit=True, after="oversubscribed"
    )
    messages_per_rank = computed("messages that a rank sends at most", "int | None", lambda row: row.measured.messages_per_rank)
    bytes_per_rank = computed("bytes that a rank sends at most", "int | None", lambda row: row.measured.bytes_per_rank)
    verified = computed("whether every byte that arrived was right", "bool | None", lambda row: row.measured.verified)
    repetitions = computed("repetitions that were timed", "int | None", lambda row: row.measured.repetitions)
    oversubscribed = computed("whether ranks shared a core", bool, lambda row: row.measured.oversubscribed)
    all_predicted = computed(
        "all of the prediction", "Row | None", lambda row: row.predicted if row.measured.parts else None, omit=True,
        name="predicted",
    )  # fmt: skip
    all_measured = computed(
        "all of the measurement", "Row | None", lambda row: row.measured if row.measured.parts else None, omit=True,
        name="measured",
    )  # fmt: skip
    errors_by_phase = computed(
        "error of each phase; null: the phase is next to nothing on both sides", Mapping[str, float | None],
        lambda row: row.phase_errors(), omit=True, name="phase_errors",
    )  # fmt: skip

    @property
    def case(self) -> Case:
        return self.measured.case

    @property
    def exchange(self) -> ExchangeCase:
        """The case of an exchange."""
        assert isinstance(self.case, ExchangeCase)
        return self.case

    @property
    @told("what weakens the figures, in words", after="errors_by_phase")
    def notes(self) -> list[str]:
        return [*self.predicted.notes, *self.measured.notes]

    @property
    @told("prediction by measurement minus 1", after="measured_again_time_s")
    def error(self) -> float:
        """Predicted / measured - 1."""
        return self.predicted.time_s / self.measured.time_s - 1.0

    @property
    @told("measured_again_time_s by measurement minus 1: what is noise", after="error")
    def error_of_second_run(self) -> float | None:
        """Second run / first - 1: what is noise, for nothing was predicted."""
        return None if self.again is None else self.again.time_s / self.measured.time_s - 1.0

    @property
    @told("error that is left when the prediction is scaled by the drift", after="drift")
    def error_at_present_speed(self) -> float | None:
        """The error that is left when the prediction is scaled by the drift: the model's own share."""
        return None if self.drift is None else self.predicted.time_s * self.drift / self.measured.time_s - 1.0

    @property
    @told("whether the measurement lies in the predicted interval", after="error_at_present_speed")
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

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Read an exchange's comparison back. Raises ValueError or KeyError that names the key."""
        if isinstance(value, dict) and "periodic" not in value:  # of an old file
            value = value | {"periodic": [True] * len(value["grid"])}
        case = ExchangeCase.from_dict(value, what)
        whole(value["cutoff"], f"{what}.cutoff", 1)
        if len(case.periodic) != len(case.grid):
            raise ValueError(f"{what}.periodic has {len(case.periodic)} entries for {len(case.grid)} axes")

        def read(name: str, default: Any = None, required: bool = True) -> Any:
            return read_key(cls, name, value, what) if required or name in value else default

        def row(side: str, engine: str, **more: Any) -> Row:
            time_s, ends = read(f"{side}_time_s"), [f"{side}_time_lo_s", f"{side}_time_hi_s"]
            lo_s, hi_s = (read(name, required=False) for name in ends)
            if (lo_s is None) != (hi_s is None) or (lo_s is not None and lo_s > hi_s):
                raise ValueError(f"{what}: {' and '.join(ends)} are not an interval")
            sent = read("messages_per_rank"), read("bytes_per_rank")
            return Row(read(f"{side}_by", engine, required=False), case, time_s, lo_s, hi_s, *sent, **more)

        return cls(
            row("predicted", "model", verified=None, notes=tuple(read("notes", (), required=False))),
            row(
                "measured", "real", verified=read("verified"), repetitions=read("repetitions"),
                oversubscribed=read("oversubscribed"),
            ),
            read("drift", required=False),
        )  # fmt: skip


@record
class Validation(Record):
    """All comparisons of one session, against one profile; never empty."""

    schema = computed("version of this document", int, lambda of: 1)
    workload = computed("which workload it is of", str, lambda of: of.comparisons[0].case.workload)
    profile: str = key("path of the profile")
    comparisons: Sequence[Comparison] = key("one entry a case", filled=True, name="rows", after="settings")
    session: PairedSession | None = None  # of a paired one
    trust: Trust | None = key("in the profile's figures", default=None, omit=True)
    # Chosen by us, not by who asks.
    example: bool = key(
        "whether rankwise chose the question", default=False, omit=True, write=lambda example: example or None,
        read=lambda example, _: example is True,
    )  # fmt: skip
    settings = computed(
        "what was asked of all", "rankwise.workloads.base.Settings", lambda of: of.comparisons[0].case.settings(), inline=True
    )
    summary = computed("over all rows", ValidationSummary, lambda of: ValidationSummary(of), after="comparisons")

    @property
    def drift(self) -> float | None:
        """Median drift of the machine since its profile was measured; None where no ping-pong was run."""
        drifts = [c.drift for c in self.comparisons if c.drift is not None]
        return median(drifts) if drifts else None

    def errors_of_phases(self) -> dict[str, float | None]:
        phases = [comparison.phase_errors() for comparison in self.comparisons]
        return {name: _mean_size(of[name] for of in phases) for name in phases[0]}

    def headline(self) -> str:
        """Say whether the predictions hold, and where they do not, what has changed."""
        errors = [abs(comparison.error) for comparison in self.comparisons]
        off = f"{100 * fmean(errors):.1f} %" + (
            f" on average, {100 * max(errors):.1f} % at most ({len(errors)} cases)" if len(errors) > 1 else ""
        )
        if self.session is None:
            again = _mean_size(comparison.error_of_second_run for comparison in self.comparisons)
            second = "" if again is None else f"; a second run is off by {100 * again:.1f} %"
            return f"Predictions are off by {off}{second}."
        if self.session.unclear or not self.session.rows:
            launches = self.session.launches + self.session.left_out
            return f"No verdict: {self.session.left_out} of {launches} launches were disturbed. Predictions are off by {off}."
        if (changed := speed_change(self.session.drift)) is not None:
            return f"Predictions are off by {off}: the machine is {changed} now than when it was measured: measure again."
        if self.session.wrong:
            many = f"{self.session.wrong} of {len(self.session.rows)} cases"
            return f"Predictions are off by {off}; the cost model is wrong in {many} by more than noise explains."
        if not all(comparison.inside_interval for comparison in self.comparisons):
            return f"The cost model holds; predictions are off by {off}."
        return f"Predictions hold: off by {off}."

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Read an exchange's validation back; an old file may name no profile. Raises ValueError or KeyError."""
        return super().from_dict(value if "profile" in value else value | {"profile": ""}, what)


_SAME_SPEED = 0.85, 1.18  # times as long as the profile says


def speed_change(times_as_long: float | None) -> str | None:
    """Return "faster" or "slower" where ping-pongs take less or more time than the profile says; None where neither."""
    if times_as_long is None or _SAME_SPEED[0] < times_as_long < _SAME_SPEED[1]:
        return None
    return "faster" if times_as_long < 1 else "slower"


def _mean_size(errors: Iterable[float | None]) -> float | None:
    """Return the mean absolute error of those that are known."""
    return _mean(abs(error) for error in errors if error is not None)


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None
