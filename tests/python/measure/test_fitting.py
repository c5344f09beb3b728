"""Parameters that are measured directly, streams and the link under load, from machines whose truth is known."""

from typing import Any

import numpy as np
import pytest

from rankwise.machine.link import Parameter
from rankwise.machine.profile import Profile
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.samples import Campaign
from rankwise.models import max_rate
from rankwise.models.measured import Way
from synthetic_machine import several_at_once_s

SIZES = [0, 8, 1000, 10_000, 100_000, 1_000_000]
ALPHA_S, BETA = 1e-6, 1e-10
RATE_LIMIT = 2.5e10  # of a node, two and a half pairs


def _campaign(operations: dict[str, Any], launches: int = 3, **extra: Any) -> Campaign:
    """Samples of operations whose times (of one message or round) are functions of the size; launches differ by 1 %."""
    rng = np.random.default_rng(5)
    samples = []
    for operation, (time_of, parts) in operations.items():
        for launch in range(launches):
            speed = 1 + 0.01 * (launch - 1)
            for size in SIZES:
                noise = rng.lognormal(0.0, 0.02, 60)
                samples.append(
                    {"class": "same-socket", "operation": operation, "size_bytes": size, "launch": launch, "parts": parts,
                     "messages": 1, "time_s": (time_of(size) * parts * speed * noise).tolist(), **extra}
                )  # fmt: skip
    head = {"campaign": "a", "created": "2026-01-01", "machine": {}, "plan": {}}
    return Campaign(head, samples, [])


def _line(factor: float = 1.0) -> tuple[Any, int]:
    return (lambda size: factor * (ALPHA_S + BETA * size)), 2


def _link(campaign: Campaign, tmp_path: Any) -> Any:
    profile = profile_from_campaign(campaign, tmp_path / "x")
    again = Profile.from_dict(profile.to_dict(), "memory")
    assert again.to_dict() == profile.to_dict()
    return again.links["same-socket"]


def _holds(parameter: Parameter, truth: float) -> bool:
    assert parameter.ci is not None
    return parameter.ci[0] <= truth <= parameter.ci[1] and parameter.value == pytest.approx(truth, rel=0.03)


def test_loggp_s_parts_overlap_and_limits(tmp_path: Any) -> None:
    campaign = _campaign(
        {
            "send": _line(),
            "exchange": ((lambda size: 1.3 * (ALPHA_S + BETA * size)), 4),
            "send-overhead": ((lambda size: 2e-7), 1),
            "receive-overhead": ((lambda size: 3e-7), 1),
            "gap": ((lambda size: 4e-7), 32),
        }
    )
    campaign.limits += [
        {"class": "same-socket", "send_returns_up_to_bytes": n, "head_to_head_up_to_bytes": 8112} for n in (8112, 8000, 8112)
    ]
    found = _link(campaign, tmp_path).parameters
    assert _holds(found["send_overhead_s"], 2e-7) and _holds(found["receive_overhead_s"], 3e-7)
    assert _holds(found["latency_s"], ALPHA_S - 5e-7) and _holds(found["gap_s"], 4e-7)
    assert _holds(found["overlap"], 0.7)
    assert found["send_returns_up_to_bytes"] == Parameter(8112.0, (8000.0, 8112.0))
    assert found["head_to_head_up_to_bytes"].ci == (8112.0, 8112.0)


def test_streams_of_many_pairs_show_the_limit_of_the_node_and_max_rate_takes_it(tmp_path: Any) -> None:
    def stream(pairs: int) -> tuple[Any, int]:
        return (lambda size: 1e-8 + max(BETA, pairs / RATE_LIMIT) * size), 64

    both = ((lambda size: ALPHA_S + 1.2 * BETA * size), 4)
    operations = {f"bandwidth-pairs-{pairs}-window-64": stream(pairs) for pairs in (1, 2, 4, 8)}
    campaign = _campaign({"send": _line(), "exchange": both, **operations})
    link, memory = _link(campaign, tmp_path), profile_from_campaign(campaign, tmp_path / "x").shared.memory
    assert memory is not None and memory.bytes_per_s == pytest.approx(RATE_LIMIT, rel=0.02)
    limit = Parameter(memory.bytes_per_s, memory.ci)
    assert set(operations) <= link.variants.keys()
    assert link.variants["bandwidth-pairs-8-window-64"].beta_s_per_byte == pytest.approx(8 / RATE_LIMIT, rel=0.02)
    model = link.send.models["max-rate"]
    assert model.parameters["injection_bytes_per_s"] == limit
    # Two messages are not held up by it, eight are.
    assert several_at_once_s(model, 2, 1_000_000) == pytest.approx(ALPHA_S + 1e6 * BETA, rel=0.03)
    assert several_at_once_s(model, 8, 1_000_000) == pytest.approx(ALPHA_S + 8e6 / RATE_LIMIT, rel=0.03)


def test_without_streams_the_limit_is_that_of_two_messages() -> None:
    sizes = np.array(SIZES, dtype=float)
    one = ALPHA_S + BETA * sizes
    ways = {"send": Way.exact(sizes, one), "exchange": Way.exact(sizes, ALPHA_S + 1.5 * BETA * sizes)}
    model = max_rate.fit(ways)["send"]
    assert several_at_once_s(model, 2, 1 << 20) == pytest.approx(ALPHA_S + 1.5 * BETA * (1 << 20), rel=1e-3)


def test_alpha_and_beta_free_and_loaded_with_their_ratio(tmp_path: Any) -> None:
    loaded_line = ((lambda size: 5e-6 + 3 * BETA * size), 2)
    loaded = _link(_campaign({"send": _line(), "send-loaded": loaded_line}, load_pairs=2), tmp_path).loaded
    assert loaded.pairs == 2
    assert loaded.alpha_s == pytest.approx(5e-6, rel=0.02) and loaded.beta_s_per_byte == pytest.approx(3 * BETA, rel=0.02)
    assert loaded.alpha_ratio == pytest.approx(5, rel=0.03) and loaded.beta_ratio == pytest.approx(3, rel=0.03)
    for ratio, interval in ((5, loaded.alpha_ratio_ci), (3, loaded.beta_ratio_ci)):
        assert interval[0] <= ratio <= interval[1] and interval[1] - interval[0] < ratio
    assert _link(_campaign({"send": _line()}), tmp_path).loaded is None


def test_launches_and_samples_differ_by_what_they_were_made_to(tmp_path: Any) -> None:
    spread = _link(_campaign({"send": _line()}), tmp_path).spread
    assert spread.between_launches == pytest.approx(0.01, rel=0.4)
    assert spread.within_launches == pytest.approx(0.02, rel=0.2)
    assert _link(_campaign({"send": _line()}, launches=1), tmp_path).spread.between_launches is None


def test_one_to_all_pools_its_peers_and_a_collective_stands_by_itself(tmp_path: Any) -> None:
    peers = {f"one-to-all-peer-{k}": _line() for k in (1, 2, 3)}
    collective = {"alltoall-ranks-4": ((lambda size: 4e-6 + 3 * BETA * size), 1)}
    link = _link(_campaign({"send": _line(), **peers, **collective}), tmp_path)
    assert set(link.variants) == {"one-to-all", "alltoall-ranks-4"}
    assert link.variants["one-to-all"].samples == 3 * link.send.samples
    assert link.variants["alltoall-ranks-4"].alpha_s == pytest.approx(4e-6, rel=0.03)
