"""What a node can inject bounds an exchange: its ranks share the network interface, which the walk over links does not know.

After Gropp, Olson and Samfass (2016), the max-rate model: however many ranks of a node send at once, their bytes leave, and
come in, at the node's rate at most. The rate is what ``rankwise measure pairs`` found over a growing number of pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rankwise.engines.placement import Location
from rankwise.machine.profile import Profile
from rankwise.units import format_bandwidth, format_size
from rankwise.workloads.base import Row
from rankwise.workloads.exchange import ExchangeCase

PARAMETER = "injection_bytes_per_s"
_MOST_RANKS = 4096  # whose steps are looked through for one prediction


def bounded(row: Row, case: ExchangeCase, profile: Profile, locations: Sequence[Location]) -> Row:
    """Return a predicted row that is no faster than its busiest node can send or receive, where that rate is known."""
    link = profile.links.get("other-node")
    rate = None if link is None else link.parameters.get(PARAMETER)
    most = max(Counter(node for node, *_ in locations).values())
    if rate is None or most == 1 or len(locations) > _MOST_RANKS:
        return row
    busiest = busiest_node_bytes(case, locations)
    slowest, fastest = rate.ci or (rate.value, rate.value)
    time_s = busiest / rate.value
    if time_s <= row.time_s:
        return row
    note = f"bound by a node's network: {format_size(busiest)} at {format_bandwidth(rate.value)}"
    return replace(
        row,
        time_s=time_s,
        time_lo_s=max(row.time_lo_s, busiest / max(fastest, rate.value)),
        time_hi_s=max(row.time_hi_s, busiest / min(slowest, rate.value)),
        notes=(*row.notes, note),
    )


def busiest_node_bytes(case: ExchangeCase, locations: Sequence[Location]) -> int:
    """Return the bytes that the busiest node sends to others, or receives, in one round of an exchange."""
    exchange = case.schedules()
    node_of = [node for node, *_ in locations]
    out: Counter[int] = Counter()
    into: Counter[int] = Counter()
    for rank in range(case.ranks):
        for back in (False, True) if exchange.includes_reduce else (False,):
            for step in exchange.steps(rank, back):
                for operation in step:
                    if operation.kind == "send" and node_of[operation.peer] != node_of[rank]:
                        blocks = sum(count for _, count in operation.slots)
                        out[node_of[rank]] += blocks
                        into[node_of[operation.peer]] += blocks
    return case.message_bytes * max([*out.values(), *into.values()], default=0)
