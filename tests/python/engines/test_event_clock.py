"""All ranks followed event by event, against a simulation of fair sharing in fractions that knows nothing of schedules."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from rankwise import _core

LATENCY_S, BYTES, NIC_BYTES_PER_S = Fraction(3, 10**6), 1000, 10**9
HOLD_S = Fraction(BYTES, NIC_BYTES_PER_S)


def _rates(flows: list[tuple[int, int]], node: list[int]) -> list[Fraction]:
    """Return the share of a message that each flow passes in a second: max-min fair, each NIC passing one message in HOLD_S."""
    free: dict[tuple[str, int], Fraction] = defaultdict(lambda: 1 / HOLD_S)
    ways = [(("out", node[a]), ("in", node[b])) if node[a] != node[b] else () for a, b in flows]
    rates = {flow: 1 / HOLD_S for flow, way in enumerate(ways) if not way}  # within a node each as if alone
    while len(rates) < len(flows):
        open_ones: dict[tuple[str, int], list[int]] = defaultdict(list)
        for flow, way in enumerate(ways):
            for nic in way if flow not in rates else ():
                open_ones[nic].append(flow)
        narrow = min(open_ones, key=lambda nic: free[nic] / len(open_ones[nic]))
        rate = free[narrow] / len(open_ones[narrow])
        for flow in open_ones[narrow]:
            rates[flow] = rate
            for nic in ways[flow]:
                free[nic] -= rate
    return [rates[flow] for flow in range(len(flows))]


def _ring_s(ranks: int, node: list[int], periodic: bool) -> Fraction:
    """Return how long it takes when each rank sends to the next one, then to the one before, one synchronous send at a time."""
    wanted = [[(rank + step) % ranks for step in (1, -1) if periodic or 0 <= rank + step < ranks] for rank in range(ranks)]
    now_s = Fraction(0)
    leaves_s: list[tuple[Fraction, int, int]] = []
    left: dict[tuple[int, int], Fraction] = {}

    def send_next(rank: int) -> None:
        if wanted[rank]:
            leaves_s.append((now_s + LATENCY_S, rank, wanted[rank].pop(0)))

    for rank in range(ranks):
        send_next(rank)
    while leaves_s or left:
        rates = dict(zip(left, _rates(list(left), node), strict=True))
        then_s = min([one[0] for one in leaves_s] + [now_s + left[flow] / rates[flow] for flow in left])
        for flow in left:
            left[flow] -= rates[flow] * (then_s - now_s)
        now_s = then_s
        over = [flow for flow, rest in left.items() if rest == 0]
        for flow in over:
            del left[flow]
        for one in [one for one in leaves_s if one[0] == now_s]:
            leaves_s.remove(one)
            left[one[1:]] = Fraction(1)
        for flow in over:
            send_next(flow[0])
    return now_s


@pytest.mark.parametrize(("ranks", "nodes"), [(5, 5), (8, 3), (20, 10), (23, 6), (33, 4)])
@pytest.mark.parametrize("periodic", [True, False])
def test_blocking_sends_around_a_ring_share_their_nics_fairly(ranks: int, nodes: int, periodic: bool) -> None:
    node = [rank % nodes for rank in range(ranks)]
    line = [(0, float(LATENCY_S), 1 / NIC_BYTES_PER_S)]
    machine = _core.Machine({"same-socket": {"send": line}, "other-node": {"send": line}}).alone()
    exchange = _core.Exchange("direct", "ssend", [ranks], [periodic], [1])
    walked = exchange.judged(_core.Placement.on_nodes(np.array(node, dtype=np.int32))).cost(BYTES, machine)
    assert walked.time_s == pytest.approx(float(_ring_s(ranks, node, periodic)), rel=1e-9)
