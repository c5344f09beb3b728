"""Limits of a library's protocols: messages that wait for a handshake where they could be sent at once.

Above its eager limit Open MPI asks the receiver before it sends the rest of a message; over TCP the answer waits behind all
that the node has queued, so that NICs are idle in turn. What that costs has no law: it is what the observed step spends at
moving messages beyond what the cost model says that they need. For collectives, and where no program was observed, it is what
rings of nodes were measured to lose above the limit: by how much others do, between nothing and that, is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.collectives.settings import Library
from rankwise.engines.model import Model
from rankwise.engines.placement import Seats
from rankwise.machine.profile import Profile
from rankwise.observe.phases import PhasedStep
from rankwise.tune.choice import LEAST_GAIN, Choice, Chooser, Gain
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


def with_limits(library: str, profile: Profile) -> tuple[Profile, Profile] | None:
    """Return the machine as it is, on which what passes NICs changes at the eager limit, and as it is where that is raised.

    None where the library has no such limit, or rings of nodes were not measured to be slower above it.
    """
    card = profile.shared.card
    if not library.startswith("openmpi") or card is None:
        return None
    below = [row for row in card.exchange if row[2] <= EAGER_BYTES]
    above = [row for row in card.exchange if row[2] > EAGER_BYTES]
    if not below or not above or min(row[-1] for row in above) > (1 - LEAST_GAIN) * min(row[-1] for row in below):
        return None
    nodes, ranks, _, fast = min(below, key=lambda row: row[-1])
    slow = min(row[-1] for row in above)

    def with_limit(size: int) -> Profile:
        rows = (*below, (nodes, ranks, size, fast), (nodes, ranks, size + 1, slow))
        return replace(profile, shared=replace(profile.shared, card=replace(card, exchange=rows)))

    return with_limit(EAGER_BYTES), with_limit(NEW_BYTES)


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


def chooser_of(library: Library, profile: Profile) -> Chooser:
    """Return what chooses settings of a library on a machine, with a higher eager limit where that may gain."""
    both = with_limits(library.name, profile)
    return Chooser(library, Model(profile)) if both is None else Chooser(library, *map(Model, both))


def words_of(choice: Choice) -> str:
    """Return what a collective is set to, in the library's words."""
    words = choice.selected.name if choice.setting is None else choice.setting.words
    return f"{words} + eager limit" if choice.limited else words
