"""Answers as intervals: a function of parameters of which some are only known as a range.

Every model here rises or falls with each of its parameters, whatever the others are. Then its extremes over a box of
ranges lie at corners of the box, and looking at the corners gives them exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from rankwise.errors import InputError
from rankwise.records import Record, key, record

_MOST_RANGES = 12


@record
class Range(Record):
    """A parameter: its value and the ends between which it lies."""

    value: float = key("the figure")
    low: float = key("lower end")
    high: float = key("upper end")

    @staticmethod
    def exactly(value: float) -> Range:
        """A parameter that is known."""
        return Range(value, value, value)

    @property
    def wide(self) -> bool:
        """Whether it is a range at all."""
        return self.low < self.high


def bounds(function: Callable[[Mapping[str, float]], Mapping[str, float]], ranges: Mapping[str, Range]) -> dict[str, Range]:
    """Evaluate ``function`` at the values, and at all corners of the ranges; each of its results as a range.

    The function must be monotonic in each parameter. Raises InputError for more wide ranges than corners can be looked at.
    """
    wide = [name for name, parameter in ranges.items() if parameter.wide]
    if len(wide) > _MOST_RANGES:
        raise InputError(f"{len(wide)} parameters are ranges: fix some, {_MOST_RANGES} are the most")
    point = {name: parameter.value for name, parameter in ranges.items()}
    central = function(point)
    low, high = dict(central), dict(central)
    for ends in itertools.product((False, True), repeat=len(wide)):
        corner = point | {
            name: ranges[name].high if upper else ranges[name].low for name, upper in zip(wide, ends, strict=True)
        }
        for name, value in function(corner).items():
            low[name], high[name] = min(low[name], value), max(high[name], value)
    return {name: Range(value, low[name], high[name]) for name, value in central.items()}
