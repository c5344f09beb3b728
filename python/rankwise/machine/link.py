"""The time of one message as a function of its size: straight lines over ranges of size, with their uncertainty.

``time = alpha + beta * size`` (Hockney & Jesshope 1988) on each segment. One segment is the Hockney model; several
are the piecewise model, whose breaks are where a protocol changes; a table that is interpolated is a segment between
each two of its rows.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Interval = tuple[float, float]

AT_ZERO = "time at 0 B"
LOOK_UPS = ("pchip",)
MOST_HALF_WIDTH = 3.0  # of an interval in logarithms: a factor of 20
_SD_PER_MEAN_ERROR = 1.25  # the standard deviation of normal errors whose mean size is 1
_MOST_ERROR = 1e6  # of a model, as a share: a busy machine has had 190
LEAST_SIZES = 3  # of a table: through two sizes any line is perfect
# What a clock, or a person, can have meant: beyond these a fit has no figures any more.
LEAST_TIME_S, MOST_TIME_S, MOST_BYTES = 1e-15, 1e9, 2**53


@dataclass(frozen=True)
class Segment:
    """A straight line for sizes from ``from_bytes`` up to, not including, ``to_bytes`` (None: no upper end)."""

    from_bytes: int
    to_bytes: int | None
    alpha_s: float
    beta_s_per_byte: float
    alpha_ci_s: Interval | None = None
    beta_ci_s_per_byte: Interval | None = None

    @property
    def latency_s(self) -> float:
        """Return alpha where it is a time; NaN where the line, which holds for
        larger messages only, meets 0 B at or below zero."""
        return self.alpha_s if self.alpha_s > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        return {
            "from_bytes": self.from_bytes,
            "to_bytes": self.to_bytes,
            "alpha_s": self.alpha_s,
            "alpha_ci_s": _listed(self.alpha_ci_s),
            "beta_s_per_byte": self.beta_s_per_byte,
            "beta_ci_s_per_byte": _listed(self.beta_ci_s_per_byte),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Segment:
        to_bytes = record.get("to_bytes")
        return Segment(
            whole(record["from_bytes"], "from_bytes"),
            None if to_bytes is None else whole(to_bytes, "to_bytes"),
            finite(record["alpha_s"], "alpha_s"),
            finite(record["beta_s_per_byte"], "beta_s_per_byte"),
            interval(record.get("alpha_ci_s"), "alpha_ci_s"),
            interval(record.get("beta_ci_s_per_byte"), "beta_ci_s_per_byte"),
        )


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model with its 95 % interval (None: not known)."""

    value: float
    ci: Interval | None = None

    def exactly(self) -> Parameter:
        """Return the parameter without an interval: a limit that is one of the measured sizes has none."""
        return Parameter(self.value)

    def to_dict(self) -> dict[str, Any]:
        return {"value": self.value, "ci": _listed(self.ci)}

    @staticmethod
    def from_dict(record: Mapping[str, Any], what: str) -> Parameter:
        return Parameter(finite(record["value"], what), interval(record.get("ci"), what))


@dataclass(frozen=True)
class LinkModel:
    """A fitted model: its segments in order of size, and how it was made.

    ``relative_error`` is the root mean square relative difference between model and table, by which intervals of
    predicted times are widened (the lack of fit is an error as much as the noise is). ``parameters`` are those of a
    model whose segments follow from fewer figures; ``cross_validated_error`` is the mean absolute relative error over all
    ways of sending on sizes that the fit has not seen (None: not tested).
    """

    name: str
    segments: tuple[Segment, ...]
    method: str
    relative_error: float = 0.0
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    parameter_count: int | None = None
    cross_validated_error: float | None = None

    def __post_init__(self) -> None:
        if not self.segments:
            raise ValueError(f"the {self.name} model has no segment")
        starts = [segment.from_bytes for segment in self.segments]
        if starts != sorted(set(starts)):
            raise ValueError(f"the segments of the {self.name} model are not in order of size")

    @property
    def looks_up(self) -> bool:
        """Whether it goes through the rows of its table, so that it is no fit."""
        return self.name in LOOK_UPS or self.method.startswith("interpolation")

    def segment_at(self, size_bytes: int) -> Segment:
        """Return the segment that answers for a size; below the first it is the first."""
        starts = [segment.from_bytes for segment in self.segments]
        return self.segments[max(0, bisect.bisect_right(starts, size_bytes) - 1)]

    def time_s(self, size_bytes: int) -> float:
        """Return the time of one message of a size, in seconds."""
        segment = self.segment_at(size_bytes)
        return segment.alpha_s + segment.beta_s_per_byte * size_bytes

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "relative_error": self.relative_error,
            "cross_validated_error": self.cross_validated_error,
            "parameter_count": self.parameter_count,
            "parameters": {name: parameter.to_dict() for name, parameter in self.parameters.items()},
            "segments": [segment.to_dict() for segment in self.segments],
        }

    @staticmethod
    def from_dict(name: str, record: Mapping[str, Any]) -> LinkModel:
        return LinkModel(
            name,
            tuple(Segment.from_dict(segment) for segment in entries(record, "segments", list)),
            str(record["method"]),
            _error_share(record["relative_error"], "relative_error"),
            {str(key): Parameter.from_dict(value, str(key)) for key, value in record.get("parameters", {}).items()},
            None if (count := record.get("parameter_count")) is None else whole(count, "parameter_count"),
            None if (error := record.get("cross_validated_error")) is None else _error_share(error, "cross_validated_error"),
        )


