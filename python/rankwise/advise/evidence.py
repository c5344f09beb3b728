"""What a record tells of a program before anything is advised: where its time goes, by rank, and one step's messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.arrays import Array
from rankwise.mapping.traffic import Traffic, traffic_of
from rankwise.observe.collective_times import CollectiveTime, collective_times
from rankwise.observe.collectives import Selected
from rankwise.observe.efficiency import Balance, Efficiencies, RankTime, balance_of, efficiencies
from rankwise.observe.epochs import accesses, one_sided_untold
from rankwise.observe.needs import TooLongError
from rankwise.observe.pattern import Pattern, find_pattern, seen_of
from rankwise.observe.periods import Span
from rankwise.observe.phases import PhasedStep, first_events, listed_until_s, phased, steps_of
from rankwise.observe.record import BLOCKING_SEND, SEND, WINDOW_EVENTS, Record
from rankwise.observe.sizes import MessageSizes, message_sizes
from rankwise.observe.steps import Steps
from rankwise.observe.summary import crowded_host, mpi_seconds
from rankwise.observe.timeline import Timeline, timeline_of
from rankwise.observe.wait_causes import Waiting, labels_of, waiting_of
from rankwise.observe.waits import Waits, analyse
from rankwise.progress import meter
from rankwise.units import format_time

_MANY = 2_000_000  # events, that take seconds to look through
_MEAN_APART = 2  # times the median step, from where on the mean is named, too


@dataclass(frozen=True)
class Shares:
    """The seconds of a step (or of the run, where no step was found), a figure a rank, that add up to ``total_s``.

    ``waiting_s``: in MPI for a partner that is late, ``moving_s``: the rest of the time in MPI; where waiting cannot be told,
    all of it. ``blamed_s``: the waiting of others that each rank caused.
    """

    total_s: Array
    computing_s: Array
    moving_s: Array
    waiting_s: Array
    blamed_s: Array
    split: bool

    def share(self, part: Array) -> float:
        """Return the share of all ranks' time."""
        return float(part.sum() / self.total_s.sum()) if self.total_s.sum() > 0 else 0.0


@dataclass(frozen=True)
class Evidence:
    """What was seen of a program; ``per`` is ``step`` or ``run``, and ``traffic`` what is sent in one of those,

    ``schedule`` in which order, where a step was found.
    """

    record: Record
    name: str
    events: Mapping[int, Array]  # of each rank, from the beginning of the program on
    pattern: Pattern
    steps: Steps | None
    waits: Waits | None
    shares: Shares
    traffic: Traffic
    schedule: PhasedStep | None
    notes: tuple[str, ...]
    timeline: Timeline | None = None  # of a step
    sizes: MessageSizes = MessageSizes(())
    efficiencies: Efficiencies | None = None  # of the steps
    balance: Balance | None = None  # of the steps

    @cached_property
    def waiting(self) -> Waiting | None:
        """Where ranks wait in the steps, and why; None where no wait is known."""
        if self.steps is None or self.waits is None or self.waits.why_not is not None:
            return None
        return waiting_of(self.record, self.steps, self.events, self.waits)

    @cached_property
    def collectives(self) -> list[CollectiveTime] | None:
        """Time in collective calls of a step; None where no step was found."""
        if self.steps is None or self.waits is None:
            return None
        return collective_times(self.record, self.steps, self.events, self.waits)

    @property
    def collective_algorithms(self) -> list[Selected] | None:
        """What the library, or each that it may be, selects for the collectives of a step; None where no step was found."""
        if self.schedule is None:
            return None
        return list(dict.fromkeys(one for step in (self.schedule, *self.schedule.others) for one in step.selected))

    @property
    def per(self) -> str:
        return "run" if self.steps is None else "step"

    @property
    def by_rank(self) -> list[RankTime]:
        """What each rank does in a step, or in the run."""
        shares, of, hosts = self.shares, self.traffic, self.record.hosts
        messages, volume = (np.bincount(of.source, sent, of.ranks).tolist() for sent in (of.messages, of.bytes))
        return [
            RankTime(
                rank, hosts[node] if 0 <= node < len(hosts) else None, float(shares.computing_s[rank]),
                float(shares.moving_s[rank] + shares.waiting_s[rank]), float(shares.waiting_s[rank]) if shares.split else None,
                messages[rank], volume[rank],
            )
            for rank, node in enumerate(self.record.node_of_rank.tolist())
        ]  # fmt: skip

    @property
    def rounds(self) -> int:
        """How often what prices a placement is carried out in a step, or in the run."""
        return self.traffic.rounds if self.schedule is None else 1

    @property
    def time_s(self) -> float:
        """How long a step, or the run, takes."""
        return float(np.median(self.shares.total_s)) if self.steps is None else float(np.median(self.steps.durations_s))

    @property
    def length(self) -> str:
        """How long a step, or the run, takes; where few long steps make the mean, which shares are of, another time, both."""
        mean_s = float(self.shares.total_s.mean())
        if self.steps is None or mean_s < _MEAN_APART * self.time_s:
            return f"{self.per} of {format_time(self.time_s)}"
        return f"{self.per} of {format_time(mean_s)} (mean; median {format_time(self.time_s)})"

    @property
    def doubt(self) -> float:
        """Half the relative 95 % interval of a step's mean time, by how much steps differ; 1 where there is one."""
        if self.steps is None or len(self.steps.durations_s) < 3:
            return 1.0
        durations = self.steps.durations_s
        return float(min(1.0, 1.96 * durations.std(ddof=1) / durations.mean() / len(durations) ** 0.5))

    @property
    def crowded(self) -> str | None:
        """Say which host had more ranks than cores; None where none had."""
        worst = crowded_host(self.record)
        return None if worst is None else f"{worst[1]} ranks ran on the {worst[2]} cores of {worst[0]}"


