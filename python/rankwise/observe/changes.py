"""What changed between two runs of a program: its step, and in the step parts of the time, call sites and ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.record import Record, begins_call
from rankwise.observe.steps import Steps
from rankwise.observe.wait_causes import labels_of, place_of
from rankwise.records import Record as JsonRecord
from rankwise.records import computed, key, record
from rankwise.statistics import ratio_interval

_BLOCKS, _LEAST_STEPS = 20, 6  # steps that follow each other are alike: blocks of them are compared
_SAME = 0.05  # share up to which both ends of the ratio's interval are no change


@record
class RunChange(JsonRecord):
    """A time of both runs: of a step, the mean over ranks; of a rank, its time outside MPI."""

    of: str = key("step, part, site or rank")
    what: str = key("what takes the time")
    a_s: float = key("time in run A")
    b_s: float = key("time in run B")
    difference_s = computed("B less A", float, lambda of: of.b_s - of.a_s)


@record
class Ratio(JsonRecord):
    """How many times as long a step of B takes."""

    ratio: float | None = key("median step of B over that of A; null: a run has no steps, or few")
    ratio_lo: float | None = key()
    ratio_hi: float | None = key()

    @property
    def verdict(self) -> str:
        """``slower``, ``faster``, ``same`` or ``unclear``."""
        if self.ratio is None or self.ratio_lo is None or self.ratio_hi is None:
            return "unclear"
        if 1 - _SAME <= self.ratio_lo and self.ratio_hi <= 1 + _SAME:
            return "same"
        return "slower" if self.ratio_lo > 1 else "faster" if self.ratio_hi < 1 else "unclear"


def ratio_of(a: Steps | None, b: Steps | None) -> Ratio:
    """Return how many times as long the steps of B take, with the interval of both runs' own scatter."""
    if a is None or b is None or min(len(a.durations_s), len(b.durations_s)) < _LEAST_STEPS:
        return Ratio(None, None, None)
    blocks = [
        np.array([block.mean() for block in np.array_split(of.durations_s, min(_BLOCKS, len(of.durations_s) // 2))])
        for of in (a, b)
    ]
    return Ratio(*ratio_interval(blocks[1], blocks[0]))


def site_times_s(record: Record, steps: Steps, events: Mapping[int, Array]) -> dict[str, float]:
    """Return the time of a step at each call site, the mean over ranks; where no site is known, in each call."""
    labels, found = labels_of(record, steps, events), dict[int, float]()
    for rank in events:
        window = steps.window(events, rank)
        new = begins_call(window)
        alike, which = np.unique(labels[rank][new], return_inverse=True)
        sums = np.bincount(which.reshape(-1), (window["end_ns"] - window["start_ns"])[new])
        for label, time_ns in zip(alike.tolist(), sums.tolist(), strict=True):
            found[label] = found.get(label, 0.0) + time_ns
    by_place: dict[str, float] = {}
    for label, time_ns in found.items():
        place = place_of(record, label).place
        by_place[place] = by_place.get(place, 0.0) + time_ns * 1e-9 / (len(events) * len(steps.sample))
    return by_place


def changed(of: str, a_s: Mapping[str, float], b_s: Mapping[str, float]) -> list[RunChange]:
    """Return the changes of what stands in either run, the largest first."""
    every = [RunChange(of, what, a_s.get(what, 0.0), b_s.get(what, 0.0)) for what in {**a_s, **b_s}]
    return sorted(every, key=lambda one: -abs(one.b_s - one.a_s))
