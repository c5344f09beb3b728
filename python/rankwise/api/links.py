"""What a profile knows, as blocks: its links, what ranks share, its models, the rates of 3-D FFTs, what packing takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.api.results import sentence
from rankwise.blocks import YES, Block, Column, Listing, Sentence, Table
from rankwise.collectives.selection import BY_RANK
from rankwise.machine.collective_costs import CollectiveCosts, NodeTime
from rankwise.machine.fft_rates import FftRates, RankRates, RatePoint
from rankwise.machine.link import LOOK_UPS, Curve, LinkModel, Segment
from rankwise.machine.profile import VARIANTS, Link, LinkFigures, Packing, Profile, figures_of
from rankwise.machine.shared import Resource, Shared
from rankwise.models import hockney, pchip
from rankwise.records import Interval
from rankwise.units import (
    format_bandwidth,
    format_count,
    format_ends,
    format_interval,
    format_inverse,
    format_parameter,
    format_size,
    format_time,
)

_OFF_SCALE = 0.1  # by so much an overlap may lie outside of 0 to 1 and still be one
_RESOURCES = {
    "card": "NIC of a node",
    "memory": "memory of a node",
    "socket": "memory of a socket",
    "sockets": "link between sockets",
}
_EAGER, _TRIED = "send_returns_up_to_bytes", "limits_tried_up_to_bytes"
_CALLED = {
    "send_overhead_s": "a send keeps its processor for (o_s)",
    "receive_overhead_s": "a receive keeps its processor for (o_r)",
    "latency_s": "the rest of an empty message (l)",
    "gap_s": "a small message every (g)",
    "overlap": "overlap of both directions (1: full duplex, 0: half duplex)",
    _EAGER: "MPI_Send does not wait for the receiver up to",
    "head_to_head_up_to_bytes": "sends to each other do not deadlock up to",
}


def link_in_words(link: Link) -> list[str]:
    """Say what else is known of a link, one line for each thing that was measured."""
    lines = []
    if link.spread is not None and link.spread.between_launches is not None:
        between, within = link.spread.between_launches, link.spread.within_launches
        lines.append(f"launches differ by {100 * between:.1f} %, samples within a launch by {100 * within:.1f} %")
    for name, variant in link.variants.items():
        if name in VARIANTS:  # a way of sending, of the models above
            continue
        if "bandwidth" in name:
            best = max(variant.table, key=lambda point: point.size_bytes / point.time_s)
            rate = format_bandwidth(best.size_bytes / best.time_s)
            lines.append(f"{name}: {rate} at {format_size(best.size_bytes)}, each way of each pair")
        else:
            ends = dict.fromkeys((variant.table[0], variant.table[-1]))
            times = ", ".join(f"{format_time(point.time_s)} at {format_size(point.size_bytes)}" for point in ends)
            lines.append(f"{name}: {times}")
    lines += [f"{_CALLED.get(name, name)}: {_parameter(name, link)}" for name in link.parameters if name != _TRIED]
    if link.loaded is not None:
        loaded = link.loaded
        beta = f", beta {loaded.beta_ratio:.2f} times" if loaded.beta_ratio is not None else ""
        lines.append(
            f"with {loaded.pairs} pair{'s' * (loaded.pairs != 1)} in the background: {format_time(loaded.alpha_s)} at 0 B, "
            f"alpha {loaded.alpha_ratio:.2f} times{beta} that of the free link"
        )
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


_LINKS: Sequence[Column[tuple[str, str, LinkFigures]]] = (
    Column("link", lambda of: of[0]),
    Column("latency", lambda of: of[2].latency_s, format_time),
    Column("95 %", lambda of: format_interval(of[2].latency_ci_s)),
    Column("bandwidth", lambda of: of[2].bandwidth_bytes_per_s, format_bandwidth),
    Column("95 %", lambda of: format_ends(of[2].bandwidth_ci_bytes_per_s, format_bandwidth)),
    Column("at", lambda of: of[2].bandwidth_bytes, format_size),
    Column("model", lambda of: of[1]),
    Column("samples", lambda of: of[2].samples),
)


def links_table(profile: Profile) -> Table[Any]:
    """The one latency and the one bandwidth of each link class, as every page and JSON name them."""
    rows = [(name, profile.links[name].send.model, figures) for name, figures in figures_of(profile.links).items()]
    return Table(_LINKS, rows, leave=("at", "samples", "model"))


_IN_EXCHANGE: Column[tuple[str, Resource]] = Column("in exchanges", lambda of: of[1].in_exchange_bytes_per_s, format_bandwidth)
_SHARED: Sequence[Column[tuple[str, Resource]]] = (
    Column("shared", lambda of: of[0]),
    Column("rate", lambda of: of[1].bytes_per_s, format_bandwidth),
    Column("95 %", lambda of: format_ends(of[1].ci, format_bandwidth)),
    _IN_EXCHANGE,
    Column("messages/s", lambda of: of[1].messages_per_s, lambda rate: f"{float(f'{rate:.3g}'):,.0f}"),
    Column("both ways", lambda of: _both_ways(of[1])),
    Column("pairs at once", lambda of: of[1].most_pairs, lambda most: "1 only" if most == 1 else f"up to {most}"),
)


def _both_ways(resource: Resource) -> str | None:
    both = resource.both_ways_bytes_per_s
    return None if both is None else format_bandwidth(both) + (" (half duplex)" if resource.half_duplex else "")


def link_blocks(profile: Profile) -> Iterator[Block]:
    """Yield what else was measured of each link; and what ranks share: how much of it there is, a row for each
    resource and each level above the nodes."""
    for name, link in profile.links.items():
        yield from (Sentence(f"{name}: {line}") for line in link_in_words(link))
    if profile.shared != Shared():
        rows = [(_RESOURCES[kind], resource) for kind, resource in profile.shared.resources()]
        rows += [(f"up from {level.nodes} nodes", Resource(level.up_bytes_per_s)) for level in profile.shared.levels]
        measured = any(resource.exchange for _, resource in rows)
        yield Table(
            [column for column in _SHARED if measured or column is not _IN_EXCHANGE], rows,
            leave=("pairs at once", "both ways", "messages/s", "in exchanges"),
        )  # fmt: skip


@dataclass(frozen=True)
class _Modelled:
    """A model of a link's way of sending, or one segment of it."""

    link: str
    sending: str
    curve: Curve
    model: LinkModel
    segment: Segment | None

    def beta(self) -> float | None:
        return self.segment.beta_s_per_byte if self.segment is not None and self.segment.beta_s_per_byte > 0 else None

    def alpha_interval(self) -> str:
        return format_interval(self.segment.alpha_ci_s if self.segment is not None and self.segment.alpha_s > 0 else None)

    def beta_interval(self) -> str:
        ends = None if self.segment is None else self.segment.beta_ci_s_per_byte
        return format_ends(ends and (ends[1], ends[0]), format_inverse)