def evidence_of(record: Record, name: str, span_s: Span | None = None) -> Evidence:
    """Find the pattern, the step and the waiting in a record; ``span_s``: in steps from when to when."""
    whole = traffic_of(record, name)
    events = {rank: of_rank for rank, of_rank in first_events(record).items() if len(of_rank)}
    notes = list(map(str, record.header.get("notes", [])))
    threads = " (several threads may call MPI at once, whose calls mix)" if record.header.get("threaded") else ""
    steps, why = None, f"no step repeats on all ranks{threads}"
    many = sum(map(len, events.values())) > _MANY
    with meter("looking for the step that repeats", 1) if many else nullcontext():
        try:
            steps = steps_of(record, events, span_s)
        except TooLongError as error:
            why = str(error)
    if (until_s := listed_until_s(events)) is not None:
        first = f"the first {WINDOW_EVENTS:,} calls of a rank ({format_time(until_s)})"
        notes.append(f"only {first} are listed; later ones are counted")
    waits, shares, traffic, schedule, line = None, _shares_of_run(record), whole, None, None
    factors, balance = None, None
    if steps is not None:
        window = {rank: steps.window(events, rank) for rank in events}
        known = record.node_of_rank if (record.node_of_rank >= 0).all() else None
        apart = None if known is None else (known, _uncertainty_s(record))
        waits = analyse(window, record.ranks, apart, record.header["calls"], labels_of(record, steps, events))
        if waits.why_not is not None:
            notes.append(f"wait and transfer: {waits.why_not}")
        shares = _shares_of_steps(steps, events, waits)
        traffic = _traffic_of_steps(whole, steps, window)
        schedule = phased(events, steps, record)
        line = timeline_of(events, steps) if waits.why_not is None else None
        factors, balance = efficiencies(steps, events, record.header["calls"]), balance_of(steps, events)
        notes += schedule.notes
        if one_sided_untold(events):
            notes.append("what ranks put and fetch one-sided is not in the step: 'rankwise map --observed' counts it")
    elif events:
        notes.append(f"{why}: times are of the whole run")
    pattern = find_pattern(whole, seen_of(record, whole, None if steps is None else traffic, steps, events))
    some = events if steps is None and not many else {} if steps is None else window
    sizes = message_sizes(record, some if waits is None or waits.why_not is None else {})
    return Evidence(
        record, name, events, pattern, steps, waits, shares, traffic, schedule, tuple(notes), line, sizes, factors, balance
    )


