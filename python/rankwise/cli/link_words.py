"""What was measured of a link, in lines of words, and of what ranks share, in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.cli.table import Table
from rankwise.machine.profile import VARIANTS
from rankwise.units import format_bandwidth, format_ends, format_interval, format_size, format_time

if TYPE_CHECKING:
    from rankwise.machine.link import Parameter
    from rankwise.machine.profile import Link, Profile
    from rankwise.machine.shared import Shared

_OFF_SCALE = 0.1  # by so much an overlap may lie outside of 0 to 1 and still be one
_RESOURCES = {
    "card": "card of a node",
    "memory": "memory of a node",
    "socket": "memory of a socket",
    "sockets": "link between sockets",
}
_CALLED = {
    "send_overhead_s": "a send keeps its processor for (o_s)",
    "receive_overhead_s": "a receive keeps its processor for (o_r)",
    "latency_s": "the rest of an empty message (l)",
    "gap_s": "a small message every (g)",
    "overlap": "both directions overlap (1 fully, 0 one after the other)",
    "send_returns_up_to_bytes": "MPI_Send does not wait for the receiver up to",
    "head_to_head_up_to_bytes": "sends to each other do not deadlock up to",
}


def link_in_words(link: Link) -> list[str]:
    """Say what is known of a link beside its figures, one line for each thing that was measured."""
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
    lines += [f"{_CALLED.get(name, name)}: {_parameter(name, parameter)}" for name, parameter in link.parameters.items()]
    if link.loaded is not None:
        loaded = link.loaded
        beta = f", beta {loaded.beta_ratio:.2f} times" if loaded.beta_ratio is not None else ""
        lines.append(
            f"with {loaded.pairs} pair(s) in the background: {format_time(loaded.alpha_s)} at 0 B, "
            f"alpha {loaded.alpha_ratio:.2f} times{beta} that of the free link"
        )
    return lines


def links_table(profile: Profile) -> Table:
    """Show the one latency and the one bandwidth of each link class, as every page and JSON name them."""
    from rankwise.machine.figures import figures_of

    heads = ("link", "latency", "95 %", "bandwidth", "95 %", "of", "model", "samples")
    table = Table(*heads, leave=("of", "samples", "model"))
    for name, figures in figures_of(profile.links).items():
        table.add_row(
            name,
            format_time(figures.latency_s),
            format_interval(figures.latency_ci_s),
            format_bandwidth(figures.bandwidth_bytes_per_s),
            format_ends(figures.bandwidth_ci_bytes_per_s, format_bandwidth),
            format_size(figures.bandwidth_bytes),
            profile.links[name].send.model,
            str(figures.samples),
        )
    return table


def shared_table(shared: Shared) -> Table:
    """Show what ranks share: how much of it there is, a row for each resource and each level above the nodes."""
    heads = ("shared", "rate", "95 %", "messages/s", "both ways", "pairs at once")
    table = Table(*heads, leave=("pairs at once", "both ways", "messages/s"))
    for kind, resource in shared.resources():
        both, most = resource.both_ways_bytes_per_s, resource.most_pairs
        table.add_row(
            _RESOURCES[kind],
            format_bandwidth(resource.bytes_per_s),
            format_ends(resource.ci, format_bandwidth),
            f"{float(f'{resource.messages_per_s:.3g}'):,.0f}" if resource.messages_per_s is not None else "–",
            "–" if both is None else format_bandwidth(both) + (" (half duplex)" if resource.half_duplex else ""),
            "–" if most is None else "1 only" if most == 1 else f"up to {most}",
        )
    for level in shared.levels:
        table.add_row(f"up from {level.nodes} nodes", format_bandwidth(level.up_bytes_per_s), "–", "–", "–", "–")
    return table


def _parameter(name: str, parameter: Parameter) -> str:
    if name.endswith("bytes_per_s"):
        return format_bandwidth(parameter.value)
    if name.endswith("_bytes"):
        return f"{parameter.value:.0f} B" if parameter.value >= 0 else "none"
    if name == "overlap" and not -_OFF_SCALE <= parameter.value <= 1 + _OFF_SCALE:
        return "could not be measured"
    return format_time(parameter.value) if name.endswith("_s") else f"{min(max(parameter.value, 0.0), 1.0):.2f}"
