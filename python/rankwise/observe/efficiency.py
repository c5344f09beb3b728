"""Parallel efficiency and its factors, as POP defines them (https://pop-coe.eu/node/69).

T: the time of the steps; u: the useful time of each rank, which it spends outside MPI; T_ideal: the time of the steps on a
network that costs nothing. Load balance = mean u / max u, serialisation = max u / T_ideal, transfer = T_ideal / T. The product
of these is the parallel efficiency, mean u / T. T_ideal is found by a replay of the recorded calls: what is computed between
two calls takes its time, a receive ends when its send has begun, a collective when those ranks have come whose data it needs.

And what each rank does with its time, and how even steps are: which rank computes longest in each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.levels import actions_of
from rankwise.observe.needs import begun_ns, completed
from rankwise.observe.record import COLLECTIVE, Record
from rankwise.observe.steps import Steps
from rankwise.observe.summary import mpi_seconds
from rankwise.observe.waits import EARLY_REDUCE, LATE_BROADCAST, kind_of_collective
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_count, format_share, format_time


@record
class Efficiencies(JsonRecord):
    """Of the steps that were recorded; 1: nothing is lost."""

    parallel: float = key("mean useful time of a rank over the steps' time: the product of the other three")
    load_balance: float = key("mean useful time of a rank over the greatest")
    serialisation: float = key("greatest useful time of a rank over the time on a network that costs nothing")
    transfer: float = key("time on a network that costs nothing over the steps' time")
    busiest_rank: int = key("rank with the greatest useful time")

    @property
    def words(self) -> str:
        """The efficiencies in a line."""
        factors = (self.parallel, self.load_balance, self.serialisation, self.transfer)
        whole, *parts = map(format_share, factors)
        return "{} = load balance {} x serialisation {} x transfer {}".format(whole, *parts)


def efficiencies(steps: Steps, events: Mapping[int, Array], calls: list[str]) -> Efficiencies | None:
    """Return the efficiencies of the steps that are looked at; ``calls``: the names that events number. None where the replay
    is not faster than the program was (what ranks wait for is not in the record)."""
    ranks = {rank: _useful(steps, events, rank) for rank in events}
    useful_s = np.array([of_rank.total_s for of_rank in ranks.values()])
    time_s, ideal_s = float(steps.spans_s(events).max()), _ideal_s(ranks, calls)
    if ideal_s is None or not 0 < useful_s.max() <= ideal_s * (1 + 1e-9) or ideal_s > time_s:
        return None
    busiest = float(useful_s.max())
    return Efficiencies(
        float(useful_s.mean()) / time_s,
        float(useful_s.mean()) / busiest,
        busiest / ideal_s,
        ideal_s / time_s,
        list(ranks)[int(useful_s.argmax())],
    )


@dataclass(frozen=True)
class _Useful:
    """A rank's calls in the steps, one after the other: ``before_s`` of each event, how long the rank had computed before it,
    and of all of them together."""

    events: Array
    before_s: Array
    total_s: float


def _useful(steps: Steps, events: Mapping[int, Array], rank: int) -> _Useful:
    column, of_rank = sorted(events).index(rank), events[rank]
    begins, ends = steps.begins[steps.sample, column], steps.ends[steps.sample, column]
    called = ends > begins
    begins, ends = begins[called], ends[called]
    lengths = ends - begins
    first = np.cumsum(lengths) - lengths
    step = np.repeat(np.arange(len(lengths)), lengths)
    own = of_rank[np.arange(len(step)) + (begins - first)[step]]
    if not len(own):
        return _Useful(own, np.zeros(0), 0.0)
    # Several events of one call follow each other: none of them begins behind the end of the one before in its step.
    order = np.argsort(own["end_ns"], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(own))
    ended_ns = own["end_ns"][order[np.maximum.accumulate(step * len(own) + place) % len(own)]]
    next_ns = np.append(own["start_ns"][1:], 0)
    next_ns[first + lengths - 1] = begun_ns(of_rank, ends)
    computed_s = np.cumsum(np.maximum(next_ns - ended_ns, 0) * 1e-9)
    return _Useful(own, np.append(0.0, computed_s[:-1]), float(computed_s[-1]))


_ALL = -1


def _ideal_s(ranks: Mapping[int, _Useful], calls: list[str]) -> float | None:
    """Return how long the steps take where calls wait for their partners alone; None where some never come."""
    ops = {rank: _ops(rank, of_rank.events, calls) for rank, of_rank in ranks.items()}
    missing = Counter(what for of_rank in ops.values() for _, is_arrival, what in of_rank if is_arrival)
    at, delay_s = dict.fromkeys(ops, 0), dict.fromkeys(ops, 0.0)
    comes = {(what, rank) for rank, of_rank in ops.items() for _, is_arrival, what in of_rank if is_arrival}
    # Of each thing that is waited for, when ranks came, and when the last of all; and who waits for one of them, or for all.
    came_s: dict[tuple[tuple[Any, ...], int], float] = {}
    waiting: dict[tuple[tuple[Any, ...], int], list[int]] = defaultdict(list)
    going = list(ops)
    while going:
        rank = going.pop()
        while at[rank] < len(ops[rank]):
            place, is_arrival, what = ops[rank][at[rank]]
            now_s = float(ranks[rank].before_s[place]) + delay_s[rank]
            if is_arrival:
                came_s[what, rank] = now_s
                came_s[what, _ALL] = max(came_s.get((what, _ALL), now_s), now_s)
                missing[what] -= 1
                going += waiting.pop((what, rank), [])
                going += waiting.pop((what, _ALL), []) if missing[what] == 0 else []
            elif (whom := _waits_for(what, rank, comes)) is not None:
                if missing[what] if whom == _ALL else (what, whom) not in came_s:
                    waiting[what, whom].append(rank)
                    break
                delay_s[rank] += max(0.0, came_s[what, whom] - now_s)
            at[rank] += 1
    if any(at[rank] < len(ops[rank]) for rank in ops):
        return None
    return max(of_rank.total_s + delay_s[rank] for rank, of_rank in ranks.items())


def _waits_for(what: tuple[Any, ...], rank: int, comes: Set[tuple[tuple[Any, ...], int]]) -> int | None:
    """Return the rank that must have come before a rank goes on; _ALL: all that come, None: nobody."""
    if what[0] == "message":
        return int(what[1][0])
    root, kind = what[3], kind_of_collective(what[4], what[3])
    if kind == LATE_BROADCAST:
        return root if (what, root) in comes else None
    return None if kind == EARLY_REDUCE and rank != root else _ALL


def _ops(rank: int, events: Array, calls: list[str]) -> list[tuple[int, bool, tuple[Any, ...]]]:
    """Return what a rank does, in order: at which event, whether it comes to something or waits for it, and what that is."""
    sent: dict[tuple[int, ...], int] = defaultdict(int)
    found: list[tuple[int, int, bool, tuple[Any, ...]]] = []
    for place, is_send, message, number in actions_of(rank, events):
        found.append((place, 0, is_send, ("message", message, sent[message] if is_send else number)))
        sent[message] += is_send
    at = np.flatnonzero(events["kind"] == COLLECTIVE)
    ends = np.where(events["request"][at] == 0, at, completed(events, at))
    count: dict[int, int] = defaultdict(int)
    for place, end in zip(at.tolist(), ends.tolist(), strict=True):
        comm = int(events["comm"][place])
        what = ("collective", comm, count[comm], int(events["peer"][place]), calls[events["call"][place]])
        count[comm] += 1
        found.append((place, 0, True, what))
        if end >= 0:
            found.append((end, 1, False, what))
    found.sort(key=lambda one: one[:2])
    return [(place, is_arrival, what) for place, _, is_arrival, what in found]


@record
class Talp(JsonRecord):
    """What TALP tells of the region "Global", from MPI_Init to MPI_Finalize; a rank counts as a processor. Times are in ns."""

    ranks: int = key("number of ranks", name="numMpiRanks")
    cpus: int = key("processors: the ranks", name="numCpus")
    nodes: int = key("number of nodes", name="numNodes")
    calls: int = key("calls of MPI, of all ranks together", name="numMpiCalls")
    elapsed: int = key("time from MPI_Init to MPI_Finalize of the longest rank", name="elapsedTime")
    useful: int = key("time outside MPI, of all ranks together", name="usefulTime")
    mpi: int = key("time in MPI, of all ranks together", name="mpiTime")
    parallel: float = key("mean useful time over the elapsed time", name="parallelEfficiency")
    mpi_parallel: float = key("parallelEfficiency, since only MPI is counted", name="mpiParallelEfficiency")
    communication: float = key("greatest useful time over the elapsed time", name="mpiCommunicationEfficiency")
    load_balance: float = key("mean useful time over the greatest", name="mpiLoadBalance")
    load_balance_in: float = key("greatest mean useful time of a node over the greatest of a rank", name="mpiLoadBalanceIn")
    load_balance_out: float = key("mean useful time over the greatest mean of a node", name="mpiLoadBalanceOut")


def talp_of(record: Record) -> Talp | None:
    """Return the figures of the whole run by the definitions of TALP (DLB), to which every moment outside MPI is useful; None
    where the time in MPI is not known."""
    total_s = np.asarray(record.header.get("seconds_of_rank", []), float)
    if len(total_s) != record.ranks or not record.call_ns.size:
        return None
    mpi_s = np.minimum(mpi_seconds(record), total_s)
    useful_s, elapsed_s = total_s - mpi_s, float(total_s.max())
    if elapsed_s <= 0 or not useful_s.any():
        return None
    nodes = np.unique(record.node_of_rank, return_inverse=True)[1].reshape(-1)
    of_node = float((np.bincount(nodes, useful_s) / np.bincount(nodes)).max())
    mean, most = float(useful_s.mean()), float(useful_s.max())
    elapsed, useful, mpi = (round(1e9 * float(seconds)) for seconds in (elapsed_s, useful_s.sum(), mpi_s.sum()))
    return Talp(
        record.ranks, record.ranks, int(nodes.max()) + 1, int(record.call_counts.sum()), elapsed, useful, mpi,
        mean / elapsed_s, mean / elapsed_s, most / elapsed_s, mean / most, of_node / most, mean / of_node,
    )  # fmt: skip


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
