"""Placements as blocks: the table, which to take, and why; of a grid, a mesh, or a program's traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rankwise.blocks import BUT, YES, Block, Column, Next, Sentence, Table
from rankwise.mapping import Mappings, MapResult, alike, best_of, hardly_better, quicker
from rankwise.mapping.levels import Above, between
from rankwise.mapping.mapper import LEAST_GAIN, StepTime
from rankwise.units import format_bandwidth, format_count, format_percent, format_share, format_span, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.mapping.dims import GridChoice, GridChoices
    from rankwise.mapping.traffic import Traffic


_MOST_GRIDS = 6  # on a screen


def map_blocks(mappings: Mappings, results: list[MapResult], following: str) -> Iterator[Block]:
    """Yield the results, blocked among them, and what to make of them; ``following``: the options that were given."""
    blocked = next(result for result in results if result.algorithm == "blocked")
    best = best_of([blocked, *results], mappings.objective)  # of equals, what needs nothing to be done
    gains = best is not blocked and (best.time_s is None or mappings.objective == "j_max" or quicker(best, blocked))
    yield Sentence(_reason(best, blocked, mappings), mark=YES if gains or best is blocked else BUT)
    yield Sentence(_possible(mappings, best))
    outer, inner = _above(mappings), [between(level.name) for level in mappings.levels]

    def name(result: MapResult) -> str:
        marks = [result.picked] * bool(result.picked) + ["best"] * (result is best) + ["default"] * (result is blocked)
        return f"{result.algorithm} ({', '.join(marks)})" if marks else result.algorithm

    columns: list[Column[MapResult]] = [
        Column("mapping", name),
        Column("J_sum", "j_sum"),
        Column("vs default", lambda result: _change(result.j_sum, blocked.j_sum)),
        Column("gap", lambda result: _gap(mappings, result)),
        *(Column(head, _sent_above(i)) for i, head in enumerate(outer)),
        Column("J_max", "j_max"),
        Column("vs default", lambda result: _change(result.j_max, blocked.j_max)),
        Column("bytes", lambda result: format_volume(result.levels[0].bytes)),
        *(Column(head, _edges(i)) for i, head in enumerate([*inner, "within"], 1)),
        *(_timed(blocked, "one step", "vs default") if best.time_s is not None else ()),
        Column("to map", "seconds", format_time),
    ]
    leave = ("within", *inner, "bytes", "gap", "to map", *reversed(outer))
    yield Table(columns, results, leave=leave, bold=lambda result: result is best)
    yield Sentence("J_sum: messages between nodes; J_max: those that the busiest node sends")
    yield Sentence(_title(mappings))
    if mappings.above:
        yield Sentence(_costs(mappings.above, "What is sent"))
    if best.step is not None:
        yield Sentence(_why_so_long(best.step))
    if mappings.levels:
        yield Sentence(_where(best))
    if mappings.front:
        points = ", ".join(map(_point, mappings.front))
        yield Sentence(f"refined between the least J_sum and the least J_max: {points}")
    yield from _remarks(mappings)
    if best is not blocked:
        yield Next([(f"rankwise map {following} --format openmpi-rankfile > ranks.txt", "for your launcher")])


def _above(mappings: Mappings) -> list[str]:
    return [between(level.name) for level in mappings.above]


def _sent_above(level: int) -> Callable[[MapResult], int]:
    return lambda result: result.above[level].sent


def _edges(level: int) -> Callable[[MapResult], int]:
    return lambda result: result.levels[level].edges


def _timed(start: MapResult, head: str, versus: str) -> list[Column[MapResult]]:
    return [
        Column(head, lambda result: format_time(result.time_s or 0)),
        Column(versus, lambda result: _change(result.time_s or 0, start.time_s or 0)),
    ]


def _remarks(mappings: Mappings) -> Iterator[Block]:
    yield from (Sentence(skipped.reason, f"skipped {skipped.algorithm}") for skipped in mappings.skipped)
    yield from (Sentence(note, "note") for note in mappings.notes)


def _point(result: MapResult) -> str:
    time = "" if result.time_s is None else f" ({format_time(result.time_s)})"
    return f"{result.j_sum} and {result.j_max}{time}"


def traffic_blocks(
    traffic: Traffic, mappings: Mappings, results: list[MapResult], start: MapResult, checked: bool
) -> Iterator[Block]:
    """Yield the placements of a program's ranks, and which to take instead of ``start``."""
    best = best_of(results, mappings.objective)
    yield Sentence(traffic_words(traffic, mappings, results, start), mark=YES)
    sent = format_volume(int(traffic.bytes.sum()))
    ranks, where = format_count(traffic.ranks, "rank"), format_count(len(mappings.nodes), "node")
    yield Sentence(f"{traffic.name}: {ranks}, {len(traffic.bytes)} pairs, {sent} on {where}:")
    versus, outer = f"vs {start.algorithm}", _above(mappings)
    columns: list[Column[MapResult]] = [
        Column("placement", "algorithm"),
        Column("", lambda result: "best" if result is best else ""),
        Column("between nodes", "j_sum", format_volume),
        Column(versus, lambda result: _change(result.j_sum, start.j_sum)),
        *(Column(head, _sent_above(i), format_volume) for i, head in enumerate(outer)),
        Column("busiest node", "j_max", format_volume),
        *(_timed(start, "a round", versus) if best.time_s is not None else ()),
        Column("to map", "seconds", format_time),
    ]
    leave = ("to map", "busiest node", *reversed(outer))
    yield Table(columns, results, leave=leave, bold=lambda result: result is best)
    if mappings.above:
        yield Sentence(_costs(mappings.above, "A byte"))
    if best.step is not None:
        yield Sentence(_why_so_long(best.step))
        if traffic.rounds > 1:
            yield Sentence(f"A round: each pair sends a {traffic.rounds}th of its bytes as one message, all at once.")
    yield from _remarks(mappings)
    if checked:
        yield Sentence(f"all {traffic.ranks} ranks were started there, and those of a node share its memory", "checked")


