"""A profile for halos."""

from __future__ import annotations

import pytest

from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Packing, Profile
from rankwise.models.curve import curve_from_table


@pytest.fixture
def profile() -> Profile:
    """Two classes of links without spread, and packing at 1 ns a byte for rows of 8 B, 0.1 ns for those of 64 B and more."""
    links = {}
    for name, alpha_s, beta_s in (("same-socket", 5e-7, 1e-10), ("other-node", 2e-6, 1e-9)):
        points = [Point(size, *3 * [alpha_s + beta_s * size], 9) for size in (0, 1000, 1_000_000)]
        links[name] = Link(curve_from_table(points, "median"))
    packing = Packing.from_dict({"8": [[1000, 1e-6]], "64": [[1000, 1e-7]], "256": [[1000, 1e-7]]})
    return Profile({"sockets": 1, "cores": 4}, links, "2026-01-01T00:00:00Z", {"kind": "made for a test"}, packing=packing)
