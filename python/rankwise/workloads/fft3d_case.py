"""A 3-D FFT that is done in one way: what is asked, what of it is sent and computed, how it is predicted and run.

The model has czechowski2012's terms with this machine's rates, its exchanges measured or walked.

Two readings: ``calibrated`` takes the rates that ``rankwise measure fft3d`` found at the array's size in the running
program; ``literal`` is the paper's way: Eq. 1 at the best rate of the local FFT, Eq. 2 with the A that was counted, Eq. 8
and Eq. 2 at STREAM's bandwidth, Eq. 3 at the all-to-all bandwidth of large arrays. The time of the exchanges is either
that of the all-to-all (``measured``), or that of the pairwise schedule by the judge (``walk``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankwise import _core
from rankwise.errors import InputError
from rankwise.machine.fft_rates import FftRates, RankRates
from rankwise.machine.profile import Profile
from rankwise.models.fft3d import Transform, connected_network_time, flops_time, literal, memory_time, shuffle_time
from rankwise.records import Record, key, record, told
from rankwise.workloads.base import SIMULATED, Case, Pricer, Program, Row, Settings, Span, Times, Transpose, joined

PHASES = ("compute", "shuffle", "exchange")
METHODS = ("alltoall", "pairwise", "node-aware")
TIMED, CALIBRATED, LITERAL, SHORTENED = "timed", "calibrated", "literal", "shortened"
MEASURED, WALK = "measured", "walk"
_REPEATS_TO = 0.03
_LOST, _LEAST_QUIET = 0.02, 5


@dataclass(frozen=True)
class Ingredients:
    """What a transform is made of, timed on this machine (engines/fft_lengths.py): the phases and the imbalance in seconds.

    ``span``: of a further launch. ``alone``: nothing was exchanged. ``on_node``: ranks a node. ``of_grid``: another grid than
    the case's stands for it.
    """

    times_s: Mapping[str, float]
    span: Span
    library: str
    launches: int
    disturbed: bool = False
    alone: bool = False
    of_grid: tuple[int, int] | None = None
    on_node: int = 1


@record
class FftSettings(Settings):
    """What was asked of a whole comparison of FFTs."""

    reading: str = key("how the model of the paper is read")


@record
class PhaseSpans(Record):
    """The phases of a transform."""

    compute: Span = key("local FFTs")
    shuffle: Span = key("moving data within a rank")
    exchange: Span = key("exchange between ranks")


@record
class ShortenedSpans(PhaseSpans):
    """The phases of transforms that were shortened to fit the time, and their sum."""

    imbalance: Span = key("waiting for slower ranks")
    total: Span = key("all phases together")


@record
class FftFigures(Record):
    """What only FFTs have of a row."""

    per_rank: Sequence[PhaseSpans] = key("by rank", default=())
    isolated: Mapping[str, Span] = key("phases timed alone", factory=dict)
    terms: Mapping[str, float | None] = key("time by term of the model", factory=dict)
    checks: Mapping[str, float] = key("errors of the transform, and error_bound", factory=dict)
    library: str | None = key("library of the local FFTs", default=None)
    array_bytes: int | None = key("the array of all ranks", default=None)
    memory_bytes: int | None = key("memory of a rank", default=None)
    shortened: ShortenedSpans | None = key("what was shortened to fit the time", default=None, omit=True)


@record
class FftCase(Case):
    """One 3-D FFT of n[0] x n[1] x n[2] points on a process grid p1 x p2 (src/fft/decomposition.hpp says how).

    ``batch``: fields; ``packed``: of them, whose blocks travel as one message; ``in_flight``: 2: one group of these is
    exchanged while the next is transformed.

    How it is run (``library``, ``planning``) and modelled (``reading``; ``network``: None takes what fits the method) names
    no other case. ``open_grid``: the model may take another grid of as many ranks. ``ingredients``: of each grid that was
    timed.
    """

    workload = kernel = "fft3d"
    most_a_launch = 1

    n: tuple[int, int, int] = key("points along each axis")
    grid: tuple[int, int] = key("ranks along both axes of the process grid")
    real: bool = key("whether the data are real numbers", default=False)
    precision: str = key("single or double", default="double")
    order: str = key("order of the result", default="transposed")
    method: str = key("how blocks are exchanged", default="alltoall")
    direction: str = key("forward or backward", default="forward")
    chunks: int = key("parts whose exchanges and transforms overlap", default=1)
    batch: int = key("fields that one call transforms", default=1)
    packed: int = key("fields whose blocks travel as one message", default=1, name="together")
    in_flight: int = key("2: one group of fields is exchanged while the next one is transformed", default=1)
    library: str = field(default="auto", compare=False)
    planning: str = field(default="measure", compare=False)
    reading: str = field(default=CALIBRATED, compare=False)
    network: str | None = field(default=None, compare=False)
    open_grid: bool = field(default=False, compare=False)
    ingredients: Mapping[tuple[int, int], Ingredients] = field(default_factory=dict, compare=False, repr=False)

    @property
    def keys_of_local(self) -> Hashable:
        """What the local work depends on besides lengths and ranks."""
        return self.real, self.precision, self.order, self.direction

    @property
    @told("number of ranks", after="grid")
    def ranks(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def way(self) -> str:
        slices = f", {self.chunks} slices" if self.chunks > 1 else ""
        together = f", {self.packed} fields together" if self.packed > 1 else ""
        turns = ", by turns" if self.in_flight > 1 else ""
        return f"{self.grid[0]}x{self.grid[1]}, {self.method}{slices}{together}{turns}"

    @property
    def needs_nodes(self) -> bool:
        """Whether it is a way that pays between nodes only."""
        return self.chunks > 1 or self.in_flight > 1 or self.method == "node-aware"

    @property
    def question(self) -> Hashable:
        return self.ranks, self.n, self.batch

    @property
    def groups(self) -> list[tuple[int, int]]:
        """How many groups of fields travel together, and how many fields each: whole ones, and what is left over."""
        return _core.fft_groups(self.batch, self.packed)

    @property
    def points(self) -> int:
        return math.prod(self.n)

    @property
    def exchanges(self) -> tuple[int, ...]:
        """The ranks of each exchange of a transform, in order."""
        once = tuple(ranks for ranks in (self.grid[1], self.grid[0]) if ranks > 1)
        return once + once[::-1] if self.order == "natural" else once

    @property
    def bytes_per_rank(self) -> float:
        """A rank's array, on the average."""
        word_bytes = 16.0 if self.precision == "double" else 8.0
        last = self.n[2] // 2 + 1 if self.real else self.n[2]
        return self.n[0] * self.n[1] * last * word_bytes / self.ranks

    @property
    def flops_per_rank(self) -> float:
        """5 N log2 N over the ranks, half of it for real data (Eq. 1 of czechowski2012 for any axes)."""
        return 5.0 * self.points * math.log2(self.points) * (0.5 if self.real else 1.0) / self.ranks

    @property
    def messages_sent(self) -> int:
        """The blocks that a rank has for others, over all exchanges."""
        return sum(ranks - 1 for ranks in self.exchanges) * sum(groups for groups, _ in self.groups)

    @property
    def bytes_sent(self) -> int:
        return round(self.batch * sum(self.bytes_per_rank * (1 - 1 / ranks) for ranks in self.exchanges))

    def cells(self) -> dict[str, str]:
        return {"n": "x".join(map(str, self.n)), "grid": "x".join(map(str, self.grid))}

    def settings(self) -> FftSettings:
        return FftSettings(self.reading)

    def predict(self, model: Pricer) -> Row:
        if not self.open_grid:
            return _predicted(self, model)
        grids = list(self.ingredients) or fitting_grids(self.n, self.real, self.ranks)
        rows = [_predicted(replace(self, grid=grid, open_grid=False), model) for grid in grids]
        # Of equals the one with the most slabs.
        return min(rows, key=lambda row: (row.time_s, -grids[rows.index(row)][0]))

    @property
    def by_turns(self) -> bool:
        return self.reading == SHORTENED

    def modelled(self, row: Row) -> Row:
        """Return the model's row of a real run that took turns with shortened transforms of the same launch."""
        spans = row.figures["shortened"].items()
        shortened = {name: Span(span["time_s"], span["time_lo_s"], span["time_hi_s"]) for name, span in spans}
        return Row.of(
            "model", self, shortened["total"], self.messages_sent, self.bytes_sent, None, (),
            oversubscribed=row.oversubscribed,
            parts={phase: shortened[phase] for phase in PHASES},
            figures=FftFigures(terms={"imbalance_s": shortened["imbalance"].time_s}, library=row.figures["library"]).to_dict(),
        )  # fmt: skip

    def require_fair(self, profile: Profile) -> None:
        if self.by_turns or profile.fft3d is None or len(set(self.n)) > 1:
            return
        if self.n[0] in {point.n for rates in profile.fft3d.rates for point in rates.points}:
            raise InputError(
                f"the calibration was made at n = {self.n[0]}, too: validate it at other sizes, "
                "or calibrate at others with 'rankwise measure fft3d --n'"
            )

    @property
    def together(self) -> Hashable:
        return self

    def arguments(self, items: Sequence[Any], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        return [
            "--n", joined(self.n),
            "--grid", joined(self.grid),
            "--real", str(int(self.real)),
            "--precision", self.precision,
            "--order", self.order,
            "--method", self.method,
            "--direction", self.direction,
            "--chunks", str(self.chunks),
            "--library", self.library,
            # Where computing takes no time there is nothing to plan for.
            "--planning", "estimate" if node_of_rank is None else self.planning,
            *(["--turns", "1"] if self.by_turns and not simulated else []),
        ]  # fmt: skip

    def effort(self, seconds: float | None, crowded: bool) -> Sequence[str]:
        # Planned anew, a transform may be another one, 10 % slower: what predictions are made of is run.
        from rankwise.cache import wisdom_arguments

        return SIMULATED if seconds is None else ("--budget-s", f"{seconds:.6f}", *wisdom_arguments(self.precision))

    def undisturbed(self, record: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        """Leave out what lost more than 2 % of its time to other programs, where at least five of each kind are left.

        A scaled share of a transform that nobody interrupts says nothing of a whole one that is interrupted: on a busy machine
        the median of the one is not that of the other.
        """
        if "shortened_lost_s" not in record:
            return record, None
        import numpy as np

        shortened = {name: np.asarray(times) for name, times in record["shortened"][0].items() if name.endswith("_s")}
        of_shortened = sum(shortened.values()) + np.asarray(record["imbalance_s"])
        # Of local work alone there are no whole transforms.
        times_s, lost_s = record.get("time_s", of_shortened), record.get("lost_s", record["shortened_lost_s"])
        quiet = [
            np.asarray(lost_s) <= _LOST * np.asarray(times_s),
            np.asarray(record["shortened_lost_s"]) <= _LOST * of_shortened,
        ]
        if min(map(np.count_nonzero, quiet)) < _LEAST_QUIET:
            left = min(float(np.mean(of_kind)) for of_kind in quiet)
            return (
                record,
                f"other programs interrupted all but {100 * left:.0f} % of the transforms: the errors are theirs, too",
            )

        def kept(values: Sequence[float], which: int) -> list[float]:
            return list(np.asarray(values)[quiet[which]])

        def of_rank(rank: Mapping[str, Any], which: int) -> dict[str, Any]:
            return {name: kept(values, which) if name.endswith("_s") else values for name, values in rank.items()}

        return {
            **record,
            "time_s": kept(times_s, 0),
            "phases": [of_rank(rank, 0) for rank in record.get("phases", ())],
            "shortened": [of_rank(rank, 1) for rank in record["shortened"]],
            "imbalance_s": kept(record["imbalance_s"], 1),
        }, None

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        import numpy as np

        # ranks x repetitions of each phase
        of_ranks = {phase: np.asarray([rank[f"{phase}_s"] for rank in record["phases"]], dtype=np.float64) for phase in PHASES}
        isolated = {
            phase: Span.of(np.asarray(record[name], dtype=np.float64))
            for phase, name in (("compute", "fft_s"), ("exchange", "alltoall_s"))
            if phase == "compute" or self.exchanges
        }
        per_rank = [PhaseSpans(*(Span.of(of_ranks[phase][rank]) for phase in PHASES)) for rank in range(self.ranks)]
        checks = {name: float(record[name]) for name in ("spectrum_error", "parseval_error", "round_trip_error", "error_bound")}
        figures = FftFigures(
            per_rank, isolated, {}, checks, str(record["library"]), int(record["array_bytes"]), int(record["memory_bytes"]),
            _shortened(record) if "shortened" in record else None,
        )  # fmt: skip
        return {
            "messages_per_rank": self.messages_sent,
            "bytes_per_rank": self.bytes_sent,
            "parts": {phase: Span.of(times.mean(axis=0)) for phase, times in of_ranks.items()},
            "figures": figures.to_dict(),
        }

    def simulated(self, row: Row, profile: Profile | None) -> Row:
        """Return the row of a simulation, in which computing took no time, with what the profile's rates say that it takes."""
        fft3d = None if profile is None else profile.fft3d
        if fft3d is None or not fft3d.rates:
            note = "computing takes no time here: give a --profile with rates by 'rankwise measure fft3d' to have it added"
            return replace(row, notes=(*row.notes, note))
        rates = fft3d.of_ranks(self.ranks) or max(fft3d.rates, key=lambda r: (not r.oversubscribed, r.ranks))
        terms = _terms(self, fft3d, rates)
        compute_s, shuffle_s = max(terms["flops_s"], terms.get("memory_s", 0.0)), terms["shuffle_s"]
        parts = {**row.parts, "compute": Span.point(compute_s), "shuffle": Span.point(shuffle_s)}
        more_s = compute_s + shuffle_s
        return replace(
            row,
            time_s=row.time_s + more_s,
            time_lo_s=None if row.time_lo_s is None else row.time_lo_s + more_s,
            time_hi_s=None if row.time_hi_s is None else row.time_hi_s + more_s,
            parts=parts,
            figures={**row.figures, "terms": {key: terms[key] for key in ("flops_s", "memory_s", "shuffle_s") if key in terms}},
            notes=(*row.notes, f"computing is not simulated: it takes what the profile's rates of {rates.ranks} rank(s) say"),
        )


def _shortened(record: Mapping[str, Any]) -> ShortenedSpans:
    """Return what the shortened transforms of a launch took: each phase and the imbalance, and their sums, as spans.

    The interval of ``total`` holds the medians of transforms as these are resampled, at least 3 % to each side: what
    transforms of one launch repeat to.
    """
    import numpy as np

    phases = {phase: np.asarray(record["shortened"][0][f"{phase}_s"], dtype=np.float64) for phase in PHASES}
    phases["imbalance"] = np.asarray(record["imbalance_s"], dtype=np.float64)
    totals = np.sum(list(phases.values()), axis=0)
    drawn = np.median(np.random.default_rng(0).choice(totals, (1000, totals.size)), axis=1)
    middle = float(np.median(totals))
    low, high = map(float, np.quantile(drawn, (0.025, 0.975)))
    total = Span(middle, min(low, middle * (1 - _REPEATS_TO)), max(high, middle * (1 + _REPEATS_TO)))
    return ShortenedSpans(**{name: Span.of(times) for name, times in phases.items()}, total=total)


def fitting_grids(n: tuple[int, int, int], real: bool, ranks: int) -> list[tuple[int, int]]:
    """Return the process grids p1 x p2 of so many ranks in which every rank has a pencil in every stage."""
    last = n[2] // 2 + 1 if real else n[2]
    return [
        (p1, ranks // p1)
        for p1 in range(1, ranks + 1)
        if ranks % p1 == 0 and p1 <= min(n[0], n[1]) and ranks // p1 <= min(n[1], last)
    ]


def _predicted(case: FftCase, model: Pricer) -> Row:
    """Return the model's row of a case. Raises InputError for a rank count whose rates were not measured."""
    if case.reading == TIMED:
        return _of_ingredients(case, model)
    fft3d = model.profile.fft3d
    if fft3d is None:
        raise InputError("the profile has no rates of FFTs: add them with 'rankwise measure fft3d'")
    rates = fft3d.of_ranks(case.ranks)
    if rates is None:
        known = ", ".join(str(r.ranks) for r in fft3d.rates)
        raise InputError(
            f"the profile's FFT rates are of {known} ranks, not of {case.ranks}: "
            f"add them with 'rankwise measure fft3d --ranks {case.ranks}'"
        )
    if case.needs_nodes:
        raise InputError(
            "slices and node-aware exchanges are not among the profile's rates: ask on the machine of the profile, without "
            "--reading and --network"
        )
    network = case.network or (MEASURED if case.method == "alltoall" else WALK)
    if case.exchanges:
        model.require_links(case)
    terms = _terms(case, fft3d, rates)
    fields = float(case.batch)
    parts = {
        "compute": Span.point(fields * max(terms["flops_s"], terms.get("memory_s", 0.0))),
        "shuffle": Span.point(fields * terms["shuffle_s"]),
        "exchange": Span.point(fields * terms["network_s"]),
    }
    if network == WALK:
        parts["exchange"] = _over_groups(case, lambda together: _walk(case, model, True, together))
        terms["walk_s"] = parts["exchange"].time_s
    return Row.of(
        "model", case, _between_rates(case, rates, Span.sum(parts.values())), case.messages_sent, case.bytes_sent, None,
        list(_notes(case, fft3d, rates, network)),
        oversubscribed=rates.oversubscribed,
        parts=parts,
        figures=FftFigures(terms=terms, library=fft3d.library).to_dict(),
    )  # fmt: skip


def _of_ingredients(case: FftCase, model: Pricer) -> Row:
    """Return the row of parts that were timed, with the judge's exchanges where these were not."""
    made_of = case.ingredients.get(case.grid)
    if made_of is None:
        raise InputError("this transform was not timed: ask by 'rankwise predict fft3d', or take --reading calibrated")
    parts = {phase: Span.point(case.batch * made_of.times_s[phase]) for phase in PHASES}
    span = made_of.span.scaled(case.batch)
    notes = [f"timed here in {made_of.launches} launches"]
    if made_of.alone:
        parts["exchange"] = exchanges_of(case, model, made_of.on_node)
        span = Span.sum([span, parts["exchange"]])
        hidden = _hidden_s(case, model, made_of)
        if hidden > 0:
            span = Span(span.time_s - hidden, span.ends_s[0] - hidden, span.ends_s[1] - hidden)
            by = "turns" if case.in_flight > 1 else f"{case.chunks} slices"
            notes.append(f"{by} hide {100 * hidden / (span.time_s + hidden):.0f} % of it")
        notes.append("exchanges are the cost model's")
    if made_of.of_grid is not None:
        notes.append(f"local work as of grid {made_of.of_grid[0]}x{made_of.of_grid[1]}, whose exchanges take less")
    if made_of.disturbed:
        notes.append("other programs had the processors while it was timed: the interval is that of a busy machine")
    return Row.of(
        "model", case, span, case.messages_sent, case.bytes_sent, None, notes,
        parts=parts,
        figures=FftFigures(terms={"imbalance_s": made_of.times_s["imbalance"]}, library=made_of.library).to_dict(),
    )  # fmt: skip


def _hidden_s(case: FftCase, model: Pricer, made_of: Ingredients) -> float:
    """Return what slices or turns hide of a batch's local work and exchanges."""
    return sum(
        _core.fft_hidden(groups, case.chunks, case.in_flight)
        * min(fields * made_of.span.time_s, _of_group(case, model, made_of.on_node, fields).time_s)
        for groups, fields in case.groups
    )


def _over_groups(case: FftCase, of_group: Callable[[int], Span]) -> Span:
    """Return what the groups of fields that travel together take, one after the other."""
    return Span.sum(of_group(fields).scaled(groups) for groups, fields in case.groups)


def exchanges_of(case: FftCase, model: Pricer, on_node: int) -> Span:
    """Return what a case's exchanges take by the judge, with so many ranks a node."""
    return _over_groups(case, lambda fields: _of_group(case, model, on_node, fields))


def _of_group(case: FftCase, model: Pricer, on_node: int, fields: int) -> Span:
    if case.method != "node-aware":
        return _walk(case, model, case.method == "pairwise", fields)
    # Slabs on full nodes: gathered within them, node to node, handed out; what one rank of a node sends another node goes at
    # once.
    nodes, passes = case.ranks // on_node, (2 if case.order == "natural" else 1) * case.chunks
    block = fields * case.bytes_per_rank / case.ranks / case.chunks
    within = model.price(case, Program(Transpose((nodes, on_node), (1,), False)), round(block * nodes)).span
    between = model.price(case, Program(Transpose((nodes, on_node), (0,), False)), round(block * on_node)).span
    return Span.sum([within, between, within]).scaled(passes)


def _terms(case: FftCase, fft3d: FftRates, rates: RankRates) -> dict[str, float]:
    """Return the terms by name, in seconds. Raises InputError where a rate is missing."""
    try:
        return _literal(case, fft3d, rates) if case.reading == LITERAL else _calibrated(case, rates)
    except ValueError as error:
        raise InputError(str(error)) from None


def _transform(case: FftCase) -> Transform:
    # The model's equations are for cubes: one of as many points. A rank is a "node" of the paper.
    word_bytes = case.bytes_per_rank * case.ranks / case.points
    return Transform(n=case.points ** (1 / 3), word_bytes=word_bytes, exchanges=len(case.exchanges), real=case.real)


def _calibrated(case: FftCase, rates: RankRates) -> dict[str, float]:
    size, transform = case.bytes_per_rank, _transform(case)
    precision = 1.0 if case.precision == "double" else 2.0
    terms = {"flops_s": case.flops_per_rank / (precision * rates.rate("flop_per_s", size)), "shuffle_s": 0.0, "network_s": 0.0}
    if case.exchanges and rates.ranks > 1:
        terms["shuffle_s"] = shuffle_time(transform, case.ranks, rates.rate("shuffle_bytes_per_s", size))
        terms["network_s"] = connected_network_time(transform, case.ranks, rates.rate("exchange_bytes_per_s", size))
    return terms


def _between_rates(case: FftCase, rates: RankRates, span: Span) -> Span:
    """Return a time with the interval that it has for what rates differ by between the sizes of the calibration.

    Rates know nothing of the factors of a length: they are as doubtful as they differ.
    """
    if case.reading == LITERAL:
        return span
    names = ("flop_per_s", "shuffle_bytes_per_s", "exchange_bytes_per_s")
    known = [[rate for point in rates.points if (rate := getattr(point, name)) is not None] for name in names]
    factor = max((max(of_name) / min(of_name) for of_name in known if of_name), default=1.0)
    low_s, high_s = span.ends_s
    return Span(span.time_s, low_s / max(factor, 1.03), high_s * max(factor, 1.03))


def _literal(case: FftCase, fft3d: FftRates, rates: RankRates) -> dict[str, float]:
    transform = _transform(case)
    precision = 1.0 if case.precision == "double" else 2.0
    best = max(point.flop_per_s for point in rates.points)
    counted = fft3d.a(transform.n)
    terms = {
        "flops_s": flops_time(transform, case.ranks, precision * best),
        "shuffle_s": shuffle_time(transform, case.ranks, rates.triad_bytes_per_s),
        "network_s": 0.0,
    }
    if counted is not None:
        terms["memory_s"] = memory_time(transform, case.ranks, rates.triad_bytes_per_s, counted.cache_bytes, literal(counted.a))
    if case.exchanges and rates.ranks > 1:
        largest = max(point.bytes_per_rank for point in rates.points)
        terms["network_s"] = connected_network_time(transform, case.ranks, rates.rate("exchange_bytes_per_s", largest))
    return terms


def _walk(case: FftCase, model: Pricer, pairwise: bool, fields: int) -> Span:
    """Return the time of the exchanges of so many fields by the judge, rows or columns of ranks all at once."""
    p1, p2 = case.grid
    slices = case.chunks if p2 == 1 else 1
    passes = (2 if case.order == "natural" else 1) * slices
    spans = [
        model.price(
            case, Program(Transpose((p1, p2), (axis,), pairwise)), round(fields * case.bytes_per_rank / ranks / slices)
        ).span
        for axis, ranks in ((1, p2), (0, p1))
        if ranks > 1
    ]
    return Span.sum(spans).scaled(passes)


def _notes(case: FftCase, fft3d: FftRates, rates: RankRates, network: str) -> Iterator[str]:
    sizes = [point.bytes_per_rank for point in rates.points]
    if not min(sizes) <= case.bytes_per_rank <= max(sizes):
        yield f"extrapolated: an array of {case.bytes_per_rank:.3g} B a rank lies beyond those of the calibration"
    if rates.oversubscribed:
        yield f"the rates of {rates.ranks} ranks are those of ranks that share cores"
    if case.reading == LITERAL and not fft3d.counted:
        yield "A was not counted (no valgrind): Eq. 2 is left out"
    if network == WALK:
        yield "walk: the links' times are of two ranks alone; ranks that exchange at once share the memory's bandwidth"