def traffic_words(traffic: Traffic, mappings: Mappings, results: list[MapResult], start: MapResult) -> str:
    """Say which placement of a program's ranks to take, and what it gains over ``start``."""
    best = best_of(results, mappings.objective)
    if len(mappings.nodes) == 1:
        return "Nothing to gain between nodes: all ranks are on one."
    if best is start or alike(best, start):
        return f"Nothing to gain: no other placement here is better than {start.algorithm}."
    if hardly_better(best, start):
        least = format_share(LEAST_GAIN)
        return f"Nothing to gain: {best.algorithm}, the best here, is less than {least} better than {start.algorithm}."
    where, then, now = "between nodes", best.j_sum, start.j_sum
    if then > (1 - LEAST_GAIN) * now and best.j_max <= (1 - LEAST_GAIN) * start.j_max:
        where, then, now = "out of the busiest node", best.j_max, start.j_max
    text = (
        f"Take {best.algorithm}: {format_volume(then)} {where} instead of {format_volume(now)} as {start.algorithm} "
        f"({_change(then, now)}){_farther(best, start, format_volume)}"
    )
    if best.time_s is not None and start.time_s is not None:
        step = "one round of messages" if traffic.rounds > 1 else "its messages"
        text += (
            f", {step} take{'s' if traffic.rounds > 1 else ''} {format_time(best.time_s)} instead of "
            f"{format_time(start.time_s)}"
        )
        text += "" if quicker(best, start) else " (within the prediction's error)"
    return text + "."


