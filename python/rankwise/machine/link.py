"""The time of one message as a function of its size: straight lines over ranges of size, with their uncertainty.

``time = alpha + beta * size`` (Hockney & Jesshope 1988) on each segment. One segment is the Hockney model; several
are the piecewise model, whose breaks are where a protocol changes; a table that is interpolated is a segment between
each two of its rows.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

from rankwise.records import Interval, Record, key, record

AT_ZERO = "time at 0 B"
LOOK_UPS = ("pchip",)
MOST_HALF_WIDTH = 3.0  # of an interval in logarithms: a factor of 20
_MOST_ERROR = 1e6  # of a model, as a share: a busy machine has had 190
LEAST_SIZES = 3  # of a table: through two sizes any line is perfect
# What a clock, or a person, can have meant: beyond these a fit has no figures any more.
LEAST_TIME_S, MOST_TIME_S, MOST_BYTES = 1e-15, 1e9, 2**53


@record
class Segment(Record):
    """A straight line for sizes from ``from_bytes`` up to, not including, ``to_bytes`` (None: no upper end)."""

    from_bytes: int = key("smallest size of the segment")
    to_bytes: int | None = key("largest size of the segment, null: no end")
    alpha_s: float = key("time of an empty message by the model")
    beta_s_per_byte: float = key("time per byte of large messages by the model")
    alpha_ci_s: Interval | None = key(default=None, after="alpha_s")
    beta_ci_s_per_byte: Interval | None = key(default=None)

    @property
    def latency_s(self) -> float:
        """Return alpha where it is a time; NaN where the line, which holds for
        larger messages only, meets 0 B at or below zero."""
        return self.alpha_s if self.alpha_s > 0 else math.nan

    def time_s(self, size_bytes: float) -> float:
        """Return the time of one message of a size, in seconds."""
        return self.alpha_s + self.beta_s_per_byte * size_bytes


@record
class Parameter(Record):
    """A parameter of a model with its 95 % interval (None: not known)."""

    value: float = key("the figure")
    ci: Interval | None = key("95 % interval", default=None)


@record
class LinkModel(Record):
    """A fitted model: its segments in order of size, and how it was made.

    ``relative_error`` is the root mean square relative difference between model and table, by which intervals of
    predicted times are widened (the lack of fit is an error as much as the noise is). ``parameters`` are those of a
    model whose segments follow from fewer figures; ``cross_validated_error`` is the mean absolute relative error over all
    ways of sending on sizes that the fit has not seen (None: not tested).
    """

    name: str = key("name of the model", is_name=True)
    segments: tuple[Segment, ...] = key("lines by size", after="parameters")
    method: str = key("how it was fitted")
    relative_error: float = key(
        "root mean square of the relative difference between model and table", least=0, most=_MOST_ERROR, default=0.0
    )
    parameters: Mapping[str, Parameter] = key("figures by name", factory=dict, after="parameter_count")
    parameter_count: int | None = key(
        "number of parameters; of all modes together where these share parameters", default=None,
        after="cross_validated_error",
    )  # fmt: skip
    cross_validated_error: float | None = key(
        "mean size of the logarithm's error on blocks of two neighbouring sizes left out of the fit", least=0,
        most=_MOST_ERROR, default=None, after="relative_error",
    )  # fmt: skip

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
        return self.segment_at(size_bytes).time_s(size_bytes)


@record
class Point(Record):
    """One row of the table under the models: the time of one message of a size, with its 95 % interval.

    Both ends are None where nothing is known of the spread; an interval without width is none.
    """

    size_bytes: int = key("size of the message", least=0)
    time_s: float = key("one way of a message of this size", above=0)
    time_lo_s: float | None = key()
    time_hi_s: float | None = key()
    samples: int = key("number of samples")

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


@record
class Curve(Record):
    """Time against size for one way of sending over one link class: table, models, and the model that answers.

    ``alpha_method`` says whether alpha was measured or is the intercept of a line through other sizes.
    """

    model: str = key("name of the model that predictions use")
    alpha_s: float = key("time of an empty message by the model")
    alpha_ci_s: Interval | None = key()
    beta_s_per_byte: float = key("time per byte of large messages by the model")
    beta_ci_s_per_byte: Interval | None = key()
    samples: int = key("number of samples")
    statistic: str = key("what stands for a row's samples")
    table: tuple[Point, ...] = key("one row a size", after="models")
    models: Mapping[str, LinkModel] = key(
        "every model that could be fitted, by name: hockney, piecewise, loggp, max-rate, pchip"
    )
    alpha_method: str = key(
        "where alpha is from: time at 0 B, or which line's intercept it is", default=AT_ZERO, after="alpha_ci_s"
    )

    def chosen(self) -> LinkModel:
        """Return the model that answers for this curve."""
        return self.models[self.model]

    def time_s(self, size_bytes: int) -> float:
        """Return the time of one message of a size, in seconds, by the chosen model."""
        return self.chosen().time_s(size_bytes)

    def log_half_width(self, size_bytes: int) -> float | None:
        """Return half the 95 % interval of the time at a size in logarithms: that of the rows around it, and the model's error.

        None where nothing is known of the rows' spread.
        """
        widths = [self.table[i].log_half_width for i in self._around(size_bytes)]
        if None in widths:
            return None
        return math.hypot(max(width for width in widths if width is not None), self.model_error(size_bytes))

    def model_error(self, size_bytes: int) -> float:
        """Return what 95 % of the model's errors at a size stay below, in logarithms; what is worse than a row can be says no
        more.

        A table's is that of the rows around the size, for short messages may be known far less well than long ones: what it
        misses them by, and what each, and between two rows the size itself, is off by from the nearest line through two others:
        one row that was disturbed makes its neighbours no less certain. The nearer row counts for more.
        """
        model = self.chosen()
        if not model.looks_up:
            return min(1.96 * model.relative_error, MOST_HALF_WIDTH)
        rows = [self.table[i] for i in self._around(size_bytes)]
        squares = [log_ratio(model.time_s(row.size_bytes), row.time_s) ** 2 for row in rows]
        if len(rows) == 1:
            return min(1.96 * math.sqrt(squares[0]), MOST_HALF_WIDTH)
        squares = [
            square + self._off_others(row.size_bytes, row.time_s) ** 2 for square, row in zip(squares, rows, strict=True)
        ]
        near, far = rows
        share = min(1.0, (size_bytes - near.size_bytes) / (far.size_bytes - near.size_bytes))
        itself = self._off_others(size_bytes, model.time_s(size_bytes)) ** 2
        return min(1.96 * math.sqrt((1 - share) * squares[0] + share * squares[1] + itself / 2), MOST_HALF_WIDTH)

    def _around(self, size_bytes: int) -> list[int]:
        """Return the numbers of the rows around a size: one where the size was measured, or lies before all rows."""
        sizes = [point.size_bytes for point in self.table]
        i = min(bisect.bisect_left(sizes, size_bytes), len(sizes) - 1)
        return [i] if sizes[i] == size_bytes or i == 0 else [i - 1, i]

    def _off_others(self, size_bytes: int, time_s: float) -> float:
        """Return by how much (a logarithm) a time is off from the nearest of lines through two rows of other sizes by it: on
        either side two of three, for one may be disturbed, too, and across."""
        below = [row for row in self.table if row.size_bytes < size_bytes][-3:]
        above = [row for row in self.table if row.size_bytes > size_bytes][:3]
        pairs = [*combinations(below, 2), *combinations(above, 2)]
        if below and above and any(row.size_bytes == size_bytes for row in self.table):  # else the model is their own line
            pairs.append((below[-1], above[0]))
        lines = [
            a.time_s + (size_bytes - a.size_bytes) / (b.size_bytes - a.size_bytes) * (b.time_s - a.time_s) for a, b in pairs
        ]
        return min((log_ratio(line_s, time_s) for line_s in lines if line_s > 0), default=0.0)

    def extrapolates(self, size_bytes: int) -> bool:
        """Tell whether a size lies beyond the measured ones."""
        return not self.table[0].size_bytes <= size_bytes <= self.table[-1].size_bytes

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        curve = super().from_dict(value, what)
        if curve.model not in curve.models:
            raise ValueError(f"the chosen model '{curve.model}' is not among its models")
        sizes = [point.size_bytes for point in curve.table]
        if len(sizes) < LEAST_SIZES or sizes != sorted(set(sizes)):
            raise ValueError(f"the table has the sizes {sizes}: at least {LEAST_SIZES} are needed, in order and each once")
        # Profiles of before this key say it by their first row.
        return curve if "alpha_method" in value or sizes[0] == 0 else replace(curve, alpha_method="intercept")


def log_ratio(one_s: float, other_s: float) -> float:
    """Return by how much two times differ, in logarithms; 0 where one is none."""
    return abs(math.log(one_s / other_s)) if one_s > 0 and other_s > 0 else 0.0
