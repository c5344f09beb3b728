"""The eager limit: raised only where messages between nodes lie above it, and moving them takes longer than they need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankwise.collectives.selection import Call
from rankwise.collectives.settings import Library
from rankwise.engines.model import Model
from rankwise.machine.profile import Profile, open_profile
from rankwise.observe.phases import PhasedStep
from rankwise.tune.calls import Called
from rankwise.tune.protocol import EAGER_BYTES, NEW_BYTES, Limit, chooser_of, eager_limit, with_limits, words_of

PROFILE = Path(__file__).parents[1] / "frozen" / "inputs" / "nodes.json"


def ring(size: int, ranks: int = 4) -> PhasedStep:
    source = np.arange(ranks, dtype=np.int32)
    return PhasedStep.at_once(source, (source + 1) % ranks, np.full(ranks, size, np.int64), ranks)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(open_profile(PROFILE))


def test_large_messages_that_take_longer_than_they_need_are_sent_at_once(model: Model) -> None:
    found = eager_limit(ring(400_000), (0, 0, 1, 1), 0.1, model)
    assert isinstance(found, Limit)
    assert (found.first, found.last, found.messages) == (400_000, 400_000, 2)  # those between nodes
    assert found.gain.s == pytest.approx(0.1 - found.new_s)
    assert 0 < found.gain.lo_s < found.gain.s < found.gain.hi_s


def test_the_limit_is_left_where_nothing_is_above_it_or_nothing_is_lost(model: Model) -> None:
    assert eager_limit(ring(60_000), (0, 0, 1, 1), 0.1, model) == ""
    assert eager_limit(ring(400_000), (0, 0, 0, 0), 0.1, model) == ""
    assert eager_limit(None, (0, 1), 0.1, model) == ""
    limit = eager_limit(ring(400_000), (0, 0, 1, 1), 0.1, model)
    assert isinstance(limit, Limit)
    left = eager_limit(ring(400_000), (0, 0, 1, 1), limit.new_s, model)
    assert isinstance(left, str) and "what the network needs" in left


def with_rings(below: float, above: float) -> Profile:
    """Return a machine of which NICs in rings send such shares of their rate below the eager limit and above it."""
    profile = open_profile(PROFILE)
    rate = dict(profile.shared.resources())["card"].bytes_per_s
    rows = ((4, 1, 30_000, below * rate), (4, 1, 100_000, above * rate))
    return replace(
        profile, shared=replace(profile.shared, card=replace(dict(profile.shared.resources())["card"], exchange=rows))
    )


def test_collectives_gain_by_a_higher_limit_what_rings_lose_above_it() -> None:
    library, nodes = Library("openmpi-4.1"), tuple(range(4))
    called = [Called(Call("allgather", 4, size, nodes), 10.0) for size in (1 << 14, 1 << 18)]
    chooser = chooser_of(library, with_rings(0.98, 0.49))
    assert chooser.choose(called[:1])[0].is_left  # for which nothing is raised
    small, large = chooser.choose(called)
    assert small.is_left and not large.is_left and large.limited
    assert large.now_s > 1.5 * large.new_s
    # Exchanges that leave NICs idle were seen to take down to 0.72 of what is predicted.
    assert 0 < large.gain.lo_s < large.now_s * 0.75 - large.new_s and large.gain.s == pytest.approx(large.now_s - large.new_s)
    assert words_of(large).endswith(" + eager limit")
    # A chain of messages one after the other is no slower than its links: there only another algorithm gains.
    (bcast,) = chooser_of(library, with_rings(0.98, 0.49)).choose([Called(Call("bcast", 4, 1 << 20, nodes), 1.0)])
    assert bcast.setting is not None and bcast.setting.segment_bytes and not bcast.limited


def test_what_han_sends_in_segments_up_to_the_limit_gains_nothing_by_it() -> None:
    nodes = tuple(rank // 2 for rank in range(8))
    found = {
        kind: chooser_of(Library("openmpi-5.0"), with_rings(0.98, 0.3)).choose([Called(Call(kind, 8, 1 << 18, nodes), 1.0)])[0]
        for kind in ("allreduce", "allgather")
    }
    assert {one.selected.name for one in found.values()} == {"han"}
    assert (found["allreduce"].selected.segment_bytes, found["allreduce"].limited) == (EAGER_BYTES, False)
    assert (found["allgather"].selected.segment_bytes, found["allgather"].limited) == (0, True)


@pytest.mark.parametrize(("below", "above"), [(0.98, 0.97), (0.6, 0.59)])
def test_where_rings_lose_nothing_above_the_limit_it_is_left(below: float, above: float) -> None:
    """As on networks without handshakes that wait, and where rings of all sizes are slow, which no limit helps."""
    profile = with_rings(below, above)
    assert with_limits("openmpi-4.1", profile) is None
    (one,) = chooser_of(Library("openmpi-4.1"), profile).choose([Called(Call("allgather", 4, 1 << 18, tuple(range(4))), 1.0)])
    assert not one.limited
    assert (
        with_limits("mpich-5.0", with_rings(0.98, 0.49)) is None and with_limits("openmpi-4.1", open_profile(PROFILE)) is None
    )


def test_what_passes_nics_changes_at_the_limit() -> None:
    both = with_limits("openmpi-5.0", with_rings(0.9, 0.5))
    assert both is not None and EAGER_BYTES < NEW_BYTES
    for profile, limit in zip(both, (EAGER_BYTES, NEW_BYTES), strict=True):
        card = profile.shared.card
        assert card is not None
        shares = {size: bytes_per_s / card.bytes_per_s for _, _, size, bytes_per_s in card.exchange}
        assert shares == pytest.approx({30_000: 0.9, limit: 0.9, limit + 1: 0.5})
