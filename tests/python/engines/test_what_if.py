"""A recorded step on another network: hand counts on a machine of straight lines, and POP's efficiencies of planted steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwise import _core
from rankwise.engines import judge, what_if
from rankwise.engines.step import Described
from rankwise.engines.what_if import PlacedStep, row_of, scaled, slider_table
from rankwise.errors import InputError
from rankwise.observe.phases import PhasedStep

ALPHA_S, BETA, COMPUTE_S, BYTES = 1e-5, 1e-8, 1e-3, 100_000


def machine(alpha_s: float = ALPHA_S, beta: float = BETA, levels: tuple[tuple[int, float], ...] = ()) -> _core.Machine:
    links = {
        "same-socket": {"send": [(0, 1e-7, 1e-10)]},
        "other-node": {"send": [(0, alpha_s, beta)], "exchange-gap": [(0, 0.0, 0.0)], "rendezvous": [(0, 1e9, 0.0)]},
    }
    return _core.Machine(links, {"card": {"bytes_per_s": 1 / beta}}, list(levels))


def ring(compute_s: list[float], size: int = BYTES) -> PhasedStep:
    """Every rank computes, then sends to its right."""
    ranks = np.arange(len(compute_s))
    return PhasedStep(
        np.zeros(len(ranks), int),
        ranks,
        (ranks + 1) % len(ranks),
        np.full(len(ranks), size),
        np.array([compute_s]),
        observed=True,
    )


def placed(compute_s: list[float], ranks_per_node: int = 1) -> PlacedStep:
    return PlacedStep(ring(compute_s), _core.Placement.blocked(len(compute_s), ranks_per_node))


def test_no_machine_is_walked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = []

    def noting(program: _core.Judged, block_bytes: int, machine: _core.Machine) -> _core.Cost:
        walked.append((program, machine))
        return program.cost(block_bytes, machine)

    monkeypatch.setattr(judge, "cost_of", noting)
    monkeypatch.setattr(what_if, "cost_of", noting)
    assert row_of(placed([COMPUTE_S] * 4), Described(machine(), ())).efficiencies is not None
    # One step and three: as asked, without a network, without latency, without what bytes take, without either.
    assert len({(id(program), id(on)) for program, on in walked}) == len(walked) == 2 * 5
    assert len({id(program) for program, _ in walked}) == 2


def test_a_factor_scales_latency_bandwidth_cards_and_switches() -> None:
    one, changed = machine(levels=((4, 3e8),)), machine(2 * ALPHA_S, BETA / 4, ((4, 1.2e9),))
    found = one.with_network(2.0, 4.0)
    assert found.lines("other-node")[0] == pytest.approx(changed.lines("other-node")[0])
    assert found.lines("same-socket") == one.lines("same-socket")
    assert found.card_bytes_per_s == pytest.approx(changed.card_bytes_per_s)
    assert found.levels[0] == pytest.approx(changed.levels[0])
    lines = [(0, 1e-6, 1e-9), (1000, 2e-6, 2e-9)]
    bent = _core.Machine({"other-node": {"send": lines}}).with_network(3.0, 2.0).lines("other-node")
    # An empty message takes three times as long, all that bytes add to it half as long.
    assert bent[0] == pytest.approx((0, 3e-6, 0.5e-9))
    assert bent[1] == pytest.approx((1000, 3e-6 + 0.5e-6, 1e-9))
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="factor of the network"):
            one.with_network(wrong, 1.0)


@pytest.mark.parametrize(("latency", "bandwidth"), [(1.0, 1.0), (0.5, 2.0), (10.0, 1.0), (0.1, 10.0)])
def test_a_ring_takes_its_computing_the_latency_and_the_bytes(latency: float, bandwidth: float) -> None:
    step = placed([COMPUTE_S] * 4)
    hand_s = COMPUTE_S + latency * ALPHA_S + BYTES * BETA / bandwidth
    assert step.time_s(machine().with_network(latency, bandwidth)) == pytest.approx(hand_s, rel=1e-9)
    row = row_of(step, Described(machine().with_network(latency, bandwidth), ()), steps=3600)
    assert row.time_s == pytest.approx(hand_s, rel=1e-9)
    assert (row.messages, row.bytes, row.nodes, row.ranks_per_node) == (4, 4 * BYTES, 4, 1)
    assert row.node_hours == pytest.approx(4 * hand_s)
    shares = {share.what: share.share * hand_s for share in row.shares}
    assert shares.pop("compute") == pytest.approx(COMPUTE_S, rel=1e-6)
    assert shares["latency"] == pytest.approx(latency * ALPHA_S, rel=1e-3)
    assert shares["bandwidth"] == pytest.approx(BYTES * BETA / bandwidth, rel=1e-3)
    assert row.bound == "compute" or bandwidth == 1.0


def test_tolerances_are_where_the_step_is_slower_by_their_share() -> None:
    step, on = placed([COMPUTE_S] * 4), machine()
    whole_s = COMPUTE_S + ALPHA_S + BYTES * BETA
    for found in step.tolerances(on):
        more_s = found.slower * whole_s
        assert found.latency is not None and found.bandwidth is not None
        assert found.latency_more_s == pytest.approx(more_s, rel=2e-3)
        assert found.latency == pytest.approx(1 + more_s / ALPHA_S, rel=2e-3)
        assert 1 / found.bandwidth == pytest.approx(1 + more_s / (BYTES * BETA), rel=2e-3)
    assert [found.slower for found in step.tolerances(on)] == [0.01, 0.02, 0.05]
    assert placed([COMPUTE_S] * 4, 4).tolerances(on) == []


def test_efficiencies_of_planted_steps() -> None:
    slow = placed([2 * COMPUTE_S] + [COMPUTE_S] * 7)
    time_s = slow.time_s(machine())
    found = slow.efficiencies(time_s)
    assert found is not None
    assert found.load_balance == pytest.approx(9 / 16)
    assert found.busiest_rank == 0
    assert found.serialisation == pytest.approx(1.0, rel=1e-6)
    assert found.transfer == pytest.approx(2 * COMPUTE_S / time_s, rel=1e-6)
    assert found.parallel == pytest.approx(9 / 8 * COMPUTE_S / time_s, rel=1e-6)
    ranks = 8  # a chain: each begins when the one before has sent, the first when the last has
    there = np.arange(ranks)
    chain = PhasedStep(there, there, (there + 1) % ranks, np.full(ranks, 8), np.eye(ranks) * COMPUTE_S, observed=True)
    step = PlacedStep(chain, _core.Placement.blocked(ranks, 1))
    found = step.efficiencies(step.time_s(machine()))
    assert found is not None
    assert found.load_balance == pytest.approx(1.0)
    assert found.serialisation == pytest.approx(1 / 8, rel=1e-6)


def test_an_eager_send_does_not_hold_its_sender_for_the_latency() -> None:
    # Rank 0 sends ten messages, and computes before each; then it gets an answer: two messages' latencies are seen.
    source = np.append(np.zeros(10, int), 1)
    compute_s = np.zeros((11, 2))
    compute_s[:10, 0] = 1e-5
    step = PhasedStep(np.arange(11), source, 1 - source, np.full(11, 8), compute_s, observed=True)
    hand_s = 10e-5 + 2 * (ALPHA_S + 8 * BETA)
    assert PlacedStep(step, _core.Placement.blocked(2, 1)).time_s(machine().alone()) == pytest.approx(hand_s, rel=1e-6)


def test_steps_of_ranks_that_go_on_at_different_times_overlap() -> None:
    # A pipeline without a way back: rank 0 begins its next step while the others are still at this one.
    there = np.arange(7)
    line = PhasedStep(there, there, there + 1, np.full(7, 8), np.eye(7, 8) * COMPUTE_S, observed=True)
    assert PlacedStep(line, _core.Placement.blocked(8, 1)).time_s(machine().alone()) == pytest.approx(COMPUTE_S, rel=1e-2)


def test_sliders_have_the_times_of_their_points() -> None:
    one, each = placed([COMPUTE_S] * 8), placed([COMPUTE_S] * 8, 4)
    row = row_of(each, Described(machine(), ()))
    table = slider_table([one, each], machine(), row, (1.0, 1.0), 1.0)
    assert np.shape(table.times_s) == (2, 9, 9)
    assert (table.ranks_per_node, table.asked) == ([1, 4], 1)
    assert table.times_s[0][4][6] == pytest.approx(COMPUTE_S + 4 * ALPHA_S + BYTES * BETA, rel=1e-9)
    assert table.times_s[0][5][4] == pytest.approx(COMPUTE_S + ALPHA_S + 2 * BYTES * BETA, rel=1e-9)


def test_a_machine_without_a_network_cannot_be_scaled() -> None:
    inside = _core.Machine({"same-socket": {"send": [(0, 1e-7, 1e-10)]}})
    assert scaled(inside, 1.0, 1.0) is inside
    with pytest.raises(InputError, match="no measurement between nodes"):
        scaled(inside, 2.0, 1.0)