def grid_blocks(choices: GridChoices, cell_bytes: int) -> Iterator[Block]:
    """Yield the best grids for a mesh and the most cubic one, and which to take."""
    usual, best = choices.usual, choices.best
    shown = list(choices.candidates[:_MOST_GRIDS])
    if all(choice.grid != usual.grid for choice in shown):
        shown.append(usual)

    def note(choice: GridChoice) -> str:
        return ", ".join(["best"] * (choice is best) + ["most cubic"] * (choice.grid == usual.grid))

    def volume(count: int) -> str:
        return format_volume(cell_bytes * count)

    assert best.j_sum is not None and usual.j_sum is not None
    if best.grid == usual.grid:
        yield Sentence(f"Use grid {_shape(best.grid)}, the most cubic one: no other sends less between nodes.", mark=YES)
    else:
        yield Sentence(
            f"Use grid {_shape(best.grid)}: {volume(best.j_sum)} between nodes, not {volume(usual.j_sum)} "
            f"({_change(best.j_sum, usual.j_sum)}) as with the most cubic one, {_shape(usual.grid)}; both mapped by refined.",
            mark=YES,
        )
    yield Sentence(f"Grids for a mesh of {_shape(choices.mesh)} cells, halo {choices.halo}:")
    columns: Sequence[Column[GridChoice]] = (
        Column("grid", "grid", _shape),
        Column("largest block", "block", _shape),
        Column("between nodes", "j_sum", volume),
        Column("busiest node", "j_max", volume),
        Column("in all", "total", volume),
        Column("at least", "bound", volume),
        Column("imbalance", lambda choice: f"{100 * choice.imbalance:.1f} %"),
        Column("note", note),
    )
    leave = ("in all", "at least", "imbalance", "largest block")
    yield Table(columns, shown, leave=leave, bold=lambda choice: choice is best)
    if choices.too_thin:
        yield Sentence(f"Left out: {format_count(choices.too_thin, 'grid')} whose blocks are thinner than the halo.")


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _farther(best: MapResult, start: MapResult, told: Callable[[int], str]) -> str:
    """Say what two results send between the units of each level above the node, to stand after what they do between nodes."""
    pairs = zip(best.above, start.above, strict=True)
    return "".join(f", {told(mine.sent)} {between(mine.level.name)}, not {told(its.sent)}" for mine, its in pairs)


def _costs(above: Sequence[Above], what: str) -> str:
    """Say what counts how much where there are levels above the node."""
    beyond = ", ".join(f"{between(level.name)} {level.cost}" for level in above)
    return f"{what} between nodes of one {above[0].name} costs 1, {beyond}."


def _where(best: MapResult) -> str:
    """Say at which level the messages of a mapping stay."""
    parts = []
    for level in best.levels:
        place = "the rest" if level.level == "core" else between(level.level)
        parts.append(f"{level.edges} {place} ({format_volume(level.bytes)})")
    return f"Its messages: {', '.join(parts)}."


_SHARED = {
    "socket": "the memory of the busiest socket",
    "sockets": "the link between the sockets of the busiest node",
    "memory": "the memory of the busiest node",
    "card-out": "the NIC of the busiest node",
    "card-in": "the NIC of the busiest node, inwards",
    "card": "the NIC of the busiest node, both ways together",
    "uplink": "the links up from the busiest switches of level {}",
    "downlink": "the links down to the busiest switches of level {}",
}


def _why_so_long(step: StepTime) -> str:
    """Say what takes the time of a step."""
    if step.held_s <= 0:
        return "Bottleneck: the messages themselves; they share nothing."
    name, _, level = step.resource.partition("link-")
    shared = _SHARED[f"{name}link"].format(int(level) + 1) if level else _SHARED[step.resource]
    share = min(1.0, step.held_s / step.time_s)
    if step.bytes == 0:
        return f"Bottleneck: {'message latency' if share < 0.5 else shared}; the messages carry no bytes."
    rate = format_bandwidth(step.bytes / step.held_s)
    busiest = f"{shared}: {format_volume(step.bytes)} at {rate}, {100 * share:.0f} % of the time."
    if share >= 0.5:
        return f"Bottleneck: {busiest}"
    return f"Bottleneck: the messages themselves. The busiest of what they share: {busiest}"


def _title(mappings: Mappings) -> str:
    shape, count, size = _shape(mappings.grid), len(mappings.nodes), format_span(mappings.nodes)
    title = f"{shape} on {count} node{'s' if count > 1 else ''} of {size} rank{'s' if size != '1' else ''}"
    wrapping = [str(axis) for axis, wraps in enumerate(mappings.periodic) if wraps]
    ends = f"periodic along axis {', '.join(wrapping)}" if wrapping else "not periodic"
    return f"{title}, {mappings.stencil}, {ends}"


def _change(value: float, blocked: float) -> str:
    if value == blocked:
        return "0.0 %"
    return "–" if blocked == 0 else format_percent(value / blocked - 1)


def _gap(mappings: Mappings, result: MapResult) -> str:
    """How far above the bound a result is, as a percentage."""
    gap = mappings.gap(result)
    return "–" if gap is None else "0 %" if gap == 0 else f"{100 * gap:.1f} %"


_BOUNDS = {
    "isoperimetric": "perimeter bound",
    "lines": "line-counting bound",
    "components": "connectivity bound",
    "projections": "estimate from the parts' projections",
    "spectrum": "eigenvalue bound",
}


