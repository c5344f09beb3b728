"""The eager limit: raised only where messages between nodes lie above it, and moving them takes longer than they need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwise.engines.model import Model
from rankwise.machine.profile import open_profile
from rankwise.observe.phases import PhasedStep
from rankwise.tune.protocol import Limit, eager_limit

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
