"""What each rank does with its time, and how even steps are: which rank computes longest in each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.steps import Steps
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_count, format_share, format_time


@record
class RankTime(JsonRecord):
    """A rank: the mean over the steps that are looked at, or the run where no step was found."""

    rank: int = key("rank in MPI_COMM_WORLD")
    host: str | None = key("host that the rank runs on; null: unknown")
    compute_s: float = key("time outside MPI")
    mpi_s: float = key("time in MPI")
    wait_s: float | None = key("part of mpi_s in which it waits for a late sender or receiver; null: unknown")
    messages: float = key("messages that it sends")
    bytes: float = key("bytes that it sends")


@record
class Balance(JsonRecord):
    """Load balance of each step that is looked at: mean over greatest time outside MPI of the ranks; 1: even."""

    load_balance: float = key("the median step")
    load_balance_lo: float = key("the least even step")
    load_balance_hi: float = key("the most even step")
    worst_step: int = key("number of the least even step, from 0 on")
    worst_rank: int = key("rank that computes longest in that step")
    slowest_rank: int = key("rank that computes longest in most steps")
    slowest_steps: int = key("in how many steps it does")
    steps: int = key("how many steps are looked at")

    @property
    def words(self) -> str:
        low, high = format_share(self.load_balance_lo), format_share(self.load_balance_hi)
        if low == high:
            return f"load balance {low} in every step"
        return (
            f"load balance {format_share(self.load_balance)} in the median step, {low} to {high}; step {self.worst_step} is "
            f"the least even, where rank {self.worst_rank} computes longest; "
            f"rank {self.slowest_rank} does so in {self.slowest_steps} of {format_count(self.steps, 'step')}"
        )


def balance_of(steps: Steps, events: Mapping[int, Array]) -> Balance | None:
    """Return how even the steps are; None where ranks compute nothing."""
    compute_ns = computing_ns(steps, events)
    most, mean = compute_ns.max(axis=1), compute_ns.mean(axis=1)
    if not mean.any():
        return None
    balance = np.where(most > 0, mean / np.maximum(most, 1e-30), 1.0)
    slowest = np.asarray(sorted(events))[compute_ns.argmax(axis=1)]
    often, worst = np.bincount(slowest), int(balance.argmin())
    return Balance(
        float(np.median(balance)), float(balance.min()), float(balance.max()), int(steps.sample[worst]), int(slowest[worst]),
        int(often.argmax()), int(often.max()), len(balance),
    )  # fmt: skip


def computing_ns(steps: Steps, events: Mapping[int, Array]) -> Array:
    """Return the time outside MPI in each step that is looked at, of each rank (steps x ranks)."""
    return np.stack([_computing(steps, events[rank], at) for at, rank in enumerate(sorted(events))], axis=1)


def _computing(steps: Steps, events: Array, column: int) -> Array:
    """Return the time of a rank outside MPI in each step that is looked at, up to the first call of the next one."""
    ended = np.maximum.accumulate(events["end_ns"])
    gaps = np.concatenate(([0], np.maximum(events["start_ns"][1:] - ended[:-1], 0), [0]))
    upto = np.cumsum(gaps)
    return np.asarray(upto[steps.ends[steps.sample, column]] - upto[steps.begins[steps.sample, column]])


def spread_words(name: str, values_s: Array) -> str:
    """Return the least, the median and the greatest of the ranks' times: ``compute 1.2 / 1.5 / 3.1 ms``."""
    least, middle, most = (format_time(float(f(values_s))) for f in (np.min, np.median, np.max))
    unit = most.rpartition(" ")[2]
    parts = [part.removesuffix(f" {unit}") for part in (least, middle)]
    return f"{name} {' / '.join([*parts, most])}"
