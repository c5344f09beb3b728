"""A recorded step on another network or machine: its time, what limits it, and how much worse the network may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rankwise import _core
from rankwise.engines.judge import cost_of, judged
from rankwise.engines.step import Priced
from rankwise.errors import InputError
from rankwise.observe.efficiency import Efficiencies
from rankwise.observe.phases import PhasedStep
from rankwise.records import Record, key, record
from rankwise.units import format_number, format_time
from rankwise.workloads.base import Price, Program, Span

SLOWER = (0.01, 0.02, 0.05)  # for which tolerances are found
_STEPS = 3  # one after the other
_MOST_MESSAGES = 100_000  # of these
_MOST_FACTOR = 1e4  # of a tolerance
_FREE = 1e-6  # a factor by which a network costs next to nothing
_CLOSE = 1e-3  # of a tolerance's factor
# A network that costs nothing, inside a node and between nodes; rates must be above 0.
_IDEAL = _core.Machine({name: {"send": [(0, 1e-15, 1e-21)]} for name in ("same-socket", "other-node")})


@record
class Share(Record):
    """What a part of the step's time is spent on."""

    what: str = key("compute, load-imbalance, serialisation, latency, bandwidth or inside-nodes")
    share: float = key("share of the step's time")


@record
class Tolerance(Record):
    """How much worse the network may be until the step is slower by a share."""

    slower: float = key("by which share the step is slower")
    latency: float | None = key("factor of the latency between nodes; null: above 10000")
    latency_more_s: float | None = key("latency added to each message between nodes")
    bandwidth: float | None = key("factor of the bandwidth between nodes; null: below 1/10000")


@record
class WhatIfRow(Record):
    """The step of so many ranks on a network. Times are null where the record's computing is no measure of anything."""

    network: str = key("recorded: the machine as it is, with the ranks where they were; asked: what was asked for")
    ranks: int = key("number of ranks")
    nodes: int = key("number of nodes")
    ranks_per_node: int = key("most ranks on a node")
    grid: Sequence[int] | None = key("process grid; null: that of the record")
    time_s: float | None = key("time of a step")
    time_lo_s: float | None = key("time of a step, lower end")
    time_hi_s: float | None = key("time of a step, upper end")
    bound: str | None = key("what takes most of the step's time, by the names of shares")
    shares: Sequence[Share] = key("what the step's time is spent on, the most first; together about 1")
    efficiencies: Efficiencies | None = key("parallel efficiency on that machine, and its factors")
    messages: int = key("messages of a step between nodes")
    bytes: int = key("bytes of a step between nodes")
    node_hours: float | None = key("node-hours of the recorded run's steps; null: their number is unknown")
    notes: Sequence[str] = key("what the times assume, in words")

    @property
    def span(self) -> Span | None:
        if self.time_s is None or self.time_lo_s is None or self.time_hi_s is None:
            return None
        return Span(self.time_s, self.time_lo_s, self.time_hi_s)


@record
class SliderTable(Record):
    """Times of a step at other networks, and with other ranks on a node."""

    latencies: Sequence[float] = key("factors of the latency between nodes")
    bytes: Sequence[float] = key("factors of what a byte takes: 1 over those of the bandwidth, ascending")
    ranks_per_node: Sequence[int] = key("ranks on a node")
    times_s: Sequence[Sequence[Sequence[float]]] = key("time of a step, by ranks on a node, time of a byte and latency")
    asked: int = key("place of the number of ranks on a node that was asked for")
    latency: float = key("factor of the latency that was asked for")
    bandwidth: float = key("factor of the bandwidth that was asked for")
    latency_s: float = key("latency between nodes")
    bytes_per_s: float = key("bandwidth of one message between nodes")
    first_s: float = key("time of the step as it was recorded")
    shares: tuple[float, float] = key("ends of the interval of what was asked for, over its time")


