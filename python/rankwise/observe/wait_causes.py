"""Waiting of a program's steps by kind and by what causes it: which call waits where, and which rank comes late from where."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.call_sites import NO_SITE, numbered_site, site_text
from rankwise.observe.callers import callers_of, telling_caller
from rankwise.observe.efficiency import computing_ns
from rankwise.observe.record import Record
from rankwise.observe.steps import Steps
from rankwise.observe.waits import KINDS, Waits
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_share

_TOLD = 0.01  # of the steps' time
_CALLS = NO_SITE + 1  # labels from here on are calls whose site is not known


@record
class Place(JsonRecord):
    """A call of MPI in the program."""

    call: str = key("name of the function of MPI")
    function: str | None = key("function of the program that calls it; null: unknown")
    file: str | None = key("source file of the call; null: unknown")
    line: int | None = key("line of the call; null: unknown")
    site: str
    caller: str | None = key("who mostly calls that function, where it wraps MPI or is not known", default=None, omit="null")

    @property
    def place(self) -> str:
        """The call and its site, which are the same in every run."""
        return f"{self.call}: {self.site}" if self.site else self.call

    @property
    def text(self) -> str:
        """The call site, and who tells more of it: ``Foam::reduce (libPstream.so), called by Foam::PCG::scalarSolve``."""
        return f"{self.site}, called by {self.caller}" if self.caller else self.site

    def __str__(self) -> str:
        return f"{self.place}, called by {self.caller}" if self.caller else self.place


@record
class WaitKind(JsonRecord):
    """Waiting of a kind, as Scalasca names it."""

    kind: str = key(f"kind of waiting: {', '.join(KINDS)}")
    seconds: float = key("time of all ranks together, in the steps that are looked at")
    share: float = key("share of all ranks' time in these steps")


@record
class WaitCause(JsonRecord):
    """Waiting of a kind at a place, and whom it is for: the rank that causes most of it."""

    of: WaitKind = key("how much, of all ranks", inline=True)
    at: Place = key("call that waits")
    rank: int = key("rank that causes most of it")
    rank_share: float = key("share that this rank causes")
    before: Place = key("first call behind the computing that makes that rank late")

    @property
    def words(self) -> tuple[str, str]:
        """Who waits where, and for whom."""
        most = f" ({format_share(self.rank_share)} of it)" if self.rank_share < 0.995 else ""
        return (
            f"{format_share(self.of.share):>4}  {self.of.kind} at {self.at}",
            f"      for rank {self.rank}{most}, late at {self.before}",
        )


@record
class Waiting(JsonRecord):
    """Where ranks wait in the steps, and why."""

    kinds: tuple[WaitKind, ...] = key("by kind, the longest first")
    imbalance_s: float = key("part that ends if all ranks compute as long as the longest does in each step; of all ranks")
    dependence_s: float = key("the rest: ranks compute one after the other (as in a sweep), or are held up by transfer")
    causes: tuple[WaitCause, ...] = key("by kind, place and cause, the longest first")
    total_s: float

    def words(self, sweep: bool) -> str:
        """The kinds and reasons in a line; ``sweep``: ranks are known to wait for their turn."""
        told = [one for one in self.kinds if one.share >= _TOLD] or list(self.kinds[:1])
        kinds = ", ".join(f"{one.kind} {format_share(one.share)}" for one in told)
        reasons = (("imbalance", self.imbalance_s), ("sweep dependence" if sweep else "dependence", self.dependence_s))
        named = ", ".join(f"{name} {format_share(s / self.total_s)}" for name, s in reasons if s >= _TOLD * self.total_s)
        return f"{kinds} of a step{f'; due to {named}' if named else ''}"


def labels_of(record: Record, steps: Steps, events: Mapping[int, Array]) -> dict[int, Array]:
    """Return of each event of the steps that are looked at where it was called: the number of its site, or of its call."""
    firsts = {w["rank"]: w["first_event"] for w in record.header.get("windows", []) if w["first_call"] == 0}
    labels = {}
    for column, rank in enumerate(sorted(events)):
        at = steps.positions(column)
        labels[rank] = events[rank]["call"][at].astype(np.int64) + _CALLS
        if rank in record.sites:
            sites = record.sites[rank][at + firsts.get(rank, 0)]
            labels[rank] = np.where(sites < len(record.header.get("sites", [])), sites, labels[rank])
    return labels


def waiting_of(record: Record, steps: Steps, events: Mapping[int, Array], waits: Waits) -> Waiting | None:
    """Return the waiting by kind and cause; None where there is none."""
    total_s = float(steps.spans_s(events).sum())
    if not waits.waiting_s.any() or total_s <= 0:
        return None
    kinds = [WaitKind(kind, float(s), float(s) / total_s) for kind, s in zip(KINDS, waits.waiting_s.sum(axis=1), strict=True)]
    kinds = sorted((one for one in kinds if one.seconds > 0), key=lambda one: -one.seconds)
    imbalance_s = _imbalance_s(steps, events, waits)
    rest_s = max(0.0, float(waits.waiting_s.sum()) - imbalance_s)
    return Waiting(tuple(kinds), imbalance_s, rest_s, tuple(_causes(record, waits, total_s)), total_s)


def _imbalance_s(steps: Steps, events: Mapping[int, Array], waits: Waits) -> float:
    """Return how much of the waiting is no longer than other ranks compute longer in the same step."""
    compute_s = computing_ns(steps, events) * 1e-9
    waited_s = np.zeros_like(compute_s)
    ends = np.cumsum(steps.ends[steps.sample] - steps.begins[steps.sample], axis=0)
    for column, rank in enumerate(sorted(events)):
        first, late_s = waits.of_calls[rank]
        np.add.at(waited_s[:, column], np.searchsorted(ends[:, column], first, side="right"), late_s)
    return float(np.minimum(waited_s, compute_s.max(axis=1, keepdims=True) - compute_s).sum())


def _causes(record: Record, waits: Waits, total_s: float) -> list[WaitCause]:
    places: dict[int, Place] = {}
    found: dict[tuple[str, str, str], dict[tuple[int, int, int], float]] = {}
    for (kind, at, rank, before), seconds in waits.causes_s.items():
        for label in (at, before):
            places.setdefault(label, place_of(record, label))
        of = found.setdefault((kind, places[at].place, places[before].place), {})
        of[at, rank, before] = of.get((at, rank, before), 0.0) + seconds
    causes = []
    for (kind, *_), by_rank in found.items():
        seconds, of_rank = sum(by_rank.values()), dict[int, float]()
        for (_, rank, _), part in by_rank.items():
            of_rank[rank] = of_rank.get(rank, 0.0) + part
        most = max(of_rank, key=lambda rank: of_rank[rank])
        at, _, before = next(iter(by_rank))
        told = WaitKind(kind, seconds, seconds / total_s)
        causes.append(WaitCause(told, places[at], most, of_rank[most] / seconds, places[before]))
    return sorted(causes, key=lambda one: -one.of.seconds)


def place_of(record: Record, label: int) -> Place:
    """Return the call that a label stands for."""
    if label >= _CALLS:
        return Place(record.header["calls"][label - _CALLS], None, None, None, "")
    site = numbered_site(record.header, label)
    caller = telling_caller(site["function"], callers_of(record.header, site.get("callers", ())))
    return Place(site["call"], site["function"], site["file"], site["line"], site_text(site), caller or None)
