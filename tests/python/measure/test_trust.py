"""The verdict on campaigns whose disturbance is known."""

import re
from typing import Any

import numpy as np
import pytest

from rankwise.measure.samples import Campaign
from rankwise.measure.trust import judge


def _campaign(switches: int = 0, loop_spread: float = 0.0, **witness: Any) -> Campaign:
    rng = np.random.default_rng(1)
    samples = [
        {
            "time_s": [1e-3] * 100,
            "involuntary_switches": switches,
            "reference_loop_s": [20e-6, 20e-6 * (1 + loop_spread * rng.standard_normal())],
        }
        for _ in range(50)
    ]
    seen = {"seconds": 5.0, "foreign_cpus": 0.02, "steal_share": 0.0, "pressure_share": None, **witness}
    return Campaign({"campaign": "a"}, samples, [], [seen, {**seen, "seconds": 1.0}])


def test_a_quiet_machine_is_trusted() -> None:
    trust = judge([_campaign()])
    assert (trust.level, trust.reasons) == ("good", ())
    assert trust.line().startswith("Quality: good (")


@pytest.mark.parametrize(
    ("campaign", "level", "says"),
    [
        (_campaign(foreign_cpus=0.3), "limited", "other programs used 0.3"),
        (_campaign(foreign_cpus=1.0, pressure_share=0.8), "poor", "waited for a core 80 %.*ps -eo"),
        (_campaign(foreign_cpus=1.0, pressure_share=1.02), "poor", "waited for a core 100 %"),
        (_campaign(steal_share=0.05), "limited", "hypervisor gave 5 %"),
        (_campaign(steal_share=0.2), "poor", "dedicated cores"),
        (_campaign(switches=10), "limited", "descheduled 50 times a second.*cpuset"),
        (_campaign(switches=100), "poor", "descheduled 500 times"),
        (_campaign(loop_spread=0.1), "limited", "clock rate of the cores varied.*doctor"),
    ],
)
def test_each_disturbance_is_named_with_its_cure(campaign: Campaign, level: str, says: str) -> None:
    trust = judge([campaign])
    assert trust.level == level
    assert re.search(says, str(trust.reasons[0]))
    assert all("\n" not in line for line in (trust.line(), *map(str, trust.reasons)))


def test_visits_whose_rank_moved_are_told() -> None:
    campaign = _campaign()
    campaign.samples[0] = {**campaign.samples[0], "moved_ranks": 1}
    trust = judge([campaign])
    assert trust.level == "limited" and "1 of 50 sample batches had a rank that moved" in str(trust.reasons[0])


@pytest.mark.parametrize(("counted", "level"), [(10**9, "good"), (10**3, "poor"), (None, "poor")])
def test_bytes_between_nodes_must_have_crossed_an_interface(counted: int | None, level: str) -> None:
    campaign = _campaign()
    crossed = {} if counted is None else {"a": {"eth0": [counted, counted]}, "b": {"eth0": [counted, counted]}}
    cell = {"class": "other-node", "operation": "send", "launch": 0, "size_bytes": 1000, "parts": 2}
    campaign.samples[:] = [{**sample, **cell} for sample in campaign.samples]
    campaign.witnesses[:] = [{**w, "class": "other-node", "launch": 0, "network_bytes": crossed} for w in campaign.witnesses]
    trust = judge([campaign])
    assert trust.level == ("limited" if level == "good" else level)  # a single launch
    assert level == "good" or "messages took another path" in str(trust.reasons[0])


