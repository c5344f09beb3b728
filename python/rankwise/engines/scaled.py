"""A recorded program's step on other numbers of ranks, priced: on each grid that it may choose, with an interval over all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rankwise import _core
from rankwise.collectives.selection import Call, select
from rankwise.engines.step import Priced
from rankwise.engines.what_if import PlacedStep, WhatIfRow, row_of
from rankwise.observe.phases import observed_step
from rankwise.observe.scaling import MOST_TIMES, Answer, Scaling, agreement, carriers
from rankwise.records import Record, key, record
from rankwise.units import format_percent, format_share
from rankwise.workloads.collective_schedule import Schedule

_CELLS = 0.35  # of the time of messages: by so much ghosts of particles grew beyond their law, in CoMD
Placer = Callable[[int], _core.Placement]  # where so many ranks are


@record
class Check(Record):
    """How well one recording predicts another: what both come to on the same machine."""

    ranks: int = key("recorded ranks that are predicted")
    source: int = key("recorded ranks that they are predicted from", name="from")
    error: float = key("predicted time of a step over that of the recorded step, minus 1")
    pairs: float = key("share of pairs of ranks with the right number of messages")
    sizes: float = key("share of pairs with the right bytes, within 1 %, too")
    rest: float = key("the error where computing is as it was recorded")

    @property
    def words(self) -> str:
        told = f"{self.ranks} predicted from {self.source}: {format_percent(self.error)}"
        if self.pairs < 0.995:
            return f"{told}, {format_share(self.pairs)} of the pairs right"
        return (
            told if self.sizes > 0.99 else f"{told}, messages right, bytes of {format_share(1 - self.sizes)} of the pairs wrong"
        )


def checks(scaling: Scaling, where: Placer, on: Priced) -> list[Check]:
    """Return how well each recording is predicted from the next smaller one."""
    found = []
    for one, other in itertools.pairwise(scaling.recordings):
        placement = where(other.ranks)
        nodes = [placement.node(rank) for rank in range(other.ranks)]
        recorded = observed_step(other.record)
        step = (recorded if other.compute_s > 0 else recorded.without_computing()).on(nodes)
        time_s = PlacedStep(step, placement).time_s(on.machine)
        carried = carriers(other.record, nodes)[:1]
        as_recorded = other.compute_s / one.compute_s if one.compute_s > 0 else 1.0
        errors, same = [], (0.0, 0.0)
        for compute in (None, as_recorded):
            answers = scaling.answers(other.ranks, carried, one, compute)
            best = max(answers, key=lambda answer: agreement(answer.step, step))
            errors.append(PlacedStep(best.step, placement).time_s(on.machine) / time_s - 1)
            same = agreement(best.step, step)
        found.append(Check(other.ranks, one.ranks, errors[0], *same, errors[1]))
    return found


def priced(
    scaling: Scaling, ranks: int, where: Placer, on: Priced, tried: Sequence[Check] = (), steps: int | None = None
) -> WhatIfRow:
    """Return the step on so many ranks, on the likeliest grid; its interval covers all grids and readings, the laws of
    computing that the recordings leave, and how badly they predict each other (``tried``).

    Raises NoTemplateError, InputError.
    """
    placement = where(ranks)
    nodes = [placement.node(rank) for rank in range(ranks)]
    answers = scaling.answers(ranks, carriers(scaling.base.record, nodes))
    first = answers[0]
    placed = [PlacedStep(one.step, where(one.step.ranks), one.grid, notes=one.step.notes) for one in answers]
    row = row_of(placed[0], on, steps=steps)
    assert row.time_s is not None and row.span is not None
    point, low, high = scaling.computing(ranks)
    ends = []
    for number, one in enumerate(placed):
        low_s, high_s = one.span(on)[0].ends_s if number else row.span.ends_s
        busiest_s = float(one.compute_s.max(initial=0.0))
        ends.append((low_s - (1 - low / point) * busiest_s, high_s + (high / point - 1) * busiest_s))
    if scaling.is_thick and ranks != scaling.base.ranks:
        ends.append((row.time_s, row.time_s + _CELLS * (row.time_s - float(placed[0].compute_s.max(initial=0.0)))))
    down, up = _widened(scaling, ranks, tried)
    extra_s = _beyond_s(first, scaling, placement, where(first.step.ranks), on) if first.few else 0.0
    time_s = row.time_s + extra_s
    low_s, high_s = (min(one for one, _ in ends) + extra_s) * down, (max(one for _, one in ends) + extra_s) * up
    more, known = ranks / first.step.ranks, ranks <= MOST_TIMES * scaling.base.ranks
    return replace(
        row, ranks=ranks, nodes=placement.nodes, ranks_per_node=placement.most_on_a_node, time_s=time_s,
        time_lo_s=max(0.0, min(low_s, time_s)) if known else None, time_hi_s=max(high_s, time_s) if known else None,
        messages=round(row.messages * more), bytes=round(row.bytes * more),
        notes=list(dict.fromkeys([*_grids(answers), *scaling.notes(ranks), *row.notes])),
        node_hours=None if steps is None else placement.nodes * time_s * steps / 3600,
    )  # fmt: skip


def _widened(scaling: Scaling, ranks: int, tried: Sequence[Check]) -> tuple[float, float]:
    """Return by what an interval's ends are multiplied, so that it is as wide as recordings were wrong of each other."""
    least, most = 0.0, 0.0
    for one in tried:
        reach = max(1.0, abs(math.log(ranks / scaling.base.ranks)) / math.log(one.ranks / one.source))
        if ranks == scaling.base.ranks:
            continue
        right = 1 / (1 + max(-0.9, one.rest)) - 1  # by what the time was more than predicted
        least, most = min(least, right * reach), max(most, right * reach)
    return max(0.0, 1 + least), 1 + most


