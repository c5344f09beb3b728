"""A recorded program on another network, another machine, or with other ranks a node: how long its step takes there."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise import _core
from rankwise.api.projecting import WhatIf
from rankwise.api.results import TRUST, Plot, Result, sentence
from rankwise.blocks import BUT, UNCLEAR, YES, Block, Column, Listing, Next, Sentence, Table, labelled
from rankwise.engines.machines import machine_of_description
from rankwise.engines.model import Model
from rankwise.engines.placement import Seats
from rankwise.engines.project import too_many_nodes
from rankwise.engines.step import Described, Priced
from rankwise.engines.what_if import BOUNDS, PlacedStep, Tolerance, WhatIfRow, row_of, scaled, tolerance_words, without_times
from rankwise.errors import InputError
from rankwise.machine.description import parse_value
from rankwise.machine.library import load_machine
from rankwise.machine.profile import Profile, open_profile
from rankwise.observe.needs import actual_receives
from rankwise.observe.phases import PhasedStep, first_events, phased, steps_of
from rankwise.observe.record import BLOCKING_RECEIVE, RECEIVE, Record, read_record
from rankwise.observe.steps import Steps
from rankwise.observe.summary import crowded_host
from rankwise.records import key, record
from rankwise.units import format_count, format_number, format_share, format_time, format_volume
from rankwise.workloads.base import Program

if TYPE_CHECKING:
    from rankwise.report.document import Document
    from rankwise.report.what_if_page import Point

_FACTOR = re.compile(r"\s*(?:([\d.]+(?:e[+-]?\d+)?)\s*x|x\s*([\d.]+(?:e[+-]?\d+)?)|([\d.]+)\s*/\s*([\d.]+))\s*", re.IGNORECASE)
_MOST_SLIDING = 50_000  # messages of a step that is predicted some hundred times
_ANY_SOURCE = (1.4, 1.1)  # an order of receives that the network decides: benchmarks/what_if.py has a master with workers


@record
class Projection(Result):
    """What becomes of a recorded program's step: ``rows``, the first as it was recorded."""

    question: WhatIf
    record: str = key("name of the record")
    machine: str = key("the machine's name, or the profile's file")
    latency: float = key("factor of the latency between nodes")
    bandwidth: float = key("factor of the bandwidth between nodes")
    observed_s: float | None = key("time of the step as it was recorded")
    rows: Sequence[WhatIfRow] = key("one entry a network and number of ranks")
    faster: float | None = key("time of the first row over that of the last")
    faster_lo: float | None = key("lower end of that ratio, in which errors of the machine's figures cancel")
    faster_hi: float | None = key("upper end of that ratio")
    tolerances: Sequence[Tolerance] = key("how much worse the network may be, of the last row")
    assumptions: Sequence[str] = key("what the answer assumes, in words")
    refused: Sequence[str] = key("what cannot be answered, and why")
    profile: Profile | None = key(TRUST)
    first: PlacedStep  # of the first row
    last: PlacedStep  # of the last one
    on: Priced  # the machine as it is
    there: Priced  # with the network that was asked for

    @property
    def conclusion(self) -> str:
        row = self.rows[-1]
        if row.time_s is None or row.span is None:
            return f"No times: {self.refused[0]}." if self.refused else "No times."
        told = f"{format_time(row.time_s)} a step ({_ends(row.span.ends_s, ' to ')})"
        if self.profile is None and self.observed_s and self.question.compute:
            return f"{told}, {ratio_words(self.observed_s / row.time_s)} the recorded {format_time(self.observed_s)}."
        if self.faster is not None and self.faster_lo is not None and self.faster_hi is not None and len(self.rows) > 1:
            inside = "" if abs(self.faster - 1) < 0.005 else f" (speed x {self.faster_lo:.2f}–{self.faster_hi:.2f})"
            return f"{told}, {ratio_words(self.faster)} unchanged{inside}."
        return f"{told}."

    def blocks(self) -> Iterator[Block]:
        row = self.rows[-1]
        yield Sentence(self.conclusion, mark=UNCLEAR if row.time_s is None else BUT if self.refused or self.is_poor else YES)
        seen = "" if self.observed_s is None else f", {format_time(self.observed_s)} a step"
        yield Sentence(f"Record: {self.record}, {format_count(self.rows[0].ranks, 'rank')}{seen}.")
        yield Sentence(f"Machine: {self._network()}.")
        yield Table(_COLUMNS, self.rows, leave=("efficiency", "bytes between"))
        yield Listing(list(self._why()))
        yield from labelled("note", [*self.assumptions, *row.notes])
        yield Next(list(self._next()))

    @property
    def table(self) -> Table[WhatIfRow]:
        return Table(_COLUMNS, self.rows, name="rows")

    def plot(self) -> Plot:
        """Draw the time over ranks, or where their number is the recorded one, over the latency between nodes."""
        from rankwise.report.what_if_page import curve_picture

        axis = "ranks" if self._by_ranks else "latency between nodes"
        return Plot(curve_picture(self._points(), axis, f"Time of a step by {axis}"), [self.conclusion.removesuffix(".")])

    @property
    def _by_ranks(self) -> bool:
        return len({row.ranks for row in self.rows if row.span is not None}) > 1

    def _points(self) -> list[Point]:
        from rankwise.report.what_if_page import Point

        row = self.rows[-1]
        if row.span is None:
            raise InputError("there is no time to draw: what ranks compute was not measured; give --no-compute")
        if self._by_ranks:
            return [
                Point(float(one.ranks), str(one.ranks), one.span.time_s, *one.span.ends_s)
                for one in self.rows if one.span is not None and one.network == "asked"
            ]  # fmt: skip
        if not self.there.machine.has("other-node"):
            raise InputError("there is no network to draw the time over: the machine has no measurement between nodes")
        shares = [end / row.span.time_s for end in row.span.ends_s]
        found = []
        for power in range(-4, 5):
            time_s = self.last.time_s(scaled(self.there.machine, 2.0**power / self.latency, 1.0))
            words = f"{2**power}x" if power >= 0 else f"1/{2**-power}"
            found.append(Point(2.0**power, words, time_s, shares[0] * time_s, shares[1] * time_s))
        return found

    def page(self) -> str:
        """Return the page: sliders, the curve, the time line of the step."""
        from rankwise.engines.timelines import MOST_RANKS, predicted
        from rankwise.engines.what_if import slider_table
        from rankwise.report.what_if_page import render
        from rankwise.workloads.observed import ObservedCase

        row, curve = self.rows[-1], self.plot().chart
        sliders, line = None, None
        few = len(self.last.step.bytes) <= _MOST_SLIDING
        if few and self.last.placement.nodes > 1 and self.first.placement.ranks == row.ranks:
            sliders = slider_table(
                self._sliding(), self.on.machine, row, (self.latency, self.bandwidth), self.rows[0].time_s or 0.0
            )
        if row.ranks <= MOST_RANKS:
            case = ObservedCase(Path(self.record), self.last.step)
            line = predicted(self.there, case, self.last.placement)
        told = [words for name, words in self._why() if name == "Why"]
        origin = f"{self.record} · {format_count(row.ranks, 'rank')} · {self._network()}"
        return render(page_of(self, row, told, origin, self._next()), curve, row, self.table, sliders, line)

    def _sliding(self) -> list[PlacedStep]:
        """Return the step with up to four numbers of ranks on a node, what was asked for among them."""
        ranks, asked = self.last.placement.ranks, self.last.placement.most_on_a_node
        counts = sorted({1, asked, min(ranks, 2 * asked), max(1, asked // 2)})
        return [
            self.last if each == asked else replace(self.last, placement=blocked(ranks, each, self.profile, self.on), kept={})
            for each in counts
        ]  # fmt: skip

    def _network(self) -> str:
        factors = (("latency", self.latency), ("bandwidth", self.bandwidth))
        told = [f"{name} x {format_number(factor)}" for name, factor in factors if factor != 1.0]
        return ", ".join([self.machine, *told])

    def _why(self) -> Iterator[tuple[str, str]]:
        row = self.rows[-1]
        parts = [f"{BOUNDS[share.what]} {format_share(share.share)}" for share in row.shares[:3] if share.share >= 0.005]
        if parts and not self.is_poor:
            yield "Why", sentence(f"of the step: {', '.join(parts)}")
        if row.efficiencies is not None and not self.is_poor:
            yield "Efficiency", f"{row.efficiencies.words}."
        if self.tolerances:
            yield "Tolerance", sentence("; ".join(tolerance_words(self.tolerances)))

    def _next(self) -> Iterator[tuple[str, str]]:
        if self.rows[-1].time_s is None:
            yield f"rankwise project observed {self.record} {self.question.words('records')} --no-compute", "messages alone"
        elif self.question.machine is None:
            yield f"rankwise advise {self.record}", "what to change on this machine"
        else:
            yield f"rankwise machines show {self.machine}", "where its figures are from"


OF_STEPS: Sequence[Column[WhatIfRow]] = (
    Column("time", "time_s", format_time),
    Column(None, "time_lo_s"),
    Column(None, "time_hi_s"),
    Column("95 %", lambda row: None if row.span is None else _ends(row.span.ends_s)),
    Column("limited by", "bound", lambda name: BOUNDS[name]),
    Column("efficiency", lambda row: row.efficiencies and row.efficiencies.parallel, format_share, key="parallel_efficiency"),
)
_COLUMNS: Sequence[Column[WhatIfRow]] = (
    Column("network", "network"),
    Column("ranks", "ranks"),
    Column("nodes", "nodes"),
    *OF_STEPS,
    Column("bytes between", "bytes", format_volume),
)


def page_of(found: Any, row: WhatIfRow, why: Sequence[str], origin: str, following: Iterator[tuple[str, str]]) -> Document:
    """Return the words of the page of a Projection or OtherRanks; ``row``: the one that the conclusion is about."""
    from rankwise.report import document

    notes = [*found.assumptions, *row.notes, *(f"not answered: {words}" for words in found.refused)]
    return document.Document(
        "rankwise project observed", origin, found.conclusion, why, [document.remarks("What is assumed", notes)],
        next=[document.Next(purpose, command) for command, purpose in following],
        record=f"rankwise project observed {found.question.words()} --json",
    )  # fmt: skip


def _ends(ends_s: tuple[float, float], between: str = "–") -> str:
    return between.join(map(format_time, ends_s))


def ratio_words(faster: float) -> str:
    """Say how many times as fast as something, or how much slower, or how many times as long."""
    if faster >= 1.005:
        return f"{format_number(faster)} times as fast as"
    if faster < 0.5:
        return f"{format_number(1 / faster)} times as long as"
    return "as fast as" if faster > 0.995 else f"{100 * (1 / faster - 1):.3g} % slower than"


def what_if(question: WhatIf) -> Projection:
    """Say how long the step of a recorded program takes on another network or machine. Raises InputError."""
    if question.grid is not None:
        raise InputError(f"--grid {question.grid} is of another number of ranks: say of which with --ranks")
    if len(question.records) > 1:
        raise InputError(f"{len(question.records)} records say what other numbers of ranks take: say of which with --ranks")
    path = question.records[0]
    found = read_record(path)
    step, seen, steps = _step_of(found, path)
    observed_s = seen.time_s
    on, name, profile = machine_of(question)
    latency, bandwidth = factors_of(question, on.machine)
    refused = []
    if question.compute and (crowded := crowded_host(found)) is not None:
        host, ranks, cores = crowded
        refused.append(f"{ranks} ranks shared {cores} cores of {host}, so what they compute was not measured")
    if question.compute and found.header.get("clocks_disagree"):
        refused.append("the clocks of the trace disagree, so times mean little")
    if not question.compute:
        step = step.without_computing()
    assumptions = list(assumed(found, question))
    widened, any_source = (1.0, 1.0), any_source_ranks(first_events(found), seen)
    if any_source:
        widened = _ANY_SOURCE
        assumptions.append(
            f"{format_count(len(any_source), 'rank')} with receives from any source: the recorded order of messages is kept"
        )

    def placed(placement: _core.Placement) -> PlacedStep:
        return PlacedStep(step, placement, widened=widened)

    before = placed(_as_recorded(found, profile))
    after = before if question.ranks_per_node is None else placed(blocked(found.ranks, question.ranks_per_node, profile, on))
    require_nodes(question, found.ranks, after.placement.nodes)
    moved = latency != 1.0 or bandwidth != 1.0
    if moved and after.placement.nodes < 2:
        raise InputError(
            f"all {found.ranks} ranks are on one node, where no message passes the network: say how many are on a node, "
            "--ranks-per-node 1"
        )
    there = with_machine(on, scaled(on.machine, latency, bandwidth))
    pairs = [("recorded", before, on)] + ([("asked", after, there)] if moved or after is not before else [])
    if refused:
        rows = [without_times(one, network) for network, one, _ in pairs]
    else:
        rows = [row_of(one, machine, network, steps) for network, one, machine in pairs]
    first_s, last = rows[0].time_s or 0.0, rows[-1]
    vague = bool(refused) or (profile is not None and profile.trust.is_poor)  # then no ratio is an answer
    faster = first_s / last.time_s if last.time_s and not vague else None
    low, high = (None, None) if faster is None else (faster * err for err in _core_errs(after, there))
    return Projection(
        question, str(path), name, latency, bandwidth, observed_s, rows, faster, low, high,
        () if vague else after.tolerances(there.machine), assumptions, refused, profile, before, after, on, there,
    )  # fmt: skip


def _core_errs(placed: PlacedStep, on: Priced) -> tuple[float, float]:
    """Return the ends of the cost model's own error, as shares of a time."""
    price = on.price(Program(placed.step), 1, placed.placement)
    low_s, high_s = price.judge_s
    return (low_s / price.span.time_s, high_s / price.span.time_s) if price.span.time_s > 0 else (1.0, 1.0)


def _step_of(found: Record, path: Path) -> tuple[PhasedStep, Steps, int | None]:
    """Return the step, what is known of its repetitions, and how many the run had. Raises InputError where there is none."""
    events = first_events(found)
    if len(events) < found.ranks:
        ended = "" if found.header.get("complete", True) else " (it ended early)"
        raise InputError(f"{path} has the calls of {len(events)} of {found.ranks} ranks{ended}: observe the program again")
    steps = steps_of(found, events)
    if steps is None:
        calls = sum(map(len, events.values()))
        why = "it is start-up only" if calls < 10 * found.ranks else "no step repeats on all ranks"
        early = "" if found.header.get("complete", True) else ", and the run ended early"
        raise InputError(f"{path}: {why}{early}: observe more steps of the program")
    step = phased(events, steps, found)
    if not len(step.bytes):
        raise InputError(f"the step in {path} has no messages between ranks: a network changes nothing")
    return step, steps, steps.in_run(float(found.header.get("seconds", 0.0)))


def any_source_ranks(events: Mapping[int, Any], steps: Steps) -> list[int]:
    """Return the ranks that receive from any of several senders: of requests the record says so; blocking calls take messages
    in another order from step to step."""
    found = []
    for column, rank in enumerate(sorted(events)):
        of_rank = events[rank]
        senders: dict[int, set[int]] = defaultdict(set)
        for place, peer, tag in zip(*(column.tolist() for column in actual_receives(of_rank)), strict=True):
            if of_rank["kind"][place] == RECEIVE and of_rank["peer"][place] < 0:
                senders[tag].add(peer)
        asked = any(len(of_tag) > 1 for of_tag in senders.values())
        orders = set()
        for number in steps.sample:
            step = of_rank[steps.begins[number, column] : steps.ends[number, column]]
            orders.add(tuple(step["peer"][step["kind"] == BLOCKING_RECEIVE].tolist()))
        mixed = len({tuple(sorted(order)) for order in orders}) < len(orders)
        if asked or mixed:
            found.append(rank)
    return found


def machine_of(question: WhatIf) -> tuple[Priced, str, Profile | None]:
    """Return what prices steps, its name, and the profile where it is one. Raises InputError."""
    if question.machine is not None and question.profile is not None:
        raise InputError("--machine and --profile are two machines: give one of them")
    if question.machine is not None:
        description = load_machine(question.machine)
        machine, notes = machine_of_description(description)
        return Described(machine, tuple(notes)), description.name, None
    file = question.profile or Path("machine.json")
    profile = open_profile(file)
    return Model(profile), str(file), profile


def require_nodes(question: WhatIf, ranks: int, nodes: int) -> None:
    """Raise InputError where a described machine has fewer nodes than so many ranks need."""
    for lacking in () if question.machine is None else too_many_nodes(load_machine(question.machine), nodes):
        raise InputError(f"{ranks} ranks: {lacking}: ask for fewer, or put more on a node with --ranks-per-node")


def with_machine(on: Priced, machine: _core.Machine) -> Priced:
    """Return what prices on another machine, known as well as this one."""
    there = copy(on)
    there.machine = machine
    return there


def factors_of(question: WhatIf, machine: _core.Machine) -> tuple[float, float]:
    """Return by what the latency and the bandwidth between nodes are multiplied. Raises InputError."""
    known = machine.has("other-node")
    latency_s, lane = (machine.lines("other-node")[0][1], machine.lane("other-node")) if known else (None, None)
    return _factor(question.latency, "latency", latency_s), _factor(question.bandwidth, "bandwidth", lane)


def _factor(text: str | None, name: str, base: float | None) -> float:
    if text is None:
        return 1.0
    match = _FACTOR.fullmatch(text)
    try:
        if match is not None:
            above, below = float(match[1] or match[2] or match[3]), float(match[4] or 1.0)
            value = above / below if below else math.inf
        elif base is None:
            raise InputError(
                f"--{name} '{text}' is no factor, and the machine has no measurement between nodes to compare it with: "
                "measure with --hosts, or give --machine NAME"
            )
        else:
            value = parse_value(text, {"latency": "latency", "bandwidth": "link_bandwidth"}[name], f"--{name}") / base
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"--{name} '{text}' is out of range: write a factor above 0, 1/2 or 2x")
    return value


def _as_recorded(found: Record, profile: Profile | None) -> _core.Placement:
    """Return the ranks on the nodes that they were recorded on; where these are not known, all on one."""
    nodes = found.node_of_rank.tolist()
    seats = Seats() if profile is None else Seats.of_profile(profile)
    return seats.on_nodes(nodes if min(nodes, default=-1) >= 0 else [0] * found.ranks)


def blocked(ranks: int, each: int, profile: Profile | None, on: Priced) -> _core.Placement:
    """Return nodes of a machine that are filled one after the other."""
    levels = tuple(nodes for nodes, _ in on.machine.levels)
    seats = Seats(levels=levels) if profile is None else Seats.of_profile(profile)
    return seats.blocked(ranks, each)


def assumed(found: Record, question: WhatIf) -> Iterator[str]:
    """Yield what the answer assumes of computing and threads."""
    on_node = np.bincount(found.node_of_rank[found.node_of_rank >= 0], minlength=1)
    each = int(on_node.max(initial=0))
    if question.compute and question.ranks_per_node not in (None, each):
        yield (
            f"computing is as recorded with {format_count(each, 'rank')} a node: "
            + (
                "more of them share its memory bandwidth and may be slower"
                if (question.ranks_per_node or 0) > each
                else "fewer of them may be faster"
            )
        )
    cores = min((cores // max(1, int(many)) for cores, many in zip(found.header.get("cores_of_host", []), on_node, strict=False)
                if cores), default=0)  # fmt: skip
    if question.compute and cores > 1:
        yield f"each rank keeps its {cores} cores (MPI + OpenMP: as many threads)"