@pytest.mark.parametrize(
    ("longest_s", "carrier", "words"),
    [
        (5.2, 0, ["a message of 1000 B between n1 and n2 took 5.2 s instead of 1.00 ms", "'ip -s link' on each node"]),
        (1e-3, 2, ["eth0 of n2 lost its carrier", "on n2"]),
        (5.2, 2, ["took 5.2 s", "eth0 of n2 lost its carrier"]),
        (0.015, 0, []),
    ],
)
def test_a_link_that_was_down_for_a_while_is_told(longest_s: float, carrier: int, words: list[str]) -> None:
    campaign = _campaign()
    cell = {"class": "other-node", "operation": "send", "size_bytes": 1000, "parts": 2}
    campaign.samples[:] = [{**sample, **cell, "launch": i % 10} for i, sample in enumerate(campaign.samples)]
    campaign.samples[7] = {**campaign.samples[7], "time_s": [*[1e-3] * 99, longest_s]}
    campaign.starts.append(
        {"launch": 7, "timer_cost_s": 0.0, "class": "other-node", "placements": [{"host": "n1"}, {"host": "n2"}]}
    )
    seen = {
        "class": "other-node",
        "launch": 7,
        "network_bytes": {"n1": {"eth0": [10**9, 0]}},
        "network_faults": {"n2": {"eth0": [carrier, 0]}},
    }
    campaign.witnesses[:] = [{**witness, **seen} for witness in campaign.witnesses[:1]]
    trust = judge([campaign])
    told = "; ".join(str(reason) for reason in trust.reasons if reason.code == "interrupted")
    assert all(word in told for word in words) and bool(words) == bool(told)
    assert trust.level == ("poor" if words else "good")


def test_a_load_that_ended_early_or_shares_processors_is_told() -> None:
    campaign = _campaign()
    campaign.samples[:] = [{**sample, "load_pairs": 1, "load_ended_early": 0} for sample in campaign.samples]
    assert judge([campaign]).level == "good"
    plan = {"background": 1, "places": {"same-socket": {"pairs": [[0, 1]], "star": [0, 1]}}}
    sharing = Campaign({"campaign": "a", "plan": plan}, campaign.samples, [], campaign.witnesses)
    assert "share cores" in str(judge([sharing]).reasons[0])
    campaign.samples[3] = {**campaign.samples[3], "load_ended_early": 1}
    assert "background load ended before 1 of 50" in str(judge([campaign]).reasons[0])


def test_an_ssend_that_does_not_wait_makes_the_limits_doubtful() -> None:
    campaign = _campaign()
    campaign.limits.append({"ssend_returns_up_to_bytes": -1})
    assert judge([campaign]).level == "good"
    campaign.limits.append({"ssend_returns_up_to_bytes": 0})
    assert "MPI_Ssend returned" in str(judge([campaign]).reasons[0])


def test_at_most_two_findings_the_gravest_first() -> None:
    trust = judge([_campaign(switches=10, foreign_cpus=2.0, steal_share=0.03, loop_spread=0.05)])
    assert len(trust.reasons) == 2 and "other programs" in str(trust.reasons[0])


def _launches(spread: float, launches: int = 3, way: str = "send") -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    effects = np.exp(rng.normal(0.0, spread, launches))
    return [
        {"class": "same-socket", "operation": way, "size_bytes": size, "launch": launch, "parts": 2,
            "time_s": [2e-6 * effect] * 9}
        for launch, effect in enumerate(effects) for size in (0, 8, 64)
    ]  # fmt: skip


def test_wide_intervals_alone_are_told_with_what_helps() -> None:
    campaign = _campaign()
    campaign.samples[:] = _launches(0.08)
    trust = judge([campaign])
    assert trust.level == "limited" and "--launches" in str(trust.reasons[0]) and trust.launches == 3
    assert any("only 3 launches (10" in str(reason) for reason in trust.reasons)
    campaign.samples[:] = _launches(0.5)
    assert judge([campaign]).level == "poor"


def test_each_link_and_way_has_its_level() -> None:
    campaign = _campaign()
    campaign.samples[:] = [*_launches(0.001, 10), *_launches(0.5, 3, "exchange")]
    assert judge([campaign]).of == {"same-socket": {"send": "good", "exchange": "poor"}}


def test_a_reference_loop_that_varies_while_ranks_lose_their_processor_is_no_clock() -> None:
    (reason,) = judge([_campaign(switches=10, loop_spread=0.4)]).reasons
    assert reason.code == "preempted" and "clock" not in str(reason)


def test_a_machine_that_drifts_between_launches_is_limited_at_best() -> None:
    campaign = _campaign()
    campaign.samples[:] = [{**sample, "time_s": [2e-6 * (1 + 0.001 * sample["launch"])] * 9} for sample in _launches(0.0, 12)]
    trust = judge([campaign])
    assert trust.level == "limited" and "speed changed" in trust.line()


def test_samples_of_before_the_witnesses_can_be_judged() -> None:
    assert judge([Campaign({"campaign": "a"}, [{"time_s": [1e-6]}], [])]).level == "good"
    assert judge([]).level == "unknown"
