"""The model engine: prices the programs of all workloads by the judge, with a profile's link times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from rankwise import _core
from rankwise.engines.judge import cost_of, judged, price_of, sizes_of
from rankwise.engines.machines import machine_of_profile, with_faster_card
from rankwise.engines.placement import Placement
from rankwise.errors import InputError
from rankwise.machine.link import MOST_HALF_WIDTH, Curve, log_ratio
from rankwise.machine.profile import LACKING, OTHER_NODE, VARIANTS, Link, Profile
from rankwise.machine.shared import KINDS
from rankwise.observe.phases import PhasedStep
from rankwise.units import format_size
from rankwise.workloads.base import Case, Price, Program, Row

# Of a row of which no spread is known: twice what 95 % of single runs of OSU's benchmarks differ by from the mean of ten.
ASSUMED_SPREAD = 0.08
# Of a NIC's or a memory's rate in steps of programs and halos, whose messages are unlike those it was measured with: 10 of 12
# programs drawn at random and 35 of 36 halos on four nodes (100 Mbit/s) took so much longer or less at most.
_IN_STEPS = 0.08
_MOST_WIDTH = 50.0  # of an interval in logarithms: figures of a machine that was busy all the time may know nothing
_NOTES = {
    "ssend": "not measured: synchronous ping-pong (ssend is predicted as send)",
    "exchange": "not measured: bidirectional ping-pong (full overlap is assumed: a lower bound)",
    "exchange-gap": "not measured: send overhead (LogGP o is taken as 0)",
}
_NO_LIMIT = "not measured: the eager limit, up to which MPI_Send does not wait for its receiver (rankwise measure)"
Costing = Callable[[_core.Machine], _core.Cost | _core.Ranked]
_NEEDS = {
    "ssend": "ssend", "send": "exchange-gap", "isend": "exchange", "isend-self": "exchange", "persistent": "exchange",
}  # fmt: skip


class Model:
    """Predicts cases of any workload from a profile.

    ``link_model`` overrides the model that the profile chose for its links; ``loaded`` takes the parameters that were
    measured under background traffic.
    """

    name = "model"

    def __init__(self, profile: Profile, link_model: str | None = None, loaded: bool = False) -> None:
        """Raises InputError when the profile does not have the link model, or nothing measured under traffic."""
        self.profile = profile
        self.links = {name: _with_model(name, link, link_model) for name, link in profile.links.items()}
        self._loaded = loaded
        if missing := [name for name, link in self.links.items() if loaded and link.loaded is None]:
            raise InputError(
                f"link {missing[0]} was not measured under background traffic: run 'rankwise measure --background 1', "
                "or leave --loaded out"
            )
        self.machine = machine_of_profile(profile, link_model, loaded)
        self._widths: dict[tuple[str, str, int], float] = {}
        spreads = [link.spread.between_sessions for link in self.links.values() if link.spread is not None]
        self._drift = 1.96 * max((spread for spread in spreads if spread is not None), default=0.0)

    def rows(self, cases: Sequence[Case], placement: Placement) -> list[Row]:
        """Return one row a case. Raises InputError when the profile lacks a link class that the placement needs."""
        pricer = self.pricer(placement)
        return [pricer.row(case) for case in cases]

    def pricer(self, placement: Placement) -> _Pricer:
        """Return the model on ranks that are placed."""
        return _Pricer(self, placement)

    def interval(
        self,
        mode: str,
        sizes: Sequence[int],
        cost: _core.Cost | _core.Ranked,
        cost_on: Costing,
        others: Sequence[_core.Machine],
        width: float | None = None,
    ) -> tuple[float, float]:
        """Return the 95 % interval of what a program that sends messages of some sizes costs.

        ``cost_on`` says what it costs on a machine; ``others``: what the machine may be, too, and quicker. ``width``: by how
        much (a logarithm) messages may be wrong in the mean; None: by as much as those of any size. It is priced with all
        figures at their ends, as if they erred together. In logarithms, of independent errors: what is not known of the
        profile's figures, what the judge itself errs by, and how far the machine drifts from one session to the next, where
        its history tells.
        """

        def end_s(sign: int, machine: _core.Machine, found: _core.Cost | _core.Ranked) -> float:
            known = log_ratio(cost_on(self._at_end(machine, mode, sizes, sign, width)).time_s, found.time_s)
            simulated_s = found.low_s if sign < 0 else found.high_s
            all_in_all = math.hypot(known, self._drift, log_ratio(simulated_s, found.time_s))
            return found.time_s * math.exp(sign * min(all_in_all, _MOST_WIDTH))

        lowest_s = min(end_s(-1, other, cost_on(other)) for other in others) if others else math.inf
        return min(end_s(-1, self.machine, cost), lowest_s), end_s(1, self.machine, cost)

    def _at_end(self, machine: _core.Machine, mode: str, sizes: Sequence[int], sign: int, width: float | None) -> _core.Machine:
        """Return the machine with figures at the quicker (-1) or slower (1) ends of their 95 % intervals."""

        def width_of(name: str) -> float:
            return max(self._width_of(name, _NEEDS[mode], size) for size in sizes) if width is None else width

        links = {name: math.exp(sign * min(width_of(name), _MOST_WIDTH)) for name in self.links}
        least = 0.0 if width is None else _IN_STEPS
        return machine.slower(links, {kind: math.exp(sign * max(self._width_shared(kind), least)) for kind in KINDS})

    def _width_shared(self, kind: str) -> float:
        """Return half the 95 % interval of a resource's rate in logarithms."""
        resource = getattr(self.profile.shared, kind)
        if resource is None or resource.ci is None:
            return ASSUMED_SPREAD
        low, high = resource.ci
        return min(math.log(max(resource.bytes_per_s / low, high / resource.bytes_per_s, 1.0)), MOST_HALF_WIDTH)

    def price(self, program: Program, block_bytes: int, placement: _core.Placement) -> Price:
        """Price a program of ranks that are placed. Raises InputError where the profile lacks a link class."""
        of_program = judged(program, placement)

        def cost_on(machine: _core.Machine) -> _core.Cost:
            return cost_of(of_program, block_bytes, machine)

        cost = cost_on(self.machine)
        sizes = sizes_of(of_program.message_blocks, block_bytes)
        width = self._width_of_step(program, placement) if isinstance(program.schedules, PhasedStep) else None
        notes = [*program.notes, *self.notes(program.mode, sizes, placement)]
        others = self.quicker(placement)
        if program.limits_count and (limitless := self.machine.where_sends_may_go_on()) is not None:
            others.append(limitless)
            notes.append(_NO_LIMIT)
        return price_of(cost, block_bytes, self.interval(program.mode, sizes, cost, cost_on, others, width), notes)

    def quicker(self, placement: _core.Placement) -> list[_core.Machine]:
        """Return the machine with as fast a NIC as may be, where its rate is not known; nothing where it does not matter."""
        return [with_faster_card(self.machine, placement.most_on_a_node)] if "card" in self.assumed(placement) else []

    def assumed(self, placement: _core.Placement) -> list[str]:
        """Return the kinds of shared resources that matter there and of which the profile knows nothing."""
        shared = {"card": placement.nodes > 1, "memory": False}
        return [kind for kind in self.profile.lacks if shared[kind] and placement.most_on_a_node > 1]

    def extrapolates(self, mode: str, sizes: Sequence[int]) -> bool:
        """Tell whether messages of some sizes lie beyond the measured ones."""
        return bool(self._beyond(_NEEDS[mode], sizes))

    def _beyond(self, need: str, sizes: Sequence[int]) -> list[int]:
        return [size for size in sizes if any(_variant(link, need).extrapolates(size) for link in self.links.values())]

    def _width_of_step(self, program: Program, placement: _core.Placement) -> float | None:
        """Return how well an observed step's messages are known: in the mean, each by its time on its own link.

        As if all errors were one: of those that are independent the sum would be known better.
        """
        step, need = program.schedules, _NEEDS[program.mode]
        node_of_rank = np.array([placement.node(rank) for rank in range(placement.ranks)])
        apart = node_of_rank[np.asarray(step.source)] != node_of_rank[np.asarray(step.dest)]
        inside = [link for name, link in self.links.items() if name != "other-node"]
        total_s = unknown_s = 0.0
        for links, sizes in (
            ([self.links["other-node"]] if "other-node" in self.links else [], step.bytes[apart]),
            (inside, step.bytes[~apart]),
        ):
            for size, count in zip(*(found.tolist() for found in np.unique(sizes, return_counts=True)), strict=True):
                curves = [_variant(link, need) for link in links]
                time_s = count * max((curve.time_s(size) for curve in curves), default=0.0)
                total_s += time_s
                unknown_s += time_s * max((self._width_on(curve, size) for curve in curves), default=0.0)
        return unknown_s / total_s if total_s > 0 else None

    def _width_on(self, curve: Curve, size: int) -> float:
        width, error = curve.log_half_width(size), curve.model_error(size)
        return math.hypot(ASSUMED_SPREAD, error) if width is None else width

    def _width_of(self, link: str, need: str, size: int) -> float:
        """Return half the 95 % interval of a message's time over a link in logarithms."""
        if (link, need, size) not in self._widths:
            self._widths[link, need, size] = self._width_on(_variant(self.links[link], need), size)
        return self._widths[link, need, size]

    @property
    def assumes_spread(self) -> bool:
        """Whether nothing is known of the spread of some link's figures, so that one is assumed."""
        return any(self._assumes(way) for way in ("send", *VARIANTS))

    def _assumes(self, need: str) -> bool:
        """Whether nothing is known of the spread of some row of what a way of sending takes."""
        return any(point.interval_s is None for link in self.links.values() for point in _variant(link, need).table)

    def notes(self, mode: str, sizes: Sequence[int], placement: _core.Placement) -> Iterator[str]:
        """Yield what weakens a prediction: ways of sending, sizes of messages and shared resources that were not measured."""
        need = _NEEDS[mode]
        if any(need not in link.variants for link in self.links.values()):
            yield _NOTES[need]
        if beyond := self._beyond(need, sizes):
            yield f"extrapolated: messages of {format_size(max(beyond))} lie beyond the measured sizes"
        if self._assumes(need):
            yield f"the profile has no run-to-run spread: ± {100 * ASSUMED_SPREAD:.0f} % is assumed for a message's time"
        yield from (LACKING[kind] for kind in self.assumed(placement))
        if placement.nodes > 1 and (note := self.profile.shared.exchange_note()):
            yield f"{note}; intervals cover how far such exchanges differ"
        cores = self.profile.machine.get("cores")
        if isinstance(cores, int) and placement.most_on_a_node > cores:
            later = "" if self.profile.collectives is None else "; in collectives each message is taken up later, as measured"
            yield f"{placement.most_on_a_node} ranks on {cores} cores a node: predicted as if each had a core{later}"
        if self._loaded:
            pairs = ", ".join(str(link.loaded.pairs) for link in self.links.values() if link.loaded is not None)
            yield f"under background traffic of {pairs} pairs: all modes are slowed down as send was"


