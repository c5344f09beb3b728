"""Samples of machines whose truth is known, replayed through the whole way from raw times to the profile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from breadth import ALL
from rankwise.errors import InputError
from rankwise.measure.campaign import last_campaign
from rankwise.measure.cells import cells_of
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.samples import read_campaigns
from rankwise.statistics import median_interval_95
from synthetic_machine import LOGGP, SIZES, loggp_times, write_samples

SEEDS = 100
KNOWN_SEEDS = 30 if ALL else 8
TRUE_ALPHA_S = 2 * LOGGP["overhead_s"] + LOGGP["latency_s"]


def test_known_parameters_come_back_inside_their_intervals(tmp_path: Path) -> None:
    path = tmp_path / "known.samples.jsonl"
    inside: Counter[str] = Counter()
    for seed in range(KNOWN_SEEDS):
        path.unlink(missing_ok=True)
        write_samples(path, loggp_times(), seed, common=0.1)
        link = profile_from_campaign(last_campaign(path), path, model="loggp").links["same-socket"]
        send = link.send
        loggp = send.models["loggp"]
        assert send.alpha_ci_s is not None and send.beta_ci_s_per_byte is not None
        inside["alpha"] += send.alpha_ci_s[0] <= TRUE_ALPHA_S <= send.alpha_ci_s[1]
        beta = LOGGP["rendezvous_gap_s_per_byte"]
        inside["beta"] += send.beta_ci_s_per_byte[0] <= beta <= send.beta_ci_s_per_byte[1]
        overhead = loggp.parameters["overhead_s"].ci
        assert overhead is not None
        inside["o"] += overhead[0] <= LOGGP["overhead_s"] <= overhead[1]
        inside["threshold"] += loggp.parameters["rendezvous_from_bytes"].value == LOGGP["rendezvous_from_bytes"]
    assert all(count >= 0.87 * KNOWN_SEEDS for count in inside.values()), inside


def test_earlier_campaigns_of_the_machine_narrow_the_intervals_of_three_launches(tmp_path: Path) -> None:
    path = tmp_path / "known.samples.jsonl"
    write_samples(path, loggp_times(), 5, launches=3, common=0.1)
    (campaign,) = read_campaigns(path)
    alone = profile_from_campaign(campaign, path).links["same-socket"].send
    earlier = []
    for seed in (2, 3, 4):
        write_samples(path, loggp_times(), seed, launches=10, common=0.1)
        earlier += read_campaigns(path)
    told = profile_from_campaign(campaign, path, history=earlier).links["same-socket"].send
    widths = [np.median([point.log_half_width for point in curve.table]) for curve in (told, alone)]
    # Student's t of three launches that differ by 10 % is 25 % on both sides; that of twelve, 13 %.
    assert widths[0] < 0.2 and widths[0] != widths[1]
    spread = profile_from_campaign(campaign, path, history=earlier).links["same-socket"].spread
    assert spread is not None and spread.between_sessions is not None and spread.between_sessions < 0.15


def test_the_median_s_interval_holds_the_median_in_90_of_100_seeds() -> None:
    inside = 0
    for seed in range(SEEDS):
        low, high = median_interval_95(np.random.default_rng(seed).lognormal(0.0, 0.5, size=61))
        inside += low <= 1.0 <= high
    assert inside >= 0.9 * SEEDS


def test_a_visit_whose_rank_moved_is_kept_but_not_part_of_the_figures(tmp_path: Path) -> None:
    path = tmp_path / "known.samples.jsonl"
    write_samples(path, loggp_times())
    (campaign,) = read_campaigns(path)
    marked = next(s for s in campaign.samples if s["operation"] == "send" and s["size_bytes"] == int(SIZES[3]))
    assert int(SIZES[3]) in cells_of(campaign, "same-socket", 0.0)["send"]
    alike = [s for s in campaign.samples if (s["operation"], s["size_bytes"]) == (marked["operation"], marked["size_bytes"])]
    campaign.samples[:] = [{**s, "moved_ranks": 1} if s in alike else s for s in campaign.samples]
    assert int(SIZES[3]) not in cells_of(campaign, "same-socket", 0.0)["send"]


def test_whatever_the_time_has_left_of_a_campaign_is_fitted_or_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "known.samples.jsonl"
    write_samples(path, loggp_times())
    (campaign,) = read_campaigns(path)
    whole, rng = list(campaign.samples), np.random.default_rng(5)
    streams = [
        {**sample, "operation": f"bandwidth-pairs-{pairs}-window-4", "kernel": "bandwidth", "pairs": pairs,
            "class": "other-node"}
        for sample in whole if sample["operation"] == "exchange" for pairs in (1, 2)
    ]  # fmt: skip
    ends = Counter[str]()
    for _ in range(40):
        sizes = {op: rng.choice(SIZES, rng.integers(1, 6)).tolist() for op in ("send", "ssend", "exchange", "burst")}
        campaign.samples[:] = [
            {**sample, "class": name, "launch": sample["launch"] if rng.random() < 0.7 else 0}
            for name in ("same-socket", "other-node")
            for sample in whole
            if sample["size_bytes"] in sizes.get(sample["operation"], ()) and rng.random() < 0.8
        ] + [stream for stream in streams if rng.random() < 0.2]
        try:
            profile_from_campaign(campaign, path)
            ends["fitted"] += 1
        except InputError as error:
            ends["refused"] += 1
            assert "size(s) of" in str(error)
    assert ends["fitted"] >= 5 and ends["refused"] >= 5


def test_a_link_of_too_few_sizes_is_told_and_the_others_are_fitted(tmp_path: Path) -> None:
    path = tmp_path / "known.samples.jsonl"
    write_samples(path, loggp_times())
    (campaign,) = read_campaigns(path)
    campaign.samples += [{**sample, "class": "other-node"} for sample in campaign.samples if sample["size_bytes"] in SIZES[:2]]
    profile = profile_from_campaign(campaign, path)
    assert list(profile.links) == ["same-socket"]
    assert (
        "left out: 2 size(s) of other-node: a model needs at least 3; measure again with more --seconds or --sizes"
        in profile.warnings
    )


@pytest.mark.parametrize(("parts", "time_s"), [(2, 5e-6), (64, 10e-6 / 64)])
def test_a_sample_stands_for_as_many_messages_as_it_says(tmp_path: Path, parts: int, time_s: float) -> None:
    path = tmp_path / "known.samples.jsonl"
    write_samples(path, loggp_times())
    (campaign,) = read_campaigns(path)
    campaign.samples[:] = [
        {"class": "same-socket", "operation": "x", "size_bytes": 8, "launch": 0, "parts": parts, "time_s": [10e-6]}
    ]
    assert cells_of(campaign, "same-socket", 0.0)["x"][8][0] == pytest.approx([time_s])
