"""Limits of a library's protocols: messages that wait for a handshake where they could be sent at once.

Above its eager limit Open MPI asks the receiver before it sends the rest of a message; over TCP the answer waits behind all
that the node has queued, so that NICs are idle in turn. What that costs has no law: it is what the observed step spends at
moving messages beyond what the cost model says that they need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.engines.model import Model
from rankwise.engines.placement import Seats
from rankwise.observe.phases import PhasedStep
from rankwise.tune.choice import LEAST_GAIN, Gain
from rankwise.workloads.base import Program

EAGER_BYTES = 65536  # of Open MPI over TCP
NEW_BYTES = 4_000_000
VARIABLES = {
    f"OMPI_MCA_btl_tcp_{name}": str(NEW_BYTES) for name in ("eager_limit", "rndv_eager_limit", "max_send_size")
}  # fmt: skip


@dataclass(frozen=True)
class Limit:
    """Messages of a step between nodes that lie above the limit, what moving all messages takes, and needs."""

    first: int
    last: int
    messages: int
    now_s: float
    new_s: float
    gain: Gain


def eager_limit(step: PhasedStep | None, node_of_rank: tuple[int, ...], moving_s: float, model: Model) -> Limit | str:
    """Return what a higher eager limit gains a step, or why it is left, in words (empty: nothing is to be said)."""
    if step is None or not len(step.bytes):
        return ""
    nodes = np.asarray(node_of_rank)
    above = (nodes[step.source] != nodes[step.dest]) & (step.bytes > EAGER_BYTES) & (step.bytes < NEW_BYTES)
    above &= ~np.isin(step.phase, step.collective)
    if not above.any():
        return ""
    price = model.price(Program(step.without_computing()), 1, Seats.of_profile(model.profile).on_nodes(node_of_rank)).span
    low_s, high_s = price.ends_s
    gain = Gain(moving_s - price.time_s, moving_s - high_s, moving_s - low_s)
    if gain.lo_s <= 0 or gain.s < LEAST_GAIN * moving_s:
        return "messages above it take what the network needs, or no more than the prediction's error longer"
    sizes = step.bytes[above]
    return Limit(int(sizes.min()), int(sizes.max()), int(above.sum()), moving_s, price.time_s, gain)
