"""The table of ``rankwise map`` and what to make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.cli.base import console, tell
from rankwise.units import format_percent, format_time

if TYPE_CHECKING:
    from rankwise.mapping import Mappings, MapResult


def show(mappings: Mappings, results: list[MapResult]) -> None:
    """Print the results, blocked among them, and what to make of them."""
    from rich.markup import escape
    from rich.table import Table

    from rankwise.mapping import best_of

    best = best_of(results, mappings.objective)
    blocked = next(result for result in results if result.algorithm == "blocked")
    table = Table(title=escape(_title(mappings)), title_justify="left", title_style="bold")
    table.add_column("algorithm")
    for heading in ("J_sum", "vs blocked", "gap", "J_max", "vs blocked", "time"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for result in results:
        table.add_row(
            f"{result.algorithm} ({result.picked})" if result.picked else result.algorithm,
            str(result.j_sum),
            _change(result.j_sum, blocked.j_sum),
            _gap(mappings, result),
            str(result.j_max),
            _change(result.j_max, blocked.j_max),
            format_time(result.seconds),
            "best" if result is best else "",
            style="bold green" if result is best else None,
        )
    console().print(table)
    print(f"Recommended: {_reason(best, blocked)}")
    print(_possible(mappings, best))
    for skipped in mappings.skipped:
        tell(f"skipped {skipped.algorithm}: {skipped.reason}")


def _title(mappings: Mappings) -> str:
    shape = "x".join(map(str, mappings.grid))
    smallest, largest = min(mappings.nodes), max(mappings.nodes)
    size = f"{largest}" if smallest == largest else f"{smallest} to {largest}"
    count = len(mappings.nodes)
    title = f"{shape} on {count} node{'s' if count > 1 else ''} of {size} rank{'s' if largest > 1 else ''}"
    wrapping = [str(axis) for axis, wraps in enumerate(mappings.periodic) if wraps]
    ends = f"periodic along axis {', '.join(wrapping)}" if wrapping else "not periodic"
    return f"{title}, {mappings.stencil}, {ends}"


def _change(value: int, blocked: int) -> str:
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
    "open-axes": "counted without the messages around periodic axes, so the true limit may be higher",
    "projections": "estimated from the parts' projections",
}


def _possible(mappings: Mappings, best: MapResult) -> str:
    """Say how good the best mapping is against what any mapping can reach."""
    gap = mappings.gap(best)
    if gap == 0:
        how = "proved by trying" if mappings.optimum != mappings.bound else _BOUNDS[mappings.bound_kind]
        return f"No mapping sends fewer than {mappings.least}: {best.algorithm} is optimal ({how})."
    if mappings.optimum is not None:
        within = "" if gap is None else f": {best.algorithm} is within {100 * gap:.1f} % of it"
        return f"The proven optimum is {mappings.optimum}{within}."
    if gap is None:
        return "Nothing is known about how few messages between nodes are possible here."
    return (
        f"{best.algorithm} is within {100 * gap:.1f} % of what is possible: no mapping sends fewer than {mappings.least} "
        f"({_BOUNDS[mappings.bound_kind]})."
    )


def _reason(best: MapResult, blocked: MapResult) -> str:
    if best is blocked:
        if blocked.j_sum == 0:
            return "leave the ranks as they are (blocked): no message crosses nodes."
        return "leave the ranks as they are (blocked): no other mapping here sends less between nodes."
    if best.j_sum == blocked.j_sum:
        return (
            f"{best.algorithm} sends as many messages between nodes as blocked ({best.j_sum}), but its busiest node "
            f"only {best.j_max} instead of {blocked.j_max}."
        )
    return (
        f"{best.algorithm} sends the fewest messages between nodes, {best.j_sum} instead of {blocked.j_sum} "
        f"({_change(best.j_sum, blocked.j_sum)}); its busiest node sends {best.j_max} instead of {blocked.j_max}."
    )