class _Sent:
    """How what is sent between nodes is told: as messages, or in bytes where they weigh differently."""

    def __init__(self, mappings: Mappings) -> None:
        self._unit_bytes = None if set(mappings.weights) == {1} else mappings.message_bytes
        self.fewer = "fewer" if self._unit_bytes is None else "less"
        self.fewest = "the fewest messages" if self._unit_bytes is None else "the least"
        self.messages = " messages" if self._unit_bytes is None else ""
        self.as_many = "as many messages" if self._unit_bytes is None else "as much"

    def __call__(self, amount: int) -> str:
        return str(amount) if self._unit_bytes is None else format_volume(amount * self._unit_bytes)


def _possible(mappings: Mappings, best: MapResult) -> str:
    """Say how good the best mapping is against what any mapping can reach."""
    gap, sent = mappings.gap(best), _Sent(mappings)
    if gap == 0:
        how = "proved by trying" if mappings.optimum != mappings.bound else _BOUNDS[mappings.bound_kind]
        return f"No mapping sends {sent.fewer} than {sent(mappings.least)}: {best.algorithm} is optimal ({how})."
    if mappings.optimum is not None:
        within = "" if gap is None else f": {best.algorithm} is within {100 * gap:.1f} % of it"
        return f"The proven optimum is {sent(mappings.optimum)}{within}."
    if gap is None:
        return "No lower bound of the messages between nodes is known here."
    return (
        f"{best.algorithm} is within {100 * gap:.1f} % of the lower bound: no mapping sends {sent.fewer} than "
        f"{sent(mappings.least)} ({_BOUNDS[mappings.bound_kind]})."
    )


def _reason(best: MapResult, blocked: MapResult, mappings: Mappings) -> str:
    sent = _Sent(mappings)
    if best is blocked:
        if best.time_s is not None and mappings.objective != "j_max":
            return "Keep the default (blocked): nothing to gain, no other mapping here surely takes less time."
        if blocked.j_sum == 0:
            return "Keep the default (blocked): no message crosses nodes."
        less = "costs less by the switches" if best.above else "sends less between nodes"
        return f"Keep the default (blocked): no other mapping here {less}."
    use = f"Use mapping {best.algorithm}"
    if mappings.objective == "j_max":
        return (
            f"{use}: the busiest node sends {sent(best.j_max)}, not {sent(blocked.j_max)} "
            f"({_change(best.j_max, blocked.j_max)}); all nodes send {sent(best.j_sum)}, not {sent(blocked.j_sum)}."
        )
    if best.time_s is not None and blocked.time_s is not None:
        times = (
            f"{format_time(best.time_s)} a step, not {format_time(blocked.time_s)} ({_change(best.time_s, blocked.time_s)}); "
            f"{sent(best.j_sum)} between nodes, not {sent(blocked.j_sum)}{_farther(best, blocked, sent)}."
        )
        if not quicker(best, blocked):
            return f"Little to gain, within the prediction's error: {best.algorithm} takes {times}"
        if any((result.time_s or 0.0) < best.time_s for result in mappings.results):
            return f"{use}, which sends {sent.fewest} of those as fast within the prediction's error: {times}"
        return f"{use}: {times}"
    if best.cost != blocked.cost and best.above:
        return (
            f"{use}: it costs least by the switches ({_change(best.cost, blocked.cost)}); {sent(best.j_sum)} between nodes, "
            f"not {sent(blocked.j_sum)}{_farther(best, blocked, sent)}."
        )
    if best.j_sum == blocked.j_sum:
        as_many = f"{sent.as_many} between nodes as by default ({sent(best.j_sum)})"
        if best.j_max < blocked.j_max:
            return f"{use}: {as_many}, but the busiest node sends {sent(best.j_max)}, not {sent(blocked.j_max)}."
        level = next(i for i, own in enumerate(best.levels) if own.bytes != blocked.levels[i].bytes)
        where = between(best.levels[level].level)
        return f"{use}: {as_many}, but {best.levels[level].edges} {where}, not {blocked.levels[level].edges}."
    return (
        f"{use}: {sent(best.j_sum)}{sent.messages} between nodes, not {sent(blocked.j_sum)} "
        f"({_change(best.j_sum, blocked.j_sum)}); the busiest node sends {sent(best.j_max)}, not {sent(blocked.j_max)}."
    )
