"""All models fitted to one link class, tested on ranges of sizes that they have not seen, and the choice between them in words.

The test leaves out blocks of two neighbouring sizes, in all ways of sending at once: leaving out single rows would flatter
a model that knows the size from another way or its neighbours. What predicts inside the measured sizes is the table itself,
joined smoothly (pchip.py), unless a model of few parameters does better on the same blocks by more than a standard error.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Floats
from rankwise.machine.link import LinkModel, Parameter
from rankwise.machine.profile import Link
from rankwise.models import hockney, loggp, max_rate, pchip, piecewise
from rankwise.models.curve import curve_of
from rankwise.models.measured import Measured

MODELS = (hockney.NAME, piecewise.NAME, loggp.NAME, max_rate.NAME, pchip.NAME)
METHODS = ("regression", "table")
_LEAST_SIZES = 4  # for a test at all: three are left to fit
_LEAST_TESTED = 8  # to choose by it
_BLOCK = 2
_MOST_MISSED = 2.0  # half-widths of a row: many rows are looked at, and one may lie outside its interval by chance
_ASSUMED = 0.08  # the half-width of a row that says nothing of its spread
_LEAST_TIME_S, _MOST_TIME_S = 1e-12, 1e12
_UNKNOWN = 10.0  # the logarithm's error of a size that a model cannot tell
_NOT_MONOTONE = 0.5  # by what rows that fall as messages grow differ from those that take their place


@dataclass(frozen=True)
class Score:
    """How far a model is off on sizes not seen: the mean of the logarithms' error in each block; its parameters and rows."""

    errors: Floats
    parameter_count: int
    rows: int
    misses: bool  # a measured row by more than that row's own uncertainty

    @property
    def error(self) -> float:
        return float(self.errors.mean()) if self.errors.size else math.nan

    @property
    def is_fit(self) -> bool:
        """Whether it has few enough parameters to be a fit, no look-up."""
        return 2 * self.parameter_count <= self.rows

    def beats(self, other: Score) -> bool:
        """Tell whether it does better on the same blocks by more than a standard error."""
        gain = self.errors - other.errors
        # Each size is in as many blocks as a block has sizes: so much fewer are independent.
        return gain.size > 1 and float(gain.mean() + gain.std(ddof=1) / math.sqrt(gain.size / _BLOCK)) < 0


Fit = Callable[[Measured], dict[str, LinkModel]]


def fit_link(
    measured: Measured,
    statistic: str,
    model: str = "auto",
    method: str = "regression",
    injection: Parameter | None = None,
) -> Link:
    """Fit every model that the measured ways of sending allow, and choose one; ``model`` may name it.

    With the method ``table`` the piecewise model is the table itself (werner2023 section 4.4), else lines fitted to it.
    ``injection`` is the rate in bytes/s that many messages of a node share, where it was measured.
    Raises ValueError when the model that is asked for cannot be fitted.
    """
    fits = _fits(method, injection)
    fitted: dict[str, dict[str, LinkModel]] = {}
    left_out: dict[str, str] = {}
    scores: dict[str, Score] = {}
    for name, fit in fits.items():
        try:
            ways = fit(measured)
            _require_sensible(name, ways, measured)
        except ValueError as error:
            left_out[name] = str(error)
            continue
        rows = sum(way.sizes.size for way in measured.values())
        score = Score(_block_errors(fit, measured), _parameter_count(ways), rows, _misses(ways, measured))
        scores[name] = score
        fitted[name] = {
            way: dataclasses.replace(found, cross_validated_error=score.error if score.errors.size else None)
            for way, found in ways.items()
        }
    if model in left_out:
        raise ValueError(f"{left_out[model]}; choose another model")
    chosen, reason = _asked_for(model, scores) if model != "auto" else _choose(scores, left_out, measured)
    curves = {
        way: curve_of(measured[way], {name: ways[way] for name, ways in fitted.items()}, chosen, statistic) for way in measured
    }
    return Link(curves.pop("send"), curves, reason)


def _require_sensible(name: str, ways: Mapping[str, LinkModel], measured: Measured) -> None:
    """Raise ValueError for a model that gives a measured size no time or one below 0, as tables do that leap up and down."""
    for way, model in ways.items():
        for size in measured[way].sizes:
            if not -_LEAST_TIME_S <= model.time_s(int(size)) < math.inf:  # a table's own lines may end a rounding below 0
                raise ValueError(f"{name} would give messages of {int(size)} B a time below 0 or none")
        if not all(math.isfinite(parameter.value) for parameter in model.parameters.values()):
            raise ValueError(f"{name} finds no value for its parameters")


