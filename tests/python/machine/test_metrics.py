"""A profile as Prometheus text, read back by Prometheus's own parser."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rankwise.machine.link import Point
from rankwise.machine.metrics import text
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.models.curve import curve_from_table


def test_the_gauges_of_a_profile() -> None:
    points = [
        Point(size, 1e-6 + 1e-9 * size, None if size == 8 else 9e-7 + 1e-9 * size, 2e-6 + 1e-9 * size, 9)
        for size in (0, 8, 10**6)
    ]
    profile = Profile(
        {"hostname": "n1"}, {"other-node": Link(curve_from_table(points, "median"))}, "2026-01-02T03:04:05Z", {},
        shared=Shared(card=Resource(2e9, ci=(1e9, 3e9))),
    )  # fmt: skip
    families = {family.name: family for family in text_string_to_metric_families(text(profile))}
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    samples = {(s.name, *sorted(s.labels.items())): s.value for family in families.values() for s in family.samples}

    def value(name: str, **labels: str) -> float:
        return float(samples[(f"rankwise_profile_{name}", *sorted(labels.items()))])

    assert value("link_latency_seconds", link="other-node", bound="value") == 1e-6
    assert value("link_latency_seconds", link="other-node", bound="low") == pytest.approx(9e-7)
    assert value("link_bandwidth_bytes_per_second", link="other-node", bound="value") == pytest.approx(1e6 / 1.001e-3)
    assert value("shared_bytes_per_second", resource="card", bound="high") == 3e9
    assert value("trust", level="unknown") == 1 and value("trust", level="good") == 0
    assert value("link_samples", link="other-node") == 27 and value("created_timestamp_seconds") == 1767323045