_MODELS: Sequence[Column[_Modelled]] = (
    Column("mode", "sending"),
    Column("link", "link"),
    Column("model", lambda of: of.model.name + (" *" if of.model.name == of.curve.model else "")),
    Column("from", lambda of: format_size(of.segment.from_bytes) if of.segment else f"{len(of.curve.table)} rows"),
    Column("alpha", lambda of: of.segment and of.segment.latency_s, format_time),
    Column("95 %", _Modelled.alpha_interval),
    Column("1/beta", _Modelled.beta, lambda beta: format_bandwidth(1 / beta)),
    Column("95 %", _Modelled.beta_interval),
    Column("fit error", "model.relative_error", _percent),
)


def model_blocks(profile: Profile) -> Iterator[Block]:
    """Yield all models of a profile."""
    rows = [
        _Modelled(name, sending, curve, model, segment)
        for name, link in profile.links.items()
        for sending, curve in link.curves.items()
        for model in curve.models.values()
        for segment in ([None] if model.name in LOOK_UPS else model.segments)
    ]
    yield Table(_MODELS, rows, leave=("fit error", "link"))
    yield Sentence("* the model that predictions use; a model's segment holds from its size to the next segment's")


def fit_blocks(profile: Profile, parameters: bool) -> Iterator[Block]:
    """Yield the models of each link: which was chosen, how well each fits, and with ``parameters`` those that explain it."""
    links = profile.links.items()
    used = [f"{name}: " * (len(links) > 1) + _used(link) for name, link in links]
    yield Sentence(f"Predictions use {'; '.join(used)}.", mark=YES)
    yield Table(_FITS, [(name, link, model) for name, link in links for model in link.send.models.values()], leave=("link",))
    why = [f"{name}: " * (len(links) > 1) + sentence(link.reason) for name, link in links if link.reason]
    cite = [_hockney(name * (len(links) > 1), link) for name, link in links if hockney.NAME in link.send.models]
    yield Listing([*(("Why", text) for text in why), *(("Cite", text) for text in cite)])
    if parameters:
        yield Table(_PARAMETERS, [row for name, link in links for row in _parameters(name, link, link.explained_by())])


