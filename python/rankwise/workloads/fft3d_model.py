"""The model of the 3-D FFT: czechowski2012's terms with this machine's rates, its exchanges measured or walked.

Two readings: ``calibrated`` takes the rates that ``rankwise measure fft3d`` found at the array's size in the running
program; ``literal`` is the paper's way: Eq. 1 at the best rate of the local FFT, Eq. 2 with the A that was counted, Eq. 8
and Eq. 2 at STREAM's bandwidth, Eq. 3 at the all-to-all bandwidth of large arrays. The time of the exchanges is either
that of the all-to-all (``measured``), or that of the pairwise schedule by the judge (``walk``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rankwise import _core
from rankwise.errors import InputError
from rankwise.machine.fft_rates import FftRates, RankRates
from rankwise.machine.profile import Profile
from rankwise.models.fft3d import Transform, connected_network_time, flops_time, literal, memory_time, shuffle_time
from rankwise.workloads.base import Pricer, Program, Row, Span, Transpose
from rankwise.workloads.fft3d_case import LITERAL, MEASURED, PHASES, TIMED, WALK, FftTransform, Ingredients, figures_of


def predicted(case: FftTransform, model: Pricer) -> Row:
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
        figures=figures_of(fft3d.library, terms),
    )  # fmt: skip


def _of_ingredients(case: FftTransform, model: Pricer) -> Row:
    """Return the row of parts that were timed, with the judge's exchanges where these were not."""
    made_of = case.ingredients.get(case.grid)
    if made_of is None:
        raise InputError("this transform was not timed: ask by 'rankwise predict fft3d', or take --reading calibrated")
    parts = {phase: Span.point(case.batch * made_of.times_s[phase]) for phase in PHASES}
    span = made_of.span.scaled(case.batch)
    notes = [f"timed here in {made_of.launches} launches"]
    if made_of.alone:
        parts["exchange"] = _exchanges(case, model, made_of.on_node)
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
        figures=figures_of(made_of.library, {"imbalance_s": made_of.times_s["imbalance"]}),
    )  # fmt: skip


def exchanges_s(case: FftTransform, model: Pricer, on_node: int) -> float:
    """Return the time of a case's exchanges by the judge, with so many ranks a node."""
    return _exchanges(case, model, on_node).time_s


def _hidden_s(case: FftTransform, model: Pricer, made_of: Ingredients) -> float:
    """Return what slices or turns hide of a batch's local work and exchanges."""
    return sum(
        _core.fft_hidden(groups, case.chunks, case.in_flight)
        * min(fields * made_of.span.time_s, _of_group(case, model, made_of.on_node, fields).time_s)
        for groups, fields in case.groups
    )


def _over_groups(case: FftTransform, of_group: Callable[[int], Span]) -> Span:
    """Return what the groups of fields that travel together take, one after the other."""
    return Span.sum(of_group(fields).scaled(groups) for groups, fields in case.groups)


def _exchanges(case: FftTransform, model: Pricer, on_node: int) -> Span:
    return _over_groups(case, lambda fields: _of_group(case, model, on_node, fields))


def _of_group(case: FftTransform, model: Pricer, on_node: int, fields: int) -> Span:
    if case.method != "node-aware":
        return _walk(case, model, case.method == "pairwise", fields)
    # Slabs on full nodes: gathered within them, node to node, handed out; what one rank of a node sends another node goes at
    # once.
    nodes, passes = case.ranks // on_node, (2 if case.order == "natural" else 1) * case.chunks
    block = fields * case.bytes_per_rank / case.ranks / case.chunks
    within = model.price(case, Program(Transpose((nodes, on_node), (1,), False)), round(block * nodes)).span
    between = model.price(case, Program(Transpose((nodes, on_node), (0,), False)), round(block * on_node)).span
    return Span.sum([within, between, within]).scaled(passes)


def modelled(case: FftTransform, row: Row) -> Row:
    """Return the model's row of a real run that took turns with shortened transforms of the same launch."""
    spans = row.figures["shortened"].items()
    shortened = {name: Span(span["time_s"], span["time_lo_s"], span["time_hi_s"]) for name, span in spans}
    return Row.of(
        "model", case, shortened["total"], case.messages_sent, case.bytes_sent, None, (),
        oversubscribed=row.oversubscribed,
        parts={phase: shortened[phase] for phase in PHASES},
        figures=figures_of(row.figures["library"], {"imbalance_s": shortened["imbalance"].time_s}),
    )  # fmt: skip


def with_computing(row: Row, case: FftTransform, profile: Profile | None) -> Row:
    """Return the row of a simulation, in which computing took no time, with what the profile's rates say that it takes."""
    fft3d = None if profile is None else profile.fft3d
    if fft3d is None or not fft3d.rates:
        note = "computing takes no time here: give a --profile with rates by 'rankwise measure fft3d' to have it added"
        return replace(row, notes=(*row.notes, note))
    rates = fft3d.of_ranks(case.ranks) or max(fft3d.rates, key=lambda r: (not r.oversubscribed, r.ranks))
    terms = _terms(case, fft3d, rates)
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


def _terms(case: FftTransform, fft3d: FftRates, rates: RankRates) -> dict[str, float]:
    """Return the terms by name, in seconds. Raises InputError where a rate is missing."""
    try:
        return _literal(case, fft3d, rates) if case.reading == LITERAL else _calibrated(case, rates)
    except ValueError as error:
        raise InputError(str(error)) from None


def _transform(case: FftTransform) -> Transform:
    # The model's equations are for cubes: one of as many points. A rank is a "node" of the paper.
    word_bytes = case.bytes_per_rank * case.ranks / case.points
    return Transform(n=case.points ** (1 / 3), word_bytes=word_bytes, exchanges=len(case.exchanges), real=case.real)


def _calibrated(case: FftTransform, rates: RankRates) -> dict[str, float]:
    size, transform = case.bytes_per_rank, _transform(case)
    precision = 1.0 if case.precision == "double" else 2.0
    terms = {"flops_s": case.flops_per_rank / (precision * rates.rate("flop_per_s", size)), "shuffle_s": 0.0, "network_s": 0.0}
    if case.exchanges and rates.ranks > 1:
        terms["shuffle_s"] = shuffle_time(transform, case.ranks, rates.rate("shuffle_bytes_per_s", size))
        terms["network_s"] = connected_network_time(transform, case.ranks, rates.rate("exchange_bytes_per_s", size))
    return terms


def _between_rates(case: FftTransform, rates: RankRates, span: Span) -> Span:
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


def _literal(case: FftTransform, fft3d: FftRates, rates: RankRates) -> dict[str, float]:
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


def _walk(case: FftTransform, model: Pricer, pairwise: bool, fields: int) -> Span:
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


def _notes(case: FftTransform, fft3d: FftRates, rates: RankRates, network: str) -> Iterator[str]:
    sizes = [point.bytes_per_rank for point in rates.points]
    if not min(sizes) <= case.bytes_per_rank <= max(sizes):
        yield f"extrapolated: an array of {case.bytes_per_rank:.3g} B a rank lies beyond those of the calibration"
    if rates.oversubscribed:
        yield f"the rates of {rates.ranks} ranks are those of ranks that share cores"
    if case.reading == LITERAL and not fft3d.counted:
        yield "A was not counted (no valgrind): Eq. 2 is left out"
    if network == WALK:
        yield "walk: the links' times are of two ranks alone; ranks that exchange at once share the memory's bandwidth"