def controlled_span(record: Record) -> Span | None:
    """Return from when to when a program had switched profiling on by MPI_Pcontrol; None where it did not.

    A level above 0 switches it on, 0 off; before the first call it is on, unless that switches it on (MPI 4.1, 15.2.4). Of
    several such times it is from the first to the last.
    """
    calls = record.header.get("calls", [])
    if "MPI_Pcontrol" not in calls:
        return None
    since_s, until_s = 0.0, float(record.header.get("seconds", 0.0))
    for events in record.events.values():
        mine = events[events["call"] == calls.index("MPI_Pcontrol")]
        on = mine[mine["tag"] > 0]
        off = mine[(mine["tag"] == 0) & (mine["start_ns"] > (on["end_ns"][0] if len(on) else 0))]
        since_s = max(since_s, float(on["end_ns"][0]) * 1e-9 if len(on) else 0.0)
        until_s = min(until_s, float(off["start_ns"][-1]) * 1e-9 if len(off) else until_s)
    return (since_s, until_s) if since_s < until_s else None


def _shares_of_run(record: Record) -> Shares:
    total = np.asarray(record.header.get("seconds_of_rank") or [record.header.get("seconds", 0.0)] * record.ranks, float)
    moving = np.minimum(mpi_seconds(record), total)
    nothing = np.zeros(record.ranks)
    return Shares(total, total - moving, moving, nothing, nothing, False)


def _uncertainty_s(record: Record) -> float:
    """Return by how much the clocks of two hosts may differ; without end where that is not known."""
    of_hosts = record.header.get("clock_uncertainty_ns")
    if len(record.hosts) < 2:
        return 0.0
    if not isinstance(of_hosts, list) or None in of_hosts:
        return math.inf
    return 1e-9 * float(sum(sorted(of_hosts)[-2:]))


def _shares_of_steps(steps: Steps, events: Mapping[int, Array], waits: Waits) -> Shares:
    count = len(steps.sample)
    total = np.maximum(steps.spans_s(events), waits.in_calls_s) / count
    in_calls = waits.in_calls_s / count
    waiting = waits.waiting_s.sum(axis=0) / count
    if split := waits.why_not is None:
        return Shares(total, total - in_calls, in_calls - waiting, waiting, waits.blamed_s / count, split)
    nothing = np.zeros(len(total))
    return Shares(total, total - in_calls, in_calls, nothing, nothing, split)


def _traffic_of_steps(whole: Traffic, steps: Steps, window: Mapping[int, Array]) -> Traffic:
    """Return what a step sends between ranks: the mean of the steps' messages."""
    columns: list[Array] = [np.empty((0, 3), np.int64)]
    for rank, of_rank in window.items():
        sent = of_rank[np.isin(of_rank["kind"], (SEND, BLOCKING_SEND)) & (of_rank["peer"] >= 0)]
        columns.append(np.stack([np.full(len(sent), rank), sent["peer"], sent["bytes"]], axis=1).astype(np.int64))
        columns.append(np.stack(accesses(rank, of_rank), axis=1).astype(np.int64))
    source, dest, size = np.concatenate(columns).T
    count = len(steps.sample)
    keys, inverse, times = np.unique(source * whole.ranks + dest, return_inverse=True, return_counts=True)
    volume = np.zeros(len(keys), np.int64)
    np.add.at(volume, inverse.reshape(-1), size)
    return Traffic.of_pairs(
        whole.name, whole.ranks, (keys // whole.ranks, keys % whole.ranks, -(-volume // count)), -(-times // count),
        node_of_rank=whole.node_of_rank, hosts=whole.hosts,
    )  # fmt: skip


def longer_than_observed(evidence: Evidence, predicted_s: float, elsewhere: bool) -> str:
    """Say why messages alone are predicted to take longer than the step (or run) that was observed."""
    why = (
        "links are slower than where it ran"
        if elsewhere
        else "messages overlapped computing, or the links that price them are slower"
    )
    return (
        f"predicted message time {format_time(predicted_s)} exceeds the {evidence.per} of {format_time(evidence.time_s)}: "
        f"{why}; gains are capped at {format_time(float(evidence.shares.moving_s.mean()))} of transfer"
    )
