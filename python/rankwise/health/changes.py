"""When a figure changed its level for good: change points of a series, and what else changed on the machine then."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankwise.arrays import Floats
from rankwise.health.record import Session
from rankwise.records import Record, key, record

THRESHOLD = 5.8  # at most 1 % false ones in series of 20 to 100 sessions whose neighbours correlate by 0.3
LEAST = 5  # sessions on either side
_TRIMMED = 0.9  # of the differences, the smallest: what a few steps and spikes leave alone
_MEAN_TRIMMED = 0.6574  # of the absolute values of normal noise of deviation 1
_LEAST_SIGMA = 0.002  # of logarithms: rounding is no scatter
_PLACED_WITHIN = 2  # sessions


@record
class Change(Record):
    """A figure's level before and from a session on; ``causes`` are what else changed then, in words."""

    figure: str = key("key of the figure")
    at: str = key("when, UTC")
    ratio: float = key("how many times as long")
    causes: tuple[str, ...] = key("what of the key changed then, in words")


def change_points(values: Floats) -> list[int]:
    """Return where a new level begins in a series (1-D, logarithms), by the greatest standardised difference of means.

    Its scatter is that of neighbours' differences, the largest tenth left out. Split there, both sides are looked at again.
    """
    if values.size < 2 * LEAST:
        return []
    differences = np.sort(np.abs(np.diff(values)))
    mean = float(differences[: max(1, int(_TRIMMED * differences.size))].mean())
    sigma = max(mean / (_MEAN_TRIMMED * math.sqrt(2)), _LEAST_SIGMA)

    def within(first: int, last: int) -> list[int]:
        count = last - first
        if count < 2 * LEAST:
            return []
        k = np.arange(LEAST, count - LEAST + 1)
        sums = np.cumsum(values[first:last])
        before, after = sums[k - 1] / k, (sums[-1] - sums[k - 1]) / (count - k)
        z = np.abs(after - before) / (sigma * np.sqrt(1 / k + 1 / (count - k)))
        at = int(np.argmax(z))
        if z[at] <= THRESHOLD:
            return []
        split = first + int(k[at])
        return [*within(first, split), split, *within(split, last)]

    return within(0, values.size)


def changes(sessions: Sequence[Session]) -> list[Change]:
    """Return the changes of all figures over the sessions of one machine that can be used, the oldest first."""
    found = []
    for figure in dict.fromkeys(name for session in sessions for name in session.value):
        of_figure = [session for session in sessions if figure in session.value and session.verdict != "unusable"]
        values = np.array([session.value[figure] for session in of_figure])
        points = change_points(values)
        for i, point in enumerate(points):
            before = values[points[i - 1] if i else 0 : point]
            after = values[point : points[i + 1] if i + 1 < len(points) else values.size]
            ratio = math.exp(float(after.mean() - before.mean()))
            found.append(Change(figure, of_figure[point].at, ratio, _causes(of_figure, point)))
    return sorted(found, key=lambda change: change.at)


def _causes(sessions: Sequence[Session], point: int) -> tuple[str, ...]:
    """Say what of the key's record differs between neighbours about a change, which is placed within two sessions."""
    near = range(max(1, point - _PLACED_WITHIN), min(len(sessions), point + _PLACED_WITHIN + 1))
    causes = []
    for i in near:
        old, new = ({**session.key, "kernels": session.digest} for session in (sessions[i - 1], sessions[i]))
        causes += [
            f"{name} {old.get(name)} → {new.get(name)}"
            for name in dict.fromkeys([*old, *new])
            if old.get(name) != new.get(name)
        ]
    return tuple(causes)