def doubt(candidates: Sequence[tuple[float, tuple[float, float] | None]], model: Model) -> str | None:
    """Say why there is no choice among candidates (time and interval, the fastest first); None where there is one.

    A measurement of poor quality gives none; one without a spread only where intervals do not overlap.
    """
    poor = model.profile.trust.is_poor
    if not poor and not model.assumes_spread:
        return None
    first_s, first = candidates[0]
    others = [ends for time_s, ends in candidates[1:] if time_s > first_s * (1 + 1e-9)]
    alike = sum(ends is None or first is None or ends[0] <= first[1] for ends in others)
    if alike:
        return f"no choice: the 95 % intervals of the fastest {alike + 1} candidates overlap"
    return "no choice: the measurement has poor quality" if poor else None


class _Pricer:
    """The model on ranks that are placed: what a case is given to be priced by."""

    def __init__(self, model: Model, placement: Placement) -> None:
        self.profile = model.profile
        self._model = model
        self._placement = placement

    def row(self, case: Case) -> Row:
        row = case.predict(self)
        return replace(row, assumed=tuple(self._model.assumed(self._placement.of(case))))

    def price(self, case: Case, program: Program, block_bytes: int) -> Price:
        """Price a program of the ranks of a case."""
        return self._model.price(program, block_bytes, self._placement.of(case))

    def require_links(self, case: Case) -> None:
        """Raise InputError where a case's ranks sit on several nodes, and the profile knows no link between these."""
        placed = self._placement.of(case)
        if placed.nodes > 1 and OTHER_NODE not in self.profile.links:
            far = next(rank for rank in range(placed.ranks) if placed.node(rank) != placed.node(0))
            raise InputError(f"the profile has no link class {OTHER_NODE}, which ranks 0 and {far} need: measure or import it")


def _variant(link: Link, name: str) -> Curve:
    return link.variants.get(name, link.send)


def _with_model(name: str, link: Link, link_model: str | None) -> Link:
    if link_model is None:
        return link

    def choose(curve: Curve) -> Curve:
        if link_model not in curve.models:
            raise InputError(f"link {name} has no model '{link_model}': choose one of {', '.join(curve.models)}")
        return Curve(**{**curve.__dict__, "model": link_model})

    # What was imported besides these knows tables only, and no prediction asks for it.
    ways = {way: choose(link.variants[way]) for way in VARIANTS if way in link.variants}
    return Link(choose(link.send), ways, loaded=link.loaded, spread=link.spread)