@dataclass(frozen=True)
class Point:
    """One row of the table under the models: the time of one message of a size, with its 95 % interval.

    Both ends are None where nothing is known of the spread; an interval without width is none.
    """

    size_bytes: int
    time_s: float
    time_lo_s: float | None
    time_hi_s: float | None
    samples: int

    def __post_init__(self) -> None:
        if self.time_lo_s is None or self.time_hi_s is None or not self.time_lo_s < self.time_hi_s:
            object.__setattr__(self, "time_lo_s", None)
            object.__setattr__(self, "time_hi_s", None)

    @property
    def interval_s(self) -> Interval | None:
        """The 95 % interval; None where nothing is known of the spread."""
        return None if self.time_lo_s is None or self.time_hi_s is None else (self.time_lo_s, self.time_hi_s)

    @property
    def log_half_width(self) -> float | None:
        """Half the 95 % interval in logarithms, the wider side; None where nothing is known of the spread."""
        if self.time_lo_s is None or self.time_hi_s is None:
            return None
        down = math.log(self.time_s / self.time_lo_s) if self.time_lo_s > 0 else math.inf
        return min(max(down, math.log(max(self.time_hi_s / self.time_s, 1.0))), MOST_HALF_WIDTH)

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Point:
        size_bytes = record["size_bytes"]
        if not isinstance(size_bytes, int) or size_bytes < 0:
            raise ValueError(f"size_bytes {size_bytes!r} is not a size of at least 0")
        time_s = finite(record["time_s"], "time_s")
        low_s, high_s = (None if record[key] is None else finite(record[key], key) for key in ("time_lo_s", "time_hi_s"))
        if time_s <= 0:
            raise ValueError(f"time_s {time_s} at {size_bytes} B is not positive")
        return Point(size_bytes, time_s, low_s, high_s, whole(record["samples"], "samples"))

    def to_dict(self) -> dict[str, Any]:
        return {
            "size_bytes": self.size_bytes,
            "time_s": self.time_s,
            "time_lo_s": self.time_lo_s,
            "time_hi_s": self.time_hi_s,
            "samples": self.samples,
        }


