"""``rankwise map --observed`` and ``--graph``: where the ranks of any program should sit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.cli.base import tell
from rankwise.cli.table import Table
from rankwise.units import format_count, format_percent, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.api.placing import Mapped


def conclusion(found: Mapped) -> str:
    from rankwise.cli.map_table import farther
    from rankwise.mapping import alike, best_of, hardly_better, quicker
    from rankwise.mapping.mapper import LEAST_GAIN

    mappings, traffic, start = found.mappings, found.traffic, found.start
    assert traffic is not None
    best = best_of(found.shown, mappings.objective)
    if len(mappings.nodes) == 1:
        return "Nothing to gain between nodes: all ranks are on one."
    if best is start or alike(best, start):
        return f"Nothing to gain: no other placement here is better than {start.algorithm}."
    if hardly_better(best, start):
        return f"Nothing to gain: {best.algorithm}, the best here, is less than {LEAST_GAIN:.0%} better than {start.algorithm}."
    sent, before = format_volume(best.j_sum), format_volume(start.j_sum)
    text = (
        f"Take {best.algorithm}: {sent} between nodes instead of {before} as {start.algorithm} "
        f"({_change(best.j_sum, start.j_sum)}){farther(best, start, format_volume)}"
    )
    if best.time_s is not None and start.time_s is not None:
        step = "one round of messages" if traffic.rounds > 1 else "its messages"
        text += (
            f", {step} take{'s' if traffic.rounds > 1 else ''} {format_time(best.time_s)} instead of "
            f"{format_time(start.time_s)}"
        )
        text += "" if quicker(best, start) else ", no less as far as can be told"
    return text + "."


def _change(value: float, start: float) -> str:
    return "0.0 %" if value == start else "–" if start == 0 else format_percent(value / start - 1)


def show_traffic(found: Mapped) -> None:
    """Print the placements of a program's ranks, and which to take."""
    from rankwise.cli.map_table import costs
    from rankwise.mapping import best_of
    from rankwise.mapping.levels import between

    mappings, traffic = found.mappings, found.traffic
    assert traffic is not None
    print(conclusion(found))
    start, best = found.start, best_of(found.shown, mappings.objective)
    sent, nodes = format_volume(int(traffic.bytes.sum())), len(mappings.nodes)
    ranks, where = format_count(traffic.ranks, "rank"), format_count(nodes, "node")
    title = f"{traffic.name}: {ranks}, {len(traffic.bytes)} pairs, {sent} on {where}"
    print(f"{title}:")
    timed = best.time_s is not None
    versus = f"vs {start.algorithm}"
    outer = [between(level.name) for level in mappings.above]
    rounds = ("a round", versus) if timed else ()
    heads = ("placement", "", "between nodes", versus, *outer, "busiest node", *rounds, "to map")
    table = Table(*heads, leave=("to map", "busiest node", *reversed(outer)))
    for result in found.shown:
        times = [format_time(result.time_s or 0), _change(result.time_s or 0, start.time_s or 0)] if timed else []
        table.add_row(
            result.algorithm, "best" if result is best else "", format_volume(result.j_sum), _change(result.j_sum, start.j_sum),
            *(format_volume(crossing.sent) for crossing in result.above), format_volume(result.j_max), *times,
            format_time(result.seconds), bold=result is best,
        )  # fmt: skip
    table.show()
    if mappings.above:
        print(costs(mappings.above, "A byte"))
    if best.step is not None:
        from rankwise.cli.map_table import why_so_long

        print(why_so_long(best.step))
        if traffic.rounds > 1:
            print(f"A round: each pair sends a {traffic.rounds}th of its bytes as one message, all at once.")
    for skipped in mappings.skipped:
        tell(f"skipped {skipped.algorithm}: {skipped.reason}")
    for note in mappings.notes:
        tell(f"note: {note}")
    if found.asked.check:
        tell(f"checked: all {traffic.ranks} ranks were started there, and those of a node share its memory")