def slider_table(
    steps: Sequence[PlacedStep], machine: _core.Machine, row: WhatIfRow, factors: tuple[float, float], first_s: float
) -> SliderTable:
    """Return the times of a step placed in several ways; ``row``: what was asked for, ``factors``: of latency and bandwidth."""
    powers = [2.0**power for power in range(-4, 5)]
    times = [[[one.time_s(machine.with_network(a, 1 / b)) for a in powers] for b in powers] for one in steps]
    each = [one.placement.most_on_a_node for one in steps]
    time_s, low_s, high_s = row.time_s or 1.0, row.time_lo_s or 1.0, row.time_hi_s or 1.0
    return SliderTable(
        powers, powers, each, times, each.index(row.ranks_per_node), *factors, machine.lines("other-node")[0][1],
        machine.lane("other-node"), first_s, (low_s / time_s, high_s / time_s),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PlacedStep:
    """A step with its ranks on nodes, to be priced on any machine; ``grid``: the process grid, where that is not the record's;
    ``widened``: by what its interval's ends are divided and multiplied beyond what the machine's figures and the cost model
    give; ``notes``: what it assumes."""

    step: PhasedStep
    placement: _core.Placement
    grid: tuple[int, ...] | None = None
    widened: tuple[float, float] = (1.0, 1.0)
    notes: tuple[str, ...] = ()
    kept: dict[tuple[int, int], _core.Judged] = field(default_factory=dict)  # the step's readings, repeated and placed

    @property
    def readings(self) -> tuple[PhasedStep, ...]:
        """The step, and what else it may be where the MPI library is not known."""
        return (self.step, *self.step.others)

    def time_s(self, machine: _core.Machine, once_s: Sequence[float] = ()) -> float:
        """Return the time by which each step makes the program longer, for ranks go on at different times: of three steps less
        one, or of one where there are many messages. ``once_s``: of each reading the time of one step, where it is known.
        Raises InputError where the machine lacks a link class."""
        once_s = once_s or [self._time_s(number, 1, machine) for number in range(len(self.readings))]
        if max(len(step.bytes) for step in self.readings) * _STEPS > _MOST_MESSAGES:
            return max(once_s)
        return max((self._time_s(number, _STEPS, machine) - one_s) / (_STEPS - 1) for number, one_s in enumerate(once_s))

    def _time_s(self, number: int, times: int, machine: _core.Machine) -> float:
        return cost_of(self._judged(number, times), 1, machine).time_s

    def _judged(self, number: int, times: int) -> _core.Judged:
        if (number, times) not in self.kept:
            step = self.readings[number].on(self._nodes)
            self.kept[number, times] = judged(Program(step.repeated(times)), self.placement)
        return self.kept[number, times]

    @cached_property
    def _nodes(self) -> tuple[int, ...]:
        return tuple(self.placement.node(rank) for rank in range(self.placement.ranks))

    def span(self, on: Priced) -> tuple[Span, tuple[str, ...]]:
        """Return the time with its interval, and what weakens it."""
        prices = [
            on.price(Program(step, notes=step.notes, placed=self._judged(number, 1)), 1, self.placement)
            for number, step in enumerate(self.readings)
        ]
        _, price = Price.slowest(prices)
        (low_s, high_s), (down, up) = price.span.ends_s, self.widened
        time_s = self.time_s(on.machine, [one.span.time_s for one in prices])
        scale = time_s / price.span.time_s if price.span.time_s > 0 else 1.0
        return Span(time_s, scale * low_s / down, scale * high_s * up), (*self.notes, *price.notes)

    @cached_property
    def compute_s(self) -> np.ndarray:
        """What each rank computes in the step."""
        return np.asarray(self.step.compute_s.sum(axis=0))

    @cached_property
    def ideal_s(self) -> float:
        """The time on a network that costs nothing."""
        return self.time_s(_IDEAL)

    def efficiencies(self, time_s: float) -> Efficiencies | None:
        """Return the efficiencies on a machine on which the step takes so long; None where nothing is computed."""
        useful_s, ideal_s = self.compute_s, min(self.ideal_s, time_s)
        most_s = float(useful_s.max(initial=0.0))
        if most_s <= 0 or time_s <= 0:
            return None
        mean_s = float(useful_s.mean())
        return Efficiencies(
            mean_s / time_s, mean_s / most_s, min(1.0, most_s / ideal_s), ideal_s / time_s, int(useful_s.argmax())
        )

    def between_nodes(self) -> tuple[int, int]:
        """Return how many messages of the step go between nodes, and their bytes."""
        node, there = np.array(self._nodes), self.step.on(self._nodes)
        apart = node[np.asarray(there.source, np.int64)] != node[np.asarray(there.dest, np.int64)]
        return int(apart.sum()), int(np.asarray(there.bytes)[apart].sum())

    def shares(self, machine: _core.Machine, time_s: float) -> list[Share]:
        """Return what the step's time is spent on, the most first: of what latency and bandwidth between nodes cost, so much
        goes when it costs next to nothing."""
        useful_s = self.compute_s
        mean_s, most_s, ideal_s = float(useful_s.mean()), float(useful_s.max(initial=0.0)), min(self.ideal_s, time_s)
        found = {
            "compute": mean_s, "load-imbalance": most_s - mean_s, "serialisation": max(0.0, ideal_s - most_s),
        }  # fmt: skip
        network_s = time_s - ideal_s
        if self.placement.nodes > 1:
            without = {
                "latency": max(0.0, time_s - self.time_s(machine.with_network(_FREE, 1.0))),
                "bandwidth": max(0.0, time_s - self.time_s(machine.with_network(1.0, 1 / _FREE))),
            }
            # What either would save alone, or only both together, is divided as they save alone.
            both_s = min(max(0.0, time_s - self.time_s(machine.with_network(_FREE, 1 / _FREE))), network_s)
            each_s = sum(without.values())
            found |= {name: both_s * part_s / each_s for name, part_s in without.items() if each_s > 0}
            network_s -= both_s
        found["inside-nodes"] = max(0.0, network_s)
        shares = [Share(name, seconds / time_s) for name, seconds in found.items() if seconds > 0 and time_s > 0]
        return sorted(shares, key=lambda share: -share.share)

    def tolerances(self, machine: _core.Machine) -> list[Tolerance]:
        """Return how much worse the network may be until the step is 1, 2 and 5 % slower; none on one node."""
        if self.placement.nodes < 2:
            return []
        latency_s = machine.lines("other-node")[0][1]
        found = []
        for slower in SLOWER:
            latency = self._until(lambda factor: machine.with_network(factor, 1.0), machine, slower)
            bandwidth = self._until(lambda factor: machine.with_network(1.0, 1 / factor), machine, slower)
            more_s = None if latency is None else (latency - 1) * latency_s
            found.append(Tolerance(slower, latency, more_s, None if bandwidth is None else 1 / bandwidth))
        return found

    def _until(self, worse: Callable[[float], _core.Machine], machine: _core.Machine, slower: float) -> float | None:
        """Return by which factor the network may be worse until the step is slower by a share; by bisection."""
        limit_s = (1 + slower) * self.time_s(machine)
        low, high = 1.0, 2.0
        while self.time_s(worse(high)) < limit_s:
            low, high = high, 2 * high
            if high > _MOST_FACTOR:
                return None
        while high - low > _CLOSE * (low - 1) and high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if self.time_s(worse(middle)) < limit_s else (low, middle)
        return (low + high) / 2


def row_of(placed: PlacedStep, on: Priced, network: str = "asked", steps: int | None = None) -> WhatIfRow:
    """Return the step on a machine; ``steps``: how many the recorded run had. Raises InputError where it lacks a link."""
    span, notes = placed.span(on)
    shares = placed.shares(on.machine, span.time_s)
    hours = None if steps is None else placed.placement.nodes * span.time_s * steps / 3600
    low_s, high_s = span.ends_s
    return replace(
        without_times(placed, network), time_s=span.time_s, time_lo_s=low_s, time_hi_s=high_s,
        bound=shares[0].what if shares else None, shares=shares, efficiencies=placed.efficiencies(span.time_s),
        node_hours=hours, notes=list(dict.fromkeys(notes)),
    )  # fmt: skip


def without_times(placed: PlacedStep, network: str = "asked") -> WhatIfRow:
    """Return what is known of a step whose computing was not measured: its messages and bytes."""
    placement = placed.placement
    return WhatIfRow(
        network, placement.ranks, placement.nodes, placement.most_on_a_node, placed.grid, None, None, None, None, (), None,
        *placed.between_nodes(), None, placed.notes,
    )  # fmt: skip


def scaled(machine: _core.Machine, latency: float, bandwidth: float) -> _core.Machine:
    """Return the machine with another network: latency between nodes times a factor, bandwidth of links, NICs and switches
    times another. Raises InputError where the machine has no network."""
    if latency == bandwidth == 1.0:
        return machine
    if not machine.has("other-node"):
        raise InputError(
            "the machine has no measurement between nodes, so no network can be scaled: measure with --hosts, or --machine NAME"
        )
    return machine.with_network(latency, bandwidth)


BOUNDS = {
    "compute": "computing", "load-imbalance": "load imbalance", "serialisation": "ranks that wait for each other",
    "latency": "latency between nodes", "bandwidth": "bandwidth between nodes", "inside-nodes": "messages inside nodes",
}  # fmt: skip


def tolerance_words(found: Sequence[Tolerance]) -> Iterator[str]:
    """Say how much worse the network may be, one sentence for each share."""
    for one in found:
        latency = "any latency" if one.latency is None else f"latency + {format_time(one.latency_more_s or 0.0)}"
        bandwidth = "any bandwidth" if one.bandwidth is None else f"bandwidth x {format_number(one.bandwidth)}"
        yield f"{100 * one.slower:.0f} % slower at {latency}, or at {bandwidth}"
