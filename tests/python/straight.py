"""Machines whose links' times lie on a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.models.curve import curve_from_table


def link(alpha_s: float, beta_s: float, half_width: float = 0.0) -> Link:
    """Return a link that takes so long for a message and for each of its bytes, known to such a share."""
    times_s = ((size, alpha_s + beta_s * size) for size in (0, 1000, 1_000_000))
    points = [Point(size, time_s, (1 - half_width) * time_s, (1 + half_width) * time_s, 9) for size, time_s in times_s]
    return Link(curve_from_table(points, "median"))


def machine(described: Mapping[str, Any], links: Mapping[str, Link], **more: Any) -> Profile:
    """Return the profile of a machine with such links."""
    return Profile(dict(described), links, "2026-01-01T00:00:00Z", {"kind": "made for a test"}, **more)
