"""Placements as blocks: the table, which to take, and why; of a grid, a mesh, or a program's traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rankwise.blocks import Block, Column, Sentence, Table
from rankwise.mapping import Mappings, MapResult, alike, best_of, hardly_better, quicker
from rankwise.mapping.levels import Above, between
from rankwise.mapping.mapper import LEAST_GAIN, StepTime
from rankwise.units import format_bandwidth, format_count, format_percent, format_share, format_span, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.mapping.dims import GridChoice, GridChoices
    from rankwise.mapping.traffic import Traffic


def map_blocks(mappings: Mappings, results: list[MapResult]) -> Iterator[Block]:
    """Yield the results, blocked among them, and what to make of them."""
    blocked = next(result for result in results if result.algorithm == "blocked")
    best = best_of([blocked, *results], mappings.objective)  # of equals, what needs nothing to be done
    yield Sentence(f"Recommended: {_reason(best, blocked, mappings)}")
    yield Sentence(f"{_title(mappings)}:")
    outer, inner = _above(mappings), [between(level.name) for level in mappings.levels]
    columns: list[Column[MapResult]] = [
        Column("algorithm", lambda result: f"{result.algorithm} ({result.picked})" if result.picked else result.algorithm),
        Column("", lambda result: "best" if result is best else ""),
        Column("J_sum", "j_sum"),
        Column("vs blocked", lambda result: _change(result.j_sum, blocked.j_sum)),
        Column("gap", lambda result: _gap(mappings, result)),
        *(Column(head, _sent_above(i)) for i, head in enumerate(outer)),
        Column("J_max", "j_max"),
        Column("vs blocked", lambda result: _change(result.j_max, blocked.j_max)),
        Column("bytes", lambda result: format_volume(result.levels[0].bytes)),
        *(Column(head, _edges(i)) for i, head in enumerate([*inner, "within"], 1)),
        *(_timed(blocked, "one step", "vs blocked") if best.time_s is not None else ()),
        Column("to map", "seconds", format_time),
    ]
    leave = ("within", *inner, "bytes", "gap", "to map", *reversed(outer))
    yield Table(columns, results, leave=leave, bold=lambda result: result is best)
    if mappings.above:
        yield Sentence(_costs(mappings.above, "What is sent"))
    if best.step is not None:
        yield Sentence(_why_so_long(best.step))
    if mappings.levels:
        yield Sentence(_where(best))
    yield Sentence(_possible(mappings, best))
    if mappings.front:
        points = ", ".join(map(_point, mappings.front))
        yield Sentence(f"refined between the least J_sum and the least J_max: {points}")
    yield from _remarks(mappings)


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
    yield Sentence(traffic_words(traffic, mappings, results, start))
    best = best_of(results, mappings.objective)
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


def grid_blocks(choices: GridChoices, cell_bytes: int, most: int = 6) -> Iterator[Block]:
    """Yield the best grids for a mesh and the usual one, and which to take."""
    usual, best = choices.usual, choices.best
    shown = list(choices.candidates[:most])
    if all(choice.grid != usual.grid for choice in shown):
        shown.append(usual)

    def note(choice: GridChoice) -> str:
        return ", ".join(["best"] * (choice is best) + ["most cubic"] * (choice.grid == usual.grid))

    def volume(count: int) -> str:
        return format_volume(cell_bytes * count)

    assert best.j_sum is not None and usual.j_sum is not None
    if best.grid == usual.grid:
        yield Sentence(f"Recommended grid: {_shape(best.grid)}, the most cubic one: no other sends less between nodes.")
    else:
        yield Sentence(
            f"Recommended grid: {_shape(best.grid)} sends {volume(best.j_sum)} between nodes where the most cubic one, "
            f"{_shape(usual.grid)}, sends {volume(usual.j_sum)} "
            f"({_change(best.j_sum, usual.j_sum)}), both mapped by refined."
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
    return "".join(f", {told(mine.sent)} {between(mine.level.name)} instead of {told(its.sent)}" for mine, its in pairs)


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
        return "Nothing is known about how few messages between nodes are possible here."
    return (
        f"{best.algorithm} is within {100 * gap:.1f} % of what is possible: no mapping sends {sent.fewer} than "
        f"{sent(mappings.least)} ({_BOUNDS[mappings.bound_kind]})."
    )


def _reason(best: MapResult, blocked: MapResult, mappings: Mappings) -> str:
    sent = _Sent(mappings)
    if best is blocked:
        if best.time_s is not None and mappings.objective != "j_max":
            return (
                "leave the ranks as they are (blocked), there is nothing to gain: no other mapping here surely takes less time."
            )
        if blocked.j_sum == 0:
            return "leave the ranks as they are (blocked): no message crosses nodes."
        less = "costs less by the switches" if best.above else "sends less between nodes"
        return f"leave the ranks as they are (blocked): no other mapping here {less}."
    if mappings.objective == "j_max":
        return (
            f"{best.algorithm} has the busiest node send least, {sent(best.j_max)} instead of {sent(blocked.j_max)} "
            f"({_change(best.j_max, blocked.j_max)}); all nodes send {sent(best.j_sum)} instead of {sent(blocked.j_sum)}."
        )
    if best.time_s is not None and blocked.time_s is not None:
        scores = (
            f"{sent(best.j_sum)} instead of {sent(blocked.j_sum)} are sent between nodes{_farther(best, blocked, sent)}, "
            f"{sent(best.j_max)} instead of {sent(blocked.j_max)} by the busiest one."
        )
        times = (
            f"{format_time(best.time_s)} instead of {format_time(blocked.time_s)} "
            f"({_change(best.time_s, blocked.time_s)}); {scores}"
        )
        if not quicker(best, blocked):
            return f"{best.algorithm}, but the gain is within the prediction's error: one step takes {times}"
        if any((result.time_s or 0.0) < best.time_s for result in mappings.results):
            return (
                f"{best.algorithm}, which sends {sent.fewest} of those whose step takes least (within the prediction's error), "
                f"{times}"
            )
        return f"with {best.algorithm} one step of messages takes least, {times}"
    if best.cost != blocked.cost and best.above:
        return (
            f"{best.algorithm} costs least by the switches ({_change(best.cost, blocked.cost)}): {sent(best.j_sum)} instead of "
            f"{sent(blocked.j_sum)} are sent between nodes{_farther(best, blocked, sent)}."
        )
    if best.j_sum == blocked.j_sum and best.j_max < blocked.j_max:
        return (
            f"{best.algorithm} sends {sent.as_many} between nodes as blocked ({sent(best.j_sum)}), but its busiest node "
            f"only {sent(best.j_max)} instead of {sent(blocked.j_max)}."
        )
    if best.j_sum == blocked.j_sum:
        level = next(i for i, own in enumerate(best.levels) if own.bytes != blocked.levels[i].bytes)
        return (
            f"{best.algorithm} sends {sent.as_many} between nodes as blocked ({sent(best.j_sum)}), but "
            f"{between(best.levels[level].level)} {best.levels[level].edges} instead of {blocked.levels[level].edges}."
        )
    return (
        f"{best.algorithm} sends {sent.fewest} between nodes, {sent(best.j_sum)} instead of {sent(blocked.j_sum)} "
        f"({_change(best.j_sum, blocked.j_sum)}); its busiest node sends {sent(best.j_max)} instead of {sent(blocked.j_max)}."
    )
