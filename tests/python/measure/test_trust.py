"""The verdict on campaigns whose disturbance is known."""

import re
from typing import Any

import numpy as np
import pytest

from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.measure.samples import Campaign
from rankwise.measure.trust import judge
from rankwise.models.curve import curve_from_table


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


def _profile(half_width: float = 0.01) -> Profile:
    points = [Point(size, 1e-6, 1e-6 * (1 - half_width), 1e-6 * (1 + half_width), 9) for size in (0, 8, 64)]
    return Profile({}, {"same-socket": Link(curve_from_table(points, "median"))}, "now", {})


def test_a_quiet_machine_is_trusted() -> None:
    trust = judge(_campaign(), _profile())
    assert (trust.level, trust.findings) == ("good", ())
    assert "± 1.0 %" in trust.line


@pytest.mark.parametrize(
    ("campaign", "level", "says"),
    [
        (_campaign(foreign_cpus=0.3), "limited", "other programs kept 0.3"),
        (_campaign(foreign_cpus=1.0, pressure_share=0.8), "poor", "waited for one 80 %.*ps -eo"),
        (_campaign(steal_share=0.05), "limited", "hypervisor took 5 %"),
        (_campaign(steal_share=0.2), "poor", "dedicated cores"),
        (_campaign(switches=10), "limited", "lost its processor 50 times a second.*cpuset"),
        (_campaign(switches=100), "poor", "lost its processor 500 times"),
        (_campaign(loop_spread=0.1), "limited", "own speed changed.*doctor"),
    ],
)
def test_each_disturbance_is_named_with_its_cure(campaign: Campaign, level: str, says: str) -> None:
    trust = judge(campaign, _profile())
    assert trust.level == level
    assert re.search(says, trust.findings[0])
    assert all("\n" not in line for line in (trust.line, *trust.findings))


def test_visits_whose_rank_moved_are_told() -> None:
    campaign = _campaign()
    campaign.samples[0] = {**campaign.samples[0], "moved_ranks": 1}
    trust = judge(campaign, _profile())
    assert trust.level == "limited" and "1 of 50 visits had a rank that left" in trust.findings[0]


@pytest.mark.parametrize(("counted", "level"), [(10**9, "good"), (10**3, "poor"), (None, "poor")])
def test_bytes_between_nodes_must_have_crossed_an_interface(counted: int | None, level: str) -> None:
    campaign = _campaign()
    crossed = {} if counted is None else {"a": {"eth0": [counted, counted]}, "b": {"eth0": [counted, counted]}}
    cell = {"class": "other-node", "size_bytes": 1000, "parts": 2}
    campaign.samples[:] = [{**sample, **cell} for sample in campaign.samples]
    campaign.witnesses[:] = [{**w, "class": "other-node", "network_bytes": crossed} for w in campaign.witnesses]
    trust = judge(campaign, _profile())
    assert trust.level == level
    assert level == "good" or "messages went another way" in trust.findings[0]


@pytest.mark.parametrize(
    ("longest_s", "carrier", "words"),
    [
        (5.2, 0, ["a message of 1000 B between n1 and n2 took 5.2 s, where 1.00 ms is usual", "'ip -s link' on each node"]),
        (1e-3, 2, ["eth0 of n2 lost its carrier", "on n2"]),
        (5.2, 2, ["took 5.2 s", "eth0 of n2 lost its carrier"]),
        (0.015, 0, []),
    ],
)
def test_a_link_that_was_down_for_a_while_is_told(longest_s: float, carrier: int, words: list[str]) -> None:
    campaign = _campaign()
    cell = {"class": "other-node", "operation": "send", "size_bytes": 1000, "launch": 0, "parts": 2}
    campaign.samples[:] = [{**sample, **cell} for sample in campaign.samples]
    campaign.samples[7] = {**campaign.samples[7], "time_s": [*[1e-3] * 99, longest_s]}
    campaign.starts.append({"launch": 0, "class": "other-node", "placements": [{"host": "n1"}, {"host": "n2"}]})
    seen = {"class": "other-node", "network_bytes": {"n1": {"eth0": [10**9, 0]}}, "network_faults": {"n2": {"eth0": [carrier, 0]}}}
    campaign.witnesses[:] = [{**witness, **seen} for witness in campaign.witnesses[:1]]
    trust = judge(campaign, _profile())
    told = "; ".join(finding for finding in trust.findings if "the link between nodes was interrupted" in finding)
    assert all(word in told for word in words) and bool(words) == bool(told)
    assert trust.level == ("poor" if words else "good")


def test_a_load_that_ended_early_or_shares_processors_is_told() -> None:
    campaign = _campaign()
    campaign.samples[:] = [{**sample, "load_pairs": 1, "load_ended_early": 0} for sample in campaign.samples]
    assert judge(campaign, _profile()).level == "good"
    plan = {"background": 1, "places": {"same-socket": {"pairs": [[0, 1]], "star": [0, 1]}}}
    sharing = Campaign({"campaign": "a", "plan": plan}, campaign.samples, [], campaign.witnesses)
    assert "share processors" in judge(sharing, _profile()).findings[0]
    campaign.samples[3] = {**campaign.samples[3], "load_ended_early": 1}
    assert "the load ended before 1 of 50" in judge(campaign, _profile()).findings[0]


def test_an_ssend_that_does_not_wait_makes_the_limits_doubtful() -> None:
    campaign = _campaign()
    campaign.limits.append({"ssend_returns_up_to_bytes": -1})
    assert judge(campaign, _profile()).level == "good"
    campaign.limits.append({"ssend_returns_up_to_bytes": 0})
    assert "MPI_Ssend returned" in judge(campaign, _profile()).findings[0]


def test_at_most_two_findings_the_gravest_first() -> None:
    trust = judge(_campaign(switches=10, foreign_cpus=2.0, steal_share=0.03, loop_spread=0.05), _profile())
    assert len(trust.findings) == 2 and "other programs" in trust.findings[0]


def test_wide_intervals_alone_are_told_with_what_helps() -> None:
    trust = judge(_campaign(), _profile(0.1))
    assert trust.level == "limited" and "--launches" in trust.findings[0]
    assert judge(_campaign(), _profile(0.4)).level == "poor"


def test_samples_of_before_the_witnesses_can_be_judged() -> None:
    old = Campaign({"campaign": "a"}, [{"time_s": [1e-6]}], [])
    assert judge(old, _profile()).level == "good"