def _used(link: Link) -> str:
    """Name the model that predictions use, and its error on sizes that it was not fitted to."""
    error = link.send.models[link.send.model].cross_validated_error
    named = f"{link.send.model}, the interpolated table" if link.send.model == pchip.NAME else link.send.model
    return named + ("" if error is None else f" ({100 * error:.1f} % off on held-out sizes)")


def _hockney(link: str, link_of: Link) -> str:
    """Write Hockney's model of a plain send, as a paper cites it."""
    model = link_of.send.models[hockney.NAME]
    line = model.segments[0]
    beta = f" + m / ({format_inverse(line.beta_s_per_byte)})" if line.beta_s_per_byte > 0 else ""
    where = f", {link}" * bool(link)
    return f"Hockney, MPI_Send{where}: T(m) = {format_time(line.latency_s)}{beta}, off by {_percent(model.relative_error)}."


_FITS: Sequence[Column[tuple[str, Link, LinkModel]]] = (
    Column("link", lambda of: of[0]),
    Column("model", lambda of: of[2].name + (" *" if of[2].name == of[1].send.model else "")),
    Column("held-out error", lambda of: of[2].cross_validated_error, _percent),
    Column("fit error", lambda of: _percent(max(curve.models[of[2].name].relative_error for curve in of[1].together.values()))),
    Column(
        "parameters",
        lambda of: (
            f"table of {of[1].parameter_count(of[2].name)} values" if of[1].is_look_up(of[2].name)
            else str(of[1].parameter_count(of[2].name))
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class _Fit:
    """A parameter of the model that predicts with a link, or explains it."""

    link: str
    role: str
    name: str
    value: float
    interval: Interval | None

    def write(self, value: float) -> str:
        return format_parameter(self.name.split(" from ")[0], value)


_PARAMETERS: Sequence[Column[_Fit]] = (
    Column("link", "link"),
    Column("model", "role"),
    Column("parameter", "name"),
    Column("value", lambda fit: fit.write(fit.value)),
    Column("95 % interval", lambda fit: fit.interval and " to ".join(map(fit.write, fit.interval))),
)


def _parameters(name: str, link: Link, model: str) -> Iterator[_Fit]:
    chosen = link.send.models[model]
    if chosen.looks_up:  # its parameters are the rows
        return
    role = f"{model} {'predicts' if model == link.send.model else 'explains'}"
    for key, parameter in chosen.parameters.items():
        yield _Fit(name, role, key, parameter.value, parameter.ci)
    if chosen.parameters:
        return
    for way, curve in link.together.items():
        for part in curve.models[model].segments:
            start = f"from {format_size(part.from_bytes)}"
            yield _Fit(name, role, f"{way} alpha_s {start}", part.alpha_s, part.alpha_ci_s)
            yield _Fit(name, role, f"{way} beta_s_per_byte {start}", part.beta_s_per_byte, part.beta_ci_s_per_byte)


_RATES: Sequence[Column[tuple[RankRates | None, RatePoint]]] = (
    Column("ranks", lambda of: of[0] and f"{of[0].ranks}{' (share cores)' if of[0].oversubscribed else ''}", unknown=""),
    Column("triad a rank", lambda of: of[0] and of[0].triad_bytes_per_s, format_bandwidth, unknown=""),
    Column("n", lambda of: of[1].n),
    Column("array a rank", lambda of: round(of[1].bytes_per_rank), format_size),
    Column("local FFTs", lambda of: f"{of[1].flop_per_s / 1e9:.3g} Gflop/s"),
    Column("shuffle", lambda of: of[1].shuffle_bytes_per_s, format_bandwidth),
    Column("exchange", lambda of: of[1].exchange_bytes_per_s, format_bandwidth),
)


def rate_blocks(rates: FftRates) -> Iterator[Block]:
    """Yield the rates of 3-D FFTs; what all points of some ranks share stands at the first."""
    rows = [(None if i else of_ranks, point) for of_ranks in rates.rates for i, point in enumerate(of_ranks.points)]
    yield Table(_RATES, rows)
    for counted in rates.counted:
        yield Sentence(
            f"A = {counted.a:.3g} words a point for {format_count(counted.lines, 'FFT')} of {counted.n} points, "
            f"{format_size(counted.cache_bytes)} cache ({counted.method})."
        )
    yield Sentence(f"Local FFTs: {rates.library}. Rates are those of one rank, all ranks busy.")


def packing_table(packing: Packing) -> Table[int]:
    """What packing takes: messages down, rows of so many bytes across."""

    def rate(rows: int) -> Callable[[int], str]:
        return lambda size: format_bandwidth(size / packing.time_s(size, rows))

    columns = [Column(f"rows of {rows} B", rate(rows)) for rows in packing.curves]
    return Table([Column("message", format_size), *columns], [size for size, _ in next(iter(packing.curves.values()))])


def collective_blocks(costs: CollectiveCosts, profile: Profile) -> Iterator[Block]:
    """Yield what collectives take besides messages: those of most ranks within a node, by the bytes that a rank has."""
    size, time_s = costs.combine[-1]
    eager = ", ".join(f"{name} {_parameter(_EAGER, link)}" for name, link in profile.links.items() if _EAGER in link.parameters)
    most = max((row.ranks for row in costs.in_node), default=0)
    rows: dict[str, dict[int, NodeTime]] = {}
    for row in costs.in_node:
        if row.ranks == most and row.collective != "barrier":
            in_all = row.size_bytes * (most if row.collective in BY_RANK else 1)
            rows.setdefault(row.collective, {})[in_all] = row
    sizes = sorted({size for of in rows.values() for size in of})

    def cell(size: int) -> Callable[[str], str]:
        return lambda kind: "" if size not in rows[kind] else format_time(rows[kind][size].time_s)

    yield Sentence(f"MPI_SUM of doubles, in one rank: {format_bandwidth(size / time_s)} at {format_size(size)}.")
    if eager:
        yield Sentence(f"Eager limit, up to which MPI_Send does not wait for its receiver: {eager}.")
    yield Sentence(
        f"With two ranks on each of the node's {costs.processors} processors a message arrives {format_time(costs.handover_s)} "
        "later: its receiver waits for its turn."
    )
    barrier_s = [row.time_s for row in costs.in_node if (row.ranks, row.collective) == (most, "barrier")]
    if barrier_s:
        yield Sentence(f"MPI_Barrier of {most} ranks on a node: {format_time(barrier_s[0])}.")
    yield Sentence("Other collectives, by the bytes of the vector, or of all blocks that a rank sends or gathers:")
    yield Table(
        [Column(f"{most} ranks on a node", str), *(Column(format_size(size), cell(size)) for size in sizes)], list(rows)
    )


def _parameter(name: str, link: Link) -> str:
    parameter = link.parameters[name]
    if name.endswith("bytes_per_s"):
        return format_bandwidth(parameter.value)
    if name.endswith("_bytes"):
        tried = link.parameters.get(_TRIED) if name == _EAGER else None
        more = " or more" if tried is not None and parameter.value >= tried.value else ""
        return f"{parameter.value:.0f} B{more}" if parameter.value >= 0 else "none"
    if name == "overlap" and not -_OFF_SCALE <= parameter.value <= 1 + _OFF_SCALE:
        return "could not be measured"
    return format_time(parameter.value) if name.endswith("_s") else f"{min(max(parameter.value, 0.0), 1.0):.2f}"