def _fits(method: str, injection: Parameter | None) -> dict[str, Fit]:
    lines = piecewise.interpolate if method == "table" else piecewise.fit
    return {
        hockney.NAME: lambda measured: {name: hockney.fit(way) for name, way in measured.items()},
        piecewise.NAME: lambda measured: {name: lines(way) for name, way in measured.items()},
        loggp.NAME: loggp.fit,
        max_rate.NAME: lambda measured: max_rate.fit(measured, injection),
        pchip.NAME: lambda measured: {name: pchip.fit(way) for name, way in measured.items()},
    }


def _parameter_count(ways: Mapping[str, LinkModel]) -> int:
    shared = next(iter(ways.values()))
    if shared.parameters:
        return len(shared.parameters)
    return sum(model.parameter_count or 0 for model in ways.values())


def _block_errors(fit: Fit, measured: Measured) -> Floats:
    """Return the mean error of the logarithms in each block of sizes left out; empty where too few were measured."""
    if min(way.sizes.size for way in measured.values()) < _LEAST_SIZES:
        return np.empty(0)
    inner = np.unique(np.concatenate([way.sizes for way in measured.values()]))[1:-1]
    errors = []
    for block in (inner[i : i + _BLOCK] for i in range(max(inner.size - _BLOCK + 1, 1))):
        left = {name: way.without(block) for name, way in measured.items()}
        try:
            ways = fit(left)
        except ValueError:  # what cannot be fitted without a block says nothing of it
            ways = {}
        seen = [
            abs(math.log(_time_s(ways[name], int(size)) / float(time_s))) if name in ways else _UNKNOWN
            for name, way in measured.items()
            for size, time_s in zip(way.sizes, way.times_s, strict=True)
            if size in block and left[name].sizes[0] < size < left[name].sizes[-1]
        ]
        if seen:
            errors.append(float(np.mean(seen)))
    return np.array(errors)


def _time_s(model: LinkModel, size_bytes: int) -> float:
    """Return a time of which there is a logarithm."""
    time_s = model.time_s(size_bytes)
    return min(max(time_s, _LEAST_TIME_S), _MOST_TIME_S) if math.isfinite(time_s) else _MOST_TIME_S


def _misses(ways: Mapping[str, LinkModel], measured: Measured) -> bool:
    """Tell whether a model misses a measured row by more than the row's own uncertainty.

    Of rows that say nothing of it some is assumed, where there are too few to test a model otherwise.
    """
    few = np.unique(np.concatenate([way.sizes for way in measured.values()])).size < _LEAST_TESTED
    return any(
        abs(math.log(_time_s(ways[name], point.size_bytes) / point.time_s))
        > _MOST_MISSED * (point.log_half_width or (_ASSUMED if few else math.inf))
        for name, way in measured.items()
        for point in way.points()
    )


def _choose(scores: Mapping[str, Score], left_out: Mapping[str, str], measured: Measured) -> tuple[str, str]:
    """Return the model that predictions are to use, and why, in words."""
    not_fitted = "".join(f"; {reason}" for reason in left_out.values())
    if pchip.NAME not in scores:  # then there is nothing to choose from
        raise ValueError(left_out[pchip.NAME])
    table = scores[pchip.NAME]
    sizes = np.unique(np.concatenate([way.sizes for way in measured.values()])).size
    fits = {name: score for name, score in scores.items() if name != pchip.NAME and score.is_fit and not score.misses}
    missing = [name for name, score in scores.items() if name != pchip.NAME and score.misses]
    if missing:
        verb = "misses" if len(missing) == 1 else "miss"
        not_fitted = f". {', '.join(missing)} {verb} measured points by more than their noise{not_fitted}"
    if sizes < _LEAST_TESTED:
        few = f"{sizes} sizes are too few to test models ({_LEAST_TESTED} needed)"
        if hockney.NAME in fits:
            return hockney.NAME, f"{few}, and one line misses no point by more than its noise{not_fitted}"
        return pchip.NAME, f"{few}{not_fitted}"
    better = [name for name, score in fits.items() if score.beats(table)]
    chosen = min(better, key=lambda name: scores[name].error, default=pchip.NAME)
    if chosen == pchip.NAME:
        why = "no model with few parameters beats the interpolated table on held-out sizes by more than a standard error"
    else:
        why = f"{chosen} beats the interpolated table on held-out sizes by more than a standard error"
    if max(np.abs(np.log(pchip.curve(way.sizes, way.times_s)(size) / time_s)) for way in measured.values()
           for size, time_s in zip(way.sizes, way.times_s, strict=True)) > _NOT_MONOTONE:  # fmt: skip
        why += ". Times are not monotone: noise"
    return chosen, why + not_fitted


def _asked_for(model: str, scores: Mapping[str, Score]) -> tuple[str, str]:
    told = f", {100 * scores[model].error:.1f} % off on held-out sizes" if scores[model].errors.size else ""
    return model, f"the model that was asked for{told}"
