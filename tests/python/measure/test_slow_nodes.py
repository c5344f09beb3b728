"""Which node, direction or pair is slow: known answers, and fleets drawn with known seeds."""

import math

import numpy as np
import pytest

from rankwise.measure.slow_nodes import Finding, Times, candidates, decompose, exclude, low_median, slow_nodes, slow_pairs
from synthetic_nodes import SIZE_BYTES, Fleet, circle, joined

ALL = np.ones(16, dtype=bool)


def _exact(nodes, slow=(), pairs=(), sweeps=3):
    """Times of 1 s without any noise, but for those who send slowly and for slow pairs."""
    fleet = Fleet(nodes, np.random.default_rng(1), spread=0, noise=0, burst_share=0, sends=dict(slow), pairs=dict(pairs))
    return joined([fleet.sweep(number) for number in range(sweeps)])


def test_a_slow_sender_among_four_is_all_that_is_found() -> None:
    effects = decompose(_exact(4, {2: 1.5}.items()))
    assert effects.sends == pytest.approx([0, 0, math.log(1.5), 0])
    assert effects.receives == pytest.approx([0, 0, 0, 0])
    assert np.nanmax(np.abs(effects.residual)) < 1e-12 and effects.noise < 1e-12
    found = slow_nodes(effects, 8, ALL[:4])
    assert [(f.kind, f.nodes, round(f.ratio, 6)) for f in found] == [("sends", (2,), 1.5)]


def test_a_usual_path_of_a_quick_sender_is_no_fault() -> None:
    """Rank 2 looks quick, for it is to two of three: to the third it is as quick as all are."""
    fleet = Fleet(
        4, np.random.default_rng(1), spread=0, noise=0.005, burst_share=0, receives={1: 10.0}, pairs={(2, 1): 0.8, (2, 0): 0.86}
    )
    effects, found = fleet.judge()
    assert math.exp(effects.sends[2]) < 0.85
    assert [(finding.kind, finding.nodes) for finding in found] == [("receives", (1,))]


def test_a_slow_pair_among_sixteen_is_no_nodes_fault() -> None:
    times = _exact(16, pairs={(3, 7): 1.5, (7, 3): 1.5}.items())
    effects = decompose(times)
    assert slow_nodes(effects, 8, ALL) == [] and candidates(effects, ALL) == [(3, 7)]
    assert [(f.kind, f.nodes) for f in slow_pairs(effects, times, [(3, 7)], 8)] == [("pair", (3, 7))]
    healthy = Times(np.where(times.partner < 0, np.nan, 0.0), times.partner, times.sweep)
    assert slow_pairs(effects, healthy, [(3, 7)], 8) == []  # not slow again


def test_lower_medians_leave_out_what_is_missing() -> None:
    values = np.array([[4.0, 1.0, np.nan, 2.0, 3.0], [np.nan, 7.0, np.nan, 5.0, np.nan], [np.nan] * 5])
    assert low_median(values, axis=1)[:2].ravel().tolist() == [2.0, 5.0]
    assert np.isnan(low_median(values, axis=1)[2, 0])


def test_a_switch_is_named_before_its_nodes() -> None:
    fleet = Fleet(16, np.random.default_rng(4), sends=dict.fromkeys(range(4), 1.3), receives=dict.fromkeys(range(4), 1.3))
    effects = decompose(joined([fleet.sweep(number) for number in range(3)]))
    leaves = [f"leaf{i // 4}" for i in range(16)]
    assert [(f.kind, f.leaf, f.nodes) for f in slow_nodes(effects, 8, ALL, leaves)] == [("leaf", "leaf0", (0, 1, 2, 3))]
    assert [f.kind for f in slow_nodes(effects, 8, ALL)] == ["node"] * 4


def test_what_is_left_out_leaves_no_finding() -> None:
    def finding(kind, *nodes):
        return Finding(kind, nodes, 1.5, 1.4, 1.6, 8)

    assert exclude([finding("sends", 5), finding("pair", 5, 6), finding("pair", 1, 2), finding("one-way", 3, 2)]) == [2, 5]


def test_rounds_of_nobody_and_circles_of_odd_numbers() -> None:
    partner = circle([3, 0, 4, 1, 2])
    assert partner.shape == (5, 5) and np.all(np.sum(partner < 0, axis=1) == 1)
    assert decompose(Fleet(5, np.random.default_rng(1)).sweep(0)).residual.shape == (5, 5)


@pytest.mark.parametrize(
    ("fault", "least"),
    [({}, 40), ({"sends": {3: 1.2}}, 40), ({"receives": {3: 1.2}}, 40), ({"sends": {3: 1.2}, "receives": {3: 1.2}}, 40),
     ({"pairs": {(3, 7): 1.2, (7, 3): 1.2}}, 37)],
)  # fmt: skip
def test_fleets_with_one_fault_of_a_fifth(fault, least) -> None:
    """The table is that of benchmarks/slow_nodes.py; this is a slice of it with seeds of its own."""
    kind = (
        "none"
        if not fault
        else "node"
        if len(fault) == 2
        else next(iter(fault)).removesuffix("s") + "s" * ("pairs" not in fault)
    )
    right = more = 0
    for seed in range(40):
        findings = Fleet(16, np.random.default_rng([7, seed]), **fault).judge()[1]
        named = [f for f in findings if f.kind == kind and set(f.nodes) == ({3, 7} if kind == "pair" else {3})]
        right += bool(named) or not fault
        more += len(findings) > len(named)
        assert all(f.low < f.ratio < f.high and f.size_bytes == SIZE_BYTES for f in findings)
    assert right >= least and more <= 1


def test_noise_asks_for_sweeps_and_says_what_could_be_seen() -> None:
    quiet, _ = Fleet(16, np.random.default_rng(3)).judge()
    noisy, _ = Fleet(16, np.random.default_rng(3), noise=0.4, burst_share=0.1).judge()
    assert quiet.sees_enough and quiet.sweeps == 3 and 1.1 < quiet.visible_node() < 1.2
    assert not noisy.sees_enough and noisy.sweeps == 12 and noisy.visible_pair() > 1.2