def _beyond_s(answer: Answer, scaling: Scaling, there: _core.Placement, walked: _core.Placement, on: Priced) -> float:
    """Return what the collectives of all ranks take longer on so many ranks than on those that are walked."""
    extra_s = 0.0
    for one in answer.step.selected:
        kind = one.call.removeprefix("MPI_").lower()
        kind = kind[1:] if kind.startswith("i") else kind
        times_s = []
        for placement in (there, walked):
            size = one.bytes * one.ranks // placement.ranks if kind.startswith("alltoall") else one.bytes
            nodes = tuple(placement.node(rank) for rank in range(placement.ranks))
            call = Call(kind, placement.ranks, size, nodes)
            schedule = Schedule.of(select(one.library, call), call)
            times_s.append(schedule.judged(placement).cost(1, on.machine).time_s)
        extra_s += one.calls * (times_s[0] - times_s[1])
    return extra_s


def _grids(answers: Sequence[Answer]) -> Iterator[str]:
    """Say which grids were priced, and why these."""
    shown = list(dict.fromkeys((one.grid, one.why) for one in answers if one.grid is not None))
    others = [f"{'x'.join(map(str, grid or ()))} {why}" for grid, why in shown[1:] if grid != shown[0][0]]
    if others:
        first = f"{answers[0].ranks} ranks: {'x'.join(map(str, shown[0][0] or ()))} {shown[0][1]}"
        yield f"{first}, or {', or '.join(others)}: --grid settles it"
    elif shown:
        yield f"grid {shown[0][1]}"
    if len(answers) > len(shown) > 0 and len({one.reading for one in answers}) > 1:
        yield "both neighbours along an axis of two ranks are one: read as periodic and as open: record 12 or 18 ranks"


@record
class Curve(Record):
    """What a curve over numbers of ranks says."""

    fastest: int = key("ranks of the shortest step")
    within_10_percent: int = key("the smallest number of ranks whose step is within 10 % of the shortest")
    knee: int | None = key("from this number of ranks on twice the ranks save less than a quarter of the time; null: none")
    cause: str | None = key("what takes most of what the knee's step does not compute, by the names of shares")

    @classmethod
    def of(cls, rows: Sequence[WhatIfRow], weak: bool) -> Curve | None:
        """Return what the rows (ascending ranks) say; None of fewer than two."""
        known = [(row.ranks, row.time_s, row) for row in rows if row.time_s]
        if len(known) < 2 or weak:
            return None
        least_s = min(time_s for _, time_s, _ in known)
        fastest = next(ranks for ranks, time_s, _ in known if time_s == least_s)
        within = next(ranks for ranks, time_s, _ in known if time_s <= 1.1 * least_s)
        knee = cause = None
        for (ranks, time_s, row), (more, after_s, _) in itertools.pairwise(known):
            if after_s / time_s > 0.75 ** math.log2(more / ranks):
                knee = ranks
                cause = next((share.what for share in row.shares if share.what != "compute"), None)
                break
        return cls(fastest, within, knee, cause)