@dataclass(frozen=True)
class Curve:
    """Time against size for one way of sending over one link class: table, models, and the model that answers.

    ``alpha_method`` says whether alpha was measured or is the intercept of a line through other sizes.
    """

    model: str
    alpha_s: float
    alpha_ci_s: Interval | None
    beta_s_per_byte: float
    beta_ci_s_per_byte: Interval | None
    samples: int
    statistic: str
    table: tuple[Point, ...]
    models: Mapping[str, LinkModel]
    alpha_method: str = AT_ZERO

    def chosen(self) -> LinkModel:
        """Return the model that answers for this curve."""
        return self.models[self.model]

    def time_s(self, size_bytes: int) -> float:
        """Return the time of one message of a size, in seconds, by the chosen model."""
        return self.chosen().time_s(size_bytes)

    def log_half_width(self, size_bytes: int) -> float | None:
        """Return half the 95 % interval of the time at a size in logarithms: that of the rows around it, and the model's error.

        Between rows the model's error is what it is off by on sizes that it has not seen, at a row what it misses the rows
        by. None where nothing is known of the rows' spread.
        """
        sizes = [point.size_bytes for point in self.table]
        i = min(bisect.bisect_left(sizes, size_bytes), len(sizes) - 1)
        around = [self.table[i]] if sizes[i] == size_bytes else self.table[max(0, i - 1) : i + 1]
        widths = [point.log_half_width for point in around]
        if None in widths:
            return None
        return math.hypot(max(width for width in widths if width is not None), self.model_error(size_bytes))

    def model_error(self, size_bytes: int) -> float:
        """Return what 95 % of the model's errors at a size stay below, in logarithms; what is worse than a row can be says no
        more."""
        model = self.chosen()
        error = model.relative_error
        if model.looks_up and all(point.size_bytes != size_bytes for point in self.table):
            error = max(error, _SD_PER_MEAN_ERROR * (model.cross_validated_error or 0.0))
        return min(1.96 * error, MOST_HALF_WIDTH)

    def extrapolates(self, size_bytes: int) -> bool:
        """Tell whether a size lies beyond the measured ones."""
        return not self.table[0].size_bytes <= size_bytes <= self.table[-1].size_bytes

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "alpha_s": self.alpha_s,
            "alpha_ci_s": _listed(self.alpha_ci_s),
            "alpha_method": self.alpha_method,
            "beta_s_per_byte": self.beta_s_per_byte,
            "beta_ci_s_per_byte": _listed(self.beta_ci_s_per_byte),
            "samples": self.samples,
            "statistic": self.statistic,
            "models": {name: model.to_dict() for name, model in self.models.items()},
            "table": [point.to_dict() for point in self.table],
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Curve:
        models = {name: LinkModel.from_dict(name, model) for name, model in entries(record, "models").items()}
        if record["model"] not in models:
            raise ValueError(f"the chosen model '{record['model']}' is not among its models")
        table = tuple(Point.from_dict(point) for point in entries(record, "table", list))
        sizes = [point.size_bytes for point in table]
        if len(sizes) < LEAST_SIZES or sizes != sorted(set(sizes)):
            raise ValueError(f"the table has the sizes {sizes}: at least {LEAST_SIZES} are needed, in order and each once")
        return Curve(
            model=str(record["model"]),
            alpha_s=finite(record["alpha_s"], "alpha_s"),
            alpha_ci_s=interval(record["alpha_ci_s"], "alpha_ci_s"),
            beta_s_per_byte=finite(record["beta_s_per_byte"], "beta_s_per_byte"),
            beta_ci_s_per_byte=interval(record["beta_ci_s_per_byte"], "beta_ci_s_per_byte"),
            samples=whole(record["samples"], "samples"),
            statistic=str(record["statistic"]),
            table=table,
            models=models,
            # Profiles of before this key say it by their first row.
            alpha_method=str(record.get("alpha_method", AT_ZERO if sizes[0] == 0 else "intercept")),
        )


def finite(value: Any, what: str) -> float:
    """Return a number as float; ValueError when it is none, or not finite."""
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        raise ValueError(f"{what} is not a finite number") from None
    raise ValueError(f"{what} {value!r} is not a finite number")


def whole(value: Any, what: str) -> int:
    """Return a whole number; ValueError when it is none, or beyond what a count can be."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or abs(value) >= 1 << 63:
        raise ValueError(f"{what} {value!r:.40} is not a whole number")
    return int(value)


def entries(record: Mapping[str, Any], key: str, kind: type = dict) -> Any:
    """Return what a key holds, an object or a list; ValueError when it is neither, or of other things than objects."""
    value: Any = record[key]
    held = list(value.values() if isinstance(value, dict) else value) if isinstance(value, dict | list) else None
    if held is None or not isinstance(value, kind) or not all(isinstance(one, Mapping) for one in held):
        raise ValueError(f"{key} {value!r:.40} is not {'an object' if kind is dict else 'a list'} of objects")
    return value


def _error_share(value: Any, what: str) -> float:
    """Return the relative error of a model; ValueError for what none can have."""
    error = finite(value, what)
    if not 0 <= error <= _MOST_ERROR:
        raise ValueError(f"{what} {value!r} is no relative error between 0 and {_MOST_ERROR:g}")
    return error


def interval(value: Any, what: str) -> Interval | None:
    """Return [low, high] as a tuple, None as None; ValueError otherwise."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{what} {value!r} is not a pair [low, high]")
    low, high = finite(value[0], what), finite(value[1], what)
    if low > high:
        raise ValueError(f"{what} {value!r} has its low end above its high end")
    return low, high


def _listed(pair: Interval | None) -> list[float] | None:
    return None if pair is None else [pair[0], pair[1]]
