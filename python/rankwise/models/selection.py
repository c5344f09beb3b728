"""All models fitted to one link class, tested on sizes that they have not seen, and the choice between them in words.

The test leaves out one message size at a time, in all ways of sending at once: leaving out single rows would flatter a
model that knows the size from another way. Of the models within one standard error of the best, the one with fewest
parameters is taken.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rankwise.machine.link import LinkModel, Parameter
from rankwise.machine.profile import Choice, Link
from rankwise.models import hockney, loggp, max_rate, piecewise
from rankwise.models.curve import curve_of
from rankwise.models.measured import Measured

MODELS = (hockney.NAME, piecewise.NAME, loggp.NAME, max_rate.NAME)
METHODS = ("regression", "table")
_LEAST_SIZES = 4  # for a test: three are left to fit


@dataclass(frozen=True)
class Score:
    """How far a model is off on unseen sizes: mean over sizes and its standard error, and its parameters."""

    error: float
    standard_error: float
    parameter_count: int


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
        count = _parameter_count(ways)
        score = _cross_validate(fit, measured, count)
        if score is not None:
            scores[name] = score
        fitted[name] = {
            way: dataclasses.replace(found, cross_validated_error=None if score is None else score.error)
            for way, found in ways.items()
        }
    if model in left_out:
        raise ValueError(f"{left_out[model]}; choose another model")
    choice = _asked_for(model, scores) if model != "auto" else _choose(scores, left_out)
    curves = {
        way: curve_of(
            measured[way], {name: ways[way] for name, ways in fitted.items()}, choice.model, statistic
        )
        for way in measured
    }
    return Link(curves.pop("send"), curves, choice)


def _require_sensible(name: str, ways: Mapping[str, LinkModel], measured: Measured) -> None:
    """Raise ValueError for a model that gives a measured size a time below 0, as tables do that leap up and down."""
    for way, model in ways.items():
        for size in measured[way].sizes:
            if model.time_s(int(size)) < 0:
                raise ValueError(f"{name} would give messages of {int(size)} B a time below 0")


def _fits(method: str, injection: Parameter | None) -> dict[str, Fit]:
    lines = piecewise.interpolate if method == "table" else piecewise.fit
    return {
        hockney.NAME: lambda measured: {name: hockney.fit(way) for name, way in measured.items()},
        piecewise.NAME: lambda measured: {name: lines(way) for name, way in measured.items()},
        loggp.NAME: loggp.fit,
        max_rate.NAME: lambda measured: max_rate.fit(measured, injection),
    }


def _parameter_count(ways: Mapping[str, LinkModel]) -> int:
    shared = next(iter(ways.values()))
    if shared.parameters:
        return len(shared.parameters)
    return sum(model.parameter_count or 0 for model in ways.values())


def _cross_validate(fit: Fit, measured: Measured, parameter_count: int) -> Score | None:
    """Return the score, or None where too few sizes were measured to leave one out."""
    if min(way.sizes.size for way in measured.values()) < _LEAST_SIZES:
        return None
    errors = []
    for size in np.unique(np.concatenate([way.sizes for way in measured.values()])):
        ways = fit({name: way.without(size) for name, way in measured.items()})
        seen = [
            abs(ways[name].time_s(int(size)) / float(way.times_s[way.sizes == size][0]) - 1)
            for name, way in measured.items()
            if size in way.sizes
        ]
        errors.append(float(np.mean(seen)))
    return Score(float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(len(errors))), parameter_count)


def _choose(scores: Mapping[str, Score], left_out: Mapping[str, str]) -> Choice:
    not_fitted = "".join(f"; {reason}" for reason in left_out.values())
    if not scores:
        return Choice(
            piecewise.NAME, f"fewer than {_LEAST_SIZES} sizes cannot test a model: the table's lines are taken{not_fitted}"
        )
    best = min(scores, key=lambda name: scores[name].error)
    limit = scores[best].error + scores[best].standard_error
    within = [name for name in scores if scores[name].error <= limit]
    chosen = min(within, key=lambda name: (scores[name].parameter_count, scores[name].error))
    told = ", ".join(
        f"{name} {100 * score.error:.1f} % ({score.parameter_count} parameters)" for name, score in scores.items()
    )
    why = f"on sizes not seen: {told}; {best} is best"
    if chosen != best:
        why += (
            f", but {chosen} is within one standard error ({100 * scores[best].standard_error:.1f} %) of it with fewer "
            "parameters"
        )
    return Choice(chosen, why + not_fitted)


def _asked_for(model: str, scores: Mapping[str, Score]) -> Choice:
    told = f": {100 * scores[model].error:.1f} % off on sizes not seen" if model in scores else ""
    return Choice(model, f"asked for{told}")
