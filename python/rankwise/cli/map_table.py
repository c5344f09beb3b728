"""The table of ``rankwise map`` and what to make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.cli.base import tell
from rankwise.cli.table import Table
from rankwise.mapping.levels import between
from rankwise.units import format_bandwidth, format_count, format_percent, format_span, format_time, format_volume

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankwise.mapping import Mappings, MapResult
    from rankwise.mapping.dims import GridChoice, GridChoices
    from rankwise.mapping.levels import Above
    from rankwise.mapping.mapper import StepTime


def show(mappings: Mappings, results: list[MapResult]) -> None:
    """Print the results, blocked among them, and what to make of them."""
    from rankwise.mapping import best_of

    blocked = next(result for result in results if result.algorithm == "blocked")
    best = best_of([blocked, *results], mappings.objective)  # of equals, what needs nothing to be done
    print(f"Recommended: {_reason(best, blocked, mappings)}")
    print(f"{_title(mappings)}:")
    outer = [between(level.name) for level in mappings.above]
    inner = [between(level.name) for level in mappings.levels]
    timed = ["one step", "vs blocked"] if best.time_s is not None else []
    sums = ("J_sum", "vs blocked", "gap", *outer, "J_max", "vs blocked")
    heads = ("algorithm", "", *sums, "bytes", *inner, "within", *timed, "to map")
    table = Table(*heads, leave=("within", *inner, "bytes", "gap", "to map", *reversed(outer)))
    for result in results:
        table.add_row(
            f"{result.algorithm} ({result.picked})" if result.picked else result.algorithm,
            "best" if result is best else "",
            str(result.j_sum),
            _change(result.j_sum, blocked.j_sum),
            _gap(mappings, result),
            *(str(crossing.sent) for crossing in result.above),
            str(result.j_max),
            _change(result.j_max, blocked.j_max),
            format_volume(result.levels[0].bytes),
            *(str(level.edges) for level in result.levels[1:]),
            *_time(result, blocked),
            format_time(result.seconds),
            bold=result is best,
        )
    table.show()
    if mappings.above:
        print(costs(mappings.above, "What is sent"))
    if best.step is not None:
        print(why_so_long(best.step))
    if mappings.levels:
        print(_where(best))
    print(_possible(mappings, best))
    if mappings.front:
        print("refined between the least J_sum and the least J_max:", ", ".join(map(_point, mappings.front)))
    for skipped in mappings.skipped:
        tell(f"skipped {skipped.algorithm}: {skipped.reason}")
    for note in mappings.notes:
        tell(f"note: {note}")


def _point(result: MapResult) -> str:
    time = "" if result.time_s is None else f" ({format_time(result.time_s)})"
    return f"{result.j_sum} and {result.j_max}{time}"


def show_grids(choices: GridChoices, cell_bytes: int, most: int = 6) -> None:
    """Print the best grids for a mesh and the usual one, and which to take."""
    mesh = "x".join(map(str, choices.mesh))
    heads = ("grid", "largest block", "between nodes", "busiest node", "in all", "at least", "imbalance", "note")
    table = Table(*heads, leave=("in all", "at least", "imbalance", "largest block"))
    usual, best = choices.usual, choices.best
    shown = list(choices.candidates[:most])
    if all(choice.grid != usual.grid for choice in shown):
        shown.append(usual)

    def cells(choice: GridChoice) -> list[str]:
        assert choice.j_sum is not None and choice.j_max is not None
        sent = (choice.j_sum, choice.j_max, choice.total, choice.bound)
        shape, block = ("x".join(map(str, sizes)) for sizes in (choice.grid, choice.block))
        return [shape, block, *(format_volume(cell_bytes * count) for count in sent), f"{100 * choice.imbalance:.1f} %"]

    for choice in shown:
        notes = [*(["best"] if choice is best else []), *(["most cubic"] if choice.grid == usual.grid else [])]
        table.add_row(*cells(choice), ", ".join(notes), bold=choice is best)
    assert best.j_sum is not None and usual.j_sum is not None
    shape = "x".join(map(str, best.grid))
    if best.grid == usual.grid:
        print(f"Recommended grid: {shape}, the most cubic one: no other sends less between nodes.")
    else:
        print(
            f"Recommended grid: {shape} sends {format_volume(cell_bytes * best.j_sum)} between nodes where the most cubic one, "
            f"{'x'.join(map(str, usual.grid))}, sends {format_volume(cell_bytes * usual.j_sum)} "
            f"({_change(best.j_sum, usual.j_sum)}), both mapped by refined."
        )
    print(f"Grids for a mesh of {mesh} cells, halo {choices.halo}:")
    table.show()
    if choices.too_thin:
        print(f"Left out: {format_count(choices.too_thin, 'grid')} whose blocks are thinner than the halo.")


def farther(best: MapResult, start: MapResult, told: Callable[[int], str]) -> str:
    """Say what two results send between the units of each level above the node, to stand after what they do between nodes."""
    pairs = zip(best.above, start.above, strict=True)
    return "".join(f", {told(mine.sent)} {between(mine.level.name)} instead of {told(its.sent)}" for mine, its in pairs)


def costs(above: Sequence[Above], what: str) -> str:
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
    "card-out": "the card of the busiest node",
    "card-in": "the card of the busiest node, inwards",
    "card": "the card of the busiest node, both ways together",
    "uplink": "the links up from the busiest switches of level {}",
    "downlink": "the links down to the busiest switches of level {}",
}


def why_so_long(step: StepTime) -> str:
    """Say what takes the time of a step."""
    if step.held_s <= 0:
        return "What takes the time: the messages themselves; they share nothing."
    name, _, level = step.resource.partition("link-")
    shared = _SHARED[f"{name}link"].format(int(level) + 1) if level else _SHARED[step.resource]
    share = min(1.0, step.held_s / step.time_s)
    if step.bytes == 0:
        return f"What takes the time: {'the messages themselves' if share < 0.5 else shared}; they carry no bytes."
    itself = "" if share >= 0.5 else "the messages themselves; of what they share, "
    rate = format_bandwidth(step.bytes / step.held_s)
    return f"What takes the time: {itself}{shared}: {format_volume(step.bytes)} at {rate}, {100 * share:.0f} % of the time."


def _time(result: MapResult, blocked: MapResult) -> list[str]:
    if result.time_s is None or blocked.time_s is None:
        return []
    return [format_time(result.time_s), _change(result.time_s, blocked.time_s)]


def _title(mappings: Mappings) -> str:
    shape = "x".join(map(str, mappings.grid))
    count, size = len(mappings.nodes), format_span(mappings.nodes)
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
    "isoperimetric": "parts of that size have at least so long a border",
    "lines": "so many nodes must share lines of the grid",
    "components": "ranks that talk hang together in groups that nodes must share",
    "projections": "estimated from the parts' projections",
    "spectrum": "by the smallest eigenvalues of the grid's graph",
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
    from rankwise.mapping import quicker

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
            f"{sent(best.j_sum)} instead of {sent(blocked.j_sum)} are sent between nodes{farther(best, blocked, sent)}, "
            f"{sent(best.j_max)} instead of {sent(blocked.j_max)} by the busiest one."
        )
        times = (
            f"{format_time(best.time_s)} instead of {format_time(blocked.time_s)} "
            f"({_change(best.time_s, blocked.time_s)}); {scores}"
        )
        if not quicker(best, blocked):
            return f"{best.algorithm}, but there is no time to gain as far as can be told: one step takes {times}"
        if any((result.time_s or 0.0) < best.time_s for result in mappings.results):
            return f"{best.algorithm}, which sends {sent.fewest} of those whose step takes least as far as can be told, {times}"
        return f"with {best.algorithm} one step of messages takes least, {times}"
    if best.cost != blocked.cost and best.above:
        return (
            f"{best.algorithm} costs least by the switches ({_change(best.cost, blocked.cost)}): {sent(best.j_sum)} instead of "
            f"{sent(blocked.j_sum)} are sent between nodes{farther(best, blocked, sent)}."
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
